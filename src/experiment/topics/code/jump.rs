//! Sestoft's note, appendix A: the latency table, Figure 5, and ways to fill the array.

use crate::experiment::machine::predict::{Places, in_order, random};
use crate::experiment::prelude::*;
use crate::experiment::shared::count::CountSetup;
use crate::kernel::IndexChase;
use crate::model::{cycle_of_function, long_cycles};
use crate::pattern::{Chain, Fill};

pub(crate) static ALL: &[Experiment] = &[JUMP_TABLE, FIG_5, PITFALLS];

pub(crate) const UNCHECKED: &str = "k = a[k]";
const CHECKED: &str = "k = a[k], index checked";

/// The note's largest array. A larger one is measured only if this one does not lie in memory: making a random
/// cycle of half a billion elements takes seconds.
const LARGEST: usize = 128 << 20;

const JUMP_TABLE: Experiment = Experiment {
    id: "B12",
    name: "sestoft-jump-table",
    title: "Time of k = a[k] over the size of the array",
    question: "How long does a load take that depends on the load before it?",
    source: "Sestoft, A.1: 2^25 iterations over 32-bit indices, arrays of 8 KiB to 128 MiB",
    about: "A loop follows indices through an array that is one random cycle: k = a[k]. The axis \
            is the size of the array. Each load waits for the load before it, so a step takes the \
            latency of the level where the line is found. The curve rises where the array outgrows \
            a cache. Sixteen elements share a line, so an array somewhat larger than a cache has \
            some hits in it. The second series adds a check of the index, as Java makes one.",
    plot: Some(Plot::nanoseconds(Axis::WORKING_SET, Axis::log("time")).beside(&[Reference {
        file: "sestoft_memory_latency.csv",
        machine: "i7-4870HQ and E5-2680v3 (2017)",
        x: "kib",
        columns: &[("i7-4870HQ_ns", "i7-4870HQ"), ("E5-2680v3_ns", "E5-2680v3")],
    }])),
    cases: |machine| {
        let seed = machine.seed;
        let largest = LARGEST.max(machine.in_memory());
        let mut cases = Vec::new();
        for (series, checked) in [(UNCHECKED, false), (CHECKED, true)] {
            for bytes in machine.working_sets() {
                // The note begins at 8 KiB. The check is judged only in L1d and in memory.
                let ranges = &machine.ranges;
                let judged = |bytes| ranges.l1.holds(bytes) || ranges.memory.holds(bytes);
                let noted = (8192..=largest).contains(&bytes);
                if !noted || checked && !machine.full && !judged(bytes as f64) {
                    continue;
                }
                let size = bytes / size_of::<u32>();
                let fill = Fill::Cycle { seed };
                cases.push(Case::new(series, bytes as f64, JumpSetup { size, fill, checked }));
            }
        }
        cases
    },
    events: events::WALK,
    claims: &[
        // The access time is constant for 8 to 32 KiB: 1.4 ns on the i7, 1.5 to 1.7 ns on the Xeon.
        measured(
            "B12.1",
            sestoft("A.1, table"),
            "the time of k = a[k] differs by less than 15 % between the sizes of the array inside \
             L1d",
            |e| {
                let flat = extremes(e, UNCHECKED, e.machine.ranges.l1)?;
                at_most("slowest over fastest size", flat, 1.15)
            },
        )
        .then_between(1.0, 1.13, "i7-4870HQ and Xeon E5-2680 v3"),
        // Constant in L1, reasonably constant for 64 to 256 KiB in L2, and a large jump where the
        // array outgrows L3. From L1 to L2: 2.5 to 3.3 ns over 1.4, 2.6 to 3.5 over 1.5.
        measured(
            "B12.2",
            sestoft("A.1, table"),
            "the time of k = a[k] grows by a factor of more than 1.3 from L1d to L2, from L2 to \
             the last level, and from the last level to memory",
            |e| {
                let ranges = &e.machine.ranges;
                let level = |range| e.level(UNCHECKED, range);
                let jump =
                    |name: &str, from, to| at_least(name, ratio(level(to), level(from)), 1.3);
                all_of([
                    jump("L2 over L1d", ranges.l1, ranges.l2),
                    jump("last level over L2", ranges.l2, ranges.llc),
                    jump("memory over last level", ranges.llc, ranges.memory),
                ])
            },
        )
        .then_between(2.07, 2.13, "i7-4870HQ and Xeon E5-2680 v3"),
        // The same instructions take 1.4 to 94.5 ns, a factor of 67, only because of other contents
        // of the array.
        measured(
            "B12.3",
            sestoft("A.1, table"),
            "the time of k = a[k] at the slowest size is more than 20 times the time at the \
             fastest size",
            |e| {
                // Without a size in memory, the slowest lies in a cache.
                e.machine.memory_size()?;
                at_least("slowest over fastest size", extremes(e, UNCHECKED, EVERYWHERE), 20.0)
            },
        )
        .then(67.0, "i7-4870HQ")
        .takeaway(
            Shown::Times,
            Touches::Some,
            "A dependent load at the slowest size over the fastest",
            "A dependent load takes {now} as long in memory as in L1d",
        )
        .advice(
            "Follow fewer pointers: use indices into arrays, or wider nodes.",
            "Dependent loads cost less than expected: measure before you flatten data structures.",
        ),
        measured(
            "B12.4",
            ours(
                "latency does not fall with the size of the array; if the time falls, something \
                 else was measured. The note's own Xeon is 12 % faster at 16 KiB than at 8",
            ),
            "the time of k = a[k] is never less than 0.95 times the time of the next smaller array",
            |e| never_faster(e, UNCHECKED),
        ),
        measured(
            "B12.5",
            ours("the note's loop includes Java's check of the index"),
            "checking the index costs less than 10 % of the time of k = a[k], in L1d and in \
             memory",
            |e| {
                let ranges = &e.machine.ranges;
                all_of([("L1d", ranges.l1), ("memory", ranges.memory)].map(|(name, range)| {
                    let cost = ratio(e.level(CHECKED, range), e.level(UNCHECKED, range))?;
                    at_most(&format!("checked over not, {name}"), cost, 1.1)
                }))
            },
        )
        .holding(
            "The check is a comparison and a predicted branch. Both run in parallel with the load.",
        ),
    ],
    ..Experiment::PLAIN
};

const EVERYWHERE: Range = Range { lo: 0.0, hi: f64::INFINITY };

/// Returns the largest value of a series inside a range over its smallest value there.
fn extremes(e: &Evidence<'_>, series: &str, range: Range) -> Testable<Interval> {
    let mut inside = Vec::new();
    for (x, _) in e.series(series)? {
        if e.is_sure(range, x) {
            inside.push(*e.at(series, x)?);
        }
    }
    let [first, _, ..] = inside[..] else {
        return Err(Untestable(format!(
            "a comparison needs two points of `{series}` in the {range}"
        )));
    };
    let values = || inside.iter().copied();
    ratio(values().fold(first, Interval::most), values().fold(first, Interval::least))
}

/// Judges whether no point of a series is faster than the point before it by more than 5 %.
///
/// Other physical pages may change a time by 5 %, so the points' own intervals are judged.
fn never_faster(e: &Evidence<'_>, series: &str) -> Judged {
    let points = e.series(series)?;
    let mut worst: Option<(f64, Interval)> = None;
    for pair in points.windows(2) {
        let (x, step) = (pair[1].0, ratio(pair[1].1, pair[0].1)?);
        worst = Some(worst.map_or((x, step), |(at, seen)| {
            let at = if step.hi < seen.hi { x } else { at };
            (at, seen.least(step))
        }));
    }
    let (x, step) = worst.ok_or_else(|| Untestable("only one size was measured".to_owned()))?;
    at_least(&format!("{:.0} KiB over the size before it", x / 1024.0), step, 0.95)
}

const EXAMPLE: [u32; 8] = [6, 0, 3, 5, 7, 1, 4, 2];

const FIG_5: Experiment = Experiment {
    id: "B13",
    name: "sestoft-fig-5",
    title: "The example array",
    question: "Is the array 6, 0, 3, 5, 7, 1, 4, 2 a single cycle?",
    source: "Sestoft, A.1, Figure 5",
    about: "The loop k = a[k] runs through the example array from index 0 until it returns to 0. \
            Nothing is timed.",
    cases: |_| {
        vec![Case::new(
            "cycle length from 0",
            8,
            CountSetup::in_memory("cycle length of Figure 5", 64, 0, |region, _| {
                let slots = region.into_u32s();
                slots[..EXAMPLE.len()].copy_from_slice(&EXAMPLE);
                let chain = Chain::given(&mut slots[..EXAMPLE.len()])?;
                Ok(chain.cycle_length() as f64)
            }),
        )]
    },
    events: events::WALK,
    claims: &[
        // An array with a cyclic index chain of length 8, which covers 32 bytes of memory.
        computed(
            "B13.1",
            sestoft("A.1, Figure 5"),
            "the cycle from index 0 of the array 6, 0, 3, 5, 7, 1, 4, 2 has length 8 and covers \
             all 32 bytes",
            |e| between("cycle length", e.at("cycle length from 0", 8.0), 8.0, 8.0),
        )
        .then(8.0, ""),
    ],
    ..Experiment::PLAIN
};

/// Array lengths at which the fifth fill must be one cycle.
const LENGTHS: [u64; 4] = [1, 2, 1000, 65_536];

/// Array length and number of arrays of the statistics of fills 3 and 4.
const SAMPLE: u64 = 10_000;
const TRIALS: u64 = 2_000;

const ONE_CYCLE: &str = "5: cycle length";
const FUNCTION: &str = "3: mean cycle length";
const PERMUTATION: &str = "4: share of cycles of 0.9 S and more";

const PITFALLS: Experiment = Experiment {
    id: "B14",
    name: "sestoft-fill-pitfalls",
    title: "Five ways to fill the array, of which four are wrong",
    question: "Which fills of the array measure memory latency, and what do the others measure?",
    source: "Sestoft, A.2, approaches 1 to 5",
    about: "The loop k = a[k] runs over an array that is filled in different ways, in memory. \
            Only the fifth fill gives one random cycle through all elements, as a latency test \
            needs. The first two are regular, so prefetchers can follow them. The third and \
            fourth can end in short cycles that fit a cache; their cycle lengths are computed, \
            not timed.",
    plot: Some(Plot::bars(Axis::WORKING_SET, Axis::log("time"), Unit::Nanoseconds)),
    cases: |machine| {
        let seed = machine.seed;
        let bytes = machine.in_memory();
        let size = bytes / size_of::<u32>();
        let timed = [
            ("1: sequential", Fill::Sequential),
            ("2: stride of 17", Fill::Stride(17)),
            ("3: random function", Fill::RandomFunction { seed }),
            ("5: one random cycle", Fill::Cycle { seed }),
        ];
        let mut cases: Vec<Case> = timed
            .into_iter()
            .map(|(series, fill)| {
                Case::new(series, bytes as f64, JumpSetup { size, fill, checked: false })
            })
            .collect();
        let count = |series, size: u64, count| {
            CountSetup::in_memory(series, size as usize * 4, size, count).at(size as f64)
        };
        cases.extend(LENGTHS.map(|length| count(ONE_CYCLE, length, one_cycle)));
        cases.push(count(FUNCTION, SAMPLE, mean_of_functions));
        cases.push(count(PERMUTATION, SAMPLE, share_of_long_cycles));
        cases
    },
    curves: |e| e.curves_of(|label| ![ONE_CYCLE, FUNCTION, PERMUTATION].contains(&label)),
    events: events::WALK,
    claims: &[
        // An array filled from a normalised random permutation has a cyclic index chain of length
        // S.
        computed(
            "B14.1",
            sestoft("A.2, approach 5"),
            "the fifth fill is a single cycle through all elements, for arrays of 1, 2, 1,000 and \
             65,536 elements",
            |e| {
                all_of(LENGTHS.map(|length| {
                    let x = length as f64;
                    between(&format!("cycle of {length}"), e.at(ONE_CYCLE, x), x, x)
                }))
            },
        ),
        computed(
            "B14.2",
            ours(
                "the note says that a random function has short chains by the birthday paradox, \
                 but not how short",
            ),
            "the third fill, a random function on S elements, ends in a cycle of sqrt(pi S / 8) \
             elements on average, within 10 %",
            |e| {
                let x = SAMPLE as f64;
                let expected = cycle_of_function(SAMPLE);
                between("mean cycle length", e.at(FUNCTION, x), 0.9 * expected, 1.1 * expected)
            },
        ),
        computed(
            "B14.3",
            ours(
                "the note calls it inefficient to shuffle again until the chain holds 90 % of all \
                 elements, but does not say how often this succeeds",
            ),
            "the fourth fill, a random permutation, has at least 0.9 of all elements on the cycle \
             through 0 in one case of ten (8 to 12 %)",
            |e| {
                let share = e.at(PERMUTATION, SAMPLE as f64)?;
                let expected = long_cycles(SAMPLE, SAMPLE * 9 / 10);
                let judged = between("share of long cycles", share, 0.08, 0.12);
                noted(judged, format!("of all permutations: {expected:.3}"))
            },
        ),
        // Reading one element fetches the other 15 of its line; a constant stride is recognised by
        // the prefetcher if it is small enough.
        measured(
            "B14.4",
            sestoft("A.2, approaches 1 and 2"),
            "in memory, a step of a random cycle takes at least 3 times as long as a step of 17 \
             elements, and a step of 17 elements at least as long as a sequential step (5 % \
             allowed)",
            |e| {
                let x = e.machine.memory_size()?;
                let time = |series| e.at(series, x);
                let stride = time("2: stride of 17")?;
                all_of([
                    at_least("stride over sequential", ratio(&stride, time("1: sequential")), 0.95),
                    at_least(
                        "random cycle over stride",
                        ratio(time("5: one random cycle"), stride),
                        3.0,
                    ),
                ])
            },
        )
        .holding(
            "Prefetchers follow the constant stride. The second fill measures the prefetchers, \
             not the latency.",
        ),
    ],
    ..Experiment::PLAIN
};

fn cycle_length(region: Region<'_>, size: u64, fill: Fill) -> Testable<usize> {
    Ok(Chain::new(region, size as usize, fill)?.cycle_length())
}

fn one_cycle(region: Region<'_>, size: u64) -> Testable<f64> {
    Ok(cycle_length(region, size, Fill::Cycle { seed: 5 })? as f64)
}

fn mean_of_functions(mut region: Region<'_>, size: u64) -> Testable<f64> {
    let mut sum = 0;
    for seed in 0..TRIALS {
        sum += cycle_length(region.reborrow(), size, Fill::RandomFunction { seed })?;
    }
    Ok(sum as f64 / TRIALS as f64)
}

fn share_of_long_cycles(mut region: Region<'_>, size: u64) -> Testable<f64> {
    let mut long = 0;
    for seed in 0..TRIALS {
        let length = cycle_length(region.reborrow(), size, Fill::Permutation { seed })?;
        long += u32::from(length as f64 >= 0.9 * size as f64);
    }
    Ok(f64::from(long) / TRIALS as f64)
}

/// A walk along an array of 32-bit indices. An operation is a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct JumpSetup {
    /// Elements of the array.
    pub size: usize,
    pub fill: Fill,
    /// Whether every index is checked against the array's length.
    pub checked: bool,
}

impl Setup for JumpSetup {
    fn bytes(&self) -> usize {
        self.size * size_of::<u32>()
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Testable<Workload<'m>> {
        let chain = Chain::new(region, self.size, self.fill)?;
        let jump = IndexChase::new(chain);
        Ok(Workload::steady(if self.checked { jump.checked() } else { jump }, self.size as u64))
    }

    fn predict(&self, parameters: &Parameters<'_>) -> Option<Forecast> {
        let places = Places { count: self.size, stride: size_of::<u32>(), rotating: false };
        match self.fill {
            Fill::Cycle { .. } => random(parameters, places, None),
            Fill::Sequential => in_order(parameters, places, false),
            _ => None,
        }
    }
}
