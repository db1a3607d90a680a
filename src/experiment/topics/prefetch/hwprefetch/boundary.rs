//! Runs of lines that cross the end of a page.

use crate::experiment::prelude::*;
use crate::experiment::topics::prefetch::hwprefetch::{if_prefetched, per, plot, runs};
use crate::pattern::Path;

/// The series of runs: of 16 lines, of 32 inside a page, and of 32 of which half cross the end of a page.
type Series = [&'static str; 3];

const SMALL: Series =
    ["runs of 16 lines", "runs of 32 lines", "runs of 32 lines, half of them across pages"];

/// The same in pages of 2 MiB, where half of the long runs cross a multiple of 4 KiB.
const LARGE: Series = [
    "runs of 16 lines, 2 MiB pages",
    "runs of 32 lines, 2 MiB pages",
    "runs of 32 lines, half of them across 4 KiB in 2 MiB pages",
];

const LONG: usize = 32;

pub(crate) const PAGES: Experiment = Experiment {
    id: "E31",
    name: "hw-prefetch-page-boundary",
    title: "The first line of the next page",
    question: "Does the prefetcher continue into the next page?",
    source: "Drepper 6.3.1: prefetching cannot cross page boundaries",
    about: "A list consists of runs of 32 lines at random places. In one list every run lies \
            inside a page; in the other, every second run crosses a page boundary. The difference \
            of the two is what a crossing adds: all lines that come late until a prefetcher has \
            found the run again. Streamers work on physical addresses, and the next page can lie \
            anywhere in physical memory; fetching ahead could also fault. Ivy Bridge and later \
            prefetch the translation of the next page, and some CPUs also its first lines. In \
            pages of 4 KiB, the first line of a page also waits for a page walk. The claim is \
            therefore judged in pages of 2 MiB, if there are some: a streamer stops at a multiple \
            of 4 KiB there as well. In a guest whose host backs them with small pages, the page \
            walk remains.",
    plot: plot(Axis::linear("lines of a run")),
    cases: |machine| {
        let run = |length| runs(machine, length, Path::Forward);
        let inside = run(LONG);
        // Shifted by a quarter of a page, every second run crosses the end of a page.
        let mut across = inside;
        across.layout = across.layout.skewed(PAGE / 4);
        let (half, long) = (LONG as f64 / 2.0, LONG as f64);
        let cases = |[halves, whole, crossing]: Series| {
            [
                Case::new(halves, half, run(LONG / 2)),
                Case::new(whole, long, inside).in_turn(),
                Case::new(crossing, long, across).in_turn(),
            ]
        };
        let small = cases(SMALL).map(Case::in_its_own_pages);
        let large = cases(LARGE).map(Case::in_huge_pages);
        small.into_iter().chain(large).collect()
    },
    events: events::WALK,
    claims: &[
        // A program has misses at page boundaries unless it prefetches or reads from the new page
        // itself.
        measured(
            "E31.1",
            drepper("6.3.1"),
            "a run that crosses a multiple of 4 KiB takes longer by more than two lines of the \
             second half of a run",
            |e| {
                e.machine.memory_size()?;
                // Where the system gives no pages of 2 MiB, the page walk counts.
                let (costs, pages) = match costs_of_runs(e, LARGE) {
                    Ok(costs) => (costs, "in pages of 2 MiB"),
                    Err(_) => (
                        costs_of_runs(e, SMALL)?,
                        "in pages of 4 KiB, with the page walk of the crossing",
                    ),
                };
                let RunCosts { begin, line, crossing } = costs;
                if_prefetched(e, signed_ratio(line, begin), || {
                    // A difference, because a prefetcher that brings whole runs leaves almost no
                    // cost per line.
                    let more = minus(crossing, line.scaled(2.0));
                    noted(
                        at_least("a crossing less two lines", more, 0.0),
                        format!(
                            "a crossing takes {crossing} core cycles, and each line {line}, {pages}"
                        ),
                    )
                })
            },
        ),
    ],
    ..Experiment::PLAIN
};

/// The costs of runs, in core cycles.
struct RunCosts {
    /// What the beginning of a run adds to its lines. Without a prefetcher it is the cost of a line.
    begin: Interval,
    /// A line of the second half of a run.
    line: Interval,
    /// What a multiple of 4 KiB in the middle adds to a run.
    crossing: Interval,
}

fn costs_of_runs(e: &Evidence<'_>, [halves, inside, across]: Series) -> Testable<RunCosts> {
    let length = LONG as f64;
    let half = e.at(halves, length / 2.0)?.scaled(length / 2.0);
    let whole = e.at(inside, length)?.scaled(length);
    let line = per(*minus(&whole, &half), length / 2.0);
    let dearer = paired(e, across, inside, Range::at(length))?;
    // Only every second run crosses.
    let crossing = |ratio: f64| 2.0 * (ratio - 1.0) * whole.middle();
    Ok(RunCosts {
        begin: *minus(half, line.scaled(length / 2.0 - 1.0)),
        line,
        crossing: Interval::new(crossing(dearer.lo), crossing(dearer.hi)),
    })
}
