//! B6: k-means without shared mutable state, and two variants of our own that go on from there.

use crate::experiment::prelude::*;
use crate::experiment::topics::kmeans::run::{ClusteringSetup, KMeansSetup, Told};
use crate::experiment::topics::kmeans::{
    I7, ONE_P, OWN, THREE_P, TURNS, TWO_P, TWO_Q, TWO_Q_PADDED, VECTORS, WAYS, XEON, cases, curves,
    of_tasks, on_cores, over, plot, points, reference, setup, several,
};

/// All but the variant that all others are held against.
fn others() -> impl Iterator<Item = &'static str> {
    let names = WAYS.iter().map(|(name, _)| *name);
    names.filter(|name| *name != VECTORS)
}

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
    question: "Is the functional variant as fast as the best of the others, and what is faster still?",
    source: "Sestoft, section 3, KMeans3P on parallel streams: 1.264 s on the i7 (2P 1.310 s) and \
             0.553 s on the Xeon (2P 0.853 s), the best of both",
    seen: &[],
    about: "3P is on rayon here: threads of a pool group the points, groups are joined, and new \
            clusters made of them; lines of means stay shared. Two variants of our own go on from \
            there. With own sums each task adds to 81 sums that nobody else sees, added up in the \
            order of the tasks: no lock, no list, no line that is written by two. With vectors it \
            also keeps 32 points in registers (8 with AVX2) and passes all means by, each loaded \
            once for all of them, and rounds as the plain loop does, so that the means are the \
            same.",
    plot: plot(&[
        reference(I7, &[("i7_2P", TWO_P), ("i7_3P", THREE_P)]),
        reference(XEON, &[("xeon_2P", TWO_P), ("xeon_3P", THREE_P)]),
    ]),
    cases: |machine| {
        let mut all = cases(machine, &[TWO_P, THREE_P], TURNS);
        all.extend(cases(
            machine,
            &[ONE_P, TWO_Q, TWO_Q_PADDED, OWN, VECTORS],
            1,
        ));
        let tasks = on_cores(machine);
        for (series, _) in WAYS {
            let clustered = KMeansSetup {
                points: points(machine, 1),
                ..setup(machine, series, tasks)
            };
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
    events: &[],
    claims: &[
        // The variant on parallel streams performs extremely well on both: 1.264 s after 1.310 on
        // the i7, 0.553 s after 0.853 on the Xeon.
        measured(
            "B6.1",
            sestoft("3, KMeans3P"),
            "with a task on each core KMeans3P takes less than 1.1 times as long as KMeans2P",
            |e| {
                let tasks = several(e, 2)?;
                let slower = over(e, THREE_P, TWO_P, tasks)?;
                at_most(&format!("3P over 2P, {}", of_tasks(tasks)), slower, 1.1)
            },
        )
        .then_between(
            0.65,
            0.96,
            "i7-4870HQ with 4 cores, 2 x Xeon E5-2680 v3 with 24",
        ),
        computed(
            "B6.2",
            ours("variants are compared that must compute the same"),
            "all variants of k-means find the same means, to 10^-9, and in the same number of \
             iterations, to one more or less",
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
                "the note's explanation of 3P is that nothing shared is written: a variant of 2P \
                 that does that alone tests it",
            ),
            "with a task on each core, k-means with sums of each task's own is faster than \
             KMeans2P",
            |e| {
                let tasks = several(e, 2)?;
                let faster = over(e, OWN, TWO_P, tasks)?;
                at_most(
                    &format!("own sums over 2P, {}", of_tasks(tasks)),
                    faster,
                    1.0,
                )
            },
        ),
        measured(
            "B6.4",
            ours("what is faster still than the best of the note"),
            "k-means with own sums and vectors is faster than every other variant, with one task \
             and with a task on each core",
            |e| {
                let mut parts = Vec::new();
                for tasks in [1, on_cores(e.machine)] {
                    for other in others() {
                        let faster = over(e, VECTORS, other, tasks)?;
                        let what = format!("vectors over {other}, {}", of_tasks(tasks));
                        parts.push(at_most(&what, faster, 1.0));
                    }
                }
                all_of(parts)
            },
        ),
    ],
};
