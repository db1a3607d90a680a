//! Locks of libraries, and the kernel that takes and releases them.

use super::ContendSetup;
use crate::experiment::prelude::*;
use crate::experiment::shared::words::Spacing;
use crate::host::Worker;
use crate::kernel::{Access, Kernel, Work};
use alloc::sync::Arc;

pub(super) trait Lock: Default + Send + Sync + 'static {
    fn turn(&self);
}

#[cfg(feature = "std")]
impl Lock for std::sync::Mutex<()> {
    fn turn(&self) {
        drop(self.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    }
}

#[cfg(feature = "peers")]
impl Lock for parking_lot::Mutex<()> {
    fn turn(&self) {
        drop(self.lock());
    }
}

/// The locks of one line. The first lock lies at the start of the line.
#[derive(Debug)]
#[repr(align(64))]
struct Line<L, const N: usize>([L; N]);

impl<L: Lock, const N: usize> Line<L, N> {
    fn new() -> Self {
        const { assert!(size_of::<Self>() == LINE && size_of::<L>() * N == LINE) };
        Line(core::array::from_fn(|_| L::default()))
    }
}

/// Takes and releases one lock. An operation is one such turn.
struct Turns<L, const N: usize> {
    locks: Arc<[Line<L, N>]>,
    index: usize,
}

impl<L: Lock, const N: usize> Kernel for Turns<L, N> {
    /// Returns the turns taken.
    fn run(&mut self, operations: u64) -> u64 {
        let lock = &self.locks[self.index / N].0[self.index % N];
        for _ in 0..operations {
            lock.turn();
        }
        operations
    }

    /// The accesses of a turn on a free lock: one exchange takes it, another releases it.
    fn work(&self) -> Work {
        let bytes = word::<L>();
        Work::default().load(2, bytes).store(2, bytes)
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        let at = self.index * size_of::<L>();
        for _ in 0..2 * operations {
            sink(Access::load(at, word::<L>()));
            sink(Access::store(at, word::<L>()));
        }
        operations
    }
}

/// Width in bytes of a lock's exchange. It excludes the flag that follows the word of the standard
/// library's lock.
fn word<L>() -> u32 {
    size_of::<L>().min(4) as u32
}

impl ContendSetup {
    /// Returns the index of the lock of thread `index`, in locks of `bytes` bytes from the first lock.
    pub(super) fn lock(&self, index: usize, bytes: usize) -> usize {
        match self.spacing {
            Spacing::Apart(apart) if apart < LINE => index,
            spacing => spacing.at(index) / bytes,
        }
    }

    /// Returns the threads with their locks, `N` locks per line.
    pub(super) fn locking<'m, L: Lock, const N: usize>(&self) -> Vec<Worker<'m>> {
        let last = self.lock(self.cpus.len().saturating_sub(1), size_of::<L>());
        let locks: Arc<[Line<L, N>]> = (0..=last / N).map(|_| Line::new()).collect();
        let worker = |(index, &cpu): (usize, &usize)| {
            let index = self.lock(index, size_of::<L>());
            Worker::new(cpu, Turns { locks: Arc::clone(&locks), index })
        };
        self.cpus.iter().enumerate().map(worker).collect()
    }
}
