//! Coherence: Drepper's two rules, Figure 3.18, and Sestoft's explanation.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::machines::first_cpu_only;
use super::planted::{Planted, Row, Value, row, time};

/// Claims judged on counts alone.
pub const EXACT: &[super::Exact] = &[
    ("D6", ".1"),
    ("D6", ".2"),
    ("D6", ".3"),
    ("D23", ".1"),
    ("D23", ".2"),
    ("D23", ".3"),
    ("D23", ".4"),
    ("D23", ".5"),
    ("D23", ".6"),
    ("B15", ".1"),
    ("B15", ".2"),
    ("B15", ".3"),
    ("B15", ".4"),
    ("B15", ".5"),
    ("B15", ".6"),
    ("B15", ".7"),
];

/// The documents' counts, with a changed value in one series.
fn counts(id: &str, machine: &Machine, changed: (&str, f64)) -> Planted {
    Planted::new(id, machine, |series, cores| {
        Value::Counted(match series {
            _ if series == changed.0 => changed.1,
            "copies of a line that 64 cores read" => 64.0,
            "copies of it after one of them wrote" => 1.0,
            "requests on S to M" => 1.0,
            _ if series.starts_with("lines to") => 1.0,
            "the same without the state E" => 1000.0,
            "2Q: means read again per point" => 3.0,
            _ if series.ends_with("padded") || id != "B15" || cores < 2.0 => 0.0,
            "compare and swap, shared" | "lock, shared" => cores,
            _ => 1.0,
        })
    })
}

fn right(id: &str, machine: &Machine) -> Planted {
    counts(id, machine, ("", 0.0))
}

fn without(id: &str, machine: &Machine, gone: &str) -> Planted {
    right(id, machine).without(|series, _| series == gone)
}

/// Rows for a claim that holds with the right counts, fails if one series is changed, and cannot be tested
/// without that series.
macro_rules! rows_of {
    ($($id:literal, $claim:literal, $series:literal => $wrong:literal;)*) => {
        vec![$(
            row($id, $claim, Holds, |m| right($id, m)),
            row($id, $claim, DoesNotHold, |m| counts($id, m, ($series, $wrong))),
            row($id, $claim, Untestable, |m| without($id, m, $series)).says($series),
        )*]
    };
}

/// A round trip of `nanos` ns, with a hit of 1 ns.
fn trip(machine: &Machine, nanos: f64) -> Planted {
    Planted::new("D23", machine, |series, _| match series {
        "a load that hits in L1d" => time(1.0),
        "loads and stores" => time(nanos),
        _ => Value::Counted(0.0),
    })
}

/// The same on a machine with one core.
fn alone(machine: &Machine) -> Planted {
    trip(machine, 50.0).on(first_cpu_only(machine))
}

const PING_PONG: &str = ".7";

pub fn rows() -> Vec<Row> {
    let mut rows = counted();
    rows.extend([
        row("D23", PING_PONG, Holds, |m| trip(m, 50.0)),
        row("D23", PING_PONG, DoesNotHold, |m| trip(m, 5.0)).says("round trip over hit: 5.0"),
        row("D23", PING_PONG, Inconclusive, |m| trip(m, 10.0)),
        row("D23", PING_PONG, Untestable, alone).says("the test needs two cores"),
    ]);
    rows
}

fn counted() -> Vec<Row> {
    rows_of![
        "D6", ".1", "changed lines that another cache has too" => 1.0;
        "D6", ".2", "copies of a line that 64 cores read" => 63.0;
        "D6", ".3", "reads that did not find what was written last" => 2.0;
        "D23", ".1", "arrows that lead elsewhere than in the figure" => 1.0;
        "D23", ".2", "requests on E to M" => 1.0;
        "D23", ".3", "requests on S to M" => 0.0;
        "D23", ".4", "lines to memory on M to S" => 0.0;
        "D23", ".5", "lines to the writer on M to I" => 0.0;
        "D23", ".6", "the same without the state E" => 0.0;
        "B15", ".1", "add, padded" => 1.0;
        "B15", ".2", "lock, dense" => 0.5;
        "B15", ".3", "plain, shared" => 2.0;
        "B15", ".4", "lock, shared" => 1.5;
        "B15", ".5", "2Q: means read again per point" => 0.1;
        "B15", ".6", "2Q padded: means read again per point" => 0.1;
        "B15", ".7", "3P: requests per point" => 1.0;
    ]
}
