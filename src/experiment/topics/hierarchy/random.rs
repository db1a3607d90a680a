//! Drepper 3.2 and 3.3.2, random walks: Figures 3.4 and 3.15.

use crate::experiment::claim::guest::unless_strangers;
use crate::experiment::machine::ranges::steps;
use crate::experiment::prelude::*;
use crate::experiment::shared::walk::WalkSetup;
use crate::kernel::Step;
use crate::pattern::{Layout, Order};
use crate::stats::Interval;

/// The figures of this family.
pub(crate) static ALL: &[Experiment] = &[FIG_3_4, FIG_3_15];

const INC: &str = "random Inc, NPAD=15";

const FIG_3_4: Experiment = Experiment {
    id: "D8",
    name: "drepper-fig-3.4",
    title: "Access times of random writes",
    question: "Does the time of a random write show the sizes of the caches?",
    source: "Drepper 3.2, Figure 3.4. Its data equal one curve of Figure 3.14, so this test uses \
             the elements of that curve: Inc on 128 bytes",
    about: "The test walks a random list of 128-byte elements and increments a word in each. The \
            chart shows the time per element over the working set. The time rises where the \
            working set outgrows a cache, so a CPU with three levels of cache shows three plateaus \
            and then memory; the paper shows two plateaus and memory. The rise beyond L2 is \
            gradual, because random 4 KiB pages fill a physically indexed cache unevenly. The last \
            level is shared, so its rise lies where this core's share ends, not at the specified \
            size. In a virtual machine, that share is unknown.",
    seen: &[],
    plot: Plot::over_working_set(&[Reference {
        file: "drepper-fig-3.4.csv",
        machine: "Pentium 4, 16 KiB L1d, 512 KiB L2, 2 MiB L3 (2007)",
        x: "working_set_bytes",
        columns: &[("value", "random write")],
    }]),
    cases: |machine| {
        let seed = machine.seed;
        let setup = |bytes| {
            WalkSetup::follow(Layout::npad(15), bytes, Order::Random { seed }).with(Step::Inc)
        };
        machine
            .working_sets()
            .into_iter()
            .map(|bytes| Case::new(INC, bytes as f64, setup(bytes)))
            .collect()
    },
    curves: plain_curves,
    events: events::WALK,
    claims: &[
        // Below 10 cycles in L1d, 480 and more once L2 is not sufficient.
        measured(
            "D8.1",
            drepper("3.2, Figure 3.4"),
            "a random write in memory takes more than 20 times as long as a random write in L1d",
            |e| {
                let near = e.level(INC, e.machine.ranges.l1)?;
                at_least("memory over L1d", ratio(in_memory(e, INC), near), 20.0)
            },
        )
        .then(48.0, "Pentium 4, 2 MiB L3 (2007)")
        .takeaway(
            Takeaway::new(
                Shown::Times,
                Touches::Some,
                "A random write in memory over one in L1d",
                "A random write to memory takes {now} as long as one to L1d",
            )
            .advice(
                "Split data into parts that fit a cache before you update it at random.",
                "Splitting data to fit a cache saves little for random updates.",
            ),
        ),
        // Three plateaus, from which the sizes of L1d and L2 are deduced: 2^13 and 2^20 bytes.
        measured(
            "D8.2",
            drepper("3.2, Figure 3.4"),
            "the time of random writes rises in steps at the sizes of L1d and of the last level, \
             within a factor of 2",
            |e| {
                let points = e.series(INC)?;
                if points
                    .last()
                    .is_none_or(|last| last.0 < e.machine.ranges.memory.lo)
                {
                    return Err(Untestable(
                        "no working set beyond the last-level cache was measured".to_owned(),
                    ));
                }
                let found = steps_by_ends(&points);
                all_of([
                    step_at(&found, "L1d", usable(e.machine, 1)?, false),
                    unless_strangers(
                        e,
                        step_at(&found, "the last level", usable(e.machine, 3)?, true),
                    ),
                ])
            },
        ),
    ],
};

/// The time of a series at the memory size. It does not depend on how much of a shared last level
/// the ladder found.
pub(crate) fn in_memory(e: &Evidence<'_>, series: &str) -> Result<Interval, Untestable> {
    e.series(series)?;
    e.at(series, e.machine.place_in_memory(e.machine.in_memory())?)
}

/// The bytes of a cache level that a working set can count on.
fn usable(machine: &Machine, level: u8) -> Result<f64, Untestable> {
    machine
        .ranges
        .capacities
        .iter()
        .find(|capacity| capacity.level == level)
        .map(Capacity::usable)
        .filter(|bytes| *bytes > 0.0)
        .ok_or_else(|| {
            Untestable(format!(
                "neither CPUID nor the ladder of working sets gives the size of cache level {level}"
            ))
        })
}

/// The steps of a curve by the lower ends of its points, by their middles and by their upper ends.
/// They differ where noise can make, move or hide a step.
pub(crate) fn steps_by_ends(points: &[(f64, Interval)]) -> [Vec<f64>; 3] {
    [|i: Interval| i.lo, Interval::middle, |i: Interval| i.hi].map(|end| {
        let curve: Vec<(f64, Interval)> = points
            .iter()
            .map(|&(x, value)| (x, Interval::exact(end(value))))
            .collect();
        steps(&curve)
    })
}

/// Judges that one of the steps lies within a factor of 2 of `bytes`. A `shared` cache may have
/// less room for this core while the curve is measured than it had for the ladder, so a step within
/// a factor of 4 decides nothing.
pub(crate) fn step_at(found: &[Vec<f64>; 3], name: &str, bytes: f64, shared: bool) -> Judged {
    let distance = |step: f64| (step / bytes).ln().abs();
    let nearest: Vec<f64> = found
        .iter()
        .filter_map(|steps| {
            let nearest = steps.iter().copied();
            nearest.min_by(|a, b| distance(*a).total_cmp(&distance(*b)))
        })
        .collect();
    let kib = bytes / 1024.0;
    let what = format!("KiB of the step nearest to the {kib:.0} KiB of {name}:");
    // A quarter of an octave to either side: the points are an octave apart.
    let quarter = 2f64.powf(0.25);
    let around = |step: &f64| Interval::new(step / 1024.0 / quarter, step / 1024.0 * quarter);
    let at = nearest.iter().map(around).reduce(Interval::hull);
    Ok(match at {
        None => Judgement {
            verdict: Verdict::DoesNotHold,
            numbers: format!("the curve has no step, and {name} has {kib:.0} KiB"),
            value: None,
        },
        Some(at) if nearest.len() < found.len() => Judgement {
            verdict: Verdict::Inconclusive,
            numbers: format!("{what} {at}, if the curve has a step at all"),
            value: None,
        },
        Some(at) => {
            let mut judged = between(&what, at, kib / 2.0, kib * 2.0)?;
            let near = between(&what, at, kib / 4.0, kib * 4.0)?.verdict != Verdict::DoesNotHold;
            if shared && near && judged.verdict == Verdict::DoesNotHold {
                judged.verdict = Verdict::Inconclusive;
            }
            judged
        }
    })
}

const FIG_3_15: Experiment = Experiment {
    id: "D19",
    name: "drepper-fig-3.15",
    title: "Sequential and random walks over 8-byte elements",
    question: "How much faster is a sequential walk than a random walk, and does the time of a \
               random walk ever level off?",
    source: "Drepper 3.3.2, Figure 3.15",
    about: "The test walks lists of 8-byte elements, in sequence and at random. The chart shows \
            the time per step over the working set. Prefetchers bring the lines of a sequential \
            walk in advance, and cannot predict a random walk. A random walk can become slower \
            even beyond the last cache, because the page tables of a larger working set outgrow \
            the caches too. In a virtual machine, each page walk passes through the tables of the \
            guest and of the hypervisor. The rise is then steeper, unless the hypervisor backs the \
            guest with large pages.",
    seen: &[],
    plot: Plot::over_working_set(&[Reference {
        file: "drepper-fig-3.15.csv",
        machine: PENTIUM_4,
        x: "working_set_bytes",
        columns: &[("Sequential", "sequential"), ("Random", "random")],
    }]),
    cases: |machine| {
        let seed = machine.seed;
        let orders = [
            ("sequential", Order::Sequential),
            ("random", Order::Random { seed }),
        ];
        let case = |(series, order), bytes| {
            let setup = WalkSetup::follow(Layout::npad(0), bytes, order);
            Case::new(series, bytes as f64, setup)
        };
        // The rise inside the memory range takes two working sets there.
        let mut sizes = machine.working_sets();
        let beyond = 2 * machine.in_memory();
        if beyond <= machine.largest && !sizes.contains(&beyond) {
            sizes.push(beyond);
        }
        let each = |order| sizes.iter().map(move |&bytes| case(order, bytes));
        orders.into_iter().flat_map(each).collect()
    },
    curves: plain_curves,
    events: events::WALK,
    claims: &[
        // At random 450 cycles and more, in order 9: no prefetching helps.
        measured(
            "D19.1",
            drepper("3.3.2, Figure 3.15"),
            "in memory, a random step takes more than 10 times as long as a sequential step",
            |e| {
                let gap = ratio(in_memory(e, "random"), in_memory(e, "sequential"))?;
                at_least("random over sequential", gap, 10.0)
            },
        )
        .then_between(24.7, 50.8, PENTIUM_4)
        .takeaway(
            Takeaway::new(
                Shown::Times,
                Touches::Most,
                "Random over sequential access, in memory",
                "A random access to memory takes {now} as long as a sequential one",
            )
            .advice(
                "Lay out data in the order in which you read it. If you cannot, make the data \
                 smaller or keep several accesses in flight.",
                "Order saves less than in the paper: measure before you reorganise data for it.",
            ),
        ),
        // The random curve does not flatten but keeps on rising; by the figure 1.04 to 1.17 times
        // a doubling from 2^23 bytes on.
        measured(
            "D19.2",
            drepper("3.3.2, Figure 3.15"),
            "in memory, a random walk never levels off: in 4 KiB pages, each doubling of the \
             working set makes a step more than 1.03 times as long",
            |e| {
                // Not the smallest working set in the range: where that begins is measured anew
                // in every run.
                let first = e.machine.place_in_memory(e.machine.in_memory())?;
                let (last, _) = e.last("random")?;
                if last <= first {
                    return Err(Untestable(format!(
                        "the claim needs two working sets in the {}",
                        e.machine.ranges.memory
                    )));
                }
                let rise = ratio(e.at("random", last), e.at("random", first))?;
                let doublings = (last / first).log2();
                let each = |rise: f64| rise.powf(1.0 / doublings);
                let what = format!(
                    "growth per doubling, from {:.0} to {:.0} MiB",
                    first / 1048576.0,
                    last / 1048576.0
                );
                at_least(&what, Interval::new(each(rise.lo), each(rise.hi)), 1.03)
            },
        )
        .then_between(1.04, 1.17, PENTIUM_4)
        .holding(
            "With a larger list, page tables miss the caches more often, or DRAM rows change more \
             often.",
        )
        .failing("The time of a random step in memory has levelled off."),
    ],
};
