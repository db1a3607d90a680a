//! Locks and sizes in arrays, dense or with unused ones in between.

use crate::experiment::sync::Mutex;
use crate::experiment::topics::maps::map::lock;
use crate::mem::LINE;
use crate::prelude::*;
use core::sync::atomic::AtomicU32;

/// Locks of a line: 8 bytes each.
const LOCKS: usize = LINE / size_of::<Mutex<()>>();

/// Sizes of a line: 4 bytes each.
const SIZES: usize = LINE / size_of::<AtomicU32>();

#[derive(Debug, Default)]
#[repr(align(64))]
struct LockLine([Mutex<()>; LOCKS]);

#[derive(Debug, Default)]
#[repr(align(64))]
struct SizeLine([AtomicU32; SIZES]);

/// Places of an array that a padded map uses one of: the note's.
pub(crate) const APART: usize = 16;

/// A lock and a size for each stripe, in two arrays that begin on a line.
#[derive(Debug)]
pub(crate) struct Stripes {
    count: usize,
    /// Places from one that is used to the next.
    apart: usize,
    locks: Box<[LockLine]>,
    sizes: Box<[SizeLine]>,
}

impl Stripes {
    /// So many stripes, each `apart` places behind the one before.
    pub fn new(count: usize, apart: usize) -> Self {
        let places = count * apart;
        let locks = (0..places.div_ceil(LOCKS)).map(|_| LockLine::default());
        let sizes = (0..places.div_ceil(SIZES)).map(|_| SizeLine::default());
        Stripes {
            count,
            apart,
            locks: locks.collect(),
            sizes: sizes.collect(),
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The stripe of a hash.
    pub fn of(&self, hash: usize) -> usize {
        hash % self.count
    }

    /// The lock of a stripe.
    pub fn lock(&self, stripe: usize) -> &Mutex<()> {
        let place = stripe * self.apart;
        &self.locks[place / LOCKS].0[place % LOCKS]
    }

    /// The size of a stripe.
    pub fn size(&self, stripe: usize) -> &AtomicU32 {
        let place = stripe * self.apart;
        &self.sizes[place / SIZES].0[place % SIZES]
    }

    /// Does something while it has all locks, taken in order so that nobody waits in a circle.
    pub fn with_all<R>(&self, then: impl FnOnce() -> R) -> R {
        let guards: Vec<_> = (0..self.count).map(|at| lock(self.lock(at))).collect();
        let result = then();
        drop(guards);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<T>(first: &T, second: &T) -> usize {
        std::ptr::from_ref(second).addr() - std::ptr::from_ref(first).addr()
    }

    #[test]
    fn stripes_lie_side_by_side_or_apart() {
        for (apart, lock_bytes, size_bytes) in [(1, 8, 4), (APART, 128, 64)] {
            let stripes = Stripes::new(32, apart);
            assert_eq!(std::ptr::from_ref(stripes.lock(0)).addr() % LINE, 0);
            assert_eq!(std::ptr::from_ref(stripes.size(0)).addr() % LINE, 0);
            for stripe in 1..32 {
                let (first, lock) = (stripes.lock(0), stripes.lock(stripe));
                assert_eq!(bytes(first, lock), stripe * lock_bytes);
                let (first, size) = (stripes.size(0), stripes.size(stripe));
                assert_eq!(bytes(first, size), stripe * size_bytes);
            }
        }
    }
}
