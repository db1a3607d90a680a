//! Store-to-load forwarding by offset.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::planted::{Planted, Row, row, time};

const NARROW: &str = ".1";
const WIDE: &str = ".2";
const OUT: &str = ".3";

/// The time of a load at the start of the store, at another place inside it, and across its end; and of a
/// load across the middle of a store of 64 bytes.
#[derive(Clone, Copy)]
struct Costs {
    start: f64,
    inside: f64,
    outside: f64,
    middle: f64,
}

const USUAL: Costs = Costs { start: 5.0, inside: 5.0, outside: 17.0, middle: 5.0 };

impl Costs {
    fn of(&self, series: &str, x: f64) -> f64 {
        let mut sizes = series.split(' ').filter_map(|word| word.parse::<f64>().ok());
        let (store, load) = (sizes.next().expect("a size"), sizes.next().expect("a size"));
        if x < 0.0 || x + load > store {
            self.outside
        } else if store == 64.0 && x < 32.0 && x + load > 32.0 {
            self.middle
        } else if x > 0.0 {
            self.inside
        } else {
            self.start
        }
    }

    fn on(self, machine: &Machine) -> Planted {
        Planted::new("X8", machine, |series, x| time(self.of(series, x)))
    }
}

/// A CPU whose widest accesses have 16 bytes.
fn narrow(machine: &Machine) -> Planted {
    USUAL.on(machine).lacking(&["32", "64"], "this CPU has no accesses of so many bytes")
}

pub fn rows() -> Vec<Row> {
    vec![
        row("X8", NARROW, Holds, |m| USUAL.on(m)),
        row("X8", NARROW, Holds, narrow),
        row("X8", NARROW, DoesNotHold, |m| {
            let inside = 15.0;
            Costs { inside, ..USUAL }.on(m)
        })
        .says("slowest offset over fastest or over a load from L1d, at most, with 8 to 1 bytes"),
        row("X8", NARROW, Inconclusive, |m| {
            let inside = 7.5;
            Costs { inside, ..USUAL }.on(m)
        }),
        row("X8", NARROW, Untestable, |m| {
            USUAL.on(m).without(|series, _| series == "16 to 8 bytes")
        })
        .says("`16 to 8 bytes` was not measured at 0"),
        // Memory renaming at the start of a store: the planted machines load from L1d in 4 and 5 cycles.
        row("X8", NARROW, Holds, |m| {
            let start = 1.0;
            Costs { start, ..USUAL }.on(m)
        }),
        row("X8", WIDE, Holds, |m| USUAL.on(m)),
        row("X8", WIDE, DoesNotHold, |m| {
            let middle = 17.0;
            Costs { middle, ..USUAL }.on(m)
        })
        .says("slowest offset over fastest: 3.4"),
        row("X8", WIDE, Inconclusive, |m| {
            let middle = 7.5;
            Costs { middle, ..USUAL }.on(m)
        }),
        row("X8", WIDE, Untestable, narrow).says("no accesses of so many bytes"),
        row("X8", OUT, Holds, |m| USUAL.on(m)),
        row("X8", OUT, Holds, narrow),
        row("X8", OUT, DoesNotHold, |m| {
            let outside = 5.0;
            Costs { outside, ..USUAL }.on(m)
        })
        .says("fastest outside over slowest inside, at least, with 8 to 4 bytes: 1.0"),
        row("X8", OUT, Inconclusive, |m| {
            let outside = 7.5;
            Costs { outside, ..USUAL }.on(m)
        }),
        row("X8", OUT, Untestable, |m| {
            USUAL.on(m).without(|series, x| series == "8 to 4 bytes" && x == 4.0)
        })
        .says("`8 to 4 bytes` was not measured at 4"),
    ]
}
