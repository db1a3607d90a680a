//! What each level of the hierarchy costs: Drepper 3.2's table for the Pentium M, and Sestoft's
//! Figure 4.

use crate::experiment::machine::ladder::{LINES, of_lines};
use crate::experiment::prelude::*;
use crate::experiment::shared::register::RegisterSetup;

/// The rows of this family.
pub(crate) static ALL: &[Experiment] = &[PENTIUM_M, SESTOFT_4];

/// The levels, from near to far.
const LEVELS: [&str; 5] = ["register", "L1d", "L2", "last level", "memory"];

const fn plot(unit: Unit) -> Option<Plot> {
    Some(Plot::bars(Axis::WORKING_SET, Axis::log("time"), unit))
}

/// A chain in a register, and a random walk in the middle of each range.
fn cases(machine: &Machine) -> Vec<Case> {
    let ranges = &machine.ranges;
    let walk = |level: usize, lines, bytes| of_lines(LEVELS[level], lines, bytes, machine.seed);
    let near = [(1, ranges.l1), (2, ranges.l2)]
        .map(|(level, range)| (level, range, machine.middle_of(range)));
    let memory = (4, ranges.memory, machine.in_memory());
    let mut cases = vec![Case::new(LEVELS[0], 8, RegisterSetup)];
    // A range can be empty, or lie beyond what may be allocated. Its claim then says so.
    let dense = near.into_iter().chain([memory]);
    let dense = dense.filter(|(_, range, bytes)| range.holds(*bytes as f64));
    cases.extend(dense.map(|(level, _, bytes)| walk(level, 1, bytes)));
    // Others may leave little room in a shared level, and the room changes during a run. A walk
    // over one line in eight needs little room: its lines fall in an eighth of L2's sets, which a
    // span of four times L2 overfills, and are half as many as L2 holds.
    cases.extend(behind_l2(machine).map(|bytes| walk(3, LINES, bytes)));
    cases.sort_by_key(|case| LEVELS.iter().position(|level| *level == case.series));
    cases
}

/// The span of that walk, if there is a level behind L2.
fn behind_l2(machine: &Machine) -> Option<usize> {
    let [_, l2, llc] = machine.ranges.capacities.get(..3)? else {
        return None;
    };
    let stated = |of: &Capacity| of.reported.or(of.measured);
    let span = 4.0 * stated(l2)?;
    let level = stated(llc)? >= span / 2.0;
    (level && span <= machine.largest as f64).then_some(span as usize)
}

/// Judges that each of some levels costs at least `factor` times the one before it.
fn each_step(e: &Evidence<'_>, levels: &[&str], factor: f64) -> Judged {
    let cost = |level: &str| {
        if e.points.iter().all(|point| point.series != level) {
            return Err(Untestable(format!(
                "no working set was found that lies in {level} alone"
            )));
        }
        e.last(level).map(|(_, cost)| cost)
    };
    let mut parts = Vec::new();
    for pair in levels.windows(2) {
        let step = ratio(cost(pair[1]), cost(pair[0]))?;
        parts.push(at_least(
            &format!("{} over {}", pair[1], pair[0]),
            step,
            factor,
        ));
    }
    all_of(parts)
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
    seen: &[],
    plot: plot(Unit::CoreCycles),
    cases,
    curves: plain_curves,
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
    seen: &[],
    plot: plot(Unit::Nanoseconds),
    cases,
    curves: plain_curves,
    events: events::WALK,
    // 0.4 ns per instruction, L1 1.5 ns, L2 5 ns, L3 25 ns and memory 90 ns on an i7-4870HQ.
    claims: &[measured(
        "B11.1",
        sestoft("A.1, Figure 4"),
        "each level of the hierarchy takes at least twice as long as the level before it, \
             from a register to memory",
        |e| each_step(e, &LEVELS, 2.0),
    )
    .then(3.75, "i7-4870HQ")],
};
