//! Beyond Figure 6.4: accesses at every offset of a line, by width, and across two pages.

use crate::experiment::claim::verdict::Extreme;
use crate::experiment::prelude::*;
use crate::experiment::shared::lines::BurstSetup;
use crate::experiment::topics::layout::{Loads, RingSetup};
use crate::kernel::{Places, Transfer, Width};
use crate::order;
use crate::pattern::{Layout, Order};

pub(crate) static ALL: &[Experiment] = &[LATENCY, THROUGHPUT];

/// Number of accesses in L1d. In X5 they lie two lines apart (8 KiB), so that each straddles two
/// lines of its own; in X6 they lie in adjacent lines (4 KiB).
const LINES: usize = 64;

/// Number of loads in X5 that straddle two pages each. All fall into the last and the first set of
/// L1d, where every L1d has enough ways for them.
const PAGES: usize = 4;

/// Number of accesses in X6 that straddle two pages each: a single burst of eight.
const BURSTS_OF_PAGES: usize = 8;

/// The largest width that every x86-64 CPU has. Larger widths are judged where the CPU has them.
const ALWAYS: usize = 16;

/// Times that differ by no more than this factor count as equal.
const SAME: f64 = 1.1;

/// The paper's slowdown of 300 %, as a factor.
const PAPER: f64 = 4.0;

const LATENCY: Experiment = Experiment {
    id: "X5",
    name: "split-latency",
    title: "The latency of a load, by its width and its offset in the line",
    question: "How long does a load take that lies across two lines, or across two pages?",
    source: "Beyond Drepper 6.2.1, Figure 6.4: a walk whose pointers are loaded by 4 to 64 bytes. \
             Each step of the 4-byte walk includes a subtraction; each step of walks of 16 bytes \
             or more includes a move out of the vector register",
    seen: &[
        seen(
            "Zen 4",
            "A load of 8 bytes across two lines takes one cycle longer than one within a line.",
        ),
        seen(
            "Zen 5",
            "A load of 8 bytes across two lines takes two cycles longer than one within a line.",
        ),
    ],
    about: "A thread walks a list in L1d, so that each load waits for the previous load; the chart \
            shows the time per step by the offset of the pointer in its line. A load across two \
            lines makes two accesses, which adds from one cycle to a whole second latency, by the \
            core. A 64-byte load crosses a line at every offset except 0. A CPU that splits such \
            loads into halves has no extra cost if each half lies in one line. A load across two \
            pages needs two translations; if the TLB has both, a dependent load across pages need \
            not take longer than one across lines.",
    plot: Some(by_offset("latency")),
    cases: |machine| {
        let mut cases = Vec::new();
        let random = Order::Random { seed: machine.seed };
        let element = Layout::npad(7);
        for width in Width::BYTES {
            for offset in offsets(machine, width) {
                let spaced = element.spaced(2 * LINE);
                let paged = element.one_a_page();
                for (series, layout, count) in [
                    (lines("", width), spaced.skewed(offset), LINES),
                    (pages("", width), paged.skewed(PAGE - LINE + offset), PAGES),
                ] {
                    let loads = Loads::Wide(width);
                    let setup = RingSetup { layout, count, order: random, loads };
                    cases.push(Case::new(series, offset as f64, setup));
                }
            }
        }
        let spaced = element.spaced(2 * LINE);
        let count = machine.middle_of(machine.ranges.l2) / (2 * LINE);
        for (series, order) in [("8 bytes, sequential in L2", Order::Sequential), (RANDOM, random)]
        {
            for offset in few(machine) {
                let (layout, loads) = (spaced.skewed(offset), Loads::Wide(8));
                let setup = RingSetup { layout, count, order, loads };
                cases.push(Case::new(series, offset as f64, setup).in_large_pages());
            }
        }
        cases
    },
    events: events::SPLITS,
    claims: &[
        measured(
            "X5.1",
            ours("Figure 6.4 shows one displacement; this test tries every offset"),
            "a load within a line takes the same time at every offset, to 10 %",
            |e| within_lines(e, ""),
        ),
        measured(
            "X5.2",
            ours(
                "Figure 6.4 shows slowdowns of 280 to 390 % for whole steps; this test times the \
                 load alone",
            ),
            "a load across two lines takes less than 4 times as long as a load within a line",
            |e| across_lines(e, ""),
        ),
        measured(
            "X5.3",
            ours("an access across two pages needs two translations besides two lines"),
            "a load across two pages takes more than 1.1 times as long as a load across two \
             lines",
            |e| across_pages(e, ""),
        )
        .failing(
            "The core looks both pages up at once: the end of a page costs no more than the end of \
             a line.",
        ),
        measured(
            "X5.4",
            ours(
                "Figure 6.4 shows slowdowns of 164 to 204 % for random walks in L2; this test \
                 times the load alone",
            ),
            "in L2, a random load across two lines takes less than 4 times as long as a load \
             within a line",
            |e| {
                let aligned = e.at(RANDOM, 0.0)?;
                let slower = ratio(e.at(RANDOM, SPLIT as f64), aligned)?;
                at_most("8 bytes across two lines over in one", slower, PAPER)
            },
        ),
    ],
    ..Experiment::PLAIN
};

const RANDOM: &str = "8 bytes, random in L2";

/// The offset at which 8 bytes lie half in the next line.
const SPLIT: usize = LINE - 4;

const THROUGHPUT: Experiment = Experiment {
    id: "X6",
    name: "split-throughput",
    title: "Independent loads and stores, by their width and their offset in the line",
    question: "How much slower are independent accesses that lie across two lines, or across two \
               pages?",
    source: "Beyond Drepper 6.2.1, Figure 6.4: bursts of eight accesses, which do not depend on \
             each other",
    about: "The test issues bursts of eight independent loads or stores; the chart shows the time \
            of eight accesses by their offset in the line. A load across two lines occupies a load \
            port twice. A store across two lines is written to L1d in two or more steps. An access \
            across the end of a page needs two translations, and the core may handle it on a \
            separate, slower path.",
    seen: &[
        seen(
            "Zen 4",
            "A store across the end of a page takes tens of cycles, and a load about ten.",
        ),
        seen(
            "Skylake",
            "Accesses across the end of a page take little longer than accesses across two lines.",
        ),
    ],
    plot: Some(by_offset("time of eight accesses")),
    cases: |machine| {
        let mut cases = Vec::new();
        for (prefix, transfer) in [(LOADS, Transfer::Load), (STORES, Transfer::Store)] {
            for width in Width::BYTES {
                for offset in offsets(machine, width) {
                    let page = PAGE - LINE + offset;
                    for (series, places) in [
                        (lines(prefix, width), Places::sequential(offset, LINE, LINES)),
                        (pages(prefix, width), Places::sequential(page, PAGE, BURSTS_OF_PAGES)),
                    ] {
                        let setup = BurstSetup { places, transfer, width };
                        cases.push(Case::new(series, offset as f64, setup));
                    }
                }
            }
            let beyond = machine.middle_of(machine.ranges.l2) / LINE;
            let count = 1 << beyond.ilog2();
            for (order, places) in [
                ("sequential", Places::sequential as fn(usize, usize, usize) -> Places),
                ("scattered", Places::scattered),
            ] {
                for offset in few(machine) {
                    let setup =
                        BurstSetup { places: places(offset, LINE, count), transfer, width: 8 };
                    let series = format!("{prefix}8 bytes, {order} in L2");
                    cases.push(Case::new(series, offset as f64, setup).in_large_pages());
                }
            }
        }
        cases
    },
    events: events::SPLITS,
    claims: &[
        measured(
            "X6.1",
            ours("independent loads show the limit of the ports; dependent loads show the latency"),
            "independent loads within a line take the same time at every offset, to 10 %",
            |e| within_lines(e, LOADS),
        ),
        measured(
            "X6.2",
            ours(
                "Figure 6.4 explains its slowdown by the connection between the caches; these \
                 loads stay in L1d",
            ),
            "independent loads across two lines take less than 4 times as long as loads within a \
             line",
            |e| across_lines(e, LOADS),
        ),
        measured(
            "X6.3",
            ours("the same question for stores"),
            "independent stores across two lines take less than 4 times as long as stores within a \
             line",
            |e| across_lines(e, STORES),
        ),
        measured(
            "X6.4",
            ours("an access across two pages needs two translations besides two lines"),
            "independent loads across two pages take more than 1.1 times as long as loads \
             across two lines",
            |e| across_pages(e, LOADS),
        )
        .failing(
            "The core looks both pages up at once: the end of a page costs no more than the end of \
             a line.",
        ),
        measured(
            "X6.5",
            ours("an access across two pages needs two translations besides two lines"),
            "independent stores across two pages take more than 1.1 times as long as stores \
             across two lines",
            |e| across_pages(e, STORES),
        ),
    ],
    ..Experiment::PLAIN
};

const fn by_offset(what: &'static str) -> Plot {
    Plot::cycles(Axis::linear("offset of the access in the line, bytes"), Axis::log(what))
}

/// The prefixes of the series of loads and of stores in X6. The series of X5 have none.
const LOADS: &str = "loads of ";
const STORES: &str = "stores of ";

/// Returns the series of accesses of `width` bytes in one line, or across two lines of one page.
fn lines(prefix: &str, width: usize) -> String {
    format!("{prefix}{width} bytes")
}

/// Returns the series of accesses of `width` bytes that begin in the last line of a page.
fn pages(prefix: &str, width: usize) -> String {
    format!("{prefix}{width} bytes, the line a page's last")
}

/// Returns the measured offsets. A full run has all; a quick run has offset 0, an odd one in the
/// middle, the last within the line, the one that halves the access, and the line's last.
fn offsets(machine: &Machine, width: usize) -> Vec<usize> {
    if machine.full {
        return (0..LINE).collect();
    }
    let last = LINE - width;
    let middle = (last > 0).then_some((last / 2) | 1);
    order::distinct([0, last, LINE - width / 2, LINE - 1].into_iter().chain(middle))
}

/// Returns the measured offsets beyond L1d.
fn few(machine: &Machine) -> Vec<usize> {
    if machine.full { (0..LINE).step_by(4).collect() } else { vec![0, SPLIT] }
}

/// Returns the value of every width that the CPU has.
fn each_width(
    e: &Evidence<'_>,
    series: impl Fn(usize) -> String,
    value: impl Fn(usize) -> Testable<Interval>,
) -> impl Iterator<Item = Testable<(usize, Interval)>> {
    let there = move |width: &usize| *width <= ALWAYS || e.series(&series(*width)).is_ok();
    let widths = Width::BYTES.into_iter().filter(there);
    widths.map(move |width| Ok((width, value(width)?)))
}

/// Returns the point of `series` whose access has its first byte in one line, or page, and the rest
/// in the next.
fn across(e: &Evidence<'_>, series: &str) -> Testable<Reading> {
    e.at(series, (LINE - 1) as f64)
}

/// Judges the slowest over the quickest of the points whose access lies in one line.
fn within_lines(e: &Evidence<'_>, prefix: &str) -> Judged {
    let series = |width| lines(prefix, width);
    let spread = |width| {
        let inside = |offset: &usize| offset + width <= LINE;
        let first = *e.at(&series(width), 0.0)?;
        let mut ends = (first, first);
        for offset in offsets(e.machine, width).into_iter().filter(inside) {
            let value = e.at(&series(width), offset as f64)?;
            ends = (ends.0.least(*value), ends.1.most(*value));
        }
        ratio(ends.1, ends.0)
    };
    let most = Extreme::most(each_width(e, series, spread))?;
    let what = format!("slowest over quickest offset in a line, at most, with {} bytes", most.at);
    at_most(&what, most.value, SAME)
}

/// Judges an access across two lines over an aligned access.
fn across_lines(e: &Evidence<'_>, prefix: &str) -> Judged {
    let series = |width| lines(prefix, width);
    let slower = |width| ratio(across(e, &series(width)), e.at(&series(width), 0.0));
    let most = Extreme::most(each_width(e, series, slower))?;
    let what = format!("across two lines over in one, at most, with {} bytes", most.at);
    at_most(&what, most.value, PAPER)
}

/// Judges an access across two pages over an access across two lines.
fn across_pages(e: &Evidence<'_>, prefix: &str) -> Judged {
    let series = |width| pages(prefix, width);
    let slower = |width| ratio(across(e, &series(width)), across(e, &lines(prefix, width)));
    let least = Extreme::least(each_width(e, series, slower))?;
    let what = format!("across two pages over across two lines, at least, with {} bytes", least.at);
    at_least(&what, least.value, SAME)
}
