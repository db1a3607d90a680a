//! Accesses at every offset of a line, and at the end of a page.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{self, DoesNotHold, Holds, Inconclusive, Untestable};

use super::planted::{Planted, Row, Value, row, time};

const WITHIN: &str = ".1";
const LOADS: &str = ".2";
const STORES: &str = ".3";
const LOADED_PAGES: &str = ".4";
const STORED_PAGES: &str = ".5";

/// The time of an access at the start of a line, at another place in it, across two lines, and across two
/// pages.
#[derive(Clone, Copy)]
struct Costs {
    start: f64,
    within: f64,
    lines: f64,
    pages: f64,
}

const USUAL: Costs = Costs { start: 4.0, within: 4.0, lines: 8.0, pages: 40.0 };

impl Costs {
    /// The cost of a point in any series of the family.
    fn of(&self, series: &str, x: f64) -> f64 {
        let bytes =
            series.split_whitespace().find_map(|word| word.parse::<f64>().ok()).expect("a width");
        match x {
            0.0 => self.start,
            _ if x + bytes <= 64.0 => self.within,
            _ if series.contains("page") => self.pages,
            _ => self.lines,
        }
    }

    fn latency(self, machine: &Machine) -> Planted {
        Planted::new("X5", machine, |series, x| time(self.of(series, x)))
    }

    /// Loads or stores with these costs; the others have the usual costs.
    fn throughput(self, machine: &Machine, verb: &str) -> Planted {
        Planted::new("X6", machine, |series, x| {
            let costs = if series.starts_with(verb) { &self } else { &USUAL };
            time(costs.of(series, x))
        })
    }
}

/// `lines` is the cost across two lines.
const fn across(lines: f64) -> Costs {
    Costs { lines, ..USUAL }
}

/// `within` is the cost at other places in a line.
const fn misaligned(within: f64) -> Costs {
    Costs { within, ..USUAL }
}

/// `pages` is the cost across two pages.
const fn paged(pages: f64) -> Costs {
    Costs { pages, ..USUAL }
}

/// A CPU whose widest accesses have 16 bytes.
fn narrow(id: &str, machine: &Machine) -> Planted {
    let usual = Planted::new(id, machine, |series, x| time(USUAL.of(series, x)));
    usual.lacking(&["32 bytes", "64 bytes"], "this CPU has no accesses of so many bytes")
}

fn latency() -> Vec<Row> {
    let line = ".2";
    let page = ".3";
    let l2 = ".4";
    vec![
        row("X5", WITHIN, Holds, |m| USUAL.latency(m)),
        row("X5", WITHIN, Holds, |m| narrow("X5", m)),
        row("X5", WITHIN, DoesNotHold, |m| misaligned(5.0).latency(m))
            .says("slowest over quickest offset in a line, at most, with 4 bytes: 1.25"),
        row("X5", WITHIN, Inconclusive, |m| misaligned(4.4).latency(m)),
        row("X5", WITHIN, Untestable, |m| {
            USUAL.latency(m).without(|series, _| series == "8 bytes")
        })
        .says("`8 bytes` was not measured at 0"),
        row("X5", line, Holds, |m| across(9.0).latency(m)),
        row("X5", line, Holds, |m| narrow("X5", m)),
        row("X5", line, DoesNotHold, |m| across(20.0).latency(m))
            .says("across two lines over in one, at most, with 4 bytes: 5.0"),
        row("X5", line, Inconclusive, |m| across(16.0).latency(m)),
        row("X5", line, Untestable, |m| USUAL.latency(m).without(|_, x| x == 63.0))
            .says("`4 bytes` was not measured at 63"),
        row("X5", page, Holds, |m| USUAL.latency(m)),
        row("X5", page, DoesNotHold, |m| paged(8.0).latency(m))
            .says("across two pages over across two lines, at least, with 4 bytes: 1.0"),
        row("X5", page, Inconclusive, |m| paged(8.8).latency(m)),
        row("X5", page, Untestable, |m| {
            Planted::new("X5", m, |series, x| {
                if series.contains("page") {
                    Value::Untestable("no pages")
                } else {
                    time(USUAL.of(series, x))
                }
            })
        })
        .says("no pages"),
        row("X5", l2, Holds, |m| USUAL.latency(m)),
        row("X5", l2, DoesNotHold, |m| across(17.0).latency(m)),
        row("X5", l2, Inconclusive, |m| across(16.0).latency(m)),
        row("X5", l2, Untestable, |m| {
            USUAL.latency(m).without(|series, _| series.contains("random"))
        })
        .says("`8 bytes, random in L2` was not measured at 0"),
    ]
}

/// The rows of a claim about slower accesses across two lines.
macro_rules! lines {
    ($claim:expr, $verb:literal) => {
        [
            row("X6", $claim, Holds, |m| across(9.0).throughput(m, $verb)),
            row("X6", $claim, Holds, |m| narrow("X6", m)),
            row("X6", $claim, DoesNotHold, |m| across(20.0).throughput(m, $verb))
                .says("across two lines over in one, at most, with 4 bytes: 5.0"),
            row("X6", $claim, Inconclusive, |m| across(16.0).throughput(m, $verb)),
            row("X6", $claim, Untestable, |m| {
                USUAL
                    .throughput(m, $verb)
                    .without(|series, x| series.starts_with($verb) && x == 63.0)
            })
            .says("was not measured at 63"),
        ]
    };
}

/// The rows of a claim about slower accesses across two pages.
macro_rules! pages {
    ($claim:expr, $verb:literal) => {
        [
            row("X6", $claim, Holds, |m| USUAL.throughput(m, $verb)),
            row("X6", $claim, Holds, |m| narrow("X6", m)),
            row("X6", $claim, DoesNotHold, |m| paged(8.0).throughput(m, $verb))
                .says("across two pages over across two lines, at least, with 4 bytes: 1.0"),
            row("X6", $claim, Inconclusive, |m| paged(8.8).throughput(m, $verb)),
            row("X6", $claim, Untestable, |m| {
                USUAL
                    .throughput(m, $verb)
                    .without(|series, _| series.starts_with($verb) && series.contains("page"))
            })
            .says("4 bytes, the line a page's last` was not measured at 63"),
        ]
    };
}

pub fn rows() -> Vec<Row> {
    let within = |verdict: Verdict, plant| row("X6", WITHIN, verdict, plant);
    let mut rows = latency();
    rows.extend([
        within(Holds, |m| USUAL.throughput(m, "loads")),
        within(Holds, |m| narrow("X6", m)),
        within(DoesNotHold, |m| misaligned(5.0).throughput(m, "loads")),
        within(Inconclusive, |m| misaligned(4.4).throughput(m, "loads")),
        within(Untestable, |m| {
            let all = USUAL.throughput(m, "loads");
            all.without(|series, _| series == "loads of 4 bytes")
        })
        .says("`loads of 4 bytes` was not measured at 0"),
    ]);
    rows.extend(lines!(LOADS, "loads"));
    rows.extend(lines!(STORES, "stores"));
    rows.extend(pages!(LOADED_PAGES, "loads"));
    rows.extend(pages!(STORED_PAGES, "stores"));
    rows
}
