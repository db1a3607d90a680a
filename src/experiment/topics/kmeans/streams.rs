//! B6: k-means without shared mutable state, and two further variants that the note does not have.

use crate::experiment::prelude::*;
use crate::experiment::topics::kmeans::run::{ClusteringSetup, KMeansSetup, Told};
use crate::experiment::topics::kmeans::{
    BOTH, I7, ONE_P, OWN, THREE_P, TURNS, TWO_P, TWO_Q, TWO_Q_PADDED, VECTORS, WAYS, XEON, cases,
    curves, of_tasks, on_cores, over, plot, points, reference, setup, several,
};
use crate::order;

fn iterations_of(series: &str) -> String {
    format!("{series}: iterations more or less than one thread")
}

fn means_of(series: &str) -> String {
    format!("{series}: distance of its means from one thread's")
}

pub(super) const STREAMS: Experiment = Experiment {
    id: "B6",
    name: "sestoft-kmeans-3p",
    title: "k-means with no shared mutable state",
    question: "Is the functional variant as fast as the fastest other variant, and which variant \
               is faster still?",
    source: "Sestoft, section 3, KMeans3P on parallel streams: 1.264 s on the i7 (2P 1.310 s) and \
             0.553 s on the Xeon (2P 0.853 s), the best of both",
    about: "KMeans3P uses rayon here: threads of a pool group the points by cluster, join the \
            groups and make new clusters from them. The lines of the means stay shared, but \
            nobody writes them. The axis is the number of tasks. Two variants are not in the \
            note. With own sums, each task adds to its own 81 sums, and the sums are added in the \
            order of the tasks: no lock, no list and no line that two tasks write. The vector \
            variant also keeps 32 points in registers (8 with AVX2) and compares them with each \
            mean in turn, so that each mean is loaded once for all of them. It rounds as the \
            plain loop does and finds the same means. Own sums also read plain numbers, where \
            2P reads atomic ones, and go over the points once instead of twice: they are compared \
            with their own time on one task.",
    plot: plot(&[
        reference(I7, &[("i7_2P", TWO_P), ("i7_3P", THREE_P)]),
        reference(XEON, &[("xeon_2P", TWO_P), ("xeon_3P", THREE_P)]),
    ]),
    cases: |machine| {
        let mut all = cases(machine, &[TWO_P, THREE_P], TURNS);
        all.extend(cases(machine, &[ONE_P, TWO_Q, TWO_Q_PADDED, OWN, VECTORS], 1));
        let tasks = on_cores(machine);
        for (series, _) in WAYS {
            let clustered =
                KMeansSetup { points: points(machine, 1), ..setup(machine, series, tasks) };
            for (name, told) in [
                (iterations_of(series), Told::IterationsApart),
                (means_of(series), Told::MeansApart),
            ] {
                let of = clustered.clone();
                all.push(Case::new(name, tasks as f64, ClusteringSetup { of, told }));
            }
        }
        all
    },
    curves,
    claims: &[
        // The variant on parallel streams performs extremely well on both: 1.264 s against 1.310 on
        // the i7, 0.553 s against 0.853 on the Xeon.
        measured(
            "B6.1",
            sestoft("3, KMeans3P"),
            "with a task on each core, KMeans3P takes less than 1.1 times as long as KMeans2P",
            |e| {
                let tasks = several(e, 2)?;
                let slower = over(e, THREE_P, TWO_P, tasks)?;
                let judged = at_most(&format!("3P over 2P, {}", of_tasks(tasks)), slower, 1.1);
                // What the two do differently with one task has nothing to do with sharing.
                match over(e, THREE_P, TWO_P, 1) {
                    Ok(alone) => noted(judged, format!("{alone} with one task")),
                    Err(_) => judged,
                }
            },
        )
        .then_between(0.65, 0.96, BOTH)
        .failing(
            "The parallel streams of KMeans3P cost more than what they share: tasks wait for each \
             other, or for the host.",
        ),
        counted(
            "B6.2",
            ours("the compared variants must compute the same result"),
            "all variants of k-means find the same means within 10^-9, in the same number of \
             iterations within one",
            |e| {
                let tasks = on_cores(e.machine) as f64;
                let mut parts = Vec::new();
                for (series, _) in WAYS {
                    let (iterations, means) = (iterations_of(series), means_of(series));
                    parts.push(between(&iterations, e.at(&iterations, tasks), 0.0, 1.0));
                    let means_apart = e.at(&means, tasks)?.scaled(1e9);
                    parts.push(between(&format!("{means} in 10^-9"), means_apart, 0.0, 1.0));
                }
                all_of(parts)
            },
        ),
        measured(
            "B6.3",
            ours(
                "the note explains the speed of 3P by the absence of shared writes: what do tasks \
                 gain that write only their own sums?",
            ),
            "relative to KMeans2P, k-means with separate sums per task takes at most 0.9 times as \
             long with a task on each core as with one task",
            |e| {
                let tasks = several(e, 2)?;
                // With one task nothing is shared: what own sums save there, they save by other code.
                let at = |tasks| over(e, OWN, TWO_P, tasks);
                let (alone, together) = (at(1)?, at(tasks)?);
                let judged = at_most(
                    &format!("own sums over 2P, {} over one task", of_tasks(tasks)),
                    ratio(together, alone),
                    LESS,
                );
                noted(judged, format!("{together} over {alone}"))
            },
        )
        .failing("KMeans2P loses little time to the writes that its tasks share."),
        measured(
            "B6.4",
            ours("is a variant faster than the note's fastest?"),
            "k-means with own sums and vectors is faster than every other variant, with one task \
             and with a task on each core",
            |e| {
                let mut parts = Vec::new();
                for tasks in order::distinct([1, on_cores(e.machine)]) {
                    for (other, _) in WAYS.into_iter().filter(|(name, _)| *name != VECTORS) {
                        let faster = over(e, VECTORS, other, tasks)?;
                        let what = format!("vectors over {other}, {}", of_tasks(tasks));
                        parts.push(at_most(&what, faster, 1.0));
                    }
                }
                all_of(parts)
            },
        ),
    ],
    ..Experiment::PLAIN
};
