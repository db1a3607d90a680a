//! Drepper 6.2.1, alignment: Figure 6.4.

use crate::experiment::prelude::*;
use crate::experiment::shared::lines::BurstSetup;
use crate::experiment::shared::walk::WalkSetup;
use crate::kernel::{Places, Step, Transfer};
use crate::pattern::{Layout, Order};

pub(crate) static ALL: &[Experiment] = &[FIG_6_4];

/// Displacement of the elements, in bytes. The pointer lies across two lines; the counter behind it
/// does not.
const SKEW: usize = 60;

/// Number of elements for the comparison of split lines with split pages. All lie at the same
/// offset of their page, and therefore in one or two sets of L1d, which have enough ways on every
/// CPU.
const SPLITS: usize = 4;

/// The name of a walk, and its series over aligned and over misaligned elements.
type Walks = (&'static str, &'static str, &'static str);

const SEQUENTIAL: Walks = ("sequential", "sequential, aligned", "sequential, misaligned");
const RANDOM: Walks = ("random", "random, aligned", "random, misaligned");
const WALKS: [Walks; 2] = [SEQUENTIAL, RANDOM];

/// Aligned data, moved by the instruction that requires alignment and by the instruction that does
/// not.
const INSTRUCTIONS: [(&str, Transfer, &str, Transfer); 2] = [
    ("loads by movdqa", Transfer::LoadAligned, "loads by movdqu", Transfer::Load),
    ("stores by movdqa", Transfer::StoreAligned, "stores by movdqu", Transfer::Store),
];

/// Lines whose first 16 bytes are moved: 8 KiB.
const MOVED: usize = 128;

const SPLIT_LINE: &str = "one per page, split line";
const SPLIT_PAGE: &str = "one per page, split page";

const FIG_6_4: Experiment = Experiment {
    id: "E15",
    name: "drepper-fig-6.4",
    title: "Elements that straddle lines",
    question: "How much slower is a list walk if every element lies across two cache lines?",
    source: "Drepper 6.2.1, Figure 6.4. Element size and displacement are not stated there; here \
             elements have 64 bytes and are displaced by 60 bytes, so that the pointer itself is \
             split",
    about: "A thread walks a list and increments each element. The chart shows how much longer a \
            step takes when the elements are displaced by 60 bytes, so that each pointer lies \
            across two lines. A split load makes two accesses in one instruction. Beyond L1d, a \
            sequential walk mostly finds that the prefetcher has already requested the second \
            line. The paper explains its slowdown in L2 by the connection between L1d and L2, \
            which was too narrow for two lines per step. A load across two 4 KiB pages also needs \
            two translations. Their cost may stay hidden if each load waits for the previous load \
            anyway; X6 shows the cost for independent loads.",
    plot: Some(
        Plot::lines(Axis::WORKING_SET, Axis::linear("slowdown by misalignment"), Unit::Percent)
            .beside(&[Reference {
                file: "drepper-fig-6.4.csv",
                machine: "machine not stated (2007)",
                x: "working_set_bytes",
                columns: &[("Sequential Inc", "sequential"), ("Random Inc", "random")],
            }]),
    ),
    cases: |machine| {
        let seed = machine.seed;
        let aligned = Layout::npad(7);
        let mut cases = Vec::new();
        let orders = [Order::Sequential, Order::Random { seed }];
        for ((_, straight, split), order) in WALKS.into_iter().zip(orders) {
            for bytes in machine.few_working_sets(2) {
                for (series, layout) in [(straight, aligned), (split, aligned.skewed(SKEW))] {
                    let setup = WalkSetup::follow(layout, bytes, order).with(Step::Inc);
                    cases.push(Case::new(series, bytes as f64, setup).in_turn());
                }
            }
        }
        let page = aligned.one_a_page();
        for (series, skew) in [(SPLIT_LINE, SKEW), (SPLIT_PAGE, 4092)] {
            let setup = WalkSetup::follow(page.skewed(skew), SPLITS * 64, Order::Sequential);
            cases.push(Case::new(series, (SPLITS * 64) as f64, setup));
        }
        for (aligned, insisting, any, easy) in INSTRUCTIONS {
            for (series, transfer) in [(aligned, insisting), (any, easy)] {
                let setup =
                    BurstSetup { places: Places::sequential(0, LINE, MOVED), transfer, width: 16 };
                cases.push(Case::new(series, (MOVED * LINE) as f64, setup).in_turn());
            }
        }
        cases
    },
    curves: |e| {
        let curve = |(label, straight, split): Walks| slowdown(e, label, straight, split);
        WALKS.into_iter().filter_map(curve).collect()
    },
    events: events::SPLITS,
    claims: &[
        measured(
            "E15.1",
            ours(
                "split accesses are cheap on cores of today; the document shows slowdowns of 280 \
                 to 390 % in L1d",
            ),
            "in L1d, a step on elements across two lines takes longer than a step on aligned \
             elements, but less than 4 times as long (300 % slower)",
            |e| {
                all_of(WALKS.map(|walks| {
                    let what = format!("misaligned over aligned, {}", walks.0);
                    between(&what, slower(e, walks, e.machine.ranges.l1), 1.0, 4.0)
                }))
            },
        ),
        // For very large working sets the slowdown is 20 % to 30 %. At random the figure shows 39 % at 2^24
        // bytes, the smallest working set far beyond the caches, and 19.5 % at 2^29.
        measured(
            "E15.2",
            drepper("6.2.1, Figure 6.4"),
            "in memory, a random walk that increments its elements takes at least 20 % longer if \
             they lie across two lines",
            |e| {
                at_least("misaligned over aligned", slower(e, RANDOM, e.machine.ranges.memory), 1.2)
            },
        )
        .then_between(1.20, 1.39, "")
        .takeaway(
            Shown::Times,
            Touches::Many,
            "Split over aligned elements, random walk in memory",
            "Elements across two lines make a random walk in memory take {now} as long",
        )
        .advice(
            "Align elements that you access at random to their size.",
            "In memory, alignment hardly affects random access: do not pad for alignment alone.",
        )
        .failing("The core fetches the second line in parallel with the first."),
        measured(
            "E15.3",
            ours("an access across two pages needs two translations besides two lines"),
            "a step on elements across two pages takes more than 1.1 times as long as a step on \
             elements across two lines",
            |e| {
                let x = (SPLITS * 64) as f64;
                let gap = ratio(e.at(SPLIT_PAGE, x), e.at(SPLIT_LINE, x))?;
                at_least("split page over split line", gap, 1.1)
            },
        )
        .failing(
            "The core looks both pages up at once: the end of a page costs no more than the end of \
             a line.",
        ),
        // In order, for working sets that fit into L2, the slowdown is about 300 %.
        measured(
            "E15.5",
            drepper("6.2.1, Figure 6.4"),
            "in L2, a sequential walk that increments its elements takes at least 3 times as long \
             if they lie across two lines (the document: about 300 % longer)",
            |e| {
                let slower = slower(e, SEQUENTIAL, e.machine.ranges.l2);
                at_least("misaligned over aligned, sequential", slower, 3.0)
            },
        )
        .then(4.1, "")
        .takeaway(
            Shown::Times,
            Touches::Many,
            "Split over aligned elements, sequential walk in L2",
            "Elements across two lines make a sequential walk in L2 take {now} as long",
        )
        .advice(
            "Align elements to their size: transfers of lines between L1d and L2 are the \
             bottleneck.",
            "Misaligned elements cost less in L2 than in the paper; align the elements that a hot \
             loop accesses.",
        )
        .failing(
            "The connection between L1d and L2 has become wide enough for two lines per step.",
        ),
        // For very large working sets the slowdown is 20 to 30 %: 32 % in order at 2^29 bytes.
        measured(
            "E15.6",
            drepper("6.2.1, Figure 6.4"),
            "in memory, a sequential walk that increments its elements takes at least 20 % longer \
             if they lie across two lines",
            |e| {
                let slower = slower(e, SEQUENTIAL, e.machine.ranges.memory);
                at_least("misaligned over aligned, sequential", slower, 1.2)
            },
        )
        .then_between(1.32, 1.36, "")
        .failing(
            "Memory is the limit. When the second access to a line comes, the line is on its way \
             already.",
        ),
        // The effects are more dramatic in order than at random, where the cost of memory partly
        // hides them: 308 to 312 % and 164 to 204 % in L2.
        measured(
            "E15.7",
            drepper("6.2.1, Figure 6.4"),
            "in L2, elements across two lines slow a sequential walk down more than a random walk",
            |e| {
                let l2 = e.machine.ranges.l2;
                let more = ratio(slower(e, SEQUENTIAL, l2), slower(e, RANDOM, l2))?;
                at_least("slowdown in order over that at random", more, 1.0)
            },
        )
        .then_between(1.35, 1.55, ""),
        // There are special variants of the accesses that handle unaligned data, but these are slower.
        measured(
            "E15.8",
            drepper("6.2.1, on alignment"),
            "movdqu takes more than 1.05 times as long as movdqa on aligned data",
            |e| {
                let l1 = e.machine.ranges.l1;
                all_of(INSTRUCTIONS.map(|(aligned, _, any, _)| {
                    at_least(&format!("{any} over movdqa"), paired(e, any, aligned, l1), 1.05)
                }))
            },
        )
        .failing("On aligned data, movdqu is as fast as movdqa."),
    ],
    ..Experiment::PLAIN
};

/// Returns the time of a step on misaligned elements divided by that on aligned elements.
fn slower(e: &Evidence<'_>, (_, straight, split): Walks, range: Range) -> Testable<Interval> {
    paired(e, split, straight, range)
}
