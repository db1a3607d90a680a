//! Figure 3.23: the figure's line, and the line of this machine.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};
use linefill::stats::Interval;

use super::planted::{Planted, Row, Value, by_level, noisy, row, time};
use super::siblings;

const TEXT: &str = ".1";
const SLOPE: &str = ".2";
const HERE: &str = ".3";

/// Claims judged on counts alone.
pub const EXACT: &[super::Exact] = &[("D31", ".1"), ("D31", ".2")];

/// The line `slope G1 - offset`, and latencies of L1d and memory.
fn plant(machine: &Machine, slope: f64, offset: f64, hit: Value, miss: Value) -> Planted {
    Planted::new("D31", machine, |series, x| match series {
        "L1d" => hit,
        "memory" => miss,
        _ => Value::Counted((slope * x - offset).max(0.0)),
    })
}

fn line(machine: &Machine, slope: f64, offset: f64) -> Planted {
    plant(machine, slope, offset, time(4.0), time(500.0))
}

fn latencies(machine: &Machine, hit: f64, miss: f64) -> Planted {
    plant(machine, 2.0, 111.34, time(hit), time(miss))
}

const PAYS: &str = ".4";
const LOSES: &str = ".5";

/// How many times as long a walk takes if another one runs on its core: in L1d, and in memory.
fn two(machine: &Machine, near: f64, far: f64) -> Planted {
    two_of(machine, |is_far, pair| {
        let (alone, slower) = if is_far { (400.0, far) } else { (5.0, near) };
        time(if pair { alone * slower } else { alone })
    })
}

/// The value of a walk, by whether its list lies in memory, and whether another one runs on its core.
fn two_of(machine: &Machine, value: impl Fn(bool, bool) -> Value) -> Planted {
    Planted::new("D31", &siblings::with(machine), |series, x| {
        let far = by_level(machine, x, [0.0, 0.0, 1.0, 1.0]) > 0.0;
        match series {
            "one hyper-thread" => value(far, false),
            "two hyper-threads" => value(far, true),
            _ => Value::Counted(1.0),
        }
    })
}

pub fn rows() -> Vec<Row> {
    vec![
        row("D31", PAYS, Holds, |m| two(m, 3.0, 1.1)),
        row("D31", PAYS, DoesNotHold, |m| two(m, 3.0, 2.5)).says("memory: 2.50"),
        row("D31", PAYS, Inconclusive, |m| two(m, 3.0, 2.0)),
        row("D31", PAYS, Untestable, |m| line(&siblings::without(m), 2.0, 111.34))
            .says("no two CPUs here are hyper-threads of one core"),
        row("D31", PAYS, Untestable, |m| {
            two_of(m, |far, pair| match (far, pair) {
                (true, true) => Value::Untestable("the other thread was away"),
                _ => time(400.0),
            })
        })
        .says("the other thread was away"),
        // What is wrong with the lists in L1d does not matter.
        row("D31", PAYS, Holds, |m| {
            two_of(m, |far, _| match far {
                true => time(400.0),
                false => Value::Timed(Interval::new(-1.0, 5.0)),
            })
        }),
        row("D31", LOSES, Holds, |m| two(m, 3.0, 1.1)),
        row("D31", LOSES, DoesNotHold, |m| two(m, 1.2, 1.1)).says("L1d: 1.20"),
        row("D31", LOSES, Inconclusive, |m| two(m, 2.0, 1.1)),
        row("D31", LOSES, Untestable, |m| two(m, 3.0, 1.1).on(siblings::without(m))),
        row("D31", TEXT, Holds, |m| line(m, 2.0, 111.34)),
        row("D31", TEXT, DoesNotHold, |m| line(m, 2.0, 105.0)).says("at 60 %: 15"),
        row("D31", TEXT, DoesNotHold, |m| line(m, 1.8, 98.0)).says("at 95 %: 73"),
        row("D31", TEXT, Untestable, |m| line(m, 2.0, 111.34).without(|_, x| x == 95.0)),
        row("D31", SLOPE, Holds, |m| line(m, 2.0, 111.34)),
        row("D31", SLOPE, DoesNotHold, |m| line(m, 1.9, 100.0)),
        row("D31", SLOPE, Untestable, |m| line(m, 2.0, 111.34).without(|_, x| x == 60.0)),
        row("D31", HERE, Holds, |m| latencies(m, 4.0, 500.0)),
        row("D31", HERE, DoesNotHold, |m| latencies(m, 4.0, 14.0)),
        // Between programs with few memory accesses and programs with many.
        row("D31", HERE, Inconclusive, |m| latencies(m, 4.0, 60.0)),
        row("D31", HERE, Untestable, |m| latencies(m, 4.0, 4.0)).says("longer than a hit"),
        row("D31", HERE, Untestable, |m| {
            plant(m, 2.0, 111.34, noisy(4.0, 0.1), Value::Untestable("no memory"))
        })
        .says("no memory"),
    ]
}
