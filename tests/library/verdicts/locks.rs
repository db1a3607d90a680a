//! Locked additions.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::planted::{Planted, Row, Value, row, time};

const WITHIN: &str = ".1";
const ACROSS: &str = ".2";

/// The time of an addition at the start of the line, at another place in it, and across two lines.
fn locks(machine: &Machine, aligned: f64, within: f64, across: f64) -> Planted {
    Planted::new("X7", machine, |_, x| {
        time(match x {
            0.0 => aligned,
            ..=56.0 => within,
            _ => across,
        })
    })
}

pub fn rows() -> Vec<Row> {
    vec![
        row("X7", WITHIN, Holds, |m| locks(m, 20.0, 20.0, 1000.0)),
        row("X7", WITHIN, DoesNotHold, |m| locks(m, 20.0, 30.0, 1000.0))
            .says("misaligned over aligned: 1.50"),
        row("X7", WITHIN, Inconclusive, |m| locks(m, 20.0, 22.0, 1000.0)),
        row("X7", WITHIN, Untestable, |m| locks(m, 20.0, 20.0, 1000.0).without(|_, x| x == 56.0))
            .says("was not measured at 56"),
        row("X7", ACROSS, Holds, |m| locks(m, 20.0, 20.0, 1000.0)),
        row("X7", ACROSS, DoesNotHold, |m| locks(m, 20.0, 20.0, 60.0))
            .says("across two lines over aligned: 3.0"),
        row("X7", ACROSS, Inconclusive, |m| locks(m, 20.0, 20.0, 200.0)),
        row("X7", ACROSS, Untestable, |m| {
            Planted::new("X7", m, |_, x| {
                if x > 56.0 {
                    Value::Untestable("the kernel traps locks across two lines")
                } else {
                    time(20.0)
                }
            })
        })
        .says("the kernel traps locks"),
    ]
}
