//! Threads that write one line: Sestoft 4.2 with Figure 1, Drepper's Figures 6.10 and 6.11.

use crate::experiment::prelude::*;
use crate::experiment::shared::cores::{most, on_all_cores, on_cores};
use crate::experiment::shared::words::Spacing;
use crate::experiment::topics::coherence::locks::{Library, Way, contend};
use crate::experiment::topics::coherence::series;
use crate::kernel::IncrementWay;

mod figures;

/// Why words side by side cost less than in the note.
const OTHER_MACHINE: &str = "Fewer threads than in the note compete for the line, or a transfer \
                             costs less than between its two sockets.";

pub(crate) static ALL: &[Experiment] =
    &[COHERENCE, figures::FIG_1, figures::FIG_6_10, figures::FIG_6_11];

/// The operations of the threads: the rows of Sestoft's table, and three kinds of lock for the last
/// row.
const WAYS: [(&str, Way); 6] = [
    ("int++", Way::Increment(IncrementWay::Plain)),
    ("fetch_add", Way::Increment(IncrementWay::FetchAdd)),
    ("compare_exchange", Way::Increment(IncrementWay::CompareExchange)),
    ("spin lock", Way::Increment(IncrementWay::SpinLock)),
    ("Mutex", Way::Lock(Library::Std)),
    ("parking_lot::Mutex", Way::Lock(Library::ParkingLot)),
];

/// Where the words lie: the columns of the table, and two distances for the last column.
const PLACES: [(&str, Spacing); 4] = [
    ("one place", Spacing::Shared),
    ("dense", Spacing::Apart(8)),
    ("64 B apart", Spacing::Apart(64)),
    ("128 B apart", Spacing::Apart(128)),
];

/// Number of words side by side that share a line.
const ON_A_LINE: usize = LINE / 8;

/// Index of the lock of another crate in `WAYS`.
const PEER: usize = 5;

/// Index of the lock of the standard library in `WAYS`.
const MUTEX: usize = 4;

const SHARED: &str = PLACES[0].0;
const DENSE: &str = PLACES[1].0;
const PADDED: &str = PLACES[PLACES.len() - 1].0;

/// The largest number of threads in the documents' figures.
const MOST_THREADS: usize = 64;

fn case(machine: &Machine, way: usize, place: usize, threads: usize) -> Option<Case> {
    let case = contend(machine, WAYS[way], PLACES[place], threads)?;
    // As in X18, so that a run measures these cases once.
    let in_both = [SHARED, PADDED].contains(&PLACES[place].0);
    Some(if in_both { case.run_by_run(1) } else { case })
}

/// Judges whether locks of the standard library are slower side by side than apart, and one lock
/// for all threads is slower than both.
fn slower_the_nearer(e: &Evidence<'_>, threads: usize) -> Judged {
    let at = |place| e.at(&series(WAYS[4].0, place), threads as f64);
    let (shared, dense, padded) = (at(SHARED)?, at(DENSE)?, at(PADDED)?);
    all_of([
        at_least("one lock over locks side by side", ratio(shared, &dense), 1.0),
        at_least("side by side over apart", ratio(dense, padded), 1.0),
    ])
}

const COHERENCE: Experiment = Experiment {
    id: "B8",
    name: "sestoft-coherence",
    title: "Four ways to count, in one place, side by side, and apart",
    question: "What does it cost if threads write to one line, although no thread reads what \
               another wrote?",
    source: "Sestoft, section 4.2: 2^25 operations shared by n threads, Xeon E5-2680 v3, 2 x 12 \
             cores",
    about: "Threads increment words or take locks, all in one place, side by side, or on separate \
            lines. The unit of coherence is the line of 64 bytes, not the variable: a line that \
            two cores write moves between them, whether they write the same word or neighbouring \
            words. The cost depends on how long a core keeps the line once it has it. Plain \
            increments wait in the store buffer, and later loads take their values from there; \
            when the line arrives, the core writes it many times. Locked increments need the line \
            each time, but are also slower on a line of their own, so that either kind may show \
            the larger factor. A distance of 64 bytes separates words, unless the CPU fetches \
            lines in pairs: neighbouring lines then disturb each other slightly, and 128 bytes are \
            needed. A lock of parking_lot has one byte, so that 64 such locks share a line, \
            compared with 8 locks of the standard library. A thread that waits for a line waits \
            for all other threads on it, so that an additional time grows with their number. What \
            three claims ask for therefore grows with the number of threads, of which 8 at most \
            share a line. That is ours: the note states what each thread sees, and its value \
            is divided by its number of threads on a line. Of the locks of its 16 threads, four \
            share a line, because a Java object has 16 bytes. For its atomic operations it names \
            no number of threads, and 16 words of 4 bytes on the line are assumed. The bars show \
            the largest number of threads that each had a core.",
    plot: Some(
        Plot::bars(
            Axis::linear(
                "int++ (1), fetch_add (2), compare_exchange (3), spin lock (4), Mutex (5), \
                 parking_lot::Mutex (6)",
            ),
            Axis::log("time relative to 128 B apart"),
            Unit::Count,
        )
        .beside(&[Reference {
            file: "sestoft-coherence-factors.csv",
            machine: "2 x Xeon E5-2680 v3 (2017)",
            x: "case",
            columns: &[
                ("shared_over_padded", "one place (a) over apart (c)"),
                ("dense_over_padded", "dense (b) over apart (c)"),
            ],
        }]),
    ),
    cases: coherence_cases,
    curves: factors,
    claims: &[
        // Slowdowns by false sharing in the cases (1) to (4): 12, 14, 9 and 21. A factor of 2 is
        // our threshold.
        measured(
            "B8.1",
            sestoft("4.2"),
            "int++: threads whose words lie side by side take more than 2 times as long as \
             threads whose words lie apart",
            |e| dense_over_padded(e, WAYS[0].0),
        )
        .then(12.0, "2 x Xeon E5-2680 v3")
        .takeaway(
            Shown::Times,
            Touches::Many,
            "Counters side by side over counters apart, int++",
            "Plain counters side by side take {now} as long as counters apart",
        )
        .advice(
            "Keep per-thread counters in registers, or on lines of their own.",
            "The store buffer hides most of the cost of plain increments. Pad words that threads \
             write often nevertheless.",
        ),
        // As B8.1.
        measured(
            "B8.2",
            sestoft("4.2"),
            "fetch_add: threads whose words lie side by side take more than 2 times as long as \
             threads whose words lie apart",
            |e| dense_over_padded(e, WAYS[1].0),
        )
        .then(14.0, "2 x Xeon E5-2680 v3")
        .takeaway(
            Shown::Times,
            Touches::Many,
            "Counters side by side over counters apart, fetch_add",
            "Atomic counters side by side take {now} as long as counters apart",
        )
        .advice(
            "Put each thread's counter on a line of its own: 64 bytes, or 128 where the CPU \
             fetches lines in pairs.",
            "Padding gains little for these counters: look for data that threads really share \
             first.",
        ),
        // As B8.1.
        measured(
            "B8.3",
            sestoft("4.2"),
            "compare_exchange: threads whose words lie side by side take more than 2 times as \
             long as threads whose words lie apart",
            |e| dense_over_padded(e, WAYS[2].0),
        )
        .then(9.0, "2 x Xeon E5-2680 v3"),
        // As B8.1. The lock there is Java's.
        measured(
            "B8.4",
            sestoft("4.2"),
            "a spin lock: threads whose words lie side by side take more than 2 times as long as \
             threads whose words lie apart",
            |e| dense_over_padded(e, WAYS[3].0),
        )
        .then(21.0, "2 x Xeon E5-2680 v3"),
        // As B8.4.
        measured(
            "B8.5",
            sestoft("4.2"),
            "the standard library's Mutex: threads whose words lie side by side take more than 2 \
             times as long as threads whose words lie apart",
            |e| dense_over_padded(e, WAYS[4].0),
        )
        .then(21.0, "2 x Xeon E5-2680 v3")
        .takeaway(
            Shown::Times,
            Touches::Many,
            "Locks side by side over locks apart, Mutex",
            "Locks side by side take {now} as long as locks apart",
        )
        .advice(
            "Keep locks, and the data they guard, on lines of their own.",
            "Padding gains little for these locks: look for contention first.",
        ),
        // As B8.4.
        measured(
            "B8.6",
            sestoft("4.2"),
            "a lock of parking_lot: threads whose words lie side by side take more than 2 times \
             as long as threads whose words lie apart",
            |e| dense_over_padded(e, WAYS[PEER].0),
        )
        .then(21.0, "2 x Xeon E5-2680 v3"),
        // With 16 threads, one lock, locks side by side and locks apart take 2.313, 0.888 and 0.072
        // s: the first takes 2.6 times as long as the second.
        measured(
            "B8.7",
            sestoft("4.2"),
            "with four threads or more, one lock for all is slower than locks side by side, and \
             locks side by side are slower than locks apart",
            |e| {
                let threads = most(e)?;
                e.machine.cpu_order.at_least(4)?;
                slower_the_nearer(e, threads)
            },
        )
        .then(2.313 / 0.888, "2 x Xeon E5-2680 v3"),
        // The curve of padded locks falls with the number of threads, because there is neither
        // contention nor interference. The threshold is ours.
        measured(
            "B8.8",
            sestoft("4.2, Figure 1"),
            "locks apart scale: with a thread on each core, taking and releasing a lock takes less \
             than 1.2 times as long as with one thread",
            |e| {
                let apart = series(WAYS[MUTEX].0, PADDED);
                let (threads, all) = on_all_cores(e, &apart)?;
                at_most(&format!("{threads} threads over one"), ratio(all, e.at(&apart, 1.0)), 1.2)
            },
        ),
        // In subcase (c), without false sharing, the cases (1) to (3) should scale as well. The
        // threshold is ours.
        measured(
            "B8.10",
            sestoft("4.2"),
            "int++, fetch_add and compare_exchange on words apart scale: with a thread on each \
             core, an operation takes less than 1.2 times as long as with one thread",
            |e| {
                all_of(WAYS[..3].iter().map(|(way, _)| {
                    let apart = series(way, PADDED);
                    let (threads, all) = on_all_cores(e, &apart)?;
                    let what = format!("{way}: {threads} threads over one");
                    at_most(&what, ratio(all, e.at(&apart, 1.0)), 1.2)
                }))
            },
        ),
        // Overheads of coherence per operation, as each thread sees them: 390 ns for a lock (423 side by
        // side and 35 apart, with 16 threads), 730 for an increment, 770 for a compare-and-set. The
        // division by the number of threads on a line is ours: 390 ns by 4 are 97.5 ns.
        measured(
            "B8.11",
            sestoft("4.2"),
            "with locks side by side instead of apart, taking and releasing a Mutex takes at least \
             97.5 ns longer per thread on the line, 8 at most (the threshold per thread is ours)",
            |e| overhead(e, WAYS[4].0, 390.0 / NOTE_LOCKS),
        )
        .then(390.0, "2 x Xeon E5-2680 v3, 16 threads, 4 locks per line")
        .failing(OTHER_MACHINE),
        // As B8.11. The note states no number of threads for its 730 ns; divided by the 16 words of a line,
        // they are 45.6.
        measured(
            "B8.12",
            sestoft("4.2"),
            "with words side by side instead of apart, a fetch_add takes at least 45.6 ns longer \
             per thread on the line, 8 at most (the threshold per thread is ours)",
            |e| overhead(e, WAYS[1].0, 730.0 / NOTE_WORDS),
        )
        .then(730.0, "2 x Xeon E5-2680 v3")
        .failing(OTHER_MACHINE),
        // As B8.12: 770 ns divided by 16 are 48.1 ns.
        measured(
            "B8.13",
            sestoft("4.2"),
            "with words side by side instead of apart, a compare_exchange takes at least 48.1 ns \
             longer per thread on the line, 8 at most (the threshold per thread is ours)",
            |e| overhead(e, WAYS[2].0, 770.0 / NOTE_WORDS),
        )
        .then(770.0, "2 x Xeon E5-2680 v3")
        .failing(OTHER_MACHINE),
        measured(
            "B8.9",
            ours("whether the place of a word matters if no other thread shares its line"),
            "with one thread, the time of an operation is the same, to 10 %, wherever its word \
             lies",
            |e| {
                let mut parts = Vec::new();
                for (index, (way, _)) in WAYS.into_iter().enumerate() {
                    let at = |place| e.at(&series(way, place), 1.0);
                    if index == PEER && at(SHARED).is_err() {
                        continue;
                    }
                    let (shared, dense) = (at(SHARED)?, at(DENSE)?);
                    for (place, other) in [(DENSE, dense), (PADDED, at(PADDED)?)] {
                        let what = format!("{way}: {place} over {SHARED}");
                        parts.push(between(&what, ratio(other, &shared), 0.9, 1.1));
                    }
                }
                all_of(parts)
            },
        ),
    ],
    ..Experiment::PLAIN
};

fn dense_over_padded(e: &Evidence<'_>, way: &str) -> Judged {
    let threads = most(e)?;
    let at = |place| e.at(&series(way, place), threads as f64);
    let slower = ratio(at(DENSE), at(PADDED))?;
    at_least(&format!("side by side over apart with {threads} threads"), slower, 2.0)
}

/// The note's locks on a line: its machine's Java objects have a header of 12 bytes and an alignment of 8.
const NOTE_LOCKS: f64 = LINE as f64 / 16.0;

/// The note's words on a line, elements of an `AtomicIntegerArray`. The number of threads is not stated;
/// that at least so many shared a line is assumed.
const NOTE_WORDS: f64 = LINE as f64 / 4.0;

/// Judges whether the nanoseconds that an operation takes longer side by side than apart, as each thread sees
/// them, are `per_thread` or more for each thread: the note's nanoseconds, divided by its threads on a line.
/// That threshold is ours: a thread that waits for the line waits for all other threads on it. With more
/// threads than words on a line, some would wait for other lines.
fn overhead(e: &Evidence<'_>, way: &str, per_thread: f64) -> Judged {
    most(e)?;
    let on_a_line = on_cores(e.machine).into_iter().filter(|&threads| threads <= ON_A_LINE);
    let threads = on_a_line.max().unwrap_or(1);
    let e = &e.in_time();
    let at = |place| e.at(&series(way, place), threads as f64);
    let (dense, padded) = (at(DENSE)?, at(PADDED)?);
    let what = format!("nanoseconds longer with {threads} threads");
    at_least(&what, minus(dense, padded), per_thread * threads as f64)
}

/// Returns the twelve cells of the note's table as bars, with more kinds of locks and a second
/// distance: the time over the time of words 128 bytes apart, with the largest number of threads
/// that each have a core.
fn factors(e: &Evidence<'_>) -> Vec<Curve> {
    let Ok(threads) = most(e) else { return Vec::new() };
    let bar = |index: usize, place: &str| {
        let at = |place| e.at(&series(WAYS[index].0, place), threads as f64);
        Some(((index + 1) as f64, ratio(at(place), at(PADDED)).ok()?))
    };
    let labels =
        ["one place (a) over apart (c)", "dense (b) over apart (c)", "64 B apart over 128 B apart"];
    let curves = labels.into_iter().zip(PLACES).map(|(label, (place, _))| {
        let bars = (0..WAYS.len()).filter_map(|index| bar(index, place));
        Curve { label: label.to_owned(), points: bars.collect() }
    });
    curves.filter(|curve| !curve.points.is_empty()).collect()
}

fn coherence_cases(machine: &Machine) -> Vec<Case> {
    let mut cases = Vec::new();
    for threads in on_cores(machine) {
        for way in 0..WAYS.len() {
            for place in 0..PLACES.len() {
                cases.extend(case(machine, way, place, threads));
            }
        }
    }
    // Of more cores, a quick run times only what the claims about a thread on each core need.
    let cores = machine.cpu_order.cores();
    if on_cores(machine).iter().all(|&threads| threads < cores) {
        let apart = PLACES.len() - 1;
        cases.extend(
            [0, 1, 2, MUTEX].into_iter().filter_map(|way| case(machine, way, apart, cores)),
        );
    }
    cases
}
