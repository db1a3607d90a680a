//! Figure 6.4.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::planted::{Planted, Row, Value, by_level, row, time};

const L1D: &str = ".1";
const MEMORY: &str = ".2";
const PAGE: &str = ".3";
const MOVDQU: &str = ".4";

/// Misaligned over aligned, level by level, and a split page over a split line.
fn splits(machine: &Machine, slower: [f64; 4], page: f64) -> Planted {
    Planted::new("E15", machine, |series, x| {
        let aligned = by_level(machine, x, [5.0, 16.0, 70.0, 400.0]);
        time(match series {
            "one a page, split line" => 10.0,
            "one a page, split page" => 10.0 * page,
            "loads by movdqa" | "loads by movdqu" => 4.0,
            "stores by movdqa" | "stores by movdqu" => 8.0,
            "sequential, aligned" | "random, aligned" => aligned,
            _ => aligned * by_level(machine, x, slower),
        })
    })
}

/// Moves by `movdqu` that take `factor` times as long as those by `movdqa`.
fn moves(machine: &Machine, factor: f64) -> Planted {
    Planted::new("E15", machine, |series, _| {
        time(if series.contains("movdqu") {
            4.0 * factor
        } else {
            4.0
        })
    })
}

pub fn rows() -> Vec<Row> {
    vec![
        row("E15", MOVDQU, Holds, |m| moves(m, 1.0)),
        row("E15", MOVDQU, DoesNotHold, |m| moves(m, 2.0)).says("stores by movdqu over movdqa 2.0"),
        row("E15", MOVDQU, Inconclusive, |m| moves(m, 1.05)),
        row("E15", MOVDQU, Untestable, |m| {
            moves(m, 1.0).without(|series, _| series == "stores by movdqa")
        })
        .says("no point of `stores by movdqa` was measured"),
        row("E15", L1D, Holds, |m| splits(m, [2.0; 4], 2.0)),
        row("E15", L1D, DoesNotHold, |m| {
            splits(m, [0.9, 1.0, 1.0, 1.0], 2.0)
        }),
        row("E15", L1D, DoesNotHold, |m| {
            splits(m, [4.5, 2.0, 2.0, 2.0], 2.0)
        })
        .says("misaligned over aligned, random 4.50"),
        row("E15", L1D, Inconclusive, |m| splits(m, [1.0; 4], 2.0)),
        row("E15", L1D, Untestable, |m| {
            splits(m, [2.0; 4], 2.0).without(|series, _| series == "random, misaligned")
        })
        .says("no point of `random, misaligned` was measured"),
        row("E15", MEMORY, Holds, |m| {
            splits(m, [2.0, 2.0, 1.5, 1.3], 2.0)
        }),
        row("E15", MEMORY, DoesNotHold, |m| {
            splits(m, [2.0, 2.0, 1.5, 1.1], 2.0)
        }),
        row("E15", MEMORY, Inconclusive, |m| {
            splits(m, [2.0, 2.0, 1.5, 1.2], 2.0)
        }),
        row("E15", MEMORY, Untestable, |m| {
            let memory = m.ranges.memory;
            splits(m, [2.0; 4], 2.0).without(|_, x| memory.holds(x))
        }),
        row("E15", PAGE, Holds, |m| splits(m, [2.0; 4], 2.0)),
        row("E15", PAGE, DoesNotHold, |m| splits(m, [2.0; 4], 1.0))
            .says("split page over split line 1.0"),
        row("E15", PAGE, Inconclusive, |m| splits(m, [2.0; 4], 1.1)),
        row("E15", PAGE, Untestable, |m| {
            Planted::new("E15", m, |series, _| match series {
                "one a page, split page" => Value::Untestable("no room"),
                _ => time(10.0),
            })
        })
        .says("no room"),
    ]
}
