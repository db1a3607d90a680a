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
    question: "What does a prefetch cost that misses the TLB, and one of a null pointer?",
    source: "beside Drepper 6.3.2, where prefetches of bad addresses are free; L. Torvalds, \
             \"Software prefetching considered harmful\", linux-arch, May 2011, on those of null \
             at the end of lists",
    about: "A prefetch needs a translation like a load, and the CPU walks the page tables for \
            it, several walks at a time. A page that nobody has mapped has no translation that a \
            TLB could keep, so that each prefetch of it walks anew, and is dropped at the end: \
            some CPUs pay for that each time, which made Linux take its prefetches out of list \
            walks; others drop it without delay.",
    seen: &[seen(
        "Zen 4",
        "A prefetch of null is dropped without delay.",
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
    curves: plain_curves,
    events: events::PAGES,
    claims: &[
        measured(
            "X11.1",
            ours("prefetches are advised for lists, whose pages are often in no TLB"),
            "a prefetch whose page is in no TLB costs four times and more of one whose page is",
            |e| {
                let dearer = ratio(e.at(PREFETCH, MANY as f64), e.at(PREFETCH, FEW as f64))?;
                at_least("16384 pages over 16", dearer, 4.0)
            },
        ),
        measured(
            "X11.2",
            ours("a prefetch is worth nothing that costs as much as the miss"),
            "a prefetch whose page is in no TLB costs no more than 1.2 times a load of the same",
            |e| {
                let share = ratio(e.at(PREFETCH, MANY as f64), e.at(LOAD, MANY as f64))?;
                at_most("prefetch over load, 16384 pages", share, 1.2)
            },
        ),
        measured(
            "X11.3",
            ours("the null at the end of lists was why Linux gave up prefetching list walks"),
            "a prefetch of null costs four times and more of one whose page is in the TLB: it \
             walks the page tables each time",
            |e| {
                let dearer = ratio(e.at(NULL, 1.0), e.at(PREFETCH, FEW as f64))?;
                at_least("null over 16 pages", dearer, 4.0)
            },
        )
        .failing("Prefetches of pages that are not mapped are dropped without a walk each."),
    ],
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

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Result<Workload<'m>, Untestable> {
        let translate = Translate::new(region, self.reach, self.pages)?;
        // As many steps of a page and a line come by every page once and more.
        Ok(Workload::steady(translate, self.pages as u64))
    }
}
