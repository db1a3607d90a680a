//! Drepper 6.2.2: where in a line code starts.

use crate::experiment::prelude::*;
use crate::kernel::{CodeAlign, Placed};
use crate::mem::{LINE, Region};
use crate::stats::Interval;

/// The rows of this family.
pub(crate) static ALL: &[Experiment] = &[CODE_ALIGNMENT];

/// A series for each.
const fn name(placed: Placed) -> &'static str {
    match placed {
        Placed::Loop24 => "a loop of 24 bytes",
        Placed::Loop48 => "a loop of 48 bytes",
        Placed::Target => "25 bytes that a loop jumps to",
    }
}

const CODE_ALIGNMENT: Experiment = Experiment {
    id: "E24",
    name: "drepper-code-alignment",
    title: "Code at every offset of a line",
    question: "How much does it matter where in a line a loop or the target of a jump starts?",
    source: "Drepper 6.2.2: align functions, targets of jumps and loops, -falign-functions, \
             -falign-jumps, -falign-loops",
    seen: &[],
    about: "The front end takes its instructions in pieces: blocks of 16 or 32 bytes for the \
            decoders, of 32 or 64 for the decoded cache. A jump into the end of a piece takes \
            little from it, and code that lies across two needs both. A cycle more per round shows \
            in a loop of one cycle; in a longer one it drowns, as it does where a buffer keeps \
            whole loops. Compilers align loops to 16 or 32 bytes, and not all of them.",
    plot: Some(Plot::lines(
        Axis::linear("byte of the line at which it starts"),
        Axis::linear("time of a round"),
        Unit::CoreCycles,
    )),
    cases: |_| {
        let at = |placed| {
            (0..LINE).map(move |offset| {
                let setup = CodeAlignSetup { placed, offset };
                Case::new(name(placed), offset as f64, setup)
            })
        };
        Placed::ALL.into_iter().flat_map(at).collect()
    },
    curves: plain_curves,
    events: events::CODE,
    claims: &[
        measured(
            "E24.1",
            ours("the document says where to align code, and not how much it is worth"),
            "for a loop of 24 bytes, one of 48 and the target of a jump, the slowest start in a \
             line takes less than 1.5 times as long as the quickest",
            |e| {
                each(|placed| {
                    let offsets = offsets(e, placed)?;
                    let (at, worst) = slowest(&offsets, "at all")?;
                    let slower = ratio(worst, quickest(&offsets))?;
                    let what = format!("{} at byte {at} over the quickest", name(placed));
                    at_most(&what, slower, 1.5)
                })
            },
        ),
        measured(
            "E24.2",
            ours(
                "the document argues with the end of a line and with decoder blocks of 16 bytes: \
                 is it crossing a boundary that costs?",
            ),
            "code is slowest where it reaches over a boundary of 32 bytes, or of a line if it is \
             longer, and takes 1.1 times as long there as inside, or longer",
            |e| {
                each(|placed| {
                    let boundary = if placed.bytes() < 32 { 32 } else { LINE };
                    let (over, inside): (Vec<_>, Vec<_>) = offsets(e, placed)?
                        .into_iter()
                        .partition(|(at, _)| placed.reaches_over(*at, boundary));
                    let (at, over) = slowest(&over, "across the boundary")?;
                    let (_, inside) = slowest(&inside, "inside the boundary")?;
                    let what = format!(
                        "{} over {boundary} bytes, at byte {at}, over the slowest inside them",
                        name(placed)
                    );
                    at_least(&what, ratio(over, inside), 1.1)
                })
            },
        ),
        // An instruction at the end of a line is less effectively executed than one at the
        // beginning; align functions, targets of jumps and, to some extent, loops.
        measured(
            "E24.3",
            drepper("6.2.2"),
            "a loop of 24 bytes, one of 48 and the target of a jump are as quick at the start of \
             a line as anywhere, within 5 %",
            |e| {
                each(|placed| {
                    let offsets = offsets(e, placed)?;
                    let (_, first) = slowest(&offsets[..1], "at the start of a line")?;
                    let slower = ratio(first, quickest(&offsets))?;
                    at_most(
                        &format!("{} at byte 0 over the quickest", name(placed)),
                        slower,
                        1.05,
                    )
                })
            },
        ),
    ],
};

/// Judges all that is placed.
fn each(judge: impl Fn(Placed) -> Judged) -> Judged {
    all_of(Placed::ALL.into_iter().map(judge))
}

/// What was measured at each offset, from the first, in the pass that was disturbed least: another
/// thread of the same core, be it a stranger's, takes front-end cycles from this one for seconds
/// at a time, and gives it none.
///
/// # Errors
/// If there is none at the start of a line.
fn offsets(e: &Evidence<'_>, placed: Placed) -> Result<Vec<(usize, Interval)>, Untestable> {
    // The series' own reason, if it has no points.
    e.series(name(placed))?;
    let least = |passes: Vec<Pass>| {
        let values = passes.into_iter().map(|pass| pass.interval);
        let least = values.min_by(|a, b| a.hi.total_cmp(&b.hi));
        least.map(|value| value.widened(0.01))
    };
    let points = e.pass_by_pass(name(placed)).into_iter();
    let offsets: Vec<_> = points
        .filter_map(|(x, passes)| Some((x as usize, least(passes)?)))
        .collect();
    match offsets.first() {
        Some((0, _)) => Ok(offsets),
        _ => Err(Untestable(format!(
            "`{}` was not measured at the start of a line",
            name(placed)
        ))),
    }
}

/// The slowest of some offsets: surely no quicker than the others.
fn slowest(offsets: &[(usize, Interval)], which: &str) -> Result<(usize, Interval), Untestable> {
    let slowest = offsets.iter().max_by(|a, b| a.1.lo.total_cmp(&b.1.lo));
    slowest
        .copied()
        .ok_or_else(|| Untestable(format!("no offset was measured {which}")))
}

/// The time at the quickest of some offsets.
fn quickest(offsets: &[(usize, Interval)]) -> Result<Interval, Untestable> {
    let quickest = offsets.iter().min_by(|a, b| a.1.hi.total_cmp(&b.1.hi));
    quickest
        .map(|(_, value)| *value)
        .ok_or_else(|| Untestable("no offset was measured".to_owned()))
}

/// Code at a byte of a line. An operation is a round through it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CodeAlignSetup {
    /// What is placed.
    pub placed: Placed,
    /// The byte at which it starts.
    pub offset: usize,
}

impl Setup for CodeAlignSetup {
    /// A line, of which nothing is used: the code lies in the program.
    fn bytes(&self) -> usize {
        LINE
    }

    fn prepare<'m>(&self, _: Region<'m>, _: &Context) -> Result<Workload<'m>, Untestable> {
        let code = CodeAlign::new(self.placed, self.offset)?;
        Ok(Workload::steady(code, 1))
    }
}
