//! Flushing and writing back lines.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::planted::{Planted, Row, row, time};

const OVERLAP: &str = ".1";
const ORDERED: &str = ".2";
const DIRTY: &str = ".3";
const ABSENT: &str = ".4";
const GONE: &str = ".5";
const KEPT: &str = ".6";
const DEMOTED: &str = ".7";
const FARTHER: &str = ".8";

/// Core cycles.
#[derive(Clone, Copy)]
struct Flushes {
    /// One line, for every instruction: not cached, clean, dirty.
    one: [f64; 3],
    /// Per line of many lines, by `clflush` and by the other instructions.
    many: [f64; 2],
    /// A load of a line in L1d, and after `clflush`, `clflushopt`, `clwb` and `cldemote`. A load of a line
    /// that is not cached takes 400.
    loads: [f64; 5],
}

/// Values with which every claim holds.
const USUAL: Flushes = Flushes {
    one: [300.0, 600.0, 800.0],
    many: [200.0, 15.0],
    loads: [4.0, 400.0, 400.0, 50.0, 50.0],
};

fn planted(machine: &Machine, flushes: Flushes) -> Planted {
    Planted::new("X4", machine, |series, x| {
        let after = ["in L1d", "clflush ", "clflushopt ", "clwb ", "cldemote "];
        let state = ["in no cache", "clean", "dirty"];
        time(if series == "load of a line in no cache" {
            400.0
        } else if series.starts_with("load ") {
            let which = after.iter().position(|word| series.contains(word));
            flushes.loads[which.expect("a load")]
        } else if x > 1.0 {
            flushes.many[usize::from(!series.starts_with("clflush,"))]
        } else {
            let which = state.iter().position(|word| series.contains(word));
            which.map_or(60.0, |which| flushes.one[which])
        })
    })
}

fn usual(machine: &Machine) -> Planted {
    planted(machine, USUAL)
}

fn one(machine: &Machine, one: [f64; 3]) -> Planted {
    planted(machine, Flushes { one, ..USUAL })
}

fn many(machine: &Machine, many: [f64; 2]) -> Planted {
    planted(machine, Flushes { many, ..USUAL })
}

fn loads(machine: &Machine, loads: [f64; 5]) -> Planted {
    planted(machine, Flushes { loads, ..USUAL })
}

/// A CPU that lacks the instructions of the series whose names contain `word`.
fn lacking(machine: &Machine, word: &str) -> Planted {
    Planted::new("X4", machine, |_, _| time(100.0)).lacking(&[word], "this CPU lacks it")
}

pub fn rows() -> Vec<Row> {
    vec![
        row("X4", OVERLAP, Holds, usual),
        row("X4", OVERLAP, DoesNotHold, |m| many(m, [700.0, 700.0])),
        row("X4", OVERLAP, Inconclusive, |m| many(m, [700.0, 400.0])),
        row("X4", OVERLAP, Untestable, |m| lacking(m, "clflushopt")).says("this CPU lacks it"),
        row("X4", ORDERED, Holds, usual),
        row("X4", ORDERED, DoesNotHold, |m| many(m, [15.0, 15.0])),
        row("X4", ORDERED, Inconclusive, |m| many(m, [16.5, 15.0])),
        row("X4", ORDERED, Untestable, |m| usual(m).without(|_, x| x == 128.0)),
        row("X4", DIRTY, Holds, usual),
        row("X4", DIRTY, DoesNotHold, |m| one(m, [300.0, 600.0, 500.0])),
        row("X4", DIRTY, Inconclusive, |m| one(m, [300.0, 600.0, 600.0])),
        row("X4", DIRTY, Untestable, |m| usual(m).without(|series, _| series == "clflush, dirty")),
        row("X4", ABSENT, Holds, usual),
        row("X4", ABSENT, DoesNotHold, |m| one(m, [700.0, 600.0, 800.0])),
        row("X4", ABSENT, Inconclusive, |m| one(m, [600.0, 600.0, 800.0])),
        row("X4", ABSENT, Untestable, |m| {
            usual(m).without(|series, _| series == "clflush, in no cache")
        }),
        row("X4", GONE, Holds, usual),
        row("X4", GONE, DoesNotHold, |m| loads(m, [4.0, 400.0, 50.0, 50.0, 50.0]))
            .says("after clflushopt: 0.12"),
        row("X4", GONE, Inconclusive, |m| loads(m, [4.0, 320.0, 400.0, 50.0, 50.0])),
        row("X4", GONE, Untestable, |m| {
            usual(m).without(|series, _| series == "load of a line in no cache")
        }),
        row("X4", KEPT, Holds, usual),
        row("X4", KEPT, DoesNotHold, |m| loads(m, [4.0, 400.0, 400.0, 400.0, 50.0])),
        row("X4", KEPT, Inconclusive, |m| loads(m, [4.0, 400.0, 400.0, 200.0, 50.0])),
        row("X4", KEPT, Untestable, |m| lacking(m, "clwb")).says("this CPU lacks it"),
        row("X4", DEMOTED, Holds, usual),
        row("X4", DEMOTED, DoesNotHold, |m| loads(m, [4.0, 400.0, 400.0, 50.0, 390.0])),
        row("X4", DEMOTED, Inconclusive, |m| loads(m, [4.0, 400.0, 400.0, 50.0, 200.0])),
        row("X4", DEMOTED, Untestable, |m| lacking(m, "cldemote")).says("this CPU lacks it"),
        row("X4", FARTHER, Holds, usual),
        row("X4", FARTHER, DoesNotHold, |m| loads(m, [4.0, 400.0, 400.0, 50.0, 4.0])),
        row("X4", FARTHER, Inconclusive, |m| loads(m, [45.0, 400.0, 400.0, 50.0, 50.0])),
        row("X4", FARTHER, Untestable, |m| lacking(m, "cldemote")).says("this CPU lacks it"),
    ]
}
