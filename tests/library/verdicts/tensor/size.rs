//! The sizes of the layouts.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Untestable};

use crate::verdicts::planted::{Planted, Row, Value, row};

pub const BYTES: &str = ".1";
pub const FORMULA: &str = ".2";
pub const HEADERS: &str = ".3";

/// The bytes of the layouts, and the additional bytes of the arrays over the formula, for the shape at a
/// place.
fn rooms(machine: &Machine, flat: f64, over: fn(f64) -> f64) -> Planted {
    with_headers(machine, [flat, 4_384_272.0], over)
}

/// The same, with the size of references of 8 bytes and headers.
fn with_headers(machine: &Machine, [flat, headers]: [f64; 2], over: fn(f64) -> f64) -> Planted {
    Planted::new("C3", machine, |series, place| {
        Value::Counted(match series {
            "flat" => flat,
            "nested, references of 4 bytes, no headers" => 3_789_056.0,
            "nested, references of 4 bytes, headers of 16" => 4_265_232.0,
            "nested, references of 8 bytes, headers of 16" => headers,
            _ => over(place),
        })
    })
}

pub fn sizes() -> Vec<Row> {
    vec![
        row("C3", BYTES, Holds, |m| rooms(m, 3_670_016.0, |_| 1.0)),
        row("C3", BYTES, DoesNotHold, |m| rooms(m, 3_670_020.0, |_| 1.0)),
        row("C3", BYTES, Untestable, |m| {
            rooms(m, 3_670_016.0, |_| 1.0).without(|series, _| series.ends_with("no headers"))
        }),
        row("C3", FORMULA, Holds, |m| rooms(m, 3_670_016.0, |_| 1.0)),
        row("C3", FORMULA, DoesNotHold, |m| {
            rooms(m, 3_670_016.0, |place| if place == 3.0 { 0.9 } else { 1.0 })
        }),
        row("C3", FORMULA, Untestable, |m| {
            rooms(m, 3_670_016.0, |_| 1.0).without(|_, place| place == 4.0)
        }),
        row("C3", HEADERS, Holds, |m| rooms(m, 3_670_016.0, |_| 1.0)),
        row("C3", HEADERS, DoesNotHold, |m| with_headers(m, [3_670_016.0, 4_384_280.0], |_| 1.0))
            .says("4384280"),
        row("C3", HEADERS, Untestable, |m| {
            rooms(m, 3_670_016.0, |_| 1.0).without(|series, _| series.ends_with("of 16"))
        }),
    ]
}
