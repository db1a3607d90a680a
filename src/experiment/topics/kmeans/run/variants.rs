//! The variants that divide an iteration into tasks: 1P with locked lists, 2P and 2Q with shared
//! sums, and two of our own with separate sums per task.

use crate::experiment::sync::{Mutex, RwLock, lock, read, write};
use crate::experiment::topics::kmeans::run::cluster::{Apart, Cluster, EPSILON, mean_of};
use crate::experiment::topics::kmeans::run::tasks::Variant;
use crate::experiment::topics::kmeans::run::{Problem, nearest_of};
use crate::kernel::{Means, NearestWay, Sum, add_to_nearest};
use crate::pattern::kmeans::{CLUSTERS, Point};
use crate::prelude::*;
use alloc::sync::Arc;
use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};

/// A cluster of one iteration. As in the note, the mean, which tasks read, shares a line with the
/// lock.
#[derive(Debug)]
#[repr(C, align(64))]
struct Listed {
    mean: Point,
    points: Mutex<Vec<Point>>,
}

/// 1P: appends each point to the list of its cluster, and makes new clusters from the lists.
pub(crate) struct Lists {
    problem: Arc<Problem>,
    clusters: RwLock<Arc<[Listed]>>,
}

impl Lists {
    pub(crate) fn new(problem: Arc<Problem>) -> Self {
        Lists { problem, clusters: RwLock::new(Arc::new([])) }
    }

    fn clusters(&self) -> Arc<[Listed]> {
        Arc::clone(&read(&self.clusters))
    }

    fn replace(&self, means: impl Iterator<Item = Point>) {
        let new = means.map(|mean| Listed { mean, points: Mutex::default() }).collect();
        *write(&self.clusters) = new;
    }
}

impl Variant for Lists {
    fn part(&self, _: usize, _: usize, points: Range<usize>) {
        let clusters = self.clusters();
        for &point in &self.problem.points[points] {
            let means = clusters.iter().map(|cluster| cluster.mean);
            lock(&clusters[nearest_of(means, point)].points).push(point);
        }
    }

    fn finish(&self) -> bool {
        let mut at_rest = true;
        let before = self.clusters();
        self.replace(before.iter().map(|cluster| {
            let mut sums = Sum::default();
            for point in &*lock(&cluster.points) {
                sums.add(point.x, point.y);
            }
            let mean = mean_of(&sums).unwrap_or(cluster.mean);
            at_rest &= mean.near(cluster.mean, EPSILON);
            mean
        }));
        at_rest
    }

    fn reset(&self) {
        self.replace(self.problem.first_means());
    }

    fn means(&self) -> Vec<Point> {
        self.clusters().iter().map(|cluster| cluster.mean).collect()
    }
}

/// 2P and 2Q: clusters that all threads read and add to.
pub(crate) struct Shared<C> {
    problem: Arc<Problem>,
    clusters: Vec<C>,
    /// The cluster of each point, as wide as a Java reference. 2P assigns all points first; 2Q adds
    /// each point to its cluster as soon as it is assigned, so it stores none.
    my_cluster: Option<Vec<AtomicUsize>>,
}

impl<C: Cluster> Shared<C> {
    pub(crate) fn in_turn(problem: Arc<Problem>) -> Self {
        let none = problem.points.iter().map(|_| AtomicUsize::new(0));
        Shared { my_cluster: Some(none.collect()), ..Self::at_once(problem) }
    }

    pub(crate) fn at_once(problem: Arc<Problem>) -> Self {
        Shared {
            clusters: problem.first.iter().map(|_| C::default()).collect(),
            problem,
            my_cluster: None,
        }
    }

    /// Returns the index of the cluster with the nearest mean; of several, the first.
    #[inline(always)]
    fn closest(&self, point: Point) -> usize {
        nearest_of(self.clusters.iter().map(|cluster| cluster.mean().get()), point)
    }
}

impl<C: Cluster> Variant for Shared<C> {
    fn steps(&self) -> usize {
        1 + usize::from(self.my_cluster.is_some())
    }

    fn part(&self, step: usize, _: usize, points: Range<usize>) {
        let Some(mine) = &self.my_cluster else {
            for &point in &self.problem.points[points] {
                self.clusters[self.closest(point)].add(point);
            }
            return;
        };
        let points = mine[points.clone()].iter().zip(&self.problem.points[points]);
        if step == 0 {
            for (mine, &point) in points {
                mine.store(self.closest(point), Ordering::Relaxed);
            }
        } else {
            for (mine, &point) in points {
                self.clusters[mine.load(Ordering::Relaxed)].add(point);
            }
        }
    }

    fn finish(&self) -> bool {
        // No short cut: every cluster needs its new mean, also after one that moved.
        let at_rest = self.clusters.iter().map(Cluster::compute_new_mean);
        at_rest.fold(true, |all, at_rest| all & at_rest)
    }

    fn reset(&self) {
        for (cluster, first) in self.clusters.iter().zip(self.problem.first_means()) {
            cluster.mean().set(first);
        }
    }

    fn means(&self) -> Vec<Point> {
        let means = self.clusters.iter().map(|cluster| cluster.mean().get());
        means.collect()
    }
}

/// Separate sums per task. During a step, tasks only read the means, and each task writes sums that
/// no other task reads. `finish` adds the sums in the order of the tasks, whichever threads ran
/// them, so that results are reproducible.
pub(crate) struct OwnSums {
    problem: Arc<Problem>,
    way: NearestWay,
    /// Coordinates of the points.
    xs: Vec<f64>,
    ys: Vec<f64>,
    /// Coordinates of the means.
    means: RwLock<[Vec<f64>; 2]>,
    /// The sums of each task's points.
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
        *write(&self.means) = [x, y];
    }
}

impl Variant for OwnSums {
    fn part(&self, _: usize, task: usize, points: Range<usize>) {
        let held = read(&self.means);
        let means = Means { x: &held[0], y: &held[1] };
        let mut sums = [Sum::default(); CLUSTERS];
        let (xs, ys) = (&self.xs[points.clone()], &self.ys[points]);
        add_to_nearest(self.way, xs, ys, means, &mut sums);
        *lock(&self.sums[task].0) = sums;
    }

    fn finish(&self) -> bool {
        let mut sums = [Sum::default(); CLUSTERS];
        for task in &self.sums {
            let task = lock(&task.0);
            sums.iter_mut().zip(&*task).for_each(|(all, own)| all.merge(own));
        }
        let before = self.means();
        let after: Vec<Point> =
            before.iter().zip(&sums).map(|(mean, sums)| mean_of(sums).unwrap_or(*mean)).collect();
        self.set(after.iter().copied());
        let mut pairs = before.iter().zip(&after);
        pairs.all(|(before, after)| after.near(*before, EPSILON))
    }

    fn reset(&self) {
        self.set(self.problem.first_means());
    }

    fn means(&self) -> Vec<Point> {
        let held = read(&self.means);
        let pairs = held[0].iter().zip(&held[1]);
        pairs.map(|(&x, &y)| Point { x, y }).collect()
    }
}
