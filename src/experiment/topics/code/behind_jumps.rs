//! Drepper 6.3.1: the code behind an indirect jump.

use crate::experiment::prelude::*;
use crate::experiment::topics::code::footprint::RoutineSetup;
use crate::pattern::{Behind, Indirect, Listing};
use crate::stats::Interval;

/// The rows of this family.
pub(crate) static ALL: &[Experiment] = &[UNDEFINED];

const UD2: &str = "ud2 behind each jump";
const CODE: &str = "code behind each jump";

/// A number of jumps that every predictor remembers, and one that none does.
const FEW: usize = 16;
const MANY: usize = 16384;

const UNDEFINED: Experiment = Experiment {
    id: "E34",
    name: "drepper-ud2",
    title: "ud2 behind an indirect jump",
    question: "Does it help to tell the fetcher that the code behind a jump will not be executed?",
    source: "Drepper 6.3.1: ud2, an undefined instruction, after an indirect jump keeps the \
             processor from decoding what follows; \"a very special situation\"",
    seen: &[],
    about: "Indirect jumps, one per line, run in a scattered order, with ordinary code or with \
            ud2 behind each. The axis is their number. If the CPU remembers a jump's target, it \
            follows the jump at once and does not fetch behind it. Otherwise decoding finds the \
            jump; fetch then continues behind it, or stops until the target is computed. What is \
            fetched behind it is discarded, and ud2 ends that fetching early. Compilers put ud2 \
            or int3 behind indirect jumps for another reason: it keeps a CPU from executing the \
            code there speculatively and leaving traces (straight-line speculation).",
    plot: Some(Plot::lines(
        Axis::log("indirect jumps, one per line, in scattered order"),
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
        // After an indirect jump, ud2 tells the fetcher not to waste effort on decoding what
        // follows.
        measured(
            "E34.1",
            drepper("6.3.1"),
            "if there are more indirect jumps than the CPU remembers, ud2 behind each makes them \
             at least 5 % faster",
            |e| at_most("ud2 over code, many jumps", ud2_over_code(e, MANY), 0.95),
        )
        .failing("The time shows no gain from fetching less behind a jump."),
        measured(
            "E34.2",
            ours(
                "with remembered targets the CPU does not fetch behind the jumps, so ud2 should \
                 make no difference",
            ),
            "if the CPU remembers all indirect jumps, ud2 behind each changes their time by less \
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
