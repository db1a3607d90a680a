//! Figure 6.6: loads at a distance, and loads after a store.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::planted::{Planted, Row, Value, noisy, row, time};

const FLAT: &str = ".1";
const TWO: &str = ".2";
const ALIAS: &str = ".3";
const OTHERS: &str = ".4";
const BANK: &str = ".5";

/// The time of eight loads at a distance, and of a load at this distance from a preceding store.
fn places(machine: &Machine, loads: fn(f64) -> f64, behind: fn(f64) -> f64) -> Planted {
    Planted::new("E19", machine, |series, x| {
        time(if series.starts_with("eight loads") { loads(x) } else { behind(x) })
    })
}

/// All distances take the same time, except multiples of a line.
fn banked(x: f64, slow: f64) -> f64 {
    if x % 64.0 == 0.0 { slow } else { 2.67 }
}

/// A load waits if words at the same offset modulo 4 KiB overlap.
fn aliased(x: f64, slow: f64) -> f64 {
    let low = x % 4096.0;
    if low.min(4096.0 - low) < 8.0 { slow } else { 4.0 }
}

fn usual(machine: &Machine) -> Planted {
    places(machine, |_| 2.67, |x| aliased(x, 11.0))
}

pub fn rows() -> Vec<Row> {
    vec![
        row("E19", FLAT, Holds, usual),
        row("E19", FLAT, DoesNotHold, |m| places(m, |x| banked(x, 4.0), |_| 4.0))
            .says("at distances of 8 and 64 bytes: slowest over quickest: 1.50"),
        row("E19", FLAT, Inconclusive, |m| places(m, |x| banked(x, 2.67 * 1.1), |_| 4.0)),
        row("E19", FLAT, Untestable, |m| {
            usual(m).without(|series, x| series.starts_with("eight") && x == 64.0)
        })
        .says("was not measured at 64"),
        row("E19", TWO, Holds, |m| places(m, |x| banked(x, 4.0), |_| 4.0)),
        row("E19", TWO, DoesNotHold, |m| places(m, |x| banked(x, 8.0), |_| 4.0))
            .says("at worst, 64 bytes apart: 1.0"),
        row("E19", TWO, Inconclusive, |m| places(m, |x| banked(x, 4.44), |_| 4.0)),
        row("E19", TWO, Untestable, |m| {
            Planted::new("E19", m, |series, _| match series {
                "eight loads, the first at byte 40" => Value::Untestable("no clock"),
                _ => time(4.0),
            })
        })
        .says("no clock"),
        row("E19", ALIAS, Holds, usual),
        row("E19", ALIAS, Holds, |m| {
            Planted::new("E19", m, |series, x| {
                time(if series == "a load behind a store of late address" {
                    aliased(x, 13.7)
                } else {
                    4.0
                })
            })
        })
        .says("a load behind a store of late address: 4,096 bytes behind over 2,048: 3.4"),
        row("E19", ALIAS, DoesNotHold, |m| places(m, |_| 2.67, |x| aliased(x, 4.0)))
            .says("4,096 bytes behind over 2,048: 1.0"),
        row("E19", ALIAS, Inconclusive, |m| places(m, |_| 2.67, |x| aliased(x, 4.4))),
        row("E19", ALIAS, Untestable, |m| usual(m).without(|_, x| x == 4096.0))
            .says("`a load behind a store` was not measured at 4096"),
        row("E19", OTHERS, Holds, usual),
        row("E19", OTHERS, DoesNotHold, |m| {
            places(m, |_| 2.67, |x| if x == 4104.0 { 9.0 } else { 4.0 })
        })
        .says("4104 bytes behind over 2,048, at worst: 2.25"),
        row("E19", OTHERS, Inconclusive, |m| {
            Planted::new("E19", m, |_, x| if x == 8.0 { noisy(4.4, 0.05) } else { time(4.0) })
        }),
        row("E19", OTHERS, Untestable, |m| {
            usual(m).without(|series, x| series == "a load behind a store" && x == 2048.0)
        })
        .says("was not measured at 2048"),
        row("E19", BANK, Holds, |m| places(m, |x| if x == 128.0 { 8.0 } else { 4.0 }, |_| 4.0))
            .says("128 bytes apart over 16: 2.0"),
        row("E19", BANK, DoesNotHold, usual),
        row("E19", BANK, Inconclusive, |m| {
            places(m, |x| if x == 128.0 { 4.4 } else { 4.0 }, |_| 4.0)
        }),
        row("E19", BANK, Untestable, |m| {
            usual(m).without(|series, x| series.starts_with("eight") && x == 128.0)
        })
        .says("was not measured at 128"),
    ]
}
