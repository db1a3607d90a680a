//! Drepper 6.2.2: the byte of a line at which code starts.

// Calls code that is copied at run time.
#![allow(unsafe_code)]

use crate::experiment::prelude::*;
use crate::host::Pages;
use crate::kernel::{AlignCopies, CodeAlign, Placed};

pub(crate) static ALL: &[Experiment] = &[CODE_ALIGNMENT];

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
    question: "How much does the time depend on where in a line a loop or a jump target starts?",
    source: "Drepper 6.2.2: align functions, jump targets and loops (-falign-functions, \
             -falign-jumps, -falign-loops)",
    about: "Two loops and the target of a jump start at each of the 64 bytes of a line, which are \
            the axis. The front end fetches code in aligned pieces: 16 or 32 bytes for the \
            decoders, 32 or 64 for the decoded cache. A jump to the end of a piece gets few \
            instructions from it, and code that crosses a boundary needs two pieces. One more \
            cycle per round shows in a loop of one cycle. A longer loop hides it, and so does a \
            buffer for whole loops. Compilers align some loops to 16 or 32 bytes. How fast code \
            runs may depend on how it ran before: 64 copies of it, at the same byte of 64 pages, \
            run in turn for 2048 rounds each, and evict each other from L1i and the decoded cache.",
    plot: Some(Plot::lines(
        Axis::linear("start of the code in the line, byte"),
        Axis::linear("time"),
        Unit::CyclesPerInstruction,
    )),
    cases: |_| {
        let at = |placed| {
            (0..LINE).map(move |offset| {
                Case::new(name(placed), offset as f64, CodeAlignSetup { placed, offset })
            })
        };
        Placed::ALL.into_iter().flat_map(at).collect()
    },
    events: events::CODE,
    claims: &[
        measured(
            "E24.1",
            ours("the document says where to align code, but not what alignment saves"),
            "a loop of 24 bytes, a loop of 48 bytes and the target of a jump each take less than \
             1.5 times as long at the slowest start in a line as at the fastest",
            |e| {
                each(|placed| {
                    let offsets = offsets(e, placed)?;
                    let (at, worst) = slowest(&offsets, "at all")?;
                    let slower = ratio(worst, quickest(&offsets))?;
                    let what = format!("{} at byte {at} over the quickest", name(placed));
                    at_most(&what, slower, 1.5)
                })
            },
        )
        .failing("A boundary inside so short a loop costs a second fetch in each round."),
        measured(
            "E24.2",
            ours(
                "the document names the end of a line and decoder blocks of 16 bytes: is crossing \
                 a boundary what costs time?",
            ),
            "code is slowest where it crosses a boundary of 32 bytes (of 64 bytes if it is longer \
             than 32), and takes at least 1.1 times as long there as inside the boundary",
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
        )
        .failing(
            "At least one of the three is about as slow at some start from which it does not cross \
             the boundary.",
        ),
        // An instruction at the end of a line executes less efficiently than at the start:
        // align functions, jump targets and, to some extent, loops.
        measured(
            "E24.3",
            drepper("6.2.2"),
            "a loop of 24 bytes, a loop of 48 bytes and the target of a jump are as fast at the \
             start of a line as at any other byte, within 5 %",
            |e| {
                each(|placed| {
                    let offsets = offsets(e, placed)?;
                    let (_, first) = slowest(&offsets[..1], "at the start of a line")?;
                    let slower = ratio(first, quickest(&offsets))?;
                    at_most(&format!("{} at byte 0 over the quickest", name(placed)), slower, 1.05)
                })
            },
        )
        .failing(
            "Some start other than the first byte of a line suits at least one of the three better \
             on this core.",
        ),
    ],
    ..Experiment::PLAIN
};

fn each(judge: impl Fn(Placed) -> Judged) -> Judged {
    all_of(Placed::ALL.into_iter().map(judge))
}

/// Returns the time at each offset, from its least disturbed pass. Another thread of the same core,
/// even one of another guest, takes front-end cycles from this thread for seconds at a time, and
/// never adds any. Fails if the start of a line was not measured.
fn offsets(e: &Evidence<'_>, placed: Placed) -> Testable<Vec<(usize, Interval)>> {
    // If the series has no points, its own reason is reported.
    e.series(name(placed))?;
    let least = |passes: Vec<Pass>| {
        let values = passes.into_iter().map(|pass| pass.interval);
        let least = values.min_by(|a, b| a.hi.total_cmp(&b.hi));
        least.map(|value| value.widened(0.01))
    };
    let points = e.pass_by_pass(name(placed)).into_iter();
    let offsets: Vec<_> =
        points.filter_map(|(x, passes)| Some((x as usize, least(passes)?))).collect();
    match offsets.first() {
        Some((0, _)) => Ok(offsets),
        _ => Err(Untestable(format!("`{}` was not measured at the start of a line", name(placed)))),
    }
}

/// Returns the slowest of some offsets, by the lower bounds of their times.
fn slowest(offsets: &[(usize, Interval)], which: &str) -> Testable<(usize, Interval)> {
    let slowest = offsets.iter().max_by(|a, b| a.1.lo.total_cmp(&b.1.lo));
    slowest.copied().ok_or_else(|| Untestable(format!("no offset was measured {which}")))
}

/// Returns the time at the quickest of some offsets, by the upper bounds of their times.
fn quickest(offsets: &[(usize, Interval)]) -> Testable<Interval> {
    let quickest = offsets.iter().min_by(|a, b| a.1.hi.total_cmp(&b.1.hi));
    quickest.map(|(_, value)| *value).ok_or_else(|| Untestable("no offset was measured".to_owned()))
}

/// Code that starts at a given byte of a line, in many copies that run in turn. An operation is a visit to
/// each copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CodeAlignSetup {
    pub placed: Placed,
    /// The byte of the line at which the code starts.
    pub offset: usize,
}

impl Setup for CodeAlignSetup {
    /// One line, which is not used: the code has its own executable memory.
    fn bytes(&self) -> usize {
        LINE
    }

    fn prepare<'m>(&self, _: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        let placed = self.placed;
        let align = CodeAlign::new(placed, self.offset)?;
        let mut write = |bytes: &mut [u8]| AlignCopies::write(placed, bytes);
        let code = context.host.code(AlignCopies::bytes(placed), Pages::Base, &mut write)?;
        // SAFETY: the copies were written to the start of the code, which begins at a page and stays
        // executable and unchanged for as long as it lives.
        let copies = unsafe { AlignCopies::new(code, |code, at| code.function(at), align) };
        Ok(Workload::steady(copies, 1))
    }
}
