//! The note's variant 3P on parallel iterators: no shared state changes.

use crate::experiment::prelude::*;
use crate::experiment::topics::kmeans::run::cluster::{EPSILON, mean_of};
use crate::experiment::topics::kmeans::run::{Problem, nearest_of, tasks};
use crate::host::Host;
use crate::kernel::{Access, Kernel, Sum, Work};
use crate::pattern::kmeans::Point;
use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, Ordering};
use rayon::iter::{
    IndexedParallelIterator, IntoParallelIterator, IntoParallelRefIterator, ParallelIterator,
};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Java's streams split their elements until there are four parts per thread.
const PARTS_A_THREAD: usize = 4;

#[derive(Debug)]
struct Grouped {
    mean: Point,
    points: Vec<Point>,
}

impl Grouped {
    /// Returns the cluster with its mean moved to the centroid of its points.
    fn compute_mean(self) -> Self {
        let mut sums = Sum::default();
        self.points.iter().for_each(|point| sums.add(point.x, point.y));
        Grouped { mean: mean_of(&sums).unwrap_or(self.mean), ..self }
    }
}

/// 3P: groups the points by the nearest mean, and makes new clusters from the groups.
struct State {
    problem: Arc<Problem>,
    /// The minimum number of points per part.
    part: usize,
    means: Vec<Point>,
    iterations: u64,
}

impl State {
    /// Runs an iteration, from a thread of the pool. Returns whether all means are at rest.
    fn iterate(&mut self) -> bool {
        let before = &self.means;
        let none = || before.iter().map(|_| Vec::new()).collect::<Vec<_>>();
        let points = self.problem.points.par_iter().with_min_len(self.part);
        let groups = points
            .fold(none, |mut groups, &point| {
                groups[nearest_of(before.iter().copied(), point)].push(point);
                groups
            })
            .reduce_with(|mut groups, others| {
                let pairs = groups.iter_mut().zip(others);
                pairs.for_each(|(group, other)| group.extend(other));
                groups
            });
        let groups = groups.unwrap_or_else(none).into_par_iter().zip(before);
        let clusters: Vec<Grouped> =
            groups.map(|(points, &mean)| Grouped { mean, points }).collect();
        let clusters = clusters.into_par_iter().map(Grouped::compute_mean);
        let clusters: Vec<Grouped> = clusters.collect();
        let mut pairs = clusters.iter().zip(before);
        let at_rest = pairs.all(|(cluster, before)| cluster.mean.near(*before, EPSILON));
        self.means = clusters.into_iter().map(|cluster| cluster.mean).collect();
        self.iterations += 1;
        at_rest
    }
}

/// 3P and its thread pool. An operation is an iteration; the run restarts once all means are at
/// rest.
pub(crate) struct Streams {
    pool: ThreadPool,
    state: State,
}

impl Streams {
    /// Creates a pool of one thread per CPU. Fails if the pool cannot be built, or if a thread cannot be kept on
    /// its CPU.
    pub(crate) fn new(
        host: &'static dyn Host,
        problem: Arc<Problem>,
        cpus: &[usize],
    ) -> Testable<Self> {
        let threads = cpus.len();
        let homeless = Arc::new(AtomicBool::new(false));
        let (cpus, noted) = (cpus.to_vec(), Arc::clone(&homeless));
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .start_handler(move |index| match host.pin(cpus[index]) {
                // The thread stays on its CPU until it ends.
                Ok(pinned) => core::mem::forget(pinned),
                Err(_) => noted.store(true, Ordering::Relaxed),
            })
            .build()?;
        // The broadcast returns once every thread has started.
        pool.broadcast(|_| ());
        if homeless.load(Ordering::Relaxed) {
            return Err(Untestable::because("a thread of the pool cannot be kept on its CPU"));
        }
        let state = State {
            part: problem.points.len().div_ceil(PARTS_A_THREAD * threads.max(1)),
            means: problem.first_means().collect(),
            problem,
            iterations: 0,
        };
        Ok(Streams { pool, state })
    }

    /// Runs iterations until all means are at rest or `most` iterations are done. Returns the
    /// number of iterations and the means.
    pub(crate) fn until_rest(&mut self, most: u64) -> (u64, Vec<Point>) {
        let Streams { pool, state } = self;
        pool.install(|| while state.iterations < most && !state.iterate() {});
        (state.iterations, state.means.clone())
    }
}

impl Kernel for Streams {
    /// Returns the iterations since construction.
    fn run(&mut self, operations: u64) -> u64 {
        let Streams { pool, state } = self;
        pool.install(|| {
            for _ in 0..operations {
                if state.iterate() {
                    state.means = state.problem.first_means().collect();
                }
            }
            state.iterations
        })
    }

    fn work(&self) -> Work {
        tasks::work(self.state.problem.points.len() / self.pool.current_num_threads())
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        tasks::trace(0..self.state.problem.points.len(), operations, sink);
        self.state.iterations
    }
}
