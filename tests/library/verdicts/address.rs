//! How an address selects its line: the parts of an address, and Figures 3.5 to 3.7.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Untestable};

use super::planted::{Planted, Row, Value, row};

const BACK: &str = ".1";
const BITS: &str = ".2";
const LOW: &str = ".3";
const ENTRIES: &str = ".1";
const DIRECT: &str = ".2";
const EIGHT: &str = ".3";
const WHOLE: &str = ".4";

/// Claims judged on counts alone.
pub const EXACT: &[super::Exact] = &[
    ("D4", BACK),
    ("D4", BITS),
    ("D4", LOW),
    ("D9", ENTRIES),
    ("D9", DIRECT),
    ("D9", EIGHT),
    ("D9", WHOLE),
];

/// The paper's numbers by series.
fn said(series: &str) -> f64 {
    match series {
        "low bits that select a byte of a 64-byte line" => 6.0,
        "transfers of 64 bits that fill a 64-byte line" => 8.0,
        "entries of 4 MiB" => 65_536.0,
        "bits of set, direct-mapped" => 16.0,
        "sets of 8 ways" => 8192.0,
        "bits of set, 8 ways" => 13.0,
        "tags compared, 8 ways" => 8.0,
        "sets, fully associative" => 1.0,
        "misses, direct-mapped, 2 lines of a set"
        | "misses, 8 ways, 9 lines of a set"
        | "misses, fully associative, one line more" => 100.0,
        _ => 0.0,
    }
}

/// The paper's numbers, increased by `by` in the series that contain `words`.
fn counts(id: &str, machine: &Machine, words: &'static str, by: f64) -> Planted {
    Planted::new(id, machine, |series, _| {
        let more = if series.contains(words) { by } else { 0.0 };
        Value::Counted(said(series) + more)
    })
}

macro_rules! rows_of {
    ($($id:literal, $claim:expr, $words:literal;)*) => {
        vec![$(
            row($id, $claim, Holds, |m| counts($id, m, $words, 0.0)),
            row($id, $claim, DoesNotHold, |m| counts($id, m, $words, 1.0)),
            row($id, $claim, Untestable, |m| {
                counts($id, m, $words, 0.0).without(|series, _| series.contains($words))
            })
            .says("not measured"),
        )*]
    };
}

pub fn rows() -> Vec<Row> {
    rows_of![
        "D4", BACK, "do not give back";
        "D4", BITS, "are not their bits";
        "D4", LOW, "transfers";
        "D9", ENTRIES, "sets of 8 ways";
        "D9", DIRECT, "in a row";
        "D9", EIGHT, "9 lines";
        "D9", WHOLE, "one line more";
    ]
}
