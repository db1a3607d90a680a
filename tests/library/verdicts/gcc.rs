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
const SIXTEEN: &str = ".8";
const SECOND_AT_16M: &str = ".9";
const LARGER: &str = ".10";
const NO_DOUBLING: &str = ".11";

/// Claims judged on counts alone.
pub const EXACT: &[super::Exact] = &[
    ("D10", SIZE),
    ("D10", WAYS),
    ("D10", LINE),
    ("D10", GAINS),
    ("D10", INSTALLED),
    ("D10", SAMPLED),
    ("D10", SIXTEEN),
    ("D10", LARGER),
    ("D10", NO_DOUBLING),
];

/// A table in the full profile. Twice the size leaves the share `of_size` of the misses, and lines of
/// 64 bytes `of_line`. 2, 4 and 8 ways leave these shares of the misses of one way, and nothing more leaves
/// less.
fn table(machine: &Machine, of_size: f64, of_line: f64, of_ways: [f64; 3]) -> Planted {
    let [two, four, eight] = of_ways;
    larger_table(machine, of_size, of_line, [two, four, eight, eight], 1.0)
}

/// The same, with a share that 16 ways leave, and the share of the misses at 16 MiB that 32 MiB leave.
fn larger_table(
    machine: &Machine,
    of_size: f64,
    of_line: f64,
    of_ways: [f64; 4],
    of_32_mib: f64,
) -> Planted {
    let mut machine = machine.clone();
    machine.full = true;
    Planted::new("D10", &machine, |series, size| {
        let ways = [", 2 ways", ", 4 ways", ", 8 ways", ", 16 ways"]
            .iter()
            .position(|ways| series.contains(ways));
        let line = if series.ends_with("64 bytes") { of_line } else { 1.0 };
        let doublings = (size / f64::from(1 << 19)).log2();
        let size = match doublings {
            6.0 => of_size.powf(5.0) * of_32_mib,
            doublings => of_size.powf(doublings),
        };
        Value::Counted(1e7 * size * line * ways.map_or(1.0, |ways| of_ways[ways]))
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

/// Every second of the eight slices has twice the misses with one way, and the same `two` with two ways.
fn slices(machine: &Machine, two: f64) -> Planted {
    let mut machine = machine.clone();
    machine.full = true;
    Planted::new("D10", &machine, |series, _| {
        let odd = series.contains(", slice") && series.as_bytes()[14] % 2 == 1;
        let one = if odd { 200.0 } else { 100.0 };
        Value::Counted(if series.contains("2 ways") { two } else { one })
    })
}

fn quick(machine: &Machine) -> Planted {
    let mut quick = machine.clone();
    quick.full = false;
    papers(machine).on(quick)
}

pub fn rows() -> Vec<Row> {
    let mut rows = vec![
        row("D10", SIZE, DoesNotHold, |m| table(m, 1.1, 0.7, [0.57, 0.50, 0.49])),
        row("D10", WAYS, DoesNotHold, |m| table(m, 0.6, 0.7, [0.57, 0.50, 0.51])),
        row("D10", LINE, DoesNotHold, |m| table(m, 0.6, 1.2, [0.57, 0.50, 0.49])),
        row("D10", GAINS, DoesNotHold, |m| table(m, 0.6, 0.7, [0.90, 0.50, 0.49])),
        row("D10", SECOND, DoesNotHold, |m| table(m, 0.6, 0.7, [0.90, 0.50, 0.49])),
        row("D10", SECOND, Inconclusive, |m| slices(m, 57.0)),
        // The sample of one compilation says less than all sets of another.
        row("D10", SECOND, Inconclusive, |m| {
            let mut machine = m.clone();
            machine.full = true;
            Planted::new("D10", &machine, |series, _| {
                let two = match series.starts_with("another compilation") {
                    true => 56.0,
                    false => 73.0,
                };
                Value::Counted(if series.contains("2 ways") { two } else { 100.0 })
            })
        })
        .says("[0.27, 0.44]"),
        row("D10", SECOND, Untestable, |m| {
            papers(m).without(|series, _| series.starts_with("another compilation"))
        }),
        row("D10", SIXTEEN, DoesNotHold, |m| {
            larger_table(m, 0.6, 0.7, [0.57, 0.50, 0.49, 0.43], 1.0)
        })
        .says("saved by ways 9 to 16: 0.12"),
        row("D10", SECOND_AT_16M, DoesNotHold, |m| table(m, 0.6, 0.7, [0.97, 0.50, 0.49]))
            .says("at 16 MiB: 0.03"),
        row("D10", SECOND_AT_16M, Inconclusive, |m| slices(m, 95.0)),
        row("D10", LARGER, DoesNotHold, |m| {
            larger_table(m, 0.6, 0.7, [0.57, 0.50, 0.49, 0.49], 0.9)
        })
        .says("saved by 32 MiB: 0.1"),
        row("D10", NO_DOUBLING, DoesNotHold, |m| table(m, 0.9, 0.7, [0.57, 0.40, 0.39]))
            .says("twice the size, at least: 0.78"),
        row("D10", INSTALLED, DoesNotHold, |m| table(m, 0.6, 1.2, [0.57, 0.50, 0.49])),
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
    let of_stored = [SIZE, WAYS, LINE, GAINS, SECOND, SECOND_AT_16M, LARGER, NO_DOUBLING];
    for claim in of_stored.into_iter().chain([INSTALLED, SAMPLED, SIXTEEN]) {
        rows.push(row("D10", claim, Holds, papers));
    }
    rows.push(row("D10", SIXTEEN, Untestable, |m| {
        papers(m).without(|series, _| series.starts_with("stored, 16 ways"))
    }));
    for claim in of_stored {
        rows.push(row("D10", claim, Untestable, |m| {
            papers(m).without(|series, _| series.starts_with("stored, 2 ways"))
        }));
    }
    rows
}
