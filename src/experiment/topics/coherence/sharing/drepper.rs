//! False sharing by the number of threads: Drepper's Figures 6.10 and 6.11.

use crate::experiment::prelude::*;
use crate::experiment::shared::increment::{IncrementSetup, Spacing};
use crate::experiment::topics::coherence::sharing::at_least_cores;
use crate::kernel::IncrementWay;

const ONE_LINE: &str = "one line";
const OWN_LINES: &str = "lines of their own";

/// By `lock xadd`: the other mode of program A.3.
const ATOMIC_ONE_LINE: &str = "one line, atomic";
const ATOMIC_OWN_LINES: &str = "lines of their own, atomic";

/// Threads of Drepper's figures, as far as there are cores.
fn drepper_threads(machine: &Machine) -> Vec<usize> {
    (1..=machine.cpu_order.cores().clamp(1, 4)).collect()
}

/// Both modes of Figure 6.10's program. Figure 6.11 is of plain increments.
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
                pace: SampleOf::Slowest,
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
            Axis::linear("time of a thread's increment"),
            Unit::Nanoseconds,
        )
        .beside(reference),
    )
}

const COLUMNS: &[(&str, &str)] = &[
    ("ns_separate_cache_lines", OWN_LINES),
    ("ns_same_cache_line", ONE_LINE),
];

/// How many times as long two, three and four threads take on one line as on lines of their own in
/// Figure 6.10.
const PAPER_TIMES: [f64; 3] = [4.9, 6.9, 8.8];

pub(crate) const FIG_6_10: Experiment = Experiment {
    id: "F1",
    name: "drepper-fig-6.10",
    title: "Threads that increment neighbouring words",
    question: "What does false sharing cost, by the number of threads?",
    source: "Drepper 6.4.1, Figure 6.10, program A.3: 500 million increments a thread",
    seen: &[],
    about: "The paper's four Pentium 4 pass the line over the front-side bus at almost every \
            increment. A core with a deep store buffer reads its own increments back out of it \
            while the line is away, and writes them all at once when the line comes: the cost is \
            spread over many increments. That makes the damage of plain increments smaller, and \
            less regular, than that of atomic ones, which are timed beside them.",
    plot: bars(&[Reference {
        file: "drepper-fig-6.10-per-increment.csv",
        machine: "four Pentium 4 (2007)",
        x: "threads",
        columns: COLUMNS,
    }]),
    events: &[],
    cases: drepper_cases,
    curves: plain_curves,
    claims: &[
        // Bars of 14.70, 25.02 and 37.42 ns beside 3.00, 3.64 and 4.26: 390 % more with two
        // threads, and 587 and 778 % with three and four.
        measured(
            "F1.1",
            drepper("6.4.1, Figure 6.10"),
            "threads that increment on one line take at least the paper's 4.9 (two threads), 6.9 \
             (three) or 8.8 (four) times as long as on lines of their own",
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
                "Threads on one line over lines of their own",
                "Threads that increment on one line take {now} as long as on lines of their \
                 own",
            )
            .advice(
                "Pad what each thread writes often to a line of its own: false sharing costs as \
                 much as in the paper, or more.",
                "False sharing costs less than in the paper. Measure before you pad, and pad \
                 only what threads write often.",
            ),
        )
        .holding("The line is passed on at least as often as over the paper's bus.")
        .failing(
            "The store buffer gathers increments while the line is away, and writes several at \
             once when it comes.",
        ),
        // Four threads on lines of their own take 2.13 s, one takes 1.36: 57 % more.
        measured(
            "F1.2",
            drepper("6.4.1, Figure 6.10"),
            "threads on lines of their own slow each other by less than the paper's 57 %",
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
                "program A.3 has an atomic mode beside the plain one, of which the figure shows \
                 nothing",
            ),
            "threads that add atomically on one line take more than 2 times as long as on lines of \
             their own",
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
};

pub(crate) const FIG_6_11: Experiment = Experiment {
    id: "F2",
    name: "drepper-fig-6.11",
    title: "Threads that increment neighbouring words within one package",
    question: "Is false sharing harmless between cores that share a cache?",
    source: "Drepper 6.4.1, Figure 6.11: the test of Figure 6.10 on a quad-core Core 2",
    seen: &[],
    about: "On the paper's Core 2 two cores share an L2, so that the line seldom leaves it. \
            Where every core has an L2 of its own, a modified line must be fetched out of \
            another core's: tens to a hundred nanoseconds even within a package.",
    plot: bars(&[Reference {
        file: "drepper-fig-6.11-per-increment.csv",
        machine: "Core 2 QX6700 (2007)",
        x: "threads",
        columns: COLUMNS,
    }]),
    events: &[],
    cases: |machine| {
        let mut cases = drepper_cases(machine);
        cases.retain(|case| [OWN_LINES, ONE_LINE].contains(&case.series.as_str()));
        cases
    },
    curves: plain_curves,
    claims: &[
        // On the quad-core 1.54, 2.06 and 1.58 s on one line beside 1.14: 35 to 81 % more. The
        // cores share an L2 by twos.
        measured(
            "F2.1",
            drepper("6.4.1, Figure 6.11"),
            "within a package threads that increment on one line take at most 1.81 times as long \
             as on lines of their own",
            |e| {
                let threads = most_of_drepper(e)?;
                let one_package = e.machine.cpu_order.seats()[..threads as usize]
                    .windows(2)
                    .all(|pair| pair[0].package == pair[1].package);
                if !one_package {
                    return Err(Untestable(format!(
                        "the first {threads} cores here are not of one package"
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
            "A line that is modified has to be fetched out of another core's L2, which two of \
             the paper's cores had in common.",
        ),
    ],
};

fn most_of_drepper(e: &Evidence<'_>) -> Result<f64, Untestable> {
    at_least_cores(&e.machine.cpu_order, 2)?;
    let threads = drepper_threads(e.machine).into_iter().max().unwrap_or(1);
    Ok(threads as f64)
}
