//! Row X15: the spread of single runs.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::planted::{Planted, Row, row, time};

/// The ticks of runs at the median and at p99, for each pass, in the series whose name contains `part`. In
/// all other series the runs agree.
fn runs(machine: &Machine, part: &'static str, passes: &[[u64; 2]]) -> Planted {
    Planted::new("X15", machine, |_, _| time(1.0)).with_runs(|series| match series.contains(part) {
        true => passes.to_vec(),
        false => vec![[100, 100]; 2],
    })
}

fn close(machine: &Machine, part: &'static str) -> Planted {
    runs(machine, part, &[[100, 101], [103, 105]])
}

fn apart(machine: &Machine, part: &'static str) -> Planted {
    runs(machine, part, &[[100, 120], [100, 111]])
}

/// The time-stamp counter advances by a quarter of a run.
fn coarse(machine: &Machine, part: &'static str) -> Planted {
    runs(machine, part, &[[104, 104], [104, 130]]).in_steps(26)
}

/// The two passes contradict each other.
fn open(machine: &Machine, part: &'static str) -> Planted {
    runs(machine, part, &[[100, 101], [100, 140]])
}

const CHAIN: &str = "chain";
const L1D: &str = "L1d";
const L2: &str = "L2";

pub fn rows() -> Vec<Row> {
    vec![
        row("X15", ".1", Holds, |m| close(m, CHAIN)).says("1.0"),
        row("X15", ".1", DoesNotHold, |m| apart(m, CHAIN)).says("1.2"),
        row("X15", ".1", Inconclusive, |m| open(m, CHAIN)),
        row("X15", ".1", Untestable, |m| runs(m, CHAIN, &[])).says("by itself"),
        row("X15", ".1", Untestable, |m| coarse(m, CHAIN)).says("steps of 26 ticks"),
        row("X15", ".2", Holds, |m| close(m, L1D)),
        row("X15", ".2", DoesNotHold, |m| apart(m, L1D)),
        row("X15", ".2", Inconclusive, |m| open(m, L1D)),
        // The empty run took as long.
        row("X15", ".2", Untestable, |m| runs(m, L1D, &[[0, 10]])).says("above zero"),
        row("X15", ".3", Holds, |m| close(m, L2)),
        row("X15", ".3", DoesNotHold, |m| apart(m, L2)),
        row("X15", ".3", Inconclusive, |m| open(m, L2)),
        row("X15", ".3", Untestable, |m| close(m, L2).without(|series, _| series.contains(L2)))
            .says("was not measured"),
    ]
}
