//! Figure 3.32: the gains in the figure, and what faster memory would save on this machine.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::planted::{Planted, Row, Value, by_level, row, time};

const LARGEST: &str = ".1";
const NONE: &str = ".2";
const EXPLAINED: &str = ".3";
const FSB: &str = ".4";
const HERE: &str = ".5";

/// Claims judged on counts alone.
pub const EXACT: &[super::Exact] = &[("D45", ".1"), ("D45", ".2"), ("D45", ".3"), ("D45", ".4")];

const MIB: f64 = 1024.0 * 1024.0;

/// The figure's gains in its caches, and at 16 MiB and beyond: `ceiling` percent by the modules, `next` by a
/// faster bus.
fn figure(machine: &Machine, near: f64, far: f64, ceiling: f64, next: f64) -> Planted {
    Planted::new("D45", machine, |series, x| match series {
        "the figure's gain, %" => Value::Counted(match x {
            x if x <= 2.0 * MIB => near,
            x if x <= 16.0 * MIB => far,
            _ => far - 0.5,
        }),
        "saved if memory took all the time, %" => Value::Counted(ceiling),
        "an FSB of 1,333 MHz over one of 800, %" => Value::Counted(next),
        _ => time(by_level(machine, x, [4.0, 5.0, 6.0, 12.0])),
    })
}

/// A walk that takes `far` cycles in memory and 8 in L2.
fn here(machine: &Machine, far: f64) -> Planted {
    Planted::new("D45", machine, |series, x| match series {
        "Addnext0, NPAD=7" => time(by_level(machine, x, [4.0, 8.0, 10.0, far])),
        _ => Value::Counted(1.0),
    })
}

pub fn rows() -> Vec<Row> {
    vec![
        row("D45", LARGEST, Holds, |m| figure(m, 0.0, 18.2, 16.6, 66.6)),
        row("D45", LARGEST, DoesNotHold, |m| figure(m, 0.0, 15.0, 16.6, 66.6)),
        row("D45", LARGEST, Untestable, |m| {
            figure(m, 0.0, 18.2, 16.6, 66.6).without(|series, x| series.contains("gain") && x > MIB)
        }),
        row("D45", NONE, Holds, |m| figure(m, 0.2, 18.2, 16.6, 66.6)),
        row("D45", NONE, DoesNotHold, |m| figure(m, 4.0, 18.2, 16.6, 66.6)),
        row("D45", NONE, Untestable, |m| {
            figure(m, 0.2, 18.2, 16.6, 66.6).without(|_, x| x <= 2.0 * MIB)
        }),
        row("D45", EXPLAINED, Holds, |m| figure(m, 0.0, 15.0, 16.6, 66.6)),
        row("D45", EXPLAINED, DoesNotHold, |m| figure(m, 0.0, 18.2, 16.6, 66.6)),
        row("D45", EXPLAINED, Untestable, |m| {
            figure(m, 0.0, 18.2, 16.6, 66.6).without(|series, _| series.contains("saved"))
        }),
        row("D45", FSB, Holds, |m| figure(m, 0.0, 18.2, 16.6, 66.6)),
        row("D45", FSB, DoesNotHold, |m| figure(m, 0.0, 18.2, 16.6, 40.0)),
        row("D45", FSB, Untestable, |m| {
            figure(m, 0.0, 18.2, 16.6, 66.6).without(|_, x| x == 1333.0)
        }),
        row("D45", HERE, Holds, |m| here(m, 30.0)),
        row("D45", HERE, DoesNotHold, |m| here(m, 9.0)),
        // Little more core cycles than in L2, each of them longer.
        row("D45", HERE, Holds, |m| here(m, 14.0).with_clock_in_memory(0.6)),
        // Memory accounts for 30 % of the time, and a sixth of that is saved.
        row("D45", HERE, Inconclusive, |m| here(m, 8.0 / 0.7)),
        row("D45", HERE, Untestable, |m| {
            let memory = m.ranges.memory;
            here(m, 30.0).without(|series, x| series == "Addnext0, NPAD=7" && memory.holds(x))
        }),
    ]
}
