//! Maps that are divided among locks.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};
use linefill::experiment::topics::maps::map::MapKind;
use linefill::stats::Interval;

use super::Exact;
use super::planted::{Planted, Row, Value, row, time};
use super::siblings;

pub const EXACT: &[Exact] = &[("B10", ".5"), ("B10", ".6")];

/// Nanoseconds per operation of each map: StripedMap, StripedWriteMap, padded, DashMap, papaya.
type Times = [f64; 5];

/// The note's values at many threads.
const NOTE: Times = [90.0, 40.0, 30.0, 30.0, 30.0];

fn times(machine: &Machine, of: Times) -> Planted {
    let number = |name: &str| MapKind::ALL.iter().position(|map| map.name() == name);
    Planted::new("B10", machine, |series, _| {
        if let Some((map, rest)) = series.split_once(" less ") {
            let (share, other) = rest.split_once(" of ").unwrap();
            let of = |name| of[number(name).unwrap()];
            let less = share.parse::<f64>().unwrap() * of(other);
            return doubtful(of(map) - less, 0.01 * less);
        }
        match number(series) {
            Some(map) => time(of[map]),
            None if series.ends_with(": size") => Value::Counted(12_000.0),
            None => Value::Counted(0.0),
        }
    })
}

/// A difference with the uncertainty `doubt`.
fn doubtful(difference: f64, doubt: f64) -> Value {
    Value::Timed(Interval::new(difference - doubt, difference + doubt))
}

fn note(machine: &Machine) -> Planted {
    times(machine, NOTE)
}

/// The same, with one wrong count.
fn sized(machine: &Machine, which: &'static str, count: f64) -> Planted {
    Planted::new("B10", machine, |series, threads| match series {
        found if found == which && threads == 1.0 => Value::Counted(count),
        size if size.ends_with(": size") => Value::Counted(12_000.0),
        off if off.ends_with("off by") => Value::Counted(0.0),
        _ => time(30.0),
    })
}

/// The build lacks the feature `peers`.
fn without_peers(machine: &Machine) -> Planted {
    Planted::new("B10", machine, |series, _| {
        let peer = series.starts_with("DashMap") || series.starts_with("papaya");
        match peer {
            true => Value::Untestable("built without the feature peers"),
            false if series.ends_with(": size") => Value::Counted(12_000.0),
            false if series.ends_with("off by") => Value::Counted(0.0),
            false => time(30.0),
        }
    })
}

const READS: &str = ".1";
const PADDING: &str = ".2";
const DASH: &str = ".3";
const PAPAYA: &str = ".4";
const SIZES: &str = ".5";
const PEERS: &str = ".6";

pub fn rows() -> Vec<Row> {
    vec![
        row("B10", READS, Holds, note).says("StripedMap minus StripedWriteMap, in turn"),
        row("B10", READS, DoesNotHold, |m| times(m, [30.0, 40.0, 30.0, 30.0, 30.0])).says("-10"),
        row("B10", READS, Inconclusive, |m| times(m, [40.0; 5])),
        row("B10", READS, Untestable, |m| note(m).on(siblings::alone(m)))
            .says("the test needs 2 cores"),
        row("B10", PADDING, Holds, note).says("11.5"),
        row("B10", PADDING, DoesNotHold, |m| times(m, [90.0, 30.0, 40.0, 30.0, 30.0]))
            .says("-8.00"),
        row("B10", PADDING, Inconclusive, |m| times(m, [90.0, 38.0, 40.0, 30.0, 30.0])),
        row("B10", PADDING, Untestable, |m| note(m).on(siblings::alone(m))),
        row("B10", DASH, Holds, note).says("-64.5"),
        row("B10", DASH, DoesNotHold, |m| times(m, [30.0, 20.0, 20.0, 45.0, 20.0])).says("13.5"),
        row("B10", DASH, Inconclusive, |m| times(m, [30.0, 30.0, 30.0, 31.5, 31.5])),
        row("B10", DASH, Untestable, without_peers).says("without the feature peers"),
        row("B10", PAPAYA, Holds, note).says("-64.5"),
        row("B10", PAPAYA, DoesNotHold, |m| times(m, [30.0, 20.0, 20.0, 20.0, 45.0])).says("13.5"),
        row("B10", PAPAYA, Inconclusive, |m| times(m, [30.0, 30.0, 30.0, 31.5, 31.5])),
        row("B10", PAPAYA, Untestable, without_peers).says("without the feature peers"),
        row("B10", SIZES, Holds, without_peers).says("StripedWriteMap: size: 12000"),
        row("B10", SIZES, DoesNotHold, |m| sized(m, "StripedWriteMap: size off by", 3.0))
            .says("StripedWriteMap: size wrong by, with 1 thread: 3"),
        row("B10", SIZES, Untestable, |m| {
            note(m).without(|series, _| series == "StripedMap: size")
        })
        .says("was not measured at 1"),
        row("B10", PEERS, Holds, note).says("DashMap: size: 12000"),
        row("B10", PEERS, DoesNotHold, |m| sized(m, "papaya::HashMap: size", 12_001.0))
            .says("papaya::HashMap: size: 12001"),
        row("B10", PEERS, Untestable, without_peers).says("without the feature peers"),
    ]
}
