//! Software prefetching: the hints and Figure 6.7.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};
use linefill::stats::Interval;

use super::planted::{Planted, Row, Value, by_level, noisy, row, time};

const BAD: &str = "bad address";
const SWEPT: &str = "after a sweep";
const WALKED: &str = "after a random walk";
const NTA: &str = "leaves a hot set";
const T0: &str = "prefetcht0 evicts";
const NEAR: &str = "in L1d and L2";
const FAR: &str = "saves more than 5 %";
const BEST: &str = "best distance";

const SURVIVED: &str = "prefetches of bad addresses that did not fault";

/// What a load costs after `hint`, which misses at 400; after a sweep (x = 0) or a walk (1).
fn hints(machine: &Machine, load: impl Fn(&str, f64) -> Value) -> Planted {
    Planted::new("E36", machine, |series, x| match series {
        SURVIVED => Value::Counted(20.0),
        "flushed" => time(400.0),
        "lap after nothing" => time(10_000.0),
        _ => load(series, x),
    })
}

/// What a lap costs after `prefetcht0` and after `prefetchnta`, over undisturbed.
fn laps(machine: &Machine, t0: f64, nta: f64) -> Planted {
    hints(machine, |series, _| {
        time(match series {
            "lap after prefetcht0 and loads" => 10_000.0 * t0,
            "lap after prefetchnta and loads" => 10_000.0 * nta,
            _ => 5.0,
        })
    })
}

/// Figure 6.7: what a step costs with 5 nodes ahead over none, level by level.
fn ahead(machine: &Machine, change: [f64; 4]) -> Planted {
    Planted::new("E37", machine, |series, x| {
        let plain = by_level(machine, x, [165.0, 176.0, 230.0, 560.0]);
        time(match series {
            "5 ahead" => plain * by_level(machine, x, change),
            _ => plain,
        })
    })
}

/// What the distances of the sweep cost: 1 ahead, those between, 64 ahead.
fn sweep(machine: &Machine, first: f64, between: f64, last: f64) -> Planted {
    Planted::new("E37", machine, |series, _| {
        time(match series {
            "1 ahead" => first,
            "64 ahead" => last,
            _ => between,
        })
    })
}

/// Claims judged on counts alone.
pub const EXACT: &[super::Exact] = &[("E36", "bad address")];

pub fn rows() -> Vec<Row> {
    vec![
        row("E36", BAD, Holds, |m| hints(m, |_, _| time(5.0))),
        row("E36", BAD, DoesNotHold, |m| {
            Planted::new("E36", m, |_, _| Value::Counted(19.0))
        }),
        row("E36", BAD, Untestable, |m| {
            hints(m, |_, _| time(5.0)).without(|series, _| series == SURVIVED)
        }),
        row("E36", SWEPT, Holds, |m| {
            // After the empty stretch is taken off, a hit may come out below zero.
            hints(m, |_, _| Value::Timed(Interval::new(-2.0, 4.0)))
        }),
        row("E36", SWEPT, DoesNotHold, |m| {
            hints(m, |series, _| match series {
                "after prefetcht2" => time(400.0),
                _ => time(20.0),
            })
        })
        .says("share of a miss after prefetcht2 1.0"),
        row("E36", SWEPT, Inconclusive, |m| {
            hints(m, |_, _| noisy(200.0, 0.1))
        }),
        row("E36", SWEPT, Untestable, |m| {
            Planted::new("E36", m, |series, _| match series {
                "flushed" => Value::Timed(Interval::new(-5.0, 5.0)),
                _ => time(5.0),
            })
        })
        .says("a load of a flushed line took 0.00 [-5.00, 5.00]"),
        row("E36", WALKED, Holds, |m| hints(m, |_, _| time(20.0))),
        row("E36", WALKED, DoesNotHold, |m| {
            hints(m, |series, x| match series {
                "after prefetcht1" if x == 1.0 => time(390.0),
                _ => time(20.0),
            })
        })
        .says("share of a miss after prefetcht1"),
        row("E36", WALKED, Inconclusive, |m| {
            hints(m, |_, x| if x == 1.0 { time(200.0) } else { time(20.0) })
        }),
        row("E36", WALKED, Untestable, |m| {
            hints(m, |_, x| match x {
                1.0 => Value::Untestable("no memory for the walk"),
                _ => time(20.0),
            })
        })
        .says("no memory for the walk"),
        row("E36", NTA, Holds, |m| laps(m, 2.0, 1.1)),
        row("E36", NTA, DoesNotHold, |m| laps(m, 2.0, 2.0)),
        row("E36", NTA, Inconclusive, |m| laps(m, 2.0, 1.3)),
        row("E36", NTA, Untestable, |m| {
            laps(m, 2.0, 1.1).without(|series, _| series == "lap after nothing")
        })
        .says("no point of `lap after nothing`"),
        row("E36", T0, Holds, |m| laps(m, 2.0, 1.1)),
        row("E36", T0, DoesNotHold, |m| laps(m, 1.1, 1.1)),
        row("E36", T0, Inconclusive, |m| laps(m, 1.3, 1.1)),
        row("E36", T0, Untestable, |m| {
            hints(m, |_, _| Value::Untestable("no 2 MiB pages"))
        })
        .says("no 2 MiB pages"),
        row("E37", NEAR, Holds, |m| ahead(m, [1.01, 0.99, 0.9, 0.5])),
        row("E37", NEAR, DoesNotHold, |m| ahead(m, [1.2, 1.0, 0.9, 0.5]))
            .says("prefetch over none, L1d 1.20"),
        row("E37", NEAR, DoesNotHold, |m| ahead(m, [1.0, 0.8, 0.9, 0.5])),
        row("E37", NEAR, Inconclusive, |m| {
            ahead(m, [1.0, 1.03, 0.9, 0.5])
        }),
        row("E37", NEAR, Untestable, |m| {
            let l2 = m.ranges.l2;
            ahead(m, [1.0; 4]).without(|_, x| l2.holds(x))
        }),
        row("E37", FAR, Holds, |m| ahead(m, [1.0, 1.0, 0.9, 0.5])),
        row("E37", FAR, DoesNotHold, |m| ahead(m, [1.0, 1.0, 0.9, 1.0])),
        row("E37", FAR, Inconclusive, |m| {
            ahead(m, [1.0, 1.0, 0.9, 0.95])
        }),
        row("E37", FAR, Untestable, |m| {
            ahead(m, [1.0; 4]).without(|series, _| series == "no prefetch")
        }),
        row("E37", BEST, Holds, |m| sweep(m, 400.0, 200.0, 300.0)),
        // The further ahead the better.
        row("E37", BEST, DoesNotHold, |m| sweep(m, 400.0, 200.0, 180.0)).says("64 ahead"),
        // One ahead is enough.
        row("E37", BEST, DoesNotHold, |m| sweep(m, 190.0, 200.0, 300.0)),
        row("E37", BEST, Inconclusive, |m| sweep(m, 400.0, 200.0, 210.0)),
        row("E37", BEST, Untestable, |m| {
            sweep(m, 400.0, 200.0, 300.0).without(|series, _| series == "16 ahead")
        })
        .says("`16 ahead` was not measured at"),
        row("E37", BEST, Untestable, |m| {
            let small = Machine {
                largest: 16 << 20,
                ..m.clone()
            };
            sweep(&small, 400.0, 200.0, 300.0)
        })
        .says("the largest working set, 16384 KiB, is not in the range"),
    ]
}
