//! Maps that threads share: the subject of Sestoft's section 5, and what is held beside it.
//!
//! [`StripedMap`] takes a lock for reads and for writes, [`StripedWriteMap`] for writes alone. Both
//! divide the keys among stripes, each with a lock and a size of its own. They are studied, not
//! offered: keys are `u32`, values `u64`.

use crate::experiment::prelude::*;
use crate::experiment::sync::{Mutex, MutexGuard, PoisonError};
use alloc::sync::Arc;
pub use share::{Share, Tally};
pub use striped::StripedMap;
pub use striped_write::StripedWriteMap;

#[cfg(feature = "peers")]
mod peers;
mod places;
mod share;
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
    pub fn make(self, stripes: usize, keys: usize) -> Result<Arc<dyn SharedMap>, Untestable> {
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
