//! Whether two threads run on two cores, whatever the system says, and how far apart these are.
//!
//! The host of a guest runs its CPUs where it likes, and may put two that it calls cores on the
//! hyper-threads of one, for a while. Then what the one has written lies in the other's L1d. To have
//! it from another core's cache takes longer than an access to the last level, however near that
//! core is. On a Zen 4 eight such lines, one after the other, took 2 to 2.5 times as long as from
//! the thread's own L1d if the two had one core, 4 to 8 times if they shared a last level, and 20 to
//! 30 times if not, the clock's own time in all of these.
//!
//! How far apart is a line's way to the other and back, which changes with the host's mind as well:
//! on the same machine from 27 ns, on one core, to some 250.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use crate::time::{start, stop};

/// Lines that are handed over at a time: few enough to take no time, many enough for the clock.
const LINES: usize = 8;

/// From one line to the next, so that no prefetcher brings it.
const STEP: usize = 3;

/// How often a ball goes to the other and back: few in a microsecond, and the first ones slow.
const TRIPS: u64 = 32;

/// Looks without a pause for what comes from the other in a fraction of a microsecond, if it runs.
const LOOKS: u32 = 1000;

/// Halves of the time of one's own lines that those of another core take, or more.
const ON_THEIR_WAY: u64 = 7;

/// A line, and the one that comes with it: which line is next.
#[derive(Debug)]
#[repr(align(128))]
struct Line(AtomicUsize);

/// A word that two threads change in turn, on a line of its own.
#[derive(Debug)]
#[repr(align(128))]
struct Baton(AtomicU64);

/// Lines that one thread hands to another, meeting by meeting, and a ball that they throw. Meetings
/// are numbered from 1, and both have come from one before they go to the next.
#[derive(Debug)]
pub(super) struct Lines {
    /// The meeting for which they were written.
    written: AtomicU64,
    lines: [Line; LINES],
    ball: Baton,
}

/// What a meeting tells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CoreDistance {
    /// Whether the lines came from another core.
    pub apart: bool,
    /// Ticks of the ball's way to the other and back.
    pub round_trip: f64,
}

impl Lines {
    pub(super) fn new() -> Self {
        Lines {
            written: AtomicU64::new(0),
            lines: [const { Line(AtomicUsize::new(0)) }; LINES],
            ball: Baton(AtomicU64::new(0)),
        }
    }

    /// One thread's part: writes the lines, and throws the ball back, unless `given_up` says that
    /// nobody will throw it.
    pub(super) fn write(&self, meeting: u64, given_up: impl Fn() -> bool) {
        for (place, line) in self.lines.iter().enumerate() {
            line.0.store((place + STEP) % LINES, Ordering::Relaxed);
        }
        self.written.store(meeting, Ordering::Release);
        for throw in throws(meeting) {
            self.ball.catch(throw + 1, &given_up);
        }
    }

    /// The other's: waits until the lines are written, walks along them, and throws the ball, unless
    /// `given_up` says that nobody will write or catch.
    pub(super) fn read(&self, meeting: u64, given_up: impl Fn() -> bool) -> CoreDistance {
        wait(
            || self.written.load(Ordering::Acquire) >= meeting,
            &given_up,
        );
        let apart = apart([self.walk(), self.walk()]);
        let began = start();
        for throw in throws(meeting) {
            self.ball.catch(throw, &given_up);
        }
        let end = 2 * meeting * TRIPS;
        wait(|| self.ball.0.load(Ordering::Relaxed) == end, &given_up);
        CoreDistance {
            apart,
            round_trip: (stop() - began) as f64 / TRIPS as f64,
        }
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

impl Baton {
    /// Waits for the throw before `number`, and throws the ball on as that. Owns its line with each
    /// look, as an increment does.
    fn catch(&self, number: u64, given_up: &impl Fn() -> bool) {
        let (relaxed, before) = (Ordering::Relaxed, number - 1);
        let thrown = || {
            self.0
                .compare_exchange_weak(before, number, relaxed, relaxed)
        };
        wait(|| thrown().is_ok(), given_up);
    }
}

/// The throws of a meeting by the one who begins, numbered on from those before; each comes back as
/// the number after it.
fn throws(meeting: u64) -> impl Iterator<Item = u64> {
    (0..TRIPS).map(move |trip| 2 * ((meeting - 1) * TRIPS + trip) + 1)
}

/// Waits until `done`, or until `given_up`.
fn wait(done: impl Fn() -> bool, given_up: &impl Fn() -> bool) {
    for look in 0u32.. {
        if done() || (look >= LOOKS && given_up()) {
            return;
        }
        // Gives the CPU away soon: the other may share it.
        if look >= LOOKS {
            thread::yield_now();
        }
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
        lines.write(1, || true);
        let mut seen = [false; LINES];
        let mut at = 0;
        for _ in 0..LINES {
            seen[at] = true;
            at = lines.lines[at].0.load(Ordering::Relaxed);
        }
        assert_eq!((seen, at), ([true; LINES], 0));
    }

    #[test]
    fn nobody_waits_for_who_will_not_come() {
        Lines::new().read(1, || true);
        Lines::new().write(1, || true);
    }

    /// Whoever comes first and wherever they are, lines are written before they are read.
    #[test]
    fn lines_are_handed_over_and_the_ball_comes_back_meeting_by_meeting() {
        let lines = Lines::new();
        for meeting in 1..20 {
            thread::scope(|scope| {
                scope.spawn(|| lines.write(meeting, || false));
                let met = lines.read(meeting, || false);
                assert_eq!(lines.written.load(Ordering::Relaxed), meeting);
                assert_eq!(lines.ball.0.load(Ordering::Relaxed), 2 * meeting * TRIPS);
                assert!(met.round_trip > 0.0);
            });
        }
    }
}
