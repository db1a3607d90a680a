//! Cycle accuracy: the spread of single runs of a hundred cycles and more.

use crate::experiment::Percentile;
use crate::experiment::prelude::*;
use crate::experiment::shared::arithmetic::RegisterSetup;
use crate::experiment::shared::walk::WalkSetup;
use crate::pattern::{Layout, Order};

pub(crate) static ALL: &[Experiment] = &[CYCLE_ACCURACY];

pub(crate) const ID: &str = "X15";

/// The series: a chain whose length in core cycles is known, and walks in the caches of the core.
pub(crate) const SERIES: [&str; 3] = [CHAIN, WALK_IN_L1D, WALK_IN_L2];

const CHAIN: &str = "a chain of 100 core cycles";
const WALK_IN_L1D: &str = "100 steps of a random walk in L1d";
const WALK_IN_L2: &str = "100 steps of a random walk in L2";

/// Operations per run.
const STEPS: u64 = 100;

/// Runs of up to this many times the median count as equally long.
const CLOSE: f64 = 1.1;

/// Why single runs differ.
const INTERRUPTS: &str = "Something interrupts the core.";

const CYCLE_ACCURACY: Experiment = Experiment {
    id: ID,
    name: "cycle-accuracy",
    title: "The spread of single runs of a hundred cycles",
    question: "By how many cycles do single runs of the same code differ?",
    source: "Beyond the papers: what an isolated core is for",
    about: "The test times each run by itself; nothing is averaged or left out. A run is 100 \
            operations. A chain of 100 one-cycle instructions takes the same number of core cycles \
            each time, so that differences between its runs come from the measurement: the steps \
            of the time-stamp counter, changes of the core clock, and interrupts. Walks add the \
            effects of the caches. The curves show how slow the slowest runs are: one run in two \
            is slower than the median, one in 100 is slower than p99, and no run is slower than \
            the last point. On a core that nothing interrupts (`linefill run --isolated`), the \
            curves should stay flat to their end.",
    plot: Some(Plot::lines(
        Axis::log("one run in this many is slower"),
        Axis::log("core cycles per run"),
        // Points are cycles of whole runs, not of operations.
        Unit::Count,
    )),
    cases: |machine| {
        let ranges = &machine.ranges;
        let walk = |series, range| {
            let order = Order::Random { seed: machine.seed };
            let setup = WalkSetup::follow(Layout::npad(7), machine.middle_of(range), order);
            Case::new(series, 0.0, setup).in_large_pages()
        };
        [
            Case::new(CHAIN, 0.0, RegisterSetup),
            walk(WALK_IN_L1D, ranges.l1),
            walk(WALK_IN_L2, ranges.l2),
        ]
        .map(|case| case.run_by_run(STEPS))
        .into()
    },
    curves: |e| {
        let curve = |series: &str| {
            let points: Vec<(f64, Interval)> = Percentile::ALL
                .into_iter()
                .filter_map(|place| {
                    let value = e.percentile(series, 0.0, place).ok()?;
                    // A run shorter than the empty stretch has no place on a logarithmic axis.
                    (value.lo > 0.0).then_some((slower(place), value))
                })
                .collect();
            let label = series.to_owned();
            (!points.is_empty()).then_some(Curve { label, points })
        };
        SERIES.into_iter().filter_map(curve).collect()
    },
    claims: &[
        measured(
            "X15.1",
            ours("a report of cycles is only as precise as the spread of single runs"),
            "of 100 runs of a chain of 100 core cycles, each timed by itself, 99 take less than \
             1.1 times the median",
            |e| close(e, CHAIN),
        )
        .failing(INTERRUPTS),
        measured(
            "X15.2",
            ours("a hit in L1d takes a fixed number of cycles, so the runs should agree"),
            "of 100 runs of 100 steps in L1d, each timed by itself, 99 take less than 1.1 times \
             the median",
            |e| close(e, WALK_IN_L1D),
        )
        .failing(INTERRUPTS),
        measured(
            "X15.3",
            ours("no other core uses the L2 of a core that runs one thread"),
            "of 100 runs of 100 steps in L2, each timed by itself, 99 take less than 1.1 times the \
             median",
            |e| close(e, WALK_IN_L2),
        )
        .failing("Something interrupts the core or uses its L2."),
    ],
    ..Experiment::PLAIN
};

/// Returns n such that one run in n is slower than this place in the distribution. No run is slower
/// than the longest, which is drawn at the number of runs.
fn slower(place: Percentile) -> f64 {
    match place {
        Percentile::P50 => 2.0,
        Percentile::P90 => 10.0,
        Percentile::P99 => 100.0,
        Percentile::P999 => 1000.0,
        Percentile::Max => crate::experiment::point::distribution::RUNS as f64,
    }
}

fn close(e: &Evidence<'_>, series: &str) -> Judged {
    let p99 = e.over_median(series, 0.0, Percentile::P99)?;
    // Two runs of the same length may differ by a step.
    let (step, median) = e.step_of_runs(series, 0.0)?;
    if step as f64 > (CLOSE - 1.0) * median as f64 {
        return Err(Untestable(format!(
            "the time-stamp counter advances in steps of {step} ticks, which is more than a \
             tenth of a run of {median}"
        )));
    }
    at_most("p99 over the median", p99, CLOSE)
}
