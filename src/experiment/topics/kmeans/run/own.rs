//! Variants of our own: each task adds to sums of its own, and the sums are added up at the end.

use crate::experiment::sync::{Mutex, PoisonError, RwLock};
use crate::experiment::topics::kmeans::run::Problem;
use crate::experiment::topics::kmeans::run::cluster::{Apart, EPSILON, lock, mean_of};
use crate::experiment::topics::kmeans::run::tasks::Variant;
use crate::kernel::{Means, NearestWay, Sum, add_to_nearest};
use crate::pattern::kmeans::{CLUSTERS, Point};
use crate::prelude::*;
use alloc::sync::Arc;
use core::ops::Range;

/// Each task reads means that nobody writes meanwhile, and adds to sums that nobody else reads.
/// They are added up in the order of the tasks, whoever did them, so that a run is as exactly
/// repeated.
pub(crate) struct OwnSums {
    problem: Arc<Problem>,
    way: NearestWay,
    /// Coordinates of the points.
    xs: Vec<f64>,
    ys: Vec<f64>,
    /// Coordinates of the means.
    means: RwLock<[Vec<f64>; 2]>,
    /// What each task's points come to.
    sums: Vec<Apart<Mutex<[Sum; CLUSTERS]>>>,
}

impl OwnSums {
    pub(crate) fn new(problem: Arc<Problem>, tasks: usize, way: NearestWay) -> Self {
        let sums = || Apart(Mutex::new([Sum::default(); CLUSTERS]));
        OwnSums {
            xs: problem.points.iter().map(|point| point.x).collect(),
            ys: problem.points.iter().map(|point| point.y).collect(),
            means: RwLock::default(),
            sums: (0..tasks).map(|_| sums()).collect(),
            problem,
            way,
        }
    }

    fn set(&self, means: impl Iterator<Item = Point> + Clone) {
        let x = means.clone().map(|mean| mean.x).collect();
        let y = means.map(|mean| mean.y).collect();
        *self.means.write().unwrap_or_else(PoisonError::into_inner) = [x, y];
    }
}

impl Variant for OwnSums {
    fn part(&self, _: usize, task: usize, points: Range<usize>) {
        let held = self.means.read().unwrap_or_else(PoisonError::into_inner);
        let means = Means {
            x: &held[0],
            y: &held[1],
        };
        let mut sums = [Sum::default(); CLUSTERS];
        let (xs, ys) = (&self.xs[points.clone()], &self.ys[points]);
        add_to_nearest(self.way, xs, ys, means, &mut sums);
        *lock(&self.sums[task].0) = sums;
    }

    fn finish(&self) -> bool {
        let mut sums = [Sum::default(); CLUSTERS];
        for task in &self.sums {
            let task = lock(&task.0);
            sums.iter_mut()
                .zip(&*task)
                .for_each(|(all, own)| all.merge(own));
        }
        let before = self.means();
        let after: Vec<Point> = before
            .iter()
            .zip(&sums)
            .map(|(mean, sums)| mean_of(sums).unwrap_or(*mean))
            .collect();
        self.set(after.iter().copied());
        let mut pairs = before.iter().zip(&after);
        pairs.all(|(before, after)| after.near(*before, EPSILON))
    }

    fn reset(&self) {
        self.set(self.problem.first_means());
    }

    fn means(&self) -> Vec<Point> {
        let held = self.means.read().unwrap_or_else(PoisonError::into_inner);
        let pairs = held[0].iter().zip(&held[1]);
        pairs.map(|(&x, &y)| Point { x, y }).collect()
    }
}
