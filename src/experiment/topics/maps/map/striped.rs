//! A map that takes a lock for reads and for writes.

// Buckets are reached through a shared reference, under a lock that the compiler does not connect
// with them. Locks and buckets must be separate arrays, because where they lie is what is studied.
#![allow(unsafe_code)]

use crate::experiment::topics::maps::map::{SharedMap, Stripes, buckets, lock, spread};
use crate::prelude::*;
use core::cell::UnsafeCell;
use core::sync::atomic::Ordering;

/// A key with its value, and the rest of its bucket.
struct Node {
    key: u32,
    value: u64,
    next: Bucket,
}

type Bucket = Option<Box<Node>>;

/// Bucket `b` belongs to stripe `b % stripes`: the number of buckets is a multiple of the number of
/// stripes.
type Table = Box<[UnsafeCell<Bucket>]>;

/// Sestoft's `StripedMap`: every operation takes the lock of the key's stripe.
pub struct StripedMap {
    stripes: Stripes,
    /// Replaced only with all locks held, read with any lock held.
    table: UnsafeCell<Table>,
}

// SAFETY: the contents of the cells can be sent to other threads, and are reached in only two ways:
// `with` and `for_each` hold the lock of the stripe that the bucket belongs to, and read the table;
// `grow` holds all locks.
unsafe impl Sync for StripedMap {}

impl core::fmt::Debug for StripedMap {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "StripedMap {{ len: {} }}", self.len())
    }
}

impl StripedMap {
    /// Creates an empty map of `stripes` stripes, with one bucket per key for `keys` keys.
    ///
    /// # Panics
    /// If `stripes` is 0.
    pub fn new(stripes: usize, keys: usize) -> Self {
        StripedMap {
            stripes: Stripes::new(stripes, 1),
            table: UnsafeCell::new(table(buckets(stripes, keys))),
        }
    }

    /// Calls `then` on the bucket of a key, with the stripe's lock held. `then` returns by how many
    /// the number of keys grows, and the result.
    fn with<R>(&self, key: u32, then: impl FnOnce(&mut Bucket) -> (i32, R)) -> R {
        let hash = spread(key);
        let stripe = self.stripes.of(hash);
        let guard = lock(self.stripes.lock(stripe));
        // SAFETY: the table is replaced only with all locks held, and one is held here.
        let table = unsafe { &*self.table.get() };
        let cell = table[hash % table.len()].get();
        // SAFETY: the number of buckets is a multiple of the number of stripes, so the bucket
        // belongs to this stripe, whose lock is held; `then` cannot reach the bucket in another
        // way.
        let (more, result) = then(unsafe { &mut *cell });
        let mut crowded = None;
        if more != 0 {
            let size = self.stripes.size(stripe);
            let now = size.load(Ordering::Relaxed).wrapping_add_signed(more);
            size.store(now, Ordering::Relaxed);
            let many = now as usize * self.stripes.count > table.len();
            crowded = many.then_some(table.len());
        }
        drop(guard);
        if let Some(buckets) = crowded {
            self.grow(buckets);
        }
        result
    }

    /// Doubles the table, unless another thread has done so since the table had `buckets` buckets.
    fn grow(&self, buckets: usize) {
        self.stripes.with_all(|| {
            // SAFETY: all locks are held, so no other thread reads the table or a bucket.
            let old = unsafe { &mut *self.table.get() };
            if old.len() != buckets {
                return;
            }
            let mut new = table(2 * buckets);
            for cell in old.iter_mut() {
                let mut rest = cell.get_mut().take();
                while let Some(mut node) = rest {
                    rest = node.next.take();
                    let bucket = spread(node.key) % new.len();
                    let bucket = new[bucket].get_mut();
                    node.next = bucket.take();
                    *bucket = Some(node);
                }
            }
            *old = new;
        });
    }

    fn insert(&self, key: u32, value: u64, replace: bool) -> Option<u64> {
        self.with(key, |bucket| {
            if let Some(held) = value_of(bucket, key) {
                let before = *held;
                if replace {
                    *held = value;
                }
                return (0, Some(before));
            }
            let next = bucket.take();
            *bucket = Some(Box::new(Node { key, value, next }));
            (1, None)
        })
    }
}

fn table(buckets: usize) -> Table {
    (0..buckets).map(|_| UnsafeCell::new(None)).collect()
}

fn value_of(mut bucket: &mut Bucket, key: u32) -> Option<&mut u64> {
    while let Some(node) = bucket {
        if node.key == key {
            return Some(&mut node.value);
        }
        bucket = &mut node.next;
    }
    None
}

impl SharedMap for StripedMap {
    fn get(&self, key: u32) -> Option<u64> {
        self.with(key, |bucket| (0, value_of(bucket, key).copied()))
    }

    fn put(&self, key: u32, value: u64) -> Option<u64> {
        self.insert(key, value, true)
    }

    fn put_if_absent(&self, key: u32, value: u64) -> Option<u64> {
        self.insert(key, value, false)
    }

    fn remove(&self, key: u32) -> Option<u64> {
        self.with(key, |mut bucket| {
            while bucket.as_ref().is_some_and(|node| node.key != key) {
                bucket = match bucket {
                    Some(node) => &mut node.next,
                    None => return (0, None),
                };
            }
            match bucket.take() {
                Some(node) => {
                    *bucket = node.next;
                    (-1, Some(node.value))
                }
                None => (0, None),
            }
        })
    }

    /// Visits stripe by stripe, each under its lock.
    fn for_each(&self, each: &mut dyn FnMut(u32, u64)) {
        let count = self.stripes.count;
        for stripe in 0..count {
            let _guard = lock(self.stripes.lock(stripe));
            // SAFETY: the table is replaced only with all locks held, and one is held here.
            let table = unsafe { &*self.table.get() };
            for cell in table.iter().skip(stripe).step_by(count) {
                // SAFETY: the bucket belongs to this stripe, whose lock is held.
                let mut node = unsafe { &*cell.get() };
                while let Some(held) = node {
                    each(held.key, held.value);
                    node = &held.next;
                }
            }
        }
    }

    fn len(&self) -> usize {
        let size = |stripe| {
            let _guard = lock(self.stripes.lock(stripe));
            self.stripes.size(stripe).load(Ordering::Relaxed) as usize
        };
        (0..self.stripes.count).map(size).sum()
    }
}
