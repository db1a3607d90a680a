//! Drepper 6.3.1, what stands behind an indirect jump.

use crate::experiment::prelude::*;
use crate::experiment::topics::code::footprint::RoutineSetup;
use crate::pattern::{Behind, Indirect, Listing};
use crate::stats::Interval;

/// The rows of this family.
pub(crate) static ALL: &[Experiment] = &[UNDEFINED];

const UD2: &str = "ud2 behind each jump";
const CODE: &str = "code behind each jump";

/// Jumps that every predictor remembers, and more than any does.
const FEW: usize = 16;
const MANY: usize = 16384;

const UNDEFINED: Experiment = Experiment {
    id: "E34",
    name: "drepper-ud2",
    title: "ud2 behind an indirect jump",
    question: "Does it help to tell the fetcher that nothing behind a jump will be executed?",
    source: "Drepper 6.3.1: ud2, an instruction that cannot be executed, after an indirect jump \
             keeps the processor from decoding what stands behind; \"a very special situation\"",
    seen: &[],
    about: "A jump whose target is remembered is followed at once, and nobody looks behind it. A \
            jump whose target is not known is found by decoding it; then fetch goes on behind it, \
            or stops and waits, until the target is computed. What is fetched meanwhile is thrown \
            away, and ud2 ends it early. Compilers put ud2 or int3 behind indirect jumps for \
            another reason: it stops what a CPU would execute there in vain and leave traces of \
            (straight-line speculation).",
    plot: Some(Plot::lines(
        Axis::log("indirect jumps, one a line, all over the place"),
        Axis::log("time"),
        Unit::CyclesPerInstruction,
    )),
    cases: |machine| {
        let counts: &[usize] = if machine.full {
            &[FEW, 64, 256, 1024, 4096, MANY, 4 * MANY]
        } else {
            &[FEW, 1024, MANY]
        };
        let mut cases = Vec::new();
        for &count in counts {
            for (series, behind) in [(UD2, Behind::Undefined), (CODE, Behind::Straight)] {
                let listing = Listing::Indirect(Indirect { count, behind });
                let setup = RoutineSetup { listing };
                cases.push(Case::new(series, count as f64, setup).in_turn());
            }
        }
        cases
    },
    curves: plain_curves,
    events: events::CODE,
    claims: &[
        // After an indirect jump ud2 signals the fetcher not to waste effort on decoding what
        // follows.
        measured(
            "E34.1",
            drepper("6.3.1"),
            "where there are more indirect jumps than are remembered, ud2 behind each makes them \
             at least 5 % cheaper",
            |e| at_most("ud2 over code, many jumps", ud2_over_code(e, MANY), 0.95),
        )
        .failing("What ud2 saves of the fetch behind a jump is not seen in the time."),
        measured(
            "E34.2",
            ours(
                "where the targets are known, nobody looks behind the jumps: ud2 should make no \
                 difference",
            ),
            "where all indirect jumps are remembered, ud2 behind each changes their time by less \
             than 3 %",
            |e| {
                between(
                    "ud2 over code, few jumps",
                    ud2_over_code(e, FEW),
                    0.97,
                    1.03,
                )
            },
        ),
    ],
};

fn ud2_over_code(e: &Evidence<'_>, jumps: usize) -> Result<Interval, Untestable> {
    let here = Range {
        lo: jumps as f64,
        hi: jumps as f64,
    };
    paired(e, UD2, CODE, here)
}
