//! Figure 3.23: the line, and this machine's.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::planted::{Planted, Row, Value, noisy, row, time};

const TEXT: &str = "needs about 10 %";
const SLOPE: &str = "two points more";
const HERE: &str = "at least 80 %";

/// Claims judged on counts alone.
pub const EXACT: &[super::Exact] = &[("D31", "needs about 10 %"), ("D31", "two points more")];

/// A line `slope G1 - offset`, and latencies of L1d and memory.
fn plant(machine: &Machine, slope: f64, offset: f64, hit: Value, miss: Value) -> Planted {
    Planted::new("D31", machine, |series, x| match series {
        "L1d" => hit,
        "memory" => miss,
        _ => Value::Counted((slope * x - offset).max(0.0)),
    })
}

fn line(machine: &Machine, slope: f64, offset: f64) -> Planted {
    plant(machine, slope, offset, time(4.0), time(500.0))
}

fn latencies(machine: &Machine, hit: f64, miss: f64) -> Planted {
    plant(machine, 2.0, 111.34, time(hit), time(miss))
}

pub fn rows() -> Vec<Row> {
    vec![
        row("D31", TEXT, Holds, |m| line(m, 2.0, 111.34)),
        row("D31", TEXT, DoesNotHold, |m| line(m, 2.0, 105.0)).says("at 60 % 15.0"),
        row("D31", TEXT, DoesNotHold, |m| line(m, 1.8, 98.0)).says("at 95 % 73.0"),
        row("D31", TEXT, Untestable, |m| {
            line(m, 2.0, 111.34).without(|_, x| x == 95.0)
        }),
        row("D31", SLOPE, Holds, |m| line(m, 2.0, 111.34)),
        row("D31", SLOPE, DoesNotHold, |m| line(m, 1.9, 100.0)),
        row("D31", SLOPE, Untestable, |m| {
            line(m, 2.0, 111.34).without(|_, x| x == 60.0)
        }),
        row("D31", HERE, Holds, |m| latencies(m, 4.0, 500.0)),
        row("D31", HERE, DoesNotHold, |m| latencies(m, 4.0, 14.0)),
        // Between programs with few accesses and those with many.
        row("D31", HERE, Inconclusive, |m| latencies(m, 4.0, 60.0)),
        row("D31", HERE, Untestable, |m| latencies(m, 4.0, 4.0)).says("longer than a hit"),
        row("D31", HERE, Untestable, |m| {
            plant(
                m,
                2.0,
                111.34,
                noisy(4.0, 0.1),
                Value::Untestable("no memory"),
            )
        })
        .says("no memory"),
    ]
}
