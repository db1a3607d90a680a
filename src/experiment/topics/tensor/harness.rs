//! The time that a harness adds, and how it is subtracted: C9.

use crate::experiment::prelude::*;
use crate::experiment::topics::tensor::reads::HarnessSetup;
use crate::experiment::topics::tensor::{STRIDES, only};
use crate::pmu::Quantity;
use crate::stats::Interval;

const READ: &str = "a read, by N against 2N";
const STRETCH: &str = "a stretch of reads with its harness";

/// Reads of the stretches: none, a period of the pattern, and ten.
const READS: [u32; 3] = [0, 448, 4480];

pub(crate) const HARNESS: Experiment = Experiment {
    id: "C9",
    name: "tensor-measurement-error",
    title: "Stretches of reads with their harness",
    question: "How much does a harness add to a measurement, and does the difference of two \
               stretches remove it?",
    source: "mmpataki, part 7: counters of the whole application are not counters of the benchmark",
    seen: &[],
    about: "Stretches of reads of the flat tensor are timed together with a harness: a call, and \
            two readings of the clock with their fences. The parts before part 7 counted events \
            of a whole JVM. Over a million reads either harness adds almost nothing, over 448 \
            reads it does.",
    plot: None,
    cases: |_| {
        let mut cases = vec![Case::new(READ, 0.0, STRIDES)];
        cases.extend(READS.map(|reads| {
            let setup = HarnessSetup { of: STRIDES, reads };
            Case::new(STRETCH, f64::from(reads), setup).in_turn()
        }));
        cases
    },
    curves: plain_curves,
    events: &[Quantity::Instructions],
    claims: &[
        measured(
            "C9.1",
            ours(
                "the post found that it had counted the whole application: how much does our own \
                 harness add?",
            ),
            "a stretch of 448 reads of the flat tensor, timed with its harness, makes a read \
             appear more than 2 % slower",
            |e| {
                let each = e.at(STRETCH, 448.0)?.scaled(1.0 / 448.0);
                let over = ratio(each, only(e, READ))?;
                at_least(
                    "a read of 448 with the harness over one without",
                    over,
                    1.02,
                )
            },
        ),
        measured(
            "C9.2",
            ours(
                "every time in this report is the difference of N and 2N operations: other \
                 differences must give the same time",
            ),
            "the difference of stretches of 4,480 and 448 reads of the flat tensor gives the same \
             time per read as N and 2N, within 5 %",
            |e| {
                let each = by_difference(|reads| e.at(STRETCH, reads))?;
                let over = ratio(each, only(e, READ))?;
                between(
                    "a read by difference over one by N and 2N",
                    over,
                    0.95,
                    1.05,
                )
            },
        ),
        counted(
            "C9.3",
            ours(
                "counters also count the harness: the difference must remove it from counts as \
                 from times",
            ),
            "by the CPU's counters, a harness around no reads takes at least 10 instructions, and \
             the difference of stretches gives the instructions per read within 5 %",
            |e| {
                let counted = |series, x| e.count(series, x, Quantity::Instructions);
                let each = by_difference(|reads| counted(STRETCH, reads))?;
                let over = ratio(each, counted(READ, 0.0))?;
                all_of([
                    at_least("instructions around no reads", counted(STRETCH, 0.0), 10.0),
                    between(
                        "instructions of a read by difference over those by N and 2N",
                        over,
                        0.95,
                        1.05,
                    ),
                ])
            },
        ),
    ],
};

/// The value per read from the difference of two stretches, given the value `of` a stretch.
fn by_difference(of: impl Fn(f64) -> Result<Interval, Untestable>) -> Result<Interval, Untestable> {
    let (long, short) = (of(4480.0)?, of(448.0)?);
    let more = Interval::new(long.lo - short.hi, long.hi - short.lo);
    Ok(more.scaled(1.0 / (4480.0 - 448.0)))
}
