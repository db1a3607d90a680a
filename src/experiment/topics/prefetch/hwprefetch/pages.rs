//! The end of a page.

use crate::experiment::prelude::*;
use crate::experiment::topics::prefetch::hwprefetch::{in_memory, minus, per, plot, runs};
use crate::mem::PAGE;
use crate::pattern::Path;
use crate::stats::Interval;

const HALVES: &str = "runs of 16 lines";
const INSIDE: &str = "runs of 32 lines";
const ACROSS: &str = "runs of 32 lines, half of them across pages";
const LONG: usize = 32;

pub(crate) const PAGES: Experiment = Experiment {
    id: "E31",
    name: "hw-prefetch-page-boundary",
    title: "The first line of the next page",
    question: "Does the prefetcher continue into the next page?",
    source: "Drepper 6.3.1: prefetching cannot cross page boundaries",
    seen: &[],
    about: "A list consists of runs of 32 lines at random places. In one list every run lies \
            inside a page; in the other, every second run crosses a page boundary. The difference \
            of the two is the cost of the first line of a page in the middle of a run. Streamers \
            work on physical addresses, and the next page can lie anywhere in physical memory; \
            fetching ahead could also fault. Ivy Bridge and later prefetch the translation of the \
            next page, and some CPUs also its first lines.",
    plot: plot(Axis::linear("lines of a run")),
    cases: |machine| {
        let run = |length| runs(machine, length, Path::Forward);
        let inside = run(LONG);
        // Shifted by a quarter of a page, every second run crosses the end of a page.
        let mut across = inside;
        across.layout = across.layout.skewed(PAGE / 4);
        let (half, long) = (LONG as f64 / 2.0, LONG as f64);
        vec![
            Case::new(HALVES, half, run(LONG / 2)),
            Case::new(INSIDE, long, inside).in_turn(),
            Case::new(ACROSS, long, across).in_turn(),
        ]
    },
    curves: plain_curves,
    events: events::WALK,
    claims: &[
        // A program has misses at page boundaries unless it prefetches or reads from the new page
        // itself.
        measured(
            "E31.1",
            drepper("6.3.1"),
            "in the middle of a run, the first line of a page costs more than three times a line \
             of the second half of a run inside a page",
            |e| {
                in_memory(e)?;
                let length = LONG as f64;
                let half = e.at(HALVES, length / 2.0)?.scaled(length / 2.0);
                let whole = e.at(INSIDE, length)?.scaled(length);
                let line = per(minus(whole, half), length / 2.0);
                let here = Range {
                    lo: length,
                    hi: length,
                };
                let dearer = paired(e, ACROSS, INSIDE, here)?;
                // Every second run crosses.
                let crossing = |ratio: f64| 2.0 * (ratio - 1.0) * whole.middle();
                let first =
                    Interval::new(crossing(dearer.lo) + line.lo, crossing(dearer.hi) + line.hi);
                // No quotient: a prefetcher that brings whole runs leaves almost no cost per line.
                let judged = at_least(
                    "first line less three of the others",
                    minus(first, line.scaled(3.0)),
                    0.0,
                );
                noted(judged, format!("{first} against {line} core cycles"))
            },
        ),
    ],
};
