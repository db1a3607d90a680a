//! Sestoft's arithmetic, judged on exact counts.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Untestable};

use super::planted::{Planted, Row, Value, row};

const NOTED: &str = ".1";
const ALL: &str = ".2";
const READ: &str = ".3";
const UPDATE: &str = ".4";
const INTS: &str = ".1";
const EVERYWHERE: &str = ".2";
const SAVED: &str = ".4";

/// Claims judged on counts alone.
pub const EXACT: &[super::Exact] = &[
    ("B7", ".1"),
    ("B7", ".2"),
    ("B7", ".3"),
    ("B7", ".4"),
    ("B16", ".1"),
    ("B16", ".2"),
    ("B16", ".4"),
];

/// Nanoseconds on the i7 and on the Xeon, for every series.
fn nanos(machine: &Machine, i7: f64, xeon: f64) -> Planted {
    Planted::new("B7", machine, |_, x| Value::Counted(if x == 0.0 { i7 } else { xeon }))
}

/// Integers per line; the number of places where the count, or both, share a line with the mean; megabytes.
fn sizes(machine: &Machine, ints: f64, count: f64, megabytes: f64) -> Planted {
    Planted::new("B16", machine, |series, _| {
        Value::Counted(match series {
            "4-byte integers in a line" => ints,
            "places where the mean shares its line with the count" => count,
            "MB of references to a cluster for each point" => megabytes,
            _ => 8.0,
        })
    })
}

pub fn rows() -> Vec<Row> {
    let mut rows = vec![
        row("B7", NOTED, Holds, |m| nanos(m, 57.0, 354.0)),
        row("B7", NOTED, DoesNotHold, |m| nanos(m, 57.0, 3.3)).says("on the Xeon: 3.30"),
        row("B7", ALL, Holds, |m| nanos(m, 57.0, 354.0)),
        row("B7", ALL, DoesNotHold, |m| nanos(m, 0.53, 354.0)).says("on the i7: 0.53"),
        row("B7", READ, Holds, |m| nanos(m, 220.0, 350.0)),
        row("B7", READ, DoesNotHold, |m| nanos(m, 4.2, 157.0)),
        row("B7", UPDATE, Holds, |m| nanos(m, 342.0, 12_700.0)),
        row("B7", UPDATE, DoesNotHold, |m| nanos(m, 342.0, 50.0)),
        row("B16", INTS, Holds, |m| sizes(m, 16.0, 5.0, 1.6)),
        row("B16", INTS, DoesNotHold, |m| sizes(m, 32.0, 5.0, 1.6)),
        row("B16", EVERYWHERE, Holds, |m| sizes(m, 16.0, 8.0, 1.6)),
        row("B16", EVERYWHERE, DoesNotHold, |m| sizes(m, 16.0, 7.0, 1.6)),
        row("B16", SAVED, Holds, |m| sizes(m, 16.0, 5.0, 1.6)),
        row("B16", SAVED, DoesNotHold, |m| sizes(m, 16.0, 5.0, 0.8)),
    ];
    let none = |id, claim| row(id, claim, Untestable, |m| nanos(m, 1.0, 1.0).without(|_, _| true));
    rows.extend([NOTED, ALL, READ, UPDATE].map(|claim| none("B7", claim)));
    rows.extend([INTS, EVERYWHERE, SAVED].map(|claim| {
        row("B16", claim, Untestable, |m| sizes(m, 16.0, 8.0, 1.6).without(|_, _| true))
    }));
    rows
}
