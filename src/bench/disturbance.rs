//! Whether a thread is left alone while it measures.

use crate::measure::Monitor;
use crate::os::Switches;
use crate::time::SmtContention;

/// Looks of a few milliseconds, in some of which the thread will be alone if it ever is.
const LOOKS: usize = 1000;

/// Looks at the thread's context switches, its CPU, and who else computes on the core.
///
/// A look takes a system call and some microseconds of arithmetic. Where `getrusage` is refused, it sees
/// no switches, and [`sees_switches`](Self::sees_switches) says so.
#[derive(Debug)]
pub struct DisturbanceMonitor {
    share: SmtContention,
    /// Whether somebody else did at the last look.
    crowded: bool,
    /// Looks at which, or at the one before which, somebody did.
    crowds: u64,
}

impl DisturbanceMonitor {
    /// For the thread that calls, on the CPU that it is on: pin it first. Takes some milliseconds.
    pub fn here() -> Self {
        DisturbanceMonitor {
            share: SmtContention::after(LOOKS),
            crowded: false,
            crowds: 0,
        }
    }

    /// Whether the kernel tells of the thread's context switches.
    pub fn sees_switches() -> bool {
        Switches::now().voluntary.is_some()
    }

    /// Counts a look. Whoever was there before a sample or after it was there in it.
    fn looked(&mut self, crowded: bool) -> u64 {
        self.crowds += u64::from(crowded || self.crowded);
        self.crowded = crowded;
        self.crowds
    }
}

impl Monitor for DisturbanceMonitor {
    fn state(&mut self) -> u64 {
        let crowded = !self.share.alone();
        let now = Switches::now();
        let cpu = now.cpu.map_or(u64::MAX, |cpu| cpu as u64);
        // Switches and crowds only grow, so a change of any part changes the whole. Switches that the
        // kernel does not tell of change nothing; a session's notes say so.
        let switches = now.voluntary.unwrap_or(0) + now.involuntary.unwrap_or(0);
        (switches + self.looked(crowded)) << 16 | cpu & 0xFFFF
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of two looks around each sample, one that sees somebody changes the state between them, and
    /// none does that comes before or after both.
    #[test]
    fn who_is_there_at_either_end_was_there() {
        let mut alone = DisturbanceMonitor::here();
        let mut disturbed = |before, after| {
            let state = alone.looked(before);
            alone.looked(after) != state
        };
        assert!(!disturbed(false, false));
        assert!(disturbed(true, false));
        assert!(!disturbed(false, false));
        assert!(disturbed(false, true));
        assert!(!disturbed(false, false));
        assert!(disturbed(true, true));
    }
}
