//! The entries of the TLBs, by walks over more and more pages, and prefetches that miss the TLBs.

use crate::cpu::{Identity, PageSize, Tlbs};
use crate::experiment::claim::verdict::untestable;
use crate::experiment::prelude::*;
use crate::experiment::shared::count::CountSetup;
use crate::experiment::shared::walk::WalkSetup;
use crate::kernel::{Reach, Translate};
use crate::pattern::{Layout, Order};
use crate::pmu::Quantity;
use crate::stats::crossing;

pub(crate) static ALL: &[Experiment] = &[ENTRIES];

pub(crate) const PAGES: &str = "a line of each page";
pub(crate) const LINES: &str = "as many lines side by side";
const APART: &str = "a line of each page, 16 pages apart";
const HUGE: &str = "a line of each page, 2 MiB pages";
const PUBLISHED: &str = "entries, as published";
const REPORTED: &str = "entries, as CPUID reports them";

/// The x, the TLB level and the page size of each stated number of entries.
const SMALL: (f64, u8, PageSize) = (1.0, 1, PageSize::Kib4);
const LARGE: (f64, u8, PageSize) = (2.0, 1, PageSize::Mib2);
const SECOND: (f64, u8, PageSize) = (3.0, 2, PageSize::Kib4);

/// Number of pages that fit the L1 dTLB of every CPU.
const FEW: usize = 16;

/// More pages than the L1 dTLB of any CPU has entries, and fewer than any second level has. Their
/// lines fit L1d.
const MIDDLE: usize = 384;

/// More pages than the second level of any CPU has entries: the largest has 4,096 (Zen 5).
const MANY: usize = 8192;

/// Number of pages that fit the second level of every CPU since 2008.
const CONFLICTING: usize = 512;

/// Distance between conflicting pages, in pages.
const DISTANCE: usize = 16;

/// Factor by which the time of a step must grow where a TLB ends.
const STEP: f64 = 1.3;

/// Numbers of pages around the sizes of L1 dTLBs: each size, and a number a tenth to a sixth above
/// it.
const ABOUT_L1: [usize; 18] =
    [FEW, 24, 32, 36, 40, 44, 48, 56, 64, 68, 72, 76, 80, 88, 96, 104, 128, 256];

/// Numbers of pages around the sizes of second-level TLBs, chosen in the same way.
const ABOUT_L2: [usize; 17] = [
    MIDDLE, 512, 576, 768, 1024, 1152, 1536, 1792, 2048, 2304, 2560, 2816, 3072, 3456, 4096, 4864,
    MANY,
];

/// Numbers of large pages around the sizes of L1 dTLBs, chosen in the same way. The largest number
/// takes a quarter of a gigabyte.
const ABOUT_LARGE: [usize; 13] = [8, 24, 32, 36, 40, 48, 56, 64, 72, 80, 96, 112, 128];

/// How far the entries found may lie from those stated. A set of a TLB may overflow before the
/// whole TLB does, entries that page walks cache take room as well, and the numbers of pages are
/// about a tenth apart.
const ALLOWED: f64 = 0.25;

const ENTRIES: Experiment = Experiment {
    id: "X9",
    name: "tlb-entries",
    title: "How many pages the TLBs hold",
    question: "From how many pages on does a step take longer, although all lines are in the \
               caches?",
    source: "Beyond the papers. Published numbers: Intel's and AMD's optimization manuals",
    about: "The test walks a random ring with one line in each page. The lines have different \
            offsets in their pages, so no set of L1d overflows. For many pages, the claims \
            subtract what the same number of adjacent lines costs, so only the TLBs can cause a \
            step in the curve. The first step marks the end of the L1 dTLB; beyond it, a hit in \
            the second-level TLB adds some cycles. The next step marks the end of the second-level \
            TLB; beyond it, each load needs a page walk. Second-level TLBs are set-associative. If \
            the low bits of the page number select the set, pages 16 apart share few sets and miss \
            while most entries are unused. If a hash selects the set, such pages do not miss \
            early. CPUID is not always right: Golden Cove reports 64 entries for loads, and its \
            manual says 96. In the walk over large pages, each line lies one small page further \
            into its page than the line before. If a hypervisor backs large pages with small \
            pages, the TLB has translations of small pages. They then spread over the sets, and \
            the walk shows the entries for small pages.",
    plot: Some(Plot::cycles(Axis::log("pages"), Axis::log("time"))),
    cases,
    curves: |e| e.curves_of(|label| ![PUBLISHED, REPORTED].contains(&label)),
    events: &[Quantity::DtlbMisses, Quantity::DtlbWalks, Quantity::L1dMisses],
    claims: &[
        measured(
            "X9.1",
            ours("the baseline of the steps: pages that the L1 dTLB translates must cost nothing"),
            "a walk over one line in each of 16 pages, which every L1 dTLB holds, takes as long \
             per step as over 16 adjacent lines, within 10 %",
            |e| {
                let x = FEW as f64;
                between("pages over lines", ratio(e.at(PAGES, x), e.at(LINES, x)), 0.9, 1.1)
            },
        ),
        measured(
            "X9.2",
            ours("a measurement should confirm published and reported numbers of entries"),
            "the L1 dTLB has as many entries for 4 KiB pages as published for this core, or else \
             reported by CPUID, within 25 %",
            |e| as_stated(e, &knee(e, PAGES, FEW, MIDDLE)?, SMALL.0),
        ),
        measured(
            "X9.3",
            ours("a measurement should confirm published and reported numbers of entries"),
            "the L1 dTLB has as many entries for 2 MiB pages as published for this core, or else \
             reported by CPUID, within 25 %",
            |e| {
                let last = ABOUT_LARGE[ABOUT_LARGE.len() - 1];
                let judged = as_stated(e, &knee(e, HUGE, ABOUT_LARGE[0], last)?, LARGE.0)?;
                let fails = judged.verdict == Verdict::DoesNotHold;
                Ok(match fails && e.machine.calibration.is_guest() {
                    true => untestable(
                        judged,
                        "in a virtual machine, these may be the entries for 4 KiB pages, with \
                         which the host backs larger ones",
                    ),
                    false => judged,
                })
            },
        ),
        measured(
            "X9.4",
            ours("a measurement should confirm published and reported numbers of entries"),
            "the second-level TLB has as many entries for 4 KiB pages as published for this core, \
             or else reported by CPUID, within 25 %",
            |e| as_stated(e, &knee(e, PAGES, MIDDLE, MANY)?, SECOND.0),
        ),
        measured(
            "X9.5",
            ours(
                "a set-associative TLB misses early if the page numbers are multiples of a power \
                 of two",
            ),
            "512 pages that lie 16 pages apart take more than 1.5 times as long per step as 512 \
             neighbouring pages, though the second-level TLB has room for 512",
            |e| {
                let x = CONFLICTING as f64;
                let room = knee(e, PAGES, MIDDLE, MANY)?.entries;
                // Too many pages for any order miss in any order.
                if room.hi < x {
                    return Err(Untestable(format!(
                        "the second-level TLB has room for {room} pages"
                    )));
                }
                noted(
                    at_least("16 apart over in a row", ratio(e.at(APART, x), e.at(PAGES, x)), 1.5),
                    format!("entries found: {room}"),
                )
            },
        )
        .failing(
            "The second-level TLB spreads these pages over its sets, by a hash of the address for \
             instance.",
        ),
    ],
    ..Experiment::PLAIN
};

fn cases(machine: &Machine) -> Vec<Case> {
    let line = Layout::npad(7);
    let random = Order::Random { seed: machine.seed };
    let case = |series, layout, pages: usize| {
        let setup = WalkSetup::follow(layout, pages * line.element(), random);
        Case::new(series, pages as f64, setup).in_its_own_pages()
    };
    let fits = |page: usize| move |pages: &usize| (pages + 1) * page <= machine.largest;

    let mut cases = Vec::new();
    let page = line.one_a_page().rotating();
    let all = ABOUT_L1.into_iter().chain(ABOUT_L2);
    cases.extend(all.filter(fits(PAGE)).map(|n| case(PAGES, page, n)));
    let lines = [FEW].into_iter().chain(ABOUT_L2);
    cases.extend(lines.filter(fits(PAGE)).map(|n| case(LINES, line, n)));
    let apart = line.spaced(DISTANCE * PAGE).rotating();
    let conflicts = [128, 256, CONFLICTING, 1024, 2048];
    let few = conflicts.into_iter().filter(fits(PAGE));
    cases.extend(few.map(|n| case(APART, apart, n).in_reservation()));
    let huge = PageSize::Mib2.bytes() as usize;
    // In a guest the TLB may hold translations of 4 KiB. Those of addresses 2 MiB apart share a set.
    let large = line.spaced(huge + PAGE).rotating();
    let few = ABOUT_LARGE.into_iter().filter(fits(huge));
    cases.extend(few.map(|n| case(HUGE, large, n).in_huge_pages()));
    for (x, ..) in [SMALL, LARGE, SECOND] {
        cases.push(CountSetup::computed(PUBLISHED, x as u64, published).at(x));
        cases.push(CountSetup::computed(REPORTED, x as u64, reported).at(x));
    }
    cases
}

/// Returns the published number of entries of the TLB at this x.
fn published(which: u64) -> Testable<f64> {
    let known = Identity::detect().translations();
    let entries = known.and_then(|tlbs| match which {
        1 => tlbs.small.value(),
        2 => tlbs.large.value(),
        _ => tlbs.second.value(),
    });
    let none = || Untestable::because("no published number of entries is known for this core");
    entries.map(f64::from).ok_or_else(none)
}

fn reported(which: u64) -> Testable<f64> {
    let tlbs = Tlbs::detect();
    let row = [SMALL, LARGE, SECOND].into_iter().find(|row| row.0 == which as f64);
    let entries = row.and_then(|(_, level, page)| tlbs.load_entries(level, page));
    entries.map(f64::from).ok_or_else(|| Untestable::because("CPUID reports no such TLB"))
}

/// The end of a TLB in a curve.
struct Knee {
    entries: Interval,
    /// The time of a step before the end, and beyond it.
    cost: [Interval; 2],
}

/// Finds the number of pages at which the time of a step crosses the geometric mean of its times at
/// `few` and at `many` pages. The interval begins at the last number that certainly costs less, and
/// ends before the first that certainly costs more.
fn knee(e: &Evidence<'_>, series: &str, few: usize, many: usize) -> Testable<Knee> {
    let mut points = Vec::new();
    for (pages, cost) in e.series(series)? {
        if pages >= few as f64 && pages <= many as f64 {
            points.push((pages, without_lines(e, pages, cost)?));
        }
    }
    let ends = [points.first(), points.last()].map(|end| end.copied());
    let [Some((first, before)), Some((last, behind))] = ends else {
        return Err(Untestable(format!("no point of `{series}` was measured")));
    };
    if first != few as f64 || last != many as f64 {
        return Err(Untestable(format!("`{series}` was not measured from {few} pages to {many}")));
    }
    let rise = ratio(behind, before)?;
    let level = (before.middle() * behind.middle()).sqrt();
    match crossing(&points, level) {
        Some(between) if rise.lo >= STEP => Ok(Knee {
            entries: Interval::new(between.lo, (between.hi - 1.0).max(between.lo)),
            cost: [before, behind],
        }),
        _ => Err(Untestable(format!(
            "the curve shows no end of a TLB: a step takes {before} core cycles with {few} pages \
             and {behind} with {many}"
        ))),
    }
}

/// Returns the time that a step over `pages` pages would take if all lines lay in L1d.
fn without_lines(e: &Evidence<'_>, pages: f64, cost: Interval) -> Testable<Interval> {
    let middle = MIDDLE as f64;
    if pages <= middle {
        return Ok(cost);
    }
    let (near, far) = (e.at(LINES, middle)?, e.at(LINES, pages)?);
    Ok(Interval::new(cost.lo - far.hi + near.lo, cost.hi - far.lo + near.hi))
}

/// Judges the entries found against the published number, or else the number that CPUID reports.
fn as_stated(e: &Evidence<'_>, found: &Knee, x: f64) -> Judged {
    let (published, reported) = (e.at(PUBLISHED, x), e.at(REPORTED, x));
    let told = |entries: &Testable<Reading>| match entries {
        Ok(entries) => format!("{:.0}", entries.middle()),
        Err(_) => "unknown".to_owned(),
    };
    let stated = format!("{} published, {} by CPUID", told(&published), told(&reported));
    let entries = found.entries;
    let share = ratio(entries, published.or(reported))?;
    let judged = between("entries found over stated", share, 1.0 - ALLOWED, 1.0 + ALLOWED)?;
    let [before, behind] = found.cost;
    Ok(Judgement {
        numbers: format!(
            "{entries} entries found, {stated}: {}; a step takes {before} core cycles with few \
             pages, {behind} with many",
            judged.numbers
        ),
        ..judged
    })
}

pub(crate) static TRANSLATE: &[Experiment] = &[TRANSLATION];

const PREFETCH: &str = "prefetcht0, one line per page";
const LOAD: &str = "load, one line per page";
const NULL: &str = "prefetcht0 of null and the pages behind it";

/// More pages than any second-level TLB holds.
const MOST: usize = 16384;

/// Numbers of pages from address 0 on. These pages are not mapped.
const UNMAPPED: [usize; 2] = [1, FEW];

/// Whether the first pages are unmapped: Linux maps nothing in the first 64 KiB by default. The boot images
/// map all memory from address 0 on.
const NULL_IS_UNMAPPED: bool = cfg!(target_os = "linux");

const TRANSLATION: Experiment = Experiment {
    id: "X11",
    name: "prefetch-translation",
    title: "Prefetches whose translation is missing",
    question: "How much does a prefetch cost if it misses the TLB, or if it is of a null pointer?",
    source: "Beyond Drepper 6.3.2, which says that prefetches of bad addresses are free; L. \
             Torvalds, \"Software prefetching considered harmful\", linux-arch, May 2011, on \
             prefetches of null at the end of lists",
    about: "The test prefetches or loads one line in each of a number of pages. The chart shows \
            the time per access over the number of pages. Each round accesses other lines of the \
            pages, so that 16,384 pages are 64 MiB of lines: an access then misses the caches as \
            well as the TLBs, and the time of a sequence is set by the slower of the two. A \
            prefetch needs a translation like a load. If the TLB has no translation, the CPU walks \
            the page tables, several walks at a time. An unmapped page, such as the page at null, \
            has no translation that a TLB could keep. Each prefetch of it may therefore start a \
            page walk, and the CPU drops the prefetch at the end. Some CPUs pay for this walk \
            every time, and for this reason Linux removed prefetches from its list walks. Other \
            CPUs drop such prefetches without delay.",
    seen: &[seen("Zen 4", "The core drops a prefetch of null without delay.")],
    plot: Some(Plot::cycles(Axis::log("pages"), Axis::log("time per access"))),
    cases: |machine| {
        let counts: &[usize] = if machine.full {
            &[FEW, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, MOST]
        } else {
            &[FEW, 256, 2048, MOST]
        };
        let case = |series, reach, pages: usize| {
            Case::new(series, pages as f64, TranslateSetup { reach, pages }).in_turn()
        };
        let mut cases = Vec::new();
        for &pages in counts.iter().filter(|&pages| pages * PAGE <= machine.largest) {
            cases.push(case(PREFETCH, Reach::Prefetch, pages));
            cases.push(case(LOAD, Reach::Load, pages));
        }
        if NULL_IS_UNMAPPED {
            cases.extend(UNMAPPED.map(|pages| case(NULL, Reach::PrefetchNull, pages)));
        }
        cases
    },
    events: events::PAGES,
    claims: &[
        measured(
            "X11.1",
            ours(
                "prefetches are recommended for lists, whose lines and pages are often missing \
                 from caches and TLBs",
            ),
            "in a sequence, a prefetch that misses all caches and TLBs takes at least four times \
             as long as a prefetch that hits both",
            |e| {
                let dearer = ratio(most(e, PREFETCH)?, e.at(PREFETCH, FEW as f64))?;
                at_least("16384 pages over 16", dearer, 4.0)
            },
        ),
        measured(
            "X11.2",
            ours("a prefetch that takes as long as a miss gains nothing"),
            "in a sequence, a prefetch that misses all caches and TLBs takes no more than 1.2 \
             times as long as a load that misses them",
            |e| {
                let share = ratio(most(e, PREFETCH)?, most(e, LOAD)?)?;
                at_most("prefetch over load, 16384 pages", share, 1.2)
            },
        ),
        measured(
            "X11.3",
            ours("Linux gave up prefetches in list walks because of the null at the end of lists"),
            "a prefetch of null takes at least four times as long as a prefetch that hits cache \
             and TLB: the CPU walks the page tables each time",
            |e| {
                if !NULL_IS_UNMAPPED {
                    return Err(Untestable("this image maps the page at null".to_owned()));
                }
                let dearer = ratio(e.at(NULL, 1.0), e.at(PREFETCH, FEW as f64))?;
                at_least("null over 16 pages", dearer, 4.0)
            },
        )
        .failing("The CPU drops prefetches of unmapped pages without a page walk for each."),
    ],
    ..Experiment::PLAIN
};

/// Returns the time of an access with the most pages.
fn most(e: &Evidence<'_>, series: &str) -> Testable<Reading> {
    if MOST * PAGE > e.machine.largest {
        return Err(Untestable(format!(
            "{MOST} pages need {} MiB, and this run has {} MiB (`--memory`)",
            (MOST * PAGE) >> 20,
            e.machine.largest >> 20
        )));
    }
    e.at(series, MOST as f64)
}

/// Set-up of accesses to one line in each of a number of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TranslateSetup {
    pub reach: Reach,
    /// Number of pages, a power of two.
    pub pages: usize,
}

impl Setup for TranslateSetup {
    fn bytes(&self) -> usize {
        self.pages * PAGE
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Testable<Workload<'m>> {
        let translate = Translate::new(region, self.reach, self.pages)?;
        // This many steps of a page and a line visit every page at least once.
        Ok(Workload::steady(translate, self.pages as u64))
    }
}
