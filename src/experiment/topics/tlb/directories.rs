//! Drepper 6.2.4, TLB usage: fewer pages, and fewer page directories.

use crate::experiment::prelude::*;
use crate::experiment::shared::count::CountSetup;
use crate::experiment::shared::walk::WalkSetup;
use crate::host::Told;
use crate::kernel::{Kernel, Step, Walk};
use crate::measure::Shot;
use crate::pattern::{Layout, Order};
use core::hint::black_box;

pub(crate) static ALL: &[Experiment] = &[TLB_USAGE];

const KNOWN: &str = "translations in the TLB";
const HOT: &str = "page tables in the caches";
const COLD: &str = "page tables in memory";
const SPREAD: &str = "page directories of this program";

/// Number of lines in a lap. They lie in as many pages, or fill one page.
const COUNT: usize = 64;

/// Number of pages that displace translations: more than the second level of any CPU has entries.
const DISPLACING: usize = 8192;

/// Distances between lines, in bytes: in one page; in neighbouring pages; in pages whose entries
/// lie in different lines of a page table; in different page tables; in different page directories.
const IN_ONE_PAGE: usize = LINE;
const IN_A_ROW: usize = PAGE;
const A_LINE_OF_ENTRIES: usize = 9 * PAGE;
const A_TABLE: usize = 2 << 20;
const A_DIRECTORY: usize = 1 << 30;
const DISTANCES: [usize; 5] = [IN_ONE_PAGE, IN_A_ROW, A_LINE_OF_ENTRIES, A_TABLE, A_DIRECTORY];

const TLB_USAGE: Experiment = Experiment {
    id: "E26",
    name: "drepper-6.2.4-tlb",
    title: "Fewer pages, and fewer page directories",
    question: "How long does a page walk take with the page tables in the caches and in memory, \
               and how much do widely spread pages add?",
    source: "Drepper 6.2.4",
    about: "The test times a lap over 64 lines in random order, at a given distance from line to \
            line. Before each lap, it displaces nothing, or the translations (it reads a line of \
            each of 8,192 other pages), or the page tables and the lines as well. The chart shows \
            the time per line over the distance. The time for lines in one page is the part of the \
            caches; the additional time at larger distances is page walks. Eight entries of a page \
            table share a line, so neighbouring pages share the lines that a page walk loads. \
            Farther apart, each page has its own line of entries, then its own page table, then \
            its own page directory, and each of these is one more load. CPUs keep upper levels of \
            the tables in special caches, which helps until there are too many tables for these \
            caches. In a virtual machine, the address of each of these loads must be translated by \
            the hypervisor's tables. A program that chooses its addresses (MAP_FIXED) should stay \
            inside one directory, which covers 1 GiB.",
    plot: Some(Plot::cycles(Axis::bytes("distance between lines"), Axis::log("time per line"))),
    cases,
    curves: |e| e.curves_of(|label| label != SPREAD),
    claims: &[
        // The first optimization is to use fewer pages, as every page is a TLB miss.
        measured(
            "E26.1",
            drepper("6.2.4"),
            "with page tables in the caches, 64 lines in 64 pages take more than 1.5 times as long \
             as 64 lines in one page",
            |e| at_least("64 pages over one", over(e, HOT, IN_A_ROW, IN_ONE_PAGE), 1.5),
        ),
        // The second is fewer page directories: less memory for tables, and more hits for the
        // lookup.
        measured(
            "E26.2",
            drepper("6.2.4"),
            "with page tables in the caches, pages 2 MiB apart (each with its own page table) take \
             more than 1.2 times as long as neighbouring pages, and pages 1 GiB apart (each with \
             its own directory) more than 1.1 times as long as pages 2 MiB apart",
            |e| {
                let table = over(e, HOT, A_TABLE, IN_A_ROW)?;
                let directory = over(e, HOT, A_DIRECTORY, A_TABLE)?;
                all_of([
                    at_least("2 MiB apart over in a row", table, 1.2),
                    at_least("1 GiB apart over 2 MiB apart", directory, 1.1),
                ])
            },
        )
        .failing(
            "The page walker remembers the upper levels of the tables, or finds them in near \
             caches.",
        ),
        measured(
            "E26.3",
            ours(
                "the document says that a page walk is cheaper if its tables are in the caches; \
                 this claim says by how much",
            ),
            "a page walk takes more than twice as long with the page tables in memory as with the \
             page tables in the caches",
            |e| {
                let (hot, cold) = (walk(e, HOT)?, walk(e, COLD)?);
                let slower = signed_ratio(&cold, &hot)?;
                let judged = at_least("walk in memory over walk in caches", slower, 2.0);
                noted(judged, format!("{cold} against {hot} core cycles"))
            },
        ),
        // Widely varying addresses mean more directories, which are less likely to be in the
        // caches.
        measured(
            "E26.4",
            drepper("6.2.4"),
            "with page tables in memory, pages 1 GiB apart take more than 1.5 times as long as \
             neighbouring pages",
            |e| at_least("1 GiB apart over in a row", over(e, COLD, A_DIRECTORY, IN_A_ROW), 1.5),
        ),
        // Address space randomisation scatters stack, libraries and heap, and so takes more
        // directories.
        reported(
            "E26.5",
            drepper("6.2.4"),
            "with address space randomisation, this program's files, heap and stack take more than \
             two page directories, the number that they take without it",
            |e| at_least("page directories", e.at(SPREAD, 0.0), 3.0),
        ),
    ],
    ..Experiment::PLAIN
};

/// Returns the point of a series at a distance between lines.
fn at(e: &Evidence<'_>, series: &str, distance: usize) -> Testable<Reading> {
    e.series(series)?;
    e.at(series, distance as f64)
}

/// Returns the time of lines at `distance` divided by the time at `base`. The two were measured
/// interleaved, and each pass gives a ratio, because the place of the tables in memory differs from
/// pass to pass.
fn over(e: &Evidence<'_>, series: &str, distance: usize, base: usize) -> Testable<Interval> {
    at(e, series, distance)?;
    at(e, series, base)?;
    let ratio = e.ratio_of_passes((series, distance as f64), (series, base as f64))?;
    ratio
        .map(|ratio| ratio.widened(0.01))
        .ok_or_else(|| Untestable(format!("`{series}` has no pass with both distances")))
}

/// Returns the time that a page walk adds to a load, where every walk fetches another line of the
/// page table.
fn walk(e: &Evidence<'_>, series: &str) -> Testable<Reading> {
    let spread = at(e, series, A_LINE_OF_ENTRIES)?;
    let together = at(e, series, IN_ONE_PAGE)?;
    Ok(minus(spread, together))
}

/// Returns the layout of lines `distance` bytes apart, or somewhat more: lines a power of two apart
/// would share a set of a TLB, and their table entries would share sets of the caches.
fn layout(distance: usize) -> Layout {
    let line = Layout::npad(7);
    match distance {
        IN_ONE_PAGE => line,
        A_TABLE => line.spaced(distance + 9 * PAGE).rotating(),
        A_DIRECTORY => line.spaced(distance + 9 * (A_TABLE + PAGE)).rotating(),
        _ => line.spaced(distance).rotating(),
    }
}

fn cases(machine: &Machine) -> Vec<Case> {
    let states = [
        (KNOWN, Displaced::Nothing),
        (HOT, Displaced::Translations { pages: DISPLACING }),
        (COLD, Displaced::All { bytes: machine.in_memory() }),
    ];
    let mut cases = Vec::new();
    for (series, displaced) in states {
        let enough = match displaced {
            Displaced::Nothing => true,
            Displaced::Translations { pages } => pages * PAGE <= machine.largest,
            Displaced::All { bytes } => machine.ranges.memory.holds(bytes as f64),
        };
        if !enough {
            continue;
        }
        // The largest distance comes first, so that the others reuse its reservation.
        for distance in DISTANCES.into_iter().rev() {
            let order = Order::Random { seed: machine.seed };
            let walk =
                WalkSetup { layout: layout(distance), count: COUNT, order, step: Step::Follow };
            let case = Case::new(series, distance as f64, DisplaceSetup { walk, displaced });
            cases.push(case.in_reservation().in_turn());
        }
    }
    let spread = CountSetup::told(SPREAD, Told::PageDirectories);
    cases.push(spread.at(0.0));
    cases
}

/// What is displaced between two laps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Displaced {
    Nothing,
    /// Translations: reads a byte of each of `pages` other pages. All these bytes lie at the same
    /// offset of their pages, so that their lines displace each other in a few sets. The ring's
    /// lines, and the lines of its page tables, stay in the caches.
    Translations {
        /// Number of pages: more than the second-level TLB has entries.
        pages: usize,
    },
    /// Translations, page tables and the lines themselves: reads every line of `bytes` other bytes.
    All {
        /// Number of bytes: more than the last-level cache holds.
        bytes: usize,
    },
}

impl Displaced {
    /// Returns the bytes of the other pages.
    fn bytes(self) -> usize {
        match self {
            Displaced::Nothing => 0,
            Displaced::Translations { pages } => pages * PAGE,
            Displaced::All { bytes } => bytes.next_multiple_of(LINE),
        }
    }
}

/// Set-up of a ring whose laps are timed one by one, with other pages touched in between. An
/// operation is a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DisplaceSetup {
    /// A lap over the ring.
    pub walk: WalkSetup,
    /// What is displaced before each lap.
    pub displaced: Displaced,
}

impl Setup for DisplaceSetup {
    fn bytes(&self) -> usize {
        // The ring begins on a separate page.
        self.displaced.bytes().next_multiple_of(PAGE) + self.walk.bytes()
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Testable<Workload<'m>> {
        let other = self.displaced.bytes().next_multiple_of(PAGE);
        let (mut others, ring) = if other == 0 {
            (None, region)
        } else {
            let parts = region.split(other);
            let none = || Untestable::because("the region has no room for other pages");
            let (others, ring) = parts.ok_or_else(none)?;
            (Some(others), ring)
        };
        // Pages that were never written may all share one page of zeros.
        if let Some(others) = &mut others {
            (0..others.len()).step_by(PAGE).for_each(|page| others.set_word(page, 1));
        }
        let walk = self.walk.walk(ring)?;
        let work = walk.work();
        let period = self.walk.count as u64;
        let shot = DisplaceShot { walk, period, others, displaced: self.displaced };
        Ok(Workload::shot(shot, work))
    }

    /// Returns the walk alone, with nothing displaced.
    fn traced<'m>(&self, region: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        self.walk.prepare(region, context)
    }

    /// Predicts only dense rings with nothing displaced: displacement is not modelled.
    fn predict(&self, parameters: &Parameters<'_>) -> Option<Forecast> {
        let layout = self.walk.layout;
        let dense = layout == Layout::npad(layout.padding());
        (dense && self.displaced == Displaced::Nothing).then_some(())?;
        self.walk.predict(parameters)
    }
}

struct DisplaceShot<'m> {
    walk: Walk<'m>,
    period: u64,
    others: Option<Region<'m>>,
    displaced: Displaced,
}

impl Shot for DisplaceShot<'_> {
    fn prepare(&mut self) {
        black_box(self.walk.run(2 * self.period));
        let Some(others) = &self.others else { return };
        let step = match self.displaced {
            Displaced::Nothing => return,
            Displaced::Translations { .. } => PAGE,
            Displaced::All { .. } => LINE,
        };
        for at in (0..others.len()).step_by(step) {
            black_box(others.bytes()[at]);
        }
    }

    fn shoot(&mut self) -> u64 {
        self.walk.run(self.period)
    }

    fn operations(&self) -> u64 {
        self.period
    }
}
