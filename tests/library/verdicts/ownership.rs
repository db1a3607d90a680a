//! Prefetching lines for writing: prefetchw.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::machines::first_cpu_only;
use super::planted::{Planted, Row, Value, row, time};

const STORE: &str = ".1";
const ADD: &str = ".2";
const HELPS: &str = ".3";
const SHARED: &str = ".4";
const LATENCY: &str = ".5";

/// Nanoseconds per line that the other core modified, or that both read: not prefetched, after prefetcht0,
/// after prefetchw. The thread's own lines take 5.
#[derive(Clone, Copy)]
struct Times {
    there: [f64; 3],
    shared: [f64; 3],
}

/// The values that the paper expects.
const PAPER: Times = Times { there: [60.0, 50.0, 20.0], shared: [50.0, 50.0, 20.0] };

fn times(machine: &Machine, of: Times) -> Planted {
    among(machine, of, 80.0, time(150.0))
}

/// The same. A load of a line that the other core modified takes `there`, one of the thread's own lines 10,
/// and a round trip `trip`.
fn among(machine: &Machine, of: Times, there: f64, trip: Value) -> Planted {
    Planted::new("E38", machine, |series, held| {
        match series {
            "load" if held == 0.0 => return time(there),
            "load" => return time(10.0),
            "round trip" => return trip,
            _ => {}
        }
        let times = match held {
            0.0 => of.there,
            1.0 => of.shared,
            _ => [5.0; 3],
        };
        let fetched = match series.rsplit_once(", ").expect("names both").1 {
            "not fetched" => 0,
            "prefetcht0" => 1,
            _ => 2,
        };
        time(times[fetched])
    })
}

fn there(machine: &Machine, there: [f64; 3]) -> Planted {
    times(machine, Times { there, ..PAPER })
}

fn shared(machine: &Machine, shared: [f64; 3]) -> Planted {
    times(machine, Times { shared, ..PAPER })
}

pub fn rows() -> Vec<Row> {
    let mut rows = vec![
        row("E38", STORE, Holds, |m| times(m, PAPER)).says("prefetchw over prefetcht0: 0.40"),
        row("E38", STORE, Holds, |m| there(m, [60.0, 50.0, 50.0])),
        row("E38", STORE, DoesNotHold, |m| there(m, [60.0, 50.0, 60.0])),
        row("E38", STORE, Inconclusive, |m| there(m, [60.0, 50.0, 52.5])),
        row("E38", ADD, Holds, |m| times(m, PAPER)),
        row("E38", ADD, DoesNotHold, |m| there(m, [60.0, 50.0, 60.0]))
            .says("locked addition, modified there: prefetchw over prefetcht0: 1.20"),
        row("E38", ADD, Inconclusive, |m| there(m, [60.0, 50.0, 52.5])),
        row("E38", HELPS, Holds, |m| times(m, PAPER)),
        row("E38", HELPS, DoesNotHold, |m| there(m, [60.0, 50.0, 60.0])),
        row("E38", HELPS, Inconclusive, |m| there(m, [60.0, 50.0, 54.0])),
        row("E38", SHARED, Holds, |m| times(m, PAPER)),
        row("E38", SHARED, DoesNotHold, |m| shared(m, [50.0, 50.0, 50.0])),
        // prefetcht0 also helps.
        row("E38", SHARED, DoesNotHold, |m| shared(m, [50.0, 30.0, 20.0]))
            .says("prefetcht0 over not fetched: 0.60"),
        row("E38", SHARED, Inconclusive, |m| shared(m, [50.0, 50.0, 45.0])),
    ];
    rows.extend([
        row("E38", LATENCY, Holds, |m| times(m, PAPER)).says("fenced locked addition, shared"),
        row("E38", LATENCY, DoesNotHold, |m| shared(m, [50.0, 50.0, 50.0])),
        row("E38", LATENCY, Inconclusive, |m| shared(m, [50.0, 50.0, 45.0])),
        // One of the two signs that the CPUs are threads of one core is not enough.
        row("E38", STORE, Holds, |m| among(m, PAPER, 15.0, time(150.0))),
        row("E38", STORE, Holds, |m| among(m, PAPER, 80.0, ONE_CORE)),
    ]);
    for claim in [STORE, ADD, HELPS, SHARED, LATENCY] {
        rows.extend([
            row("E38", claim, Untestable, |m| times(&first_cpu_only(m), PAPER))
                .says("the test needs two cores"),
            row("E38", claim, Untestable, |m| among(m, PAPER, 15.0, ONE_CORE)).says(
                "threads of one core; and loads of lines that the other CPU modified take only 1.5",
            ),
        ]);
    }
    rows
}

/// A round trip whose lines were in a common L1d.
pub const ONE_CORE: Value = Value::Untestable("the two CPUs are threads of one core");
