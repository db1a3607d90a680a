//! Sestoft's k-means on threads: the note's variants and two further ones.

use crate::cpu::Features;
use crate::experiment::prelude::*;
use crate::experiment::sync::{Mutex, lock};
use crate::experiment::topics::kmeans::problem;
use crate::host::{RoundOptions, Worker};
use crate::kernel::{Kernel, NearestWay};
use crate::pattern::kmeans::{self, CLUSTERS, Point};
use alloc::sync::Arc;
use cluster::{OneLine, Padded};
use tasks::{Run, Task, Variant};

mod cluster;
#[cfg(feature = "peers")]
mod streams;
mod tasks;
mod variants;

/// A variant of k-means: how points are added to their clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KMeansWay {
    /// The exam's 1P: appends points to a locked list beside the mean.
    Lists,
    /// 2P: assigns all points first, then adds them to locked sums beside the mean.
    InTurn,
    /// 2Q: adds each point as soon as it is assigned.
    AtOnce,
    /// 2Q with 128 bytes from the mean to the sums, and from the sums to the next cluster.
    Padded,
    /// 3P: parallel iterators group the points; no shared state changes.
    Streams,
    /// Like 2Q, but each task has its own sums.
    OwnSums,
    /// Like `OwnSums`, a vector of points at a time.
    Vectors,
}

impl KMeansWay {
    pub const ALL: [KMeansWay; 7] = [
        KMeansWay::Lists,
        KMeansWay::InTurn,
        KMeansWay::AtOnce,
        KMeansWay::Padded,
        KMeansWay::Streams,
        KMeansWay::OwnSums,
        KMeansWay::Vectors,
    ];

    /// Returns the variant, or `None` if it does not use tasks.
    fn variant(
        self,
        problem: &Arc<Problem>,
        tasks: usize,
        features: &Features,
    ) -> Option<Box<dyn Variant>> {
        let problem = Arc::clone(problem);
        Some(match self {
            KMeansWay::Lists => Box::new(variants::Lists::new(problem)),
            KMeansWay::InTurn => Box::new(variants::Shared::<OneLine>::in_turn(problem)),
            KMeansWay::AtOnce => Box::new(variants::Shared::<OneLine>::at_once(problem)),
            KMeansWay::Padded => Box::new(variants::Shared::<Padded>::at_once(problem)),
            KMeansWay::Streams => return None,
            KMeansWay::OwnSums => {
                Box::new(variants::OwnSums::new(problem, tasks, NearestWay::Plain))
            }
            KMeansWay::Vectors => {
                Box::new(variants::OwnSums::new(problem, tasks, NearestWay::widest(features)))
            }
        })
    }
}

/// The points to cluster, and the first means.
struct Problem {
    points: Vec<Point>,
    /// Indices of the points that are the first means.
    first: [usize; CLUSTERS],
}

impl Problem {
    /// Generates the first `points` of the note's points. Fails if they are too few for the
    /// clusters.
    fn new(points: usize) -> Testable<Arc<Self>> {
        let mut points = vec![Point::default(); points];
        let first = kmeans::scatter(&mut points).ok_or_else(|| {
            Untestable(format!("{} points are not {CLUSTERS} clusters", points.len()))
        })?;
        Ok(Arc::new(Problem { points, first }))
    }

    fn first_means(&self) -> impl Iterator<Item = Point> + Clone {
        self.first.iter().map(|&index| self.points[index])
    }
}

/// Returns the index of the nearest mean; of several, the first.
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

/// Set-up that times iterations of k-means. An operation is an iteration of all threads. The run
/// restarts once all means are at rest.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KMeansSetup {
    pub way: KMeansWay,
    /// The number of points, taken from the start of the note's.
    pub points: usize,
    /// The number of tasks per step of an iteration.
    pub tasks: usize,
    /// The CPUs of the threads, one CPU per thread. At most `tasks` threads run.
    pub cpus: Vec<usize>,
    /// Distinguishes repeated measurements, because equal setups are measured only once.
    pub turn: u32,
}

impl KMeansSetup {
    /// Returns the CPUs of the threads that get a task. Fails if no CPU is known.
    fn threads(&self) -> Testable<&[usize]> {
        let threads = &self.cpus[..self.cpus.len().min(self.tasks)];
        if threads.is_empty() { Err(Untestable("no CPU is known".to_owned())) } else { Ok(threads) }
    }
}

impl Setup for KMeansSetup {
    // The region is not used: points and clusters lie in memory of their own.
    fn prepare<'m>(&self, _: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        let problem = Problem::new(self.points)?;
        let cpus = self.threads()?;
        let workers = match self.way.variant(&problem, self.tasks, &context.features) {
            #[cfg(not(feature = "peers"))]
            None => return Err(Untestable::without_peers()),
            // The worker shares the CPU of the pool's first thread, because it sleeps while the pool works.
            #[cfg(feature = "peers")]
            None => {
                let streams = streams::Streams::new(context.host, problem, cpus)?;
                vec![Worker::new(cpus[0], streams)]
            }
            Some(variant) => {
                let run = Arc::new(Run::new(variant, self.points, [self.tasks, cpus.len()], true));
                let worker =
                    |(index, &cpu)| Worker::new(cpu, Task { run: Arc::clone(&run), index });
                cpus.iter().enumerate().map(worker).collect()
            }
        };
        // An iteration ends when its last task does.
        Ok(Workload::in_step(workers, SampleOf::Slowest, 2))
    }
}

/// The result of a k-means run.
#[derive(Clone, Debug, PartialEq)]
pub struct Clustering {
    /// Iterations until no mean moved by more than 10^-10.
    pub iterations: u64,
    pub means: Vec<Point>,
}

/// The largest number of iterations of a run to rest.
const MOST_ITERATIONS: u64 = 10_000;

/// A thread of a k-means run that ends at rest.
struct ToRest<'r> {
    run: &'r Run,
    index: usize,
}

impl Kernel for ToRest<'_> {
    /// Runs iterations until all means are at rest, whatever `operations` is.
    fn run(&mut self, _: u64) -> u64 {
        self.run.to_rest(self.index, MOST_ITERATIONS);
        self.run.iterations()
    }
}

impl Clustering {
    /// Runs k-means once, until the means are at rest.
    ///
    /// # Errors
    /// If there are too few points, no CPU is known, a thread cannot be kept on its CPU, or 3P was
    /// not built.
    pub fn find(setup: &KMeansSetup, context: &Context) -> Testable<Self> {
        let host = context.host;
        let problem = Problem::new(setup.points)?;
        let cpus = setup.threads()?;
        let Some(variant) = setup.way.variant(&problem, setup.tasks, &context.features) else {
            #[cfg(not(feature = "peers"))]
            return Err(Untestable::without_peers());
            #[cfg(feature = "peers")]
            {
                let mut streams = streams::Streams::new(host, problem, cpus)?;
                let (iterations, means) = streams.until_rest(MOST_ITERATIONS);
                return Ok(Clustering { iterations, means });
            }
        };
        let run = &Run::new(variant, setup.points, [setup.tasks, cpus.len()], false);
        let worker = |(index, &cpu)| Worker::new(cpu, ToRest { run, index });
        let mut workers: Vec<Worker<'_>> = cpus.iter().enumerate().map(worker).collect();
        let options = RoundOptions { ahead: 0, keep_on: false };
        // Threads wait for each other in every step, so the round begins when all have arrived.
        host.thread_group(&mut workers, options, &mut |group| {
            group.round(1);
        })?;
        Ok(Clustering { iterations: run.iterations(), means: run.means() })
    }

    /// Like [`find`](Self::find), but finds each clustering once per process and shares it.
    fn once(setup: &KMeansSetup, context: &Context) -> Testable<Arc<Self>> {
        static FOUND: Mutex<Vec<(KMeansSetup, Arc<Clustering>)>> = Mutex::new(Vec::new());
        let mut found = lock(&FOUND);
        if let Some((_, clustering)) = found.iter().find(|(of, _)| of == setup) {
            return Ok(Arc::clone(clustering));
        }
        let clustering = Arc::new(Self::find(setup, context)?);
        found.push((setup.clone(), Arc::clone(&clustering)));
        Ok(clustering)
    }

    /// Returns the largest distance between two means of the same index, in a coordinate. It is
    /// infinite if the numbers of means differ.
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

/// A number that is reported of a [`Clustering`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Told {
    Iterations,
    /// The difference in iterations from one thread that adds the points in their order.
    IterationsApart,
    /// The largest distance of a mean from that thread's mean, in a coordinate.
    MeansApart,
    /// The largest distance of a mean that the note's file lists from the file's value, in a coordinate.
    ListedMeansApart,
    /// By how many points the counts of the listed means differ from the file's.
    ListedCountsApart,
}

/// Set-up that reports a number of a whole k-means run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClusteringSetup {
    pub of: KMeansSetup,
    pub told: Told,
}

impl Setup for ClusteringSetup {
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
            Told::ListedMeansApart => problem::means_apart(&found)?,
            Told::ListedCountsApart => problem::counts_apart(&found, &context.features)?,
        }))
    }
}
