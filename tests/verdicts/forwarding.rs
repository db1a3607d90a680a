//! Store-to-load forwarding.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::planted::{Planted, Row, Value, row, time};

const OLDER: &str = "one that also needs older bytes";
const SPANNING: &str = "spans two stores";
const END: &str = "the end of what was stored";
const NO_LESS: &str = "no less time through memory";
const PAGES: &str = "across two pages";

/// What round trips take.
#[derive(Clone, Copy)]
struct Costs {
    /// From the start of the store.
    forwarded: f64,
    /// From its end, where the load is narrower.
    end: f64,
    /// With bytes that are older.
    blocked: f64,
    /// From two stores.
    spanning: f64,
    lines: f64,
    pages: f64,
}

const USUAL: Costs = Costs {
    forwarded: 5.0,
    end: 5.0,
    blocked: 17.0,
    spanning: 18.0,
    lines: 6.0,
    pages: 30.0,
};

impl Costs {
    fn of(&self, series: &str, x: f64) -> f64 {
        let numbers: Vec<f64> = series
            .split(|c: char| !c.is_ascii_digit())
            .filter_map(|word| word.parse().ok())
            .collect();
        match numbers[..] {
            [_] if series.contains("lines") => self.lines,
            [_] => self.pages,
            [..] if series.starts_with("two of") => self.spanning,
            [store, load, ..] if x < 0.0 || x + load > store => self.blocked,
            _ if x > 0.0 => self.end,
            _ => self.forwarded,
        }
    }

    fn on(self, machine: &Machine) -> Planted {
        Planted::new("X1", machine, |series, x| time(self.of(series, x)))
    }
}

/// A CPU whose widest accesses have 16 bytes.
fn narrow(machine: &Machine) -> Planted {
    Planted::new("X1", machine, |series, x| {
        if series.contains("32") || series.contains("64") {
            Value::Untestable("this CPU has no accesses of so many bytes")
        } else {
            time(USUAL.of(series, x))
        }
    })
}

/// With an end that takes `end`.
const fn end(end: f64) -> Costs {
    Costs { end, ..USUAL }
}

pub fn rows() -> Vec<Row> {
    vec![
        row("X1", OLDER, Holds, |m| USUAL.on(m)),
        row("X1", OLDER, Holds, narrow),
        row("X1", OLDER, DoesNotHold, |m| {
            let blocked = 6.0;
            Costs { blocked, ..USUAL }.on(m)
        })
        .says("4 bytes, half of them older, over all stored 1.20"),
        row("X1", OLDER, Inconclusive, |m| {
            let blocked = 7.5;
            Costs { blocked, ..USUAL }.on(m)
        }),
        row("X1", OLDER, Untestable, |m| {
            USUAL.on(m).without(|series, _| series == "16 to 16 bytes")
        })
        .says("`16 to 16 bytes` was not measured at 8"),
        row("X1", SPANNING, Holds, |m| USUAL.on(m)),
        row("X1", SPANNING, Holds, narrow),
        row("X1", SPANNING, DoesNotHold, |m| {
            let spanning = 5.0;
            Costs { spanning, ..USUAL }.on(m)
        })
        .says("32 bytes of two stores over one 1.0"),
        row("X1", SPANNING, Inconclusive, |m| {
            let spanning = 7.5;
            Costs { spanning, ..USUAL }.on(m)
        }),
        row("X1", SPANNING, Untestable, |m| {
            USUAL
                .on(m)
                .without(|series, _| series.starts_with("two of"))
        })
        .says("`two of 4 to 8 bytes` was not measured at 0"),
        row("X1", END, Holds, |m| USUAL.on(m)),
        row("X1", END, Holds, narrow),
        row("X1", END, DoesNotHold, |m| end(10.0).on(m))
            .says("the last 32 of 64 bytes over the first 2.0"),
        row("X1", END, Inconclusive, |m| end(7.5).on(m)),
        row("X1", END, Untestable, |m| {
            USUAL
                .on(m)
                .without(|series, x| series == "16 to 8 bytes" && x == 8.0)
        })
        .says("`16 to 8 bytes` was not measured at 8"),
        row("X1", NO_LESS, Holds, |m| USUAL.on(m)),
        row("X1", NO_LESS, DoesNotHold, |m| {
            let forwarded = 1.0;
            Costs { forwarded, ..USUAL }.on(m)
        })
        .says("core cycles a round trip 1.0"),
        row("X1", NO_LESS, Inconclusive, |m| {
            let forwarded = f64::from(m.load_to_use.unwrap_or(4)) - 0.5;
            Costs { forwarded, ..USUAL }.on(m)
        }),
        row("X1", NO_LESS, Untestable, |m| {
            let unknown = Machine {
                load_to_use: None,
                ..m.clone()
            };
            USUAL.on(m).on(unknown)
        })
        .says("no published load-to-use latency for this CPU; measured 5.0"),
        row("X1", PAGES, Holds, |m| USUAL.on(m)),
        row("X1", PAGES, Holds, narrow),
        row("X1", PAGES, DoesNotHold, |m| {
            let pages = 6.0;
            Costs { pages, ..USUAL }.on(m)
        })
        .says("8 bytes across two pages over across two lines 1.0"),
        row("X1", PAGES, Inconclusive, |m| {
            let pages = 6.6;
            Costs { pages, ..USUAL }.on(m)
        }),
        row("X1", PAGES, Untestable, |m| {
            USUAL
                .on(m)
                .without(|series, _| series == "8 bytes across two pages")
        })
        .says("`8 bytes across two pages` was not measured at 0"),
    ]
}
