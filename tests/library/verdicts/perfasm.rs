//! Startin's A5: hottest instructions.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::planted::{Planted, Row, Value, row};

const UNROLLED: &str = ".1";
const STAGED: &str = ".2";

/// The hottest instruction's percentage of the time: simple, unrolled, in stages.
fn hottest(machine: &Machine, simple: f64, unrolled: f64, staged: f64) -> Planted {
    Planted::new("A5", machine, |series, _| {
        Value::Counted(if series.contains("in a row") {
            unrolled
        } else if series.contains("in stages") {
            staged
        } else {
            simple
        })
    })
}

/// The post's values.
fn usual(machine: &Machine) -> Planted {
    hottest(machine, 74.0, 10.4, 10.4)
}

fn refused(machine: &Machine) -> Planted {
    Planted::new("A5", machine, |_, _| Value::Untestable("no timer"))
}

pub fn rows() -> Vec<Row> {
    vec![
        row("A5", UNROLLED, Holds, usual),
        row("A5", UNROLLED, DoesNotHold, |m| hottest(m, 50.0, 40.0, 10.0)),
        // The shares are from samples, and these are too close.
        row("A5", UNROLLED, Inconclusive, |m| hottest(m, 50.0, 25.0, 10.0)),
        row("A5", UNROLLED, Untestable, refused).says("no timer"),
        row("A5", STAGED, Holds, usual),
        row("A5", STAGED, DoesNotHold, |m| hottest(m, 94.0, 24.0, 84.0))
            .says("simple over stages: 1.1"),
        row("A5", STAGED, Inconclusive, |m| hottest(m, 50.0, 10.0, 25.0)),
        row("A5", STAGED, Untestable, refused),
    ]
}
