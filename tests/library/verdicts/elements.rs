//! Figure 6.2.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::machines::with_memory;
use super::planted::{Planted, Row, by_level, row, time};

const NEAR: &str = ".1";
const SOMEWHERE: &str = ".2";
const NOWHERE: &str = ".3";
const RANDOM: &str = ".4";

/// The ratio of two lines to one, level by level: in sequence and in random order.
fn spread(machine: &Machine, sequential: [f64; 4], random: [f64; 4]) -> Planted {
    Planted::new("E11", machine, |series, x| {
        let one = by_level(machine, x, [4.0, 14.0, 60.0, 400.0]);
        if series.ends_with("both words in the first") {
            return time(one);
        }
        let more = match series.starts_with("sequential") {
            true => sequential,
            false => random,
        };
        time(one * by_level(machine, x, more))
    })
}

/// The paper's values.
fn paper(machine: &Machine) -> Planted {
    spread(machine, [1.0, 1.17, 1.2, 1.27], [1.0, 1.3, 1.2, 1.1])
}

/// The same machine without room for a working set in memory.
fn little(machine: &Machine) -> Machine {
    with_memory(machine, 16 << 20)
}

const NONE: [f64; 4] = [1.0; 4];

pub fn rows() -> Vec<Row> {
    vec![
        row("E11", NEAR, Holds, paper),
        row("E11", NEAR, DoesNotHold, |m| spread(m, NONE, [1.1, 1.0, 1.0, 1.0]))
            .says("random, 2 lines: 1.10"),
        row("E11", NEAR, DoesNotHold, |m| spread(m, [0.9, 1.0, 1.0, 1.0], NONE))
            .says("sequential, 4 lines: 0.90"),
        row("E11", NEAR, Inconclusive, |m| spread(m, [1.05, 1.0, 1.0, 1.0], NONE)),
        row("E11", NEAR, Untestable, |m| {
            let l1 = m.ranges.l1;
            paper(m).without(|series, x| series.starts_with("random, 4") && l1.holds(x))
        })
        .says("have no point in common"),
        row("E11", SOMEWHERE, Holds, paper),
        row("E11", SOMEWHERE, Holds, |m| paper(m).with_doubtful_l1()),
        // One level in one order is enough.
        row("E11", SOMEWHERE, Holds, |m| spread(m, NONE, [1.0, 1.0, 1.1, 1.0])),
        row("E11", SOMEWHERE, DoesNotHold, |m| spread(m, [1.5, 1.0, 1.0, 1.0], NONE)),
        row("E11", SOMEWHERE, Inconclusive, |m| spread(m, [1.0, 1.03, 1.0, 1.0], NONE)),
        row("E11", SOMEWHERE, Untestable, |m| {
            let beyond = m.ranges.l2.lo;
            paper(m).without(|_, x| x >= beyond)
        })
        .says("no working set beyond L1d"),
        // The rise in memory is not seen.
        row("E11", SOMEWHERE, Untestable, |m| spread(&little(m), NONE, NONE))
            .says("is not in the range"),
        row("E11", SOMEWHERE, Holds, |m| spread(&little(m), NONE, [1.0, 1.1, 1.0, 1.0])),
        row("E11", NOWHERE, Untestable, |m| paper(&little(m))).says("is not in the range"),
        row("E11", NOWHERE, Holds, paper),
        row("E11", NOWHERE, DoesNotHold, |m| spread(m, [1.0, 1.2, 1.2, 0.5], [1.0, 1.3, 1.2, 1.1]))
            .says("smallest ratio of two lines over one: 0.50"),
        row("E11", NOWHERE, Inconclusive, |m| spread(m, [1.0, 1.2, 1.2, 0.97], NONE)),
        row("E11", NOWHERE, Untestable, |m| {
            paper(m).without(|series, _| series == "random, 2 lines, first and last")
        })
        .says("no point of `random, 2 lines, first and last`"),
        row("E11", RANDOM, Holds, paper),
        row("E11", RANDOM, Holds, |m| paper(m).with_doubtful_l1()),
        row("E11", RANDOM, DoesNotHold, |m| spread(m, NONE, [1.0, 1.0, 1.0, 0.9]))
            .says("two lines over one in L2, random, 2 lines: 1.00"),
        row("E11", RANDOM, DoesNotHold, |m| spread(m, NONE, [1.0, 1.1, 1.1, 1.3]))
            .says("and over that in memory, random, 4 lines: 0.8"),
        row("E11", RANDOM, Inconclusive, |m| spread(m, NONE, [1.0, 1.1, 1.1, 1.1])),
        row("E11", RANDOM, Untestable, |m| {
            let memory = m.ranges.memory;
            paper(m).without(|_, x| memory.holds(x))
        }),
    ]
}
