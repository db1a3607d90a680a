//! Write combining: Drepper 6.1, `setbytes`.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::planted::{Planted, Row, Value, but, noisy, row, time};

const WHOLE: &str = ".1";
const OPEN: &str = ".2";
const FOUR: &str = ".3";
const PUBLISHED: &str = ".4";
const PART: &str = ".5";
const BESIDE: &str = ".6";
const SPARED: &str = ".7";
const EVICTED: &str = ".8";

const INTERLEAVED: &str = "non-temporal, one store to each of n lines in turn";

/// The planted bandwidths, in GB/s.
#[derive(Clone, Copy)]
struct Writes {
    cached: f64,
    whole: f64,
    /// With more open lines than buffers.
    open: f64,
    buffers: f64,
    published: Value,
    /// A quarter, half and three quarters of a line.
    parts: [f64; 3],
    half_by_one: f64,
    /// Laps after no stores, after cached stores, and after non-temporal stores.
    laps: [f64; 3],
}

/// Values with which every claim holds.
const USUAL: Writes = Writes {
    cached: 10.0,
    whole: 24.0,
    open: 1.5,
    buffers: 10.0,
    published: Value::Counted(10.0),
    parts: [1.5, 3.0, 4.5],
    half_by_one: 3.0,
    laps: [2.0, 1.0, 2.0],
};

fn planted(machine: &Machine, writes: Writes) -> Planted {
    Planted::new("E2", machine, |series, x| match series {
        "through the cache" | "rep stosb" => time(writes.cached),
        "non-temporal, a line at a time" => time(writes.whole),
        "non-temporal, a quarter of each line" => time(writes.parts[0]),
        "non-temporal, half of each line" => time(writes.parts[1]),
        "non-temporal, three quarters of each line" => time(writes.parts[2]),
        "non-temporal, half of each line, by one store of 32 bytes" => time(writes.half_by_one),
        "write-combining buffers, as published" => writes.published,
        "lap after nothing" => time(writes.laps[0]),
        "lap after cached stores" => time(writes.laps[1]),
        "lap after non-temporal stores" => time(writes.laps[2]),
        _ if x > writes.buffers => time(writes.open),
        _ => time(writes.whole),
    })
}

fn usual(machine: &Machine) -> Planted {
    planted(machine, USUAL)
}

/// Bandwidth falls by as much behind line 8 as behind line 11.
fn blurred(machine: &Machine) -> Planted {
    Planted::new("E2", machine, |series, x| match series {
        "write-combining buffers, as published" => Value::Counted(10.0),
        INTERLEAVED if (9.0..12.0).contains(&x) => noisy(6.0, 0.1),
        INTERLEAVED if x >= 12.0 => time(1.5),
        _ => time(24.0),
    })
}

/// A Redwood Cove, in GB/s: the bandwidth falls from the second line on, but most behind line 16.
fn sloping(machine: &Machine) -> Planted {
    const UP_TO_18: [f64; 18] = [
        25.2, 23.4, 18.7, 19.5, 15.6, 15.2, 16.4, 12.9, 11.2, 11.7, 12.1, 12.8, 11.7, 13.0, 4.8,
        4.6, 1.25, 0.9,
    ];
    Planted::new("E2", machine, |series, x| match series {
        "write-combining buffers, as published" => Value::Counted(16.0),
        INTERLEAVED => time(UP_TO_18.get(x as usize - 1).copied().unwrap_or(1.2)),
        _ => time(24.0),
    })
}

/// Bandwidth never falls, however many lines are open.
fn boundless(machine: &Machine) -> Planted {
    let buffers = 1000.0;
    planted(machine, Writes { buffers, ..USUAL })
}

pub fn rows() -> Vec<Row> {
    vec![
        row("E2", WHOLE, Holds, usual),
        row("E2", WHOLE, DoesNotHold, |m| planted(m, but(USUAL, |of| of.cached = 30.0))),
        row("E2", WHOLE, Inconclusive, |m| planted(m, but(USUAL, |of| of.cached = 24.0))),
        row("E2", WHOLE, Untestable, |m| {
            usual(m).without(|series, _| series == "through the cache")
        }),
        row("E2", OPEN, Holds, usual),
        row("E2", OPEN, DoesNotHold, boundless),
        row("E2", OPEN, Inconclusive, |m| planted(m, but(USUAL, |of| of.open = 16.0))),
        row("E2", OPEN, Untestable, |m| usual(m).without(|_, x| x == 64.0))
            .says("was not measured at 64"),
        row("E2", FOUR, Holds, usual).says("buffers found: 10"),
        row("E2", FOUR, Holds, blurred).says("[8.00, 11.00]"),
        row("E2", FOUR, Holds, sloping).says("buffers found: 16"),
        // Between the sparse numbers the buffers are known to a range.
        row("E2", FOUR, Holds, |m| planted(m, but(USUAL, |of| of.buffers = 30.0)))
            .says("[28.0, 31.0]"),
        row("E2", FOUR, DoesNotHold, |m| planted(m, but(USUAL, |of| of.buffers = 1.0)))
            .says("buffers found: 1 "),
        row("E2", FOUR, Inconclusive, |m| {
            Planted::new("E2", m, |series, x| match series {
                INTERLEAVED if (3.0..6.0).contains(&x) => noisy(6.0, 0.1),
                INTERLEAVED if x >= 6.0 => time(1.5),
                _ => time(24.0),
            })
        })
        .says("2.00 to 5.00"),
        row("E2", FOUR, Untestable, boundless).says("at no number of open lines"),
        row("E2", PUBLISHED, Holds, usual),
        row("E2", PUBLISHED, Holds, sloping),
        row("E2", PUBLISHED, DoesNotHold, |m| {
            let buffers = 8.0;
            planted(m, Writes { buffers, ..USUAL })
        })
        .says("buffers found: 8 (claimed: 10)"),
        row("E2", PUBLISHED, Inconclusive, blurred),
        row("E2", PUBLISHED, Untestable, |m| {
            let published = Value::Untestable("no published number");
            planted(m, Writes { published, ..USUAL })
        })
        .says("no published number"),
        row("E2", PART, Holds, usual),
        row("E2", PART, DoesNotHold, |m| {
            let parts = [1.5, 3.0, 20.0];
            planted(m, Writes { parts, ..USUAL })
        })
        .says("three quarters of each line over a full line: 0.90"),
        row("E2", PART, Inconclusive, |m| {
            let parts = [1.5, 12.0, 4.5];
            planted(m, Writes { parts, ..USUAL })
        }),
        row("E2", PART, Untestable, |m| {
            usual(m).without(|series, _| series == "non-temporal, half of each line")
        }),
        row("E2", BESIDE, Holds, usual),
        row("E2", BESIDE, DoesNotHold, |m| planted(m, but(USUAL, |of| of.half_by_one = 6.0))),
        row("E2", BESIDE, Inconclusive, |m| planted(m, but(USUAL, |of| of.half_by_one = 3.33))),
        row("E2", BESIDE, Untestable, |m| {
            Planted::new("E2", m, |series, _| match series {
                "non-temporal, half of each line, by one store of 32 bytes" => {
                    Value::Untestable("this CPU has no stores of 32 bytes")
                }
                _ => time(3.0),
            })
        })
        .says("this CPU has no stores of 32 bytes"),
        row("E2", SPARED, Holds, usual),
        row("E2", SPARED, DoesNotHold, |m| {
            let laps = [2.0, 1.0, 1.0];
            planted(m, Writes { laps, ..USUAL })
        }),
        row("E2", SPARED, Inconclusive, |m| {
            let laps = [1.3, 0.5, 1.0];
            planted(m, Writes { laps, ..USUAL })
        }),
        row("E2", SPARED, Untestable, |m| {
            usual(m).without(|series, _| series == "lap after nothing")
        }),
        row("E2", EVICTED, Holds, usual),
        row("E2", EVICTED, DoesNotHold, |m| {
            let laps = [2.0; 3];
            planted(m, Writes { laps, ..USUAL })
        }),
        row("E2", EVICTED, Inconclusive, |m| {
            let laps = [1.3, 1.0, 1.3];
            planted(m, Writes { laps, ..USUAL })
        }),
        row("E2", EVICTED, Untestable, |m| {
            usual(m).without(|series, _| series == "lap after cached stores")
        }),
    ]
}
