//! Inclusive and exclusive caches.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::planted::{Planted, Row, Value, row};

const INCLUSIVE: &str = ".1";
const STATED: &str = ".2";

/// How often a line is lost in each repetition, and what CPUID says of the last level.
fn planted(machine: &Machine, lost: [f64; 5], stated: Option<bool>) -> Planted {
    let mut machine = machine.clone();
    if let Some(last) = machine.caches.iter_mut().max_by_key(|cache| cache.level) {
        last.inclusive = stated;
    }
    Planted::new("D5", &machine, |series, repeat| match series {
        "times a hot line is lost" => Value::Counted(lost[repeat as usize - 1]),
        _ => Value::Counted(0.1),
    })
}

const OFTEN: [f64; 5] = [3.9, 9.0, 4.0, 5.5, 0.1];
const NEVER: [f64; 5] = [0.0, 0.1, 7.0, 0.6, 0.2];
const SOMETIMES: [f64; 5] = [0.4, 1.0, 3.0, 5.0, 4.0];

pub fn rows() -> Vec<Row> {
    vec![
        row("D5", INCLUSIVE, Holds, |m| planted(m, OFTEN, None)).says("[3.80, 5.40]"),
        row("D5", INCLUSIVE, DoesNotHold, |m| planted(m, NEVER, None)),
        row("D5", INCLUSIVE, Inconclusive, |m| {
            planted(m, SOMETIMES, None)
        }),
        row("D5", INCLUSIVE, Untestable, |m| {
            planted(m, OFTEN, None).without(|series, _| series != "times a hot line is lost")
        }),
        row("D5", INCLUSIVE, Untestable, |m| {
            planted(m, OFTEN, None).without(|_, repeat| repeat > 3.0)
        })
        .says("too seldom"),
        row("D5", STATED, Holds, |m| planted(m, OFTEN, Some(true))).says("CPUID says inclusive"),
        row("D5", STATED, Holds, |m| planted(m, NEVER, Some(false)))
            .says("CPUID says not inclusive"),
        row("D5", STATED, DoesNotHold, |m| planted(m, NEVER, Some(true))),
        row("D5", STATED, DoesNotHold, |m| {
            planted(m, OFTEN, Some(false))
        }),
        row("D5", STATED, Inconclusive, |m| {
            planted(m, SOMETIMES, Some(false))
        }),
        row("D5", STATED, Untestable, |m| planted(m, OFTEN, None)).says("CPUID does not say"),
    ]
}
