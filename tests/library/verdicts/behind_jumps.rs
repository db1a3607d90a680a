//! Row E34: the bytes after an indirect jump.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::planted::{Planted, Row, row, time};

const MANY: &str = ".1";
const FEW: &str = ".2";

/// The ratio of ud2 to code after a jump, for few jumps and for 16 or more.
fn ud2(machine: &Machine, few: f64, many: f64) -> Planted {
    Planted::new("E34", machine, |series, jumps| {
        let base = jumps / 100.0;
        time(match series.starts_with("ud2") {
            true if jumps == 16.0 => base * few,
            true => base * many,
            false => base,
        })
    })
}

pub fn rows() -> Vec<Row> {
    vec![
        row("E34", MANY, Holds, |m| ud2(m, 1.0, 0.8)),
        row("E34", MANY, DoesNotHold, |m| ud2(m, 1.0, 1.0)).says("ud2 over code, many jumps: 1.00"),
        row("E34", MANY, Inconclusive, |m| ud2(m, 1.0, 0.95)),
        // Four cycles per jump, two instructions each: Zen 5 remembers so many jumps.
        row("E34", MANY, Untestable, |m| {
            Planted::new("E34", m, |series, jumps| {
                let cheap = if jumps == 16.0 { 0.5 } else { 2.0 };
                time(cheap * if series.starts_with("ud2") { 0.8 } else { 1.0 })
            })
        })
        .says("the predictor still remembers 16384 jumps: each costs 4.0"),
        row("E34", MANY, Untestable, |m| ud2(m, 1.0, 0.8).without(|_, jumps| jumps == 16384.0))
            .says("have no point in common"),
        row("E34", FEW, Holds, |m| ud2(m, 1.0, 0.8)),
        row("E34", FEW, DoesNotHold, |m| ud2(m, 1.2, 0.8)),
        row("E34", FEW, Inconclusive, |m| ud2(m, 1.03, 0.8)),
        row("E34", FEW, Untestable, |m| {
            ud2(m, 1.0, 0.8).without(|series, _| series.starts_with("code"))
        })
        .says("no point of `code behind each jump`"),
    ]
}
