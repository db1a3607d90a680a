//! One page at two addresses, and self-modifying code.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};
use linefill::stats::Interval;

use super::planted::{Planted, Row, Value, row, time};

const TWO: &str = ".1";
const PATCH: &str = ".1";
const LINE: &str = ".2";
const ACROSS: &str = ".3";
const COUNTED: &str = ".4";

fn views(machine: &Machine, two: f64) -> Planted {
    Planted::new("D32", machine, |series, _| {
        time(if series.contains("two") { 4.0 * two } else { 4.0 })
    })
}

/// Core cycles per store: to code, to the code's line, and to data elsewhere.
fn patches(machine: &Machine, code: f64, line: f64) -> Planted {
    Planted::new("D34", machine, |series, _| {
        time(match series {
            "its own code" => code,
            "data in its line" => line,
            _ => 5.0,
        })
    })
}

/// Events of self-modifying code per store and call: of a store to code, and of a store to data elsewhere.
fn cleared(machine: &Machine, code: Interval, data: f64) -> Planted {
    patches(machine, 200.0, 200.0).counting(move |series, _, _| match series {
        "its own code" => Some(code),
        _ => Some(Interval::exact(data)),
    })
}

/// A number from another core, which takes `slower` times as long through code as through data.
fn across(machine: &Machine, slower: f64) -> Planted {
    Planted::new("D34", machine, |series, _| {
        time(match series {
            "another core, into code" => 400.0 * slower,
            "another core, into data" => 400.0,
            _ => 5.0,
        })
    })
}

fn refused(id: &str, machine: &Machine) -> Planted {
    Planted::new(id, machine, |_, _| Value::Untestable("mmap refused executable memory"))
}

pub fn rows() -> Vec<Row> {
    vec![
        row("D32", TWO, Holds, |m| views(m, 4.0)),
        row("D32", TWO, DoesNotHold, |m| views(m, 1.0)),
        row("D32", TWO, Inconclusive, |m| views(m, 1.1)),
        row("D32", TWO, Untestable, |m| refused("D32", m)).says("refused"),
        row("D34", PATCH, Holds, |m| patches(m, 200.0, 200.0)),
        row("D34", PATCH, DoesNotHold, |m| patches(m, 80.0, 80.0)).says("16.0"),
        row("D34", PATCH, Inconclusive, |m| patches(m, 100.0, 80.0)),
        row("D34", PATCH, Untestable, |m| refused("D34", m)).says("refused"),
        row("D34", LINE, Holds, |m| patches(m, 200.0, 190.0)),
        row("D34", LINE, DoesNotHold, |m| patches(m, 200.0, 5.0)),
        row("D34", LINE, DoesNotHold, |m| patches(m, 200.0, 300.0)),
        row("D34", LINE, Inconclusive, |m| patches(m, 200.0, 150.0)),
        row("D34", LINE, Untestable, |m| refused("D34", m)),
        row("D34", ACROSS, Holds, |m| across(m, 2.0)),
        row("D34", ACROSS, DoesNotHold, |m| across(m, 1.05)),
        row("D34", ACROSS, Inconclusive, |m| across(m, 1.5)),
        row("D34", ACROSS, Untestable, |m| refused("D34", m)),
        row("D34", COUNTED, Holds, |m| cleared(m, Interval::exact(1.0), 0.0)),
        row("D34", COUNTED, DoesNotHold, |m| cleared(m, Interval::exact(0.1), 0.0))
            .says("into its own code: 0.1"),
        row("D34", COUNTED, DoesNotHold, |m| cleared(m, Interval::exact(1.0), 1.0))
            .says("in another page: 1"),
        row("D34", COUNTED, Inconclusive, |m| cleared(m, Interval::new(0.4, 0.6), 0.0)),
        row("D34", COUNTED, Untestable, |m| {
            patches(m, 200.0, 200.0).counting_nothing("the kernel sees no PMU on this CPU")
        })
        .says("no PMU"),
    ]
}
