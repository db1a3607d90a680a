//! A thread that moves to another core, and a line that two cores need.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::ownership::ONE_CORE;
use super::planted::{Planted, Row, Value, by_level, row, time};
use super::siblings;

const L2: &str = ".1";
const L1: &str = ".2";
const ONCE: &str = ".3";
const UPGRADE: &str = ".4";
const SHARED: &str = ".5";

/// `first` and `second` are the ratios of a lap after a move to one without a move; `first` is for L1d and
/// for L2. A locked addition to the thread's own line takes 20, and 60 with a fence after it. To a shared
/// line it takes 20 times `shared`, and with a fence 20 times `shared` more than 60.
fn plant(machine: &Machine, first: [f64; 2], second: f64, shared: f64) -> Planted {
    Planted::new("D24", machine, |series, x| {
        let stays = by_level(machine, x, [5.0, 16.0, 16.0, 16.0]);
        let first = by_level(machine, x, [first[0], first[1], first[1], first[1]]);
        time(match series {
            "the thread stays" => stays,
            "the first lap after a move" => stays * first,
            "the second lap after a move" => stays * second,
            "a locked addition to a line that the core owns" => 20.0,
            "the same to a line that the core owns, with a fence behind it" => 60.0,
            _ if series.ends_with("fence behind it") => 60.0 + 20.0 * shared,
            _ => 20.0 * shared,
        })
    })
}

fn paper(machine: &Machine) -> Planted {
    plant(machine, [30.0, 8.0], 1.05, 10.0)
}

/// Two CPUs that are hyper-threads of one core, although the system reports two cores.
fn hidden_siblings(machine: &Machine) -> Planted {
    Planted::new("D24", machine, |series, x| match (series, x) {
        ("round trip", _) => ONE_CORE,
        ("load", 0.0) => time(10.0),
        ("load", _) => time(15.0),
        _ => time(20.0),
    })
}

pub fn rows() -> Vec<Row> {
    let mut rows = on_two_cores();
    rows.extend([L2, L1, ONCE, UPGRADE, SHARED].map(|claim| {
        row("D24", claim, Untestable, hidden_siblings).says(
            "threads of one core; and loads of lines that the other CPU modified take only 1.5",
        )
    }));
    rows
}

fn on_two_cores() -> Vec<Row> {
    vec![
        row("D24", L2, Holds, paper),
        row("D24", L2, DoesNotHold, |m| plant(m, [30.0, 1.2], 1.0, 10.0))
            .says("first lap over staying, L2: 1.20"),
        row("D24", L2, Inconclusive, |m| plant(m, [30.0, 1.5], 1.0, 10.0)),
        row("D24", L2, Untestable, |m| paper(m).on(siblings::alone(m)))
            .says("the test needs two cores"),
        row("D24", L1, Holds, paper),
        row("D24", L1, DoesNotHold, |m| plant(m, [1.2, 8.0], 1.0, 10.0))
            .says("first lap over staying, L1d: 1.20"),
        row("D24", L1, Inconclusive, |m| plant(m, [1.5, 8.0], 1.0, 10.0)),
        row("D24", L1, Untestable, |m| {
            paper(m).without(|series, _| series == "the first lap after a move")
        })
        .says("no point of `the first lap"),
        row("D24", ONCE, Holds, paper),
        row("D24", ONCE, DoesNotHold, |m| plant(m, [30.0, 8.0], 2.0, 10.0))
            .says("second lap over staying, L2: 2.00"),
        row("D24", ONCE, Inconclusive, |m| plant(m, [30.0, 8.0], 1.2, 10.0)),
        row("D24", ONCE, Untestable, |m| {
            Planted::new("D24", m, |_, _| Value::Untestable("it may not move"))
        })
        .says("it may not move"),
        row("D24", UPGRADE, Holds, paper).says("upgrade over addition: 10.0"),
        row("D24", UPGRADE, DoesNotHold, |m| plant(m, [30.0, 8.0], 1.0, 0.1))
            .says("upgrade over addition: 0.04 to 0.16"),
        row("D24", UPGRADE, Inconclusive, |m| plant(m, [30.0, 8.0], 1.0, 0.5)),
        row("D24", UPGRADE, Untestable, |m| paper(m).on(siblings::alone(m))),
        row("D24", SHARED, Holds, paper),
        row("D24", SHARED, DoesNotHold, |m| plant(m, [30.0, 8.0], 1.0, 1.1))
            .says("shared over own: 1.10"),
        row("D24", SHARED, Inconclusive, |m| plant(m, [30.0, 8.0], 1.0, 1.5)),
        row("D24", SHARED, Untestable, |m| paper(m).on(siblings::alone(m))),
    ]
}
