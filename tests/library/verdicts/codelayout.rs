//! Inlining, and the order of blocks.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::Exact;
use super::planted::{Planted, Row, Value, row, time};

pub const EXACT: &[Exact] = &[("E21", ".1"), ("E22", COMPILED)];

const SIZE: &str = ".1";
const SMALL: &str = ".2";
const LARGE: &str = ".3";
const FITS: &str = ".1";
const ALONE: &str = ".2";
const COMPILED: &str = ".3";

/// Calls cost `small` times as much as inlined code while all code fits into L1i. Inlined code costs `large`
/// times as much as calls once it exceeds L1i. `bytes` bytes are saved for two functions and a candidate.
fn inlining(machine: &Machine, small: f64, large: f64, bytes: f64) -> Planted {
    Planted::new("E21", machine, |series, x| {
        let functions = x / 577.0;
        let out = x > 40_000.0;
        match series {
            "bytes of two functions, inlined" => Value::Counted(1154.0),
            "bytes of two functions and one candidate, called" => Value::Counted(1154.0 - bytes),
            "inlined" if out => time(functions * 15.0 * small * large),
            "inlined" => time(functions * 15.0),
            _ => time(functions * 15.0 * small),
        }
    })
}

/// Blocks take these times as long with cold code between them as without: if all code fits into L1i, and if
/// only the hot code does.
fn blocks(machine: &Machine, both: f64, alone: f64) -> Planted {
    Planted::new("E22", machine, |series, x| {
        let factor = match series {
            "cold code moved away" => 1.0,
            _ if x > 40_000.0 => alone,
            _ => both,
        };
        time(x / 137.0 * factor)
    })
}

/// How many blocks gcc puts behind the return: with the hint at -O2 and at -Os, and without it.
fn compiled(machine: &Machine, behind: [f64; 3]) -> Planted {
    Planted::new("E22", machine, |series, x| match series {
        "unlikely blocks behind the return, gcc -O2" => Value::Counted(behind[0]),
        "unlikely blocks behind the return, gcc -Os" => Value::Counted(behind[1]),
        "blocks behind the return, gcc -O2" => Value::Counted(behind[2]),
        _ => time(x / 137.0),
    })
}

pub fn rows() -> Vec<Row> {
    vec![
        row("E21", SIZE, Holds, |m| inlining(m, 1.3, 1.8, 501.0)),
        row("E21", SIZE, DoesNotHold, |m| inlining(m, 1.3, 1.8, 300.0)).says("300 bytes more"),
        row("E21", SIZE, Untestable, |m| {
            inlining(m, 1.3, 1.8, 501.0).without(|series, _| series.starts_with("bytes"))
        }),
        row("E21", SMALL, Holds, |m| inlining(m, 1.3, 1.8, 501.0)),
        row("E21", SMALL, DoesNotHold, |m| inlining(m, 1.0, 1.8, 501.0)),
        row("E21", SMALL, Inconclusive, |m| inlining(m, 1.05, 1.8, 501.0)),
        row("E21", SMALL, Untestable, |m| {
            inlining(m, 1.3, 1.8, 501.0).without(|_, x| x < 10_000.0)
        }),
        row("E21", LARGE, Holds, |m| inlining(m, 1.3, 1.8, 501.0)),
        row("E21", LARGE, DoesNotHold, |m| inlining(m, 1.3, 0.9, 501.0)),
        row("E21", LARGE, Inconclusive, |m| inlining(m, 1.3, 1.05, 501.0)),
        row("E21", LARGE, Untestable, |m| {
            inlining(m, 1.3, 1.8, 501.0).without(|series, _| series == "called")
        })
        .says("no point of `called`"),
        row("E22", FITS, Holds, |m| blocks(m, 2.0, 4.0)),
        row("E22", FITS, DoesNotHold, |m| blocks(m, 1.0, 4.0)),
        row("E22", FITS, Inconclusive, |m| blocks(m, 1.1, 4.0)),
        row("E22", FITS, Untestable, |m| {
            let mut planted = blocks(m, 2.0, 4.0);
            planted.machine.caches.clear();
            planted
        })
        .says("CPUID reports no instruction cache"),
        row("E22", ALONE, Holds, |m| blocks(m, 2.0, 4.0)),
        row("E22", ALONE, DoesNotHold, |m| blocks(m, 2.0, 2.0)),
        row("E22", ALONE, Inconclusive, |m| blocks(m, 2.0, 2.4)),
        row("E22", ALONE, Untestable, |m| blocks(m, 2.0, 4.0).without(|_, x| x > 40_000.0)),
        row("E22", COMPILED, Holds, |m| compiled(m, [1.0, 0.0, 0.0])),
        row("E22", COMPILED, DoesNotHold, |m| compiled(m, [0.0, 0.0, 0.0]))
            .says("behind the return at -O2: 0"),
        row("E22", COMPILED, DoesNotHold, |m| compiled(m, [1.0, 1.0, 0.0])).says("at -Os: 1"),
        row("E22", COMPILED, Untestable, |m| {
            Planted::new("E22", m, |series, _| match series.contains("gcc") {
                true => Value::Untestable("gcc: No such file or directory"),
                false => time(10.0),
            })
        })
        .says("gcc: No such file"),
    ]
}
