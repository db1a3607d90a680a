//! How many misses trigger the prefetcher.

use crate::experiment::prelude::*;
use crate::experiment::topics::prefetch::hwprefetch::{in_memory, minus, per, plot, runs};
use crate::pattern::Path;
use crate::stats::Interval;

const RUNS: &str = "runs at random places";

pub(crate) const TRIGGER: Experiment = Experiment {
    id: "E28",
    name: "hw-prefetch-trigger",
    title: "How many misses trigger the prefetcher",
    question: "In a run of lines at a random place, which line is the first to arrive early?",
    source: "Drepper 6.3.1: two or more misses trigger prefetching",
    seen: &[],
    about: "A list consists of runs of neighbouring lines at random places. The axis is the \
            length of the runs. Each point shows the cost per line that a run gains over the next \
            shorter run, so a drop shows the first line that a prefetcher brings early. Intel's \
            streamer waits for at least two misses in a page. Intel's spatial prefetcher brings \
            the other line of an aligned 128-byte pair after one miss; in runs of two, the second \
            line is always such a line. AMD's region prefetcher learns which lines an instruction \
            tends to touch around a miss, and fetches them after one miss in any order.",
    plot: plot(Axis::linear("lines of a run")),
    cases: |machine| {
        run_lengths(machine)
            .iter()
            .map(|&length| {
                let setup = runs(machine, length, Path::Forward);
                Case::new(RUNS, length as f64, setup)
            })
            .collect()
    },
    curves: |e| {
        vec![Curve {
            label: "the last lines of a run".to_owned(),
            points: added_lines(e).unwrap_or_default(),
        }]
    },
    events: events::WALK,
    claims: &[
        // Prefetching starts after two misses or more; otherwise every random access would trigger
        // it.
        measured(
            "E28.1",
            drepper("6.3.1"),
            "the second line of a run at a random place costs at least half as much as the first: \
             a single miss does not trigger the prefetcher",
            |e| {
                in_memory(e)?;
                let lines = added_lines(e)?;
                let cost = |length: f64| {
                    let found = lines.iter().find(|line| line.0 == length);
                    found.map(|line| line.1).ok_or_else(|| {
                        Untestable(format!("runs of {length:.0} lines were not measured"))
                    })
                };
                let first = cost(1.0)?;
                let judged = at_least(
                    "second line over the first",
                    share_of_miss(cost(2.0)?, first),
                    0.5,
                );
                let misses = lines
                    .iter()
                    .take_while(|line| line.1.middle() >= first.middle() / 2.0)
                    .last();
                let misses = misses.map_or(1.0, |line| line.0);
                noted(
                    judged,
                    format!("lines from the first that cost half a miss or more each: {misses}"),
                )
            },
        )
        .failing("On this CPU one miss is enough to fetch the next line."),
    ],
};

fn run_lengths(machine: &Machine) -> &'static [usize] {
    if machine.full {
        &[1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 32]
    } else {
        &[1, 2, 3, 4, 8]
    }
}

/// The cost per line that a run has more than the next shorter run, in core cycles.
fn added_lines(e: &Evidence<'_>) -> Result<Vec<(f64, Interval)>, Untestable> {
    e.series(RUNS)?;
    let mut shorter = (0.0, Interval::exact(0.0));
    let mut lines = Vec::new();
    for &length in run_lengths(e.machine) {
        let length = length as f64;
        let whole = e.at(RUNS, length)?.scaled(length);
        lines.push((length, per(minus(whole, shorter.1), length - shorter.0)));
        shorter = (length, whole);
    }
    Ok(lines)
}
