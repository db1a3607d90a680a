//! Whether two threads run on two cores, whatever the system says.
//!
//! The host of a guest runs its CPUs where it likes, and may put two that it calls cores on the
//! hyper-threads of one, for a while. Then what the one has written lies in the other's L1d. To have
//! it from another core's cache takes longer than an access to the last level, however near that
//! core is. On a Zen 4 eight such lines, one after the other, took 2 to 2.5 times as long as from
//! the thread's own L1d if the two had one core, 4 to 8 times if they shared a last level, and 20 to
//! 30 times if not, the clock's own time in all of these.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use crate::time::{start, stop};

/// Lines that are handed over at a time: few enough to take no time, many enough for the clock.
const LINES: usize = 8;

/// From one line to the next, so that no prefetcher brings it.
const STEP: usize = 3;

/// Halves of the time of one's own lines that those of another core take, or more.
const ON_THEIR_WAY: u64 = 7;

/// A line, and the one that comes with it: which line is next.
#[derive(Debug)]
#[repr(align(128))]
struct Line(AtomicUsize);

/// Lines that one thread hands to another, meeting by meeting. Meetings are numbered from 1, and
/// both have come from one before they go to the next.
#[derive(Debug)]
pub(super) struct Lines {
    /// The meeting for which they were written.
    written: AtomicU64,
    lines: [Line; LINES],
}

impl Lines {
    pub(super) fn new() -> Self {
        Lines {
            written: AtomicU64::new(0),
            lines: [const { Line(AtomicUsize::new(0)) }; LINES],
        }
    }

    /// One thread's part: writes the lines.
    pub(super) fn write(&self, meeting: u64) {
        for (place, line) in self.lines.iter().enumerate() {
            line.0.store((place + STEP) % LINES, Ordering::Relaxed);
        }
        self.written.store(meeting, Ordering::Release);
    }

    /// The other's: waits until they are written, or `given_up` says that nobody will write them.
    /// Says whether they came from another core.
    pub(super) fn read(&self, meeting: u64, given_up: impl Fn() -> bool) -> bool {
        for look in 0u32.. {
            if self.written.load(Ordering::Acquire) >= meeting || given_up() {
                break;
            }
            // Gives the CPU away soon: the other may share it.
            if look < 1000 {
                core::hint::spin_loop();
            } else {
                thread::yield_now();
            }
        }
        apart([self.walk(), self.walk()])
    }

    /// Ticks of a walk from line to line, which waits for each.
    fn walk(&self) -> u64 {
        let began = start();
        let mut at = 0;
        for _ in &self.lines {
            at = self.lines[at % LINES].0.load(Ordering::Relaxed);
        }
        black_box(at);
        stop() - began
    }
}

/// Whether walks along lines of the other, and then along the same lines, now one's own, tell of two
/// cores.
fn apart([theirs, own]: [u64; 2]) -> bool {
    theirs.saturating_mul(2) >= own.saturating_mul(ON_THEIR_WAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_another_core_are_on_their_way_for_long() {
        assert!(apart([3250, 130]));
        assert!(apart([520, 130]));
        assert!(!apart([325, 130]));
        assert!(!apart([120, 130]));
    }

    /// A walk comes by every line.
    #[test]
    fn the_lines_are_one_ring() {
        let lines = Lines::new();
        lines.write(1);
        let mut seen = [false; LINES];
        let mut at = 0;
        for _ in 0..LINES {
            seen[at] = true;
            at = lines.lines[at].0.load(Ordering::Relaxed);
        }
        assert_eq!((seen, at), ([true; LINES], 0));
    }

    #[test]
    fn nobody_waits_for_lines_that_will_not_come() {
        Lines::new().read(1, || true);
    }

    /// Whoever comes first and wherever they are, lines are written before they are read.
    #[test]
    fn lines_are_handed_over_meeting_by_meeting() {
        let lines = Lines::new();
        for meeting in 1..20 {
            thread::scope(|scope| {
                scope.spawn(|| lines.write(meeting));
                lines.read(meeting, || false);
                assert_eq!(lines.written.load(Ordering::Relaxed), meeting);
            });
        }
    }
}
