//! A k-means to its end: how many iterations it takes, and which means it finds.

use crate::experiment::prelude::*;
use crate::experiment::sync::Mutex;
use crate::experiment::topics::kmeans::run::cluster::lock;
use crate::experiment::topics::kmeans::run::tasks::Run;
use crate::experiment::topics::kmeans::run::{KMeansSetup, KMeansWay, Problem};
use crate::host::{Host, RoundOptions, Worker};
use crate::kernel::{Access, Kernel};
use crate::mem::Region;
use crate::pattern::kmeans::Point;
use alloc::sync::Arc;

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
    pub fn find(setup: &KMeansSetup, context: &Context) -> Result<Self, Untestable> {
        let host = context.host;
        let problem = Problem::new(setup.points)?;
        let cpus = setup.threads()?;
        let Some(variant) = setup.way.variant(&problem, setup.tasks, &context.features) else {
            return Self::of_streams(host, problem, cpus);
        };
        let run = &Run::new(variant, setup.points, [setup.tasks, cpus.len()], false);
        let member = |(index, &cpu)| Worker {
            cpu,
            kernel: Box::new(ToRest { run, index }),
        };
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
    ) -> Result<Self, Untestable> {
        let mut streams =
            crate::experiment::topics::kmeans::run::streams::Streams::new(host, problem, cpus)?;
        let (iterations, means) = streams.until_rest(MOST_ITERATIONS);
        Ok(Clustering { iterations, means })
    }

    #[cfg(not(feature = "peers"))]
    fn of_streams(_: &'static dyn Host, _: Arc<Problem>, _: &[usize]) -> Result<Self, Untestable> {
        Err(crate::experiment::topics::kmeans::run::without_peers())
    }

    /// The same, done once in this process for all who ask for several numbers of it.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn once(setup: &KMeansSetup, context: &Context) -> Result<Arc<Self>, Untestable> {
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

    fn prepare<'m>(&self, _: Region<'m>, context: &Context) -> Result<Workload<'m>, Untestable> {
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
