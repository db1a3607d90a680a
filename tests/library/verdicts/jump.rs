//! Sestoft's appendix A.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::machines::with_memory;
use super::planted::{Planted, Row, Value, by_level, noisy, row, time};

const FLAT: &str = ".1";
const JUMPS: &str = ".2";
const SPAN: &str = ".3";
const NEVER: &str = ".4";
const CHECKED: &str = ".5";
const EXAMPLE: &str = ".1";
const CYCLE: &str = ".1";
const FUNCTION: &str = ".2";
const PERMUTATION: &str = ".3";
const ORDER: &str = ".4";

const LEVELS: [f64; 4] = [1.5, 5.0, 25.0, 95.0];

/// Nanoseconds per jump, level by level, and with a check of the index.
fn jumps(machine: &Machine, levels: [f64; 4], checked: [f64; 4]) -> Planted {
    Planted::new("B12", machine, |series, x| {
        let time_of = by_level(machine, x, levels);
        time(match series {
            "k = a[k]" => time_of,
            _ => time_of * by_level(machine, x, checked),
        })
    })
}

/// The same, with `first` as the value at the first size (8 KiB).
fn first(machine: &Machine, first: Value) -> Planted {
    Planted::new("B12", machine, |_, x| {
        if x == 8192.0 { first } else { time(by_level(machine, x, LEVELS)) }
    })
}

/// Fills in memory: sequential, with a stride of 17, and as one random cycle; and the counts.
fn fills(machine: &Machine, times: [f64; 3], mean: f64, share: f64) -> Planted {
    Planted::new("B14", machine, |series, x| match series {
        "1: sequential" => time(times[0]),
        "2: stride of 17" => time(times[1]),
        "3: random function" => time(5.0),
        "5: one random cycle" => time(times[2]),
        "3: mean cycle length" => Value::Counted(mean),
        "4: share of cycles of 0.9 S and more" => Value::Counted(share),
        _ => Value::Counted(x),
    })
}

/// sqrt(pi S / 8) for S = 10,000.
const MEAN: f64 = 62.666;

fn sound(machine: &Machine) -> Planted {
    fills(machine, [1.0, 5.0, 95.0], MEAN, 0.1)
}

/// Claims judged on counts alone.
pub const EXACT: &[super::Exact] = &[("B13", ".1"), ("B14", ".1"), ("B14", ".2"), ("B14", ".3")];

pub fn rows() -> Vec<Row> {
    let mut rows = table();
    rows.extend([
        row("B13", EXAMPLE, Holds, |m| Planted::new("B13", m, |_, _| Value::Counted(8.0))),
        row("B13", EXAMPLE, DoesNotHold, |m| Planted::new("B13", m, |_, _| Value::Counted(7.0))),
        row("B13", EXAMPLE, Untestable, |m| Planted::new("B13", m, |_, _| Value::Missing))
            .says("was not measured at 8"),
    ]);
    rows.extend(pitfalls());
    rows
}

fn table() -> Vec<Row> {
    vec![
        row("B12", FLAT, Holds, |m| jumps(m, LEVELS, [1.0; 4])),
        row("B12", FLAT, DoesNotHold, |m| first(m, time(2.0))),
        row("B12", FLAT, Inconclusive, |m| first(m, noisy(1.5, 0.3))),
        row("B12", FLAT, Untestable, |m| {
            // A single size is always flat, which proves nothing.
            let l1 = m.ranges.l1;
            first(m, time(1.5)).without(|_, x| l1.holds(x) && x > 8192.0)
        })
        .says("a comparison needs two points of `k = a[k]`"),
        row("B12", JUMPS, Holds, |m| jumps(m, LEVELS, [1.0; 4])),
        row("B12", JUMPS, DoesNotHold, |m| jumps(m, [1.5, 5.0, 5.5, 95.0], [1.0; 4]))
            .says("last level over L2: 1.10"),
        row("B12", JUMPS, Inconclusive, |m| jumps(m, [1.5, 5.0, 6.5, 95.0], [1.0; 4])),
        row("B12", JUMPS, Untestable, |m| {
            let llc = m.ranges.llc;
            jumps(m, LEVELS, [1.0; 4]).without(|_, x| llc.holds(x))
        }),
        row("B12", SPAN, Holds, |m| jumps(m, LEVELS, [1.0; 4])),
        row("B12", SPAN, DoesNotHold, |m| jumps(m, [1.5, 5.0, 10.0, 20.0], [1.0; 4])),
        row("B12", SPAN, Inconclusive, |m| jumps(m, [1.5, 5.0, 10.0, 30.0], [1.0; 4])),
        row("B12", SPAN, Untestable, |m| {
            Planted::new("B12", m, |_, _| Value::Untestable("refused"))
        })
        .says("refused"),
        // The largest array lies in the last level.
        row("B12", SPAN, Untestable, |m| jumps(&with_memory(m, 16 << 20), LEVELS, [1.0; 4]))
            .says("is not in the range"),
        row("B12", NEVER, Holds, |m| jumps(m, LEVELS, [1.0; 4])),
        row("B12", NEVER, DoesNotHold, |m| first(m, time(2.0)))
            .says("KiB over the size before it: 0.75"),
        // One pair is certainly below the others and above 0.95; another pair may be below 0.95.
        row("B12", NEVER, Inconclusive, |m| {
            Planted::new("B12", m, |_, x| match x {
                8192.0 => noisy(1.5, 0.0),
                16384.0 => noisy(1.5 * 0.96, 0.0),
                65536.0 => noisy(1.5 * 0.98, 0.1),
                _ => noisy(1.5, 0.0),
            })
        }),
        row("B12", NEVER, Untestable, |m| first(m, time(1.5)).without(|_, x| x > 8192.0))
            .says("only one size"),
        row("B12", CHECKED, Holds, |m| jumps(m, LEVELS, [1.0; 4])),
        row("B12", CHECKED, DoesNotHold, |m| jumps(m, LEVELS, [1.25, 1.0, 1.0, 1.0]))
            .says("checked over not, L1d: 1.25"),
        row("B12", CHECKED, Inconclusive, |m| jumps(m, LEVELS, [1.0, 1.0, 1.0, 1.1])),
        row("B12", CHECKED, Untestable, |m| {
            jumps(m, LEVELS, [1.0; 4]).without(|series, _| series != "k = a[k]")
        })
        .says("no point of `k = a[k], index checked` was measured"),
    ]
}

fn pitfalls() -> Vec<Row> {
    vec![
        row("B14", CYCLE, Holds, sound),
        row("B14", CYCLE, DoesNotHold, |m| {
            Planted::new("B14", m, |series, x| match series {
                "5: cycle length" if x == 1000.0 => Value::Counted(999.0),
                "5: cycle length" => Value::Counted(x),
                _ => time(1.0),
            })
        })
        .says("cycle of 1000: 999"),
        row("B14", CYCLE, Untestable, |m| sound(m).without(|_, x| x == 65_536.0)),
        row("B14", FUNCTION, Holds, sound),
        row("B14", FUNCTION, DoesNotHold, |m| fills(m, [1.0, 5.0, 95.0], MEAN * 1.2, 0.1)),
        row("B14", FUNCTION, DoesNotHold, |m| fills(m, [1.0, 5.0, 95.0], MEAN * 0.8, 0.1)),
        row("B14", FUNCTION, Untestable, |m| {
            sound(m).without(|series, _| series == "3: mean cycle length")
        }),
        row("B14", PERMUTATION, Holds, sound),
        row("B14", PERMUTATION, DoesNotHold, |m| fills(m, [1.0, 5.0, 95.0], MEAN, 1.0)),
        row("B14", PERMUTATION, Untestable, |m| {
            Planted::new("B14", m, |_, _| Value::Untestable("no memory"))
        })
        .says("no memory"),
        row("B14", ORDER, Holds, sound),
        row("B14", ORDER, DoesNotHold, |m| fills(m, [5.0, 1.0, 95.0], MEAN, 0.1))
            .says("stride over sequential: 0.20"),
        row("B14", ORDER, DoesNotHold, |m| fills(m, [1.0, 50.0, 95.0], MEAN, 0.1))
            .says("random cycle over stride: 1.90"),
        row("B14", ORDER, Inconclusive, |m| fills(m, [5.0, 4.75, 95.0], MEAN, 0.1)),
        row("B14", ORDER, Untestable, |m| {
            sound(m).without(|series, _| series == "2: stride of 17")
        })
        .says("`2: stride of 17` was not measured at"),
        row("B14", ORDER, Untestable, |m| sound(&with_memory(m, 16 << 20)))
            .says("is not in the range"),
    ]
}
