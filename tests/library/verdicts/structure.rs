//! The formula for sizes, Figure 3.9 and `struct l`, judged on exact counts.

use linefill::experiment::Verdict::{DoesNotHold, Holds, Untestable};

use super::planted::{Planted, Row, Value, row};

const FORMULA: &str = ".1";
const CYCLE: &str = ".1";
const BACK: &str = ".2";
const HALF: &str = ".3";
const SIZES: &str = ".1";

/// The counts of a correct list of `length` elements.
fn list(series: &str, length: f64) -> f64 {
    match series {
        "links back, sequential" => 1.0,
        "links back, random" => length / 2.0,
        _ => length,
    }
}

/// Elements of a 1 MiB list.
fn elements(npad: f64) -> f64 {
    f64::from(1 << 20) / (8.0 + 8.0 * npad)
}

/// Claims judged on counts alone.
pub const EXACT: &[super::Exact] = &[("D12", ".1"), ("D12", ".2"), ("D12", ".3"), ("D13", ".1")];

pub fn rows() -> Vec<Row> {
    vec![
        row("D11", FORMULA, Holds, |m| Planted::new("D11", m, |_, _| Value::Counted(0.0))),
        row("D11", FORMULA, DoesNotHold, |m| Planted::new("D11", m, |_, _| Value::Counted(1.0))),
        row("D11", FORMULA, Untestable, |m| {
            Planted::new("D11", m, |_, _| Value::Untestable("/sys is not mounted"))
        })
        .says("/sys is not mounted"),
        row("D12", CYCLE, Holds, |m| {
            Planted::new("D12", m, |series, x| Value::Counted(list(series, x)))
        }),
        row("D12", CYCLE, DoesNotHold, |m| {
            Planted::new("D12", m, |series, x| {
                let lost = series == "elements on the cycle, random" && x == 4096.0;
                Value::Counted(list(series, x) - if lost { 1.0 } else { 0.0 })
            })
        })
        .says("random list of 4096: 4095"),
        row("D12", CYCLE, Untestable, |m| {
            Planted::new("D12", m, |series, x| match x {
                50_000.0 => Value::Missing,
                _ => Value::Counted(list(series, x)),
            })
        })
        .says("was not measured at 50000"),
        row("D12", BACK, Holds, |m| {
            Planted::new("D12", m, |series, x| Value::Counted(list(series, x)))
        }),
        row("D12", HALF, DoesNotHold, |m| {
            Planted::new("D12", m, |series, x| match series {
                "links back, random" => Value::Counted(0.47 * x),
                _ => Value::Counted(list(series, x)),
            })
        }),
        row("D12", HALF, Holds, |m| {
            Planted::new("D12", m, |series, x| Value::Counted(list(series, x)))
        }),
        row("D12", HALF, Untestable, |m| {
            Planted::new("D12", m, |_, _| Value::Untestable("no memory"))
        }),
        row("D12", BACK, DoesNotHold, |m| {
            Planted::new("D12", m, |series, x| match series {
                "links back, sequential" => Value::Counted(2.0),
                _ => Value::Counted(list(series, x)),
            })
        }),
        row("D12", BACK, Untestable, |m| {
            Planted::new("D12", m, |_, _| Value::Untestable("no memory"))
        })
        .says("no memory"),
        row("D13", SIZES, Holds, |m| {
            Planted::new("D13", m, |_, npad| Value::Counted(elements(npad)))
        }),
        row("D13", SIZES, DoesNotHold, |m| {
            Planted::new("D13", m, |_, npad| match npad {
                // The elements are as large as on a 32-bit machine.
                7.0 => Value::Counted(32_768.0),
                _ => Value::Counted(elements(npad)),
            })
        })
        .says("NPAD=7"),
        row("D13", SIZES, Untestable, |m| Planted::new("D13", m, |_, _| Value::Missing)),
    ]
}
