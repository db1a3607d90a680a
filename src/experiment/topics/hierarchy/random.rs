//! Drepper 3.2 and 3.3.2, random walks: Figures 3.4, 3.14 and 3.15.

use crate::experiment::claim::evidence::by_chance;
use crate::experiment::claim::verdict::{Extreme, unless_strangers, untestable};
use crate::experiment::machine::ranges::steps;
use crate::experiment::prelude::*;
use crate::experiment::shared::walk::WalkSetup;
use crate::experiment::topics::hierarchy::llc_share::{last_known, share_to_whole};
use crate::kernel::Step;
use crate::pattern::{Layout, Order};
use core::iter::successors;

pub(crate) static ALL: &[Experiment] = &[FIG_3_4, FIG_3_15];

pub(crate) const RANDOM: &str = "random Inc, NPAD=15";

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
    plot: Plot::over_working_set(&[Reference {
        file: "drepper-fig-3.4.csv",
        machine: "Pentium 4, 16 KiB L1d, 512 KiB L2, 2 MiB L3 (2007)",
        x: "working_set_bytes",
        columns: &[("value", "random write")],
    }]),
    cases: |machine| {
        machine.working_sets().into_iter().map(|bytes| case(machine, RANDOM, bytes)).collect()
    },
    events: events::WALK,
    claims: &[
        // Below 10 cycles in L1d, 480 and more once L2 is not sufficient.
        measured(
            "D8.1",
            drepper("3.2, Figure 3.4"),
            "a random write in memory takes more than 20 times as long as a random write in L1d",
            |e| {
                let e = e.in_time();
                let near = e.level(RANDOM, e.machine.ranges.l1)?;
                at_least("memory over L1d", ratio(e.in_memory(RANDOM), near), 20.0)
            },
        )
        .then(48.0, "Pentium 4, 2 MiB L3 (2007)")
        .takeaway(
            Shown::Times,
            Touches::Some,
            "A random write in memory over one in L1d",
            "A random write to memory takes {now} as long as one to L1d",
        )
        .advice(
            "Split data into parts that fit a cache before you update it at random.",
            "Splitting data to fit a cache saves little for random updates.",
        ),
        // Three plateaus, from which the sizes of L1d and L2 are deduced: 2^13 and 2^20 bytes.
        measured(
            "D8.2",
            drepper("3.2, Figure 3.4"),
            "the time of random writes rises in steps at the sizes of L1d and of the last level, \
             within a factor of 2",
            |e| {
                let found = steps_by_ends(&into_memory(e)?, e.machine.ranges.memory.lo);
                let level = last_known(e.machine).map_or(3, |last| last.level.max(2));
                let (first, last) = (usable(e.machine, 1)?, usable(e.machine, level)?);
                // A shared cache may have less room for this core while the curve is measured than it
                // had for the ladder. A step between a factor of 2 and 4 is then untestable.
                let crowded = Some([last / 4.0, last * 4.0]);
                let step = step_between(&found, "the last level", [last; 2], crowded)?;
                let step = match e.uncertain.filter(|of| of.holds(last)) {
                    Some(of) => Ok(untestable(step, &by_chance(of))),
                    None => unless_strangers(e, Ok(step)),
                };
                all_of([step_between(&found, "L1d", [first; 2], None), step])
            },
        ),
    ],
    ..Experiment::PLAIN
};

/// Returns the points of the random walk, if they reach memory.
fn into_memory(e: &Evidence<'_>) -> Testable<Vec<(f64, Interval)>> {
    let points = e.series(RANDOM)?;
    match points.last() {
        Some((x, _)) if *x >= e.machine.ranges.memory.lo => Ok(points),
        _ => Err(Untestable("no working set beyond the last-level cache was measured".to_owned())),
    }
}

/// Returns the bytes of a cache level that a working set can count on.
fn usable(machine: &Machine, level: u8) -> Testable<f64> {
    let mut levels = machine.ranges.capacities.iter();
    let usable = levels.find(|capacity| capacity.level == level).map(Capacity::usable);
    usable.filter(|bytes| *bytes > 0.0).ok_or_else(|| {
        Untestable(format!(
            "neither CPUID nor the ladder of working sets gives the size of cache level {level}"
        ))
    })
}

/// Returns the steps of a curve through the lower ends of its points, through their middles and
/// through their upper ends. The three differ where noise can make, move or hide a step. A step that
/// begins at `memory` or beyond shows page walks, and no cache.
fn steps_by_ends(points: &[(f64, Interval)], memory: f64) -> [Vec<f64>; 3] {
    [|i: Interval| i.lo, Interval::middle, |i: Interval| i.hi].map(|end| {
        let curve: Vec<(f64, Interval)> =
            points.iter().map(|&(x, value)| (x, Interval::exact(end(value)))).collect();
        steps(&curve, memory)
    })
}

/// Judges whether one of the steps lies between half of `least` and twice `most`: the last step between
/// the two, or else the nearest. A step outside, but within `crowded`, is untestable: no further pass
/// decides it.
fn step_between(
    found: &[Vec<f64>; 3],
    name: &str,
    [least, most]: [f64; 2],
    crowded: Option<[f64; 2]>,
) -> Judged {
    let distance = |step: f64| (least / step).max(step / most).max(1.0);
    let nearest: Vec<f64> = found
        .iter()
        .filter_map(|steps| {
            // Of steps that are equally near, the first in this order: the last step of the curve.
            steps.iter().rev().copied().min_by(|a, b| distance(*a).total_cmp(&distance(*b)))
        })
        .collect();
    let (unit, bytes) = if least >= 1048576.0 { ("MiB", 1048576.0) } else { ("KiB", 1024.0) };
    let [from, to] = [least, most].map(|size| Interval::exact(size / bytes).to_string());
    let sizes = if from == to { from } else { format!("{from} to {to}") };
    let what = format!("{unit} of the step nearest to the {sizes} {unit} of {name}");
    // A quarter of an octave to either side: the points are an octave apart.
    let quarter = 2f64.powf(0.25);
    let around = |step: &f64| Interval::new(step / bytes / quarter, step / bytes * quarter);
    let at = nearest.iter().map(around).reduce(Interval::hull);
    let Some(at) = at else {
        let numbers = format!("the curve has no step, and {name} has {sizes} {unit}");
        return Ok(Judgement::in_words(Verdict::DoesNotHold, numbers));
    };
    if nearest.len() < found.len() {
        let numbers = format!("{what}: {at}, if the curve has a step at all");
        return Ok(Judgement::in_words(Verdict::Inconclusive, numbers));
    }
    let within = |[from, to]: [f64; 2]| between(&what, at, from / bytes, to / bytes);
    let judged = within([least / 2.0, most * 2.0])?;
    let Some(range) = crowded.filter(|_| judged.verdict == Verdict::DoesNotHold) else {
        return Ok(judged);
    };
    if within(range)?.verdict == Verdict::DoesNotHold {
        return Ok(judged);
    }
    Ok(untestable(judged, "other cores may have used the last level meanwhile"))
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
    plot: Plot::over_working_set(&[Reference {
        file: "drepper-fig-3.15.csv",
        machine: PENTIUM_4,
        x: "working_set_bytes",
        columns: &[("Sequential", "sequential"), ("Random", "random")],
    }]),
    cases: |machine| {
        let seed = machine.seed;
        let orders = [("sequential", Order::Sequential), ("random", Order::Random { seed })];
        let case = |(series, order), bytes| {
            let setup = WalkSetup::follow(Layout::npad(0), bytes, order);
            Case::new(series, bytes as f64, setup).in_its_own_pages()
        };
        // The rise inside the memory range needs two working sets there.
        let mut sizes = machine.working_sets();
        let beyond = 2 * machine.in_memory();
        if beyond <= machine.largest && !sizes.contains(&beyond) {
            sizes.push(beyond);
        }
        let each = |order| sizes.iter().map(move |&bytes| case(order, bytes));
        orders.into_iter().flat_map(each).collect()
    },
    events: events::WALK,
    claims: &[
        // The paper's walk takes 450 cycles and more at random, and 9 in sequence: no prefetching
        // helps.
        measured(
            "D19.1",
            drepper("3.3.2, Figure 3.15"),
            "in memory, a random step takes more than 10 times as long as a sequential step",
            |e| {
                let gap = ratio(e.in_memory("random"), e.in_memory("sequential"))?;
                at_least("random over sequential", gap, 10.0)
            },
        )
        .then_between(24.7, 50.8, PENTIUM_4)
        .takeaway(
            Shown::Times,
            Touches::Most,
            "Random over sequential access, in memory",
            "A random access to memory takes {now} as long as a sequential one",
        )
        .advice(
            "Lay out data in the order in which you read it. If you cannot, make the data smaller \
             or keep several accesses in flight.",
            "Order saves less than in the paper: measure before you reorganise data for it.",
        ),
        // The random curve does not flatten but keeps on rising. In the figure, it rises 1.04 to
        // 1.17 times per doubling from 2^23 bytes on.
        measured(
            "D19.2",
            drepper("3.3.2, Figure 3.15"),
            "in memory, a random walk never levels off: in 4 KiB pages, any two doublings of the \
             working set in a row make a step more than 1.03 times as long each, on average",
            |e| {
                // Not the smallest working set in the range, whose start is measured anew in every run.
                let first = e.machine.memory_size()?;
                let (last, _) = e.last("random")?;
                if last < 2.0 * first {
                    return Err(Untestable(format!(
                        "the claim needs two working sets, one twice the other, in the {}",
                        e.machine.ranges.memory
                    )));
                }
                // The mean of all doublings would hide that the walk levels off towards the end.
                // A single one is too uncertain beside others: some of the figure's rise 1.04
                // times.
                let span = if 4.0 * first <= last { 4.0f64 } else { 2.0 };
                let growth = |from: f64| {
                    let all = ratio(e.at("random", span * from), e.at("random", from))?;
                    let each = |end: f64| end.powf(1.0 / span.log2());
                    Ok((from, Interval::new(each(all.lo), each(all.hi))))
                };
                let starts = successors(Some(first), |from| Some(2.0 * from));
                let starts = starts.take_while(|from| span * from <= last);
                let Extreme { at, value } = Extreme::least(starts.map(growth))?;
                let [from, to] = [at, span * at].map(|bytes| bytes / 1048576.0);
                let what = format!("least growth per doubling, from {from:.0} to {to:.0} MiB");
                at_least(&what, value, 1.03)
            },
        )
        .then_between(1.04, 1.17, PENTIUM_4)
        .holding(
            "With a larger list, page tables miss the caches more often, or DRAM rows change more \
             often.",
        )
        .failing("The time of a random step in memory levels off."),
    ],
    ..Experiment::PLAIN
};

pub(crate) static CAPACITY: &[Experiment] = &[FIG_3_14];

pub(crate) const SEQUENTIAL: &str = "sequential Inc, NPAD=15";

/// The least growth of the figure's three curves from the middle of L2 to four times the last level,
/// rounded down: 366 over 33.1 cycles on the Pentium 4 with 1 MiB. The others grow 14.2 and 16.6 times.
const GROWTH: f64 = 11.0;

/// Returns the steps that can be the end of the last level: those beyond L2. L2's own step lies at up to
/// twice its size, because the points are an octave apart. If no step lies beyond, the result is the last
/// step unless that is L1d's. A share of the last level that is smaller than L2 adds little to L2, so that
/// both end in one step. That step begins before the size of L2, because random pages fill L2 unevenly.
fn beyond_l2(machine: &Machine, mut steps: Vec<f64>) -> Vec<f64> {
    let half = machine.ranges.l2.hi;
    let last = steps.last().copied().filter(|step| *step > half);
    steps.retain(|step| *step > 4.0 * half);
    if steps.is_empty() {
        steps.extend(last);
    }
    steps
}

fn case(machine: &Machine, series: &str, bytes: usize) -> Case {
    let order =
        if series == RANDOM { Order::Random { seed: machine.seed } } else { Order::Sequential };
    let setup = WalkSetup::follow(Layout::npad(15), bytes, order).with(Step::Inc);
    Case::new(series, bytes as f64, setup)
}

const FIG_3_14: Experiment = Experiment {
    id: "D18",
    name: "drepper-fig-3.14",
    title: "What a larger last level saves",
    question: "Up to which working set does the last level serve this core, and how much time does \
               it save?",
    source: "Drepper 3.3.2, Figure 3.14: Inc on 128-byte elements on three machines. The text \
             describes sequential walks, but the data are those of Figure 3.4, which shows random \
             walks. This test runs both",
    about: "The test walks lists of 128-byte elements, at random and in sequence, and increments a \
            word in each element. The time of a random step rises where the working set outgrows \
            the last level. The other cores decide how much of it the walk finds: if they use it, \
            the share that CPUID reports for one hardware thread (E25), and if they are idle, all \
            of it. The first claim asks whether the rise lies between the two. One machine has one \
            cache size; `linefill compare` draws the curves of several machines, as the figure \
            does. In a virtual machine, other guests may fill the same cache, or the host may \
            report another size, so the rise can lie outside. In the sequential walk, hardware \
            prefetch hides the size of the cache.",
    plot: Plot::over_working_set(&[
        Reference {
            file: "drepper-fig-3.14.csv",
            machine: PENTIUM_4,
            x: "working_set_bytes",
            columns: &[("P4/32k/1M", "Inc, L2 of 1 MiB")],
        },
        Reference {
            file: "drepper-fig-3.14.csv",
            machine: "Pentium 4, 16 KiB L1d, 512 KiB L2, 2 MiB L3 (2007)",
            x: "working_set_bytes",
            columns: &[("P4/16k/512k/2M", "Inc, L3 of 2 MiB")],
        },
        Reference {
            file: "drepper-fig-3.14.csv",
            machine: "Core 2, 32 KiB L1d, 4 MiB L2 (2007)",
            x: "working_set_bytes",
            columns: &[("Core2/32k/4M", "Inc, L2 of 4 MiB")],
        },
    ]),
    cases: |machine| {
        // The random walk is that of Figure 3.4, and measured once.
        let random = machine.working_sets().into_iter();
        let random = random.map(|bytes| case(machine, RANDOM, bytes));
        let sequential = machine.few_working_sets(2).into_iter();
        let sequential = sequential.map(|bytes| case(machine, SEQUENTIAL, bytes));
        random.chain(sequential).collect()
    },
    events: events::WALK,
    claims: &[
        // The larger the last level, the longer the curve stays at the low level of the cache. A walk
        // alone on the machine has the whole level, a walk among busy cores its share of it.
        measured(
            "D18.1",
            drepper("3.3.2, Figure 3.14"),
            "the last rise in the time of a random walk over 128-byte elements lies between half \
             of this CPU's share of the last level and twice the size of the last level",
            |e| {
                let points = into_memory(e)?;
                let memory = e.machine.ranges.memory;
                let [share, whole] = share_to_whole(e.machine)?;
                // The ladder may have found less of the last level than the walk does.
                let memory = memory.lo.max(2.0 * whole);
                let found = steps_by_ends(&points, memory).map(|steps| beyond_l2(e.machine, steps));
                let name = "this CPU's part of the last level";
                // Other cores can leave less than the share, but never more than the whole.
                let crowded = [share / 4.0, 2.0 * whole];
                let judged = step_between(&found, name, [share, whole], Some(crowded))?;
                let chance = [share, whole].map(|bytes| e.no_chance(bytes));
                if let Some(reason) = chance.into_iter().find_map(Result::err) {
                    return Ok(untestable(judged, &reason.to_string()));
                }
                // Nor do other guests move the rise to a larger working set.
                let beyond = |at: Interval| at.lo > 2.0 * whole / 1024.0;
                match judged.value.is_some_and(beyond) {
                    true => Ok(judged),
                    false => unless_strangers(e, Ok(judged)),
                }
            },
        ),
        // Work that fits the larger last level is done much faster; the second Pentium 4 is twice
        // as fast at 2^20 bytes as the first, which goes to memory.
        measured(
            "D18.2",
            drepper("3.3.2, Figure 3.14"),
            "a random step takes more than 1.5 times as long in memory as in the last level",
            |e| {
                let time = e.in_time();
                let near = time.level(RANDOM, e.machine.ranges.llc)?;
                let slower = ratio(time.in_memory(RANDOM), near)?;
                unless_strangers(e, at_least("memory over the last level", slower, 1.5))
            },
        )
        .then(6.7, "Pentium 4, 2 MiB L3 (2007)")
        .takeaway(
            Shown::Times,
            Touches::Many,
            "A random step in memory over one in the last level",
            "A last-level miss takes {now} as long as a hit",
        )
        .advice(
            "Keep data that you access at random smaller than this core's share of the last level.",
            "Fitting data into the last level gains little: aim at L2.",
        ),
        measured(
            "D18.3",
            ours(
                "the text describes sequential walks, but the data are those of Figure 3.4, a \
                 random walk; the growth from L2 to memory tells which walk it was",
            ),
            "from L2 to four times the last level, the time of a random step grows 11 times or \
             more, as in Figure 3.14, and the time of a sequential step grows less",
            |e| {
                let e = e.in_time();
                let growth =
                    |series| ratio(e.in_memory(series), e.level(series, e.machine.ranges.l2)?);
                all_of([
                    at_least("memory over L2 at random", growth(RANDOM), GROWTH),
                    at_most("memory over L2 in sequence", growth(SEQUENTIAL), GROWTH),
                ])
            },
        ),
    ],
    ..Experiment::PLAIN
};
