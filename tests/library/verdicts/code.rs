//! Instruction fetch: footprints, branches and loops.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::planted::{Planted, Row, Value, noisy, row, time};

const DECODED: &str = ".1";
const HELD: &str = ".2";
const L1I: &str = ".3";
const L2: &str = ".4";
const BEYOND: &str = ".5";
const FEW: &str = ".1";
const MANY: &str = ".2";
const LOOP: &str = ".1";

const PUBLISHED: &str = "published micro-operations of the decoded cache";

/// A CPU with a decoded cache of `held` 3-byte instructions and an L1i of `l1i` KiB. `steps` are the
/// additional times per instruction beyond the decoded cache, L1i and L2.
fn footprint(machine: &Machine, held: f64, l1i: f64, steps: [f64; 3]) -> Planted {
    Planted::new("D33", machine, |series, x| {
        if series == PUBLISHED {
            return Value::Counted(6000.0);
        }
        let bytes = if series.contains("8 bytes") { 8.0 } else { 3.0 };
        let mut cost = 0.2;
        if series.contains("mov, 3") && x / bytes > held {
            cost *= steps[0];
        }
        if x > l1i * 1024.0 {
            cost *= steps[1];
        }
        if x > f64::from(1 << 20) * 1.5 {
            cost *= steps[2];
        }
        time(cost)
    })
}

fn branches(machine: &Machine, few: f64, many: f64) -> Planted {
    Planted::new("E20", machine, |_, x| time(if x > 10_000.0 { many } else { few }))
}

fn loops(machine: &Machine, longer: f64) -> Planted {
    Planted::new("E23", machine, |_, x| time(if x > 20.0 { 0.2 * longer } else { 0.2 }))
}

pub fn rows() -> Vec<Row> {
    let mut rows = footprints();
    rows.extend([
        row("E20", FEW, Holds, |m| branches(m, 1.0, 10.0)),
        row("E20", FEW, DoesNotHold, |m| branches(m, 3.0, 10.0)),
        row("E20", FEW, Inconclusive, |m| branches(m, 2.1, 10.0)),
        row("E20", FEW, Untestable, |m| branches(m, 1.0, 10.0).without(|_, x| x == 64.0)),
        row("E20", MANY, Holds, |m| branches(m, 1.0, 10.0))
            .says("between 8192 and 16384 jumps run at full speed"),
        row("E20", MANY, DoesNotHold, |m| branches(m, 1.0, 1.5))
            .says("at least 32768 jumps run at full speed"),
        row("E20", MANY, Inconclusive, |m| branches(m, 1.0, 2.0)),
        row("E20", MANY, Untestable, |m| branches(m, 1.0, 10.0).without(|_, x| x == 32768.0)),
        row("E23", LOOP, Holds, |m| loops(m, 1.3)).says("18 instructions over 40: 0.77"),
        row("E23", LOOP, DoesNotHold, |m| loops(m, 1.0)),
        row("E23", LOOP, Inconclusive, |m| loops(m, 1.0 / 0.9)),
        row("E23", LOOP, Untestable, |m| loops(m, 1.3).without(|_, x| x == 18.0)),
    ]);
    rows
}

fn footprints() -> Vec<Row> {
    vec![
        row("D33", DECODED, Holds, |m| footprint(m, 5000.0, 32.0, [1.5, 2.0, 2.0]))
            .says("mov, 3 bytes"),
        row("D33", DECODED, DoesNotHold, |m| footprint(m, 5000.0, 32.0, [1.0, 2.0, 2.0])),
        row("D33", DECODED, Inconclusive, |m| footprint(m, 3000.0, 32.0, [1.2, 2.0, 2.0])),
        // Precise times of one kind of code do not decide about another, imprecise kind.
        row("D33", DECODED, Inconclusive, |m| {
            Planted::new("D33", m, |series, x| match series {
                PUBLISHED => Value::Counted(6000.0),
                "nop, 8 bytes" if x > 10_000.0 => noisy(0.25, 0.2),
                "mov, 3 bytes" if x > 10_000.0 => time(0.22),
                _ => time(0.2),
            })
        }),
        row("D33", DECODED, Untestable, |m| {
            footprint(m, 5000.0, 32.0, [1.5, 2.0, 2.0]).without(|_, x| x == 2048.0)
        }),
        row("D33", HELD, Holds, |m| footprint(m, 6000.0, 32.0, [1.5, 2.0, 2.0])),
        row("D33", HELD, DoesNotHold, |m| footprint(m, 4000.0, 32.0, [1.5, 2.0, 2.0])),
        // The step is lost in the noise of many points.
        row("D33", HELD, Inconclusive, |m| {
            let mut planted = footprint(m, 6000.0, 32.0, [1.5, 2.0, 2.0]);
            let noise = Planted::new("D33", m, |series, x| match series {
                PUBLISHED => Value::Counted(6000.0),
                "mov, 3 bytes" if x > 12_000.0 && x < 22_000.0 => noisy(0.24, 0.2),
                "mov, 3 bytes" if x > 22_000.0 => time(0.3),
                _ => time(0.2),
            });
            planted.points = noise.points;
            planted
        }),
        row("D33", HELD, Untestable, |m| {
            Planted::new("D33", m, |series, _| match series {
                PUBLISHED => Value::Untestable("no figure is published"),
                _ => time(0.2),
            })
        })
        .says("no figure is published"),
        row("D33", HELD, Untestable, |m| footprint(m, 1e9, 32.0, [1.0, 1.0, 1.0]))
            .says("no footprint of `mov, 3 bytes` took 1.2 times"),
        row("D33", L1I, Holds, |m| footprint(m, 5000.0, 32.0, [1.5, 2.0, 2.0])),
        // A decoded cache of 1024 operations ends with a smaller step inside L1i.
        row("D33", L1I, Holds, |m| {
            Planted::new("D33", m, |series, x| match series {
                PUBLISHED => Value::Counted(1024.0),
                _ if x <= 8_192.0 => time(0.17),
                _ if x <= 32_768.0 => time(0.24),
                _ if x <= 1_572_864.0 => time(0.63),
                _ => time(3.0),
            })
        })
        .says("between 32 and 4"),
        row("D33", L1I, DoesNotHold, |m| footprint(m, 5000.0, 150.0, [1.5, 2.0, 2.0])),
        row("D33", L1I, Inconclusive, |m| {
            footprint(m, 5000.0, 32.0, [1.5, 2.0, 2.0]).without(|_, x| x > 17_000.0 && x < 60_000.0)
        }),
        row("D33", L1I, Untestable, |m| footprint(m, 5000.0, 1e9, [1.5, 1.0, 1.0]))
            .says("no footprint of `nop, 8 bytes` took 1.2 times"),
        row("D33", L2, Holds, |m| footprint(m, 5000.0, 32.0, [1.5, 2.0, 2.0])),
        row("D33", L2, DoesNotHold, |m| footprint(m, 5000.0, 32.0, [1.5, 1.0, 2.0])),
        row("D33", L2, Inconclusive, |m| footprint(m, 5000.0, 32.0, [1.5, 1.2, 2.0])),
        row("D33", L2, Untestable, |m| {
            footprint(m, 5000.0, 32.0, [1.5, 2.0, 2.0]).without(|_, x| x > 6e4)
        }),
        row("D33", BEYOND, Holds, |m| footprint(m, 5000.0, 32.0, [1.5, 2.0, 2.0])),
        row("D33", BEYOND, DoesNotHold, |m| footprint(m, 5000.0, 32.0, [1.5, 2.0, 1.0])),
        row("D33", BEYOND, Inconclusive, |m| footprint(m, 5000.0, 32.0, [1.5, 2.0, 1.2])),
        row("D33", BEYOND, Untestable, |m| {
            footprint(m, 5000.0, 32.0, [1.5, 2.0, 2.0]).without(|_, x| x > 1e6)
        }),
    ]
}
