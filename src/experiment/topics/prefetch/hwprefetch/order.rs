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
    question: "Does the prefetcher follow a walk towards lower addresses?",
    source: "Drepper 6.3.1: prefetchers recognise strides in either direction",
    seen: &[],
    about: "Three walks visit every line of a working set: forwards, backwards and in random \
            order. The axis is the size of the working set. Streamers and stride prefetchers \
            follow either direction; Intel's next-line prefetcher of L1d works forwards only. In \
            memory, a followed walk costs much less than a random walk, and the distance between \
            the forward and the backward curve shows what the direction costs.",
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
    question: "Does the prefetcher recognise a pattern of steps of 1, 2, 3 and so on lines inside \
               a page?",
    source: "Drepper 6.3.1: non-linear access patterns are not recognised",
    seen: &[seen(
        "Zen 4",
        "On a core that had little other load, triangular steps took 0.56 to 0.67 of the time of \
         random steps in eight of ten passes. Beside another thread the ratio was anywhere from \
         0.25 to 2.8. The cause is unknown.",
    )],
    about: "Memory is divided into runs of neighbouring lines, visited in random order. The axis \
            is the length of a run; 64 lines are a page. Inside a run, the walk goes forwards, by \
            triangular steps (1, 2, 3 and so on lines, modulo the run) or at random, and visits \
            every line before it leaves. A prefetcher that fetches the surroundings of a miss \
            helps in any order, so even random steps inside a page can cost less than a random \
            walk of all memory. A prefetcher that learns repeated address differences inside a \
            page may also learn the triangular steps.",
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
            "inside a page, steps of 1, 2, 3 and so on lines cost at least 0.8 times as much as \
             random steps: the prefetcher does not recognise them",
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
                "random steps inside a page are the baseline of E33.1: they must cost more than \
                 steps to the next line",
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
