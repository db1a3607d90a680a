//! Drepper 6.2.2: taken branches and short loops.

use crate::experiment::prelude::*;
use crate::experiment::topics::code::footprint::{code, name};
use crate::order;
use crate::pattern::{Filler, LOOP, Listing};
use crate::stats::Side;

/// Bytes from one jump to the next.
const SPACINGS: [(&str, usize); 2] = [(EVERY_16_BYTES, 16), ("a jump every 64 bytes", 64)];

pub(crate) const EVERY_16_BYTES: &str = "a jump every 16 bytes";

/// A number of jumps that any branch target buffer holds.
const FEW: f64 = 64.0;

/// A number of jumps that L2 holds, but most branch target buffers do not. Those of Zen 5 do: each jump
/// costs 1.5 core cycles.
const MANY: f64 = 32768.0;

pub(crate) const BRANCHES: Experiment = Experiment {
    id: "E20",
    name: "drepper-l1i",
    title: "Few and many taken branches",
    question: "What does a taken branch cost if its target is remembered, and if not?",
    source: "Drepper 6.2.2: bubbles in the pipeline, branch prediction, and three rules for L1i",
    about: "A chain of jumps runs in a loop; the axis is their number. Branch target buffers \
            remember the targets of jumps in levels, as caches hold data. The cost rises at the \
            size of each level, at some hundreds and some thousands of jumps. Beyond the last \
            level the front end finds a jump only after it has decoded it. The predictors of some \
            cores follow more than one jump per cycle. With a jump every 64 bytes, the same curve \
            also shows misses of L1i.",
    plot: Some(Plot::lines(
        Axis::log("jumps in a row"),
        Axis::log("time"),
        Unit::CyclesPerInstruction,
    )),
    cases: |machine| {
        let step = if machine.full { 1 } else { 2 };
        let shifts = order::distinct((4..=15).step_by(step).chain([6, 13, 15]));
        let mut cases = Vec::new();
        for (series, spacing) in SPACINGS {
            for shift in &shifts {
                let count = 1_usize << shift;
                cases.push(code(series, count, Listing::Jumps { count, spacing }));
            }
        }
        cases
    },
    events: events::CODE,
    claims: &[
        measured(
            "E20.1",
            ours(
                "the document names the bubbles after a jump, but not their cost if the target is \
                 remembered",
            ),
            "each of 64 taken jumps with remembered targets costs 0.1 to 2.1 core cycles",
            |e| {
                all_of(SPACINGS.map(|(series, _)| {
                    let cost = e.at(series, FEW)?;
                    // No front end follows ten jumps per cycle: less than 0.1 is no valid time.
                    between(&format!("{series}, 64 of them"), cost, 0.1, 2.1)
                }))
            },
        ),
        measured(
            "E20.2",
            ours(
                "the document says that processors invest heavily in branch prediction: does it \
                 keep so many jumps fast?",
            ),
            "each of 32,768 jumps costs at least twice as much as each of 64 jumps",
            |e| {
                let slower = ratio(e.at(EVERY_16_BYTES, MANY), e.at(EVERY_16_BYTES, FEW))?;
                let reach = match at_full_speed(e)? {
                    (most, Some(fewest)) => {
                        format!("between {most:.0} and {fewest:.0} jumps run at full speed")
                    }
                    (most, None) => format!("at least {most:.0} jumps run at full speed"),
                };
                at_least(&format!("{reach}; 32768 jumps over 64"), slower, SLOW)
            },
        ),
    ],
    ..Experiment::PLAIN
};

/// The least cost of a jump that does not run at full speed, in multiples of the cost of one of [`FEW`].
const SLOW: f64 = 2.0;

/// Returns the largest number of jumps that surely run at full speed, and the smallest number that surely
/// do not, if any. That is where the fastest level of the branch target buffers ends. Further levels
/// remember more jumps at some cycles each. The jumps are 16 bytes apart.
pub(crate) fn at_full_speed(e: &Evidence<'_>) -> Testable<(f64, Option<f64>)> {
    let few = e.at(EVERY_16_BYTES, FEW)?;
    let mut most = FEW;
    for (x, value) in e.series(EVERY_16_BYTES)?.into_iter().filter(|(x, _)| *x > FEW) {
        match ratio(value, &few)?.side_of(SLOW) {
            Side::Below => most = x,
            Side::Across => {}
            Side::Above => return Ok((most, Some(x))),
        }
    }
    Ok((most, None))
}

/// Instructions of a loop that fits the loop stream detector of Core 2, including the end of the loop.
const STREAMED: usize = 18;

/// Instructions of a loop that does not fit the loop stream detector.
const TOO_LONG: usize = 40;

pub(crate) const LOOPS: Experiment = Experiment {
    id: "E23",
    name: "drepper-lsd",
    title: "Short loops",
    question: "Up to which size of a loop are its instructions cheaper?",
    source: "Drepper 6.2.2: Core 2's loop stream detector takes loops of up to 18 instructions, \
             four fetches of 16 bytes and four branches",
    about: "Loops of one-byte nop and of three-byte mov instructions run at many sizes; the axis \
            is the number of instructions in the loop. A loop stream detector replays loops of a \
            few dozen instructions; many CPUs since Skylake have it switched off. A cache of \
            decoded instructions has room for some thousand. Each loop ends in a taken branch, and \
            a short loop spreads its cost over fewer instructions.",
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
                cases.push(code(name(filler), size, Listing::Straight { filler, count }));
            }
        }
        cases
    },
    events: events::CODE,
    claims: &[
        // Core 2 may lock a loop of up to 18 instructions into its instruction queue, where they
        // are available sooner.
        measured(
            "E23.1",
            drepper("6.2.2"),
            "an instruction in a loop of 18 instructions takes at least 10 % less time than one \
             in a loop of 40",
            |e| {
                let series = name(Filler::Move3);
                let time = ratio(e.at(series, STREAMED as f64), e.at(series, TOO_LONG as f64))?;
                at_most("18 instructions over 40", time, LESS)
            },
        )
        .holding("A buffer or a cache serves the shorter loop faster.")
        .failing(
            "The decoded cache serves both loops. Very short loops only show the cost of their \
             own taken branch.",
        ),
    ],
    ..Experiment::PLAIN
};
