//! Threads that take and release `std::sync::Mutex`, which sleep while somebody else has it.

use std::sync::{Arc, Mutex, PoisonError};

use super::Spacing;
use crate::experiment::{Context, Pace, Setup, Subject, Untestable};
use crate::kernel::{Access, Kernel, Work};
use crate::mem::{LINE, Region};
use crate::os::Member;

/// Threads that take locks of the standard library.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MutexSetup {
    /// Where their locks lie: in one place, 8 bytes apart, or on lines of their own.
    pub spacing: Spacing,
    /// The CPU of each.
    pub cpus: Vec<usize>,
    /// Whose time counts.
    pub pace: Pace,
}

/// Bytes of a lock.
const LOCK: usize = size_of::<Mutex<()>>();

/// Enough locks for a line.
const A_LINE: usize = LINE / LOCK;

/// Locks, the first on a line.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Line([Mutex<()>; A_LINE]);

/// Takes and releases one lock. An operation is a turn.
struct Turns {
    locks: Arc<[Line]>,
    index: usize,
}

impl Kernel for Turns {
    /// Returns the turns taken.
    fn run(&mut self, operations: u64) -> u64 {
        let lock = &self.locks[self.index / A_LINE].0[self.index % A_LINE];
        for _ in 0..operations {
            drop(lock.lock().unwrap_or_else(PoisonError::into_inner));
        }
        operations
    }

    /// What a turn does if the lock is free: an exchange takes it, another gives it back.
    fn work(&self) -> Work {
        Work {
            loads: 2,
            stores: 2,
            bytes_read: 8,
            bytes_written: 8,
            ..Work::default()
        }
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) {
        let at = self.index * LOCK;
        for _ in 0..2 * operations {
            sink(Access::load(at, 4));
            sink(Access::store(at, 4));
        }
    }
}

impl MutexSetup {
    /// The lock of the thread `index`, counted from the first.
    fn lock(&self, index: usize) -> usize {
        match self.spacing {
            Spacing::Apart(bytes) if bytes < LINE => index,
            spacing => spacing.at(index) / LOCK,
        }
    }
}

impl Setup for MutexSetup {
    /// None of the region: locks lie in memory of their own.
    fn bytes(&self) -> usize {
        0
    }

    fn prepare<'m>(&self, _: Region<'m>, _: &Context) -> Result<Subject<'m>, Untestable> {
        let last = self.lock(self.cpus.len().saturating_sub(1));
        let locks: Arc<[Line]> = (0..=last / A_LINE).map(|_| Line::default()).collect();
        let member = |(index, &cpu): (usize, &usize)| Member {
            cpu,
            kernel: Box::new(Turns {
                locks: Arc::clone(&locks),
                index: self.lock(index),
            }),
        };
        Ok(Subject::Team {
            members: self.cpus.iter().enumerate().map(member).collect(),
            pace: self.pace,
            lap: 1,
            in_step: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup(spacing: Spacing) -> MutexSetup {
        MutexSetup {
            spacing,
            cpus: vec![0, 1, 0],
            pace: Pace::Slowest,
        }
    }

    #[test]
    fn locks_lie_where_they_are_said_to() {
        let places = |spacing| [0, 1, 2].map(|index| setup(spacing).lock(index) * LOCK);
        assert_eq!(places(Spacing::Shared), [0, 0, 0]);
        assert_eq!(places(Spacing::Apart(8)), [0, LOCK, 2 * LOCK]);
        assert_eq!(places(Spacing::Apart(64)), [0, 64, 128]);
        assert_eq!(places(Spacing::Apart(128)), [0, 128, 256]);
        assert_eq!(size_of::<Line>(), LINE);
    }
}
