//! Time and events of an operation.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use crate::verdicts::planted::{Planted, Row, Value, row, time};

const SLOWER: &str = ".1";
pub const LOADS: &str = ".2";
pub const OFTEN: &str = ".3";
pub const BRANCHES: &str = ".4";

/// Flat and nested: cycles, loads and simulated misses. The instructions and branches are the post's.
fn operations(machine: &Machine, flat: [f64; 3], nested: [f64; 3]) -> Planted {
    Planted::new("C2", machine, |series, event| {
        let (of, instructions, branches) = if series.starts_with("flat") {
            (flat, 35.5e6, 1.5e6)
        } else {
            (nested, 54.1e6, 5.0e6)
        };
        match event as u32 {
            0 => time(of[0]),
            1 => Value::Counted(instructions),
            2 => Value::Counted(branches),
            3 => Value::Counted(of[1]),
            4 => Value::Counted(of[2]),
            _ => Value::Untestable("no counters"),
        }
    })
}

const FLAT: [f64; 3] = [9e6, 1e6, 448.0];
const NESTED: [f64; 3] = [19e6, 7e6, 2.4e6];

pub fn operation() -> Vec<Row> {
    vec![
        row("C2", SLOWER, Holds, |m| operations(m, FLAT, NESTED)),
        row("C2", SLOWER, DoesNotHold, |m| operations(m, FLAT, [11e6, 7e6, 2.4e6]))
            .says("nested over flat: 1.22"),
        row("C2", SLOWER, Inconclusive, |m| operations(m, FLAT, [11.7e6, 7e6, 2.4e6])),
        row("C2", SLOWER, Untestable, |m| {
            operations(m, FLAT, NESTED).without(|series, _| series == "nested boxes")
        })
        .says("no point of `nested boxes` was measured"),
        row("C2", LOADS, Holds, |m| operations(m, FLAT, NESTED)),
        row("C2", LOADS, DoesNotHold, |m| operations(m, FLAT, [19e6, 3e6, 2.4e6]))
            .says("loads per read, nested: 3"),
        row("C2", LOADS, DoesNotHold, |m| operations(m, [9e6, 2e6, 448.0], NESTED)),
        row("C2", LOADS, Untestable, |m| {
            operations(m, FLAT, NESTED).without(|_, event| event == 1.0)
        }),
        row("C2", OFTEN, Holds, |m| operations(m, FLAT, NESTED)),
        row("C2", OFTEN, DoesNotHold, |m| operations(m, FLAT, [19e6, 7e6, 1000.0]))
            .says("nested over flat: 2.23"),
        row("C2", OFTEN, Untestable, |m| {
            operations(m, FLAT, NESTED).without(|_, event| event == 4.0)
        })
        .says("was not measured at 4"),
        row("C2", BRANCHES, Holds, |m| operations(m, FLAT, NESTED)),
        row("C2", BRANCHES, DoesNotHold, |m| {
            Planted::new("C2", m, |series, event| match event as u32 {
                0 => time(9e6),
                2 if series.starts_with("flat") => Value::Counted(3e6),
                _ => Value::Counted(5e6),
            })
        })
        .says("nested over flat: 1.67"),
        row("C2", BRANCHES, Untestable, |m| {
            operations(m, FLAT, NESTED).without(|_, event| event == 2.0)
        })
        .says("was not measured at 2"),
    ]
}
