//! Sestoft's k-means on threads, in the note's variants and in two of our own.

use crate::cpu::Features;
use crate::experiment::prelude::*;
use crate::experiment::sync::Mutex;
use crate::host::{Host, RoundOptions, Worker};
use crate::kernel::{Access, Kernel, NearestWay};
use crate::mem::Region;
use crate::pattern::kmeans::{self, CLUSTERS, Point};
use alloc::sync::Arc;
use cluster::{OneLine, Padded, lock};
use tasks::{Run, Task, Variant};

mod cluster;
#[cfg(feature = "peers")]
mod streams;
mod tasks;
mod variants;

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
            KMeansWay::Lists => Box::new(variants::Lists::new(problem)),
            KMeansWay::InTurn => Box::new(variants::InTurn::<OneLine>::new(problem)),
            KMeansWay::AtOnce => Box::new(variants::AtOnce::<OneLine>::new(problem)),
            KMeansWay::Padded => Box::new(variants::AtOnce::<Padded>::new(problem)),
            KMeansWay::Streams => return None,
            KMeansWay::OwnSums => {
                Box::new(variants::OwnSums::new(problem, tasks, NearestWay::Plain))
            }
            KMeansWay::Vectors => {
                let way = NearestWay::widest(features);
                Box::new(variants::OwnSums::new(problem, tasks, way))
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
    fn new(points: usize) -> Testable<Arc<Self>> {
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
    fn threads(&self) -> Testable<&[usize]> {
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

    fn prepare<'m>(&self, _: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        let problem = Problem::new(self.points)?;
        let cpus = self.threads()?;
        let members = match self.way.variant(&problem, self.tasks, &context.features) {
            None => vec![streams(context.host, problem, cpus)?],
            Some(variant) => {
                let parts = [self.tasks, cpus.len()];
                let run = Arc::new(Run::new(variant, self.points, parts, true));
                let member = |(index, &cpu)| {
                    Worker::new(
                        cpu,
                        Task {
                            run: Arc::clone(&run),
                            index,
                        },
                    )
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
) -> Testable<Worker<'m>> {
    Ok(Worker::new(
        cpus[0],
        streams::Streams::new(host, problem, cpus)?,
    ))
}

#[cfg(not(feature = "peers"))]
fn streams<'m>(_: &'static dyn Host, _: Arc<Problem>, _: &[usize]) -> Testable<Worker<'m>> {
    Err(without_peers())
}

#[cfg(not(feature = "peers"))]
fn without_peers() -> Untestable {
    Untestable("built without feature peers, which brings the parallel iterators".to_owned())
}

/// How a k-means ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Clustering {
    /// Iterations until no mean moved by more than 10^-10.
    pub iterations: u64,
    /// The means.
    pub means: Vec<Point>,
}

/// Iterations after which a k-means is given up that does not come to rest.
const MOST_ITERATIONS: u64 = 10_000;

/// A thread of a k-means that is done once.
struct ToRest<'r> {
    run: &'r Run,
    index: usize,
}

impl Kernel for ToRest<'_> {
    /// Does iterations until all means are at rest, however many operations that are.
    fn run(&mut self, _: u64) -> u64 {
        self.run.to_rest(self.index, MOST_ITERATIONS);
        self.run.iterations()
    }

    /// Reports nothing: nobody traces it.
    fn trace(&mut self, _: u64, _: &mut dyn FnMut(Access)) -> u64 {
        0
    }
}

impl Clustering {
    /// Does k-means once, until the means are at rest.
    ///
    /// # Errors
    /// If there are too few points, a thread cannot be kept on its CPU, or 3P was not built.
    pub fn find(setup: &KMeansSetup, context: &Context) -> Testable<Self> {
        let host = context.host;
        let problem = Problem::new(setup.points)?;
        let cpus = setup.threads()?;
        let Some(variant) = setup.way.variant(&problem, setup.tasks, &context.features) else {
            return Self::of_streams(host, problem, cpus);
        };
        let run = &Run::new(variant, setup.points, [setup.tasks, cpus.len()], false);
        let member = |(index, &cpu)| Worker::new(cpu, ToRest { run, index });
        let mut members: Vec<Worker<'_>> = cpus.iter().enumerate().map(member).collect();
        let manner = RoundOptions {
            ahead: 0,
            keep_on: false,
        };
        // Threads wait for each other in every step: a round begins when all are there.
        host.team(&mut members, manner, &mut |team| {
            team.round(1);
        })?;
        Ok(Clustering {
            iterations: run.iterations(),
            means: run.means(),
        })
    }

    #[cfg(feature = "peers")]
    fn of_streams(
        host: &'static dyn Host,
        problem: Arc<Problem>,
        cpus: &[usize],
    ) -> Testable<Self> {
        let mut streams =
            crate::experiment::topics::kmeans::run::streams::Streams::new(host, problem, cpus)?;
        let (iterations, means) = streams.until_rest(MOST_ITERATIONS);
        Ok(Clustering { iterations, means })
    }

    #[cfg(not(feature = "peers"))]
    fn of_streams(_: &'static dyn Host, _: Arc<Problem>, _: &[usize]) -> Testable<Self> {
        Err(crate::experiment::topics::kmeans::run::without_peers())
    }

    /// The same, done once in this process for all who ask for several numbers of it.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn once(setup: &KMeansSetup, context: &Context) -> Testable<Arc<Self>> {
        static FOUND: Mutex<Vec<(KMeansSetup, Arc<Clustering>)>> = Mutex::new(Vec::new());
        let mut found = lock(&FOUND);
        if let Some((_, clustering)) = found.iter().find(|(of, _)| of == setup) {
            return Ok(Arc::clone(clustering));
        }
        let clustering = Arc::new(Self::find(setup, context)?);
        found.push((setup.clone(), Arc::clone(&clustering)));
        Ok(clustering)
    }

    /// The largest distance in a coordinate between a mean and the same of another clustering;
    /// without bounds if one has more means.
    pub fn difference(&self, other: &Clustering) -> f64 {
        if self.means.len() != other.means.len() {
            return f64::INFINITY;
        }
        let pairs = self.means.iter().zip(&other.means);
        let distance =
            |(one, other): (&Point, &Point)| (one.x - other.x).abs().max((one.y - other.y).abs());
        pairs.map(distance).fold(0.0, f64::max)
    }
}

/// What is told of a [`Clustering`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Told {
    /// Its iterations.
    Iterations,
    /// The iterations that it takes more, or less, than one thread that adds in the order of the
    /// points.
    IterationsApart,
    /// The largest distance of its means from that thread's, in a coordinate.
    MeansApart,
}

/// A k-means to its end, of which something is told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClusteringSetup {
    /// The k-means.
    pub of: KMeansSetup,
    /// What is told of it.
    pub told: Told,
}

impl Setup for ClusteringSetup {
    /// None of the region.
    fn bytes(&self) -> usize {
        0
    }

    fn is_count(&self) -> bool {
        true
    }

    fn prepare<'m>(&self, _: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        let found = Clustering::once(&self.of, context)?;
        let one = || {
            let alone = KMeansSetup {
                way: KMeansWay::OwnSums,
                tasks: 1,
                cpus: self.of.cpus[..1].to_vec(),
                ..self.of
            };
            Clustering::once(&alone, context)
        };
        Ok(Workload::Count(match self.told {
            Told::Iterations => found.iterations as f64,
            Told::IterationsApart => found.iterations.abs_diff(one()?.iterations) as f64,
            Told::MeansApart => found.difference(&*one()?),
        }))
    }
}
