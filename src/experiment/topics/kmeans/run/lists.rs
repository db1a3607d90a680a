//! The exam's variant 1P: a cluster is a mean that never changes and a locked list of points.

use crate::experiment::sync::{Mutex, PoisonError, RwLock};
use crate::experiment::topics::kmeans::run::Problem;
use crate::experiment::topics::kmeans::run::cluster::{EPSILON, lock, mean_of};
use crate::experiment::topics::kmeans::run::tasks::Variant;
use crate::kernel::Sum;
use crate::pattern::kmeans::Point;
use crate::prelude::*;
use alloc::sync::Arc;
use core::ops::Range;

/// A cluster of one iteration: as in the note, what is read shares a line with the lock.
#[derive(Debug)]
#[repr(C, align(64))]
struct Listed {
    mean: Point,
    points: Mutex<Vec<Point>>,
}

impl Listed {
    fn at(mean: Point) -> Self {
        Listed {
            mean,
            points: Mutex::default(),
        }
    }
}

/// 1P: puts each point on the list of its cluster, and makes new clusters of the lists.
pub(crate) struct Lists {
    problem: Arc<Problem>,
    clusters: RwLock<Arc<[Listed]>>,
}

impl Lists {
    pub(crate) fn new(problem: Arc<Problem>) -> Self {
        Lists {
            problem,
            clusters: RwLock::new(Arc::new([])),
        }
    }

    fn clusters(&self) -> Arc<[Listed]> {
        let held = self.clusters.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&held)
    }

    fn replace(&self, means: impl Iterator<Item = Point>) {
        let new = means.map(Listed::at).collect();
        *self
            .clusters
            .write()
            .unwrap_or_else(PoisonError::into_inner) = new;
    }
}

impl Variant for Lists {
    fn part(&self, _: usize, _: usize, points: Range<usize>) {
        let clusters = self.clusters();
        for &point in &self.problem.points[points] {
            let means = clusters.iter().map(|cluster| cluster.mean);
            lock(
                &clusters[crate::experiment::topics::kmeans::run::nearest_of(means, point)].points,
            )
            .push(point);
        }
    }

    fn finish(&self) -> bool {
        let mut at_rest = true;
        let before = self.clusters();
        let means = before.iter().map(|cluster| {
            let mut sums = Sum::default();
            for point in &*lock(&cluster.points) {
                sums.add(point.x, point.y);
            }
            let mean = mean_of(&sums).unwrap_or(cluster.mean);
            at_rest &= mean.near(cluster.mean, EPSILON);
            mean
        });
        self.replace(means);
        at_rest
    }

    fn reset(&self) {
        self.replace(self.problem.first_means());
    }

    fn means(&self) -> Vec<Point> {
        self.clusters().iter().map(|cluster| cluster.mean).collect()
    }
}
