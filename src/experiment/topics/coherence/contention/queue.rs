//! Threads at locks that serve them in the order of their arrival.

use crate::experiment::prelude::*;
use crate::experiment::shared::words::Spacing;
use crate::host::Worker;
use crate::kernel::{QueueLock, QueueWay};
use crate::mem::Region;
use crate::model::closed_cycle;

/// A lock that is handed on.
static HANDOVER: Model = Model {
    name: "a closed queue for the line of a lock, whose service is a round trip",
    basis: Basis::Calibration,
    bar: 0.25,
    leaves_out: "that a turn may wait until the next thread has joined the queue",
};

/// Threads that take a lock that serves them in the order of their arrival.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct QueueSetup {
    /// The lock.
    pub way: QueueWay,
    /// One lock for all threads, or each thread's own.
    pub spacing: Spacing,
    /// The CPU of each thread, all different.
    pub cpus: Vec<usize>,
    /// Which thread's time counts.
    pub pace: SampleOf,
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

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Result<Workload<'m>, Untestable> {
        // Who waits for a thread on its own CPU waits until the system takes the CPU away.
        let mut cpus = self.cpus.clone();
        cpus.sort_unstable();
        if let Some(pair) = cpus.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Untestable(format!(
                "two threads of a queue would share CPU {}",
                pair[0]
            )));
        }
        let too_small = || Untestable("no room for the locks of all threads".to_owned());
        let mut locks = Vec::with_capacity(self.cpus.len());
        for part in region.into_bytes().chunks_exact_mut(self.lock().max(1)) {
            let threads = QueueLock::threads(Region::new(part)?, self.sharers(), self.way);
            locks.extend(threads.ok_or_else(too_small)?);
        }
        if locks.len() < self.cpus.len() {
            return Err(too_small());
        }
        let member = |(lock, &cpu)| Worker {
            cpu,
            kernel: Box::new(lock),
        };
        let members = locks.into_iter().zip(&self.cpus).map(member);
        Ok(Workload::at_once(members.collect(), self.pace, 1))
    }

    /// Predicts turns of an MCS lock that several threads want, who do nothing in between. A ticket lock lets
    /// a thread take turn after turn while it has the line, for nobody knows how long.
    fn predict(&self, parameters: &Parameters<'_>) -> Option<Forecast> {
        let several = self.way == QueueWay::Mcs && self.sharers() > 1;
        several.then_some(())?;
        let turn = parameters.round_trip()?;
        Some(HANDOVER.forecast(closed_cycle(self.sharers() as f64, 0.0, turn)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Linux;
    use crate::host::{Host, RoundOptions};
    use crate::os::allowed;

    fn setup(way: QueueWay, spacing: Spacing, cpus: Vec<usize>) -> QueueSetup {
        QueueSetup {
            way,
            spacing,
            cpus,
            pace: SampleOf::Slowest,
        }
    }

    /// Each takes its turns though the others wait for the same lock, and leaves it free.
    #[test]
    fn every_thread_takes_its_turns_and_leaves_the_lock_free() {
        let context = Context {
            features: crate::cpu::Features::detect(),
            host: &Linux,
        };
        let cpus = allowed();
        for way in QueueWay::ALL {
            for spacing in [Spacing::Shared, Spacing::Apart(128)] {
                let setup = setup(way, spacing, cpus.clone());
                let mut bytes = vec![0xff; setup.bytes() + 63];
                let at = bytes.as_ptr().align_offset(64);
                let memory = &mut bytes[at..][..setup.bytes()];
                let region = Region::new(memory).unwrap();
                let Ok(Workload::Threads { mut members, .. }) = setup.prepare(region, &context)
                else {
                    panic!("{setup:?} has no threads");
                };
                assert_eq!(members.len(), cpus.len());
                let manner = RoundOptions {
                    ahead: 100_000,
                    keep_on: false,
                };
                let mut turns = 0;
                let rounds = Linux.team(&mut members, manner, &mut |team| {
                    turns = (0..20).map(|_| team.round(1000).len()).sum();
                });
                rounds.unwrap();
                assert_eq!(turns, 20 * cpus.len());
                drop(members);
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
        let context = Context {
            features: crate::cpu::Features::detect(),
            host: &Linux,
        };
        let setup = setup(QueueWay::Mcs, Spacing::Shared, vec![1, 0, 1]);
        let mut bytes = vec![0; setup.bytes() + 63];
        let region = Region::new(&mut bytes).unwrap();
        let refused = setup.prepare(region, &context).unwrap_err();
        assert!(refused.0.contains("share CPU 1"), "{refused}");
    }
}
