//! Clusters whose fields threads share: the mean, and the sums behind a lock.

use crate::experiment::sync::{Mutex, lock};
use crate::kernel::Sum;
use crate::pattern::kmeans::Point;
use core::sync::atomic::{AtomicU64, Ordering};

/// A mean that moves by no more than this in each coordinate is at rest.
pub(crate) const EPSILON: f64 = 1e-10;

/// A cluster that threads share. `mean` is read without the lock, like a volatile field of Java.
pub(crate) trait Cluster: Default + Send + Sync + 'static {
    fn mean(&self) -> &Mean;
    fn sums(&self) -> &Mutex<Sum>;

    /// Takes the lock and adds a point: the note's `addToMean`.
    #[inline]
    fn add(&self, point: Point) {
        lock(self.sums()).add(point.x, point.y);
    }

    /// Moves the mean to the centroid of the added points, clears the sums, and returns whether the
    /// mean is at rest: the note's `computeNewMean`. A mean without points stays in place.
    fn compute_new_mean(&self) -> bool {
        let sums = core::mem::take(&mut *lock(self.sums()));
        let before = self.mean().get();
        let after = mean_of(&sums).unwrap_or(before);
        self.mean().set(after);
        after.near(before, EPSILON)
    }
}

/// Returns the centroid of the summed points, or `None` without points.
pub(crate) fn mean_of(sums: &Sum) -> Option<Point> {
    let count = sums.count as f64;
    (sums.count > 0).then(|| Point { x: sums.x / count, y: sums.y / count })
}

/// A point that any thread may read. A read during a write may mix old and new coordinates.
#[derive(Debug, Default)]
pub(crate) struct Mean {
    x: AtomicU64,
    y: AtomicU64,
}

impl Mean {
    #[inline]
    pub(crate) fn get(&self) -> Point {
        let number = |bits: &AtomicU64| f64::from_bits(bits.load(Ordering::Relaxed));
        Point { x: number(&self.x), y: number(&self.y) }
    }

    pub(crate) fn set(&self, point: Point) {
        self.x.store(point.x.to_bits(), Ordering::Relaxed);
        self.y.store(point.y.to_bits(), Ordering::Relaxed);
    }
}

/// The note's cluster: mean, lock and sums on one line.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct OneLine {
    mean: Mean,
    sums: Mutex<Sum>,
}

impl Cluster for OneLine {
    #[inline]
    fn mean(&self) -> &Mean {
        &self.mean
    }

    #[inline]
    fn sums(&self) -> &Mutex<Sum> {
        &self.sums
    }
}

/// The note's padded cluster: 128 bytes from the mean to the lock with its sums, and again to the
/// next cluster.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Padded {
    mean: Apart<Mean>,
    sums: Apart<Mutex<Sum>>,
}

/// A value alone on an aligned pair of lines.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Apart<T>(pub(crate) T);

impl Cluster for Padded {
    #[inline]
    fn mean(&self) -> &Mean {
        &self.mean.0
    }

    #[inline]
    fn sums(&self) -> &Mutex<Sum> {
        &self.sums.0
    }
}

#[cfg(test)]
mod tests {
    use core::mem::offset_of;

    use super::*;
    use crate::mem::LINE;

    #[test]
    fn a_cluster_is_one_line_and_a_padded_one_keeps_its_mean_apart() {
        assert_eq!((size_of::<OneLine>(), align_of::<OneLine>()), (LINE, LINE));
        assert_eq!(offset_of!(OneLine, mean) / LINE, offset_of!(OneLine, sums) / LINE);
        assert_eq!((size_of::<Padded>(), offset_of!(Padded, sums)), (256, 128));
    }

    fn moves<C: Cluster>() {
        let cluster = C::default();
        for (x, y) in [(1.0, 2.0), (3.0, 6.0)] {
            cluster.add(Point { x, y });
        }
        assert!(!cluster.compute_new_mean());
        assert_eq!(cluster.mean().get(), Point { x: 2.0, y: 4.0 });
        // The sums were cleared, and a mean without points stays in place.
        assert!(cluster.compute_new_mean());
        cluster.add(Point { x: 2.0, y: 4.0 + EPSILON / 2.0 });
        assert!(cluster.compute_new_mean());
        cluster.add(Point { x: 2.0, y: 4.0 + EPSILON * 2.0 });
        assert!(!cluster.compute_new_mean());
    }

    #[test]
    fn a_mean_moves_to_the_middle_of_its_points() {
        moves::<OneLine>();
        moves::<Padded>();
    }
}
