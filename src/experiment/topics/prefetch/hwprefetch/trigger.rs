//! How many misses set the prefetcher off.

use crate::experiment::prelude::*;
use crate::experiment::topics::prefetch::hwprefetch::{in_memory, minus, per, plot, runs};
use crate::pattern::Path;
use crate::stats::Interval;

const RUNS: &str = "runs at random places";

pub(crate) const TRIGGER: Experiment = Experiment {
    id: "E28",
    name: "hw-prefetch-trigger",
    title: "How many misses set the prefetcher off",
    question: "Which line of a run that starts anywhere is the first to come early?",
    source: "Drepper 6.3.1: two misses or more",
    seen: &[],
    about: "Intel's streamer wants two misses in a page or more, but its spatial prefetcher \
            brings the other line of an aligned pair of 128 bytes after one, which is half of the \
            second lines here. AMD's region prefetcher learns which lines an instruction tends to \
            touch around a miss, and brings them after one miss, in whatever order they come.",
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
        // To start prefetching at least two misses are needed, or every random access would trigger
        // it.
        measured(
            "E28.1",
            drepper("6.3.1"),
            "the second line of a run at a random place costs at least half of the first: a \
             single miss does not set the prefetcher off",
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
                    format!("the first {misses} cost half a miss or more each"),
                )
            },
        )
        .failing("One miss is enough here to bring the line behind it."),
    ],
};

fn run_lengths(machine: &Machine) -> &'static [usize] {
    if machine.full {
        &[1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 32]
    } else {
        &[1, 2, 3, 4, 8]
    }
}

/// What a line costs by which a run is longer than the next shorter one, in core cycles.
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
