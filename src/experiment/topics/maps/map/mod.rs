//! Maps that threads share: the maps of Sestoft's section 5, and maps of other crates for
//! comparison.
//!
//! [`StripedMap`] takes a lock for reads and for writes, [`StripedWriteMap`] only for writes.
//! Both divide the keys among stripes, each with its own lock and size. They are made for study,
//! not for general use: keys are `u32`, values `u64`.

use crate::experiment::prelude::*;
use crate::experiment::sync::{Mutex, lock};
use crate::pattern::java::Random;
use crate::prelude::*;
use alloc::sync::Arc;
use core::sync::atomic::AtomicU32;
pub use striped::StripedMap;
pub use striped_write::StripedWriteMap;

#[cfg(feature = "peers")]
mod peers;
mod striped;
mod striped_write;

/// A map that several threads may change concurrently.
pub trait SharedMap: Send + Sync {
    /// Returns the value of `key`, if the map holds the key.
    fn get(&self, key: u32) -> Option<u64>;

    /// Returns whether the map holds `key`.
    fn contains(&self, key: u32) -> bool {
        self.get(key).is_some()
    }

    /// Sets the value of `key`. Returns the value held before.
    fn put(&self, key: u32, value: u64) -> Option<u64>;

    /// Sets the value of `key` if the map does not hold the key. Returns the value held before.
    fn put_if_absent(&self, key: u32, value: u64) -> Option<u64>;

    /// Removes `key`. Returns the value held before.
    fn remove(&self, key: u32) -> Option<u64>;

    /// Calls `each` for every key with its value. Concurrent changes may or may not be seen. `each`
    /// must not call the map.
    fn for_each(&self, each: &mut dyn FnMut(u32, u64));

    /// Returns the number of keys. Concurrent changes may or may not be counted.
    fn len(&self) -> usize;

    /// Returns whether the map holds no key.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Runs a thread's share of the note's program.
    fn exercise(&self, share: Share) -> Tally {
        share.of(self)
    }
}

/// A map of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MapKind {
    /// [`StripedMap`]: locks for reads and writes.
    Striped,
    /// [`StripedWriteMap`]: locks for writes; readers never wait.
    StripedWrite,
    /// [`StripedWriteMap::padded`]: as `StripedWrite`, with 15 unused locks and sizes between those
    /// in use.
    StripedWritePadded,
    /// `dashmap::DashMap`: a reader-writer lock per shard, and as many shards as the striped maps
    /// have stripes.
    Dash,
    /// `papaya::HashMap`: no locks.
    Papaya,
}

impl MapKind {
    pub const ALL: [MapKind; 5] = [
        MapKind::Striped,
        MapKind::StripedWrite,
        MapKind::StripedWritePadded,
        MapKind::Dash,
        MapKind::Papaya,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            MapKind::Striped => "StripedMap",
            MapKind::StripedWrite => "StripedWriteMap",
            MapKind::StripedWritePadded => "StripedWriteMapPadded",
            MapKind::Dash => "DashMap",
            MapKind::Papaya => "papaya::HashMap",
        }
    }

    /// Creates an empty map of `stripes` stripes with room for `keys` keys.
    ///
    /// # Errors
    /// If the map belongs to another crate, and this program was built without the feature `peers`.
    ///
    /// # Panics
    /// If `stripes` is 0 and the map is one of the note's.
    pub fn make(self, stripes: usize, keys: usize) -> Testable<Arc<dyn SharedMap>> {
        match self {
            MapKind::Striped => Ok(Arc::new(StripedMap::new(stripes, keys))),
            MapKind::StripedWrite => Ok(Arc::new(StripedWriteMap::new(stripes, keys))),
            MapKind::StripedWritePadded => Ok(Arc::new(StripedWriteMap::padded(stripes, keys))),
            #[cfg(feature = "peers")]
            MapKind::Dash => Ok(Arc::new(peers::Dash::new(stripes, keys))),
            #[cfg(feature = "peers")]
            MapKind::Papaya => Ok(Arc::new(peers::Papaya::new(keys))),
            #[cfg(not(feature = "peers"))]
            MapKind::Dash | MapKind::Papaya => Err(Untestable::without_peers()),
        }
    }
}

/// Returns the note's hash of a key: folds the upper half onto the lower and clears the sign bit.
fn spread(key: u32) -> usize {
    ((key ^ (key >> 16)) & 0x7FFF_FFFF) as usize
}

/// Returns the number of buckets: at least one per key, and a multiple of the number of stripes, so
/// that stripes share no bucket.
fn buckets(stripes: usize, keys: usize) -> usize {
    assert!(stripes > 0, "a map takes a stripe");
    keys.div_ceil(stripes).max(1) * stripes
}

/// The probability that an absent key is put.
const PUT: f64 = 0.60;

/// The probability that a present key is removed. It is then put again, if it is absent.
const REMOVE: f64 = 0.02;

/// A thread's share of the note's program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Share {
    /// The thread's number, from 0. It decides the keys.
    pub thread: u32,
    /// The number of keys that the thread looks up.
    pub operations: u64,
    /// Keys lie in `0..range`.
    pub range: u32,
}

/// The counts of one share, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Keys that were put where there was none.
    pub added: u64,
    /// Keys that were removed.
    pub removed: u64,
}

impl Share {
    /// Runs the share on a map. Java's random numbers decide the operations, so that a single
    /// thread leaves the same keys in every map.
    pub(crate) fn of<M: SharedMap + ?Sized>(self, map: &M) -> Tally {
        let mut random = Random::new(i64::from(37 * self.thread + 78));
        let mut tally = Tally::default();
        for _ in 0..self.operations {
            let key = random.next_int_below(self.range);
            let value = u64::from(key);
            if !map.contains(key) {
                if random.next_double() < PUT {
                    tally.added += u64::from(map.put(key, value).is_none());
                }
            } else if random.next_double() < REMOVE {
                tally.removed += u64::from(map.remove(key).is_some());
                tally.added += u64::from(map.put_if_absent(key, value).is_none());
            }
        }
        tally
    }
}

impl Tally {
    pub fn with(self, other: Tally) -> Tally {
        Tally { added: self.added + other.added, removed: self.removed + other.removed }
    }
}

/// Locks per line, at 8 bytes each.
const LOCKS: usize = LINE / size_of::<Mutex<()>>();

/// Sizes per line, at 4 bytes each.
const SIZES: usize = LINE / size_of::<AtomicU32>();

#[derive(Debug, Default)]
#[repr(align(64))]
struct LockLine([Mutex<()>; LOCKS]);

#[derive(Debug, Default)]
#[repr(align(64))]
struct SizeLine([AtomicU32; SIZES]);

/// Array places from one lock or size in use to the next in a padded map, as in the note.
pub(crate) const APART: usize = 16;

/// A lock and a size for each stripe, in two arrays that begin on a line.
#[derive(Debug)]
pub(crate) struct Stripes {
    count: usize,
    /// Array places from one stripe to the next.
    apart: usize,
    locks: Box<[LockLine]>,
    sizes: Box<[SizeLine]>,
}

impl Stripes {
    /// Creates `count` stripes, `apart` array places from each to the next.
    pub fn new(count: usize, apart: usize) -> Self {
        let places = count * apart;
        let locks = (0..places.div_ceil(LOCKS)).map(|_| LockLine::default());
        let sizes = (0..places.div_ceil(SIZES)).map(|_| SizeLine::default());
        Stripes { count, apart, locks: locks.collect(), sizes: sizes.collect() }
    }

    pub fn of(&self, hash: usize) -> usize {
        hash % self.count
    }

    pub fn lock(&self, stripe: usize) -> &Mutex<()> {
        let place = stripe * self.apart;
        &self.locks[place / LOCKS].0[place % LOCKS]
    }

    pub fn size(&self, stripe: usize) -> &AtomicU32 {
        let place = stripe * self.apart;
        &self.sizes[place / SIZES].0[place % SIZES]
    }

    /// Calls `then` with all locks held. Takes them in order, so that threads cannot deadlock.
    pub fn with_all<R>(&self, then: impl FnOnce() -> R) -> R {
        let guards: Vec<_> = (0..self.count).map(|at| lock(self.lock(at))).collect();
        let result = then();
        drop(guards);
        result
    }
}

#[cfg(all(test, feature = "std"))]
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
