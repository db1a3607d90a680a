//! Drepper 3, the computation at the head of the section: what a cache gains.

use crate::experiment::prelude::*;
use crate::experiment::shared::count::CountSetup;
use crate::experiment::shared::walk::WalkSetup;
use crate::model::Reuse;
use crate::pattern::{Layout, Order};
use crate::stats::Interval;

/// The rows of this family.
pub(crate) static ALL: &[Experiment] = &[CACHE_GAIN];

const WITHOUT: &str = "the paper's cycles without a cache";
const WITH: &str = "the paper's cycles with a cache";
const SAVED: &str = "the paper's share saved, %";
const NEAR: &str = "L1d";
const FAR: &str = "memory";

/// Cycles of the paper's cache and of its memory.
const CACHE: f64 = 15.0;
const MEMORY: f64 = 200.0;

const CACHE_GAIN: Experiment = Experiment {
    id: "D1",
    name: "drepper-3-cache-gain",
    title: "What a cache saves on data that is used again",
    question: "How much time does a cache save if a program uses 100 elements 100 times each?",
    source: "Drepper 3: with memory at 200 cycles and the cache at 15, 2,000,000 cycles become \
             168,500, \"an improvement of 91.5%\"",
    about: "The paper computes the time to use 100 elements 100 times each. Without a cache, every \
            use takes a memory access; with a cache, only the first use of each element does, and \
            all other uses hit the cache. The test repeats the computation with the latencies of \
            L1d and memory that it finds. The bars show the total times. L1d has taken 3 to 5 \
            cycles on all cores since the paper; the latency of memory has grown in cycles and \
            hardly in nanoseconds. A nearer L1d and a farther memory both increase the saving.",
    seen: &[],
    plot: Some(Plot::bars(
        Axis::linear("uses of each element"),
        Axis::log("time for 100 elements"),
        Unit::CoreCycles,
    )),
    cases: |machine| {
        let paper = |name, count| {
            let setup = CountSetup {
                name,
                bytes: 0,
                count,
                argument: 0,
            };
            Case::new(name, 100, setup)
        };
        let mut cases = vec![
            paper(WITHOUT, |_, _| Ok(Reuse::DREPPER.without_cache(MEMORY))),
            paper(WITH, |_, _| Ok(Reuse::DREPPER.with_cache(CACHE, MEMORY))),
            paper(
                SAVED,
                |_, _| Ok(Reuse::DREPPER.saved(CACHE, MEMORY) * 100.0),
            ),
        ];
        // As in the table of what each level costs, so that they are measured once.
        let seed = machine.seed;
        let near = machine.middle_of(machine.ranges.l1);
        for (series, bytes) in [(NEAR, near), (FAR, machine.in_memory())] {
            let setup = WalkSetup::follow(Layout::npad(7), bytes, Order::Random { seed });
            cases.push(Case::new(series, bytes as f64, setup).in_large_pages());
        }
        cases
    },
    curves: |e| {
        let curve = |label: &str, total: Result<Interval, Untestable>| {
            let points = vec![(Reuse::DREPPER.uses as f64, total.ok()?)];
            Some(Curve {
                label: label.to_owned(),
                points,
            })
        };
        [
            curve(WITHOUT, e.at(WITHOUT, 100.0)),
            curve(WITH, e.at(WITH, 100.0)),
            curve("here without a cache", here(e).map(|here| here.without)),
            curve("here with L1d", here(e).map(|here| here.with)),
        ]
        .into_iter()
        .flatten()
        .collect()
    },
    events: &[],
    claims: &[
        // With memory at 200 cycles and the cache at 15, 100 elements used 100 times take 168,500
        // cycles instead of 2,000,000: 91.5 % better.
        computed(
            "D1.1",
            drepper("3"),
            "with 200 cycles for memory and 15 for a cache, 2,000,000 cycles become 168,500, which \
             is 91.5 % less",
            |e| {
                let at = |series| e.at(series, 100.0);
                all_of([
                    between("percent saved", at(SAVED), 91.5, 91.6),
                    between("cycles without", at(WITHOUT), 2e6, 2e6),
                    between("cycles with", at(WITH), 168_500.0, 168_500.0),
                ])
            },
        )
        .then(91.5, ""),
        measured(
            "D1.2",
            ours("the document's computation with the latencies of this machine"),
            "with the latencies of this machine's L1d and memory, a cache saves 91.5 % or more of \
             the time to use 100 elements 100 times",
            |e| {
                let here = here(e)?;
                at_least("percent saved here", here.saved, 91.5)
            },
        )
        .holding(
            "Relative to L1d, memory is about as far away as the document's 200 to 15 cycles, or \
             farther.",
        ),
        measured(
            "D1.3",
            ours("the part that takes longer, first uses or repeated uses, is worth optimising"),
            "when a program uses 100 elements 100 times, the hits in L1d take more time than the \
             first uses from memory",
            |e| {
                let (near, far) = latencies(e)?;
                let uses = Reuse::DREPPER.uses as f64;
                let hits = near.scaled(uses - 1.0).ratio(far);
                let hits = hits.ok_or_else(|| Untestable("a latency is not positive".into()))?;
                at_least("time of hits over that of first uses", hits, 1.0)
            },
        )
        .holding("The repeated uses are worth optimising more than the first uses.")
        .failing(
            "The first uses, 1 % of all, take at least as long as all repeated uses together.",
        ),
    ],
};

/// The paper's computation with this machine's latencies.
struct Here {
    without: Interval,
    with: Interval,
    saved: Interval,
}

/// Latencies of L1d and memory.
fn latencies(e: &Evidence<'_>) -> Result<(Interval, Interval), Untestable> {
    let memory = e.machine.place_in_memory(e.machine.in_memory())?;
    let (_, near) = e.last(NEAR)?;
    Ok((near, e.at(FAR, memory)?))
}

fn here(e: &Evidence<'_>) -> Result<Here, Untestable> {
    let (near, far) = latencies(e)?;
    let reuse = Reuse::DREPPER;
    let ends = |of: fn(&Reuse, f64, f64) -> f64| {
        Interval::new(of(&reuse, near.lo, far.lo), of(&reuse, near.hi, far.hi))
    };
    Ok(Here {
        without: ends(|reuse, _, far| reuse.without_cache(far)),
        with: ends(Reuse::with_cache),
        // The gain is least where the cache is slow and memory is near.
        saved: Interval::new(
            reuse.saved(near.hi, far.lo) * 100.0,
            reuse.saved(near.lo, far.hi) * 100.0,
        ),
    })
}
