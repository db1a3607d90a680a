//! Drepper 3.3.2, the TLB: Figures 3.12 and 3.17.

use crate::experiment::prelude::*;
use crate::experiment::shared::walk::WalkSetup;
use crate::kernel::{Kernel, Step, Walk};
use crate::measure::Shot;
use crate::order;
use crate::pattern::{Layout, Order};

pub(crate) static ALL: &[Experiment] = &[FIG_3_12, FIG_3_17];

const DENSE: &str = "one per line";
const CONSTANT: &str = "one per page, same offset";
const ROTATING: &str = "one per page, rotating offset";
const ROTATING_HUGE: &str = "one per page, rotating offset, 2 MiB pages";
const ROTATING_GIANT: &str = "one per page, rotating offset, 1 GiB pages";

/// Numbers of pages: the L1 dTLB of every CPU is large enough for the first (the smallest has 32
/// entries), and of no CPU for the second (the largest has 96). The lines of the second fit L1d.
const FEW_PAGES: usize = 24;
const MANY_PAGES: usize = 256;

/// Number of pages for which no second-level TLB is large enough: the largest has 4,096 entries
/// (Zen 5).
const PAGES_BEYOND: usize = 8192;

const FIG_3_12: Experiment = Experiment {
    id: "D16",
    name: "drepper-fig-3.12",
    title: "One element per line, or one element per page",
    question: "How much does it cost to use a new page at every step?",
    source: "Drepper 3.3.2, Figure 3.12",
    about: "The test walks a list with one element per line, and lists with one element per page. \
            The working set on the axis counts only the elements, not the unused rest of their \
            pages. The paper's second curve mixes two effects: it pays for TLB misses, and \
            elements at the same offset of every page also fall in one set of L1d. A rotating \
            offset removes these conflicts and leaves the TLB misses. Where hardware counters are \
            available, the misses of L1d and of the dTLB separate the two effects too. A \
            second-level TLB has 512 to 4,096 entries. In a virtual machine, 2 MiB pages help only \
            if the hypervisor backs them with equally large pages, because a TLB entry covers the \
            smaller of the two. A rise that remains with 2 MiB pages therefore shows 4 KiB pages \
            underneath. If a load from L2 takes about as long as a load from L1d that needs the \
            second-level TLB, the curves of the two offsets lie close together.",
    plot: Plot::over_working_set(&[Reference {
        file: "drepper-fig-3.12.csv",
        machine: PENTIUM_4,
        x: "working_set_bytes",
        columns: &[("On Cache Line", "one per line"), ("On Page", "one per page, same offset")],
    }]),
    cases: fig_3_12_cases,
    events: events::PAGES,
    claims: &[
        // The curve spikes at 2^13 bytes, when elements on 128 pages overflow the 64 entries of
        // the TLB. (The elements of the figure also share a set of L1d; these do not.)
        measured(
            "D16.1",
            drepper("3.3.2, Figure 3.12"),
            "a walk over one line in each of 256 pages, more than any L1 dTLB has entries, takes \
             more than 1.3 times as long per step as over one line in each of 24 pages",
            |e| at_least("256 pages over 24", rise(e, ROTATING), 1.3),
        )
        .then_between(17.0, 40.0, "Pentium 4, including conflicts in L1d"),
        measured(
            "D16.2",
            ours("CPUs gained a second-level TLB after the document"),
            "with more pages than the second-level TLB has entries, a walk over one line per page \
             takes more than 1.3 times as long in 4 KiB pages as in 2 MiB pages",
            |e| {
                let (x, small) = e.last(ROTATING)?;
                let pages = x / 64.0;
                if pages < PAGES_BEYOND as f64 {
                    return Err(Untestable(format!(
                        "the claim needs {PAGES_BEYOND} pages to exceed every TLB, and the largest \
                         case has {pages}"
                    )));
                }
                let gap = ratio(small, e.at(ROTATING_HUGE, x))?;
                at_least(&format!("4 KiB over 2 MiB pages at {pages} pages"), gap, 1.3)
            },
        )
        .failing(
            "Page walks find their tables in the caches, or the hypervisor backs large pages with \
             small ones.",
        ),
        measured(
            "D16.3",
            ours(
                "elements at the same offset of their pages share one set of L1d, which the \
                 document does not mention",
            ),
            "at 256 pages, elements at the same offset of their pages take more than 1.5 times as \
             long as elements at rotating offsets: conflicts in L1d, not TLB misses, make the \
             difference",
            |e| {
                let x = at_pages(MANY_PAGES);
                let (same, rotating) = (e.at(CONSTANT, x)?, e.at(ROTATING, x)?);
                let (conflicts, pages) =
                    (minus(&same, &rotating), minus(&rotating, e.at(DENSE, x)?));
                noted(
                    at_least("same over rotating offset", ratio(same, rotating), 1.5),
                    format!(
                        "compared with one element per line, the pages add {pages} core cycles and \
                         the conflicts {conflicts}"
                    ),
                )
            },
        )
        .holding(
            "Conflicts in L1d explain a large part of a spike like that of the paper's second \
             curve.",
        )
        .failing(
            "Conflicts in L1d explain no large part of a spike like that of the paper's second \
             curve.",
        ),
        measured(
            "D16.4",
            ours("pages of 1 GiB need one level of page tables less than pages of 2 MiB"),
            "at 256 pages of 4 KiB, elements at rotating offsets take more than 1.3 times as long \
             as the same elements in 1 GiB pages",
            |e| {
                let x = at_pages(MANY_PAGES);
                let giant = e.at(ROTATING_GIANT, x)?;
                at_least("4 KiB over 1 GiB pages", ratio(e.at(ROTATING, x), giant), 1.3)
            },
        ),
        measured(
            "D16.5",
            ours("if the TLB causes the delay, larger pages must remove it"),
            "with memory in 2 MiB pages, a step over 256 lines that lie 4 KiB apart takes less \
             than 1.3 times as long as a step over 24 such lines",
            |e| at_most("256 pages over 24, in 2 MiB pages", rise(e, ROTATING_HUGE), 1.3),
        )
        .failing(
            "A hypervisor may back large pages with small ones: a TLB entry then covers the \
             smaller of the two.",
        ),
    ],
    ..Experiment::PLAIN
};

/// Returns the time of a step in many pages divided by that in few.
fn rise(e: &Evidence<'_>, series: &str) -> Testable<Interval> {
    let few = e.at(series, at_pages(FEW_PAGES))?;
    ratio(e.at(series, at_pages(MANY_PAGES)), few)
}

/// Returns the working set of `pages` elements of 64 bytes, in bytes.
fn at_pages(pages: usize) -> f64 {
    (pages * 64) as f64
}

fn fig_3_12_cases(machine: &Machine) -> Vec<Case> {
    let most = if machine.full { 1 << 18 } else { 1 << 14 };
    let most = most.min(machine.largest / PAGE - 1);
    let pages = (4..=18).map(|k| 1 << k).chain([FEW_PAGES, 48, 64 + 32]);
    let pages = order::distinct(pages.filter(|&pages| pages <= most));
    let line = Layout::npad(7);
    let page = line.one_a_page();
    let case = |series, layout, count| {
        let setup = WalkSetup::follow(layout, count * 64, Order::Sequential);
        Case::new(series, at_pages(count), setup).in_its_own_pages()
    };
    let mut cases = Vec::new();
    for count in pages {
        cases.push(case(DENSE, line, count));
        cases.push(case(CONSTANT, page, count));
        cases.push(case(ROTATING, page.rotating(), count));
        cases.push(case(ROTATING_HUGE, page.rotating(), count).in_huge_pages());
        if machine.full || count == MANY_PAGES {
            cases.push(case(ROTATING_GIANT, page.rotating(), count).in_giant_pages());
        }
    }
    cases
}

/// The block sizes of the figure, in pages.
const BLOCKS: [usize; 11] = [60, 120, 240, 480, 960, 1920, 3840, 7680, 15360, 30720, 61440];

const WHOLE: &str = "whole list";
const BLOCKS_HUGE: &str = "60 pages, 2 MiB pages";
const WHOLE_HUGE: &str = "whole list, 2 MiB pages";

const FIG_3_17: Experiment = Experiment {
    id: "D21",
    name: "drepper-fig-3.17",
    title: "Random order inside blocks of pages",
    question: "How much of a random walk's time is due to the TLB, and how much to memory?",
    source: "Drepper 3.3.2, Figure 3.17",
    about: "The test walks a list of 64-byte elements block by block, in random order inside each \
            block; one curve is random over the whole list. The chart shows the time per step over \
            the working set. A small block limits the number of pages in use at a time, so the TLB \
            misses less often. The paper's TLB had 64 entries. Current second-level TLBs have 512 \
            to 4,096 entries and cover blocks of 2 to 16 MiB, and page walks of small blocks find \
            their tables in the caches. In a small block, the prefetcher can also bring \
            neighbouring lines that the walk needs soon. 2 MiB pages remove the TLB misses but not \
            this effect.",
    plot: Plot::over_working_set(&[Reference {
        file: "drepper-fig-3.17.csv",
        machine: PENTIUM_4,
        x: "working_set_bytes",
        columns: &[
            ("60", "60 pages"),
            ("480", "480 pages"),
            ("3840", "3840 pages"),
            ("30720", "30720 pages"),
            ("∞", "whole list"),
        ],
    }]),
    cases: fig_3_17_cases,
    events: events::PAGES,
    claims: &[
        // With increasing block size the curves approach that of the whole list.
        measured(
            "D21.1",
            drepper("3.3.2, Figure 3.17"),
            "at the largest working set, a random step is never faster with larger blocks of \
             random order (5 % allowed)",
            |e| {
                let mut parts = Vec::new();
                let mut last: Option<(String, Interval)> = None;
                for series in series_in_order(e.machine) {
                    let value = e.at(&series, largest(e.machine)?)?;
                    if let Some((name, before)) = last {
                        let what = format!("{series} over {name}");
                        parts.push(at_least(&what, ratio(&value, before), 0.95));
                    }
                    last = Some((series, *value));
                }
                all_of(parts)
            },
        )
        .failing(
            "Something other than the TLB decides here: how the pages of one order lie in the \
             caches, or what the host does.",
        ),
        // Random inside blocks of 60 pages 145 cycles at 2^29 bytes, over the whole list 572: the
        // difference is the TLB.
        measured(
            "D21.2",
            drepper("3.3.2, Figure 3.17"),
            "at the largest working set in 4 KiB pages, a walk in random order over the whole list \
             takes more than 1.5 times as long as in random order inside blocks of 60 pages",
            |e| at_least("whole list over 60 pages", gap_in_base_pages(e), 1.5),
        )
        .then(3.95, PENTIUM_4)
        .takeaway(
            Shown::Times,
            Touches::Some,
            "Random order in the whole list over random order in 60 pages",
            "Random access over the whole list takes {now} as long as random access within 60 \
             pages",
        )
        .advice(
            "Finish the work on a few pages before you go on to other pages.",
            "The spread of accesses over pages matters little: reduce cache misses first.",
        ),
        // The whole list is significantly influenced by TLB misses: lowering them increases the
        // performance.
        measured(
            "D21.3",
            drepper("3.3.2, Figure 3.17"),
            "the gap between random order over the whole list and random order inside blocks of 60 \
             pages is at least 10 % larger with 4 KiB pages than with 2 MiB pages",
            |e| {
                let x = largest(e.machine)?;
                let large = ratio(e.at(WHOLE_HUGE, x), e.at(BLOCKS_HUGE, x))?;
                at_least(
                    "gap with 4 KiB pages over gap with 2 MiB pages",
                    ratio(gap_in_base_pages(e), large),
                    LONGER,
                )
            },
        )
        .holding("TLB misses cause part of the gap.")
        .failing(
            "TLB misses cause little of the gap, or the hypervisor backs large pages with small \
             ones.",
        ),
    ],
    ..Experiment::PLAIN
};

/// Returns the working set that the claims are about: the largest.
fn largest(machine: &Machine) -> Testable<f64> {
    let largest = machine.working_sets().last().copied();
    machine.place_in_memory(largest.unwrap_or_default())
}

/// Returns the time over the whole list divided by that over blocks of 60 pages, both in 4 KiB
/// pages.
fn gap_in_base_pages(e: &Evidence<'_>) -> Testable<Interval> {
    let x = largest(e.machine)?;
    ratio(e.at(WHOLE, x), e.at("60 pages", x))
}

/// Returns the measured block sizes: every third in a quick run.
fn blocks(machine: &Machine) -> Vec<usize> {
    let step = if machine.full { 1 } else { 3 };
    let largest = machine.in_memory() / PAGE;
    BLOCKS.into_iter().step_by(step).filter(|&block| block < largest).collect()
}

/// Returns the series in 4 KiB pages, from the smallest block to the whole list.
fn series_in_order(machine: &Machine) -> Vec<String> {
    let mut series: Vec<String> =
        blocks(machine).into_iter().map(|block| format!("{block} pages")).collect();
    series.push(WHOLE.to_owned());
    series
}

fn fig_3_17_cases(machine: &Machine) -> Vec<Case> {
    let seed = machine.seed;
    let in_blocks = |pages| Order::RandomInBlocks { pages, seed };
    let mut rows: Vec<(String, Order, bool)> = blocks(machine)
        .into_iter()
        .map(|pages| (format!("{pages} pages"), in_blocks(pages), false))
        .collect();
    let whole = Order::Random { seed };
    rows.push((WHOLE.to_owned(), whole, false));
    rows.push((BLOCKS_HUGE.to_owned(), in_blocks(BLOCKS[0]), true));
    rows.push((WHOLE_HUGE.to_owned(), whole, true));

    // A quick run shows the shape with a few working sets; the claims are about the largest.
    let sizes = machine.few_working_sets(4);
    let mut cases = Vec::new();
    for (series, order, huge) in rows {
        for &bytes in &sizes {
            let walk = WalkSetup::follow(Layout::npad(7), bytes, order);
            // A stretch is the smallest block.
            let steps = (BLOCKS[0] * PAGE / LINE) as u64;
            let setup = StretchSetup { walk, steps };
            let case = Case::new(series.clone(), bytes as f64, setup).in_its_own_pages();
            cases.push(if huge { case.in_huge_pages() } else { case });
        }
    }
    cases
}

/// Set-up of a ring that is followed in stretches of `steps` steps; sixteen stretches make a
/// sample. An operation is a step.
///
/// Steps at the beginning of a block of pages take longer than steps at its end, which hit lines
/// that earlier steps fetched. Samples shorter than a block would therefore be of one kind or the
/// other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StretchSetup {
    /// The ring. It is followed by [`Step::Follow`], whatever the step of this walk is.
    pub walk: WalkSetup,
    /// Steps per stretch.
    pub steps: u64,
}

impl Setup for StretchSetup {
    fn bytes(&self) -> usize {
        self.walk.bytes()
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Testable<Workload<'m>> {
        let mut walk = self.walk.with(Step::Follow).walk(region)?;
        // Not timed: the first stretch meets TLBs and prefetchers as building the ring left them.
        walk.run(self.steps);
        let work = walk.work();
        let steps = self.steps.max(1);
        Ok(Workload::shot(Stretch { walk, steps }, work))
    }

    /// Returns the walk that the stretches belong to.
    fn traced<'m>(&self, region: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        self.walk.with(Step::Follow).prepare(region, context)
    }

    fn predict(&self, parameters: &Parameters<'_>) -> Option<Forecast> {
        self.walk.predict(parameters)
    }
}

struct Stretch<'m> {
    walk: Walk<'m>,
    steps: u64,
}

impl Shot for Stretch<'_> {
    fn prepare(&mut self) {}

    fn shoot(&mut self) -> u64 {
        self.walk.run(self.steps)
    }

    fn operations(&self) -> u64 {
        self.steps
    }
}
