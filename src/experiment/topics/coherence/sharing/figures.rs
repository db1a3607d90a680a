//! The figures: Sestoft's Figure 1 of locks, and Drepper's Figures 6.10 and 6.11 of false sharing.

use crate::experiment::prelude::*;
use crate::experiment::shared::cores::MOST_QUICK;
use crate::experiment::shared::words::Spacing;
use crate::experiment::topics::coherence::locks::{ContendSetup, Way};
use crate::experiment::topics::coherence::series;
use crate::experiment::topics::coherence::sharing::{
    MOST_THREADS, MUTEX, PEER, SHARED, WAYS, case, slower_the_nearer,
};
use crate::kernel::IncrementWay;

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
    plot: Some(Plot::nanoseconds(
        Axis::log("threads"),
        Axis::log("time per turn of all threads together"),
    )),
    cases: |machine| {
        let most = if machine.full { MOST_THREADS } else { MOST_QUICK };
        let all = (0..).map(|k| 1 << k).take_while(|&threads| threads <= most);
        let mut cases = Vec::new();
        for threads in all {
            // Threads that share a CPU take long to measure, and only the series of one lock is of
            // interest.
            let shares = threads > machine.cpu_order.cpus().max(2);
            let places: &[usize] = if shares && !machine.full { &[0] } else { &[0, 1, 3] };
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
        for (threads, turn) in curves.iter_mut().flat_map(|curve| &mut curve.points) {
            *turn = turn.scaled(1.0 / *threads);
        }
        curves
    },
    claims: &[
        // For a single lock the time does not depend on the number of threads from two on: no
        // scalability. 0.5 is our threshold. A lock that becomes slower does not scale either.
        measured(
            "B9.1",
            sestoft("4.2, Figure 1"),
            "a single lock for all threads does not scale: with 4 threads or more, all turns \
             together take at least half as long as with two threads",
            |e| {
                let shared = series(WAYS[MUTEX].0, SHARED);
                e.machine.cpu_order.at_least(2)?;
                let two = in_all(e, &shared, 2.0)?;
                let more = e.series(&shared)?.into_iter().filter(|(threads, _)| *threads > 2.0);
                all_of(more.map(|(threads, _)| {
                    let all = in_all(e, &shared, threads)?;
                    at_least(&format!("{threads} threads over two"), ratio(all, &two), 0.5)
                }))
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
                e.machine.cpu_order.at_least(2)?;
                slower_the_nearer(e, 2)
            },
        ),
    ],
    ..Experiment::PLAIN
};

/// Returns the time per turn of all threads together.
fn in_all(e: &Evidence<'_>, series: &str, threads: f64) -> Testable<Reading> {
    Ok(e.at(series, threads)?.scaled(1.0 / threads))
}

const ONE_LINE: &str = "one line";
const OWN_LINES: &str = "lines of their own";

/// Increments by `lock xadd`: the other mode of program A.3.
const ATOMIC_ONE_LINE: &str = "one line, atomic";
const ATOMIC_OWN_LINES: &str = "lines of their own, atomic";

/// Returns Drepper's largest number of threads, limited by the number of cores.
fn drepper_threads(machine: &Machine) -> usize {
    machine.cpu_order.cores().clamp(1, 4)
}

/// Returns the cases of both modes of the program of Figure 6.10. Figure 6.11 shows plain
/// increments only.
fn drepper_cases(machine: &Machine) -> Vec<Case> {
    let mut cases = Vec::new();
    for threads in 1..=drepper_threads(machine) {
        let Ok(cpus) = machine.cpu_order.of(threads) else { continue };
        for (name, spacing, way) in [
            (OWN_LINES, Spacing::Apart(128), IncrementWay::Plain),
            (ONE_LINE, Spacing::Apart(8), IncrementWay::Plain),
            (ATOMIC_OWN_LINES, Spacing::Apart(128), IncrementWay::FetchAdd),
            (ATOMIC_ONE_LINE, Spacing::Apart(8), IncrementWay::FetchAdd),
        ] {
            let way = Way::Increment(way);
            let setup = ContendSetup { way, spacing, cpus: cpus.clone() };
            cases.push(Case::new(name, threads as f64, setup).in_turn());
        }
    }
    cases
}

const fn bars(reference: &'static [Reference]) -> Option<Plot> {
    Some(
        Plot::bars(
            Axis::linear("threads"),
            Axis::linear("time per increment of a thread"),
            Unit::Nanoseconds,
        )
        .beside(reference),
    )
}

const COLUMNS: &[(&str, &str)] =
    &[("ns_separate_cache_lines", OWN_LINES), ("ns_same_cache_line", ONE_LINE)];

/// Time on one line over time on separate lines in Figure 6.10, with two, three and four threads.
const PAPER_TIMES: [f64; 3] = [4.9, 6.9, 8.8];

pub(crate) const FIG_6_10: Experiment = Experiment {
    id: "F1",
    name: "drepper-fig-6.10",
    title: "Threads that increment neighbouring words",
    question: "How does the cost of false sharing depend on the number of threads?",
    source: "Drepper 6.4.1, Figure 6.10, program A.3: 500 million increments per thread",
    about: "Each thread increments a word of its own; the words lie on one line or on separate \
            lines. The paper's four Pentium 4 pass a shared line over the front-side bus at almost \
            every increment. A core with a deep store buffer behaves differently: while the line \
            is away, the core reads its own increments from the store buffer; when the line \
            arrives, the core writes several increments at once. The cost of one transfer is thus \
            spread over several increments, whose number varies. Atomic increments need the line \
            each time, but are also slower on a line of their own, so that either kind may show \
            the larger factor. The chart shows both.",
    plot: bars(&[Reference {
        file: "drepper-fig-6.10-per-increment.csv",
        machine: "four Pentium 4 (2007)",
        x: "threads",
        columns: COLUMNS,
    }]),
    cases: drepper_cases,
    claims: &[
        // In the figure, increments take 14.70, 25.02 and 37.42 ns on one line, and 3.00, 3.64 and
        // 4.26 ns on separate lines: two, three and four threads take 390, 587 and 778 % longer.
        measured(
            "F1.1",
            drepper("6.4.1, Figure 6.10"),
            "threads that increment on one line take at least the paper's 4.9 (two threads), 6.9 \
             (three) or 8.8 (four) times as long as threads on separate lines",
            |e| {
                let threads = most_of_drepper(e)?;
                let slower = ratio(e.at(ONE_LINE, threads), e.at(OWN_LINES, threads))?;
                let what = format!("one line over own lines with {threads} threads");
                at_least(&what, slower, PAPER_TIMES[threads as usize - 2])
            },
        )
        .then_between(4.9, 8.8, "four Pentium 4, two to four threads")
        .takeaway(
            Shown::Times,
            Touches::Most,
            "Threads on one line over separate lines",
            "Threads that increment on one line take {now} as long as threads on separate lines",
        )
        .advice(
            "Pad data that a thread writes often to a line of its own: false sharing costs at \
             least as much as in the paper.",
            "False sharing costs less than in the paper. Measure before you pad, and pad only data \
             that threads write often.",
        )
        .holding(
            "An increment on a line of the thread's own is so quick that the transfer of a line \
             takes as long as many of them.",
        )
        .failing(
            "The store buffer collects increments while the line is away, and writes several at \
             once when the line arrives.",
        ),
        // Four threads on separate lines take 2.13 s, one thread takes 1.36 s: 57 % longer.
        measured(
            "F1.2",
            drepper("6.4.1, Figure 6.10"),
            "threads on separate lines slow each other by less than the paper's 57 %",
            |e| {
                let threads = most_of_drepper(e)?;
                e.machine.cpu_order.one_kind(threads as usize)?;
                let slower = ratio(e.at(OWN_LINES, threads), e.at(OWN_LINES, 1.0))?;
                at_most(&format!("{threads} threads over one"), slower, 1.57)
            },
        )
        .then(1.57, "four Pentium 4, four threads"),
        measured(
            "F1.3",
            ours(
                "program A.3 has an atomic mode beside the plain mode, and the figure does not \
                 show it",
            ),
            "threads that add atomically on one line take more than 2 times as long as threads on \
             separate lines",
            |e| {
                let threads = most_of_drepper(e)?;
                let [one, own] = [ATOMIC_ONE_LINE, ATOMIC_OWN_LINES];
                let slower = ratio(e.at(one, threads), e.at(own, threads))?;
                let what = format!("one line over own lines, atomic, with {threads} threads");
                at_least(&what, slower, 2.0)
            },
        ),
    ],
    ..Experiment::PLAIN
};

pub(crate) const FIG_6_11: Experiment = Experiment {
    id: "F2",
    name: "drepper-fig-6.11",
    title: "Threads that increment neighbouring words within one package",
    question: "Is false sharing harmless between cores that share a cache?",
    source: "Drepper 6.4.1, Figure 6.11: the test of Figure 6.10 on a quad-core Core 2",
    about: "Each thread increments a word of its own; the words lie on one line or on separate \
            lines. On the paper's Core 2, two cores share an L2, so that the line seldom leaves \
            this cache. Where every core has its own L2, a core must fetch a modified line from \
            another core's L2, which takes tens of nanoseconds or more even within a package.",
    plot: bars(&[Reference {
        file: "drepper-fig-6.11-per-increment.csv",
        machine: "Core 2 QX6700 (2007)",
        x: "threads",
        columns: COLUMNS,
    }]),
    cases: |machine| {
        let mut cases = drepper_cases(machine);
        cases.retain(|case| [OWN_LINES, ONE_LINE].contains(&case.series.as_str()));
        cases
    },
    claims: &[
        // On the quad-core, threads take 1.54, 2.06 and 1.58 s on one line, and 1.14 s on separate
        // lines: 35 to 81 % longer. Pairs of cores share an L2.
        measured(
            "F2.1",
            drepper("6.4.1, Figure 6.11"),
            "within a package, threads that increment on one line take at most 1.81 times as long \
             as threads on separate lines",
            |e| {
                let threads = most_of_drepper(e)?;
                let mut pairs = e.machine.cpu_order.first(threads as usize).windows(2);
                if pairs.any(|pair| pair[0].package != pair[1].package) {
                    return Err(Untestable(format!(
                        "the first {threads} cores are not all in one package"
                    )));
                }
                let slower = ratio(e.at(ONE_LINE, threads), e.at(OWN_LINES, threads))?;
                at_most(&format!("one line over own lines with {threads} threads"), slower, 1.81)
            },
        )
        .then_between(1.35, 1.81, "Core 2 QX6700, two to four threads")
        .failing(
            "A core must fetch a modified line from another core's L2. In the paper, two cores \
             share an L2.",
        ),
    ],
    ..Experiment::PLAIN
};

fn most_of_drepper(e: &Evidence<'_>) -> Testable<f64> {
    e.machine.cpu_order.at_least(2)?;
    Ok(drepper_threads(e.machine) as f64)
}
