//! The time of an access to each level: the tables of Drepper 3.2 and Sestoft's A.1, and what a cache saves.

use crate::experiment::baseline::ladder::{LINES, of_lines};
use crate::experiment::prelude::*;
use crate::experiment::shared::arithmetic::RegisterSetup;
use crate::experiment::shared::count::CountSetup;
use crate::experiment::shared::walk::{latencies, near_and_far};
use crate::model::Reuse;
use crate::order;

pub(crate) static ALL: &[Experiment] = &[PENTIUM_M, SESTOFT_4];

/// The levels, from near to far.
const LEVELS: [&str; 5] = ["register", "L1d", "L2", "last level", "memory"];

const fn plot(unit: Unit) -> Option<Plot> {
    Some(Plot::bars(Axis::WORKING_SET, Axis::log("time"), unit))
}

/// Returns the cases: a chain in a register, and a random walk in the middle of each range.
fn cases(machine: &Machine) -> Vec<Case> {
    let ranges = &machine.ranges;
    let walk = |level: usize, lines, bytes| of_lines(LEVELS[level], lines, bytes, machine.seed);
    let dense = [
        (1, ranges.l1, machine.middle_of(ranges.l1)),
        (2, ranges.l2, machine.middle_of(ranges.l2)),
        (4, ranges.memory, machine.in_memory()),
    ];
    let mut cases = vec![Case::new(LEVELS[0], 8, RegisterSetup)];
    // A range can be empty, or lie beyond the memory that may be allocated. Its claim then says so.
    let dense = dense.into_iter().filter(|(_, range, bytes)| range.holds(*bytes as f64));
    cases.extend(dense.map(|(level, _, bytes)| walk(level, 1, bytes)));
    // Other programs may leave little room in a shared level, and the room changes during a run. A
    // walk over one line in eight of a span of four times L2 needs little room: it has half as many
    // lines as L2 holds. It still leaves L2, because these lines fall in an eighth of L2's sets.
    cases.extend(behind_l2(machine).map(|bytes| walk(3, LINES, bytes)));
    order::by_key(&mut cases, |case| LEVELS.iter().position(|level| *level == case.series));
    cases
}

/// Returns the span of the walk in the last level, if there is a level behind L2.
fn behind_l2(machine: &Machine) -> Option<usize> {
    let [_, l2, llc] = machine.ranges.capacities.get(..3)? else { return None };
    let stated = |of: &Capacity| of.reported.or(of.measured);
    let span = 4.0 * stated(l2)?;
    let level = stated(llc)? >= span / 2.0;
    (level && span <= machine.largest as f64).then_some(span as usize)
}

/// Judges whether each of some levels takes at least `factor` times as long as the level before it.
fn each_step(e: &Evidence<'_>, levels: &[&str], factor: f64) -> Judged {
    let cost = |level: &str| {
        if e.points.iter().all(|point| point.series != level) {
            return Err(Untestable(format!("no working set was found that lies in {level} alone")));
        }
        e.last(level).map(|(_, cost)| cost)
    };
    all_of(levels.windows(2).map(|pair| {
        let step = ratio(cost(pair[1]), cost(pair[0]))?;
        at_least(&format!("{} over {}", pair[1], pair[0]), step, factor)
    }))
}

const PENTIUM_M: Experiment = Experiment {
    id: "D7",
    name: "drepper-table-pentium-m",
    title: "Core cycles to reach each level",
    question: "How many core cycles does an access to each level of the memory hierarchy take?",
    source: "Drepper 3.2, the table of a Pentium M: register 1 or less, L1d about 3, L2 about 14, \
             memory about 240 core cycles",
    about: "The test times a chain of operations in a register, and random walks in the middle of \
            L1d, of L2, of the last level and of memory. The walk in the last level uses one line \
            in eight over a span of four times L2, so it needs only half of L2's size in the last \
            level. A walk that used every line would go to memory if others had filled the rest of \
            a shared last level. The Pentium M of the table has no third level.",
    plot: plot(Unit::CoreCycles),
    cases,
    events: events::WALK,
    claims: &[
        // Register 1 or less, L1d about 3, L2 about 14, main memory about 240 cycles.
        measured(
            "D7.1",
            drepper("3.2, the table of a Pentium M"),
            "L1d, L2 and memory each take more than 1.5 times as many core cycles as the level \
             before, beginning with a register",
            |e| each_step(e, &["register", "L1d", "L2", "memory"], 1.5),
        )
        .then(3.0, "Pentium M"),
        measured(
            "D7.2",
            ours("the Pentium M has no third level; current CPUs have one between L2 and memory"),
            "the last level takes more than 1.5 times as many core cycles as L2, and memory more \
             than 1.5 times as many as the last level",
            |e| each_step(e, &["L2", "last level", "memory"], 1.5),
        ),
    ],
    ..Experiment::PLAIN
};

const SESTOFT_4: Experiment = Experiment {
    id: "B11",
    name: "sestoft-fig-4",
    title: "Nanoseconds to reach each level",
    question: "Is each level of the hierarchy several times slower than the level before it?",
    source: "Sestoft, Figure 4, for an i7-4870HQ: 0.4 ns per instruction, L1 1.5 ns, L2 5 ns, L3 \
             25 ns, memory 90 ns",
    about: "The test is that of D7, in nanoseconds. Servers trade latency for size and number of \
            cores, so their last level and their memory take longer to reach than those of the \
            laptop in the note.",
    plot: plot(Unit::Nanoseconds),
    cases,
    events: events::WALK,
    // 0.4 ns per instruction, L1 1.5 ns, L2 5 ns, L3 25 ns and memory 90 ns on an i7-4870HQ.
    claims: &[measured(
        "B11.1",
        sestoft("A.1, Figure 4"),
        "each level of the hierarchy takes at least twice as long as the level before it, from a \
         register to memory",
        |e| each_step(e, &LEVELS, 2.0),
    )
    .then(3.75, "i7-4870HQ")],
    ..Experiment::PLAIN
};

pub(crate) static REUSE: &[Experiment] = &[CACHE_GAIN];

const WITHOUT: &str = "the paper's cycles without a cache";
const WITH: &str = "the paper's cycles with a cache";
const SAVED: &str = "the paper's share saved, %";

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
    plot: Some(Plot::bars(
        Axis::linear("uses of each element"),
        Axis::log("time for 100 elements"),
        Unit::CoreCycles,
    )),
    cases: |machine| {
        let paper = |name, count| CountSetup::computed(name, 0, count).at(100);
        let mut cases = vec![
            paper(WITHOUT, |_| Ok(Reuse::DREPPER.without_cache(MEMORY))),
            paper(WITH, |_| Ok(Reuse::DREPPER.with_cache(CACHE, MEMORY))),
            paper(SAVED, |_| Ok(Reuse::DREPPER.saved(CACHE, MEMORY) * 100.0)),
        ];
        cases.extend(near_and_far(machine));
        cases
    },
    curves: |e| {
        let curve = |label: &str, total: Testable<Interval>| {
            let points = vec![(Reuse::DREPPER.uses as f64, total.ok()?)];
            Some(Curve { label: label.to_owned(), points })
        };
        [
            curve(WITHOUT, e.at(WITHOUT, 100.0).map(Interval::from)),
            curve(WITH, e.at(WITH, 100.0).map(Interval::from)),
            curve("here without a cache", here(e).map(|here| here.without)),
            curve("here with L1d", here(e).map(|here| here.with)),
        ]
        .into_iter()
        .flatten()
        .collect()
    },
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
                let here = here(&e.in_time())?;
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
                let [near, far] = latencies(&e.in_time())?;
                let uses = Reuse::DREPPER.uses as f64;
                let hits = near.scaled(uses - 1.0).ratio(*far);
                let hits = hits.ok_or_else(|| Untestable("a latency is not positive".into()))?;
                at_least("time of hits over that of first uses", hits, 1.0)
            },
        )
        .holding("The repeated uses are worth optimising more than the first uses.")
        .failing(
            "The first uses, 1 % of all, take at least as long as all repeated uses together.",
        ),
    ],
    ..Experiment::PLAIN
};

/// The paper's computation with this machine's latencies.
struct Here {
    without: Interval,
    with: Interval,
    saved: Interval,
}

fn here(e: &Evidence<'_>) -> Testable<Here> {
    let [near, far] = latencies(e)?;
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
