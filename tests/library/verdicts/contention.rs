//! Row X18: one line that all threads want.

use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};
use linefill::experiment::{CpuOrder, Machine};

use super::planted::{Planted, Row, noisy, row, time};

const SHARED: &str = ".1";
const THROUGHPUT: &str = ".2";
const RETRIED: &str = ".3";
const SLOW: &str = ".4";
const FAIR: &str = ".5";
const QUEUES: &str = ".6";
const AHEAD: &str = ".7";

/// The time of a turn of one thread alone, in nanoseconds.
const ALONE: f64 = 5.0;

/// What is said of several threads on one line.
#[derive(Clone, Copy)]
struct Contended {
    /// Time of a `fetch_add` per thread that takes part, over that of one alone.
    add: f64,
    /// Times of other ways over that of `fetch_add`.
    compare: f64,
    mcs: f64,
    parking: f64,
    /// p99 of a single `fetch_add`, in ticks; on lines of their own it is 10.
    p99: u64,
    /// The slowest thread over the fastest, with a spin lock.
    spread: f64,
}

/// As queues and transfers have it.
const USUAL: Contended = Contended {
    add: 4.0,
    compare: 2.0,
    mcs: 1.2,
    parking: 0.5,
    p99: 500,
    spread: 3.0,
};

fn contended(machine: &Machine, of: Contended) -> Planted {
    let planted = Planted::new("X18", machine, |series, threads| {
        let (way, place) = series.split_once(", ").unwrap();
        if place == "padded" || threads == 1.0 {
            return time(ALONE);
        }
        let factor = match way {
            "fetch_add" => 1.0,
            "compare_exchange" => of.compare,
            "MCS lock" => of.mcs,
            "parking_lot::Mutex" => of.parking,
            _ => 2.0,
        };
        time(ALONE * of.add * threads * factor)
    });
    let planted = planted.with_spread(|series| {
        Some(match series.starts_with("spin lock") {
            true => of.spread,
            false => 1.02,
        })
    });
    planted.with_runs(|series| match series.ends_with("one line") {
        true => vec![[of.p99 / 2, of.p99]; 2],
        false => vec![[9, 10]; 2],
    })
}

/// The same machine with its first `cpus` CPUs.
fn few(machine: &Machine, cpus: usize) -> Machine {
    let seats = machine.cpu_order.seats()[..cpus].to_vec();
    Machine {
        cpu_order: CpuOrder::around(None, seats),
        ..machine.clone()
    }
}

pub fn rows() -> Vec<Row> {
    vec![
        row("X18", SHARED, Holds, |m| contended(m, USUAL)).says("2 threads"),
        row("X18", SHARED, DoesNotHold, |m| {
            contended(m, Contended { add: 1.0, ..USUAL })
        }),
        row("X18", SHARED, Inconclusive, |m| {
            contended(m, Contended { add: 2.0, ..USUAL })
        }),
        row("X18", SHARED, Untestable, |m| contended(&few(m, 1), USUAL)).says("needs 2 cores"),
        row("X18", THROUGHPUT, Holds, |m| contended(m, USUAL)).says("8 threads"),
        row("X18", THROUGHPUT, DoesNotHold, |m| {
            contended(m, Contended { add: 0.5, ..USUAL })
        }),
        row("X18", THROUGHPUT, Inconclusive, |m| {
            let add = 1.0 / 1.1;
            contended(m, Contended { add, ..USUAL })
        }),
        row("X18", THROUGHPUT, Untestable, |m| {
            contended(m, USUAL).without(|_, threads| threads == 1.0)
        })
        .says("was not measured at 1"),
        row("X18", RETRIED, Holds, |m| contended(m, USUAL)),
        row("X18", RETRIED, DoesNotHold, |m| {
            let compare = 1.1;
            contended(m, Contended { compare, ..USUAL })
        }),
        row("X18", RETRIED, Inconclusive, |m| {
            let compare = 1.5;
            contended(m, Contended { compare, ..USUAL })
        }),
        row("X18", RETRIED, Untestable, |m| contended(&few(m, 1), USUAL)).says("needs 2 cores"),
        row("X18", SLOW, Holds, |m| contended(m, USUAL)),
        row("X18", SLOW, DoesNotHold, |m| {
            contended(m, Contended { p99: 20, ..USUAL })
        }),
        row("X18", SLOW, Inconclusive, |m| {
            // One pass says so, and the other says otherwise.
            let of_passes = |series: &str| match series.ends_with("one line") {
                true => vec![[10, 20], [10, 90]],
                false => vec![[9, 10]; 2],
            };
            contended(m, USUAL).with_runs(of_passes)
        }),
        row("X18", SLOW, Untestable, |m| {
            contended(m, USUAL).with_runs(|_| Vec::new())
        })
        .says("by itself"),
        row("X18", FAIR, Holds, |m| contended(m, USUAL)),
        row("X18", FAIR, DoesNotHold, |m| {
            let spread = 1.01;
            contended(m, Contended { spread, ..USUAL })
        }),
        row("X18", FAIR, Inconclusive, |m| {
            let spread = 1.1 * 1.02;
            contended(m, Contended { spread, ..USUAL })
        }),
        row("X18", FAIR, Untestable, |m| {
            contended(m, USUAL).with_spread(|_| None)
        })
        .says("no two threads"),
        row("X18", QUEUES, Holds, |m| contended(m, USUAL)),
        row("X18", QUEUES, DoesNotHold, |m| {
            contended(m, Contended { mcs: 2.5, ..USUAL })
        }),
        row("X18", QUEUES, Inconclusive, |m| {
            contended(m, Contended { mcs: 1.8, ..USUAL })
        }),
        row("X18", QUEUES, Untestable, |m| contended(&few(m, 2), USUAL)).says("needs 4 cores"),
        row("X18", AHEAD, Holds, |m| contended(m, USUAL)),
        row("X18", AHEAD, DoesNotHold, |m| {
            let parking = 3.0;
            contended(m, Contended { parking, ..USUAL })
        }),
        row("X18", AHEAD, Inconclusive, |m| {
            Planted::new("X18", m, |series, _| {
                let parked = series.starts_with("parking_lot");
                noisy(if parked { 10.0 } else { 15.0 }, 0.2)
            })
        }),
        row("X18", AHEAD, Untestable, |m| {
            contended(m, USUAL).without(|series, _| series.starts_with("parking_lot"))
        })
        .says("was not measured"),
    ]
}
