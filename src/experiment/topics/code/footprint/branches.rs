//! Drepper 6.2.2: taken branches, and short loops.

use crate::experiment::prelude::*;
use crate::experiment::topics::code::footprint::{RoutineSetup, name};
use crate::pattern::{Filler, LOOP, Listing};
use crate::stats::Side;

/// Bytes from a jump to the next.
const SPACINGS: [(&str, usize); 2] = [("a jump every 16 bytes", 16), ("a jump every 64 bytes", 64)];

/// Jumps that any branch target buffer holds.
const FEW: f64 = 64.0;

/// Jumps that none holds, and L2 does.
const MANY: f64 = 32768.0;

pub(crate) const BRANCHES: Experiment = Experiment {
    id: "E20",
    name: "drepper-l1i",
    title: "Taken branches, few and many",
    question: "What does a taken branch cost while its target is remembered, and when not?",
    source: "Drepper 6.2.2: bubbles in the pipeline, branch prediction, and three rules for L1i",
    seen: &[],
    about: "Targets of jumps are remembered in levels, like data in caches, with steps at some \
            hundreds and some thousands of jumps; beyond them the front end finds a jump only when \
            it has decoded it. Predictors of some cores follow more than one jump per cycle. Jumps \
            a line apart show the misses of L1i in the same curve.",
    plot: Some(Plot::lines(
        Axis::log("jumps in a row"),
        Axis::log("time"),
        Unit::CyclesPerInstruction,
    )),
    cases: |machine| {
        let mut cases = Vec::new();
        let step = if machine.full { 1 } else { 2 };
        for (series, spacing) in SPACINGS {
            for shift in (4..=15).step_by(step).chain([6, 13, 15]) {
                let count = 1_usize << shift;
                let listing = Listing::Jumps { count, spacing };
                cases.push(Case::new(series, count as f64, RoutineSetup { listing }));
            }
        }
        cases.sort_by(|a, b| a.series.cmp(&b.series).then(a.x.total_cmp(&b.x)));
        cases.dedup_by(|a, b| a.series == b.series && a.x == b.x);
        cases
    },
    curves: plain_curves,
    events: events::CODE,
    claims: &[
        measured(
            "E20.1",
            ours(
                "the document names the bubbles behind a jump, and not what they cost where the \
                 target is remembered",
            ),
            "each of 64 taken jumps, whose targets are remembered, costs 0.1 to 2.1 core cycles",
            |e| {
                let parts = SPACINGS.map(|(series, _)| {
                    let cost = e.at(series, FEW)?;
                    // No front end follows ten jumps a cycle: less is no time at all.
                    between(&format!("{series}, 64 of them"), cost, 0.1, 2.1)
                });
                all_of(parts)
            },
        ),
        measured(
            "E20.2",
            ours(
                "processors invest heavily in branch prediction, says the document: what does a \
                 jump cost that is not remembered?",
            ),
            "each of 32,768 jumps costs twice as much as each of 64, or more",
            |e| {
                let (series, _) = SPACINGS[0];
                let slower = ratio(e.at(series, MANY), e.at(series, FEW))?;
                let reach = match reach(e, series)? {
                    (most, Some(fewest)) => {
                        format!("between {most:.0} and {fewest:.0} jumps are remembered")
                    }
                    (most, None) => format!("at least {most:.0} jumps are remembered"),
                };
                at_least(&format!("{reach}; 32768 jumps over 64"), slower, FORGOTTEN)
            },
        ),
    ],
};

/// How many times as much a jump costs that was forgotten, or more.
const FORGOTTEN: f64 = 2.0;

/// The most jumps of a series that surely are remembered, and the fewest that surely are not.
fn reach(e: &Evidence<'_>, series: &str) -> Result<(f64, Option<f64>), Untestable> {
    let few = e.at(series, FEW)?;
    let mut most = FEW;
    for (x, value) in e.series(series)?.into_iter().filter(|(x, _)| *x > FEW) {
        match ratio(value, few)?.side_of(FORGOTTEN) {
            Side::Below => most = x,
            Side::Across => {}
            Side::Above => return Ok((most, Some(x))),
        }
    }
    Ok((most, None))
}

/// Instructions of a loop that Core 2's loop stream detector takes, those of the loop included.
const STREAMED: usize = 18;

/// Instructions of one that it does not take.
const TOO_LONG: usize = 40;

pub(crate) const LOOPS: Experiment = Experiment {
    id: "E23",
    name: "drepper-lsd",
    title: "Short loops",
    question: "Is there a size of loop up to which instructions are cheaper?",
    source: "Drepper 6.2.2: Core 2's loop stream detector takes loops of up to 18 instructions, \
             four fetches of 16 bytes and four branches",
    seen: &[],
    about: "A decoded cache has room for some thousand instructions, and a loop stream detector a \
            few dozen; the detector is switched off in many CPUs since Skylake. A loop ends in a \
            taken branch, whose cost a short loop spreads over fewer instructions.",
    plot: Some(Plot::lines(
        Axis::log("instructions of the loop"),
        Axis::log("time"),
        Unit::CyclesPerInstruction,
    )),
    cases: |machine| {
        let sizes: &[usize] = if machine.full {
            &[
                4, 5, 6, 7, 8, 10, 12, 14, 16, STREAMED, 19, 20, 24, 28, 32, 36, TOO_LONG, 48, 56,
                64, 80, 100, 128, 160, 200,
            ]
        } else {
            &[4, 8, 12, STREAMED, 24, 32, TOO_LONG, 64, 100, 200]
        };
        let mut cases = Vec::new();
        for filler in [Filler::Nop1, Filler::Move3] {
            for &size in sizes {
                let count = size - LOOP as usize;
                let listing = Listing::Straight { filler, count };
                let setup = RoutineSetup { listing };
                cases.push(Case::new(name(filler), size as f64, setup));
            }
        }
        cases
    },
    curves: plain_curves,
    events: events::CODE,
    claims: &[
        // A loop of no more than 18 instructions may be locked into the instruction queue of Core
        // 2, and is then more quickly available.
        measured(
            "E23.1",
            drepper("6.2.2"),
            "an instruction in a loop of 18 takes at least 10 % less time than an instruction in \
             a loop of 40",
            |e| {
                let series = name(Filler::Move3);
                let slower = ratio(e.at(series, TOO_LONG as f64), e.at(series, STREAMED as f64))?;
                at_least("40 instructions over 18", slower, 1.1)
            },
        )
        .holding("Some buffer or cache serves the shorter loop faster.")
        .failing(
            "The decoded cache serves both loops; what a very short loop shows is its own taken \
             branch, which costs a cycle.",
        ),
    ],
};
