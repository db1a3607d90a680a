//! Buffers of a core: how many operations, loads, stores, registers and return addresses it keeps.

use crate::cpu::{Core, Fact};
use crate::experiment::prelude::*;
use crate::experiment::shared::count::CountSetup;
use crate::experiment::topics::code::footprint::code;
use crate::infer::{self, Found};
use crate::pattern::{Between, Listing, Nested, Window};

pub(crate) static ALL: &[Experiment] = &[BUFFERS];

pub(crate) const ID: &str = "X22";

pub(crate) const OPERATIONS: &str = "operations";
pub(crate) const LOADS: &str = "loads";
pub(crate) const STORES: &str = "stores";
pub(crate) const SUMS: &str = "sums in general registers";
/// Shuffles stand for the sums. The name is that of older records: without it X22 would not be whole there.
pub(crate) const VECTOR_SUMS: &str = "sums in vector registers";
pub(crate) const CALLS: &str = "nested calls";
const NOPS: &str = "nops";
const MOVES: &str = "register moves";

/// A kind of instruction between two chains, the range of their number, and the published size of
/// the buffer that they fill.
struct Kind {
    name: &'static str,
    between: Between,
    range: [f64; 2],
    published: Option<fn(&Core) -> Fact<u32>>,
}

const fn kind(name: &'static str, between: Between, range: [f64; 2]) -> Kind {
    Kind { name, between, range, published: None }
}

const REORDER: fn(&Core) -> Fact<u32> = |core| core.reorder_buffer;
const STORE: fn(&Core) -> Fact<u32> = |core| core.store_buffer;

/// The kinds. Each range begins below the size of the smallest core's buffer and ends above the
/// largest core's.
const KINDS: [Kind; 7] = [
    Kind { published: Some(REORDER), ..kind(OPERATIONS, Between::Operations, [30.0, 800.0]) },
    kind(NOPS, Between::Nops, [30.0, 1600.0]),
    kind(MOVES, Between::Moves, [30.0, 800.0]),
    kind(LOADS, Between::Loads, [16.0, 400.0]),
    Kind { published: Some(STORE), ..kind(STORES, Between::Stores, [8.0, 256.0]) },
    kind(SUMS, Between::Sums, [16.0, 600.0]),
    kind(VECTOR_SUMS, Between::Shuffles, [16.0, 600.0]),
];

/// The smallest and the largest depth of nested calls. With fewer calls a loop has so few taken branches
/// that some cores need less time for each, on Zen 5 up to eight calls: that step is not the end of the
/// return stack. A smaller return stack, as of the first Atoms, shows as one of the smallest depth.
const DEPTHS: [f64; 2] = [12.0, 100.0];

impl Kind {
    /// Returns how many entries of the measured buffer a round takes besides the `count`
    /// instructions between two chains.
    fn beside(&self) -> usize {
        match self.between {
            Between::Operations | Between::Nops | Between::Moves => Window::BESIDE,
            // The load that waits for the chain.
            Between::Loads => 1,
            Between::Stores | Between::Sums => 0,
            // The results of half a chain and of its conversion take vector registers as well.
            Between::Shuffles => Window::HALF + 1,
        }
    }

    /// Returns by how much the number beside the instructions may be wrong: the two chains may overlap for
    /// more or less than half of their time.
    fn doubt(&self) -> u32 {
        match self.between {
            Between::Loads | Between::Stores | Between::Sums => 0,
            _ => Window::HALF as u32,
        }
    }

    /// Returns the numbers of instructions to measure. A quick run takes close numbers around the
    /// published size, and numbers farther apart over the whole range if no size is published.
    fn numbers(&self, machine: &Machine) -> Vec<usize> {
        let core = machine.calibration.core();
        let published = core.and_then(|core| self.published?(core).value());
        match published.map(f64::from) {
            Some(published) if !machine.full => numbers([published / 2.5, published * 1.5], FINE),
            _ => numbers(self.range, per_octave(machine)),
        }
    }

    fn case(&self, number: usize) -> Option<Case> {
        let window = Window { between: self.between, count: number.checked_sub(self.beside())? };
        Some(code(self.name, number, Listing::Window(window)))
    }
}

/// Numbers per octave; neighbours differ by 9 %.
const FINE: u32 = 8;

fn per_octave(machine: &Machine) -> u32 {
    if machine.full { FINE } else { FINE / 2 }
}

/// Returns whole numbers in a range, `per_octave` of them per octave, powers of two among them.
fn numbers([least, most]: [f64; 2], per_octave: u32) -> Vec<usize> {
    let all = (0..).map(|k| 2f64.powf(f64::from(k) / f64::from(per_octave)));
    let within = all.skip_while(|x| *x < least).take_while(|x| *x <= most);
    let mut numbers: Vec<usize> = within.map(|x| x as usize).collect();
    numbers.dedup();
    numbers
}

const PUBLISHED_OPERATIONS: &str = "published entries of the reorder buffer";
const PUBLISHED_STORES: &str = "published entries of the store buffer";

fn published() -> [Case; 2] {
    let case = |name, fact| {
        CountSetup::published(name, fact, "no size of this buffer is published for this core").at(1)
    };
    [case(PUBLISHED_OPERATIONS, REORDER), case(PUBLISHED_STORES, STORE)]
}

/// Infers how many entries the buffer of a kind has, from the times of its rounds. The range contains the
/// doubt about how far two chains overlap.
pub(crate) fn entries(series: &str, rounds: &infer::Curve) -> Option<Found<[u32; 2]>> {
    let kind = KINDS.iter().find(|kind| kind.name == series)?;
    let found = infer::window(rounds)?;
    Some(found.map(|[least, most]| [least.saturating_sub(kind.doubt()), most + kind.doubt()]))
}

/// Returns how many instructions of a kind the buffer holds.
fn held(e: &Evidence<'_>, series: &str) -> Testable<Interval> {
    held_by(e, series, |rounds| entries(series, rounds))
}

/// Returns how many instructions of a kind the buffer holds, as `infer` finds it.
fn held_by(
    e: &Evidence<'_>,
    series: &str,
    infer: impl Fn(&infer::Curve) -> Option<Found<[u32; 2]>>,
) -> Testable<Interval> {
    let found = infer(&e.quickest(series)?).ok_or_else(|| {
        Untestable(format!(
            "no number of `{series}` between two chains keeps them from running side by side"
        ))
    })?;
    Ok(range(&found))
}

/// Returns the depth of calls up to which no return is mispredicted.
fn depth(e: &Evidence<'_>) -> Testable<Interval> {
    let found = return_stack(&e.quickest(CALLS)?).ok_or_else(|| {
        Untestable("no depth of calls costs more per call than a smaller one".to_owned())
    })?;
    Ok(range(&found))
}

/// Infers the entries of the return stack from the times of rounds of nested calls. Older records also
/// contain depths below the smallest in [`DEPTHS`].
pub(crate) fn return_stack(rounds: &infer::Curve) -> Option<Found<[u32; 2]>> {
    let mut costs = per_call(rounds);
    costs.retain(|(depth, _)| *depth >= DEPTHS[0]);
    infer::remembered(&costs)
}

/// Divides the time of each round of nested calls by the number of calls.
fn per_call(rounds: &infer::Curve) -> Vec<(f64, Interval)> {
    let each = |&(depth, time): &(f64, Interval)| (depth, time.scaled(1.0 / depth));
    rounds.iter().map(each).collect()
}

fn range(found: &Found<[u32; 2]>) -> Interval {
    let [least, most] = found.value;
    Interval::new(least.into(), most.into())
}

/// Judges the measured size of a buffer over the published size.
fn as_published(e: &Evidence<'_>, buffer: &str, [series, published]: [&str; 2]) -> Judged {
    let published = e.at(published, 1.0)?.middle();
    let held = held(e, series)?;
    let of_published = held.scaled(1.0 / published);
    let what = format!("{} to {} {series} over the published {published}", held.lo, held.hi);
    unless_halved(buffer, of_published, between(&what, of_published, 0.85, 1.15)?)
}

/// Judges a failed claim as inconclusive if a buffer has about half of its published size: a second thread of the
/// core has the other half while it works.
fn unless_halved(buffer: &str, of_published: Interval, judged: Judgement) -> Judged {
    let half = Interval::new(0.4, 0.6);
    let halved = half.lo < of_published.hi && of_published.hi < half.hi;
    if judged.verdict != Verdict::DoesNotHold || !halved {
        return Ok(judged);
    }
    let note = format!(
        "the {buffer} has half of its published size: a second thread of the core has the other \
         half while it works"
    );
    let open = noted(Ok(judged), note)?;
    Ok(Judgement { verdict: Verdict::Inconclusive, ..open })
}

const BUFFERS: Experiment = Experiment {
    id: ID,
    name: "core-buffers",
    title: "Buffers of a core: operations, loads, stores, registers and return addresses",
    question: "How many operations, loads and stores does a core keep under way, how many \
               registers does it rename to, and how many return addresses does it remember?",
    source: "Beyond the papers: after Wong, \"Measuring Reorder Buffer Capacity\" (2013), whose \
             two loads that miss are chains of square roots here. Published sizes: the table of \
             cores",
    about: "A round is a chain of 24 dependent square roots, and n instructions behind it. No \
            chain waits for the one before, so two run side by side. But a core retires \
            instructions in order: nothing behind a chain leaves the reorder buffer, or gives back \
            its register or its place in the store buffer, before the chain is done. As soon as n \
            instructions fill such a buffer, the next chain has to wait, and a round takes almost \
            twice as long. The step lies at the size of the buffer that fills up first. An `fnop` \
            takes an operation of the reorder buffer and nothing else. A sum takes a register as \
            well, and there are fewer registers than operations. In vector registers a shuffle \
            stands for the sum, which would wait for the one before. A move or a nop takes a \
            register only where the core does not eliminate it. Loads stand behind one more load \
            whose address waits for the chain, since a load leaves the queue when all earlier \
            loads are done. Stores wait for retirement anyway. Numbers of operations and of vector \
            registers contain what belongs to half of a chain, and those of operations what \
            belongs to the loop. Nested calls are another loop: each call pushes its return \
            address on a small stack in the core. Beyond its depth, returns are mispredicted. They \
            are drawn as the time per call.",
    seen: &[seen(
        "Zen 4",
        "Two 4-byte nops share an entry of the reorder buffer. The load queue is published with 88 \
         entries, and 136 loads fit behind one that waits: a load that is done no longer needs an \
         entry of the smaller queue.",
    )],
    plot: Some(Plot::cycles(Axis::log("number"), Axis::log("time of a round, or of a call"))),
    cases: |machine| {
        let kinds = KINDS.iter().filter(|kind: &&Kind| machine.full || kind.name != MOVES);
        let windows = kinds.flat_map(|kind| {
            let numbers = kind.numbers(machine).into_iter();
            numbers.filter_map(|number| kind.case(number))
        });
        let nested = |depth| code(CALLS, depth, Listing::Nested(Nested { depth }));
        let calls = numbers(DEPTHS, per_octave(machine)).into_iter().map(nested);
        windows.chain(calls).chain(published()).collect()
    },
    curves: |e| {
        let counts = [PUBLISHED_OPERATIONS, PUBLISHED_STORES];
        let mut curves = e.curves_of(|label| !counts.contains(&label));
        for curve in curves.iter_mut().filter(|curve| curve.label == CALLS) {
            curve.points = per_call(&curve.points);
        }
        curves
    },
    claims: &[
        measured(
            "X22.1",
            ours(
                "vendors publish the size of the reorder buffer, which bounds how far a core looks \
                 ahead for misses; a program can measure it",
            ),
            "the reorder buffer holds as many operations as published for its core, within 15 %",
            |e| as_published(e, "reorder buffer", [OPERATIONS, PUBLISHED_OPERATIONS]),
        ),
        measured(
            "X22.2",
            ours("the size of the store buffer bounds how many stores a late one holds up"),
            "the store buffer holds as many stores as published for its core, within 15 %",
            |e| as_published(e, "store buffer", [STORES, PUBLISHED_STORES]),
        ),
        measured(
            "X22.3",
            ours(
                "if fewer loads than operations fit, code of nothing but loads looks less far \
                 ahead than the reorder buffer allows",
            ),
            "behind a load that waits, at most three quarters as many loads fit as the reorder \
             buffer holds operations",
            |e| at_most("loads over operations", ratio(held(e, LOADS), held(e, OPERATIONS)), 0.75),
        )
        .holding(
            "The load queue is full before the reorder buffer is, where every second operation \
             loads or more.",
        ),
        measured(
            "X22.4",
            ours("measurements of a reorder buffer usually fill it with nops, as Wong's does"),
            "a nop takes one entry of the reorder buffer, as any other operation does, within 15 %",
            |e| {
                // Both numbers contain the same half of a chain, so its doubt cancels.
                let held = |series| held_by(e, series, infer::window);
                let nops = ratio(held(NOPS), held(OPERATIONS))?;
                between("nops over operations that fit", nops, 0.85, 1.15)
            },
        )
        .failing("Nops share entries: a buffer that is measured by nops looks too large."),
        measured(
            "X22.5",
            ours("each result needs a register until it is overwritten and retired"),
            "general registers for results are at most 0.8 times as many as operations of the \
             reorder buffer",
            |e| {
                let operations = held(e, OPERATIONS)?;
                let share = ratio(held(e, SUMS), Ok(operations))?;
                let judged = at_most("sums over operations", share, 0.8)?;
                // Threads share the registers as they need them, but have half of the reorder buffer each.
                let Ok(published) = e.at(PUBLISHED_OPERATIONS, 1.0) else { return Ok(judged) };
                unless_halved("reorder buffer", operations.scaled(1.0 / published.middle()), judged)
            },
        )
        .holding(
            "Code that only computes fills the registers first: the core looks less far ahead than \
             the size of its reorder buffer suggests.",
        ),
        measured(
            "X22.6",
            ours("recursion deeper than the return stack pays for a misprediction per return"),
            "calls nested 16 deep return without mispredictions, and calls nested 48 deep do not",
            |e| between("depth of calls that is remembered", depth(e)?, 16.0, 47.0),
        )
        .failing("The return stack of this core is smaller or larger than usual."),
    ],
    ..Experiment::PLAIN
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_contain_powers_of_two_and_each_once() {
        assert_eq!(numbers([4.0, 16.0], 4), [4, 5, 6, 8, 9, 11, 13, 16]);
        let fine = numbers([4.0, 800.0], 8);
        assert!(fine.is_sorted_by(|a, b| a < b), "{fine:?}");
        assert!([4, 64, 512].iter().all(|power| fine.contains(power)));
    }

    #[test]
    fn cheap_calls_of_tiny_loops_are_not_the_end_of_the_return_stack() {
        // Depths, core cycles per call and the return stack that they show: of a Redwood Cove,
        // whose return stack has 24 entries, and of a Zen 5 in a quick and in a full run.
        let found: [(&[f64], &[f64], [u32; 2]); 3] = [
            (
                &[4.0, 5.0, 6.0, 8.0, 11.0, 16.0, 22.0, 26.0, 32.0],
                &[1.0, 1.2, 1.17, 2.12, 2.09, 2.07, 2.04, 2.46, 3.03],
                [22, 25],
            ),
            (
                &[8.0, 9.0, 11.0, 13.0, 16.0, 19.0, 22.0, 26.0, 32.0, 38.0, 45.0],
                &[2.57, 5.94, 4.85, 3.92, 4.15, 3.67, 3.8, 4.02, 5.22, 8.66, 11.8],
                [26, 31],
            ),
            (
                &[
                    12.0, 13.0, 14.0, 16.0, 17.0, 19.0, 20.0, 22.0, 24.0, 26.0, 29.0, 32.0, 34.0,
                    38.0, 64.0, 98.0,
                ],
                &[
                    4.67, 4.23, 4.97, 3.98, 4.16, 4.45, 3.45, 3.83, 3.82, 4.01, 4.02, 5.25, 6.49,
                    8.65, 16.85, 20.8,
                ],
                [29, 31],
            ),
        ];
        for (depths, costs, entries) in found {
            let rounds = depths.iter().zip(costs);
            let rounds: Vec<_> =
                rounds.map(|(depth, cost)| (*depth, Interval::exact(depth * cost))).collect();
            assert_eq!(return_stack(&rounds).map(|found| found.value), Some(entries));
        }
    }

    #[test]
    fn a_reorder_buffer_of_512_entries_is_within_its_range() {
        // Cycles per round of a Redwood Cove.
        let rounds = [(362.0, 228.0), (430.0, 264.0), (512.0, 332.0), (608.0, 383.0)];
        let rounds = rounds.map(|(number, time)| (number, Interval::exact(time)));
        let [least, most] = entries(OPERATIONS, &rounds).unwrap().value;
        assert!(least <= 512 && 512 <= most, "{least} to {most}");
        let [least, most] = entries(LOADS, &rounds).unwrap().value;
        assert_eq!([least, most], [430, 511], "loads do not stand beside a chain");
    }

    #[test]
    fn a_number_counts_what_else_is_in_the_buffer() {
        let case = KINDS[0].case(100).unwrap();
        let said = format!("{:?}", case.setup);
        assert!(said.contains(&format!("count: {}", 100 - Window::BESIDE)), "{said}");
        assert!(KINDS[0].case(Window::BESIDE - 1).is_none());
    }
}
