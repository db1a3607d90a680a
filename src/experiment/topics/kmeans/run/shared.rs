//! The note's variants whose threads add points to shared clusters: 2P and 2Q.

use crate::experiment::topics::kmeans::run::Problem;
use crate::experiment::topics::kmeans::run::cluster::Cluster;
use crate::experiment::topics::kmeans::run::tasks::Variant;
use crate::pattern::kmeans::Point;
use crate::prelude::*;
use alloc::sync::Arc;
use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};

/// Clusters that all threads read and add to.
struct Clusters<C> {
    problem: Arc<Problem>,
    clusters: Vec<C>,
}

impl<C: Cluster> Clusters<C> {
    fn new(problem: Arc<Problem>) -> Self {
        Clusters {
            clusters: problem.first.iter().map(|_| C::default()).collect(),
            problem,
        }
    }

    /// The cluster whose mean is nearest, of several the first.
    #[inline(always)]
    fn closest(&self, point: Point) -> usize {
        let mut best = 0;
        let mut least = f64::INFINITY;
        for (index, cluster) in self.clusters.iter().enumerate() {
            let distance = point.square_distance(cluster.mean().get());
            if distance < least {
                least = distance;
                best = index;
            }
        }
        best
    }

    fn finish(&self) -> bool {
        // All of them, also after one that moved.
        let at_rest = self.clusters.iter().map(Cluster::compute_new_mean);
        at_rest.fold(true, |all, at_rest| all & at_rest)
    }

    fn reset(&self) {
        for (cluster, &first) in self.clusters.iter().zip(&self.problem.first) {
            cluster.mean().set(self.problem.points[first]);
        }
    }

    fn means(&self) -> Vec<Point> {
        let means = self.clusters.iter().map(|cluster| cluster.mean().get());
        means.collect()
    }
}

/// 2P: assigns all points, and then adds each to its cluster.
pub(crate) struct InTurn<C> {
    clusters: Clusters<C>,
    /// The cluster of each point, as wide as a reference of Java.
    my_cluster: Vec<AtomicUsize>,
}

impl<C: Cluster> InTurn<C> {
    pub(crate) fn new(problem: Arc<Problem>) -> Self {
        InTurn {
            my_cluster: problem.points.iter().map(|_| AtomicUsize::new(0)).collect(),
            clusters: Clusters::new(problem),
        }
    }
}

impl<C: Cluster> Variant for InTurn<C> {
    fn steps(&self) -> usize {
        2
    }

    fn part(&self, step: usize, _: usize, points: Range<usize>) {
        let Clusters { problem, clusters } = &self.clusters;
        let mine = self.my_cluster[points.clone()].iter();
        let points = mine.zip(&problem.points[points]);
        if step == 0 {
            for (mine, &point) in points {
                mine.store(self.clusters.closest(point), Ordering::Relaxed);
            }
        } else {
            for (mine, &point) in points {
                clusters[mine.load(Ordering::Relaxed)].add(point);
            }
        }
    }

    fn finish(&self) -> bool {
        self.clusters.finish()
    }

    fn reset(&self) {
        self.clusters.reset();
    }

    fn means(&self) -> Vec<Point> {
        self.clusters.means()
    }
}

/// 2Q: adds each point to its cluster as soon as it is assigned.
pub(crate) struct AtOnce<C>(Clusters<C>);

impl<C: Cluster> AtOnce<C> {
    pub(crate) fn new(problem: Arc<Problem>) -> Self {
        AtOnce(Clusters::new(problem))
    }
}

impl<C: Cluster> Variant for AtOnce<C> {
    fn part(&self, _: usize, _: usize, points: Range<usize>) {
        for &point in &self.0.problem.points[points] {
            self.0.clusters[self.0.closest(point)].add(point);
        }
    }

    fn finish(&self) -> bool {
        self.0.finish()
    }

    fn reset(&self) {
        self.0.reset();
    }

    fn means(&self) -> Vec<Point> {
        self.0.means()
    }
}
