//! Table 3.1: a compiler's L2 misses.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::planted::{Planted, Row, Value, row};

const SIZE: &str = ".1";
const WAYS: &str = ".2";
const LINE: &str = ".3";
const GAINS: &str = ".4";
const SECOND: &str = ".5";
const INSTALLED: &str = ".6";
const SAMPLED: &str = ".7";

/// Claims judged on counts alone.
pub const EXACT: &[super::Exact] = &[
    ("D10", SIZE),
    ("D10", WAYS),
    ("D10", LINE),
    ("D10", GAINS),
    ("D10", INSTALLED),
    ("D10", SAMPLED),
];

/// A table in the full profile. Twice the size leaves the share `of_size` of the misses, and lines of
/// 64 bytes `of_line`. 2, 4 and 8 ways leave these shares of the misses of one way.
fn table(machine: &Machine, of_size: f64, of_line: f64, of_ways: [f64; 3]) -> Planted {
    let mut machine = machine.clone();
    machine.full = true;
    Planted::new("D10", &machine, |series, size| {
        let ways = ["2 ways", "4 ways", "8 ways"]
            .iter()
            .position(|ways| series.contains(ways));
        let line = if series.ends_with("64 bytes") {
            of_line
        } else {
            1.0
        };
        let doublings = (size / f64::from(1 << 19)).log2();
        Value::Counted(
            1e7 * of_size.powf(doublings) * line * ways.map_or(1.0, |ways| of_ways[ways]),
        )
    })
}

/// A table like the paper's.
fn papers(machine: &Machine) -> Planted {
    table(machine, 0.6, 0.7, [0.57, 0.50, 0.49])
}

/// The same table, but at 2 MiB the sampled sets have `share` times the misses of all sets.
fn sampled(machine: &Machine, share: f64) -> Planted {
    let mut machine = machine.clone();
    machine.full = true;
    Planted::new("D10", &machine, |series, size| {
        let few = series.contains("one set in 128") && size == f64::from(2 << 20);
        Value::Counted(1e7 * if few { share } else { 1.0 } / size)
    })
}

fn quick(machine: &Machine) -> Planted {
    let mut quick = machine.clone();
    quick.full = false;
    papers(machine).on(quick)
}

pub fn rows() -> Vec<Row> {
    let mut rows = vec![
        row("D10", SIZE, DoesNotHold, |m| {
            table(m, 1.1, 0.7, [0.57, 0.50, 0.49])
        }),
        row("D10", WAYS, DoesNotHold, |m| {
            table(m, 0.6, 0.7, [0.57, 0.50, 0.51])
        }),
        row("D10", LINE, DoesNotHold, |m| {
            table(m, 0.6, 1.2, [0.57, 0.50, 0.49])
        }),
        row("D10", GAINS, DoesNotHold, |m| {
            table(m, 0.6, 0.7, [0.90, 0.50, 0.49])
        }),
        row("D10", SECOND, DoesNotHold, |m| {
            table(m, 0.6, 0.7, [0.90, 0.50, 0.49])
        }),
        // Every second of the eight slices has twice the misses with one way, and the same with two.
        row("D10", SECOND, Inconclusive, |m| {
            let mut machine = m.clone();
            machine.full = true;
            Planted::new("D10", &machine, |series, _| {
                let odd = series.contains(", slice") && series.as_bytes()[14] % 2 == 1;
                let one = if odd { 200.0 } else { 100.0 };
                let two = series.contains("2 ways");
                Value::Counted(if two { 57.0 } else { one })
            })
        }),
        row("D10", INSTALLED, DoesNotHold, |m| {
            table(m, 0.6, 1.2, [0.57, 0.50, 0.49])
        }),
        row("D10", INSTALLED, Untestable, quick).says("the full profile does"),
        row("D10", INSTALLED, Untestable, |m| {
            papers(m).without(|series, _| series.starts_with("installed, 8 ways"))
        }),
    ];
    rows.extend([
        row("D10", SAMPLED, DoesNotHold, |m| sampled(m, 1.2)).says("at most: 1.20"),
        row("D10", SAMPLED, DoesNotHold, |m| sampled(m, 0.8)),
        row("D10", SAMPLED, Untestable, quick).says("the full profile does"),
    ]);
    for claim in [SIZE, WAYS, LINE, GAINS, SECOND, INSTALLED, SAMPLED] {
        rows.push(row("D10", claim, Holds, papers));
    }
    for claim in [SIZE, WAYS, LINE, GAINS, SECOND] {
        rows.push(row("D10", claim, Untestable, |m| {
            papers(m).without(|series, _| series.starts_with("stored, 2 ways"))
        }));
    }
    rows
}
