//! The cost of the index.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use crate::verdicts::planted::{Planted, Row, row, time};

const PRIMES: &str = ".1";
const MASKS: &str = ".2";
const CALLS: &str = ".3";
const DIVISIONS: &str = ".4";

/// Nanoseconds per read: by remainders, masks, prime dimensions, not inlined, by divisions.
fn indices(machine: &Machine, times: [f64; 5]) -> Planted {
    Planted::new("C7", machine, |series, _| {
        time(match series {
            "flat, strides" => times[0],
            "flat, masks" => times[1],
            "flat, prime dimensions" => times[2],
            "flat, not inlined" => times[3],
            "flat, dimensions unknown" => times[4],
            _ => 2.0,
        })
    })
}

/// The post's values.
fn part_8(machine: &Machine) -> Planted {
    indices(machine, [3.5, 3.05, 7.0, 9.8, 12.0])
}

pub fn index() -> Vec<Row> {
    vec![
        row("C7", PRIMES, Holds, part_8),
        row("C7", PRIMES, DoesNotHold, |m| indices(m, [3.5, 3.05, 3.9, 9.8, 12.0]))
            .says("powers of two over four primes: 0.90"),
        row("C7", PRIMES, Inconclusive, |m| indices(m, [3.5, 3.05, 4.4, 9.8, 12.0])),
        row("C7", PRIMES, Untestable, |m| {
            part_8(m).without(|series, _| series == "flat, prime dimensions")
        }),
        row("C7", MASKS, Holds, part_8),
        row("C7", MASKS, DoesNotHold, |m| indices(m, [3.5, 3.7, 7.0, 9.8, 12.0]))
            .says("remainders over masks: 0.95"),
        row("C7", MASKS, Inconclusive, |m| indices(m, [3.5, 3.18, 7.0, 9.8, 12.0])),
        row("C7", MASKS, Untestable, |m| part_8(m).without(|series, _| series == "flat, masks")),
        row("C7", CALLS, Holds, part_8),
        row("C7", CALLS, DoesNotHold, |m| indices(m, [3.5, 3.05, 7.0, 4.5, 12.0])),
        row("C7", CALLS, Inconclusive, |m| indices(m, [3.5, 3.05, 7.0, 5.25, 12.0])),
        row("C7", CALLS, Untestable, |m| part_8(m).without(|series, _| series == "flat, strides")),
        row("C7", DIVISIONS, Holds, part_8),
        row("C7", DIVISIONS, DoesNotHold, |m| indices(m, [3.5, 3.05, 7.0, 9.8, 4.0])),
        row("C7", DIVISIONS, Inconclusive, |m| indices(m, [3.5, 3.05, 7.0, 9.8, 5.25])),
        row("C7", DIVISIONS, Untestable, |m| {
            part_8(m).without(|series, _| series == "flat, dimensions unknown")
        }),
    ]
}
