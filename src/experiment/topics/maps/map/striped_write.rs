//! A map that takes a lock for writes and none for reads.
//!
//! Published nodes never change, so a reader walks a bucket as it was when the reader loaded its
//! head. A writer replaces the head. Readers may be walking the nodes that a writer removes, and
//! readers are not counted. Removed nodes are therefore kept until the map is used exclusively
//! ([`StripedWriteMap::reclaim`]) or dropped. Java leaves them to its garbage collector.

// Nodes are reached through pointers that a writer has published, and freed when no other thread
// can reach them.
#![allow(unsafe_code)]

use crate::experiment::sync::Mutex;
use crate::experiment::topics::maps::map::{APART, SharedMap, Stripes, buckets, lock, spread};
use crate::prelude::*;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

/// A key with its value, and the rest of its bucket. Never changes.
struct Node {
    key: u32,
    value: u64,
    next: *const Node,
}

/// The heads of the buckets. Bucket `b` belongs to stripe `b % stripes`.
struct Table {
    heads: Box<[AtomicPtr<Node>]>,
}

/// The nodes that a stripe's writers removed from its buckets. It lies on separate lines, so that
/// it does not add to the lines that neighbouring stripes share.
#[derive(Default)]
#[repr(align(128))]
struct Retired(Mutex<Vec<*mut Node>>);

/// Sestoft's `StripedWriteMap`: writers lock a stripe, readers never wait. With padding, it is his
/// `StripedWriteMapPadded`.
///
/// A reader first reads the size of the key's stripe, as in the note. In Java, this read makes the
/// bucket visible that was written before the size. Here the bucket's own pointer is published, and
/// the size is read only for its cost: it shares its line with the sizes of other stripes. Its
/// value is ignored. A reader that took a size of 0 for an absent key could find a key absent after
/// another reader had found it present, while the key's put is not yet complete.
pub struct StripedWriteMap {
    stripes: Stripes,
    /// Replaced only with all locks held.
    table: AtomicPtr<Table>,
    retired: Box<[Retired]>,
    /// Tables that were replaced, with the nodes in them.
    outgrown: Mutex<Vec<*mut Table>>,
}

// SAFETY: nodes and tables can be sent to other threads. They are reached through pointers that are
// published with release order and loaded with acquire order, or under the stripe's lock. They
// never change after that (heads are atomic), and are freed only with exclusive access to the map.
unsafe impl Send for StripedWriteMap {}
// SAFETY: as for `Send`.
unsafe impl Sync for StripedWriteMap {}

impl core::fmt::Debug for StripedWriteMap {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "StripedWriteMap {{ len: {} }}", self.len())
    }
}

/// A writer's change to a key.
enum Change {
    Nothing,
    Put(u64),
    Remove,
}

impl Table {
    fn new(buckets: usize) -> Self {
        let heads = (0..buckets).map(|_| AtomicPtr::new(ptr::null_mut()));
        Table { heads: heads.collect() }
    }

    fn head(&self, hash: usize) -> &AtomicPtr<Node> {
        &self.heads[hash % self.heads.len()]
    }

    /// Frees the nodes in the buckets.
    ///
    /// # Safety
    /// Nothing else uses the nodes, now or later.
    unsafe fn free(&mut self) {
        for head in &mut self.heads {
            let mut node = *head.get_mut();
            while !node.is_null() {
                // SAFETY: a node comes from `new_node` and is in one bucket of one table, and
                // nothing else uses it.
                node = unsafe { Box::from_raw(node) }.next.cast_mut();
            }
        }
    }
}

fn new_node(key: u32, value: u64, next: *const Node) -> *mut Node {
    Box::into_raw(Box::new(Node { key, value, next }))
}

/// Iterates over the nodes of a bucket, from `at` on.
///
/// # Safety
/// The nodes live for `'a`.
unsafe fn chain<'a>(mut at: *const Node) -> impl Iterator<Item = &'a Node> {
    core::iter::from_fn(move || {
        // SAFETY: the caller guarantees that the node lives.
        let node = unsafe { at.as_ref() }?;
        at = node.next;
        Some(node)
    })
}

impl StripedWriteMap {
    /// Creates an empty map of `stripes` stripes, with one bucket per key for `keys` keys.
    ///
    /// # Panics
    /// If `stripes` is 0.
    pub fn new(stripes: usize, keys: usize) -> Self {
        Self::spaced(stripes, keys, 1)
    }

    /// Like [`new`](Self::new), with 15 unused locks and sizes between those in use.
    ///
    /// # Panics
    /// If `stripes` is 0.
    pub fn padded(stripes: usize, keys: usize) -> Self {
        Self::spaced(stripes, keys, APART)
    }

    fn spaced(stripes: usize, keys: usize, apart: usize) -> Self {
        let table = Box::new(Table::new(buckets(stripes, keys)));
        StripedWriteMap {
            stripes: Stripes::new(stripes, apart),
            table: AtomicPtr::new(Box::into_raw(table)),
            retired: (0..stripes).map(|_| Retired::default()).collect(),
            outgrown: Mutex::default(),
        }
    }

    /// Returns the current table. It may be replaced at any time, but is not freed.
    fn table(&self) -> &Table {
        // SAFETY: a table is freed only through `&mut self`, which this reference excludes.
        unsafe { &*self.table.load(Ordering::Acquire) }
    }

    /// Changes the value of a key as `change` decides from the value held. Returns the value held
    /// before.
    fn write(&self, key: u32, change: impl FnOnce(Option<u64>) -> Change) -> Option<u64> {
        let hash = spread(key);
        let stripe = self.stripes.of(hash);
        let guard = lock(self.stripes.lock(stripe));
        // The table cannot be replaced while this lock is held.
        let table = self.table();
        let place = table.head(hash);
        let head = place.load(Ordering::Relaxed);
        // SAFETY: nodes are freed only through `&mut self`.
        let before = unsafe { chain(head) }.find(|node| node.key == key);
        let before = before.map(|node| node.value);
        let (new, more) = match change(before) {
            Change::Put(value) => {
                let rest = self.without(head, key, before.is_some(), stripe);
                (new_node(key, value, rest), i32::from(before.is_none()))
            }
            Change::Remove if before.is_some() => {
                (self.without(head, key, true, stripe).cast_mut(), -1)
            }
            Change::Remove | Change::Nothing => return before,
        };
        place.store(new, Ordering::Release);
        let size = self.stripes.size(stripe);
        let now = size.load(Ordering::Relaxed).wrapping_add_signed(more);
        size.store(now, Ordering::Release);
        let buckets = table.heads.len();
        let crowded = now as usize * self.stripes.count > buckets;
        drop(guard);
        if crowded {
            self.grow(buckets);
        }
        before
    }

    /// Returns the bucket without `key`: new nodes in place of those before the key's node, and the
    /// unchanged nodes after it. Retires the replaced nodes and the key's. If the key is not in the
    /// bucket, returns it unchanged.
    fn without(&self, head: *mut Node, key: u32, is_in: bool, stripe: usize) -> *const Node {
        if !is_in {
            return head;
        }
        let mut retired = lock(&self.retired[stripe].0);
        let (mut at, mut before) = (head, Vec::new());
        loop {
            retired.push(at);
            // SAFETY: the key's node is in the bucket, so the walk ends there and not at a null
            // pointer; nodes are freed only through `&mut self`.
            let node = unsafe { &*at };
            if node.key == key {
                let keep = before
                    .iter()
                    .fold(node.next, |rest, node: &&Node| new_node(node.key, node.value, rest));
                return keep;
            }
            before.push(node);
            at = node.next.cast_mut();
        }
    }

    /// Doubles the table, unless another thread has done so since the table had `buckets` buckets.
    /// Readers may continue in the old table. It stays as it was when it was replaced, which was
    /// after they had begun.
    fn grow(&self, buckets: usize) {
        self.stripes.with_all(|| {
            let old = self.table();
            if old.heads.len() != buckets {
                return;
            }
            let new = Table::new(2 * buckets);
            for head in &old.heads {
                // SAFETY: nodes are freed only through `&mut self`.
                for node in unsafe { chain(head.load(Ordering::Relaxed)) } {
                    let place = new.head(spread(node.key));
                    let node = new_node(node.key, node.value, place.load(Ordering::Relaxed));
                    place.store(node, Ordering::Relaxed);
                }
            }
            let new = Box::into_raw(Box::new(new));
            lock(&self.outgrown).push(self.table.swap(new, Ordering::AcqRel));
        });
    }

    /// Frees the removed nodes and replaced tables. Takes `&mut self`, so that no reader is under
    /// way.
    pub fn reclaim(&mut self) {
        for retired in &mut self.retired {
            for node in lock(&retired.0).drain(..) {
                // SAFETY: a node comes from `new_node`, was retired once, is in no bucket of a
                // table, and `&mut self` excludes readers.
                drop(unsafe { Box::from_raw(node) });
            }
        }
        for table in lock(&self.outgrown).drain(..) {
            // SAFETY: the table comes from a box, is no longer the map's, and `&mut self` excludes
            // readers. Its nodes were copied to the next table.
            unsafe { Box::from_raw(table).free() };
        }
    }

    /// Returns how many nodes and tables are kept for readers that may be under way.
    pub fn kept(&self) -> usize {
        let nodes = self.retired.iter().map(|retired| lock(&retired.0).len());
        nodes.sum::<usize>() + lock(&self.outgrown).len()
    }
}

impl Drop for StripedWriteMap {
    fn drop(&mut self) {
        self.reclaim();
        // SAFETY: the table comes from a box, and the map ends here.
        unsafe { Box::from_raw(*self.table.get_mut()).free() };
    }
}

impl SharedMap for StripedWriteMap {
    fn get(&self, key: u32) -> Option<u64> {
        let hash = spread(key);
        let size = self.stripes.size(self.stripes.of(hash));
        core::hint::black_box(size.load(Ordering::Acquire));
        let head = self.table().head(hash).load(Ordering::Acquire);
        // SAFETY: nodes are freed only through `&mut self`.
        let mut nodes = unsafe { chain(head) };
        nodes.find(|node| node.key == key).map(|node| node.value)
    }

    fn put(&self, key: u32, value: u64) -> Option<u64> {
        self.write(key, |_| Change::Put(value))
    }

    fn put_if_absent(&self, key: u32, value: u64) -> Option<u64> {
        self.write(key, |before| match before {
            None => Change::Put(value),
            Some(_) => Change::Nothing,
        })
    }

    fn remove(&self, key: u32) -> Option<u64> {
        self.write(key, |_| Change::Remove)
    }

    /// Visits bucket by bucket, without a lock.
    fn for_each(&self, each: &mut dyn FnMut(u32, u64)) {
        for head in &self.table().heads {
            // SAFETY: nodes are freed only through `&mut self`.
            for node in unsafe { chain(head.load(Ordering::Acquire)) } {
                each(node.key, node.value);
            }
        }
    }

    fn len(&self) -> usize {
        let sizes = 0..self.stripes.count;
        sizes.map(|stripe| self.stripes.size(stripe).load(Ordering::Acquire) as usize).sum()
    }
}
