//! What each prefetch hint does.

use crate::cpu::{Hint, prefetch};
use crate::experiment::prelude::*;
use crate::experiment::shared::count::CountSetup;
use crate::experiment::shared::hint::{HintSetup, Place};
use crate::experiment::shared::pollution::{Passage, PollutionSetup};

const FLUSHED: &str = "flushed";
const LOADED: &str = "flushed, then loaded";
const AFTER: [(&str, Hint); 5] = [
    ("after prefetcht0", Hint::T0),
    ("after prefetcht1", Hint::T1),
    ("after prefetcht2", Hint::T2),
    ("after prefetchnta", Hint::Nta),
    ("after prefetchw", Hint::Write),
];
/// Place of the sequential sweep on the axis.
const SWEPT: f64 = 0.0;

const NULL: &str = "prefetches of bad addresses that did not fault";

/// The series of laps of a hot set, and what runs between two laps.
const LAPS: [(&str, Passage); 3] = [
    ("lap after nothing", Passage::Nothing),
    ("lap after prefetcht0 and loads", Passage::T0),
    ("lap after prefetchnta and loads", Passage::Nta),
];

pub(crate) const HINTS: Experiment = Experiment {
    id: "E36",
    name: "drepper-prefetch-hints",
    title: "What each prefetch hint does",
    question: "Does a prefetched line hit later, may its address be invalid, and does NTA leave \
               L2 alone?",
    source: "Drepper 6.3.2, on _mm_prefetch and its hints",
    seen: &[seen(
        "Zen 4",
        "The core drops prefetcht1 and prefetcht2 at times, always both together, for up to \
         seconds, also if no walk comes before, and whether or not another hyper-thread computes: \
         seldom after a sequential sweep, and often after a random walk.",
    )],
    about: "A line is flushed from all caches, prefetched with one hint, and loaded after the \
            prefetch had time to arrive. The bars compare the load's time with that of a flushed \
            line and of a line loaded before. The CPU decides which level a hint fills. T0 fills \
            L1d everywhere. T1 and T2 fill L2 on Intel, and L2 or an outer level on AMD. NTA \
            fills L1d; Intel's CPUs then bypass L2 and most of the last level, others fill L2 as \
            well. A CPU may drop a hint, and the load then takes a full miss; Wang and others \
            (arXiv 2411.02814) saw drops without finding a cause. A sequential sweep comes first, \
            because a CPU may judge prefetches by what preceded them.",
    plot: Some(Plot::bars(
        Axis::linear("after a sequential sweep (0)"),
        Axis::linear("time of the first load"),
        Unit::CoreCycles,
    )),
    cases: hint_cases,
    curves: |e| {
        let mut curves = e.curves();
        curves.retain(|curve| curve.points.iter().all(|(x, _)| *x == SWEPT));
        curves
    },
    events: events::PREFETCHES,
    claims: &[
        // Most processors, all x86 and x86-64 ones among them, ignore errors caused by invalid
        // pointers.
        counted(
            "E36.1",
            drepper("6.3.2"),
            "a prefetch of an address that no program may load does not fault, with any of five \
             hints",
            |e| {
                let survived = e.at(NULL, BAD.len() as f64)?;
                let all = (BAD.len() * Hint::ALL.len()) as f64;
                between("prefetches survived", survived, all, all)
            },
        ),
        // The prefetch unit loads the data into a cache; the level depends on the hint and the
        // processor.
        measured(
            "E36.2",
            drepper("6.3.2"),
            "after a sequential sweep, a line hits after prefetcht0, prefetcht1, prefetcht2 and \
             prefetchnta: its load takes less than half of a miss",
            |e| all_of(AFTER[..4].iter().map(|(series, _)| hits(e, series))),
        )
        .failing(
            "The CPU drops some of the hints, or brings the line to a level that costs half of a \
             miss or more.",
        ),
        // NTA asks the CPU to pollute caches as little as possible: data evicted from L1d need not
        // move to L2 or higher.
        measured(
            "E36.3",
            drepper("6.3.2"),
            "a stream fetched by prefetchnta leaves a hot set in L2: a walk through the hot set \
             takes less than 1.3 times as long as undisturbed",
            |e| at_most("lap after NTA over undisturbed", ratio(lap(e, 2), lap(e, 0)), 1.3),
        )
        .failing("Lines fetched by NTA fill L2 like any other line."),
        // A prefetch loads the data into cache and, if necessary, evicts other data.
        measured(
            "E36.4",
            drepper("6.3.2"),
            "a stream fetched by prefetcht0 evicts a hot set from L2: a walk through the hot set \
             takes at least 1.3 times as long as undisturbed",
            |e| at_least("lap after T0 over undisturbed", ratio(lap(e, 1), lap(e, 0)), 1.3),
        ),
    ],
};

/// Addresses that no program may load: null, the last page below the non-canonical hole, a kernel
/// address, and a non-canonical address.
const BAD: [usize; 4] = [0, 0x7FFF_FFFF_F000, 0xFFFF_8000_0000_0000, 0x8000_0000_0000_0000];

fn hint_cases(machine: &Machine) -> Vec<Case> {
    let case = |(series, place)| {
        let setup = HintSetup { place, past_bytes: machine.in_memory(), seed: machine.seed };
        Case::new(series, SWEPT, setup)
    };
    let mut cases = Vec::from([(FLUSHED, Place::Flushed), (LOADED, Place::Loaded)].map(case));
    cases.extend(AFTER.map(|(series, hint)| case((series, Place::Prefetched(hint)))));
    // Each in a child process: a fault would end this one.
    let bad = CountSetup::asked(NULL, 0, |host, _| {
        let mut survived = 0;
        for address in BAD {
            for hint in Hint::ALL {
                let faults = host.faults(&mut || prefetch(hint, address as *const u8))?;
                survived += u32::from(!faults);
            }
        }
        Ok(f64::from(survived))
    });
    cases.push(bad.at(BAD.len() as f64));
    cases.extend(LAPS.map(|(series, passage)| {
        let setup = PollutionSetup::in_l2(machine, passage);
        Case::new(series, setup.hot as f64, setup).in_large_pages()
    }));
    cases
}

/// Returns the time of a lap of the hot set, in one of [`LAPS`].
fn lap(e: &Evidence<'_>, index: usize) -> Testable<Reading> {
    e.last(LAPS[index].0).map(|(_, lap)| lap)
}

/// Judges that a load of `series` takes less than half of the time of a load of a flushed line.
fn hits(e: &Evidence<'_>, series: &str) -> Judged {
    let share = signed_ratio(e.at(series, SWEPT)?, e.at(FLUSHED, SWEPT)?)?;
    at_most(&format!("share of a miss {series}"), share, 0.5)
}
