//! Figure 3.30 and the rules for structures.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::planted::{Planted, Row, by_level, noisy, row, time};

const WORD: &str = ".1";
const SLOWER: &str = ".2";
const BACKWARDS: &str = ".1";

/// Figure 3.30: the ratio of the last word to the first in memory, in both orders.
fn last_over_first(machine: &Machine, sequential: f64, random: f64) -> Planted {
    within(machine, sequential, random, 0.005)
}

/// The same, with this relative noise.
fn within(machine: &Machine, sequential: f64, random: f64, noise: f64) -> Planted {
    Planted::new("D42", machine, |series, x| {
        let first = by_level(machine, x, [5.0, 16.0, 70.0, 400.0]);
        let slower = match series {
            "sequential, last word" => sequential,
            "random, last word" => random,
            _ => 1.0,
        };
        noisy(first * by_level(machine, x, [1.0, 1.0, 1.0, slower]), noise)
    })
}

/// E13: the time in memory relative to the other order, and the cycles that the late load of the pointer
/// costs everywhere.
fn late(machine: &Machine, memory: f64, slower: f64, late: f64, noise: f64) -> Planted {
    Planted::new("E13", machine, |series, x| {
        let forwards = by_level(machine, x, [5.0, 16.0, 70.0, memory]);
        let slower = by_level(machine, x, [1.0, 1.0, 1.0, slower]);
        match series {
            "in the opposite order" => noisy(forwards * slower + late, noise),
            _ => time(forwards),
        }
    })
}

fn backwards(machine: &Machine, slower: f64, noise: f64) -> Planted {
    late(machine, 400.0, slower, 3.5, noise)
}

pub fn rows() -> Vec<Row> {
    vec![
        row("D42", WORD, Holds, |m| last_over_first(m, 1.005, 0.995)),
        row("D42", WORD, DoesNotHold, |m| last_over_first(m, 1.0, 1.25))
            .says("last over first word, random: 1.25"),
        row("D42", WORD, DoesNotHold, |m| last_over_first(m, 0.8, 1.0))
            .says("last over first word, sequential: 0.80"),
        row("D42", WORD, Inconclusive, |m| last_over_first(m, 1.02, 1.0)),
        row("D42", WORD, Untestable, |m| {
            let memory = m.ranges.memory;
            last_over_first(m, 1.0, 1.0)
                .without(|series, x| series == "random, first word" && memory.holds(x))
        })
        .says("`random, last word` and `random, first word` have no point in common"),
        row("D42", SLOWER, Holds, |m| last_over_first(m, 1.02, 1.02)),
        row("D42", SLOWER, DoesNotHold, |m| last_over_first(m, 1.02, 0.98))
            .says("last over first word, random: 0.98"),
        // The document's difference is found, and none is none.
        row("D42", SLOWER, Holds, |m| within(m, 1.007, 1.005, 0.001)),
        row("D42", SLOWER, DoesNotHold, |m| within(m, 1.0, 1.0, 0.001)),
        row("D42", SLOWER, Inconclusive, |m| last_over_first(m, 1.0, 1.02)),
        row("D42", SLOWER, Untestable, |m| {
            last_over_first(m, 1.0, 1.0).without(|series, _| series == "random, last word")
        })
        .says("no point of `random, last word`"),
        row("E13", BACKWARDS, Holds, |m| backwards(m, 1.05, 0.005)),
        row("E13", BACKWARDS, DoesNotHold, |m| backwards(m, 0.9, 0.005)),
        row("E13", BACKWARDS, Inconclusive, |m| backwards(m, 1.05, 0.05)),
        row("E13", BACKWARDS, Untestable, |m| {
            let memory = m.ranges.memory;
            backwards(m, 1.05, 0.005).without(|_, x| memory.holds(x))
        }),
        // At a low clock, memory is few cycles away: the late load of the pointer alone is 5 % of them.
        row("E13", BACKWARDS, DoesNotHold, |m| late(m, 70.0, 1.0, 3.5, 0.001))
            .says("less what it costs in L2: 1.00"),
        row("E13", BACKWARDS, Untestable, |m| {
            let l2 = m.ranges.l2;
            backwards(m, 1.05, 0.005).without(|_, x| l2.holds(x))
        }),
        // No effect is none, whatever the noise says.
        row("E13", BACKWARDS, DoesNotHold, |m| backwards(m, 1.0, 0.01)),
    ]
}
