//! Drepper 6.2.1, elements of several lines that a program reads only in part: Figure 6.2.

use crate::experiment::claim::verdict::untestable;
use crate::experiment::prelude::*;
use crate::experiment::topics::layout::{Loads, RingSetup};
use crate::pattern::{Layout, Order};

pub(crate) static ALL: &[Experiment] = &[FIG_6_2];

/// A curve of the figure: its label, the lines per element, and whether the walk is sequential.
struct Spread {
    label: &'static str,
    lines: usize,
    sequential: bool,
}

impl Spread {
    /// Returns the series with both words in the first line.
    fn near(&self) -> String {
        format!("{}, both words in the first", self.label)
    }

    /// Returns the series with one word in the last line.
    fn far(&self) -> String {
        format!("{}, first and last", self.label)
    }
}

/// The three curves of the figure, and a fourth that it does not have.
const SPREADS: [Spread; 4] = [
    Spread { label: "sequential, 4 lines", lines: 4, sequential: true },
    Spread { label: "random, 2 lines", lines: 2, sequential: false },
    Spread { label: "random, 4 lines", lines: 4, sequential: false },
    Spread { label: "sequential, 2 lines", lines: 2, sequential: true },
];

const FIG_6_2: Experiment = Experiment {
    id: "E11",
    name: "drepper-fig-6.2",
    title: "Two values of an element in one line, or in its first and last",
    question: "How much slower is a list walk if values that are used together lie in two cache \
               lines?",
    source: "Drepper 6.2.1, Figure 6.2. The paper does not show the addition; here both values and \
             the pointer are loaded, and the sum stays in a register. The paper has no curve of \
             sequential elements of 2 lines",
    about: "A thread walks a list and adds two values of each element. The chart shows how much \
            longer a step takes if the values lie in the first and last line of the element \
            instead of both in the first line. The walk waits only for the pointer, which lies in \
            the first line; an out-of-order CPU can fetch the second line in parallel. A \
            sequential walk over two lines per element moves twice as many lines, which takes \
            longer where prefetchers already saturate the bus. With elements of two lines, \
            however, the walk then uses every line without a gap, and a prefetcher follows such a \
            stream more easily than a stream of every other line.",
    plot: Some(
        Plot::lines(Axis::WORKING_SET, Axis::linear("slowdown of two lines"), Unit::Percent)
            .beside(&[Reference {
                file: "drepper-fig-6.2.csv",
                machine: "Core 2 (2007)",
                x: "working_set_bytes",
                columns: &[
                    ("Sequential 4 CLs", "sequential, 4 lines"),
                    ("Random 2 CLs", "random, 2 lines"),
                    ("Random 4 CLs", "random, 4 lines"),
                ],
            }]),
    ),
    cases: |machine| {
        let seed = machine.seed;
        let mut cases = Vec::new();
        for spread in &SPREADS {
            let order = if spread.sequential { Order::Sequential } else { Order::Random { seed } };
            let words = 8 * spread.lines;
            let layout = Layout::npad(words - 1);
            for working_set in machine.working_sets_or_one_a_range() {
                let count = layout.count(working_set).max(1);
                for (series, second) in [(spread.near(), 2), (spread.far(), words - 1)] {
                    let setup = RingSetup { layout, count, order, loads: Loads::Two([1, second]) };
                    cases.push(Case::new(series, working_set as f64, setup).in_turn());
                }
            }
        }
        cases
    },
    curves: |e| {
        SPREADS
            .iter()
            .filter_map(|spread| slowdown(e, spread.label, &spread.near(), &spread.far()))
            .collect()
    },
    events: events::WALK,
    claims: &[
        // In all cases there are no negative effects if the working set fits into L1d.
        measured(
            "E11.1",
            drepper("6.2.1, Figure 6.2"),
            "in L1d, a second line per element changes the time by less than 5 % either way",
            |e| {
                all_of(SPREADS.iter().map(|spread| {
                    let slower = paired(e, &spread.far(), &spread.near(), e.machine.ranges.l1)?;
                    between(&format!("two lines over one, {}", spread.label), slower, 0.95, 1.05)
                }))
            },
        )
        .then(1.0, "Core 2 (2007)"),
        // Once L1d is not sufficient, using two lines instead of one is penalised: 17 to 34 %.
        measured(
            "E11.2",
            drepper("6.2.1, Figure 6.2"),
            "beyond L1d, a second line per element costs more than 3 % at some working set",
            |e| {
                let most = beyond_l1(e, Interval::most)?;
                let judged = at_least("largest ratio of two lines over one", most, 1.03)?;
                // One working set is enough to hold, and without one in memory none is missed.
                match e.machine.memory_size() {
                    Err(reason) if judged.verdict == Verdict::DoesNotHold => {
                        Ok(untestable(judged, &reason.0))
                    }
                    _ => Ok(judged),
                }
            },
        )
        .then(1.34, "Core 2 (2007)"),
        measured(
            "E11.3",
            ours(
                "the document shows only slowdowns; with two lines, sequential elements of two \
                 lines form a stream without gaps",
            ),
            "beyond L1d, a second line per element does not make the walk more than 3 % faster at \
             any working set",
            |e| {
                e.machine.memory_size()?;
                let least = beyond_l1(e, Interval::least)?;
                at_least("smallest ratio of two lines over one", least, 0.97)
            },
        )
        .failing(
            "With two lines per element, the walk uses every line, and a prefetcher follows such a \
             stream more easily.",
        ),
        // At random the slowdown is 25 to 35 % in L2 and about 10 % beyond, as memory gets
        // disproportionally more costly.
        measured(
            "E11.4",
            drepper("6.2.1, Figure 6.2"),
            "in random order, a second line per element costs more than 3 % in L2, and less in \
             memory than in L2",
            |e| {
                let mut parts = Vec::new();
                for spread in SPREADS.iter().filter(|spread| !spread.sequential) {
                    let l2 = peak(e, spread, e.machine.ranges.l2)?;
                    let memory = paired(e, &spread.far(), &spread.near(), e.machine.ranges.memory)?;
                    let label = spread.label;
                    let what = format!("two lines over one in L2, {label}");
                    parts.push(at_least(&what, l2, 1.03));
                    let what = format!("and over that in memory, {label}");
                    parts.push(at_least(&what, ratio(l2, memory), 1.0));
                }
                all_of(parts)
            },
        )
        .then(1.34, "Core 2 (2007)")
        .failing("The second line costs next to nothing in L2, or costs as much in memory."),
    ],
    ..Experiment::PLAIN
};

/// Returns the ratios of a curve at the working sets that are `wanted`. What is wrong with another point
/// does not matter.
fn ratios(
    e: &Evidence<'_>,
    spread: &Spread,
    wanted: impl Fn(f64) -> bool,
) -> Testable<Vec<Interval>> {
    let [far, near] = [e.series(&spread.far())?, e.series(&spread.near())?];
    let both = |x| wanted(x) && near.iter().any(|point| point.0 == x);
    let places = far.into_iter().map(|(x, _)| x).filter(|x| both(*x));
    places.map(|x| paired_at(e, &spread.far(), &spread.near(), x)).collect()
}

/// Returns the greatest ratio of a curve in a range.
fn peak(e: &Evidence<'_>, spread: &Spread, range: Range) -> Testable<Interval> {
    let inside = ratios(e, spread, |x| range.holds(x))?.into_iter();
    let none = || Untestable(format!("`{}` was not measured in the {range}", spread.label));
    inside.reduce(Interval::most).ok_or_else(none)
}

/// Returns the ratio that `pick` selects, the greatest or the least, of all curves beyond L1d.
fn beyond_l1(e: &Evidence<'_>, pick: fn(Interval, Interval) -> Interval) -> Testable<Interval> {
    let beyond = e.machine.ranges.l2.lo;
    let mut all = Vec::new();
    for spread in &SPREADS {
        all.extend(ratios(e, spread, |x| x >= beyond)?);
    }
    let none = || Untestable::because("no working set beyond L1d was measured");
    all.into_iter().reduce(pick).ok_or_else(none)
}
