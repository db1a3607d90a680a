//! Outstanding misses: X10.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::machines::with_memory;
use super::planted::{Planted, Row, Value, noisy, row, time};

const EIGHT: &str = ".1";
const STOP: &str = ".2";
const PUBLISHED: &str = ".3";

/// Walks whose steps take 160 ns one by one. They share `buffers` fill buffers, with relative noise `noise`.
/// The published number is `published`.
fn walks(machine: &Machine, buffers: f64, noise: f64, published: Value) -> Planted {
    Planted::new("X10", machine, |series, x| match series {
        "a step of one of n walks" => noisy(160.0 / x.min(buffers), noise),
        _ => published,
    })
}

fn usual(machine: &Machine) -> Planted {
    walks(machine, 16.0, 0.002, Value::Counted(16.0))
}

pub fn rows() -> Vec<Row> {
    vec![
        row("X10", EIGHT, Holds, usual),
        row("X10", EIGHT, DoesNotHold, |m| walks(m, 2.0, 0.002, Value::Missing)),
        row("X10", EIGHT, Inconclusive, |m| walks(m, 4.0, 0.002, Value::Missing)),
        row("X10", EIGHT, Untestable, |m| usual(m).without(|_, x| x == 8.0)),
        // Found exactly among the numbers of walks that were tried.
        row("X10", STOP, Holds, usual).says("16"),
        row("X10", STOP, DoesNotHold, |m| walks(m, 1000.0, 0.002, Value::Missing)),
        row("X10", STOP, Inconclusive, |m| walks(m, 30.0, 0.04, Value::Missing)),
        row("X10", STOP, Untestable, |m| usual(m).on(with_memory(m, 8 << 20)))
            .says("is not in the range"),
        row("X10", PUBLISHED, Holds, usual).says("(claimed: 12.8 to 19.2)"),
        row("X10", PUBLISHED, DoesNotHold, |m| walks(m, 10.0, 0.002, Value::Counted(16.0))),
        row("X10", PUBLISHED, Inconclusive, |m| walks(m, 16.0, 0.05, Value::Counted(16.0))),
        // In small pages, eight page walkers may serve fewer walks than sixteen buffers.
        row("X10", PUBLISHED, Untestable, |m| {
            walks(m, 8.0, 0.002, Value::Counted(16.0)).granted("4 KiB, node 0")
        })
        .says("page walkers"),
        row("X10", PUBLISHED, DoesNotHold, |m| {
            walks(m, 8.0, 0.002, Value::Counted(16.0)).granted("2 MiB (hugetlb)")
        }),
        row("X10", PUBLISHED, Holds, |m| usual(m).granted("4 KiB")),
        row("X10", PUBLISHED, Untestable, |m| {
            let unknown = Value::Untestable("nothing is known to be published");
            walks(m, 16.0, 0.002, unknown)
        })
        .says("nothing is known"),
        row("X10", PUBLISHED, Untestable, |m| {
            Planted::new("X10", m, |series, _| match series {
                "a step of one of n walks" => Value::Missing,
                _ => Value::Counted(16.0),
            })
        })
        .says("no point of"),
        row("X10", STOP, Holds, |m| {
            Planted::new("X10", m, |_, x| time(if x < 4.0 { 100.0 / x } else { 25.0 }))
        })
        .says("4"),
    ]
}
