//! Sestoft's k-means on threads, in the note's variants and in two of our own.

use crate::cpu::Features;
use crate::experiment::prelude::*;
use crate::host::{Host, Worker};
use crate::kernel::NearestWay;
use crate::mem::Region;
use crate::pattern::kmeans::{self, CLUSTERS, Point};
use alloc::sync::Arc;
use cluster::{OneLine, Padded};
pub use clustering::{Clustering, ClusteringSetup, Told};
use tasks::{Run, Task, Variant};

mod cluster;
mod clustering;
mod lists;
mod own;
mod shared;
#[cfg(feature = "peers")]
mod streams;
mod tasks;

/// How the points of a cluster come together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KMeansWay {
    /// The exam's 1P: on a locked list beside the mean.
    Lists,
    /// 2P: all points are assigned first, and then added to locked sums beside the mean.
    InTurn,
    /// 2Q: each point is added as soon as it is assigned.
    AtOnce,
    /// 2Q with 128 bytes from the mean to the sums, and to the next cluster.
    Padded,
    /// 3P: parallel iterators group the points, and nothing that is shared changes.
    Streams,
    /// As 2Q, on sums that each task has for itself.
    OwnSums,
    /// The same, a vector of points at a time.
    Vectors,
}

impl KMeansWay {
    /// All of them: the note's first.
    pub const ALL: [KMeansWay; 7] = [
        KMeansWay::Lists,
        KMeansWay::InTurn,
        KMeansWay::AtOnce,
        KMeansWay::Padded,
        KMeansWay::Streams,
        KMeansWay::OwnSums,
        KMeansWay::Vectors,
    ];

    /// The variant, or `None` if it does without tasks.
    fn variant(
        self,
        problem: &Arc<Problem>,
        tasks: usize,
        features: &Features,
    ) -> Option<Box<dyn Variant>> {
        let problem = Arc::clone(problem);
        Some(match self {
            KMeansWay::Lists => Box::new(lists::Lists::new(problem)),
            KMeansWay::InTurn => Box::new(shared::InTurn::<OneLine>::new(problem)),
            KMeansWay::AtOnce => Box::new(shared::AtOnce::<OneLine>::new(problem)),
            KMeansWay::Padded => Box::new(shared::AtOnce::<Padded>::new(problem)),
            KMeansWay::Streams => return None,
            KMeansWay::OwnSums => Box::new(own::OwnSums::new(problem, tasks, NearestWay::Plain)),
            KMeansWay::Vectors => {
                let way = NearestWay::widest(features);
                Box::new(own::OwnSums::new(problem, tasks, way))
            }
        })
    }
}

/// What is to be clustered.
struct Problem {
    points: Vec<Point>,
    /// The points that are the first means.
    first: [usize; CLUSTERS],
}

impl Problem {
    /// The first so many of the note's points.
    fn new(points: usize) -> Result<Arc<Self>, Untestable> {
        let mut points = vec![Point::default(); points];
        let first = kmeans::scatter(&mut points).ok_or_else(|| {
            Untestable(format!(
                "{} points are not {CLUSTERS} clusters",
                points.len()
            ))
        })?;
        Ok(Arc::new(Problem { points, first }))
    }

    fn first_means(&self) -> impl Iterator<Item = Point> + Clone {
        self.first.iter().map(|&index| self.points[index])
    }
}

/// The number of the mean that is nearest, of several the first.
#[inline(always)]
fn nearest_of(means: impl Iterator<Item = Point>, point: Point) -> usize {
    let mut best = 0;
    let mut least = f64::INFINITY;
    for (index, mean) in means.enumerate() {
        let distance = point.square_distance(mean);
        if distance < least {
            least = distance;
            best = index;
        }
    }
    best
}

/// Iterations of k-means. An operation is an iteration of all threads; once the means are at rest
/// it begins anew.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KMeansSetup {
    /// In which way.
    pub way: KMeansWay,
    /// How many of the note's points.
    pub points: usize,
    /// Into how many tasks a step of an iteration is divided.
    pub tasks: usize,
    /// The CPUs of the threads that do them, each a CPU of its own. A thread more than there are
    /// tasks is left out.
    pub cpus: Vec<usize>,
    /// Which of several measurements of the same it is: setups that are equal are measured once.
    pub turn: u32,
}

impl KMeansSetup {
    /// The CPUs whose threads have something to do.
    fn threads(&self) -> Result<&[usize], Untestable> {
        let threads = &self.cpus[..self.cpus.len().min(self.tasks)];
        match threads.is_empty() {
            true => Err(Untestable("no CPU is known".to_owned())),
            false => Ok(threads),
        }
    }
}

impl Setup for KMeansSetup {
    /// None of the region: points and clusters lie in memory of their own.
    fn bytes(&self) -> usize {
        0
    }

    fn prepare<'m>(&self, _: Region<'m>, context: &Context) -> Result<Workload<'m>, Untestable> {
        let problem = Problem::new(self.points)?;
        let cpus = self.threads()?;
        let members = match self.way.variant(&problem, self.tasks, &context.features) {
            None => vec![streams(context.host, problem, cpus)?],
            Some(variant) => {
                let parts = [self.tasks, cpus.len()];
                let run = Arc::new(Run::new(variant, self.points, parts, true));
                let member = |(index, &cpu)| Worker {
                    cpu,
                    kernel: Box::new(Task {
                        run: Arc::clone(&run),
                        index,
                    }),
                };
                cpus.iter().enumerate().map(member).collect()
            }
        };
        // An iteration ends when its last task does.
        Ok(Workload::in_step(members, SampleOf::Slowest, 2))
    }
}

/// The thread that has a pool do 3P, on the CPU of the pool's first: it sleeps meanwhile.
#[cfg(feature = "peers")]
fn streams<'m>(
    host: &'static dyn Host,
    problem: Arc<Problem>,
    cpus: &[usize],
) -> Result<Worker<'m>, Untestable> {
    Ok(Worker {
        cpu: cpus[0],
        kernel: Box::new(streams::Streams::new(host, problem, cpus)?),
    })
}

#[cfg(not(feature = "peers"))]
fn streams<'m>(
    _: &'static dyn Host,
    _: Arc<Problem>,
    _: &[usize],
) -> Result<Worker<'m>, Untestable> {
    Err(without_peers())
}

#[cfg(not(feature = "peers"))]
fn without_peers() -> Untestable {
    Untestable("built without feature peers, which brings the parallel iterators".to_owned())
}
