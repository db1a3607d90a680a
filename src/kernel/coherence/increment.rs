//! Increments of a word that other threads also increment (Sestoft, section 4.2; Drepper, Figures 6.10
//! and 6.11), and locks that serve waiting threads in the order of their arrival: ticket locks, and the
//! queue of Mellor-Crummey and Scott ("Algorithms for scalable synchronization on shared-memory
//! multiprocessors", ACM TOCS 9(1), 1991).

// Calls assembly with the addresses of atomic words.
#![allow(unsafe_code)]

use crate::kernel::stores::lock;
use crate::kernel::verify::Oracle;
use crate::kernel::{Access, IncrementWay, Kernel, Work};
use crate::mem::{LINE, Region, WORD};
use core::sync::atomic::{AtomicU64, Ordering};

/// How the word is incremented: a row of Sestoft's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Way {
    /// `add [word], 1`: not atomic, so increments get lost.
    Plain,
    /// `lock xadd`: Java's `getAndIncrement`.
    FetchAdd,
    /// A load and `lock cmpxchg`, repeated until it succeeds: Java's `compareAndSet` in a loop.
    CompareExchange,
    /// The word is a spin lock, which is taken and released.
    SpinLock,
}

impl Way {
    /// All ways, in the table's order.
    pub const ALL: [Way; 4] = [Way::Plain, Way::FetchAdd, Way::CompareExchange, Way::SpinLock];
}

/// Increments of one of the words that threads share. An operation is an increment, or a turn of the
/// lock.
#[derive(Debug)]
pub struct Increment<'m> {
    words: &'m [AtomicU64],
    index: usize,
    way: Way,
}

impl<'m> Increment<'m> {
    /// Creates the kernel that increments `words[index]`. Returns `None` if there is no such word.
    pub fn new(words: &'m [AtomicU64], index: usize, way: Way) -> Option<Self> {
        (index < words.len()).then_some(Increment { words, index, way })
    }
}

impl Kernel for Increment<'_> {
    /// Returns the word after the last increment, which other threads may have incremented since; for a
    /// lock, the number of turns.
    fn run(&mut self, operations: u64) -> u64 {
        let word = &self.words[self.index];
        if operations == 0 {
            return match self.way {
                Way::SpinLock => 0,
                _ => word.load(Ordering::Relaxed),
            };
        }
        let at = word.as_ptr();
        // SAFETY: an atomic word is aligned, may be written through a shared reference, and is
        // only accessed by whole aligned instructions. A lock is left free after every turn.
        unsafe {
            match self.way {
                Way::Plain => linefill_increment_plain(at, operations),
                Way::FetchAdd => lock::linefill_lock_add(at.cast(), operations).wrapping_add(1),
                Way::CompareExchange => linefill_increment_compare(at, operations),
                Way::SpinLock => linefill_increment_spin(at, operations),
            }
        }
    }

    fn work(&self) -> Work {
        match self.way {
            Way::Plain | Way::FetchAdd => Work::default().load(1, 8).store(1, 8),
            Way::CompareExchange => Work::default().load(2, 8).store(1, 8),
            Way::SpinLock => Work::default().load(1, 8).store(2, 8),
        }
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        let (word, at) = (&self.words[self.index], 8 * self.index);
        let Work { loads, stores, .. } = self.work();
        for _ in 0..operations {
            (0..loads).for_each(|_| sink(Access::load(at, 8)));
            (0..stores).for_each(|_| sink(Access::store(at, 8)));
            match self.way {
                Way::SpinLock => word.store(0, Ordering::Relaxed),
                _ => _ = word.fetch_add(1, Ordering::Relaxed),
            }
        }
        match self.way {
            Way::SpinLock => operations,
            _ => word.load(Ordering::Relaxed),
        }
    }
}

unsafe extern "sysv64" {
    /// Adds 1 to the word at `at` with one instruction that is not atomic, `operations` times;
    /// returns the word after the last addition.
    ///
    /// # Safety
    /// `at` is aligned and valid for reads and writes of 8 bytes; other threads access it only
    /// atomically; `operations` is not 0.
    pub fn linefill_increment_plain(at: *mut u64, operations: u64) -> u64;

    /// Adds 1 to the word at `at` with `lock cmpxchg`, repeated until it succeeds, `operations` times;
    /// returns the word after the last addition.
    ///
    /// # Safety
    /// As for [`linefill_increment_plain`].
    pub fn linefill_increment_compare(at: *mut u64, operations: u64) -> u64;

    /// Takes the lock at `at`, which is 0 while it is free, with `xchg`, and releases it with a store,
    /// `operations` times; returns `operations`.
    ///
    /// # Safety
    /// As for [`linefill_increment_plain`]; any thread that sets the word to another value than 0 sets it
    /// to 0 again.
    pub fn linefill_increment_spin(at: *mut u64, operations: u64) -> u64;
}

/// Bytes from the lock to the first node, and from each node to the next: two lines, because some CPUs
/// fetch lines in pairs.
const APART: usize = 2 * LINE;

/// The kind of lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum QueueWay {
    /// A ticket lock: each thread draws a number, and all threads watch one word for their number.
    Ticket,
    /// The lock of Mellor-Crummey and Scott: a list of waiting threads, each of which watches a word in
    /// its own node.
    Mcs,
}

impl QueueWay {
    /// Both kinds.
    pub const ALL: [QueueWay; 2] = [QueueWay::Ticket, QueueWay::Mcs];
}

/// A thread's turns of a lock that it shares with other threads. An operation takes the lock and
/// releases it.
///
/// A thread waits for the threads before it, so each thread should have a CPU for itself.
#[derive(Debug)]
pub struct QueueLock<'m> {
    words: &'m [AtomicU64],
    /// Index of the first word of this thread's node.
    node: usize,
    way: QueueWay,
}

impl<'m> QueueLock<'m> {
    /// Bytes of a lock for `threads` threads, including their nodes; `None` if `threads` is 0 or the size
    /// overflows.
    pub const fn bytes(threads: usize) -> Option<usize> {
        match threads.checked_add(1) {
            Some(parts) if parts > 1 => parts.checked_mul(APART),
            _ => None,
        }
    }

    /// Creates the threads of one free lock at the start of `region`. Returns `None` if the region is
    /// smaller than the [lock](Self::bytes), or `threads` is 0.
    pub fn threads(
        mut region: Region<'m>,
        threads: usize,
        way: QueueWay,
    ) -> Option<impl Iterator<Item = Self>> {
        let bytes = Self::bytes(threads).filter(|bytes| *bytes <= region.len())?;
        region.bytes_mut()[..bytes].fill(0);
        // No other code reaches these words, and each node belongs to one thread.
        let words = region.into_atomics();
        let node = move |index: usize| (index + 1) * (APART / WORD);
        Some((0..threads).map(move |index| QueueLock { words, node: node(index), way }))
    }
}

impl Kernel for QueueLock<'_> {
    /// Returns the number of turns in this call; for tickets, the number after the last ticket taken.
    fn run(&mut self, operations: u64) -> u64 {
        let lock = &self.words[0];
        match (self.way, operations) {
            (QueueWay::Ticket, 0) => lock.load(Ordering::Relaxed),
            (QueueWay::Mcs, 0) => 0,
            // SAFETY: the lock's two words are atomic, so aligned, and may be written through a
            // shared reference. Only threads of this lock access them.
            (QueueWay::Ticket, _) => unsafe { linefill_queue_ticket(lock.as_ptr(), operations) },
            (QueueWay::Mcs, _) => {
                let node = self.words[self.node].as_ptr();
                // SAFETY: as above, for the lock's first word and both words of the node, which
                // belongs to this thread alone. The first word is zero or the address of a node of
                // this lock, since `threads` made it zero and only these kernels write it.
                unsafe { linefill_queue_mcs(lock.as_ptr(), operations, node) }
            }
        }
    }

    fn work(&self) -> Work {
        let accesses = match self.way {
            QueueWay::Ticket => 2,
            QueueWay::Mcs => 3,
        };
        Work::default().load(accesses, 8).store(accesses, 8)
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        let node = self.node * WORD;
        for _ in 0..operations {
            match self.way {
                QueueWay::Ticket => {
                    sink(Access::load(0, 8));
                    sink(Access::store(0, 8));
                    let ticket = self.words[0].fetch_add(1, Ordering::Relaxed);
                    sink(Access::load(WORD, 8));
                    sink(Access::store(WORD, 8));
                    self.words[1].store(ticket.wrapping_add(1), Ordering::Relaxed);
                }
                QueueWay::Mcs => {
                    sink(Access::store(node, 8));
                    sink(Access::load(0, 8));
                    sink(Access::store(0, 8));
                    sink(Access::load(node, 8));
                    sink(Access::load(0, 8));
                    sink(Access::store(0, 8));
                }
            }
        }
        match self.way {
            QueueWay::Ticket => self.words[0].load(Ordering::Relaxed),
            QueueWay::Mcs => operations,
        }
    }
}

unsafe extern "sysv64" {
    /// Takes a ticket from the word at `lock`, waits until the next word equals that ticket, and serves the
    /// next ticket, `operations` times; returns the number after the last ticket taken.
    ///
    /// # Safety
    /// Both words are aligned and valid for reads and writes of 8 bytes; other threads access them only
    /// atomically; `operations` is not 0. Does not return unless other threads serve the next ticket after
    /// each ticket that they took.
    pub fn linefill_queue_ticket(lock: *mut u64, operations: u64) -> u64;

    /// Appends the node at `node` to the list of the lock at `lock`, waits for its turn, and passes the lock
    /// to the next node, `operations` times; returns `operations`.
    ///
    /// # Safety
    /// The word at `lock` and both words at `node` are aligned and valid for reads and writes of 8 bytes;
    /// other threads access them only atomically. The word at `lock` is 0 or the address of a node
    /// with which a call of this function is in progress. `operations` is not 0. Does not return unless
    /// other threads release the lock after they took it.
    pub fn linefill_queue_mcs(lock: *mut u64, operations: u64, node: *mut u64) -> u64;
}

impl Oracle<'_, '_> {
    pub(crate) fn increments(&mut self) {
        for (name, way) in [
            ("linefill_increment_plain", IncrementWay::Plain),
            ("linefill_increment_compare", IncrementWay::CompareExchange),
            ("linefill_increment_spin", IncrementWay::SpinLock),
        ] {
            self.check(name, [0, 7, 8, 515], |&index, mut memory, then| {
                if way == IncrementWay::SpinLock {
                    memory.set_word(8 * index, 0);
                }
                then(&mut Increment::new(memory.into_atomics(), index, way)?)
            });
        }
    }

    pub(crate) fn queues(&mut self) {
        for (name, way) in
            [("linefill_queue_ticket", QueueWay::Ticket), ("linefill_queue_mcs", QueueWay::Mcs)]
        {
            self.check(name, [0, 1, 7, 200], |&index, memory, then| {
                let mut threads = QueueLock::threads(memory, index + 1, way)?;
                then(&mut threads.nth(index)?)
            });
        }
    }
}
