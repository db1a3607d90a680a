//! Measures the cost of the sharing on this machine.

use core::sync::atomic::AtomicBool;

use anyhow::Result;

use super::place::shared_falsely;
use super::{Layout, Scheme};
use crate::experiment::shared::words::{RoundTripSetup, SharedFieldsSetup, SharedWord, WordWay};
use crate::experiment::{
    Case, Effort, Machine, Point, Rig, SampleOf, ThreadStats, Unit, Untestable, mark_remote,
    merged, possible,
};
use crate::kernel::RoundTripWay;
use crate::lab::session::Session;
use crate::order;
use crate::os::sysfs::Nearness;
use crate::stats::Interval;

/// The effort per layout and pass, and the number of passes.
const EFFORT: Effort = Effort { warm_up: 0.05, sampling: 0.15, passes: 5 };

/// The measured layouts, each with the number of lines to which a field is padded; 0 for the layout as it
/// is.
pub const VARIANTS: [(&str, u64); 3] = [
    ("as laid out", 0),
    ("each field on lines of its own", 1),
    ("each on lines of its own, in pairs", 2),
];

const ROUND_TRIP: &str = "round trip";

#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The measured threads by number, each with its CPU. There are at most as many threads as CPUs.
    pub threads: Vec<(usize, usize)>,
    /// The CPUs between which the round trip of a line was measured.
    pub trip_cpus: [usize; 2],
    /// The time of that round trip in nanoseconds.
    pub trip: Result<Interval, Untestable>,
    /// Per layout of [`VARIANTS`]: the time in nanoseconds of a round of the slowest thread, in which it
    /// touches each of its fields once, and statistics of the threads.
    pub rounds: Vec<(Result<Interval, Untestable>, Option<ThreadStats>)>,
}

impl Measured {
    /// Returns the ratio of a layout's time to the padded layout's, if both were measured.
    pub fn over(&self, variant: usize, padded: usize) -> Option<Interval> {
        let of = |variant: usize| self.rounds.get(variant)?.0.as_ref().ok();
        of(variant)?.ratio(*of(padded)?)
    }
}

/// Measures a round of the threads in each layout, and the round trip of a line.
///
/// # Errors
/// If this process may use fewer than two cores, or there are no CPUs for the threads.
pub fn measure(
    scheme: &Scheme,
    start: u64,
    way: WordWay,
    session: &Session,
    machine: &Machine,
    stop: &AtomicBool,
) -> Result<Measured, Untestable> {
    let cpu_order = &machine.cpu_order;
    if cpu_order.cores() < 2 {
        return Err(Untestable(format!(
            "measuring takes 2 cores, and there is {} that this process may use",
            cpu_order.cores()
        )));
    }
    let chosen = chosen(scheme, start, cpu_order.cpus());
    let cpus = cpu_order.of(chosen.len())?;
    let measured = scheme.of_threads(&chosen);
    let pair = cpu_order.pair(cpu_order.nearest().unwrap_or(Nearness::Package))?;
    let mut cases = vec![Case::new(
        ROUND_TRIP,
        0.0,
        RoundTripSetup { way: RoundTripWay::CompareExchange, cpus: pair.to_vec() },
    )];
    for (name, lines) in VARIANTS {
        let layout = match lines {
            0 => Layout::structure(&measured, start),
            lines => Layout::apart(&measured, lines * scheme.line),
        };
        let setup = SharedFieldsSetup {
            words: words(&measured, &layout),
            way,
            cpus: cpus.clone(),
            pace: SampleOf::Slowest,
            bytes: layout.bytes(&measured) as usize,
        };
        cases.push(Case::new(name, 0.0, setup));
    }
    let mut points: Vec<Point> = Vec::new();
    let mut rig = Rig::new(session.rate, session.context, EFFORT, stop);
    for _ in 0..EFFORT.passes {
        points.extend(cases.iter().map_while(|case| rig.measure(case)));
    }
    mark_remote(&mut points);
    let points: Vec<Point> = merged(points).into_iter().map(possible).collect();
    let of = |name: &str| match points.iter().find(|point| point.series == name) {
        Some(point) => point.interval(Unit::Nanoseconds, session.rate),
        None => Err(Untestable("it was stopped before".to_owned())),
    };
    let stats =
        |name: &str| points.iter().find(|point| point.series == name)?.measured()?.thread_stats;
    Ok(Measured {
        threads: chosen.into_iter().zip(cpus).collect(),
        trip_cpus: pair,
        trip: of(ROUND_TRIP),
        rounds: VARIANTS.map(|(name, _)| (of(name), stats(name))).to_vec(),
    })
}

/// Returns at most as many threads as there are CPUs. Threads that share a line falsely come first. Two
/// threads on one CPU would take turns and not disturb each other.
fn chosen(scheme: &Scheme, start: u64, cpus: usize) -> Vec<usize> {
    let falsely = shared_falsely(scheme, start);
    let involved: Vec<usize> =
        falsely.iter().flat_map(|one| &one.touches).map(|touch| touch.thread).collect();
    let mut threads = scheme.threads();
    order::by_key(&mut threads, |thread| !involved.contains(thread));
    threads.truncate(cpus);
    threads.sort_unstable();
    threads
}

/// Returns the words that each thread touches in a round: one word on each line of each of its fields.
fn words(scheme: &Scheme, layout: &Layout) -> Vec<Vec<SharedWord>> {
    let of_thread = |thread: usize| {
        let own = scheme.touches.iter().filter(move |touch| touch.thread == thread);
        own.flat_map(|touch| {
            let parts = layout.parts(scheme, touch.field).into_iter();
            parts.map(|(_, [first, _])| SharedWord { at: first as usize, write: touch.write })
        })
    };
    scheme.threads().into_iter().map(|thread| of_thread(thread).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::planted::{counters, scheme};
    use super::*;

    #[test]
    fn those_threads_are_measured_that_share() {
        let three =
            scheme(&[(0, 8), (64, 8), (72, 8)], &[(0, 0, true), (1, 1, true), (2, 2, true)]);
        assert_eq!(chosen(&three, 0, 2), [1, 2]);
        assert_eq!(chosen(&three, 0, 3), [0, 1, 2]);
        assert_eq!(chosen(&counters(), 0, 16), [0, 1]);
    }

    #[test]
    fn a_round_touches_every_line_of_a_field() {
        let long = scheme(&[(0, 100), (100, 4)], &[(0, 0, true), (1, 1, false)]);
        let word = |at, write| SharedWord { at, write };
        assert_eq!(
            words(&long, &Layout::structure(&long, 0)),
            [vec![word(0, true), word(64, true)], vec![word(100, false)]]
        );
    }
}
