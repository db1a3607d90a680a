//! Walks over large memory in pages of 4 KiB, 2 MiB and 1 GiB.

use crate::experiment::Percentile;
use crate::experiment::prelude::*;
use crate::experiment::shared::touch::TouchGroupSetup;
use crate::experiment::shared::walk::WalkSetup;
use crate::kernel::Step;
use crate::pattern::{Layout, Order};
use crate::pmu::Quantity;

pub(crate) static ALL: &[Experiment] = &[LARGE_MEMORY];

pub(super) const BASE: &str = "4 KiB pages";
pub(super) const HUGE: &str = "2 MiB pages";
pub(super) const GIANT: &str = "1 GiB pages";
const TOUCH: &str = "first write to a 4 KiB page, each of n threads";

/// Bytes of an entry of a page table.
const ENTRY: usize = 8;

/// The most 4 KiB pages that each thread touches before it gives them back: more than the kernel
/// keeps ready for a CPU.
const TOUCHED: usize = 4096;

/// The fewest that decide a claim: the kernel keeps several hundred pages ready for a CPU.
const LEAST_TOUCHED: usize = 1024;

/// Returns the pages that each thread touches, for any number of threads: all cores together touch no
/// more memory than a run may use.
fn touched(machine: &Machine) -> usize {
    let cores = machine.cpu_order.cores().max(1);
    (machine.largest / cores / PAGE).clamp(1, TOUCHED)
}

/// Returns the number of lines that every walk visits, whatever memory they are spread over: twice
/// the last level or more.
fn lines(machine: &Machine) -> usize {
    (machine.in_memory() / LINE / 2).max(1)
}

/// Returns the strides from one visited line to the next, in lines. They are odd, so that the lines
/// use all sets of a cache. The last stride of a full run fills the memory that is allowed.
fn strides(machine: &Machine) -> Vec<usize> {
    let all = (1..usize::BITS / 2).map(|k| (1 << k) - 1);
    let room = machine.largest / LINE / lines(machine);
    let mut strides: Vec<usize> = all.take_while(|stride| *stride <= room).collect();
    if !machine.full {
        strides.truncate(2);
        return strides;
    }
    let odd = room.saturating_sub(1) | 1;
    if strides.last().is_some_and(|last| *last < odd) {
        strides.push(odd);
    }
    strides
}

/// Returns the bytes over which the lines are spread.
fn spread(machine: &Machine, stride: usize) -> usize {
    lines(machine) * stride * LINE
}

fn walk(machine: &Machine, stride: usize) -> WalkSetup {
    let layout = Layout::npad(7).spaced(stride * LINE);
    let order = Order::Random { seed: machine.seed };
    WalkSetup { layout, count: lines(machine), order, step: Step::Follow }
}

/// Returns the numbers of threads: one and the number of cores. A full run adds the powers of two
/// in between.
fn threads(machine: &Machine) -> Vec<usize> {
    let cores = machine.cpu_order.cores().max(1);
    let powers = (0..).map(|k| 1 << k).take_while(|&threads| threads < cores);
    powers.filter(|&n| machine.full || n == 1).chain([cores]).collect()
}

/// Returns the smallest and the largest memory of the walks, in bytes. Fails if the walks differ in nothing, or if
/// their lines, half as many as memory begins with, do not exceed the last level.
fn ends(e: &Evidence<'_>) -> Testable<[f64; 2]> {
    let [first, .., last] = strides(e.machine)[..] else {
        return Err(Untestable(format!(
            "{} MiB leave no room to spread the lines over: --memory gives more",
            e.machine.largest >> 20
        )));
    };
    e.machine.memory_size()?;
    Ok([first, last].map(|stride| spread(e.machine, stride) as f64))
}

/// Returns the time in 4 KiB pages divided by that in larger pages.
fn cost(e: &Evidence<'_>, larger: &str, x: f64) -> Testable<Interval> {
    paired_at(e, BASE, larger, x)
}

const LARGE_MEMORY: Experiment = Experiment {
    id: "X20",
    name: "large-memory",
    title: "Random walks over large memory, and its first touch",
    question: "What do page walks cost when memory is large, what do pages of 2 MiB and 1 GiB \
               save, and how fast do all cores together get memory from the kernel?",
    source: "Beyond the papers: Drepper 7.5.3 over the memory that `--memory` allows; Linux, \
             Documentation/admin-guide/mm/transhuge.rst",
    about: "A random walk visits the same number of lines, spread over ever more memory: every \
            step misses the caches in the same way, and only translation changes. A page table has \
            8 bytes per page: 2 MiB per GiB in 4 KiB pages, 4 KiB per GiB in 2 MiB pages. Page \
            walks are cheap as long as caches hold the tables. They miss L2 where the tables \
            outgrow it, and wait for memory where the tables outgrow the last level as well. The \
            core caches the upper levels of the tables, so that a walk mostly loads one entry. A \
            quick run spreads the lines threefold. A full run goes as far as `--memory` allows, 1 \
            GiB without it: on your own machine, `--memory` with 90 % of the free memory \
            shows the whole curve. Pages of 2 MiB are requested by madvise or from the hugetlb \
            pool. If the kernel does not find enough free blocks, it compacts memory during the \
            first touch, which takes time, or grants 4 KiB pages, which khugepaged may merge much \
            later. Such points are untestable, and say what was granted. First touches are page \
            faults: threads of one process share its address space, and the kernel's lists of free \
            pages. The time per page contains giving it back. Over the largest memory, single \
            steps are timed one by one as well, to see how they spread.",
    plot: Some(Plot::nanoseconds(Axis::bytes("memory"), Axis::log("time of a step"))),
    events: &[Quantity::DtlbWalks, Quantity::DtlbWalkCycles],
    cases: |machine| {
        let mut cases = Vec::new();
        let strides = strides(machine);
        for &stride in &strides {
            let x = spread(machine, stride) as f64;
            let case = |series| {
                let case = Case::new(series, x, walk(machine, stride)).in_turn();
                // Over the largest memory, single steps are timed as well.
                if strides.last() == Some(&stride) { case.run_by_run(1) } else { case }
            };
            cases.push(case(BASE).in_its_own_pages());
            cases.push(case(HUGE).in_huge_pages());
            if machine.full {
                cases.push(case(GIANT).in_giant_pages());
            }
        }
        for threads in threads(machine) {
            let Ok(cpus) = machine.cpu_order.of(threads) else { continue };
            let pages = touched(machine);
            let setup = TouchGroupSetup { pages, cpus };
            cases.push(Case::new(TOUCH, threads as f64, setup).in_its_own_pages());
        }
        cases
    },
    curves: |e| e.curves_of(|label| label != TOUCH),
    claims: &[
        measured(
            "X20.1",
            ours("what huge pages gain where the data is as large as it gets"),
            "over the largest memory, a step takes more than 1.1 times as long in 4 KiB pages as \
             in 2 MiB pages",
            |e| {
                let [_, x] = ends(e)?;
                let what = format!("4 KiB over 2 MiB pages, {:.0} MiB", x / 1048576.0);
                at_least(&what, cost(e, HUGE, x), 1.1)
            },
        ),
        measured(
            "X20.2",
            ours("the tables of 4 KiB pages grow with memory, and leave one cache after the other"),
            "the larger the memory, the more 4 KiB pages cost over 2 MiB pages: from the smallest \
             to the largest at least 1.05 times as much",
            |e| {
                let [small, large] = ends(e)?;
                let growth = ratio(cost(e, HUGE, large), cost(e, HUGE, small))?;
                at_least("cost of 4 KiB pages, largest over smallest memory", growth, 1.05)
            },
        ),
        measured(
            "X20.3",
            ours(
                "the tables of 2 MiB pages fit the caches, if the host of a guest has such pages, \
                 too",
            ),
            "in 2 MiB pages, a step takes at most 1.15 times as long over the largest memory as \
             over the smallest",
            |e| {
                let [small, large] = ends(e)?;
                let longer = ratio(e.at(HUGE, large), e.at(HUGE, small))?;
                at_most("2 MiB pages, largest over smallest memory", longer, 1.15)
            },
        )
        .failing(
            "Page walks cost time in 2 MiB pages, too: the host may back them with smaller ones.",
        ),
        measured(
            "X20.4",
            ours("a page walk that waits for memory doubles the loads from memory of a step"),
            "where the tables of 4 KiB pages are more than twice the last level, a step takes more \
             than 1.4 times as long in 4 KiB pages as in 2 MiB pages",
            |e| {
                let [_, x] = ends(e)?;
                let cost = cost(e, HUGE, x)?;
                let tables = x / PAGE as f64 * ENTRY as f64;
                // Memory begins at four times the usable last level.
                let needed = e.machine.ranges.memory.lo / 2.0;
                if tables < needed {
                    // The stride is odd: up to two strides of the allowed memory stay unused.
                    let unused = 2.0 * spread(e.machine, 1) as f64;
                    let memory = needed * PAGE as f64 / ENTRY as f64 + unused;
                    return Err(Untestable(format!(
                        "tables of {:.1} MiB are not twice the last level: \
                         `--profile full --memory` with {} GiB or more tests it",
                        tables / 1048576.0,
                        (memory as u64).div_ceil(1 << 30)
                    )));
                }
                at_least("4 KiB over 2 MiB pages", cost, 1.4)
            },
        ),
        measured(
            "X20.5",
            ours(
                "pages of 1 GiB have to be reserved: is that worth the trouble after 2 MiB pages?",
            ),
            "over the largest memory, a step takes less than 1.1 times as long in 2 MiB pages as \
             in 1 GiB pages",
            |e| {
                let [_, x] = ends(e)?;
                let huge = e.at(HUGE, x)?;
                if !e.machine.full {
                    return Err(Untestable(
                        "a quick run takes no pages of 1 GiB: `--profile full` does".into(),
                    ));
                }
                at_most("2 MiB over 1 GiB pages", ratio(Ok(huge), e.at(GIANT, x)), 1.1)
            },
        ),
        measured(
            "X20.6",
            ours("programs that fill large memory touch it by all threads, to be sooner ready"),
            "all cores together touch at least 0.7 times as many new 4 KiB pages per second as one \
             core times their number",
            |e| {
                e.machine.cpu_order.at_least(2)?;
                let cores = e.machine.cpu_order.cores();
                e.machine.cpu_order.one_kind(cores)?;
                if touched(e.machine) < LEAST_TOUCHED {
                    return Err(Untestable(format!(
                        "{cores} threads need {} MiB together, and this run has {} MiB \
                         (`--memory`)",
                        (LEAST_TOUCHED * PAGE * cores) >> 20,
                        e.machine.largest >> 20
                    )));
                }
                let one = e.at(TOUCH, 1.0)?;
                let each = e.at(TOUCH, cores as f64)?;
                let rate = 1000.0 * cores as f64 / each.middle();
                noted(
                    at_least(
                        &format!("speed of each of {cores} threads over one alone"),
                        ratio(one, each),
                        0.7,
                    ),
                    format!("{rate:.2} million pages per second together"),
                )
            },
        )
        .failing("Faults of one process wait for each other, or for the kernel's free pages."),
        measured(
            "X20.7",
            ours(
                "refresh, banks at work for somebody else, and page walks that miss delay single \
                 loads, which a mean does not show",
            ),
            "over the largest memory, one step in a hundred takes more than 1.5 times as long as \
             the median step, in 4 KiB pages and in 2 MiB pages",
            |e| {
                let [_, x] = ends(e)?;
                all_of([BASE, HUGE].map(|pages| {
                    let slower = e.over_median(pages, x, Percentile::P99);
                    at_least(&format!("p99 over median, {pages}"), slower, 1.5)
                }))
            },
        )
        .holding("A program that waits for many loads at once waits for the slow ones."),
    ],
    ..Experiment::PLAIN
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::machine::tests::unknown;

    #[test]
    fn lines_are_spread_over_as_much_memory_as_is_allowed() {
        let machine = |full, largest| Machine { full, largest, ..unknown() };
        assert_eq!(strides(&machine(false, 1 << 30)), [1, 3]);
        let large = machine(true, 64 << 30);
        let strides = strides(&large);
        let most = spread(&large, *strides.last().unwrap());
        assert!(most <= 64 << 30 && most > 31 << 30, "{most}");
        assert!(strides.iter().all(|stride| stride % 2 == 1));
        assert_eq!(super::strides(&machine(true, 1 << 20)).first(), Some(&1));
    }
}
