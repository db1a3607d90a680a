//! Startin's A5: where a shuffle spends its time, instruction by instruction.

use super::shuffle::{in_memory, shuffle};
use crate::experiment::evidence::ratio;
use crate::experiment::setup::{HottestSetup, ShuffleSetup};
use crate::experiment::{Case, Claim, Evidence, Experiment, Untestable, at_least, plain_curves};
use crate::kernel::Op;
use crate::pattern::Indices;
use crate::stats::Interval;

/// The rows of this family.
pub(super) static ALL: &[Experiment] = &[PERFASM];

/// Series of the percentage of time at the hottest instruction.
const SIMPLE: &str = "% at the hottest instruction, index drawn";
const UNROLLED: &str = "% at the hottest instruction, index looked up, four exchanges in a row";
const STAGED: &str = "% at the hottest instruction, index drawn, in stages of 64";

const PERFASM: Experiment = Experiment {
    id: "A5",
    name: "startin-perfasm",
    title: "The hottest instruction of two loops",
    question: "Does a single instruction take most of the time of the simple shuffle, and several \
               share it where exchanges stand in a row?",
    source: "Startin, \"Observing memory level parallelism with JMH\": perfasm shows 73.97 % at \
             one store; 10.33 and 10.40 % at two of the loop that the compiler unrolled four times, \
             which is that with precomputed indices",
    today: "The instruction behind the load that misses is the hot one, since a CPU that is \
            interrupted first lets the oldest instruction retire. Four loads in a row share what \
            one has alone, whether or not they miss at the same time: a loop in stages, which \
            misses more at a time, is as hot in one place as the simple one. Sampled by a timer of \
            the system, not by a counter: 1,000 samples, so that a share of one half is known to \
            3 points either way.",
    plot: None,
    cases: |machine| {
        let case = |series, indices, op, symbol| {
            let of = ShuffleSetup {
                op,
                ..shuffle(machine, indices, 8)
            };
            Case::new(series, 0, HottestSetup { of, symbol })
        };
        let staged = ShuffleSetup {
            buffered: true,
            ..shuffle(machine, Indices::Generated, 64)
        };
        let staged = HottestSetup {
            of: staged,
            symbol: "linefill_staged_random",
        };
        vec![
            Case::new(STAGED, 0, staged),
            case(
                SIMPLE,
                Indices::Generated,
                Op::Assembled,
                "linefill_shuffle_random",
            ),
            case(
                UNROLLED,
                Indices::Precomputed,
                Op::Unrolled,
                "linefill_shuffle_unrolled",
            ),
        ]
    },
    curves: plain_curves,
    events: &[],
    claims: &[
        Claim {
            text: "the hottest instruction of the simple shuffle takes more than twice the share of \
               time that the hottest of the unrolled one takes",
            judge: |e| {
                in_memory(e)?;
                let more = ratio(share(e, SIMPLE)?, share(e, UNROLLED)?)?;
                Ok(at_least("simple over unrolled", more, 2.0))
            },
        },
        Claim {
            text: "so it does over the hottest of the shuffle in stages, of which the post says that \
               several smaller ones share the time",
            judge: |e| {
                in_memory(e)?;
                let more = ratio(share(e, SIMPLE)?, share(e, STAGED)?)?;
                Ok(at_least("simple over stages", more, 2.0))
            },
        },
    ],
};

/// A share with the doubt of its sample: twice the standard deviation of the binomial.
fn share(e: &Evidence<'_>, series: &str) -> Result<Interval, Untestable> {
    let percent = e.at(series, 0.0)?.middle();
    let part = (percent / 100.0).clamp(0.0, 1.0);
    let deviation = (part * (1.0 - part) / HottestSetup::SAMPLES as f64).sqrt();
    let reach = 200.0 * deviation;
    Ok(Interval::new(percent - reach, percent + reach))
}
