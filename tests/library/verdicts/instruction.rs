//! Figures 7.1 to 7.3: misses and cycles per instruction.

use linefill::counters::Quantity;
use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};
use linefill::stats::Interval;

use super::Exact;
use super::machines::with_memory;
use super::planted::{Planted, Row, Value, row, time};

const ONCE_IN_32: &str = ".1";
const L2: &str = ".2";
const FIRST: &str = ".3";
const MORE_OFTEN: &str = ".4";
const TLB: &str = ".5";
const COUNTED: &str = ".6";
const CYCLES: &str = ".7";

pub const EXACT: &[Exact] =
    &[("F3", ONCE_IN_32), ("F3", L2), ("F3", FIRST), ("F3", MORE_OFTEN), ("F3", TLB)];

/// Simulated percentages of instructions, with one wrong value in one series at one power of two.
fn simulated(machine: &Machine, wrong: (&'static str, i32, f64)) -> Planted {
    Planted::new("F3", machine, move |series, x| {
        let power = x.log2() as i32;
        let Some((order, what)) = series.split_once(": ") else {
            return time(if x < 65536.0 { 4.0 } else { 400.0 });
        };
        let random = order == "at random";
        Value::Counted(match what {
            _ if (series, power) == (wrong.0, wrong.1) => wrong.2,
            "L1d misses" if power < 16 => 0.0,
            "L1d misses" if random => 22.0,
            "L1d misses" => 3.125,
            "TLB misses" if power < 21 || !random => 0.0,
            "TLB misses" => 12.5,
            "L2 misses" if power > 21 => 0.05,
            "L2 misses and prefetches" if power > 21 => 3.1,
            _ => 0.0,
        })
    })
}

fn sound(machine: &Machine) -> Planted {
    simulated(machine, ("", 0, 0.0))
}

/// Counts per step: four instructions, and these misses of L1d, in order and at random.
fn counted(machine: &Machine, misses: [f64; 2], doubt: f64) -> Planted {
    sound(machine).counting(move |series, _, quantity| {
        let value = match quantity {
            Quantity::Instructions => 4.0,
            _ => misses[usize::from(series == "at random")],
        };
        Some(Interval::exact(value).widened(doubt))
    })
}

/// Cycles per random step in L1d and in memory, with four instructions per step.
fn cycles(machine: &Machine, near: f64, far: f64) -> Planted {
    let l1 = machine.ranges.l1;
    let planted = Planted::new("F3", machine, |_, x| time(if l1.holds(x) { near } else { far }));
    planted.counting(|_, _, _| Some(Interval::exact(4.0)))
}

fn no_pmu(machine: &Machine) -> Planted {
    sound(machine).counting_nothing("the kernel sees no PMU on this CPU")
}

fn small(machine: &Machine) -> Machine {
    with_memory(machine, 1 << 20)
}

pub fn rows() -> Vec<Row> {
    let mut rows = vec![
        row("F3", COUNTED, Holds, |m| counted(m, [0.125, 1.0], 0.0)),
        row("F3", COUNTED, DoesNotHold, |m| counted(m, [0.5, 1.0], 0.0))
            .says("at random over in order: 2.0"),
        row("F3", COUNTED, Inconclusive, |m| counted(m, [1.0 / 3.0, 1.0], 0.1)),
        row("F3", COUNTED, Untestable, no_pmu).says("no PMU"),
        row("F3", CYCLES, Holds, |m| cycles(m, 4.0, 400.0)),
        row("F3", CYCLES, DoesNotHold, |m| cycles(m, 40.0, 360.0)).says("memory over L1d: 9.0"),
        row("F3", CYCLES, Inconclusive, |m| cycles(m, 4.0, 40.0)),
        row("F3", CYCLES, Untestable, no_pmu).says("instructions: the kernel sees no PMU"),
        row("F3", CYCLES, Untestable, |m| cycles(m, 4.0, 40.0).without(|_, x| x < 65536.0))
            .says("no list was walked in the range"),
        row("F3", CYCLES, Untestable, |m| {
            let machine = small(m);
            cycles(&machine, 4.0, 40.0)
        })
        .says("that of memory"),
    ];
    macro_rules! simulations {
        ($($claim:ident, $series:literal, $power:literal => $wrong:literal;)*) => {
            $(
                rows.push(row("F3", $claim, Holds, sound));
                rows.push(row("F3", $claim, DoesNotHold, |m| {
                    simulated(m, ($series, $power, $wrong))
                }));
                rows.push(row("F3", $claim, Untestable, |m| {
                    sound(m).without(|series, _| series == $series)
                }));
            )*
        };
    }
    simulations![
        ONCE_IN_32, "in order: L1d misses", 20 => 25.0;
        L2, "at random: L2 misses and prefetches", 21 => 0.2;
        L2, "in order: L2 misses and prefetches", 23 => 0.5;
        FIRST, "in order: L2 misses", 23 => 2.0;
        MORE_OFTEN, "at random: L1d misses", 18 => 6.0;
        TLB, "at random: TLB misses", 21 => 3.0;
        TLB, "at random: TLB misses", 20 => 3.0;
    ];
    rows.push(
        row("F3", FIRST, Untestable, |m| {
            simulated(m, ("in order: L2 misses and prefetches", 23, 0.0))
        })
        .says("L2 fetched no lines"),
    );
    rows
}
