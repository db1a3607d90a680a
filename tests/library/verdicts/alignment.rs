//! Figure 6.4.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::planted::{Planted, Row, Value, by_level, row, time};

const L1D: &str = ".1";
const MEMORY: &str = ".2";
const PAGE: &str = ".3";
const L2: &str = ".5";
const IN_ORDER: &str = ".6";
const DRAMATIC: &str = ".7";
const MOVDQU: &str = ".8";

/// The ratio of misaligned to aligned, level by level, and of a split page to a split line.
fn splits(machine: &Machine, slower: [f64; 4], page: f64) -> Planted {
    Planted::new("E15", machine, |series, x| {
        let aligned = by_level(machine, x, [5.0, 16.0, 70.0, 400.0]);
        time(match series {
            "one per page, split line" => 10.0,
            "one per page, split page" => 10.0 * page,
            "loads by movdqa" | "loads by movdqu" => 4.0,
            "stores by movdqa" | "stores by movdqu" => 8.0,
            "sequential, aligned" | "random, aligned" => aligned,
            _ => aligned * by_level(machine, x, slower),
        })
    })
}

/// The ratio of misaligned to aligned on all levels, in order and at random.
fn orders(machine: &Machine, in_order: f64, at_random: f64) -> Planted {
    Planted::new("E15", machine, |series, _| {
        time(match series {
            "sequential, misaligned" => 16.0 * in_order,
            "random, misaligned" => 16.0 * at_random,
            _ => 16.0,
        })
    })
}

/// Moves by `movdqu` take `factor` times as long as those by `movdqa`.
fn moves(machine: &Machine, factor: f64) -> Planted {
    Planted::new("E15", machine, |series, _| {
        time(if series.contains("movdqu") { 4.0 * factor } else { 4.0 })
    })
}

pub fn rows() -> Vec<Row> {
    vec![
        row("E15", MOVDQU, Holds, |m| moves(m, 2.0)),
        row("E15", MOVDQU, DoesNotHold, |m| moves(m, 1.0)).says("loads by movdqu over movdqa: 1.0"),
        row("E15", MOVDQU, Inconclusive, |m| moves(m, 1.05)),
        row("E15", MOVDQU, Untestable, |m| {
            moves(m, 1.0).without(|series, _| series == "stores by movdqa")
        })
        .says("no point of `stores by movdqa` was measured"),
        row("E15", L1D, Holds, |m| splits(m, [2.0; 4], 2.0)),
        row("E15", L1D, DoesNotHold, |m| splits(m, [0.9, 1.0, 1.0, 1.0], 2.0)),
        row("E15", L1D, DoesNotHold, |m| splits(m, [4.5, 2.0, 2.0, 2.0], 2.0))
            .says("misaligned over aligned, random: 4.50"),
        row("E15", L1D, Inconclusive, |m| splits(m, [1.0; 4], 2.0)),
        row("E15", L1D, Untestable, |m| {
            splits(m, [2.0; 4], 2.0).without(|series, _| series == "random, misaligned")
        })
        .says("no point of `random, misaligned` was measured"),
        row("E15", MEMORY, Holds, |m| splits(m, [2.0, 2.0, 1.5, 1.3], 2.0)),
        row("E15", MEMORY, DoesNotHold, |m| splits(m, [2.0, 2.0, 1.5, 1.1], 2.0)),
        row("E15", MEMORY, Inconclusive, |m| splits(m, [2.0, 2.0, 1.5, 1.2], 2.0)),
        row("E15", MEMORY, Untestable, |m| {
            let memory = m.ranges.memory;
            splits(m, [2.0; 4], 2.0).without(|_, x| memory.holds(x))
        }),
        row("E15", PAGE, Holds, |m| splits(m, [2.0; 4], 2.0)),
        row("E15", PAGE, DoesNotHold, |m| splits(m, [2.0; 4], 1.0))
            .says("split page over split line: 1.0"),
        row("E15", PAGE, Inconclusive, |m| splits(m, [2.0; 4], 1.1)),
        row("E15", PAGE, Untestable, |m| {
            Planted::new("E15", m, |series, _| match series {
                "one per page, split page" => Value::Untestable("no room"),
                _ => time(10.0),
            })
        })
        .says("no room"),
        row("E15", L2, Holds, |m| splits(m, [4.0, 4.1, 2.0, 1.3], 2.0)),
        row("E15", L2, DoesNotHold, |m| splits(m, [2.0; 4], 2.0)),
        row("E15", L2, Inconclusive, |m| splits(m, [3.0, 3.0, 2.0, 1.3], 2.0)),
        row("E15", L2, Untestable, |m| {
            let l2 = m.ranges.l2;
            splits(m, [4.0; 4], 2.0).without(|_, x| l2.holds(x))
        }),
        row("E15", IN_ORDER, Holds, |m| splits(m, [4.0, 4.1, 2.0, 1.3], 2.0)),
        row("E15", IN_ORDER, DoesNotHold, |m| splits(m, [4.0, 4.1, 2.0, 1.1], 2.0)),
        row("E15", IN_ORDER, Inconclusive, |m| splits(m, [4.0, 4.1, 2.0, 1.2], 2.0)),
        row("E15", IN_ORDER, Untestable, |m| {
            let memory = m.ranges.memory;
            splits(m, [4.0; 4], 2.0).without(|_, x| memory.holds(x))
        }),
        row("E15", DRAMATIC, Holds, |m| orders(m, 4.0, 2.0)),
        row("E15", DRAMATIC, DoesNotHold, |m| orders(m, 2.0, 4.0)),
        row("E15", DRAMATIC, Inconclusive, |m| orders(m, 2.0, 2.0)),
        row("E15", DRAMATIC, Untestable, |m| {
            orders(m, 4.0, 2.0).without(|series, _| series == "random, aligned")
        })
        .says("no point of `random, aligned`"),
    ]
}
