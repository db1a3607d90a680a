//! Rows X18, X23 and X24: all threads access one line.

use linefill::experiment::Machine;
use linefill::experiment::Quality::{Clean, Disturbed, Misplaced};
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};
use linefill::host::Misplaced::OneCore;
use linefill::os::sysfs::CpuLocation;

use super::machines::{first_cpus, with_locations};
use super::planted::{Planted, Row, but, noisy, row, time};

const SHARED: &str = ".1";
const THROUGHPUT: &str = ".2";
const RETRIED: &str = ".3";
const SLOW: &str = ".4";
const FAIR: &str = ".5";
const QUEUES: &str = ".6";
const AHEAD: &str = ".7";
const TAIL: &str = ".8";
const QUEUE: &str = ".9";

/// Claims of X23.
const KEPT: &str = ".1";
const COUNTER: &str = ".2";

/// Claims of X24.
const RETRIES: &str = ".1";
const GO_AHEAD: &str = ".2";

/// The time per turn of a single thread, in nanoseconds.
const ALONE: f64 = 5.0;

/// The results of several threads on one line.
#[derive(Clone, Copy)]
struct Contended {
    /// The time of a `fetch_add` per participating thread, relative to that of a single thread.
    add: f64,
    /// The times of other methods relative to `fetch_add`.
    compare: f64,
    mcs: f64,
    parking: f64,
    /// p99 of a single `fetch_add`, in ticks; if each thread has its own line it is 10.
    p99: u64,
    /// The time of the slowest thread relative to the fastest, with a spin lock.
    spread: f64,
    /// The same ratio with compare_exchange, and with parking_lot.
    retries: f64,
    ahead: f64,
    /// A round trip of the line in nanoseconds.
    trip: f64,
}

/// The values expected from queues and transfers.
const USUAL: Contended = Contended {
    add: 4.0,
    compare: 2.0,
    mcs: 1.2,
    parking: 0.5,
    p99: 500,
    spread: 3.0,
    retries: 1.5,
    ahead: 1.5,
    trip: 24.0,
};

/// The MCS lock with these times per turn for two threads and for more.
fn mcs(machine: &Machine, two: f64, more: f64) -> Planted {
    Planted::new("X23", machine, |_, threads| time(if threads > 2.0 { more } else { two }))
}

/// A turn of a queue takes `factor` times as long as a fetch_add.
fn queues(machine: &Machine, factor: f64) -> Planted {
    Planted::new("X23", machine, |series, _| {
        let queue = series.starts_with("ticket") || series.starts_with("MCS");
        time(if queue { 10.0 * factor } else { 10.0 })
    })
}

/// p99 and p99.9 of single operations with compare_exchange, for each pass; those with fetch_add are 100.
fn tails(machine: &Machine, passes: [u64; 2]) -> Planted {
    contended(machine, USUAL).with_runs(|series| match series.starts_with("compare") {
        true => passes.map(|slow| [50, slow]).into(),
        false => vec![[50, 100]; 2],
    })
}

fn contended(machine: &Machine, of: Contended) -> Planted {
    row_of("X18", machine, of)
}

/// The points of any of the rows.
fn row_of(id: &str, machine: &Machine, of: Contended) -> Planted {
    let planted = Planted::new(id, machine, |series, threads| {
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
            false if series.starts_with("compare_exchange") => of.retries,
            false if series.starts_with("parking_lot") => of.ahead,
            false => 1.02,
        })
    });
    // In X18 the unit is nanoseconds, of 2.3 ticks each.
    let planted = planted.with_round_trip(Some(of.trip * 2.3));
    planted.with_runs(|series| match series.ends_with("one line") {
        true => vec![[of.p99 / 2, of.p99]; 2],
        false => vec![[9, 10]; 2],
    })
}

/// The same machine, whose CPUs all share one last level.
fn near(machine: &Machine) -> Machine {
    let locations = machine.cpu_order.locations().iter().map(|location| CpuLocation {
        last_level: 0,
        package: 0,
        ..*location
    });
    with_locations(machine, locations)
}

/// The same machine with only its first `cpus` CPUs.
fn few(machine: &Machine, cpus: usize) -> Machine {
    first_cpus(machine, cpus)
}

pub fn rows() -> Vec<Row> {
    vec![
        row("X18", SHARED, Holds, |m| contended(m, USUAL)).says("2 threads"),
        row("X18", SHARED, DoesNotHold, |m| contended(m, Contended { add: 1.0, ..USUAL })),
        row("X18", SHARED, Inconclusive, |m| contended(m, Contended { add: 2.0, ..USUAL })),
        row("X18", SHARED, Untestable, |m| contended(&few(m, 1), USUAL)).says("needs 2 cores"),
        row("X18", THROUGHPUT, Holds, |m| contended(m, USUAL)).says("8 threads"),
        row("X18", THROUGHPUT, DoesNotHold, |m| contended(m, Contended { add: 0.5, ..USUAL })),
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
        row("X18", SLOW, DoesNotHold, |m| contended(m, Contended { p99: 20, ..USUAL })),
        row("X18", SLOW, Inconclusive, |m| {
            // The two passes contradict each other.
            let of_passes = |series: &str| match series.ends_with("one line") {
                true => vec![[10, 20], [10, 90]],
                false => vec![[9, 10]; 2],
            };
            contended(m, USUAL).with_runs(of_passes)
        }),
        row("X18", SLOW, Inconclusive, |m| {
            // A single operation that takes less than a step may take any part of it.
            let of_passes = |series: &str| match series.ends_with("one line") {
                true => vec![[52, 78]; 2],
                false => vec![[26, 26]; 2],
            };
            contended(m, USUAL).with_runs(of_passes).in_steps(26)
        }),
        row("X18", SLOW, Untestable, |m| contended(m, USUAL).with_runs(|_| Vec::new()))
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
        row("X18", FAIR, Untestable, |m| contended(m, USUAL).with_spread(|_| None))
            .says("no two threads"),
        row("X18", QUEUES, Holds, |m| contended(m, USUAL)),
        row("X18", QUEUES, DoesNotHold, |m| contended(m, Contended { mcs: 2.5, ..USUAL })),
        row("X18", QUEUES, Inconclusive, |m| contended(m, Contended { mcs: 1.8, ..USUAL })),
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
        row("X18", TAIL, Holds, |m| tails(m, [200, 220])).says("8 threads"),
        row("X18", TAIL, DoesNotHold, |m| tails(m, [100, 105])),
        row("X18", TAIL, Inconclusive, |m| tails(m, [100, 200])),
        row("X18", TAIL, Untestable, |m| contended(m, USUAL).with_runs(|_| Vec::new()))
            .says("by itself"),
        row("X18", QUEUE, Holds, |m| contended(&near(m), USUAL)).says("8 threads"),
        // The first two threads share a last level, and the others do not.
        row("X18", QUEUE, Untestable, |m| contended(m, USUAL))
            .says("first two threads (same last level)"),
        row("X18", QUEUE, DoesNotHold, |m| contended(&near(m), but(USUAL, |of| of.trip = 60.0))),
        row("X18", QUEUE, DoesNotHold, |m| contended(&near(m), Contended { trip: 6.0, ..USUAL })),
        row("X18", QUEUE, Inconclusive, |m| contended(&near(m), but(USUAL, |of| of.trip = 16.0))),
        row("X18", QUEUE, Untestable, |m| contended(&near(m), USUAL).with_round_trip(None))
            .says("no round trip"),
        row("X23", KEPT, Holds, |m| mcs(m, 100.0, 400.0)).says("8 threads"),
        row("X23", KEPT, DoesNotHold, |m| mcs(m, 100.0, 1000.0)),
        row("X23", KEPT, Inconclusive, |m| mcs(m, 100.0, 500.0)),
        row("X23", KEPT, Untestable, |m| mcs(&few(m, 2), 100.0, 400.0)).says("needs 4 cores"),
        row("X23", COUNTER, Holds, |m| queues(m, 2.0)).says("ticket lock"),
        row("X23", COUNTER, DoesNotHold, |m| queues(m, 1.1)),
        row("X23", COUNTER, Inconclusive, |m| queues(m, 1.5)),
        row("X23", COUNTER, Untestable, |m| queues(&few(m, 1), 2.0)).says("needs 2 cores"),
        row("X24", RETRIES, Holds, |m| row_of("X24", m, USUAL)),
        row("X24", RETRIES, DoesNotHold, |m| {
            let retries = 1.02;
            row_of("X24", m, Contended { retries, ..USUAL })
        }),
        row("X24", RETRIES, Inconclusive, |m| {
            let retries = 1.1 * 1.02;
            row_of("X24", m, Contended { retries, ..USUAL })
        }),
        row("X24", RETRIES, Untestable, |m| row_of("X24", m, USUAL).with_spread(|_| None))
            .says("no two threads"),
        row("X24", GO_AHEAD, Holds, |m| row_of("X24", m, USUAL)),
        row("X24", GO_AHEAD, DoesNotHold, |m| {
            let ahead = 1.02;
            row_of("X24", m, Contended { ahead, ..USUAL })
        }),
        row("X24", GO_AHEAD, Inconclusive, |m| {
            let ahead = 1.1 * 1.02;
            row_of("X24", m, Contended { ahead, ..USUAL })
        }),
        row("X24", GO_AHEAD, Untestable, |m| {
            row_of("X24", m, USUAL).without(|series, _| series.starts_with("parking_lot"))
        })
        .says("was not measured"),
        // The two passes with a queue differ, and their threads do not.
        row("X24", GO_AHEAD, Holds, |m| {
            row_of("X24", m, USUAL).in_passes(|series| match series.starts_with("MCS") {
                // Two threads on one core take turns of a millisecond: nothing is said of the lock.
                true => {
                    vec![
                        (Clean, [10.0, 10.03]),
                        (Clean, [20.0, 20.06]),
                        (Misplaced(OneCore), [10.0, 40.0]),
                    ]
                }
                false => vec![(Clean, [10.0, 13.0]), (Disturbed, [11.0, 14.3])],
            })
        })
        .says("1.30"),
    ]
}
