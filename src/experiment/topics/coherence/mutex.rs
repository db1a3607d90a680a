//! Threads that take and release locks of libraries, whose waiting threads sleep.

use crate::experiment::prelude::*;
use crate::experiment::shared::increment::Spacing;
use crate::kernel::{Access, Kernel, Work};
use crate::mem::{LINE, Region};
use crate::os::Worker;
use std::sync::{Arc, Mutex, PoisonError};

/// Whose locks they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Library {
    /// `std::sync::Mutex<()>`: 8 bytes.
    Std,
    /// `parking_lot::Mutex<()>`: 1 byte.
    ParkingLot,
}

/// Threads that take locks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MutexSetup {
    /// The library of the locks.
    pub library: Library,
    /// Where the locks lie: in one place, side by side, or on separate lines.
    pub spacing: Spacing,
    /// The CPU of each thread.
    pub cpus: Vec<usize>,
    /// Whose time counts.
    pub pace: SampleOf,
}

/// A lock.
trait Lock: Default + Send + Sync + 'static {
    /// Takes the lock and releases it.
    fn turn(&self);
}

impl Lock for Mutex<()> {
    fn turn(&self) {
        drop(self.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

#[cfg(feature = "peers")]
impl Lock for parking_lot::Mutex<()> {
    fn turn(&self) {
        drop(self.lock());
    }
}

/// The locks of one line; the first begins the line.
#[derive(Debug)]
#[repr(align(64))]
struct Line<L, const N: usize>([L; N]);

impl<L: Lock, const N: usize> Line<L, N> {
    fn new() -> Self {
        const { assert!(size_of::<Self>() == LINE && size_of::<L>() * N == LINE) };
        Line(core::array::from_fn(|_| L::default()))
    }
}

/// Takes and releases one lock. An operation is a turn.
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
        let bytes = 2 * word::<L>();
        Work {
            loads: 2,
            stores: 2,
            bytes_read: bytes,
            bytes_written: bytes,
            ..Work::default()
        }
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

/// Width of a lock's exchange in bytes: a flag follows the word of the standard library's lock.
fn word<L>() -> u32 {
    size_of::<L>().min(4) as u32
}

impl MutexSetup {
    /// The lock of thread `index`, as a number of locks of `bytes` bytes from the first lock.
    fn lock(&self, index: usize, bytes: usize) -> usize {
        match self.spacing {
            Spacing::Apart(apart) if apart < LINE => index,
            spacing => spacing.at(index) / bytes,
        }
    }

    /// The threads with their locks, `N` locks per line.
    fn team<'m, L: Lock, const N: usize>(&self) -> Workload<'m> {
        let last = self.lock(self.cpus.len().saturating_sub(1), size_of::<L>());
        let locks: Arc<[Line<L, N>]> = (0..=last / N).map(|_| Line::new()).collect();
        let member = |(index, &cpu): (usize, &usize)| Worker {
            cpu,
            kernel: Box::new(Turns {
                locks: Arc::clone(&locks),
                index: self.lock(index, size_of::<L>()),
            }),
        };
        let members = self.cpus.iter().enumerate().map(member).collect();
        Workload::at_once(members, self.pace, 1)
    }
}

impl Setup for MutexSetup {
    /// The region is not used: locks lie in memory of their own.
    fn bytes(&self) -> usize {
        0
    }

    fn prepare<'m>(&self, _: Region<'m>, _: &Context) -> Result<Workload<'m>, Untestable> {
        match self.library {
            Library::Std => Ok(self.team::<Mutex<()>, 8>()),
            #[cfg(feature = "peers")]
            Library::ParkingLot => Ok(self.team::<parking_lot::Mutex<()>, 64>()),
            #[cfg(not(feature = "peers"))]
            Library::ParkingLot => Err(Untestable::without_peers()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup(spacing: Spacing) -> MutexSetup {
        MutexSetup {
            library: Library::Std,
            spacing,
            cpus: vec![0, 1, 0],
            pace: SampleOf::Slowest,
        }
    }

    #[test]
    fn locks_lie_where_they_are_said_to() {
        for bytes in [8, 1] {
            let places = |spacing| [0, 1, 2].map(|index| setup(spacing).lock(index, bytes) * bytes);
            assert_eq!(places(Spacing::Shared), [0, 0, 0]);
            assert_eq!(places(Spacing::Apart(8)), [0, bytes, 2 * bytes]);
            assert_eq!(places(Spacing::Apart(64)), [0, 64, 128]);
            assert_eq!(places(Spacing::Apart(128)), [0, 128, 256]);
        }
    }

    #[test]
    fn every_thread_takes_its_turns() {
        let context = Context {
            features: crate::cpu::Features::detect(),
        };
        for library in [Library::Std, Library::ParkingLot] {
            for spacing in [Spacing::Shared, Spacing::Apart(8), Spacing::Apart(128)] {
                let setup = MutexSetup {
                    library,
                    ..setup(spacing)
                };
                let mut bytes = [0; 256];
                let region = Region::new(&mut bytes).unwrap();
                match setup.prepare(region, &context) {
                    Ok(Workload::Threads { mut members, .. }) => {
                        assert_eq!(members.len(), 3);
                        let turns = members.iter_mut().map(|member| member.kernel.run(5));
                        assert_eq!(turns.sum::<u64>(), 15);
                    }
                    Ok(other) => panic!("{other:?}"),
                    Err(reason) => {
                        let refused = (library, cfg!(feature = "peers"));
                        assert_eq!(refused, (Library::ParkingLot, false), "{reason}");
                    }
                }
            }
        }
    }
}
