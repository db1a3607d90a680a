//! Startin's misses in flight: A3, A4 and A7.

use linefill::counters::Quantity;
use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};
use linefill::stats::Interval;

use super::machines::with_memory;
use super::planted::{Planted, Row, Value, but, noisy, row, time};

const COUNTED_MORE: &str = ".1";
const COUNTED_FLAT: &str = ".2";
const RISES: &str = ".3";
const MORE: &str = ".4";
const FEWEST: &str = ".5";
const COUNTED_BOUNDS: &str = ".1";
const CYCLES: &str = ".2";
const ONE: &str = ".3";
const BOUNDS: &str = ".4";
const FOUR: &str = ".1";
const EIGHT: &str = ".2";

const LOOKED_UP: &str = "shuffle, index looked up";
const DRAWN: &str = "shuffle, index drawn";
const BUFFERED: &str = "shuffleBuffered, index drawn";
const CHAINS: &str = "exchanges in n chains";
const PUBLISHED: &str = "outstanding misses of L1d, as published";

/// Core cycles per exchange, by series and stage length. A miss takes 400.
#[derive(Clone, Copy)]
struct Times {
    looked_up: f64,
    drawn: f64,
    buffered: [f64; 4],
}

const USUAL: Times = Times { looked_up: 40.0, drawn: 100.0, buffered: [80.0, 70.0, 60.0, 50.0] };

/// The experiment `id` with these times and `published` fill buffers.
fn planted(id: &'static str, machine: &Machine, times: Times, published: Value) -> Planted {
    Planted::new(id, machine, |series, x| match series {
        CHAINS => time(400.0 / x),
        LOOKED_UP => time(times.looked_up),
        DRAWN => time(times.drawn),
        BUFFERED => time(times.buffered[(x / 8.0).log2() as usize]),
        _ => published,
    })
}

fn a3(machine: &Machine, times: Times) -> Planted {
    planted("A3", machine, times, Value::Missing)
}

fn a4(machine: &Machine, times: Times) -> Planted {
    planted("A4", machine, times, Value::Counted(12.0))
}

/// The counted ratio of pending misses to cycles with a pending miss.
#[derive(Clone, Copy)]
struct Pending {
    simple: f64,
    /// The last column, for the simple shuffle.
    last: f64,
    buffered: f64,
    chain: f64,
    /// The percentage of cycles with a pending miss.
    cycles: f64,
    noise: f64,
}

const PENDING: Pending =
    Pending { simple: 4.0, last: 4.0, buffered: 8.0, chain: 1.0, cycles: 90.0, noise: 0.0 };

fn counted(planted: Planted, pending: Pending) -> Planted {
    planted.counting(move |series, x, quantity| {
        let misses = match series {
            CHAINS => pending.chain * x,
            BUFFERED => pending.buffered,
            _ if x == 64.0 => pending.last,
            _ => pending.simple,
        };
        let count = match quantity {
            Quantity::L1dPending => misses * pending.cycles,
            Quantity::L1dPendingCycles => pending.cycles,
            Quantity::Cycles => 100.0,
            _ => 0.0,
        };
        Some(Interval::exact(count).widened(pending.noise))
    })
}

fn a3_counted(machine: &Machine, pending: Pending) -> Planted {
    counted(a3(machine, USUAL), pending)
}

fn a4_counted(machine: &Machine, pending: Pending) -> Planted {
    counted(a4(machine, USUAL), pending)
}

const NO_PMU: &str = "the kernel sees no PMU on this CPU";

/// A7: core cycles per exchange in 1, 2, 4 and 8 chains.
fn chained(machine: &Machine, times: [f64; 4]) -> Planted {
    Planted::new("A7", machine, |_, x| time(times[x.log2() as usize]))
}

pub fn rows() -> Vec<Row> {
    let mut rows = estimates();
    rows.extend(counts());
    rows.extend([
        row("A7", FOUR, Holds, |m| chained(m, [600.0, 320.0, 160.0, 80.0])),
        row("A7", FOUR, DoesNotHold, |m| chained(m, [600.0, 500.0, 400.0, 300.0])),
        row("A7", FOUR, Inconclusive, |m| chained(m, [600.0, 400.0, 300.0, 200.0])),
        row("A7", FOUR, Untestable, |m| {
            chained(m, [600.0, 320.0, 160.0, 80.0]).on(with_memory(m, 8 << 20))
        })
        .says("is not in the range"),
        row("A7", EIGHT, Holds, |m| chained(m, [600.0, 320.0, 160.0, 80.0])),
        row("A7", EIGHT, DoesNotHold, |m| chained(m, [600.0, 320.0, 160.0, 150.0])),
        row("A7", EIGHT, Inconclusive, |m| chained(m, [600.0, 320.0, 130.0, 100.0])),
        row("A7", EIGHT, Untestable, |m| {
            chained(m, [600.0, 320.0, 160.0, 80.0]).without(|_, x| x == 8.0)
        }),
    ]);
    rows
}

fn estimates() -> Vec<Row> {
    vec![
        row("A3", RISES, Holds, |m| a3(m, USUAL)).says("an estimated 8.0"),
        row("A3", RISES, DoesNotHold, |m| {
            let buffered = [50.0; 4];
            a3(m, Times { buffered, ..USUAL })
        })
        .says("stages of 64 over 8: 1.0"),
        row("A3", RISES, Inconclusive, |m| {
            let buffered = [55.0, 50.0, 50.0, 50.0];
            a3(m, Times { buffered, ..USUAL })
        }),
        row("A3", RISES, Untestable, |m| a3(m, USUAL).without(|series, _| series == CHAINS))
            .says("`exchanges in n chains` was not measured at 4"),
        row("A3", MORE, Holds, |m| a3(m, USUAL)).says("an estimated 4.0"),
        row("A3", MORE, Holds, |m| {
            let drawn = 65.0;
            a3(m, Times { drawn, ..USUAL })
        })
        .says("stages of 64 over simple: 1.3"),
        row("A3", MORE, DoesNotHold, |m| a3(m, but(USUAL, |of| of.drawn = 52.0))),
        row("A3", MORE, Inconclusive, |m| a3(m, but(USUAL, |of| of.drawn = 60.0))),
        row("A3", MORE, Untestable, |m| a3(m, USUAL).on(with_memory(m, 8 << 20))),
        row("A3", FEWEST, Holds, |m| a3(m, USUAL)),
        // Stages of 8 may lose as much as they gain.
        row("A3", FEWEST, DoesNotHold, |m| {
            let buffered = [110.0, 70.0, 60.0, 50.0];
            a3(m, Times { buffered, ..USUAL })
        })
        .says("stages of 8 over simple: 0.9"),
        row("A3", FEWEST, DoesNotHold, |m| a3(m, but(USUAL, |of| of.looked_up = 120.0)))
            .says("looked up over drawn: 0.8"),
        // Equal times decide the claim.
        row("A3", FEWEST, DoesNotHold, |m| {
            let buffered = [100.0, 70.0, 60.0, 50.0];
            a3(m, Times { buffered, ..USUAL })
        })
        .says("stages of 8 over simple: 1.0"),
        row("A3", FEWEST, Inconclusive, |m| {
            let buffered = [91.0, 70.0, 60.0, 50.0];
            a3(m, Times { buffered, ..USUAL })
        }),
        row("A3", FEWEST, Untestable, |m| a3(m, USUAL).without(|series, _| series == LOOKED_UP)),
        row("A4", BOUNDS, Holds, |m| a4(m, USUAL)),
        row("A4", BOUNDS, DoesNotHold, |m| {
            let buffered = [90.0, 70.0, 60.0, 30.0];
            a4(m, Times { buffered, ..USUAL })
        })
        .says("(claimed: 1 to 12)"),
        row("A4", BOUNDS, DoesNotHold, |m| a4(m, but(USUAL, |of| of.drawn = 500.0))),
        row("A4", BOUNDS, Inconclusive, |m| {
            Planted::new("A4", m, |series, x| match series {
                CHAINS => noisy(400.0 / x, 0.2),
                BUFFERED => time(34.0),
                PUBLISHED => Value::Counted(12.0),
                _ => time(100.0),
            })
        }),
        row("A4", BOUNDS, Untestable, |m| {
            planted("A4", m, USUAL, Value::Untestable("nothing is known"))
        })
        .says("nothing is known"),
    ]
}

fn counts() -> Vec<Row> {
    vec![
        row("A3", COUNTED_MORE, Holds, |m| a3_counted(m, PENDING)).says("2.00"),
        row("A3", COUNTED_MORE, DoesNotHold, |m| {
            a3_counted(m, but(PENDING, |of| of.buffered = 5.0))
        }),
        row("A3", COUNTED_MORE, Inconclusive, |m| {
            a3_counted(m, but(PENDING, |of| of.buffered = 5.6))
        }),
        row("A3", COUNTED_MORE, Untestable, |m| a3(m, USUAL).counting_nothing(NO_PMU))
            .says("no PMU"),
        row("A3", COUNTED_FLAT, Holds, |m| a3_counted(m, PENDING)),
        row("A3", COUNTED_FLAT, DoesNotHold, |m| a3_counted(m, but(PENDING, |of| of.last = 5.0)))
            .says("column 64 over 8: 1.25"),
        row("A3", COUNTED_FLAT, Inconclusive, |m| {
            a3_counted(m, but(PENDING, |of| of.noise = 0.06))
        }),
        row("A3", COUNTED_FLAT, Untestable, |m| a3(m, USUAL).counting_nothing(NO_PMU)),
        row("A4", COUNTED_BOUNDS, Holds, |m| a4_counted(m, PENDING)),
        row("A4", COUNTED_BOUNDS, DoesNotHold, |m| {
            a4_counted(m, but(PENDING, |of| of.buffered = 13.0))
        }),
        row("A4", COUNTED_BOUNDS, Inconclusive, |m| {
            a4_counted(m, but(PENDING, |of| of.buffered = 12.0))
        }),
        row("A4", COUNTED_BOUNDS, Untestable, |m| a4(m, USUAL).counting_nothing(NO_PMU))
            .says("no PMU"),
        row("A4", CYCLES, Holds, |m| a4_counted(m, PENDING)),
        row("A4", CYCLES, DoesNotHold, |m| a4_counted(m, but(PENDING, |of| of.cycles = 110.0))),
        row("A4", CYCLES, Inconclusive, |m| a4_counted(m, but(PENDING, |of| of.cycles = 101.0))),
        row("A4", CYCLES, Untestable, |m| a4(m, USUAL).counting_nothing(NO_PMU)),
        row("A4", ONE, Holds, |m| a4_counted(m, PENDING)),
        row("A4", ONE, DoesNotHold, |m| a4_counted(m, but(PENDING, |of| of.chain = 2.0))),
        row("A4", ONE, Inconclusive, |m| a4_counted(m, but(PENDING, |of| of.chain = 1.5))),
        row("A4", ONE, Untestable, |m| a4(m, USUAL).counting_nothing(NO_PMU)),
    ]
}
