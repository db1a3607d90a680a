//! The same operations by what all threads together get done, and by who gets how much of it.

use super::{ADD, COMPARE, MCS, PADDED, PARKING, SHARED, TICKET, WAYS, cases, most, over, series};
use crate::experiment::prelude::*;
use crate::stats::Interval;

/// Million operations per second of all threads together, by the number of threads.
fn together(e: &Evidence<'_>, label: &str) -> Option<Curve> {
    let e = &Evidence {
        unit: Unit::Nanoseconds,
        ..*e
    };
    let points = e.series(label).ok()?.into_iter();
    let per_second = |(threads, time): (f64, Interval)| {
        let rate = |time: f64| 1e3 * threads / time;
        (time.lo > 0.0).then(|| (threads, Interval::new(rate(time.hi), rate(time.lo))))
    };
    Some(Curve {
        label: label.to_owned(),
        points: points.filter_map(per_second).collect(),
    })
}

pub(super) const THROUGHPUT: Experiment = Experiment {
    id: "X23",
    name: "contended-throughput",
    title: "One line that all threads want: what they get done together",
    question: "How many additions and turns of a lock do all threads together make per second?",
    source: "Beyond Sestoft 4.2: the cases of X18 by throughput, as David, Guerraoui and Trigonakis \
             show them (SOSP 2013)",
    about: "The cases of X18. The vertical axis is the number of threads divided by the time per \
            operation of the slowest thread. A line that all threads want is a station that \
            serves them one after the other. With one thread it waits for nothing; from the \
            number of threads on that keeps it busy, it serves at its own rate, and more threads \
            only wait longer (the asymptotic bounds of Denning and Buzen, 1978). Operations on \
            separate lines share nothing: there the throughput should grow with the threads.",
    plot: Some(Plot::lines(
        Axis::linear("threads"),
        Axis::log("million operations per second of all threads"),
        Unit::Count,
    )),
    cases,
    curves: |e| {
        let labels = WAYS.iter().map(|(way, _)| series(way, SHARED));
        let labels = labels.chain([series(ADD, PADDED)]);
        let curves = labels.filter_map(|label| together(e, &label));
        curves.filter(|curve| !curve.points.is_empty()).collect()
    },
    claims: &[
        measured(
            "X23.1",
            ours(
                "Denning and Buzen (1978): a station that is never idle serves at its own rate, \
                 however many wait for it",
            ),
            "all threads together, four or more, make at least 0.8 times as many turns per second of an \
             MCS lock as two threads",
            |e| {
                let threads = most(e, 4)?;
                let at = |threads| e.at(&series(MCS, SHARED), threads);
                let kept = ratio(at(2.0)?, at(threads)?)?.scaled(threads / 2.0);
                let what = format!("throughput of {threads} threads over that of two");
                at_least(&what, Ok(kept), 0.8)
            },
        )
        .holding("A longer queue costs waiting, and no throughput.")
        .failing("Handing the lock on takes longer with more threads, or to cores farther away."),
        measured(
            "X23.2",
            ours("an addition needs the line once; a turn of a lock needs it to take and to release"),
            "on one line all threads together make more than 1.5 times as many fetch_adds per second \
             as turns of a ticket lock and of an MCS lock",
            |e| {
                let threads = most(e, 2)?;
                all_of([TICKET, MCS].map(|way| {
                    let what = format!("fetch_adds over turns of a {way}, {threads} threads");
                    at_least(&what, over(e, way, ADD, threads), 1.5)
                }))
            },
        )
        .holding("A counter needs no lock."),
    ],
    ..Experiment::PLAIN
};

pub(super) const FAIRNESS: Experiment = Experiment {
    id: "X24",
    name: "contended-fairness",
    title: "One line that all threads want: who gets it how often",
    question: "How far does the slowest thread fall behind the fastest?",
    source: "Beyond Sestoft 4.2: the cases of X18 by fairness, as David, Guerraoui and Trigonakis \
             measure it (SOSP 2013)",
    about: "The cases of X18 on one line. The vertical axis is the time of the slowest thread over \
            that of the fastest, for as many operations of either: 1 is fair. Locks that serve \
            threads in the order of their arrival are fair by construction. Elsewhere the line \
            decides: the core that has it goes on, and cores near to it get it sooner than \
            others. An attempt of compare_exchange that fails is done again, and may fail again.",
    plot: Some(Plot::lines(
        Axis::linear("threads"),
        Axis::linear("slowest thread over fastest"),
        Unit::Count,
    )),
    cases,
    curves: |e| {
        let fair = |(way, _): &(&str, _)| {
            let label = series(way, SHARED);
            let numbers = e.series(&label).ok()?.into_iter();
            let spread = |(threads, _)| Some((threads, e.spread(&label, threads).ok()?));
            let points: Vec<(f64, Interval)> = numbers.filter_map(spread).collect();
            (!points.is_empty()).then_some(Curve { label, points })
        };
        WAYS.iter().filter_map(fair).collect()
    },
    claims: &[
        measured(
            "X24.1",
            ours("nothing says whose attempt of compare_exchange fails; fetch_add takes its turn"),
            "with all threads on one line, the slowest thread falls behind the fastest more than 1.1 \
             times as far with a loop of compare_exchange as with fetch_add",
            |e| {
                let threads = most(e, 2)?;
                let spread = |way| e.spread(&series(way, SHARED), threads);
                let what = format!(
                    "slowest over fastest of {threads} threads, compare_exchange over fetch_add"
                );
                at_least(&what, ratio(spread(COMPARE)?, spread(ADD)?), 1.1)
            },
        )
        .holding("Some threads fail more often than others."),
        measured(
            "X24.2",
            ours("a lock that lets the running thread go ahead serves the others later"),
            "with all threads on one line, the slowest thread falls behind the fastest more than 1.1 \
             times as far with parking_lot::Mutex as with an MCS lock",
            |e| {
                let threads = most(e, 2)?;
                let spread = |way| e.spread(&series(way, SHARED), threads);
                let what =
                    format!("slowest over fastest of {threads} threads, {PARKING} over {MCS}");
                at_least(&what, ratio(spread(PARKING)?, spread(MCS)?), 1.1)
            },
        )
        .failing("The threads that go ahead are all threads in turn, over the time of a sample."),
    ],
    ..Experiment::PLAIN
};
