//! Software prefetches, counted.

use linefill::counters::Quantity;
use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};
use linefill::stats::Interval;

use super::planted::{Planted, Row, but, row, time};

const ONE: &str = ".1";
const USEFUL: &str = ".2";
const LATE: &str = ".3";
const HALF: &str = ".4";

/// Counts per step: executed prefetches; useful ones in memory and in L1d; late ones 1, 5 and 16 nodes ahead.
#[derive(Clone, Copy)]
struct Counts {
    executed: f64,
    useful: [f64; 2],
    late: [f64; 3],
}

const SOUND: Counts = Counts { executed: 1.0, useful: [0.98, 0.0], late: [0.95, 0.4, 0.01] };

fn counted(machine: &Machine, counts: Counts) -> Planted {
    Planted::new("E40", machine, |_, _| time(200.0)).counting(move |series, ahead, quantity| {
        let near = usize::from(series == "in L1d");
        let value = match quantity {
            Quantity::SoftwarePrefetches => counts.executed,
            Quantity::UsefulPrefetches => counts.useful[near],
            Quantity::LatePrefetches if ahead <= 2.0 => counts.late[0],
            Quantity::LatePrefetches if ahead <= 8.0 => counts.late[1],
            Quantity::LatePrefetches => counts.late[2],
            _ => return None,
        };
        Some(Interval::exact(value).widened(0.02))
    })
}

fn no_pmu(machine: &Machine) -> Planted {
    Planted::new("E40", machine, |_, _| time(200.0))
        .counting_nothing("the kernel sees no PMU on this CPU")
}

pub fn rows() -> Vec<Row> {
    let mut rows = vec![
        row("E40", ONE, Holds, |m| counted(m, SOUND)),
        row("E40", ONE, DoesNotHold, |m| counted(m, but(SOUND, |of| of.executed = 2.0))),
        row("E40", ONE, Inconclusive, |m| counted(m, but(SOUND, |of| of.executed = 1.02))),
        row("E40", USEFUL, Holds, |m| counted(m, SOUND)),
        row("E40", USEFUL, DoesNotHold, |m| counted(m, but(SOUND, |of| of.useful = [0.3, 0.0])))
            .says("useful in memory: 0.3"),
        row("E40", USEFUL, DoesNotHold, |m| counted(m, but(SOUND, |of| of.useful = [0.98, 0.5]))),
        row("E40", USEFUL, Inconclusive, |m| counted(m, but(SOUND, |of| of.useful = [0.98, 0.05]))),
        row("E40", LATE, Holds, |m| counted(m, SOUND)),
        row("E40", LATE, DoesNotHold, |m| counted(m, but(SOUND, |of| of.late = [0.2, 0.1, 0.0]))),
        row("E40", LATE, DoesNotHold, |m| counted(m, but(SOUND, |of| of.late = [0.9, 0.9, 0.9]))),
        row("E40", LATE, Inconclusive, |m| counted(m, but(SOUND, |of| of.late = [0.5, 0.4, 0.01]))),
        row("E40", HALF, Holds, |m| counted(m, SOUND)),
        row("E40", HALF, DoesNotHold, |m| counted(m, but(SOUND, |of| of.late = [0.9, 0.0, 0.0]))),
        row("E40", HALF, Inconclusive, |m| counted(m, but(SOUND, |of| of.late = [0.9, 0.66, 0.0]))),
    ];
    for claim in [ONE, USEFUL, LATE, HALF] {
        rows.push(row("E40", claim, Untestable, no_pmu).says("no PMU on this CPU"));
    }
    rows
}
