//! Code at every offset of a line.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::planted::{Planted, Row, noisy, row, time};

const WORST: &str = ".1";
const OVER: &str = ".2";
const FIRST: &str = ".3";

/// Code takes `first` at the start of a line, `over` if it crosses a line, and 1 at other offsets.
fn code(machine: &Machine, first: f64, over: f64) -> Planted {
    Planted::new("E24", machine, |series, x| {
        let bytes = if series.contains("48") { 48.0 } else { 25.0 };
        time(match x {
            0.0 => first,
            x if x + bytes > 64.0 => over,
            _ => 1.0,
        })
    })
}

pub fn rows() -> Vec<Row> {
    vec![
        row("E24", WORST, Holds, |m| code(m, 1.0, 1.3)),
        row("E24", WORST, DoesNotHold, |m| code(m, 1.0, 2.0)).says("at byte"),
        row("E24", WORST, Inconclusive, |m| code(m, 1.0, 1.5)),
        row("E24", WORST, Untestable, |m| {
            code(m, 1.0, 1.3).without(|series, _| series == "a loop of 48 bytes")
        }),
        row("E24", OVER, Holds, |m| code(m, 1.0, 1.3)),
        row("E24", OVER, DoesNotHold, |m| code(m, 1.0, 1.0)),
        // Slower although no line is crossed.
        row("E24", OVER, DoesNotHold, |m| code(m, 1.5, 1.3)),
        row("E24", OVER, Inconclusive, |m| code(m, 1.0, 1.1)),
        row("E24", OVER, Untestable, |m| code(m, 1.0, 1.3).without(|_, x| x > 0.0))
            .says("across the boundary"),
        row("E24", FIRST, Holds, |m| code(m, 1.0, 1.3)),
        row("E24", FIRST, DoesNotHold, |m| code(m, 1.2, 1.3)),
        row("E24", FIRST, Inconclusive, |m| Planted::new("E24", m, |_, _| noisy(1.0, 0.1))),
        row("E24", FIRST, Untestable, |m| code(m, 1.0, 1.3).without(|_, x| x == 0.0))
            .says("at the start of a line"),
    ]
}
