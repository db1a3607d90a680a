//! Drepper's Figure 7.9: walks in pages of 4 KiB, 2 MiB and 1 GiB, in a cache and beyond the reach of every TLB.

use crate::experiment::prelude::*;
use crate::experiment::shared::walk::WalkSetup;
use crate::experiment::topics::tlb::large::{BASE, GIANT, HUGE};
use crate::order;
use crate::pattern::{Layout, Order};
use crate::pmu::Quantity;

pub(crate) static ALL: &[Experiment] = &[FIG_7_9];

/// The largest reach of a second-level TLB in 4 KiB pages, in bytes: 4,096 entries (Zen 5).
const REACH: usize = 4096 * 4096;

/// A working set far beyond the reach of every TLB.
const FAR: usize = 4 * REACH;

/// Returns a working set in memory, beyond the reach of every TLB as well if so much may be allocated.
fn beyond_tlbs(machine: &Machine) -> usize {
    let memory = machine.in_memory();
    if FAR <= machine.largest { memory.max(FAR) } else { memory }
}

/// The document's working set: twice what the L1 dTLB of its machine reached.
const BEYOND_FIRST: usize = 1 << 19;

/// The largest reach of an L1 dTLB in 4 KiB pages, in bytes: 128 entries (Lion Cove).
const FIRST_REACH: usize = 128 * PAGE;

/// Returns a working set that misses the L1 dTLB in 4 KiB pages: the document's if it has half as many
/// pages again as this TLB has entries, otherwise twice as many. A random walk of barely more pages than
/// entries would still hit most of the time.
fn beyond_first(machine: &Machine) -> usize {
    let reach = machine.calibration.dtlb_reach().unwrap_or(FIRST_REACH);
    if reach / 2 * 3 <= BEYOND_FIRST { BEYOND_FIRST } else { 2 * reach }
}

/// Returns the bytes of L2 as the system reports them, or as the ladder shows them.
fn l2_bytes(machine: &Machine) -> Option<f64> {
    let l2 = machine.ranges.capacities.iter().find(|at| at.level == 2)?;
    l2.reported.or(l2.measured)
}

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
    plot: Plot::over_working_set(&[Reference {
        file: "drepper-fig-7.9.csv",
        machine: PENTIUM_4,
        x: "working_set_bytes",
        columns: &[("4kB Pages", "4 KiB pages"), ("2MB Pages", "2 MiB pages")],
    }]),
    cases,
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
                let bytes = beyond_tlbs(e.machine);
                let x = e.machine.place_in_memory(bytes)?;
                if bytes < FAR {
                    return Err(Untestable(format!(
                        "the claim needs {} MiB to be far beyond the reach of every TLB, and this \
                         run has {} MiB (`--memory`)",
                        FAR >> 20,
                        e.machine.largest >> 20
                    )));
                }
                saving(e, HUGE, Range { lo: x / 2.0, hi: x }, 1.1)
            },
        )
        .then(1.63, PENTIUM_4)
        .takeaway(
            Shown::Times,
            Touches::Many,
            "4 KiB over 2 MiB pages, random walk in memory",
            "A random walk through memory takes {now} as long in 4 KiB pages as in 2 MiB pages",
        )
        .advice(
            "Ask for huge pages (madvise, hugetlb) for large data that you access at random.",
            "Huge pages gain little here: reduce cache misses first.",
        )
        .failing(
            "The hypervisor backs large pages with small ones, or page walks find their tables \
             in the caches.",
        ),
        // 34.9 cycles against 24.1 at 2^19 bytes, which are 128 pages. The Pentium 4 has 64 entries.
        measured(
            "F4.2",
            drepper("7.5.3, Figure 7.9"),
            "at 2^19 bytes, or more where these are less than 1.5 times what the L1 dTLB reaches \
             in 4 KiB pages, a random walk takes more than 1.2 times as long in 4 KiB pages as in \
             2 MiB pages",
            |e| {
                let x = beyond_first(e.machine) as f64;
                let kib = |bytes: f64| format!("{:.0} KiB", bytes / 1024.0);
                // Beyond L2, a miss in the L1 dTLB is a small part of every step.
                if let Some(l2) = l2_bytes(e.machine).filter(|l2| *l2 < x) {
                    return Err(Untestable(format!(
                        "{} miss the L1 dTLB, and L2 holds {}: steps would also miss L2",
                        kib(x),
                        kib(l2)
                    )));
                }
                noted(saving(e, HUGE, Range::at(x), 1.2), format!("a working set of {}", kib(x)))
            },
        )
        .then(1.45, PENTIUM_4)
        .failing(
            "A miss in the L1 dTLB costs little beside L2, or the hypervisor backs large pages \
             with small ones.",
        ),
        measured(
            "F4.3",
            ours("pages of 1 GiB came after the document"),
            "in memory, a random walk takes more than 1.1 times as long in 4 KiB pages as in 1 GiB \
             pages",
            |e| {
                let x = e.machine.memory_size()?;
                saving(e, GIANT, Range::at(x), 1.1)
            },
        ),
    ],
    ..Experiment::PLAIN
};

/// Judges the time in 4 KiB pages over that in larger pages, which were measured interleaved.
fn saving(e: &Evidence<'_>, larger: &str, range: Range, least: f64) -> Judged {
    at_least("4 KiB pages over larger ones", paired(e, BASE, larger, range), least)
}

fn cases(machine: &Machine) -> Vec<Case> {
    let setup = |bytes| {
        let seed = machine.seed;
        WalkSetup::follow(Layout::npad(0), bytes, Order::Random { seed })
    };
    let mut sizes = machine.few_working_sets(4);
    sizes.extend([beyond_first(machine)].into_iter().filter(|&bytes| bytes <= machine.largest));
    // The cost of 4 KiB pages in memory depends on the frames of the data and of the page tables.
    // The claim is therefore about the median of three sizes.
    let largest = beyond_tlbs(machine);
    sizes.extend([largest / 2, largest / 4 * 3, largest].map(|bytes| bytes / LINE * LINE));
    let mut cases = Vec::new();
    for bytes in order::distinct(sizes) {
        let x = bytes as f64;
        let case = |series| Case::new(series, x, setup(bytes)).in_turn();
        cases.push(case(BASE).in_its_own_pages());
        cases.push(case(HUGE).in_huge_pages());
        if machine.full || bytes == machine.in_memory() {
            cases.push(case(GIANT).in_giant_pages());
        }
    }
    cases
}
