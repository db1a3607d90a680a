//! Drepper's table of the Pentium M, and Sestoft's Figure 4.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};
use linefill::stats::Interval;

use super::planted::{Planted, Row, Value, row, time};

const LEVELS: [&str; 5] = ["register", "L1d", "L2", "last level", "memory"];

/// The cost of each level.
fn levels(id: &str, machine: &Machine, costs: [f64; 5]) -> Planted {
    Planted::new(id, machine, |series, _| {
        let level = LEVELS.iter().position(|level| *level == series);
        time(costs[level.expect("a level")])
    })
}

const WITHOUT_L3: &str = ".1";
const WITH_L3: &str = ".2";
const TWICE: &str = ".1";

/// Claims judged on counts alone.
pub const EXACT: &[super::Exact] = &[("D11", ".1")];

pub fn rows() -> Vec<Row> {
    vec![
        row("D7", WITHOUT_L3, Holds, |m| levels("D7", m, [1.0, 5.0, 16.0, 70.0, 400.0])),
        row("D7", WITHOUT_L3, DoesNotHold, |m| levels("D7", m, [4.0, 5.0, 16.0, 70.0, 400.0]))
            .says("L1d over register: 1.25"),
        row("D7", WITHOUT_L3, DoesNotHold, |m| levels("D7", m, [1.0, 5.0, 16.0, 18.0, 20.0]))
            .says("memory over L2: 1.25"),
        row("D7", WITHOUT_L3, Inconclusive, |m| levels("D7", m, [1.0, 5.0, 7.5, 24.0, 400.0])),
        row("D7", WITHOUT_L3, Untestable, |m| {
            let mut small = m.clone();
            small.largest = m.ranges.memory.lo as usize / 2;
            levels("D7", &small, [1.0, 5.0, 16.0, 70.0, 400.0])
        })
        .says("lies in memory alone"),
        row("D7", WITHOUT_L3, Untestable, |m| {
            Planted::new("D7", m, |_, _| Value::WithoutCoreClock(Interval::exact(5.0)))
        })
        .says("has no value in cycles"),
        row("D7", WITH_L3, Holds, |m| levels("D7", m, [1.0, 5.0, 16.0, 70.0, 400.0])),
        row("D7", WITH_L3, DoesNotHold, |m| levels("D7", m, [1.0, 5.0, 16.0, 20.0, 400.0]))
            .says("last level over L2: 1.25"),
        row("D7", WITH_L3, DoesNotHold, |m| levels("D7", m, [1.0, 5.0, 16.0, 400.0, 400.0])),
        row("D7", WITH_L3, Inconclusive, |m| levels("D7", m, [1.0, 5.0, 16.0, 24.0, 400.0])),
        row("D7", WITH_L3, Untestable, |m| {
            let mut narrow = m.clone();
            // The last level is the second.
            let l2 = narrow.ranges.capacities[1];
            narrow.ranges.capacities[2].reported = l2.reported;
            narrow.ranges.capacities[2].measured = l2.measured;
            levels("D7", &narrow, [1.0, 5.0, 16.0, 70.0, 400.0])
        })
        .says("no working set was found that lies in last level alone"),
        row("B11", TWICE, Holds, |m| levels("B11", m, [0.3, 1.5, 5.0, 25.0, 90.0])),
        row("B11", TWICE, DoesNotHold, |m| levels("B11", m, [0.3, 1.5, 5.0, 50.0, 90.0]))
            .says("memory over last level: 1.80"),
        row("B11", TWICE, Inconclusive, |m| levels("B11", m, [0.3, 1.5, 3.0, 25.0, 90.0])),
        row("B11", TWICE, Untestable, |m| {
            Planted::new("B11", m, |series, _| match series {
                "memory" => Value::Untestable("268435456 bytes were refused"),
                _ => time(1.0),
            })
        })
        .says("268435456 bytes were refused"),
    ]
}
