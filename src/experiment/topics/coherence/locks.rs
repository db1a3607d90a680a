//! Threads that contend for words or locks: by additions, by locks that serve threads in the order
//! of their arrival, and by locks of libraries, whose waiting threads sleep.

use crate::experiment::prelude::*;
use crate::experiment::shared::walk::all_different;
use crate::experiment::shared::words::{IncrementSetup, Spacing};
use crate::host::Worker;
use crate::kernel::{IncrementWay, QueueLock, QueueWay};
use crate::mem::Region;
use crate::model::closed_cycle;

#[cfg(feature = "std")]
mod turns;

/// The operation of a thread.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    /// Increments a word, or takes a spin lock.
    Increment(IncrementWay),
    /// Takes a lock that serves threads in the order of their arrival.
    Queue(QueueWay),
    /// Takes a lock of a library.
    Lock(Library),
}

impl Way {
    /// Returns the case of threads on these CPUs. The time of the slowest thread counts.
    pub(super) fn case(self, series: String, spacing: Spacing, cpus: Vec<usize>) -> Case {
        let x = cpus.len() as f64;
        match self {
            Way::Increment(way) => Case::new(series, x, IncrementSetup { way, spacing, cpus }),
            Way::Queue(way) => Case::new(series, x, QueueSetup { way, spacing, cpus }),
            Way::Lock(of) => Case::new(series, x, MutexSetup { of, spacing, cpus }),
        }
    }
}

/// The library of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Library {
    /// `std::sync::Mutex<()>`: 8 bytes.
    Std,
    /// `parking_lot::Mutex<()>`: 1 byte.
    ParkingLot,
}

/// Threads that take and release locks of a library.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MutexSetup {
    /// The library of the locks.
    pub of: Library,
    /// Where the locks lie: in one place, side by side, or on separate lines.
    pub spacing: Spacing,
    /// The CPU of each thread.
    pub cpus: Vec<usize>,
}

impl Setup for MutexSetup {
    /// The region is not used: the locks lie in their own memory.
    fn bytes(&self) -> usize {
        0
    }

    fn prepare<'m>(&self, _: Region<'m>, _: &Context) -> Testable<Workload<'m>> {
        match self.of {
            #[cfg(feature = "std")]
            Library::Std => Ok(self.workload::<std::sync::Mutex<()>, 8>()),
            #[cfg(not(feature = "std"))]
            Library::Std => Err(Untestable::without_std()),
            #[cfg(feature = "peers")]
            Library::ParkingLot => Ok(self.workload::<parking_lot::Mutex<()>, 64>()),
            #[cfg(not(feature = "peers"))]
            Library::ParkingLot => Err(Untestable::without_peers()),
        }
    }
}

/// The model of a lock that passes from thread to thread.
static HANDOVER: Model = Model {
    name: "a closed queue for the line of a lock, whose service is a round trip",
    basis: Basis::Calibration,
    bar: 0.25,
    leaves_out: "that a turn may wait until the next thread has joined the queue",
};

/// Threads that take and release a lock that serves them in the order of their arrival.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct QueueSetup {
    /// The lock.
    pub way: QueueWay,
    /// Whether all threads share one lock, or each thread has its own.
    pub spacing: Spacing,
    /// The CPU of each thread, all different.
    pub cpus: Vec<usize>,
}

impl QueueSetup {
    /// Threads per lock.
    fn sharers(&self) -> usize {
        match self.spacing {
            Spacing::Shared => self.cpus.len(),
            Spacing::Apart(_) => 1,
        }
    }

    /// Bytes of a lock with the nodes of its threads.
    fn lock(&self) -> usize {
        QueueLock::bytes(self.sharers()).unwrap_or(0)
    }
}

impl Setup for QueueSetup {
    fn bytes(&self) -> usize {
        self.lock() * (self.cpus.len() / self.sharers().max(1))
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Testable<Workload<'m>> {
        // A thread that waits for a thread on the same CPU waits until the system preempts it.
        all_different(&self.cpus)?;
        let too_small = || Untestable("no room for the locks of all threads".to_owned());
        let mut locks = Vec::with_capacity(self.cpus.len());
        for part in region.into_bytes().chunks_exact_mut(self.lock().max(1)) {
            let threads = QueueLock::threads(Region::new(part)?, self.sharers(), self.way);
            locks.extend(threads.ok_or_else(too_small)?);
        }
        if locks.len() < self.cpus.len() {
            return Err(too_small());
        }
        let worker = |(lock, &cpu)| Worker::new(cpu, lock);
        let workers = locks.into_iter().zip(&self.cpus).map(worker);
        Ok(Workload::at_once(workers.collect(), SampleOf::Slowest, 1))
    }

    /// Predicts a turn of an MCS lock that several threads want, with nothing to do between turns.
    /// A ticket lock has no prediction: a thread takes turn after turn while it has the line, for
    /// an unknown time.
    fn predict(&self, parameters: &Parameters<'_>) -> Option<Forecast> {
        let several = self.way == QueueWay::Mcs && self.sharers() > 1;
        several.then_some(())?;
        let turn = parameters.round_trip()?;
        Some(HANDOVER.forecast(closed_cycle(self.sharers() as f64, 0.0, turn)))
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use crate::experiment::Linux;
    use crate::host::{Host, RoundOptions};
    use crate::os::allowed;

    fn mutexes(spacing: Spacing) -> MutexSetup {
        MutexSetup { of: Library::Std, spacing, cpus: vec![0, 1, 0] }
    }

    #[test]
    fn locks_lie_where_they_are_said_to() {
        for bytes in [8, 1] {
            let places =
                |spacing| [0, 1, 2].map(|index| mutexes(spacing).lock(index, bytes) * bytes);
            assert_eq!(places(Spacing::Shared), [0, 0, 0]);
            assert_eq!(places(Spacing::Apart(8)), [0, bytes, 2 * bytes]);
            assert_eq!(places(Spacing::Apart(64)), [0, 64, 128]);
            assert_eq!(places(Spacing::Apart(128)), [0, 128, 256]);
        }
    }

    #[test]
    fn every_thread_takes_its_turns() {
        let context = Context::here();
        for library in [Library::Std, Library::ParkingLot] {
            for spacing in [Spacing::Shared, Spacing::Apart(8), Spacing::Apart(128)] {
                let setup = MutexSetup { of: library, ..mutexes(spacing) };
                let mut bytes = [0; 256];
                let region = Region::new(&mut bytes).unwrap();
                match setup.prepare(region, &context) {
                    Ok(Workload::Threads { mut workers, .. }) => {
                        assert_eq!(workers.len(), 3);
                        let turns = workers.iter_mut().map(|worker| worker.kernel.run(5));
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

    fn queues(way: QueueWay, spacing: Spacing, cpus: Vec<usize>) -> QueueSetup {
        QueueSetup { way, spacing, cpus }
    }

    /// Each thread takes its turns while the others wait for the same lock, and leaves the lock free.
    #[test]
    fn every_thread_takes_its_turns_and_leaves_the_lock_free() {
        let context = Context::here();
        let cpus = allowed();
        for way in QueueWay::ALL {
            for spacing in [Spacing::Shared, Spacing::Apart(128)] {
                let setup = queues(way, spacing, cpus.clone());
                let mut bytes = vec![0xff; setup.bytes() + 63];
                let at = bytes.as_ptr().align_offset(64);
                let memory = &mut bytes[at..][..setup.bytes()];
                let region = Region::new(memory).unwrap();
                let Ok(Workload::Threads { mut workers, .. }) = setup.prepare(region, &context)
                else {
                    panic!("{setup:?} has no threads");
                };
                assert_eq!(workers.len(), cpus.len());
                let options = RoundOptions { ahead: 100_000, keep_on: false };
                let mut turns = 0;
                let rounds = Linux.thread_group(&mut workers, options, &mut |group| {
                    turns = (0..20).map(|_| group.round(1000).len()).sum();
                });
                rounds.unwrap();
                assert_eq!(turns, 20 * cpus.len());
                drop(workers);
                let word = |at: usize| u64::from_ne_bytes(memory[at..][..8].try_into().unwrap());
                let taken = 20_000 * setup.sharers() as u64;
                let (first, second) = match way {
                    QueueWay::Ticket => (taken, taken),
                    _ => (0, 0),
                };
                assert_eq!((word(0), word(8)), (first, second), "{setup:?}");
            }
        }
    }

    #[test]
    fn threads_of_a_queue_share_no_cpu() {
        let context = Context::here();
        let setup = queues(QueueWay::Mcs, Spacing::Shared, vec![1, 0, 1]);
        let mut bytes = vec![0; setup.bytes() + 63];
        let region = Region::new(&mut bytes).unwrap();
        let refused = setup.prepare(region, &context).unwrap_err();
        assert!(refused.0.contains("needs 3 CPUs, and there are 2"), "{refused}");
    }
}
