//! Threads that contend for words or locks: by additions, by locks that serve threads in the order
//! of their arrival, and by locks of libraries, whose waiting threads sleep.

use crate::experiment::prelude::*;
use crate::experiment::shared::walk::all_different;
use crate::experiment::shared::words::Spacing;
use crate::experiment::topics::coherence::series;
use crate::host::Worker;
use crate::kernel::{Increment, IncrementWay, QueueLock, QueueWay};
use crate::model::closed_cycle;

#[cfg(feature = "std")]
mod turns;

#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    /// Increments a word, or takes and releases a spin lock.
    Increment(IncrementWay),
    /// Takes and releases a lock that serves threads in the order of their arrival.
    Queue(QueueWay),
    /// Takes and releases a lock of a library.
    Lock(Library),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Library {
    /// `std::sync::Mutex<()>`: 8 bytes.
    Std,
    /// `parking_lot::Mutex<()>`: 1 byte.
    ParkingLot,
}

/// Threads that contend for words or locks. The time of the slowest thread counts.
#[derive(Clone, Debug)]
pub(super) struct ContendSetup {
    pub(super) way: Way,
    /// Where the words or locks lie: in one place, side by side, or on separate lines. A thread that queues
    /// has a lock of its own unless all share one.
    pub(super) spacing: Spacing,
    /// The CPU of each thread. They are all different if the threads queue.
    pub(super) cpus: Vec<usize>,
}

/// Returns the case of a way in a place, each given with its name, on `threads` threads. `None` if no CPU
/// is known.
pub(super) fn contend(
    machine: &Machine,
    (how, way): (&str, Way),
    (place, spacing): (&str, Spacing),
    threads: usize,
) -> Option<Case> {
    let cpus = machine.cpu_order.of(threads).ok()?;
    Some(Case::new(series(how, place), threads as f64, ContendSetup { way, spacing, cpus }))
}

/// The model of a lock that passes from thread to thread.
static HANDOVER: Model = Model {
    name: "a closed queue for the line of a lock, whose service is a round trip",
    basis: Basis::Calibration,
    bar: 0.25,
    leaves_out: "that a turn may wait until the next thread has joined the queue",
};

impl Setup for ContendSetup {
    fn bytes(&self) -> usize {
        match self.way {
            Way::Increment(_) => self.spacing.at(self.cpus.len().saturating_sub(1)) + LINE,
            Way::Queue(_) => self.queue() * (self.cpus.len() / self.sharers().max(1)),
            // The locks lie in their own memory.
            Way::Lock(_) => 0,
        }
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Testable<Workload<'m>> {
        let workers = match self.way {
            Way::Increment(way) => self.incrementing(region, way),
            Way::Queue(way) => self.queueing(region, way),
            #[cfg(feature = "std")]
            Way::Lock(Library::Std) => Ok(self.locking::<std::sync::Mutex<()>, 8>()),
            #[cfg(not(feature = "std"))]
            Way::Lock(Library::Std) => Err(Untestable::without_std()),
            #[cfg(feature = "peers")]
            Way::Lock(Library::ParkingLot) => Ok(self.locking::<parking_lot::Mutex<()>, 64>()),
            #[cfg(not(feature = "peers"))]
            Way::Lock(Library::ParkingLot) => Err(Untestable::without_peers()),
        };
        Ok(Workload::at_once(workers?, SampleOf::Slowest, 1))
    }

    /// Predicts a turn of an MCS lock that several threads want, with nothing to do between turns.
    /// A ticket lock has no prediction: a thread takes turn after turn while it has the line, for
    /// an unknown time.
    fn predict(&self, parameters: &Parameters<'_>) -> Option<Forecast> {
        let several = matches!(self.way, Way::Queue(QueueWay::Mcs)) && self.sharers() > 1;
        several.then_some(())?;
        Some(HANDOVER.forecast(closed_cycle(self.sharers() as f64, 0.0, parameters.round_trip()?)))
    }
}

impl ContendSetup {
    /// Returns the number of threads per queue.
    fn sharers(&self) -> usize {
        match self.spacing {
            Spacing::Shared => self.cpus.len(),
            Spacing::Apart(_) => 1,
        }
    }

    /// Returns the bytes of a queue with the nodes of its threads.
    fn queue(&self) -> usize {
        QueueLock::bytes(self.sharers()).unwrap_or(0)
    }

    fn incrementing<'m>(
        &self,
        mut region: Region<'m>,
        way: IncrementWay,
    ) -> Testable<Vec<Worker<'m>>> {
        // A lock is free at first.
        region.bytes_mut().fill(0);
        let words = region.into_atomics();
        let worker = |(index, &cpu): (usize, &usize)| {
            let word = self.spacing.at(index) / size_of::<u64>();
            let kernel = Increment::new(words, word, way)
                .ok_or_else(|| Untestable(format!("word {word} does not lie in the region")))?;
            Ok(Worker::new(cpu, kernel))
        };
        self.cpus.iter().enumerate().map(worker).collect()
    }

    fn queueing<'m>(&self, region: Region<'m>, way: QueueWay) -> Testable<Vec<Worker<'m>>> {
        // A thread that waits for a thread on the same CPU waits until the system preempts it.
        all_different(&self.cpus)?;
        let too_small = || Untestable("no room for the locks of all threads".to_owned());
        let mut locks = Vec::with_capacity(self.cpus.len());
        for part in region.into_bytes().chunks_exact_mut(self.queue().max(1)) {
            let threads = QueueLock::threads(Region::new(part)?, self.sharers(), way);
            locks.extend(threads.ok_or_else(too_small)?);
        }
        if locks.len() < self.cpus.len() {
            return Err(too_small());
        }
        Ok(locks.into_iter().zip(&self.cpus).map(|(lock, &cpu)| Worker::new(cpu, lock)).collect())
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use crate::experiment::Linux;
    use crate::host::{Host, RoundOptions};
    use crate::os::allowed;

    fn mutexes(library: Library, spacing: Spacing) -> ContendSetup {
        ContendSetup { way: Way::Lock(library), spacing, cpus: vec![0, 1, 0] }
    }

    #[test]
    fn locks_lie_where_they_are_said_to() {
        for bytes in [8, 1] {
            let places = |spacing| {
                let setup = mutexes(Library::Std, spacing);
                [0, 1, 2].map(|index| setup.lock(index, bytes) * bytes)
            };
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
                let setup = mutexes(library, spacing);
                let mut bytes = [0; 256];
                match setup.prepare(Region::new(&mut bytes).unwrap(), &context) {
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

    fn queues(way: QueueWay, spacing: Spacing, cpus: Vec<usize>) -> ContendSetup {
        ContendSetup { way: Way::Queue(way), spacing, cpus }
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
        let refused = setup.prepare(Region::new(&mut bytes).unwrap(), &context).unwrap_err();
        assert!(refused.0.contains("needs 3 CPUs, and there are 2"), "{refused}");
    }
}
