//! Startin's shuffles: A1, A2, A8.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};
use linefill::stats::Interval;

use super::machines::with_memory;
use super::planted::{Planted, Row, Value, noisy, row, time};

const COLUMNS: &str = ".1";
const DRAWING: &str = ".2";
const CALLED: &str = ".3";
const LONGER: &str = ".1";
const STAGES: &str = ".2";
const EACH: &str = ".3";
const SMALL: &str = ".1";

const LOOKED_UP: &str = "shuffle, index looked up";
const DRAWN: &str = "shuffle, index drawn";
const BUFFERED: &str = "shuffleBuffered, index drawn";
const DRAWN_CALLED: &str = "shuffle, index drawn in a call";

/// A1: nanoseconds per exchange with indices that are drawn, looked up, and drawn in a call; and the factor
/// of the last column.
fn shuffle(machine: &Machine, drawn: Value, called: f64, last: f64) -> Planted {
    Planted::new("A1", machine, |series, x| match series {
        LOOKED_UP if x == 64.0 => time(10.0 * last),
        LOOKED_UP => time(10.0),
        DRAWN => drawn,
        DRAWN_CALLED => time(called),
        _ => time(15.0),
    })
}

fn usual(machine: &Machine) -> Planted {
    shuffle(machine, time(27.0), 31.0, 1.0)
}

/// A2: the simple shuffle, and stages of 8, 16, 32, and 64 or more.
fn staged(machine: &Machine, simple: f64, stages: [f64; 4]) -> Planted {
    Planted::new("A2", machine, |series, x| match series {
        BUFFERED => time(stages[((x / 8.0).log2() as usize).min(3)]),
        _ => time(simple),
    })
}

fn rising(machine: &Machine) -> Planted {
    staged(machine, 27.0, [30.0, 20.0, 17.0, 15.0])
}

/// A8: the simple shuffle, and the shuffle in stages.
fn small(machine: &Machine, staged: f64) -> Planted {
    Planted::new("A8", machine, |series, _| match series {
        BUFFERED => time(staged),
        _ => time(3.0),
    })
}

pub fn rows() -> Vec<Row> {
    vec![
        row("A1", COLUMNS, Holds, usual),
        row("A1", COLUMNS, DoesNotHold, |m| shuffle(m, time(27.0), 31.0, 1.3))
            .says("looked up: 1.3"),
        row("A1", COLUMNS, Inconclusive, |m| shuffle(m, noisy(27.0, 0.1), 31.0, 1.0)),
        row("A1", COLUMNS, Untestable, |m| {
            usual(m).without(|series, x| series == DRAWN && x == 32.0)
        })
        .says("was not measured at 32"),
        row("A1", DRAWING, Holds, usual),
        row("A1", DRAWING, DoesNotHold, |m| shuffle(m, time(11.0), 31.0, 1.0)).says("1.10"),
        row("A1", DRAWING, Inconclusive, |m| shuffle(m, time(12.0), 31.0, 1.0)),
        row("A1", DRAWING, Untestable, |m| usual(m).on(with_memory(m, 8 << 20)))
            .says("is not in the range"),
        row("A1", CALLED, Holds, usual),
        row("A1", CALLED, DoesNotHold, |m| shuffle(m, time(27.0), 16.0, 1.0)),
        row("A1", CALLED, Inconclusive, |m| shuffle(m, time(27.0), 18.0, 1.0)),
        row("A1", CALLED, Untestable, |m| usual(m).without(|series, _| series == DRAWN_CALLED)),
        row("A2", LONGER, Holds, rising),
        // Stages between may take longer.
        row("A2", LONGER, Holds, |m| staged(m, 27.0, [20.0, 21.0, 17.0, 15.0])),
        // A flat curve does not rise.
        row("A2", LONGER, DoesNotHold, |m| staged(m, 27.0, [20.0, 20.0, 20.0, 20.0]))
            .says("stages of 64 over 8: 1.00"),
        row("A2", LONGER, Inconclusive, |m| staged(m, 27.0, [20.0, 19.0, 18.5, 18.0])),
        row("A2", LONGER, Untestable, |m| {
            rising(m).without(|series, x| series == BUFFERED && x == 8.0)
        }),
        row("A2", STAGES, Holds, rising),
        row("A2", STAGES, DoesNotHold, |m| staged(m, 16.0, [30.0, 20.0, 17.0, 15.0])),
        row("A2", STAGES, Inconclusive, |m| staged(m, 18.0, [30.0, 20.0, 17.0, 15.0])),
        row("A2", STAGES, Untestable, |m| rising(m).on(with_memory(m, 8 << 20))),
        row("A2", EACH, Holds, rising),
        // Allowed is 3 %.
        row("A2", EACH, Holds, |m| staged(m, 27.0, [20.0, 20.2, 20.2, 20.0])),
        row("A2", EACH, DoesNotHold, |m| staged(m, 27.0, [20.0, 21.5, 17.0, 15.0]))
            .says("stages of 16 over 8: 1.07"),
        row("A2", EACH, DoesNotHold, |m| staged(m, 27.0, [20.0, 18.0, 15.0, 16.0]))
            .says("stages of 64 over 32: 1.07"),
        row("A2", EACH, Inconclusive, |m| staged(m, 27.0, [20.0, 20.6, 17.0, 15.0])),
        row("A2", EACH, Untestable, |m| {
            rising(m).without(|series, x| series == BUFFERED && x == 32.0)
        }),
        row("A2", EACH, Untestable, |m| rising(m).on(with_memory(m, 8 << 20))),
        row("A8", SMALL, Holds, |m| small(m, 3.1)),
        row("A8", SMALL, DoesNotHold, |m| small(m, 4.0)).says("131072 integers: 1.33"),
        row("A8", SMALL, DoesNotHold, |m| small(m, 2.0)),
        row("A8", SMALL, Inconclusive, |m| {
            Planted::new("A8", m, |series, _| match series {
                BUFFERED => Value::Timed(Interval::new(3.0, 3.5)),
                _ => time(3.0),
            })
        }),
        row("A8", SMALL, Untestable, |m| small(m, 3.0).without(|series, _| series == BUFFERED)),
        row("A8", SMALL, Untestable, |m| {
            let mut tiny = m.clone();
            tiny.ranges.llc.hi = 200_000.0;
            tiny.ranges.l2.hi = 100_000.0;
            small(m, 3.0).on(tiny)
        })
        .says("half of every cache"),
    ]
}
