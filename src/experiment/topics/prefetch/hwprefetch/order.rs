//! Walks backwards, and in orders that are not linear.

use crate::experiment::prelude::*;
use crate::experiment::shared::walk::WalkSetup;
use crate::experiment::topics::prefetch::hwprefetch::{
    LINE_ELEMENT, RANDOM, in_memory, plot, runs,
};
use crate::mem::{LINE, PAGE};
use crate::pattern::{Order, Path};
use crate::stats::Interval;

pub(crate) const FORWARDS: &str = "forwards";
const BACKWARDS: &str = "backwards";

pub(crate) const BACKWARD: Experiment = Experiment {
    id: "E32",
    name: "hw-prefetch-backward",
    title: "Towards lower addresses",
    question: "Does the prefetcher follow a walk that goes backwards?",
    source: "Drepper 6.3.1: it recognises strides in either direction",
    seen: &[],
    about: "Both streamers and stride prefetchers go either way; Intel's next-line prefetcher of \
            L1d goes forwards only.",
    plot: Plot::over_working_set(&[]),
    cases: |machine| {
        let seed = machine.seed;
        let sizes = if machine.full {
            machine.working_sets()
        } else {
            vec![machine.in_memory()]
        };
        let orders = [
            (FORWARDS, Order::Sequential),
            (BACKWARDS, Order::Backward),
            (RANDOM, Order::Random { seed }),
        ];
        let mut cases = Vec::new();
        for bytes in sizes {
            for (series, order) in orders {
                let setup = WalkSetup::follow(LINE_ELEMENT, bytes, order);
                cases.push(Case::new(series, bytes as f64, setup));
            }
        }
        cases
    },
    curves: plain_curves,
    events: events::WALK,
    claims: &[
        // The misses that trigger prefetching can be to succeeding or preceding lines.
        measured(
            "E32.1",
            drepper("6.3.1"),
            "in memory, a step to the line before costs less than half of a random step",
            |e| {
                let memory = e.machine.ranges.memory;
                let level = |label| e.level(label, memory);
                let share = ratio(level(BACKWARDS), level(RANDOM))?;
                let over = ratio(level(BACKWARDS), level(FORWARDS))?;
                let judged = at_most("backwards over random", share, 0.5);
                noted(judged, format!("backwards over forwards {over}"))
            },
        ),
    ],
};

const TRIANGULAR: &str = "triangular";
const PAGE_LINES: usize = PAGE / LINE;

pub(crate) const NON_LINEAR: Experiment = Experiment {
    id: "E33",
    name: "hw-prefetch-non-linear",
    title: "Patterns that are not linear",
    question: "Does the prefetcher recognise steps of 1, 2, 3 and so on lines inside a page?",
    source: "Drepper 6.3.1: non-linear patterns are not recognised",
    seen: &[seen(
        "Zen 4",
        "Triangular steps took 0.56 to 0.67 of random ones in eight of ten passes with the core \
         mostly to itself; beside another thread anything from 0.25 to 2.8 was seen. Why they are \
         quicker was not found out.",
    )],
    about: "All three walks visit every line of a page before they leave for another page. A \
            prefetcher that brings what lies around a miss helps with any order of them, so that \
            even a random one comes out below a random walk of all memory; one that learns \
            repeated differences of addresses inside a page may learn the triangular one, too.",
    plot: plot(Axis::log("lines of a run")),
    cases: |machine| {
        let lengths: &[usize] = if machine.full {
            &[8, 16, 32, PAGE_LINES]
        } else {
            &[PAGE_LINES]
        };
        let paths = [
            (FORWARDS, Path::Forward),
            (TRIANGULAR, Path::Triangular),
            (RANDOM, Path::Random),
        ];
        let mut cases = Vec::new();
        for &length in lengths {
            for (series, path) in paths {
                let setup = runs(machine, length, path);
                cases.push(Case::new(series, length as f64, setup));
            }
        }
        cases
    },
    curves: plain_curves,
    events: events::WALK,
    claims: &[
        // Currently prefetch units do not recognise non-linear access patterns.
        measured(
            "E33.1",
            drepper("6.3.1"),
            "inside a page, steps of 1, 2, 3 and so on lines cost at least 0.8 of random ones: \
             they are not recognised",
            |e| {
                at_least(
                    "triangular over random",
                    in_a_page(e, TRIANGULAR, RANDOM),
                    0.8,
                )
            },
        ),
        measured(
            "E33.2",
            ours(
                "a random order inside a page is what the other is held against: it must cost \
                 more than line after line",
            ),
            "inside a page, random steps cost more than twice as much as steps to the next line",
            |e| at_least("random over forwards", in_a_page(e, RANDOM, FORWARDS), 2.0),
        ),
    ],
};

fn in_a_page(e: &Evidence<'_>, of: &str, to: &str) -> Result<Interval, Untestable> {
    in_memory(e)?;
    e.series(of)?;
    e.series(to)?;
    let x = PAGE_LINES as f64;
    ratio(e.at(of, x), e.at(to, x))
}
