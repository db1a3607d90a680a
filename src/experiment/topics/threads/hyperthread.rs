//! Drepper 3.3.4, the model of hyper-threads: Figure 3.23.

use crate::experiment::prelude::*;
use crate::experiment::shared::count::CountSetup;
use crate::experiment::shared::walk::{
    CompanySetup, FAR, Lists, WalkSetup, latencies, near_and_far,
};
use crate::host::Nearness;
use crate::model::{HyperThread, least_hit_rate};
use crate::pattern::Layout;

pub(crate) static ALL: &[Experiment] = &[FIG_3_23];

const PAPER: &str = "the formula with the paper's 1.1134";

/// The constant `A` of the figure's line. The parameters of the Pentium 4 behind it were never
/// published.
const ALLOWANCE: f64 = 1.1134;

/// Hit rates of one thread, in percent, at which the line is drawn: from its zero on.
const RATES: [f64; 7] = [55.67, 60.0, 70.0, 80.0, 90.0, 95.0, 100.0];

/// Parameters that the paper does not state, over the range of typical programs: the share of
/// instructions that access memory (`ACCESSES`), and the core cycles of other instructions
/// (`INSTRUCTION`).
const ACCESSES: [f64; 2] = [0.2, 0.5];
const INSTRUCTION: [f64; 2] = [0.25, 1.0];

const FIG_3_23: Experiment = Experiment {
    id: "D31",
    name: "drepper-fig-3.23",
    title: "The hit rate that two hyper-threads need",
    question: "Which hit rate do two hyper-threads need to be as fast together as one thread \
               alone?",
    source: "Drepper 3.3.4, Figure 3.23 and its formula. From the line, the text reads 60 % -> 10 \
             % and 95 % -> 80 %, and no need below 55 %",
    about: "Two hyper-threads share a cache, so that each thread has a lower hit rate than a \
            thread that runs alone. The formula gives the lowest hit rate at which two threads \
            together are as fast as one thread with the hit rate on the horizontal axis. The line \
            depends on the latencies: the longer memory takes compared with L1d, the less hit rate \
            two threads may lose. With latencies of today, the line lies close to the corner where \
            both hit rates are 100 %. The model leaves out that a core overlaps its own misses, so \
            that a second thread finds fewer gaps to fill, and that a core has several levels of \
            cache. On a machine with hyper-threads, two of them also walk lists of their own: \
            lists that always miss, and lists that fit L1d one at a time but not together.",
    plot: Some(
        Plot::lines(
            Axis::linear("hit rate of one thread, %"),
            Axis::linear("lowest hit rate of two threads"),
            Unit::Percent,
        )
        .beside(&[Reference {
            file: "drepper-fig-3.23.csv",
            machine: "Pentium 4 with hyper-threads (2007)",
            x: "G1_percent",
            columns: &[("G2_min_percent", "Figure 3.23")],
        }]),
    ),
    cases: |machine| {
        let count = |rate: f64| {
            let hundredths = (rate * 100.0).round() as u64;
            let setup = CountSetup::computed(PAPER, hundredths, |hundredths| {
                Ok(least_hit_rate(hundredths as f64 / 1e4, ALLOWANCE) * 100.0)
            });
            setup.at(rate)
        };
        let mut cases: Vec<Case> = RATES.into_iter().map(count).collect();
        cases.extend(near_and_far(machine));
        cases.extend(of_one_core(machine));
        cases
    },
    curves: |e| {
        let mut curves = e.curves_of(|label| label == PAPER);
        if let Ok(allowance) = allowance(e) {
            let points = RATES.map(|rate| (rate, needed(rate, allowance))).into();
            let label = "the formula with this machine's latencies".to_owned();
            curves.push(Curve { label, points });
        }
        curves
    },
    claims: &[
        // A hit rate of 60 % needs at least 10 % with two threads, and one of 95 % at least 80
        // %.
        computed(
            "D31.1",
            drepper("3.3.4, Figure 3.23"),
            "in the paper's formula, a program with a hit rate of 60 % alone needs about 10 % with \
             two threads, and a program with 95 % needs about 80 % (2 points allowed)",
            |e| {
                let at = |rate: f64, wanted: f64| {
                    let what = format!("percent needed at {rate} %");
                    between(&what, e.at(PAPER, rate), wanted - 2.0, wanted + 2.0)
                };
                all_of([at(60.0, 10.0), at(95.0, 80.0)])
            },
        ),
        computed(
            "D31.2",
            ours("the slope follows from the formula, whatever the latencies are"),
            "in the paper's formula, one more point of hit rate alone requires two more points \
             with two threads",
            |e| {
                let rise = e.at(PAPER, 95.0)?.middle() - e.at(PAPER, 60.0)?.middle();
                between("slope of the line", Interval::exact(rise / 35.0), 1.99, 2.01)
            },
        ),
        measured(
            "D31.3",
            ours("the formula with the latencies of this CPU instead of those of a Pentium 4"),
            "with the latencies of L1d and memory on this machine, a program with a hit rate of 95 \
             % alone needs at least 80 % with two threads",
            |e| at_least("percent needed here at 95 %", needed(95.0, allowance(e)?), 80.0),
        ),
        // Below 55 % the program can in all cases benefit from a second thread: the CPU is idle
        // enough.
        measured(
            "D31.4",
            drepper("3.3.4"),
            "two hyper-threads that miss at every step get more done than one: a step of each \
             takes less than 2 times as long as alone",
            |e| {
                let slower = beside_the_other(e, e.machine.memory_size()?);
                at_most("two threads over one, memory", slower, 2.0)
            },
        ),
        // The cache that each hyper-thread has is cut in half, so that a high hit rate falls far
        // below what two threads need.
        measured(
            "D31.5",
            drepper("3.3.4"),
            "two hyper-threads whose lists each fill most of L1d get no more done than one: a step \
             of each takes at least 2 times as long as alone",
            |e| {
                let slower = beside_the_other(e, most_of_l1(e.machine) as f64);
                at_least("two threads over one, L1d", slower, 2.0)
            },
        ),
    ],
    ..Experiment::PLAIN
};

/// Returns the formula's `A` for this machine's latencies, over all values of the parameters that
/// the paper does not state.
fn allowance(e: &Evidence<'_>) -> Testable<Interval> {
    let [hit, miss] = latencies(e)?;
    if hit.lo <= 0.0 || miss.lo <= hit.hi {
        return Err(Untestable(format!(
            "the model needs a miss that takes longer than a hit: {miss} and {hit}"
        )));
    }
    let mut found: Option<Interval> = None;
    for accesses in ACCESSES {
        for instruction in INSTRUCTION {
            for (hit, miss) in [(hit.lo, miss.hi), (hit.hi, miss.lo)] {
                let program = HyperThread { accesses, instruction, hit, miss };
                let one = Interval::exact(program.allowance());
                found = Some(found.map_or(one, |all| all.hull(one)));
            }
        }
    }
    found.ok_or_else(|| Untestable("no program to model".to_owned()))
}

/// Returns the hit rate that two threads need for a hit rate of one, both in percent.
fn needed(rate: f64, allowance: Interval) -> Interval {
    let at = |allowance| least_hit_rate(rate / 100.0, allowance) * 100.0;
    Interval::new(at(allowance.lo), at(allowance.hi))
}

const ONE: &str = "one hyper-thread";
const TWO: &str = "two hyper-threads";

/// Three quarters of L1d, in bytes: one such list fits, two do not.
fn most_of_l1(machine: &Machine) -> usize {
    (1.5 * machine.ranges.l1.hi) as usize
}

/// Returns random walks on one and on two hyper-threads of the measuring core, each on its own
/// list. Empty if the core has only one hyper-thread.
fn of_one_core(machine: &Machine) -> Vec<Case> {
    let Ok(pair) = machine.cpu_order.pair(Nearness::Core) else { return Vec::new() };
    let mut cases = Vec::new();
    for bytes in [most_of_l1(machine), machine.in_memory()] {
        let list = WalkSetup::random(Layout::npad(7), bytes, machine.seed);
        for (series, cpus) in [(ONE, &pair[..1]), (TWO, &pair[..])] {
            let (lists, cpus) = (Lists::Own, cpus.to_vec());
            let setup = CompanySetup { list, lists, cpus, pace: SampleOf::Slowest };
            cases.push(Case::new(series, bytes as f64, setup).in_large_pages());
        }
    }
    cases
}

/// Returns the time of a walk beside another walk on the same core, divided by that of a walk alone.
fn beside_the_other(e: &Evidence<'_>, x: f64) -> Testable<Interval> {
    // If nothing could be measured, the points' own reason is reported.
    e.series(FAR)?;
    e.machine.cpu_order.pair(Nearness::Core)?;
    paired_at(e, TWO, ONE, x)
}
