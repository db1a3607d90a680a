//! Write policies: Drepper 3.3.3.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::planted::{Planted, Row, Value, row, time};

const ONE_WORD: &str = ".1";
const EVERY_WORD: &str = ".2";
const A_WORD_A_LINE: &str = ".3";
const OVER_AND_OVER: &str = ".4";
const COLLECTS: &str = ".5";
const UNCACHEABLE: &str = ".6";
const IN_CACHE: &str = ".7";
const THROUGH: &str = ".8";
const BYPASSED: &str = ".9";
const READ_BACK: &str = ".10";
const NOT_BROUGHT: &str = ".11";

pub const EXACT: &[super::Exact] =
    &[("D22", ONE_WORD), ("D22", EVERY_WORD), ("D22", A_WORD_A_LINE)];

/// Bus writes for 1,000 stores to a word, or to a range of 128 KiB.
fn bus_writes(series: &str) -> f64 {
    match series.strip_prefix("bus writes, ") {
        Some("one word, write-through") => 1000.0,
        Some("one word, write-back") => 1.0,
        Some("every word, write-through") => 16384.0,
        _ => 2048.0,
    }
}

/// The same, except for one series.
fn simulated(machine: &Machine, wrong: &str, count: f64) -> Planted {
    Planted::new("D22", machine, |series, _| match series {
        _ if series == wrong => Value::Counted(count),
        _ if series.starts_with("bus writes") => Value::Counted(bus_writes(series)),
        _ => time(1.0),
    })
}

/// Core cycles per store to one word in write-back, write-through, write-combining and uncacheable memory.
fn stores(machine: &Machine, cycles: [f64; 4]) -> Planted {
    policies(machine, cycles.map(time), [4.0, 50.0, 400.0], [2.0, 6.0])
}

/// Core cycles per load of a line that was stored to under the first three policies. A load from memory takes
/// 400.
fn loads(machine: &Machine, cycles: [f64; 3]) -> Planted {
    policies(machine, [time(1.0); 4], cycles, [2.0, 6.0])
}

/// Core cycles per line that is read after cached and after non-temporal stores.
fn read(machine: &Machine, cycles: [f64; 2]) -> Planted {
    policies(machine, [time(1.0); 4], [4.0, 50.0, 400.0], cycles)
}

/// Core cycles per load of a line that was not cached when non-temporal stores wrote it. A load from memory
/// takes 400, and a load of a line that was in L1d before takes 4.
fn brought(machine: &Machine, absent: f64) -> Planted {
    Planted::new("D22", machine, |series, _| match series {
        "write-combining: non-temporal stores to a line in no cache" => time(absent),
        "a line in no cache" => time(400.0),
        _ => time(4.0),
    })
}

fn policies(machine: &Machine, stores: [Value; 4], loads: [f64; 3], read: [f64; 2]) -> Planted {
    Planted::new("D22", machine, |series, x| {
        if series.starts_with("bus writes") {
            return Value::Counted(bus_writes(series));
        }
        let all = ["write-back", "write-through", "write-combining", "uncach"];
        let policy = all.iter().position(|name| series.starts_with(name));
        match (policy, x as u32) {
            (Some(policy), 0) => stores[policy],
            (Some(policy), 1) => time(loads[policy]),
            (Some(policy), 2) => time(read[policy / 2]),
            _ => time(400.0),
        }
    })
}

/// The results on any operating system, where a program cannot use uncacheable memory.
fn without_uncacheable(machine: &Machine) -> Planted {
    let stores = [
        time(1.0),
        time(600.0),
        time(1.0),
        Value::Untestable("the kernel alone sets the type of a page"),
    ];
    policies(machine, stores, [4.0, 50.0, 400.0], [2.0, 6.0])
}

fn without_clwb(machine: &Machine) -> Planted {
    Planted::new("D22", machine, |series, _| {
        if series.starts_with("write-through") {
            Value::Untestable("this CPU has no clwb")
        } else {
            time(1.0)
        }
    })
}

pub fn rows() -> Vec<Row> {
    let mut rows = vec![
        row("D22", OVER_AND_OVER, Holds, without_uncacheable),
        row("D22", OVER_AND_OVER, DoesNotHold, |m| stores(m, [1.0, 1.2, 1.0, 1.0])),
        row("D22", OVER_AND_OVER, Inconclusive, |m| stores(m, [1.0, 2.0, 1.0, 1.0])),
        row("D22", OVER_AND_OVER, Untestable, without_clwb).says("this CPU has no clwb"),
        row("D22", COLLECTS, Holds, without_uncacheable),
        row("D22", COLLECTS, DoesNotHold, |m| stores(m, [1.0, 600.0, 500.0, 1.0])),
        row("D22", COLLECTS, Inconclusive, |m| stores(m, [1.0, 600.0, 300.0, 1.0])),
        row("D22", COLLECTS, Untestable, without_clwb).says("this CPU has no clwb"),
        row("D22", UNCACHEABLE, Holds, |m| stores(m, [1.0, 600.0, 1.0, 300.0])),
        row("D22", UNCACHEABLE, DoesNotHold, |m| stores(m, [1.0, 600.0, 1.0, 0.5])),
        row("D22", UNCACHEABLE, Inconclusive, |m| stores(m, [1.0, 600.0, 1.0, 1.0])),
        row("D22", UNCACHEABLE, Untestable, without_uncacheable)
            .says("the kernel alone sets the type of a page"),
        row("D22", IN_CACHE, Holds, |m| loads(m, [4.0, 50.0, 400.0])),
        // After subtraction of the empty run, a hit may take zero or negative time.
        row("D22", IN_CACHE, Holds, |m| loads(m, [-2.0, 50.0, 400.0])),
        row("D22", IN_CACHE, DoesNotHold, |m| loads(m, [300.0, 50.0, 400.0])),
        row("D22", IN_CACHE, Inconclusive, |m| loads(m, [200.0, 50.0, 400.0])),
        row("D22", IN_CACHE, Untestable, |m| {
            loads(m, [4.0; 3]).without(|series, _| series == "a line in no cache")
        }),
        row("D22", THROUGH, Holds, |m| loads(m, [4.0, 50.0, 400.0])),
        row("D22", THROUGH, DoesNotHold, |m| loads(m, [4.0, 395.0, 400.0])),
        row("D22", THROUGH, Inconclusive, |m| loads(m, [4.0, 200.0, 400.0])),
        row("D22", THROUGH, Untestable, without_clwb),
        row("D22", BYPASSED, Holds, |m| loads(m, [4.0, 50.0, 390.0])),
        row("D22", BYPASSED, DoesNotHold, |m| loads(m, [4.0, 50.0, 4.0])),
        row("D22", BYPASSED, Inconclusive, |m| loads(m, [4.0, 50.0, 320.0])),
        row("D22", BYPASSED, Untestable, |m| {
            loads(m, [4.0; 3]).without(|series, _| series.starts_with("write-combining"))
        }),
        row("D22", NOT_BROUGHT, Holds, |m| brought(m, 390.0)),
        row("D22", NOT_BROUGHT, DoesNotHold, |m| brought(m, 4.0)),
        row("D22", NOT_BROUGHT, Inconclusive, |m| brought(m, 320.0)),
        row("D22", NOT_BROUGHT, Untestable, |m| {
            brought(m, 390.0).without(|series, _| series == "a line in no cache")
        }),
        row("D22", READ_BACK, Holds, |m| read(m, [2.0, 6.0])),
        row("D22", READ_BACK, DoesNotHold, |m| read(m, [2.0, 2.0])),
        row("D22", READ_BACK, Inconclusive, |m| read(m, [2.0, 3.0])),
        row("D22", READ_BACK, Untestable, |m| read(m, [2.0, 6.0]).without(|_, x| x == 2.0)),
    ];
    macro_rules! simulations {
        ($($claim:ident, $series:literal => $wrong:literal;)*) => {
            $(
                rows.push(row("D22", $claim, Holds, without_uncacheable));
                rows.push(row("D22", $claim, DoesNotHold, |m| simulated(m, $series, $wrong)));
                rows.push(row("D22", $claim, Untestable, |m| {
                    simulated(m, "", 0.0).without(|series, _| series == $series)
                }));
            )*
        };
    }
    simulations![
        ONE_WORD, "bus writes, one word, write-back" => 1000.0;
        EVERY_WORD, "bus writes, every word, write-back" => 16384.0;
        A_WORD_A_LINE, "bus writes, a word per line, write-back" => 256.0;
    ];
    rows
}
