//! Figure 6.8: the helper thread.

use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};
use linefill::experiment::{Machine, State, ThreadStats};
use linefill::host::RunAhead;

use super::machines::with_locations;
use super::planted::{Planted, Row, Value, by_level, row, time};
use super::siblings;

const COSTS: &str = ".1";
const SIBLING: &str = ".2";
const OTHER: &str = ".3";
const BOUND: &str = ".4";
const OTHER_COSTS: &str = ".5";

/// Claims judged on counts alone.
pub const EXACT: &[super::Exact] = &[("E42", BOUND)];

/// The time of the walk with a helper relative to that without, level by level: on the same core, and on
/// another core.
fn on(machine: &Machine, same: [f64; 4], other: [f64; 4]) -> Planted {
    Planted::new("E42", machine, |series, x| {
        let alone = by_level(machine, x, [165.0, 175.0, 230.0, 560.0]);
        time(match series {
            "helper on the same core" => alone * by_level(machine, x, same),
            "helper on another core" => alone * by_level(machine, x, other),
            _ => alone,
        })
    })
}

fn plant(machine: &Machine, same: [f64; 4], other: [f64; 4]) -> Planted {
    on(&siblings::with(machine), same, other)
}

/// The paper's values.
const PAPER: [f64; 4] = [1.2, 1.2, 0.78, 0.78];

fn paper(machine: &Machine) -> Planted {
    plant(machine, PAPER, PAPER)
}

/// The same, with helpers at most `most` nodes ahead.
fn ahead(machine: &Machine, most: u32) -> Planted {
    let mut planted = paper(machine);
    for point in &mut planted.points {
        if let State::Measured(measured) = &mut point.state
            && point.series.starts_with("helper")
        {
            let lead = RunAhead { least: 0, lower: 20, median: 60, upper: 90, most };
            measured.thread_stats = Some(ThreadStats {
                workers: 2,
                cpus: 2,
                fastest: 1.0,
                slowest: 2.0,
                lead: Some(lead),
                pair: Some([0, 1]),
                misplaced: None,
                round_trip: None,
            });
        }
    }
    planted
}

pub fn rows() -> Vec<Row> {
    vec![
        row("E42", COSTS, Holds, paper),
        row("E42", COSTS, DoesNotHold, |m| plant(m, [2.5, 1.2, 0.8, 0.8], PAPER))
            .says("helper on the same core over none, L1d: 2.50"),
        // A helper on another core has no say.
        row("E42", COSTS, Holds, |m| plant(m, PAPER, [1.2, 0.8, 0.8, 0.8])),
        row("E42", COSTS, Inconclusive, |m| plant(m, [1.0, 1.2, 0.8, 0.8], PAPER)),
        row("E42", COSTS, Untestable, |m| on(&siblings::without(m), PAPER, PAPER))
            .says("hyper-threads of one core"),
        row("E42", OTHER_COSTS, Holds, |m| on(&siblings::without(m), PAPER, PAPER)),
        row("E42", OTHER_COSTS, DoesNotHold, |m| plant(m, PAPER, [1.2, 0.8, 0.8, 0.8]))
            .says("helper on another core over none, L2: 0.80"),
        row("E42", OTHER_COSTS, Inconclusive, |m| plant(m, PAPER, [1.0, 1.2, 0.8, 0.8])),
        row("E42", OTHER_COSTS, Untestable, |m| paper(m).on(siblings::alone(m)))
            .says("no other core of this process shares a cache"),
        // One core with two hyper-threads.
        row("E42", OTHER, Untestable, |m| {
            let with = siblings::with(m);
            let one_core = with.cpu_order.locations().iter().filter(|location| location.core == 0);
            on(&with_locations(&with, one_core.copied()), PAPER, PAPER)
        })
        .says("no other core of this process shares a cache"),
        row("E42", SIBLING, Holds, paper),
        row("E42", SIBLING, DoesNotHold, |m| plant(m, [1.2, 1.2, 1.0, 1.0], PAPER))
            .says("same core over none: 1.00"),
        row("E42", SIBLING, Inconclusive, |m| plant(m, [1.2, 1.2, 0.8, 0.95], PAPER)),
        row("E42", SIBLING, Untestable, |m| on(&siblings::without(m), PAPER, PAPER))
            .says("hyper-threads of one core"),
        row("E42", OTHER, Holds, |m| on(&siblings::without(m), PAPER, PAPER)),
        row("E42", OTHER, DoesNotHold, |m| plant(m, PAPER, [1.2, 1.2, 1.0, 1.1]))
            .says("another core over none: 1.10"),
        row("E42", OTHER, Inconclusive, |m| plant(m, PAPER, [1.2, 1.2, 1.0, 0.95])),
        row("E42", OTHER, Untestable, |m| {
            let memory = m.ranges.memory;
            paper(m).without(|_, x| memory.holds(x))
        })
        .says("no point in common"),
        row("E42", BOUND, Holds, |m| ahead(m, 100)),
        row("E42", BOUND, DoesNotHold, |m| ahead(m, 101)).says("at most 101 nodes ahead"),
        row("E42", BOUND, Untestable, paper).says("no lead was counted"),
        row("E42", BOUND, Untestable, |m| {
            let refused = |_: &str, _: f64| Value::Untestable("no helper");
            Planted::new("E42", &siblings::with(m), refused)
        })
        .says("no helper"),
    ]
}
