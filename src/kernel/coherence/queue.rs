//! Locks that serve waiting threads in the order of their arrival: tickets, and the queue of
//! Mellor-Crummey and Scott ("Algorithms for scalable synchronization on shared-memory
//! multiprocessors", ACM TOCS 9(1), 1991).

// Calls assembly with the addresses of atomic words.
#![allow(unsafe_code)]

use crate::kernel::{Access, Kernel, Work};
use crate::mem::{LINE, Region};
use core::sync::atomic::{AtomicU64, Ordering};

/// Bytes from the lock to the first node, and from node to node: two lines, because some CPUs fetch
/// lines in pairs.
const APART: usize = 2 * LINE;

/// Bytes of a word.
const WORD: usize = size_of::<AtomicU64>();

/// The kind of lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum QueueWay {
    /// A ticket lock: each thread draws a number, and all watch one word until it is served.
    Ticket,
    /// The lock of Mellor-Crummey and Scott: a list of waiting threads, each of which watches a
    /// word of its own.
    Mcs,
}

impl QueueWay {
    /// Both.
    pub const ALL: [QueueWay; 2] = [QueueWay::Ticket, QueueWay::Mcs];
}

/// A thread's turns of a lock that it shares with others. An operation takes the lock and gives it
/// back.
///
/// A thread waits for those before it, so each thread should have a CPU of its own.
#[derive(Debug)]
pub struct QueueLock<'m> {
    words: &'m [AtomicU64],
    /// Index of the first word of this thread's node.
    node: usize,
    way: QueueWay,
}

impl<'m> QueueLock<'m> {
    /// Bytes of the lock of so many threads, their nodes included; `None` if there are none, or too
    /// many to count.
    pub const fn bytes(threads: usize) -> Option<usize> {
        match threads.checked_add(1) {
            Some(parts) if parts > 1 => parts.checked_mul(APART),
            _ => None,
        }
    }

    /// The threads of one lock at the start of `region`, which is free. `None` if the region is
    /// smaller than the [lock](Self::bytes), or there is no thread.
    pub fn threads(
        mut region: Region<'m>,
        threads: usize,
        way: QueueWay,
    ) -> Option<impl Iterator<Item = Self>> {
        let bytes = Self::bytes(threads).filter(|bytes| *bytes <= region.len())?;
        region.bytes_mut()[..bytes].fill(0);
        // Nobody else reaches these words, and each node is one thread's.
        let words = region.into_atomics();
        let node = move |index: usize| (index + 1) * (APART / WORD);
        Some((0..threads).map(move |index| QueueLock {
            words,
            node: node(index),
            way,
        }))
    }
}

impl Kernel for QueueLock<'_> {
    /// Returns the turns taken; of tickets, the one behind the last that was taken.
    fn run(&mut self, operations: u64) -> u64 {
        let lock = &self.words[0];
        match (self.way, operations) {
            (QueueWay::Ticket, 0) => lock.load(Ordering::Relaxed),
            (QueueWay::Mcs, 0) => 0,
            // SAFETY: the lock's two words are atomic, so aligned, and may be written through a
            // shared reference. Only threads of this lock reach them.
            (QueueWay::Ticket, _) => unsafe { linefill_queue_ticket(lock.as_ptr(), operations) },
            (QueueWay::Mcs, _) => {
                let node = self.words[self.node].as_ptr();
                // SAFETY: as above, for the lock's first word and both words of the node, which is
                // this thread's alone. The first word is zero or the address of a node of this
                // lock, since `threads` made it zero and only these kernels write it.
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
    /// Takes a ticket from the word at `lock`, waits until the word behind it is that ticket, and
    /// serves the next one, `operations` times; returns the ticket behind the last one.
    ///
    /// # Safety
    /// Both words are aligned and valid for reads and writes of 8 bytes, by other threads
    /// atomically at most; `operations` is not 0. Does not return unless others serve the tickets
    /// that they took.
    pub fn linefill_queue_ticket(lock: *mut u64, operations: u64) -> u64;

    /// Puts the node at `node` behind the last one of the lock at `lock`, waits for its turn, and
    /// hands the lock to the node behind it, `operations` times; returns `operations`.
    ///
    /// # Safety
    /// The word at `lock` and both words at `node` are aligned and valid for reads and writes of 8
    /// bytes, by other threads atomically at most. The word at `lock` is 0 or the address of a node
    /// that a thread has in this function. `operations` is not 0. Does not return unless others
    /// give the lock back that they took.
    pub fn linefill_queue_mcs(lock: *mut u64, operations: u64, node: *mut u64) -> u64;
}

/// The patterns on which the kernels are checked against their model.
mod checks {
    use crate::kernel::verify::Oracle;
    use crate::kernel::{QueueLock, QueueWay};

    impl Oracle<'_, '_> {
        pub(crate) fn queues(&mut self) {
            for (name, way) in [
                ("linefill_queue_ticket", QueueWay::Ticket),
                ("linefill_queue_mcs", QueueWay::Mcs),
            ] {
                self.check(name, [0, 1, 7, 200], |&index, memory, then| {
                    let mut threads = QueueLock::threads(memory, index + 1, way)?;
                    then(&mut threads.nth(index)?)
                });
            }
        }
    }
}
