//! What a prefetch costs whose translation is missing, or whose page is.

use crate::experiment::prelude::*;
use crate::kernel::{Reach, Translate};
use crate::mem::{PAGE, Region};

/// The rows of this family.
pub(crate) static ALL: &[Experiment] = &[TRANSLATION];

const PREFETCH: &str = "prefetcht0, a line a page";
const LOAD: &str = "load, a line a page";
const NULL: &str = "prefetcht0 of null and the pages behind it";

/// Pages that every L1 dTLB holds, more than any STLB does, and the first 64 KiB of all addresses.
const FEW: usize = 16;
const MANY: usize = 16384;
const UNMAPPED: [usize; 2] = [1, FEW];

const TRANSLATION: Experiment = Experiment {
    id: "X11",
    name: "prefetch-translation",
    title: "Prefetches whose translation is missing",
    question: "How much does a prefetch cost if it misses the TLB, or if it is of a null pointer?",
    source: "Beyond Drepper 6.3.2, which says that prefetches of bad addresses are free; L. \
             Torvalds, \"Software prefetching considered harmful\", linux-arch, May 2011, on \
             prefetches of null at the end of lists",
    about: "The test prefetches or loads one line in each of a number of pages. The chart shows \
            the time per access over the number of pages. A prefetch needs a translation like a \
            load. If the TLB has no translation, the CPU walks the page tables, several walks at a \
            time. An unmapped page, such as the page at null, has no translation that a TLB could \
            keep. Each prefetch of it may therefore start a page walk, and the CPU drops the \
            prefetch at the end. Some CPUs pay for this walk every time, and for this reason Linux \
            removed prefetches from its list walks. Other CPUs drop such prefetches without delay.",
    seen: &[seen(
        "Zen 4",
        "The core drops a prefetch of null without delay.",
    )],
    plot: Some(Plot::lines(
        Axis::log("pages"),
        Axis::log("time per access"),
        Unit::CoreCycles,
    )),
    cases: |machine| {
        let counts: &[usize] = if machine.full {
            &[FEW, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, MANY]
        } else {
            &[FEW, 256, 2048, MANY]
        };
        let case = |series, reach, pages: usize| {
            Case::new(series, pages as f64, TranslateSetup { reach, pages }).in_turn()
        };
        let mut cases = Vec::new();
        for &pages in counts {
            cases.push(case(PREFETCH, Reach::Prefetch, pages));
            cases.push(case(LOAD, Reach::Load, pages));
        }
        cases.extend(UNMAPPED.map(|pages| case(NULL, Reach::PrefetchNull, pages)));
        cases
    },
    events: events::PAGES,
    claims: &[
        measured(
            "X11.1",
            ours(
                "prefetches are recommended for lists, whose pages are often missing from the TLBs",
            ),
            "a prefetch that misses every TLB takes at least four times as long as a prefetch that \
             hits the TLB",
            |e| {
                let dearer = ratio(e.at(PREFETCH, MANY as f64), e.at(PREFETCH, FEW as f64))?;
                at_least("16384 pages over 16", dearer, 4.0)
            },
        ),
        measured(
            "X11.2",
            ours("a prefetch that takes as long as a miss gains nothing"),
            "a prefetch that misses every TLB takes no more than 1.2 times as long as a load that \
             misses every TLB",
            |e| {
                let share = ratio(e.at(PREFETCH, MANY as f64), e.at(LOAD, MANY as f64))?;
                at_most("prefetch over load, 16384 pages", share, 1.2)
            },
        ),
        measured(
            "X11.3",
            ours("Linux gave up prefetches in list walks because of the null at the end of lists"),
            "a prefetch of null takes at least four times as long as a prefetch that hits the TLB: \
             the CPU walks the page tables each time",
            |e| {
                let dearer = ratio(e.at(NULL, 1.0), e.at(PREFETCH, FEW as f64))?;
                at_least("null over 16 pages", dearer, 4.0)
            },
        )
        .failing("The CPU drops prefetches of unmapped pages without a page walk for each."),
    ],
    ..Experiment::PLAIN
};

/// Pages, and what is done in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TranslateSetup {
    /// The access.
    pub reach: Reach,
    /// How many pages, a power of two.
    pub pages: usize,
}

impl Setup for TranslateSetup {
    fn bytes(&self) -> usize {
        self.pages * PAGE
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Testable<Workload<'m>> {
        let translate = Translate::new(region, self.reach, self.pages)?;
        // As many steps of a page and a line come by every page once and more.
        Ok(Workload::steady(translate, self.pages as u64))
    }
}
