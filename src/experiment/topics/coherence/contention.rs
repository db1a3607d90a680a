//! Contention for one line, by additions and by locks: the time of single operations, the
//! throughput of all threads together, and the fairness between them.

use crate::experiment::Percentile;
use crate::experiment::prelude::*;
use crate::experiment::shared::cores::{self, on_cores};
use crate::experiment::shared::words::Spacing;
use crate::experiment::topics::coherence::locks::{Library, Way, contend};
use crate::experiment::topics::coherence::series;
use crate::kernel::{IncrementWay, QueueWay};

pub(crate) static ALL: &[Experiment] = &[CONTENTION, THROUGHPUT, FAIRNESS];

const ADD: &str = "fetch_add";
const COMPARE: &str = "compare_exchange";
const SPIN: &str = "spin lock";
const TICKET: &str = "ticket lock";
const MCS: &str = "MCS lock";
const PARKING: &str = "parking_lot::Mutex";

const WAYS: [(&str, Way); 6] = [
    (ADD, Way::Increment(IncrementWay::FetchAdd)),
    (COMPARE, Way::Increment(IncrementWay::CompareExchange)),
    (SPIN, Way::Increment(IncrementWay::SpinLock)),
    (TICKET, Way::Queue(QueueWay::Ticket)),
    (MCS, Way::Queue(QueueWay::Mcs)),
    (PARKING, Way::Lock(Library::ParkingLot)),
];

const SHARED: &str = "one line";
const PADDED: &str = "padded";

/// Where the words lie. The places are those of B8, so that a run measures them once.
const PLACES: [(&str, Spacing); 2] = [(SHARED, Spacing::Shared), (PADDED, Spacing::Apart(128))];

/// Returns the cases of every way in both places, for each number of threads.
fn cases(machine: &Machine) -> Vec<Case> {
    let mut cases = Vec::new();
    for threads in on_cores(machine) {
        for way in WAYS {
            let both = PLACES.iter().filter_map(|&place| contend(machine, way, place, threads));
            cases.extend(both.map(|case| case.run_by_run(1)));
        }
    }
    cases
}

/// Returns the largest number of threads, if there are at least `least` cores.
fn most(e: &Evidence<'_>, least: usize) -> Testable<f64> {
    e.machine.cpu_order.at_least(least)?;
    Ok(cores::most(e)? as f64)
}

/// Returns the time per operation of one way over that of another, with all threads on one line.
fn over(e: &Evidence<'_>, of: &str, to: &str, threads: f64) -> Testable<Interval> {
    let at = |way| e.at(&series(way, SHARED), threads);
    ratio(at(of)?, at(to)?)
}

/// Judges this ratio on `least` cores or more.
fn compare(
    e: &Evidence<'_>,
    least: usize,
    [of, to]: [&str; 2],
    judge: fn(&str, Testable<Interval>, f64) -> Judged,
    bound: f64,
) -> Judged {
    let threads = most(e, least)?;
    judge(&format!("{of} over {to}, {threads} threads"), over(e, of, to, threads), bound)
}

/// Judges whether the slowest thread falls behind the fastest more than 1.1 times as far with one way as
/// with another.
fn falls_behind(e: &Evidence<'_>, of: &str, to: &str) -> Judged {
    let threads = most(e, 2)?;
    let spread = |way| e.spread(&series(way, SHARED), threads);
    let what = format!("slowest over fastest of {threads} threads, {of} over {to}");
    at_least(&what, ratio(spread(of)?, spread(to)?), 1.1)
}

/// Checks that every two of so many threads are as near to each other as the first two, between which
/// the round trip of a line is timed.
fn equally_near(e: &Evidence<'_>, threads: f64) -> Testable<()> {
    let locations = e.machine.cpu_order.first(threads as usize);
    let mut pairs = locations.iter().enumerate().flat_map(|(index, one)| {
        let before = &locations[..index];
        before.iter().map(move |other| one.to(other))
    });
    let first = pairs.next();
    match (first, pairs.find(|near| Some(*near) != first)) {
        (Some(first), Some(other)) => Err(Untestable(format!(
            "the round trip was timed between the first two threads ({}), and others of the \
             {threads} threads lie elsewhere ({})",
            first.name(),
            other.name()
        ))),
        _ => Ok(()),
    }
}

const CONTENTION: Experiment = Experiment {
    id: "X18",
    name: "contended-line",
    title: "One line that all threads want: throughput, latency and fairness",
    question: "What do a counter and a lock cost when all threads want them at the same time, who \
               waits, and for how long?",
    source: "Beyond Sestoft 4.2: throughput, single operations and fairness, as David, Guerraoui \
             and Trigonakis measure them (SOSP 2013)",
    about: "Every thread adds to a word or takes a lock and gives it back, again and again, with \
            nothing in between: either all threads on one line, or each on lines of its own. The \
            horizontal axis is the number of threads, each on a core of its own. The vertical axis \
            is the time per operation of one thread; the throughput of all threads together is \
            their number divided by this time. On one line only one core can work at a time, and \
            each change of the core costs a transfer of the line: the time should grow at least in \
            proportion to the threads, and the throughput should fall from the first to the second \
            thread. On separate lines the time should not change. The curves of p50, p99 and p99.9 \
            show single operations of one thread, each timed by itself: 99 of 100 take at most the \
            time of p99. The stamps around an operation are time in which the others get the line, \
            so that nearly every single operation waits for it, while a thread that only adds does \
            many additions before it loses the line. A spin lock goes to whichever core gets the \
            line first, possibly the core that has just released it: fewer transfers, and longer \
            waits for the others. A ticket lock and the MCS lock (Mellor-Crummey and Scott) serve \
            threads in the order of their arrival. All waiting threads watch one word of a ticket \
            lock, and each watches a word of its own with MCS, which should pay with many threads. \
            A thread of parking_lot sleeps after a short wait, and lets a running thread go ahead. \
            Where a host stops a virtual CPU, the threads behind it in a queue wait as well; \
            single operations are timed for some seconds at most.",
    plot: Some(Plot::nanoseconds(Axis::linear("threads"), Axis::log("time per operation"))),
    cases,
    curves: |e| {
        let single = |place: Percentile, way: &str| {
            let series = series(way, SHARED);
            let label = format!("{} {series}", place.name());
            curve(e, label, &series, |threads, _| e.percentile(&series, threads, place).ok())
        };
        // All padded words cost about the same.
        let drawn = |label: &str| label.ends_with(SHARED) || label == series(ADD, PADDED);
        let mut curves = e.curves_of(drawn);
        for place in [Percentile::P99, Percentile::P50, Percentile::P999] {
            curves.extend(WAYS.iter().filter_map(|(way, _)| single(place, way)));
        }
        curves
    },
    claims: &[
        measured(
            "X18.1",
            ours("from which number of threads on a counter should be one per thread"),
            "from two threads on, a fetch_add on a line that all threads share takes more than 4 \
             times as long as a fetch_add on a line of the thread's own",
            |e| {
                e.machine.cpu_order.at_least(2)?;
                let several = on_cores(e.machine).into_iter().filter(|&threads| threads > 1);
                all_of(several.map(|threads| {
                    let at = |place| e.at(&series(ADD, place), threads as f64);
                    let what = format!("one line over padded, {threads} threads");
                    at_least(&what, ratio(at(SHARED)?, at(PADDED)?), 4.0)
                }))
            },
        )
        .holding("Give each thread a counter of its own, and add them up when somebody asks.")
        .failing(
            "The core keeps the line for many additions in a row, or overlaps the transfers of \
             the line with other work.",
        ),
        measured(
            "X18.2",
            ours(
                "David, Guerraoui and Trigonakis (SOSP 2013): one location is written fastest by \
                 one thread, and more threads add nothing",
            ),
            "all threads together make less than 1.1 times as many fetch_adds per second on one \
             line as one thread alone",
            |e| {
                let threads = most(e, 2)?;
                let at = |threads| e.at(&series(ADD, SHARED), threads);
                let gain = ratio(at(1.0)?, at(threads)?)?.scaled(threads);
                at_most(&format!("throughput of {threads} threads over that of one"), gain, 1.1)
            },
        ),
        measured(
            "X18.3",
            ours(
                "an attempt of compare_exchange that fails moves the line and is done again; \
                 fetch_add never fails",
            ),
            "with all threads on one line, an addition by a loop of compare_exchange takes more \
             than 1.5 times as long as by fetch_add",
            |e| compare(e, 2, [COMPARE, ADD], at_least, 1.5),
        ),
        measured(
            "X18.4",
            ours("a mean hides who waits: a server is judged by its slowest requests"),
            "p99 of single fetch_adds is more than 4 times as long on a line that all threads \
             share as on a line of the thread's own",
            |e| {
                let threads = most(e, 2)?;
                let [shared, padded] = [SHARED, PADDED].map(|place| {
                    e.percentile_within_step(&series(ADD, place), threads, Percentile::P99)
                });
                let what = format!("p99 on one line over padded, {threads} threads");
                at_least(&what, ratio(shared?, padded?), 4.0)
            },
        )
        .failing("The line comes back quickly: the other cores are near, or few."),
        measured(
            "X18.5",
            ours(
                "Mellor-Crummey and Scott (1991): a queue serves threads in the order of arrival, \
                 a spin lock whoever gets the line first",
            ),
            "the slowest thread falls behind the fastest more than 1.1 times as far with a spin \
             lock as with a ticket lock and with an MCS lock",
            |e| all_of([TICKET, MCS].map(|way| falls_behind(e, SPIN, way))),
        )
        .holding("With a spin lock some threads get more turns than others.")
        .failing("The cores get the line in turns by themselves."),
        measured(
            "X18.6",
            ours(
                "Mellor-Crummey and Scott (1991): threads that watch one word all fetch its line \
                 again at each release, threads that watch words of their own do not",
            ),
            "with four threads or more, a turn of an MCS lock takes less than 0.9 times as long as \
             a turn of a ticket lock",
            |e| compare(e, 4, [MCS, TICKET], at_most, 0.9),
        ),
        measured(
            "X18.7",
            ours(
                "a lock that lets the running thread go ahead keeps its line in one core; a queue \
                 hands it on at every turn",
            ),
            "with all threads on one line, a turn of a ticket lock takes more than 1.5 times as \
             long as a turn of parking_lot::Mutex",
            |e| compare(e, 2, [TICKET, PARKING], at_least, 1.5),
        )
        .holding("Order of arrival is paid for with throughput.")
        .failing(
            "With few threads the queue is short, and the threads of parking_lot hand the lock on \
             about as often.",
        ),
        measured(
            "X18.8",
            ours(
                "nothing limits how often an attempt of compare_exchange fails; fetch_add never \
                 does",
            ),
            "with all threads on one line, p99.9 of single additions by a loop of compare_exchange \
             is more than 1.25 times that of additions by fetch_add",
            |e| {
                let threads = most(e, 2)?;
                let [compare, add] = [COMPARE, ADD].map(|way| {
                    e.percentile_within_step(&series(way, SHARED), threads, Percentile::P999)
                });
                let what = format!("p99.9 of compare_exchange over fetch_add, {threads} threads");
                at_least(&what, ratio(compare?, add?), 1.25)
            },
        )
        .holding("The few slowest additions pay for the failed attempts.")
        .failing("Failed attempts do not pile up in the same additions."),
        measured(
            "X18.9",
            ours(
                "Denning and Buzen (1978): a station that is never idle serves one user after the \
                 other, and each comes back after all; the line of a lock goes to the next thread \
                 and back in every turn",
            ),
            "with all threads at one MCS lock, a turn takes 0.7 to 1.5 times as long as a round \
             trip of a line for each of the threads",
            |e| {
                let threads = most(e, 2)?;
                let trips = e.round_trips(&series(MCS, SHARED), threads)?;
                equally_near(e, threads)?;
                let what = format!("round trips in a turn over {threads} threads");
                between(&what, Ok(trips.scaled(1.0 / threads)), 0.7, 1.5)
            },
        )
        .holding(
            "The queue of the lock is a queue for the line: its time is the threads times a \
             transfer there and back.",
        )
        .failing("A turn is more than a handover, or the threads do not wait at the same time."),
    ],
    ..Experiment::PLAIN
};

/// Returns a curve over the threads of a series. `of` computes its values from the number of threads and the time
/// of each point.
/// `None` if it has no points.
fn curve(
    e: &Evidence<'_>,
    label: String,
    series: &str,
    of: impl Fn(f64, Interval) -> Option<Interval>,
) -> Option<Curve> {
    let points = e.series(series).ok()?.into_iter();
    let points = points.filter_map(|(threads, time)| Some((threads, of(threads, time)?)));
    let points: Vec<(f64, Interval)> = points.collect();
    (!points.is_empty()).then_some(Curve { label, points })
}

pub(super) const THROUGHPUT: Experiment = Experiment {
    id: "X23",
    name: "contended-throughput",
    title: "One line that all threads want: what they get done together",
    question: "How many additions and turns of a lock do all threads together make per second?",
    source: "Beyond Sestoft 4.2: the cases of X18 by throughput, as David, Guerraoui and \
             Trigonakis show them (SOSP 2013)",
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
        let e = &e.in_time();
        let labels = WAYS.iter().map(|(way, _)| series(way, SHARED));
        let million_per_second = |threads: f64, time: Interval| {
            let rate = |time: f64| 1e3 * threads / time;
            (time.lo > 0.0).then(|| Interval::new(rate(time.hi), rate(time.lo)))
        };
        let of_all = |label: String| curve(e, label.clone(), &label, million_per_second);
        labels.chain([series(ADD, PADDED)]).filter_map(of_all).collect()
    },
    claims: &[
        measured(
            "X23.1",
            ours(
                "Denning and Buzen (1978): a station that is never idle serves at its own rate, \
                 however many wait for it",
            ),
            "all threads together, four or more, make at least 0.8 times as many turns per second \
             of an MCS lock as two threads",
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
            ours(
                "an addition needs the line once; a turn of a lock needs it to take and to release",
            ),
            "on one line all threads together make more than 1.5 times as many fetch_adds per \
             second as turns of a ticket lock and of an MCS lock",
            |e| {
                let threads = most(e, 2)?;
                all_of([(TICKET, "a"), (MCS, "an")].map(|(way, article)| {
                    let what =
                        format!("fetch_adds over turns of {article} {way}, {threads} threads");
                    at_least(&what, over(e, way, ADD, threads), 1.5)
                }))
            },
        )
        .holding("Where threads only count, use fetch_add."),
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
            curve(e, label.clone(), &label, |threads, _| e.spread(&label, threads).ok())
        };
        WAYS.iter().filter_map(fair).collect()
    },
    claims: &[
        measured(
            "X24.1",
            ours("nothing says whose attempt of compare_exchange fails; fetch_add takes its turn"),
            "with all threads on one line, the slowest thread falls behind the fastest more than \
             1.1 times as far with a loop of compare_exchange as with fetch_add",
            |e| falls_behind(e, COMPARE, ADD),
        )
        .holding("Some threads fail more often than others.")
        .failing(
            "A failed attempt does not put a thread far behind: no thread loses the line for long.",
        ),
        measured(
            "X24.2",
            ours("a lock that lets the running thread go ahead serves the others later"),
            "with all threads on one line, the slowest thread falls behind the fastest more than \
             1.1 times as far with parking_lot::Mutex as with an MCS lock",
            |e| falls_behind(e, PARKING, MCS),
        )
        .failing("The threads that go ahead are all threads in turn, over the time of a sample."),
    ],
    ..Experiment::PLAIN
};
