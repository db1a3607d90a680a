//! Detects whether two threads share a core, without trusting the system, and measures the round trip
//! between cores. Also detects whether the time-stamp counters of two threads disagree.
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
//!
//! Counters are compared as NTP compares clocks: one thread reads its own, asks the other for a reading, and
//! reads its own again. The other's reading was taken in between, which bounds the difference.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use crate::time::{start, stop};

/// Lines per check: few enough to be quick, and enough for the clock to resolve.
const LINES: usize = 8;

/// Distance between successive lines of a walk, so that no prefetcher fetches them.
const STEP: usize = 3;

/// Round trips of the ping-pong line per check. Only a few fit in a microsecond, and the first ones are slow.
const TRIPS: u64 = 32;

/// Polls before a waiting thread starts to yield. The other thread, if it is running, answers within a
/// fraction of a microsecond.
const POLLS: u32 = 1000;

/// Two threads are on different cores if a remote line takes at least 7/2 times as long as a local one.
const REMOTE_OVER_LOCAL: [u64; 2] = [7, 2];

/// The index of the next line of a walk, in a pair of lines that are prefetched together.
#[derive(Debug)]
#[repr(align(128))]
struct Line(AtomicUsize);

/// A word that two threads change in turn, on a separate pair of lines.
#[derive(Debug)]
#[repr(align(128))]
struct SharedWord(AtomicU64);

/// Lines that one thread writes and another reads, once per check, and a line that the threads play ping-pong
/// with. Checks are numbered from 1. Both threads must finish a check before either begins the next.
#[derive(Debug)]
pub(super) struct CoreProbe {
    /// The check for which the lines were last written.
    written: AtomicU64,
    lines: [Line; LINES],
    ping_pong: SharedWord,
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CoreDistance {
    /// Whether the threads run on two cores.
    pub two_cores: bool,
    /// Ticks per round trip of the ping-pong line.
    pub round_trip: f64,
}

impl CoreProbe {
    pub(super) fn new() -> Self {
        CoreProbe {
            written: AtomicU64::new(0),
            lines: [const { Line(AtomicUsize::new(0)) }; LINES],
            ping_pong: SharedWord(AtomicU64::new(0)),
        }
    }

    /// The writer's part of a check: writes the lines, and answers each ping with a pong. Stops waiting for
    /// pings when `given_up` returns true.
    pub(super) fn write(&self, check: u64, given_up: impl Fn() -> bool) {
        for (place, line) in self.lines.iter().enumerate() {
            line.0.store((place + STEP) % LINES, Ordering::Relaxed);
        }
        self.written.store(check, Ordering::Release);
        for ping in pings(check) {
            self.ping_pong.answer(ping + 1, &given_up);
        }
    }

    /// The reader's part of a check: waits until the lines are written, walks along them, and sends the
    /// pings. Stops waiting for the writer when `given_up` returns true.
    pub(super) fn read(&self, check: u64, given_up: impl Fn() -> bool) -> CoreDistance {
        wait(|| self.written.load(Ordering::Acquire) >= check, &given_up);
        let two_cores = on_two_cores([self.walk(), self.walk()]);
        let began = start();
        for ping in pings(check) {
            self.ping_pong.answer(ping, &given_up);
        }
        let end = 2 * check * TRIPS;
        wait(|| self.ping_pong.0.load(Ordering::Relaxed) == end, &given_up);
        CoreDistance { two_cores, round_trip: (stop() - began) as f64 / TRIPS as f64 }
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

impl SharedWord {
    /// Waits for the value `number - 1`, and replaces it by `number`. Each attempt takes the line exclusively,
    /// as an increment does.
    fn answer(&self, number: u64, given_up: &impl Fn() -> bool) {
        let (relaxed, before) = (Ordering::Relaxed, number - 1);
        let replace = || self.0.compare_exchange_weak(before, number, relaxed, relaxed);
        wait(|| replace().is_ok(), given_up);
    }
}

/// Marks a question for a reading. No time-stamp counter reaches this bit in decades.
const ASKED: u64 = 1 << 63;

/// Questions to a thread until one is answered quickly enough to decide.
const QUESTIONS: usize = 8;

/// A question to one of several threads for a reading of its time-stamp counter, or the last answer.
#[derive(Debug)]
pub(super) struct Clocks(SharedWord);

impl Clocks {
    pub(super) fn new() -> Self {
        Clocks(SharedWord(AtomicU64::new(0)))
    }

    /// Answers the question to thread number `index`, if there is one, with a reading by `clock`.
    pub(super) fn answer(&self, index: usize, clock: impl Fn() -> u64) {
        let word = &self.0.0;
        if word.load(Ordering::Acquire) == ASKED | index as u64 {
            word.store(clock() & !ASKED, Ordering::Release);
        }
    }

    /// Returns the ticks by which the counter of thread number `index` differs from `clock` at least, if that
    /// is more than `tolerance`. `None` if it differs less, or if slow answers leave it open: on a busy
    /// system, a thread may sleep between the question and its answer. Stops waiting for an answer when
    /// `given_up` returns true.
    pub(super) fn difference(
        &self,
        index: usize,
        tolerance: u64,
        clock: impl Fn() -> u64,
        given_up: impl Fn() -> bool,
    ) -> Option<u64> {
        for _ in 0..QUESTIONS {
            let [least, most] = bounds(self.ask(index, &clock, &given_up)?);
            if least > tolerance {
                return Some(least);
            }
            if most <= tolerance {
                break;
            }
        }
        None
    }

    /// Returns the caller's reading before the question, the answer, and the caller's reading after it.
    fn ask(
        &self,
        index: usize,
        clock: &impl Fn() -> u64,
        given_up: &impl Fn() -> bool,
    ) -> Option<[u64; 3]> {
        let (word, question) = (&self.0.0, ASKED | index as u64);
        let before = clock();
        word.store(question, Ordering::Release);
        wait(|| word.load(Ordering::Acquire) != question, given_up);
        let answer = word.load(Ordering::Acquire);
        (answer != question).then(|| [before, answer, clock()])
    }
}

/// Returns the least and the largest difference of two counters, of which one gave the middle reading, between
/// the other's readings.
fn bounds([before, middle, after]: [u64; 3]) -> [u64; 2] {
    let low = middle.wrapping_sub(after).cast_signed();
    let high = middle.wrapping_sub(before).cast_signed();
    let least = low.max(high.saturating_neg()).max(0);
    [least.unsigned_abs(), low.unsigned_abs().max(high.unsigned_abs())]
}

/// Returns the numbers of the reader's pings in a check. Numbers continue from check to check; the writer
/// answers each ping with the next number.
fn pings(check: u64) -> impl Iterator<Item = u64> {
    (0..TRIPS).map(move |trip| 2 * ((check - 1) * TRIPS + trip) + 1)
}

/// Waits until `done` or `given_up` returns true.
fn wait(done: impl Fn() -> bool, given_up: &impl Fn() -> bool) {
    for poll in 0u32.. {
        if done() || (poll >= POLLS && given_up()) {
            return;
        }
        // Yields the CPU soon: the other thread may share it.
        if poll >= POLLS {
            thread::yield_now();
        }
    }
}

/// Returns whether the times of two walks indicate two cores. The first walk reads the other thread's
/// lines; the second reads the same lines, which are then in the reader's own cache.
fn on_two_cores([remote, local]: [u64; 2]) -> bool {
    let [numerator, denominator] = REMOTE_OVER_LOCAL;
    remote.saturating_mul(denominator) >= local.saturating_mul(numerator)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn lines_of_another_core_take_longer() {
        assert!(on_two_cores([3250, 130]));
        assert!(on_two_cores([520, 130]));
        assert!(!on_two_cores([325, 130]));
        assert!(!on_two_cores([120, 130]));
    }

    /// A walk visits every line.
    #[test]
    fn the_lines_are_one_ring() {
        let probe = CoreProbe::new();
        probe.write(1, || true);
        let mut seen = [false; LINES];
        let mut at = 0;
        for _ in 0..LINES {
            seen[at] = true;
            at = probe.lines[at].0.load(Ordering::Relaxed);
        }
        assert_eq!((seen, at), ([true; LINES], 0));
    }

    #[test]
    fn a_reading_between_two_others_bounds_the_difference() {
        // The middle counter is in step, or up to 30 ticks off.
        assert_eq!(bounds([1000, 1010, 1040]), [0, 30]);
        // It is ahead by 5000 - 40 to 5000, or behind by as much.
        assert_eq!(bounds([1000, 6000, 1040]), [4960, 5000]);
        assert_eq!(bounds([6000, 1040, 6040]), [4960, 5000]);
        // A slow answer proves nothing: the difference is 0 to 90 000.
        assert_eq!(bounds([1000, 10_000, 100_000]), [0, 90_000]);
        // A counter that was reset.
        assert_eq!(bounds([1 << 60, 0, 1 << 60]), [1 << 60, 1 << 60]);
        assert_eq!(bounds([0, 1 << 62, 100]), [(1 << 62) - 100, 1 << 62]);
    }

    /// Each reading of the clock is a tick later than the one before. So an answer lies a tick after the
    /// question and a tick before the next reading.
    #[test]
    fn only_a_counter_that_disagrees_differs() {
        let (clocks, over) = (Clocks::new(), AtomicBool::new(false));
        let ticks = AtomicU64::new(5000);
        let clock = || ticks.fetch_add(1, Ordering::Relaxed);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    clocks.answer(0, clock);
                    clocks.answer(1, || clock() + 300);
                    clocks.answer(2, || clock() - 300);
                    thread::yield_now();
                }
            });
            let difference = |index| clocks.difference(index, 100, clock, || false);
            assert_eq!([0, 1, 2].map(difference), [None, Some(299), Some(299)]);
            assert_eq!(clocks.difference(1, 299, clock, || false), None);
            over.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn no_thread_waits_for_one_that_does_not_come() {
        assert_eq!(Clocks::new().difference(0, 1, start, || true), None);
        CoreProbe::new().read(1, || true);
        CoreProbe::new().write(1, || true);
    }

    /// CoreProbe are written before they are read, whichever thread comes first and wherever the threads run.
    #[test]
    fn lines_are_read_and_every_ping_is_answered_in_each_check() {
        let probe = CoreProbe::new();
        for check in 1..20 {
            thread::scope(|scope| {
                scope.spawn(|| probe.write(check, || false));
                let distance = probe.read(check, || false);
                assert_eq!(probe.written.load(Ordering::Relaxed), check);
                assert_eq!(probe.ping_pong.0.load(Ordering::Relaxed), 2 * check * TRIPS);
                assert!(distance.round_trip > 0.0);
            });
        }
    }
}
