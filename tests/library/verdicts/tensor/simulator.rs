//! The series' own simulation.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Untestable};

use super::super::planted::{Planted, Row, Value, row};

pub const SERIES: &str = ".1";
pub const POLICIES: &str = ".2";
pub const INDICES: &str = ".3";
pub const NESTED: &str = ".4";

/// The misses of the independent model, increased by `more` in one series.
fn misses(machine: &Machine, in_series: &str, more: f64) -> Planted {
    Planted::new("C5", machine, |series, _| {
        let misses = match series {
            "indices, 32 KiB, round robin" => 464_526.0,
            "nested, 64 KiB, round robin" => 168_023.0,
            "nested, 64 KiB, LRU" => 101_073.0,
            "nested, 64 KiB, tree-PLRU" => 85_455.0,
            _ => 448.0,
        };
        Value::Counted(misses + if series == in_series { more } else { 0.0 })
    })
}

macro_rules! rows_of {
    ($($claim:expr, $series:literal;)*) => {
        vec![$(
            row("C5", $claim, Holds, |m| misses(m, "", 0.0)),
            row("C5", $claim, DoesNotHold, |m| misses(m, $series, 1.0)),
            row("C5", $claim, Untestable, |m| {
                misses(m, "", 0.0).without(|series, _| series == $series)
            })
            .says($series),
        )*]
    };
}

pub fn rows() -> Vec<Row> {
    rows_of![
        SERIES, "flat, 64 KiB, round robin";
        POLICIES, "flat, 64 KiB, tree-PLRU";
        INDICES, "indices, 32 KiB, round robin";
        NESTED, "nested, 64 KiB, LRU";
    ]
}
