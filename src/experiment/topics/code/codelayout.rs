//! Drepper 6.2.2: inlining and the order of blocks decide which code lies in L1i.

use crate::experiment::prelude::*;
use crate::experiment::shared::count::CountSetup;
use crate::experiment::topics::code::footprint::{code, l1i};
use crate::order;
use crate::pattern::{Blocks, Callers, Listing};

#[cfg(feature = "std")]
mod gcc;

pub(crate) static ALL: &[Experiment] = &[INLINING, BLOCK_ORDER];

const INLINED: &str = "inlined";
const CALLED: &str = "called";

/// Functions of 8 own instructions each, and a candidate of 64 instructions (half a KiB).
const fn callers(count: usize, inlined: bool) -> Callers {
    Callers { count, own: 8, candidate: 64, inlined }
}

/// Sizes of the inlined code as parts of L1i. The called form takes an eighth of this size.
const PARTS: [f64; 9] = [SMALL, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, LARGE, 8.0];

/// Parts that only a full run measures.
const BETWEEN: [f64; 7] = [0.375, 0.625, 0.875, 1.25, 1.75, 2.5, 5.0];

/// A part of L1i that leaves room for everything else.
const SMALL: f64 = 0.125;

/// A part of L1i such that the code is larger than L1i if inlined, and smaller if called.
const LARGE: f64 = 3.0;

/// Returns the numbers of pieces of `bytes` bytes that fill the parts of L1i.
fn counts(machine: &Machine, bytes: usize) -> Vec<usize> {
    let mut parts = PARTS.to_vec();
    if machine.full {
        parts.extend(BETWEEN);
    }
    order::distinct(parts.into_iter().map(|part| pieces(machine, bytes, part)))
}

/// Returns how many pieces of `bytes` bytes fill `part` of L1i, or of 32 KiB if the size of L1i is
/// unknown.
fn pieces(machine: &Machine, bytes: usize, part: f64) -> usize {
    let l1i = l1i(machine).unwrap_or(32768.0);
    ((part * l1i) as usize / bytes).max(2)
}

/// Returns the ratio of two series at a part of L1i.
fn at_part(e: &Evidence<'_>, [of, to]: [&str; 2], bytes: usize, part: f64) -> Testable<Interval> {
    l1i(e.machine)?;
    let x = (pieces(e.machine, bytes, part) * bytes) as f64;
    paired(e, of, to, Range::at(x))
}

/// Returns the curves per piece of `bytes` bytes instead of per round through all pieces.
fn a_piece(e: &Evidence<'_>, series: [&str; 2], bytes: usize) -> Vec<Curve> {
    let mut curves = e.curves_of(|label| series.contains(&label));
    for (x, value) in curves.iter_mut().flat_map(|curve| &mut curve.points) {
        *value = value.scaled(bytes as f64 / *x);
    }
    curves
}

const INLINING: Experiment = Experiment {
    id: "E21",
    name: "drepper-table-6.3",
    title: "Inlined or called functions",
    question: "From which program size on is a called function faster than one that is inlined \
               into every caller?",
    source: "Drepper 6.2.2, table 6.3: f1 + f2 + 2 inlcand if the candidate is inlined into both \
             functions, f1 + f2 + 1 inlcand if not, \"this is how much more L1i and L2 cache is \
             needed\"",
    about: "Many functions contain the same candidate code of 64 instructions, either inlined \
            into each or as one function that all call. The axis is the size of all functions \
            with the candidate inlined. A call and its return cost two taken branches and the \
            work around them. The inlined copies outgrow L1i first; each copy then comes from L2, \
            and prefetching hides a part of that. The called candidate stays in L1i and is \
            decoded already. The functions lie in another order than they are called, as in a \
            program.",
    plot: Some(Plot::cycles(
        Axis::bytes("size of all functions, if inlined"),
        Axis::linear("time per function with its candidate"),
    )),
    cases: |machine| {
        let bytes = callers(1, true).function();
        let mut cases = Vec::new();
        for count in counts(machine, bytes) {
            for (series, inlined) in [(INLINED, true), (CALLED, false)] {
                let listing = Listing::Callers(callers(count, inlined));
                cases.push(code(series, count * bytes, listing).in_turn());
            }
        }
        let size = |inlined| Ok(callers(2, inlined == 1).functions() as f64);
        cases.push(CountSetup::computed(TWO_INLINED, 1, size).at(2));
        cases.push(CountSetup::computed(TWO_CALLED, 0, size).at(2));
        cases
    },
    curves: |e| a_piece(e, [INLINED, CALLED], callers(1, true).function()),
    events: events::CODE,
    claims: &[
        // Inlining puts two copies of the candidate into the functions; without inlining the total
        // is smaller by one copy.
        computed(
            "E21.1",
            drepper("6.2.2, Table 6.3"),
            "code inlined into two functions takes more space than the same code called by both, \
             by its own size within 5 %",
            |e| {
                let more = e.at(TWO_INLINED, 2.0)?.middle() - e.at(TWO_CALLED, 2.0)?.middle();
                let shared = callers(2, false).shared() as f64;
                let what = format!("{more} bytes more, over the {shared} of the candidate");
                between(&what, Interval::exact(more / shared), 0.95, 1.05)
            },
        )
        .then(1.0, ""),
        // A called function costs an extra call.
        measured(
            "E21.2",
            drepper("6.2.2"),
            "in code of at most an eighth of L1i, a function takes at least 1.05 times as long \
             with its candidate called as with the candidate inlined",
            |e| {
                let bytes = callers(1, true).function();
                at_least("called over inlined", at_part(e, [CALLED, INLINED], bytes, SMALL), 1.05)
            },
        )
        .failing("A call that is predicted costs less than a twentieth of what the function does."),
        // Reusing the content of L1i with a smaller footprint often makes up for the call; the
        // candidate need not be decoded again.
        measured(
            "E21.3",
            drepper("6.2.2, Table 6.3"),
            "if inlining makes code that fits L1i three times as large as L1i, a function takes \
             at least 1.05 times as long inlined as called",
            |e| {
                let bytes = callers(1, true).function();
                at_least("inlined over called", at_part(e, [INLINED, CALLED], bytes, LARGE), 1.05)
            },
        ),
    ],
    ..Experiment::PLAIN
};

const TWO_INLINED: &str = "bytes of two functions, inlined";
const TWO_CALLED: &str = "bytes of two functions and one candidate, called";

const BETWEEN_HOT: &str = "cold code between the hot";
const MOVED: &str = "cold code moved away";

/// Blocks with a hot part of 4 instructions, a test and a branch, and a cold part of 12 instructions.
const fn blocks(count: usize, moved: bool) -> Blocks {
    Blocks { count, hot: 4, cold: 12, moved }
}

/// The series of the ways in which gcc compiles a function with a rare block: 1 if the block lies behind the
/// return of the function.
const MOVED_BY_GCC: [&str; 3] = [
    "unlikely blocks behind the return, gcc -O2",
    "unlikely blocks behind the return, gcc -Os",
    "blocks behind the return, gcc -O2",
];

#[cfg(not(feature = "std"))]
fn moved_by_gcc(_: u64) -> Testable<f64> {
    Err(Untestable::without_std())
}

#[cfg(feature = "std")]
use gcc::moved_by_gcc;

/// A quarter of L1i: L1i holds the hot and the cold code.
const BOTH: f64 = 0.25;

/// Twice L1i: L1i holds only the hot code.
const HOT_ALONE: f64 = 2.0;

const BLOCK_ORDER: Experiment = Experiment {
    id: "E22",
    name: "drepper-block-reorder",
    title: "Cold code between hot code",
    question: "What does never executed code cost if it lies between executed code?",
    source: "Drepper 6.2.2: the rarely used block B between A and C, __builtin_expect, \
             -freorder-blocks",
    about: "Hot blocks of a few instructions run in turn; a cold block of code that never runs \
            lies behind each of them, or all cold blocks lie at the end. The axis is the size of \
            hot and cold code together. A jump over a cold block is predicted, but it is a taken \
            branch. Cold code that shares a line with hot code takes room in L1i, and prefetching \
            brings cold lines. Rust moves blocks away that call a #[cold] function or \
            core::hint::cold_path(). A test checks the compiler's output for such hints, inlining \
            attributes and optimisation for size (tests/library/codegen/compiled.rs); this \
            experiment does not time them, nor profile-guided builds. The installed gcc compiles a \
            function with a rare block in three ways; where the block lies is read from its \
            assembly.",
    plot: Some(Plot::cycles(
        Axis::bytes("size of hot and cold code"),
        Axis::linear("time per block"),
    )),
    cases: |machine| {
        let bytes = blocks(1, false).apart();
        let mut cases = Vec::new();
        for count in counts(machine, bytes) {
            for (series, moved) in [(BETWEEN_HOT, false), (MOVED, true)] {
                let listing = Listing::Blocks(blocks(count, moved));
                cases.push(code(series, count * bytes, listing).in_turn());
            }
        }
        for (argument, name) in (0..).zip(MOVED_BY_GCC) {
            let setup = CountSetup::asked(name, argument, |host, way| {
                host.programs()?;
                moved_by_gcc(way)
            });
            cases.push(setup.at(0.0));
        }
        cases
    },
    curves: |e| a_piece(e, [BETWEEN_HOT, MOVED], blocks(1, false).apart()),
    events: events::CODE,
    claims: &[
        // A big unused block in the middle makes execution non-linear: prefetching pollutes L1i,
        // and wrong predictions cause bubbles.
        measured(
            "E22.1",
            drepper("6.2.2"),
            "code that fits L1i takes at least 1.1 times as long with cold blocks between the hot \
             blocks as with the cold blocks moved away",
            |e| at_least("between over moved away", slower(e, BOTH), 1.1),
        ),
        // After reordering, rarely used code lies where it does not harm L1i.
        measured(
            "E22.2",
            drepper("6.2.2"),
            "the time with cold blocks between the hot blocks, over the time with the cold blocks \
             moved away, is at least 1.2 times as large if L1i holds only the hot code as if L1i \
             holds all code",
            |e| {
                let more = ratio(slower(e, HOT_ALONE), slower(e, BOTH))?;
                at_least("between over moved away, at twice L1i over at a quarter of it", more, 1.2)
            },
        )
        .failing(
            "The gain comes from the taken branch over each cold block; the room in L1i adds \
             little.",
        ),
        // Code matches the structure of its source in general. With __builtin_expect and -freorder-blocks, gcc
        // moves the rare block away; the option is on at -O2 and off at -Os.
        counted(
            "E22.3",
            drepper("6.2.2"),
            "gcc puts a block behind the return of its function at -O2 if __builtin_expect calls \
             its condition unlikely, and leaves it in its place at -Os and without the hint",
            |e| {
                let [hint, small, plain] = MOVED_BY_GCC.map(|name| e.at(name, 0.0));
                all_of([
                    between("blocks behind the return at -O2", hint, 1.0, 1.0),
                    between("at -Os", small, 0.0, 0.0),
                    between("at -O2 without the hint", plain, 0.0, 0.0),
                ])
            },
        )
        .failing("This gcc orders blocks by other rules than the gcc of 2007."),
    ],
    ..Experiment::PLAIN
};

/// Returns the time with cold code between hot code over the time with cold code moved away, at a
/// part of L1i.
fn slower(e: &Evidence<'_>, part: f64) -> Testable<Interval> {
    at_part(e, [BETWEEN_HOT, MOVED], blocks(1, false).apart(), part)
}
