//! False sharing by the number of threads: Drepper's Figures 6.10 and 6.11.

use crate::experiment::prelude::*;
use crate::experiment::shared::words::{IncrementSetup, Spacing};
use crate::experiment::topics::coherence::sharing::at_least_cores;
use crate::kernel::IncrementWay;

const ONE_LINE: &str = "one line";
const OWN_LINES: &str = "lines of their own";

/// Increments by `lock xadd`: the other mode of program A.3.
const ATOMIC_ONE_LINE: &str = "one line, atomic";
const ATOMIC_OWN_LINES: &str = "lines of their own, atomic";

/// Drepper's numbers of threads, limited by the number of cores.
fn drepper_threads(machine: &Machine) -> Vec<usize> {
    (1..=machine.cpu_order.cores().clamp(1, 4)).collect()
}

/// Both modes of the program of Figure 6.10. Figure 6.11 shows plain increments only.
fn drepper_cases(machine: &Machine) -> Vec<Case> {
    let mut cases = Vec::new();
    for threads in drepper_threads(machine) {
        let Ok(cpus) = machine.cpu_order.of(threads) else {
            continue;
        };
        for (name, spacing, way) in [
            (OWN_LINES, Spacing::Apart(128), IncrementWay::Plain),
            (ONE_LINE, Spacing::Apart(8), IncrementWay::Plain),
            (
                ATOMIC_OWN_LINES,
                Spacing::Apart(128),
                IncrementWay::FetchAdd,
            ),
            (ATOMIC_ONE_LINE, Spacing::Apart(8), IncrementWay::FetchAdd),
        ] {
            let setup = IncrementSetup {
                way,
                spacing,
                cpus: cpus.clone(),
            };
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

const COLUMNS: &[(&str, &str)] = &[
    ("ns_separate_cache_lines", OWN_LINES),
    ("ns_same_cache_line", ONE_LINE),
];

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
            spread over many increments. Plain increments therefore suffer less, and less \
            regularly, than atomic increments, which the chart shows beside them.",
    plot: bars(&[Reference {
        file: "drepper-fig-6.10-per-increment.csv",
        machine: "four Pentium 4 (2007)",
        x: "threads",
        columns: COLUMNS,
    }]),
    cases: drepper_cases,
    claims: &[
        // Bars of 14.70, 25.02 and 37.42 ns against 3.00, 3.64 and 4.26: two, three and four
        // threads take 390, 587 and 778 % longer.
        measured(
            "F1.1",
            drepper("6.4.1, Figure 6.10"),
            "threads that increment on one line take at least the paper's 4.9 (two threads), 6.9 \
             (three) or 8.8 (four) times as long as threads on separate lines",
            |e| {
                let threads = most_of_drepper(e)?;
                let slower = ratio(e.at(ONE_LINE, threads), e.at(OWN_LINES, threads))?;
                at_least(
                    &format!("one line over own lines with {threads} threads"),
                    slower,
                    PAPER_TIMES[threads as usize - 2],
                )
            },
        )
        .then_between(4.9, 8.8, "four Pentium 4, two to four threads")
        .takeaway(
            Takeaway::new(
                Shown::Times,
                Touches::Most,
                "Threads on one line over separate lines",
                "Threads that increment on one line take {now} as long as threads on separate \
                 lines",
            )
            .advice(
                "Pad data that a thread writes often to a line of its own: false sharing costs at \
                 least as much as in the paper.",
                "False sharing costs less than in the paper. Measure before you pad, and pad only \
                 data that threads write often.",
            ),
        )
        .holding("The line changes its owner at least as often as on the paper's bus.")
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
                at_least(
                    &format!("one line over own lines, atomic, with {threads} threads"),
                    slower,
                    2.0,
                )
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
        // On the quad-core, 1.54, 2.06 and 1.58 s on one line against 1.14: 35 to 81 % longer.
        // Pairs of cores share an L2.
        measured(
            "F2.1",
            drepper("6.4.1, Figure 6.11"),
            "within a package, threads that increment on one line take at most 1.81 times as long \
             as threads on separate lines",
            |e| {
                let threads = most_of_drepper(e)?;
                let one_package = e.machine.cpu_order.seats()[..threads as usize]
                    .windows(2)
                    .all(|pair| pair[0].package == pair[1].package);
                if !one_package {
                    return Err(Untestable(format!(
                        "the first {threads} cores are not all in one package"
                    )));
                }
                let slower = ratio(e.at(ONE_LINE, threads), e.at(OWN_LINES, threads))?;
                at_most(
                    &format!("one line over own lines with {threads} threads"),
                    slower,
                    1.81,
                )
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
    at_least_cores(&e.machine.cpu_order, 2)?;
    let threads = drepper_threads(e.machine).into_iter().max().unwrap_or(1);
    Ok(threads as f64)
}
