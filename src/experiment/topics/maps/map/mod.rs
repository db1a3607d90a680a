//! Maps that threads share: the subject of Sestoft's section 5, and what is held beside it.
//!
//! [`StripedMap`] takes a lock for reads and for writes, [`StripedWriteMap`] for writes alone. Both
//! divide the keys among stripes, each with a lock and a size of its own. They are studied, not
//! offered: keys are `u32`, values `u64`.

use crate::experiment::prelude::*;
use crate::experiment::sync::{Mutex, MutexGuard, PoisonError};
use crate::mem::LINE;
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

/// A map that threads change at once.
pub trait SharedMap: Send + Sync {
    /// What the map holds for `key`.
    fn get(&self, key: u32) -> Option<u64>;

    /// Whether the map holds something for `key`.
    fn contains(&self, key: u32) -> bool {
        self.get(key).is_some()
    }

    /// Has the map hold `value` for `key`. Returns what it held before.
    fn put(&self, key: u32, value: u64) -> Option<u64>;

    /// Has the map hold `value` for `key` if it holds nothing for it. Returns what it held before.
    fn put_if_absent(&self, key: u32, value: u64) -> Option<u64>;

    /// Has the map hold nothing for `key`. Returns what it held before.
    fn remove(&self, key: u32) -> Option<u64>;

    /// Calls `each` for every key with its value. Of what changes meanwhile it may see the old or
    /// the new. `each` must not call the map.
    fn for_each(&self, each: &mut dyn FnMut(u32, u64));

    /// How many keys there are, of which some may come and go meanwhile.
    fn len(&self) -> usize;

    /// Whether there is no key.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Does a thread's share of the note's program.
    fn exercise(&self, share: Share) -> Tally {
        share.of(self)
    }
}

/// The maps that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MapKind {
    /// Locks for reads, too.
    Striped,
    /// Locks for writes; reads wait for nobody.
    StripedWrite,
    /// The same with 15 unused locks and sizes between those that are used.
    StripedWritePadded,
    /// `dashmap::DashMap`: a reader-writer lock a shard, as many shards as the others have
    /// stripes.
    Dash,
    /// `papaya::HashMap`: no locks.
    Papaya,
}

impl MapKind {
    /// All of them.
    pub const ALL: [MapKind; 5] = [
        MapKind::Striped,
        MapKind::StripedWrite,
        MapKind::StripedWritePadded,
        MapKind::Dash,
        MapKind::Papaya,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            MapKind::Striped => "StripedMap",
            MapKind::StripedWrite => "StripedWriteMap",
            MapKind::StripedWritePadded => "StripedWriteMapPadded",
            MapKind::Dash => "DashMap",
            MapKind::Papaya => "papaya::HashMap",
        }
    }

    /// An empty map of so many stripes with room for `keys` keys.
    ///
    /// # Errors
    /// If the map is another crate's, and this was built without it.
    ///
    /// # Panics
    /// If `stripes` is 0.
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

/// The note's hash of a key: the upper half folded onto the lower, and no sign.
fn spread(key: u32) -> usize {
    ((key ^ (key >> 16)) & 0x7FFF_FFFF) as usize
}

/// So many buckets that there is one a key, and that those of a stripe are of no other.
fn buckets(stripes: usize, keys: usize) -> usize {
    assert!(stripes > 0, "a map takes a stripe");
    keys.div_ceil(stripes).max(1) * stripes
}

/// Nothing here is left half done by a panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The chance that an absent key is put.
const PUT: f64 = 0.60;

/// The chance that a present key is removed, and put again if it is still absent then.
const REMOVE: f64 = 0.02;

/// A thread's part of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Share {
    /// Which thread it is, from 0: decides the keys.
    pub thread: u32,
    /// How many keys it looks at.
    pub operations: u64,
    /// Keys are 0 up to below this.
    pub range: u32,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Keys that were put where there was none.
    pub added: u64,
    /// Keys that were removed.
    pub removed: u64,
    /// Keys that were there at the end, counted one by one.
    pub counted: u64,
}

impl Share {
    /// Does it to a map. Java's random numbers decide, so that one thread alone finds the same
    /// with every map.
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
        map.for_each(&mut |_, _| tally.counted += 1);
        tally
    }
}

impl Tally {
    /// The sum of both tallies; of the two counts at the end, the larger.
    pub fn with(self, other: Tally) -> Tally {
        Tally {
            added: self.added + other.added,
            removed: self.removed + other.removed,
            counted: self.counted.max(other.counted),
        }
    }
}

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
