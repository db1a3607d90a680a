//! Detects preemption: what happened to this thread between two points.
// `getrusage` and `sched_getcpu` are calls into C.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

/// `getrusage(RUSAGE_THREAD)` and `sched_getcpu`: how often the calling thread has left its CPU
/// so far, and which CPU it is on.
///
/// Take a reading before a sample and another after it, on the same thread, and compare them with
/// [`since`](Self::since). A reading is a system call of some hundred nanoseconds: take it
/// outside the timed part.
///
/// A sandbox may refuse `getrusage`. The counts are then `None`, and a [`Disturbance`] shows only a
/// change of CPU.
#[doc(alias = "RUSAGE_THREAD")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Switches {
    /// Times the thread gave up the CPU to wait; `None` if the kernel does not report it.
    pub voluntary: Option<u64>,
    /// Times the kernel took the CPU from the thread; `None` if the kernel does not report it.
    pub involuntary: Option<u64>,
    /// The CPU at the moment of reading; `None` if the kernel does not report it.
    pub cpu: Option<usize>,
}

/// What happened to a thread between two [`Switches`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Disturbance {
    /// Voluntary context switches; `None` if the kernel does not report them.
    pub voluntary: Option<u64>,
    /// Context switches forced by the kernel; `None` if the kernel does not report them.
    pub involuntary: Option<u64>,
    /// Whether the two readings found different CPUs.
    pub migrated: bool,
}

impl Switches {
    /// Reads the counts and the CPU of the calling thread.
    pub fn now() -> Self {
        let usage = usage();
        Self {
            voluntary: usage.map(|usage| usage.ru_nvcsw as u64),
            involuntary: usage.map(|usage| usage.ru_nivcsw as u64),
            cpu: current_cpu(),
        }
    }

    /// Returns what happened since `earlier`, which must come from the same thread.
    pub fn since(&self, earlier: &Self) -> Disturbance {
        let more = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        Disturbance {
            voluntary: more(self.voluntary, earlier.voluntary),
            involuntary: more(self.involuntary, earlier.involuntary),
            migrated: self.cpu != earlier.cpu,
        }
    }
}

impl Disturbance {
    /// Returns whether a sample taken meanwhile may have been disturbed in its caches or its time, as
    /// far as the kernel reports.
    pub fn any(&self) -> bool {
        self.voluntary > Some(0) || self.involuntary > Some(0) || self.migrated
    }
}

/// Returns the resource usage of the calling thread; `None` if a sandbox refuses it.
fn usage() -> Option<libc::rusage> {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is a valid rusage to write.
    let status = unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
    // SAFETY: zero bytes are a valid rusage, also if the call wrote nothing.
    (status == 0).then(|| unsafe { usage.assume_init() })
}

/// `sched_getcpu`: returns the CPU that the calling thread runs on; `None` if the kernel does not report it.
pub fn current_cpu() -> Option<usize> {
    // SAFETY: the call takes no arguments and has no preconditions.
    let cpu = unsafe { libc::sched_getcpu() };
    usize::try_from(cpu).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeping_is_a_voluntary_switch() {
        let before = Switches::now();
        std::thread::sleep(std::time::Duration::from_millis(2));
        let disturbance = Switches::now().since(&before);
        assert!(disturbance.voluntary >= Some(1), "{disturbance:?}");
        assert!(disturbance.any());
    }

    #[test]
    fn equal_readings_are_no_disturbance_and_another_cpu_is_one() {
        let here = Switches { voluntary: Some(4), involuntary: Some(7), cpu: Some(2) };
        assert!(!here.since(&here).any());
        let there = Switches { cpu: Some(3), ..here };
        assert_eq!(
            there.since(&here),
            Disturbance { voluntary: Some(0), involuntary: Some(0), migrated: true }
        );
        let preempted = Switches { involuntary: Some(9), ..here };
        assert_eq!(preempted.since(&here).involuntary, Some(2));
        assert!(preempted.since(&here).any());
    }

    #[test]
    fn what_the_kernel_does_not_tell_is_no_zero() {
        let untold = Switches { voluntary: None, involuntary: None, cpu: Some(2) };
        let since = untold.since(&untold);
        assert_eq!((since.voluntary, since.any()), (None, false));
        let elsewhere = Switches { cpu: Some(3), ..untold };
        assert!(elsewhere.since(&untold).any());
    }
}
