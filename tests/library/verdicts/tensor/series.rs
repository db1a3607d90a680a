//! The series' numbers.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use crate::verdicts::planted::{Planted, Row, Value, row, time};

const TITLE: &str = ".1";
const HUGE: &str = ".2";
pub const QUOTED: &str = ".3";
pub const SERIES: &str = ".4";

/// Nanoseconds per read: nested and flat in pages of 4 KiB, and nested in 2 MiB pages; and the gains in the
/// documents' own numbers.
fn parts(machine: &Machine, times: [f64; 3], gains: [f64; 2]) -> Planted {
    Planted::new("C10", machine, |series, _| match series {
        "nested boxes" => time(times[0]),
        "flat, strides" => time(times[1]),
        "nested boxes, pages of 2 MiB" => time(times[2]),
        "gain in percent of 287.63 over the 140 operations per second quoted" => {
            Value::Counted(gains[0])
        }
        "gain in percent of 287.63 over the 180 of huge pages" => Value::Counted(gains[1]),
        _ => time(6.0),
    })
}

const PART_7: [f64; 3] = [7.5, 3.5, 5.8];
const GAINS: [f64; 2] = [105.45, 59.8];

pub fn series() -> Vec<Row> {
    vec![
        row("C10", TITLE, Holds, |m| parts(m, PART_7, GAINS)),
        row("C10", TITLE, DoesNotHold, |m| parts(m, [4.7, 3.5, 4.6], GAINS))
            .says("nested over flat: 1.34"),
        row("C10", TITLE, Inconclusive, |m| parts(m, [5.6, 3.5, 5.6], GAINS)),
        row("C10", TITLE, Untestable, |m| {
            parts(m, PART_7, GAINS).without(|series, _| series == "flat, strides")
        }),
        row("C10", HUGE, Holds, |m| parts(m, PART_7, GAINS)),
        row("C10", HUGE, DoesNotHold, |m| parts(m, [7.5, 3.5, 7.4], GAINS)),
        row("C10", HUGE, Inconclusive, |m| parts(m, [7.5, 3.5, 6.82], GAINS)),
        row("C10", HUGE, Untestable, |m| {
            Planted::new("C10", m, |series, _| match series {
                "nested boxes, pages of 2 MiB" => Value::Untestable("no pages of 2 MiB"),
                _ => time(5.0),
            })
        })
        .says("no pages of 2 MiB"),
        row("C10", QUOTED, Holds, |m| parts(m, PART_7, [60.0, 59.8])),
        row("C10", QUOTED, DoesNotHold, |m| parts(m, PART_7, GAINS)),
        row("C10", QUOTED, Untestable, |m| {
            parts(m, PART_7, GAINS).without(|series, _| series.ends_with("quoted"))
        }),
        row("C10", SERIES, Holds, |m| parts(m, PART_7, GAINS)),
        row("C10", SERIES, DoesNotHold, |m| parts(m, PART_7, [105.0, 116.0])),
        row("C10", SERIES, Untestable, |m| {
            parts(m, PART_7, GAINS).without(|series, _| series.ends_with("huge pages"))
        }),
    ]
}
