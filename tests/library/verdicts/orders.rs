//! The order structure.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::Exact;
use super::machines::with_memory;
use super::planted::{Planted, Row, Value, by_level, row, time};

/// Claims about bytes of structures are counted.
pub const EXACT: &[Exact] = &[("E17", ".1")];

const SIZES: &str = ".1";
const MEMORY: &str = ".2";
const NEAR: &str = ".3";
const FACTOR: &str = ".4";
const APART: &str = ".5";

/// The paper's order; `paid` is the number of bytes before the flag.
fn bytes(series: &str, paid: f64) -> Option<Value> {
    let bytes = match series {
        "bytes of an order" => 64.0,
        "bytes before paid" => paid,
        "bytes before buyer" | "bytes of the split-off part" => 16.0,
        "bytes before buyer_id" => 56.0,
        _ => return None,
    };
    Some(Value::Counted(bytes))
}

/// Core cycles per batch, level by level, for whole orders and for separate arrays. Split orders take 30 on
/// all levels.
fn batches(machine: &Machine, whole: [f64; 4], apart: [f64; 4]) -> Planted {
    Planted::new("E17", machine, |series, x| {
        bytes(series, 8.0).unwrap_or_else(|| {
            time(match series {
                "whole orders, 64 bytes" => by_level(machine, x, whole),
                "price and paid, 16 bytes" => 30.0,
                _ => by_level(machine, x, apart),
            })
        })
    })
}

const WHOLE: [f64; 4] = [30.0, 33.0, 45.0, 140.0];
const VECTORS: [f64; 4] = [5.0, 5.0, 6.0, 20.0];

fn today(machine: &Machine) -> Planted {
    batches(machine, WHOLE, VECTORS)
}

fn whole(machine: &Machine, levels: [f64; 4]) -> Planted {
    batches(machine, levels, VECTORS)
}

/// The same machine, whose memory limit is so small that no working set exceeds the caches.
fn small(machine: &Machine) -> Planted {
    today(&with_memory(machine, 16 << 20))
}

/// The same machine, whose memory limit puts whole orders in memory, but split ones in the last level.
fn split_in_a_cache(machine: &Machine) -> Planted {
    today(&with_memory(machine, 128 << 20))
}

pub fn rows() -> Vec<Row> {
    vec![
        row("E17", SIZES, Holds, today),
        // A compiler that packs the structure.
        row("E17", SIZES, DoesNotHold, |m| {
            Planted::new("E17", m, |series, _| bytes(series, 9.0).unwrap_or(time(1.0)))
        })
        .says("bytes before paid: 9"),
        row("E17", SIZES, Untestable, |m| {
            today(m).without(|series, _| series == "bytes before buyer")
        })
        .says("`bytes before buyer` was not measured"),
        row("E17", MEMORY, Holds, today),
        row("E17", MEMORY, Holds, |m| today(m).with_doubtful_l1()),
        row("E17", MEMORY, DoesNotHold, |m| whole(m, [30.0, 90.0, 90.0, 40.0])),
        row("E17", MEMORY, Inconclusive, |m| whole(m, [30.0, 33.0, 45.0, 45.0])),
        row("E17", MEMORY, Untestable, small).says("is not in the range"),
        row("E17", MEMORY, Untestable, |m| today(&with_memory(m, 0))),
        row("E17", MEMORY, Untestable, split_in_a_cache).says("32768 KiB, is not in the range"),
        row("E17", NEAR, Holds, today),
        row("E17", NEAR, DoesNotHold, |m| whole(m, [36.0, 36.0, 45.0, 140.0])),
        row("E17", NEAR, DoesNotHold, |m| whole(m, [25.0, 36.0, 45.0, 140.0])),
        row("E17", NEAR, Inconclusive, |m| whole(m, [33.0, 36.0, 45.0, 140.0])),
        row("E17", NEAR, Untestable, |m| {
            let l1 = m.ranges.l1.hi;
            today(m).without(|_, x| 0.0 < x && x <= l1)
        }),
        row("E17", FACTOR, Holds, today),
        row("E17", FACTOR, DoesNotHold, |m| whole(m, [30.0, 33.0, 45.0, 60.0])),
        row("E17", FACTOR, DoesNotHold, |m| whole(m, [30.0, 33.0, 45.0, 250.0])),
        row("E17", FACTOR, Inconclusive, |m| whole(m, [30.0, 33.0, 45.0, 90.0])),
        row("E17", FACTOR, Untestable, small),
        row("E17", FACTOR, Untestable, split_in_a_cache).says("32768 KiB, is not in the range"),
        row("E17", APART, Holds, today),
        row("E17", APART, DoesNotHold, |m| batches(m, WHOLE, [20.0, 20.0, 20.0, 20.0]))
            .says("split over apart, in L1d: 1.50"),
        row("E17", APART, DoesNotHold, |m| batches(m, WHOLE, [5.0, 5.0, 5.0, 30.0]))
            .says("split over apart, in memory: 1.00"),
        row("E17", APART, Inconclusive, |m| batches(m, WHOLE, [15.0, 5.0, 5.0, 20.0])),
        row("E17", APART, Untestable, split_in_a_cache).says("32768 KiB, is not in the range"),
        row("E17", APART, Untestable, |m| {
            Planted::new("E17", m, |series, _| match series {
                "prices and paid apart, 9 bytes, vectors" => Value::Untestable("needs AVX2"),
                _ => time(30.0),
            })
        })
        .says("needs AVX2"),
    ]
}
