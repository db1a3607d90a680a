//! Drepper 6.2.2: what of a program lies in L1i, by inlining and by the order of blocks.

use crate::experiment::prelude::*;
use crate::experiment::shared::count::CountSetup;
use crate::experiment::topics::code::footprint::{RoutineSetup, l1i};
use crate::mem::Region;
use crate::pattern::{Blocks, Callers, Listing};
use crate::stats::Interval;

/// The rows of this family.
pub(crate) static ALL: &[Experiment] = &[INLINING, BLOCK_ORDER];

const INLINED: &str = "inlined";
const CALLED: &str = "called";

/// Functions of 8 instructions of their own and a candidate of 64, half a KiB.
const fn callers(count: usize, inlined: bool) -> Callers {
    Callers {
        count,
        own: 8,
        candidate: 64,
        inlined,
    }
}

/// Bytes of code in parts of L1i: less, about as much, and more. The shared form takes an eighth.
const PARTS: [f64; 9] = [SMALL, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, LARGE, 8.0];

/// Parts that only a full run adds.
const BETWEEN: [f64; 7] = [0.375, 0.625, 0.875, 1.25, 1.75, 2.5, 5.0];

/// A part of L1i that leaves room for everything else.
const SMALL: f64 = 0.125;

/// As much code as L1i holds several times, and which shrinks to less than L1i.
const LARGE: f64 = 3.0;

/// How many pieces of `bytes` make the parts of L1i.
fn counts(machine: &Machine, bytes: usize) -> Vec<usize> {
    let mut parts = PARTS.to_vec();
    if machine.full {
        parts.extend(BETWEEN);
    }
    let mut counts: Vec<usize> = parts
        .into_iter()
        .map(|part| pieces(machine, bytes, part))
        .collect();
    counts.sort_unstable();
    counts.dedup();
    counts
}

/// How many pieces of `bytes` make `part` of L1i; of 32 KiB if nothing is known of it.
fn pieces(machine: &Machine, bytes: usize, part: f64) -> usize {
    let l1i = l1i(machine).unwrap_or(32768.0);
    ((part * l1i) as usize / bytes).max(2)
}

/// The ratio of two series at a part of L1i.
fn at_part(
    e: &Evidence<'_>,
    [of, to]: [&str; 2],
    bytes: usize,
    part: f64,
) -> Result<Interval, Untestable> {
    l1i(e.machine)?;
    let x = (pieces(e.machine, bytes, part) * bytes) as f64;
    paired(e, of, to, Range { lo: x, hi: x })
}

/// The curves of a piece of `bytes` instead of a round through all of them.
fn a_piece(e: &Evidence<'_>, series: [&str; 2], bytes: usize) -> Vec<Curve> {
    let mut curves = e.curves();
    curves.retain(|curve| series.contains(&curve.label.as_str()));
    for (x, value) in curves.iter_mut().flat_map(|curve| &mut curve.points) {
        *value = value.scaled(bytes as f64 / *x);
    }
    curves
}

const INLINING: Experiment = Experiment {
    id: "E21",
    name: "drepper-table-6.3",
    title: "Inlined, or called",
    question: "From which size of the program on is a function quicker if it is called than if \
               every caller has it inlined?",
    source: "Drepper 6.2.2, table 6.3: f1 + f2 + 2 inlcand if it is inlined into both, \
             f1 + f2 + 1 inlcand if not, \"this is how much more L1i and L2 cache is needed\"",
    seen: &[],
    about: "A call and its return cost two jumps and the work around them. A function of many \
            bytes that is inlined everywhere costs its fetch from L2 at every place, of which \
            prefetching hides a part; the called one is decoded already. The code here lies in \
            another order than it is called, as in a program.",
    plot: Some(Plot::lines(
        Axis::bytes("all functions, if inlined"),
        Axis::linear("time of a function with its candidate"),
        Unit::CoreCycles,
    )),
    cases: |machine| {
        let bytes = callers(1, true).function();
        let mut cases = Vec::new();
        for count in counts(machine, bytes) {
            for (series, inlined) in [(INLINED, true), (CALLED, false)] {
                let listing = Listing::Callers(callers(count, inlined));
                let setup = RoutineSetup { listing };
                cases.push(Case::new(series, (count * bytes) as f64, setup).in_turn());
            }
        }
        cases.extend([TWO_INLINED, TWO_CALLED].map(|name| {
            let setup = CountSetup {
                name,
                bytes: 0,
                count: size,
                argument: u64::from(name == TWO_INLINED),
            };
            Case::new(name, 2, setup)
        }));
        cases
    },
    curves: |e| a_piece(e, [INLINED, CALLED], callers(1, true).function()),
    events: events::CODE,
    claims: &[
        // Both functions with two copies of the candidate; without inlining the total is smaller by
        // the size of one.
        computed(
            "E21.1",
            drepper("6.2.2, Table 6.3"),
            "code inlined into two functions takes its own size more than the same code called by \
             both, within 5 %",
            |e| {
                let more = e.at(TWO_INLINED, 2.0)?.middle() - e.at(TWO_CALLED, 2.0)?.middle();
                let shared = callers(2, false).shared() as f64;
                let what = format!("{more} bytes more, over the {shared} of the candidate");
                between(&what, Interval::exact(more / shared), 0.95, 1.05)
            },
        )
        .then(1.0, ""),
        // A called function has the additional cost of the extra call.
        measured(
            "E21.2",
            drepper("6.2.2"),
            "where all of it fits an eighth of L1i, a function takes 1.05 times as long with its \
             candidate called as with it inlined, or longer",
            |e| {
                let bytes = callers(1, true).function();
                at_least(
                    "called over inlined",
                    at_part(e, [CALLED, INLINED], bytes, SMALL),
                    1.05,
                )
            },
        ),
        // If the content of L1i can be reused and the footprint is reduced, that often makes up for
        // the call; the candidate need not be decoded again.
        measured(
            "E21.3",
            drepper("6.2.2, Table 6.3"),
            "where inlining makes code that fits L1i three times as large as L1i, a function \
             takes 1.05 times as long inlined as called, or longer",
            |e| {
                let bytes = callers(1, true).function();
                at_least(
                    "inlined over called",
                    at_part(e, [INLINED, CALLED], bytes, LARGE),
                    1.05,
                )
            },
        ),
    ],
};

const TWO_INLINED: &str = "bytes of two functions, inlined";
const TWO_CALLED: &str = "bytes of two functions and one candidate, called";

/// Bytes of two functions with the candidate in each, or called by both.
fn size(_: Region<'_>, inlined: u64) -> Result<f64, Untestable> {
    Ok(callers(2, inlined == 1).functions() as f64)
}

const BETWEEN_HOT: &str = "cold code between the hot";
const MOVED: &str = "cold code moved away";

/// A hot part of 4 instructions, a test and a branch; a cold part of 12.
const fn blocks(count: usize, moved: bool) -> Blocks {
    Blocks {
        count,
        hot: 4,
        cold: 12,
        moved,
    }
}

/// A part of L1i that holds the hot code and the cold.
const BOTH: f64 = 0.25;

/// As much of both as L1i holds twice, of which the hot code alone fits.
const HOT_ALONE: f64 = 2.0;

const BLOCK_ORDER: Experiment = Experiment {
    id: "E22",
    name: "drepper-block-reorder",
    title: "Cold code between the hot",
    question: "What does code cost that is never executed, but lies between code that is?",
    source: "Drepper 6.2.2: the rarely used block B between A and C, __builtin_expect, \
             -freorder-blocks",
    seen: &[],
    about: "The jump over cold code is predicted, but it is a taken branch; whatever shares a \
            line with the hot code takes room in L1i, and prefetching brings lines that nobody \
            needs. Rust moves blocks out of the way that call a #[cold] function or \
            core::hint::cold_path(). What such hints, inlining attributes and optimisation for \
            size make of code is not timed: a test looks at the compiler's output \
            (tests/library/codegen/compiled.rs). Profile-guided builds are not part of this.",
    plot: Some(Plot::lines(
        Axis::bytes("code, hot and cold"),
        Axis::linear("time of a block"),
        Unit::CoreCycles,
    )),
    cases: |machine| {
        let bytes = blocks(1, false).apart();
        let mut cases = Vec::new();
        for count in counts(machine, bytes) {
            for (series, moved) in [(BETWEEN_HOT, false), (MOVED, true)] {
                let listing = Listing::Blocks(blocks(count, moved));
                let setup = RoutineSetup { listing };
                cases.push(Case::new(series, (count * bytes) as f64, setup).in_turn());
            }
        }
        cases
    },
    curves: |e| a_piece(e, [BETWEEN_HOT, MOVED], blocks(1, false).apart()),
    events: events::CODE,
    claims: &[
        // A big unused block in the middle makes execution not linear: it pollutes L1i by
        // prefetching, and bubbles follow from false predictions.
        measured(
            "E22.1",
            drepper("6.2.2"),
            "code that fits L1i takes 1.1 times as long with its cold blocks between the hot ones \
             as with the cold blocks moved away, or longer",
            |e| at_least("between over moved away", slower(e, BOTH), 1.1),
        ),
        // Reordered, the rarely used code lies where it does not hurt the efficiency of L1i.
        measured(
            "E22.2",
            drepper("6.2.2"),
            "moving cold blocks away gains 1.2 times as much where L1i holds the hot code alone \
             as where it holds all code",
            |e| {
                let more = ratio(slower(e, HOT_ALONE), slower(e, BOTH))?;
                at_least(
                    "between over moved away, at twice L1i over at a quarter of it",
                    more,
                    1.2,
                )
            },
        )
        .failing(
            "The taken branch over each cold block costs what moving it gains; the room in L1i \
             adds little.",
        ),
    ],
};

/// How many times as long code takes with the cold between the hot, at a part of L1i.
fn slower(e: &Evidence<'_>, part: f64) -> Result<Interval, Untestable> {
    at_part(e, [BETWEEN_HOT, MOVED], blocks(1, false).apart(), part)
}
