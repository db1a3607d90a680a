//! Sestoft's Figure 1: one lock, locks side by side, locks apart.

use crate::experiment::prelude::*;
use crate::experiment::topics::coherence::sharing::{
    MOST_QUICK, MOST_THREADS, PEER, SHARED, WAYS, at_least_cores, case, series, slower_the_nearer,
};
use crate::stats::Interval;

/// The series of Figure 1.
const MUTEX: usize = 4;

pub(super) const FIG_1: Experiment = Experiment {
    id: "B9",
    name: "sestoft-fig-1",
    title: "One lock for all threads, locks side by side, locks apart",
    question: "Does the number of locks taken per second grow with the number of threads?",
    source: "Sestoft, section 4.2, Figure 1: 32 M turns (take and release a lock) shared by 1 to \
             64 threads",
    about: "Threads take and release locks: one lock for all, locks side by side, or locks on \
            separate lines. A lock admits one thread at a time, so that more threads cannot take \
            one lock more often; the question is how much slower it becomes. The vertical axis is \
            the time per turn of all threads together. Perfect scaling is a curve that falls with \
            the number of cores; one lock should at best stay flat. With more threads than CPUs, \
            threads share CPUs. If the system suspends a thread that owns the lock, the other \
            threads must wait, too. If a thread instead runs alone for a time slice, it takes the \
            lock without contention, and one lock may even become faster.",
    plot: Some(Plot::lines(
        Axis::log("threads"),
        Axis::log("time per turn of all threads together"),
        Unit::Nanoseconds,
    )),
    cases: |machine| {
        let most = if machine.full {
            MOST_THREADS
        } else {
            MOST_QUICK
        };
        let all = (0..).map(|k| 1 << k).take_while(|&threads| threads <= most);
        let mut cases = Vec::new();
        for threads in all {
            // Threads that share a CPU take long to measure, and only the series of one lock is of
            // interest.
            let shares = threads > machine.cpu_order.cpus().max(2);
            let places: &[usize] = if shares && !machine.full {
                &[0]
            } else {
                &[0, 1, 3]
            };
            for &place in places {
                cases.extend(case(machine, MUTEX, place, threads));
                if !shares || machine.full {
                    cases.extend(case(machine, PEER, place, threads));
                }
            }
        }
        cases
    },
    curves: |e| {
        let mut curves = e.curves();
        for curve in &mut curves {
            for (threads, turn) in &mut curve.points {
                *turn = turn.scaled(1.0 / *threads);
            }
        }
        curves
    },
    claims: &[
        // For a single lock the time does not depend on the number of threads from two on: no
        // scalability. 0.5 to 2 is our threshold.
        measured(
            "B9.1",
            sestoft("4.2, Figure 1"),
            "a single lock for all threads does not scale: with 4 threads or more, all turns \
             together take 0.5 to 2 times as long as with two threads",
            |e| {
                let shared = series(WAYS[MUTEX].0, SHARED);
                at_least_cores(&e.machine.cpu_order, 2)?;
                let two = in_all(e, &shared, 2)?;
                let mut parts = Vec::new();
                for (threads, _) in e.series(&shared)? {
                    if threads > 2.0 {
                        let all = in_all(e, &shared, threads as usize)?;
                        let what = format!("{threads} threads over two");
                        parts.push(between(&what, ratio(all, two), 0.5, 2.0));
                    }
                }
                all_of(parts)
            },
        )
        .then(1.0, "2 x Xeon E5-2680 v3"),
        // The curve of padded locks lies below the curve of dense locks, which lies below the curve
        // of the single lock.
        measured(
            "B9.2",
            sestoft("4.2, Figure 1"),
            "with two threads, locks apart are faster than locks side by side, and locks side by \
             side are faster than one lock",
            |e| {
                at_least_cores(&e.machine.cpu_order, 2)?;
                slower_the_nearer(e, 2)
            },
        ),
    ],
    ..Experiment::PLAIN
};

/// Time per turn of all threads together.
fn in_all(e: &Evidence<'_>, series: &str, threads: usize) -> Testable<Interval> {
    let own = e.at(series, threads as f64)?;
    Ok(own.scaled(1.0 / threads as f64))
}
