//! Drepper 7.5.3, Figure 7.9: a random walk in 4 KiB and in 2 MiB pages.

use crate::experiment::prelude::*;
use crate::experiment::shared::walk::WalkSetup;
use crate::mem::LINE;
use crate::pattern::{Layout, Order};
use crate::pmu::Quantity;

/// The figures of this family.
pub(crate) static ALL: &[Experiment] = &[FIG_7_9];

const BASE: &str = "4 KiB pages";
const HUGE: &str = "2 MiB pages";
const GIANT: &str = "1 GiB pages";

/// No second-level TLB reaches farther in 4 KiB pages: the largest has 4,096 entries (Zen 5).
const REACH: usize = 4096 * 4096;

/// More pages than the L1 dTLB of any CPU has entries, and few enough for most second-level caches.
const BEYOND_FIRST: usize = 1 << 19;

const FIG_7_9: Experiment = Experiment {
    id: "F4",
    name: "drepper-fig-7.9",
    title: "Following a random list in large pages",
    question: "How much of a random walk's time do large pages save?",
    source: "Drepper 7.5.3, Figure 7.9: 57 % at 2^20 bytes, 38.5 % at 2^29",
    about: "The test follows a random list of 8-byte elements in pages of 4 KiB, 2 MiB and 1 GiB. \
            The chart shows the time per step over the working set. The paper's TLB reached 256 \
            KiB. Current second-level TLBs reach 6 to 16 MiB with 4 KiB pages; inside this reach, \
            a miss in the L1 dTLB costs a few cycles instead of a page walk. Beyond it, large \
            pages save page walks, which mostly find their tables in the caches. In a virtual \
            machine, large pages extend the reach only if the hypervisor backs them with equally \
            large pages. Otherwise each TLB entry covers one of the smaller pages. The curves then \
            coincide inside the reach of the TLB, and beyond it large pages save only one level of \
            the guest's own tables per page walk.",
    seen: &[],
    plot: Plot::over_working_set(&[Reference {
        file: "drepper-fig-7.9.csv",
        machine: PENTIUM_4,
        x: "working_set_bytes",
        columns: &[("4kB Pages", "4 KiB pages"), ("2MB Pages", "2 MiB pages")],
    }]),
    cases,
    curves: plain_curves,
    events: &[Quantity::DtlbWalks, Quantity::DtlbWalkCycles],
    claims: &[
        // Fewer TLB misses make a random walk up to 38 % faster: 459 cycles against 282 at 2^29
        // bytes.
        measured(
            "F4.1",
            drepper("7.5.3, Figure 7.9; announced in 3.3.2"),
            "in memory, far beyond the reach of the TLBs, a random walk takes more than 1.1 \
             times as long in 4 KiB pages as in 2 MiB pages",
            |e| {
                let bytes = e.machine.in_memory();
                let x = e.machine.place_in_memory(bytes)?;
                if bytes < 4 * REACH {
                    return Err(Untestable(format!(
                        "the claim needs {} MiB to be far beyond the reach of every TLB, and the \
                         largest working set has {} MiB",
                        (4 * REACH) >> 20,
                        bytes >> 20
                    )));
                }
                let range = Range { lo: x / 2.0, hi: x };
                saving(e, HUGE, range, 1.1)
            },
        )
        .then(1.63, PENTIUM_4)
        .takeaway(
            Takeaway::new(
                Shown::Times,
                Touches::Many,
                "4 KiB over 2 MiB pages, random walk in memory",
                "A random walk through memory takes {now} as long in 4 KiB pages as in 2 MiB \
                 pages",
            )
            .advice(
                "Ask for huge pages (madvise, hugetlb) for large data that you access at \
                 random.",
                "Huge pages gain little here: reduce cache misses first.",
            ),
        )
        .failing(
            "The hypervisor backs large pages with small ones, or page walks find their tables \
             in the caches.",
        ),
        // 34.9 cycles against 24.1 at 2^19 bytes.
        measured(
            "F4.2",
            drepper("7.5.3, Figure 7.9"),
            "at 2^19 bytes (128 pages, more than any L1 dTLB has entries), a random walk takes \
             more than 1.2 times as long in 4 KiB pages as in 2 MiB pages",
            |e| {
                let x = BEYOND_FIRST as f64;
                saving(e, HUGE, Range { lo: x, hi: x }, 1.2)
            },
        )
        .then(1.45, PENTIUM_4),
        measured(
            "F4.3",
            ours("pages of 1 GiB came after the document"),
            "in memory, a random walk takes more than 1.1 times as long in 4 KiB pages as in 1 GiB \
             pages",
            |e| {
                let x = e.machine.place_in_memory(e.machine.in_memory())?;
                saving(e, GIANT, Range { lo: x, hi: x }, 1.1)
            },
        ),
    ],
};

/// Judges what 4 KiB pages cost over larger ones, which were measured in turn with them.
fn saving(e: &Evidence<'_>, larger: &str, range: Range, least: f64) -> Judged {
    at_least(
        "4 KiB pages over larger ones",
        paired(e, BASE, larger, range),
        least,
    )
}

fn cases(machine: &Machine) -> Vec<Case> {
    let setup = |bytes| {
        let seed = machine.seed;
        WalkSetup::follow(Layout::npad(0), bytes, Order::Random { seed })
    };
    let mut sizes = machine.few_working_sets(4);
    sizes.extend(
        [BEYOND_FIRST]
            .into_iter()
            .filter(|&bytes| bytes <= machine.largest),
    );
    // What 4 KiB pages cost in memory differs by their frames and those of their tables: the claim is
    // about the median of three sizes.
    let largest = machine.in_memory();
    sizes.extend([largest / 2, largest / 4 * 3].map(|bytes| bytes / LINE * LINE));
    sizes.sort_unstable();
    sizes.dedup();
    let mut cases = Vec::new();
    for bytes in sizes {
        let x = bytes as f64;
        let case = |series| Case::new(series, x, setup(bytes)).in_turn();
        cases.push(case(BASE));
        cases.push(case(HUGE).in_huge_pages());
        if machine.full || bytes == machine.in_memory() {
            cases.push(case(GIANT).in_giant_pages());
        }
    }
    cases
}
