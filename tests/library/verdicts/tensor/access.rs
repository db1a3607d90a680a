//! The memory that the reads touch, and the number of references.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Untestable};

use crate::verdicts::planted::{Planted, Row, Value, row};

pub const TOUCHED: &str = ".1";
pub const SUMS: &str = ".2";
pub const FOURTH: &str = ".1";
pub const SEVEN: &str = ".2";

/// Elements, lines and bytes that are touched, and the number of bits in which the sums agree.
fn touched(machine: &Machine, counts: [f64; 3], bits: fn(f64) -> f64) -> Planted {
    Planted::new("C1", machine, |series, place| {
        Value::Counted(match series {
            "elements" => counts[0],
            "lines" => counts[1],
            "bytes from the first to the last" => counts[2],
            _ => bits(place),
        })
    })
}

const POST: [f64; 3] = [448.0, 448.0, 3_670_016.0];

pub fn pattern() -> Vec<Row> {
    vec![
        row("C1", TOUCHED, Holds, |m| touched(m, POST, |_| 32.0)),
        row("C1", TOUCHED, DoesNotHold, |m| touched(m, [448.0, 447.0, 3_670_016.0], |_| 32.0))
            .says("lines: 447"),
        row("C1", TOUCHED, DoesNotHold, |m| touched(m, [448.0, 448.0, 917_504.0], |_| 32.0)),
        row("C1", TOUCHED, Untestable, |m| {
            touched(m, POST, |_| 32.0).without(|series, _| series == "elements")
        }),
        row("C1", SUMS, Holds, |m| touched(m, POST, |_| 32.0)),
        row("C1", SUMS, DoesNotHold, |m| {
            touched(m, POST, |place| if place == 6.0 { 31.0 } else { 32.0 })
        })
        .says("shuffled: 31"),
        row("C1", SUMS, Untestable, |m| {
            touched(m, POST, |_| 32.0).without(|_, place| place == 7.0)
        })
        .says("was not measured at 7"),
    ]
}

/// Loads per read: flat, nested unchecked, boxes, vectors.
fn loads(machine: &Machine, loads: [f64; 4]) -> Planted {
    Planted::new("C8", machine, |series, _| {
        Value::Counted(match series {
            "loads per read, flat, strides" => loads[0],
            "loads per read, nested boxes, unchecked" => loads[1],
            "loads per read, vectors of vectors" => loads[3],
            _ => loads[2],
        })
    })
}

pub fn dereferences() -> Vec<Row> {
    vec![
        row("C8", FOURTH, Holds, |m| loads(m, [1.0, 4.0, 7.0, 7.0])),
        row("C8", FOURTH, DoesNotHold, |m| loads(m, [1.0, 3.0, 7.0, 7.0])),
        row("C8", FOURTH, DoesNotHold, |m| loads(m, [2.0, 4.0, 7.0, 7.0])),
        row("C8", FOURTH, Untestable, |m| {
            loads(m, [1.0, 4.0, 7.0, 7.0]).without(|series, _| series.ends_with("unchecked"))
        }),
        row("C8", SEVEN, Holds, |m| loads(m, [1.0, 4.0, 7.0, 7.0])),
        row("C8", SEVEN, DoesNotHold, |m| loads(m, [1.0, 4.0, 7.0, 6.0]))
            .says("vectors of vectors: 6"),
        row("C8", SEVEN, Untestable, |m| {
            loads(m, [1.0, 4.0, 7.0, 7.0]).without(|series, _| series.ends_with("nested boxes"))
        }),
    ]
}
