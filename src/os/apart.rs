//! Tells whether two threads run on different cores, whatever the system reports, and measures the
//! distance between these cores.
//!
//! The host of a guest schedules the guest's CPUs as it likes. For a while it may run two CPUs that
//! are reported as cores on the hyper-threads of one core. Lines that one thread has written then lie
//! in the other's L1d. Fetching them from another core's cache takes longer than an access to the
//! last-level cache, however near that core is. On a Zen 4, reading eight such lines one after the
//! other took 2 to 2.5 times as long as reading them from the thread's own L1d if the threads shared a
//! core, 4 to 8 times if they shared a last-level cache, and 20 to 30 times if not. All of these
//! include the time of the clock itself.
//!
//! The distance is the round trip of a line between the two threads. It changes with the host's
//! schedule too: on the same machine from 27 ns, on one core, to some 250 ns.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use crate::time::{start, stop};

/// Lines per handover: few enough to be quick, and enough for the clock to resolve.
const LINES: usize = 8;

/// Distance between successive lines of a walk, so that no prefetcher fetches them.
const STEP: usize = 3;

/// Round trips of the ball per meeting. Only a few fit in a microsecond, and the first ones are slow.
const TRIPS: u64 = 32;

/// Polls before a waiting thread starts to yield. The other thread, if it is running, answers within a
/// fraction of a microsecond.
const LOOKS: u32 = 1000;

/// Lines came from another core if reading them took at least this many halves of the time of
/// reading the thread's own lines.
const ON_THEIR_WAY: u64 = 7;

/// The index of the next line of a walk, in a pair of lines that are prefetched together.
#[derive(Debug)]
#[repr(align(128))]
struct Line(AtomicUsize);

/// A word that two threads change by turns, on a separate pair of lines.
#[derive(Debug)]
#[repr(align(128))]
struct Baton(AtomicU64);

/// Lines that one thread writes and another reads, once per meeting, and a ball that the threads pass
/// back and forth. Meetings are numbered from 1. Both threads must finish a meeting before either
/// begins the next.
#[derive(Debug)]
pub(super) struct Lines {
    /// The meeting for which the lines were last written.
    written: AtomicU64,
    lines: [Line; LINES],
    ball: Baton,
}

/// The result of a meeting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CoreDistance {
    /// Whether the lines came from another core.
    pub apart: bool,
    /// Ticks per round trip of the ball.
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

    /// The writer's part of a meeting: writes the lines, and returns the ball at each throw. Stops
    /// waiting for throws when `given_up` returns true.
    pub(super) fn write(&self, meeting: u64, given_up: impl Fn() -> bool) {
        for (place, line) in self.lines.iter().enumerate() {
            line.0.store((place + STEP) % LINES, Ordering::Relaxed);
        }
        self.written.store(meeting, Ordering::Release);
        for throw in throws(meeting) {
            self.ball.catch(throw + 1, &given_up);
        }
    }

    /// The reader's part of a meeting: waits until the lines are written, walks along them, and throws
    /// the ball. Stops waiting for the writer when `given_up` returns true.
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

    /// Returns the ticks of a walk over all lines, in which each load depends on the one before.
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
    /// Waits for the throw numbered `number - 1`, and answers it with `number`. Each attempt takes the
    /// line exclusively, as an increment does.
    fn catch(&self, number: u64, given_up: &impl Fn() -> bool) {
        let (relaxed, before) = (Ordering::Relaxed, number - 1);
        let thrown = || {
            self.0
                .compare_exchange_weak(before, number, relaxed, relaxed)
        };
        wait(|| thrown().is_ok(), given_up);
    }
}

/// Returns the numbers of the reader's throws in a meeting. Numbers continue from meeting to
/// meeting; the writer answers each throw with the next number.
fn throws(meeting: u64) -> impl Iterator<Item = u64> {
    (0..TRIPS).map(move |trip| 2 * ((meeting - 1) * TRIPS + trip) + 1)
}

/// Waits until `done` or `given_up` returns true.
fn wait(done: impl Fn() -> bool, given_up: &impl Fn() -> bool) {
    for look in 0u32.. {
        if done() || (look >= LOOKS && given_up()) {
            return;
        }
        // Yields the CPU soon: the other thread may share it.
        if look >= LOOKS {
            thread::yield_now();
        }
    }
}

/// Returns whether the times of two walks indicate two cores. The first walk reads the other thread's
/// lines; the second reads the same lines, which are then in the reader's own cache.
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

    /// A walk visits every line.
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

    /// Lines are written before they are read, whichever thread comes first and wherever the threads run.
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
