//! Row X11: prefetches with a missing translation.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::machines::with_memory;
use super::planted::{Planted, Row, row, time};

const WALKED: &str = ".1";
const LOAD: &str = ".2";
const NULL: &str = ".3";

/// A prefetch takes 2 with 16 pages and `far` with 16384 pages, where a load takes 30. A prefetch of the null
/// address takes `null`.
fn prefetches(machine: &Machine, far: f64, null: f64) -> Planted {
    Planted::new("X11", machine, |series, pages| {
        time(match (series, pages) {
            ("prefetcht0, one line per page", 16384.0) => far,
            ("load, one line per page", 16384.0) => 30.0,
            (series, _) if series.contains("null") => null,
            _ => 2.0,
        })
    })
}

/// The same machine in a run that may use 16 MiB.
fn little(machine: &Machine) -> Machine {
    with_memory(machine, 16 << 20)
}

pub fn rows() -> Vec<Row> {
    let mut rows = in_memory();
    rows.extend([WALKED, LOAD].map(|claim| {
        row("X11", claim, Untestable, |m| prefetches(&little(m), 25.0, 2.0))
            .says("16384 pages need 64 MiB, and this run has 16 MiB")
    }));
    rows
}

#[test]
fn pages_keep_to_the_memory_of_a_run() {
    let machine = little(&super::machines::server().machine());
    let cases = (super::planted::experiment("X11").cases)(&machine);
    assert!(cases.iter().all(|case| case.setup.bytes() <= machine.largest));
}

fn in_memory() -> Vec<Row> {
    vec![
        row("X11", WALKED, Holds, |m| prefetches(m, 25.0, 2.0)),
        row("X11", WALKED, DoesNotHold, |m| prefetches(m, 3.0, 2.0)),
        row("X11", WALKED, Inconclusive, |m| prefetches(m, 8.0, 2.0)),
        row("X11", WALKED, Untestable, |m| {
            prefetches(m, 25.0, 2.0).without(|_, pages| pages == 16.0)
        })
        .says("was not measured at 16"),
        row("X11", LOAD, Holds, |m| prefetches(m, 25.0, 2.0)),
        row("X11", LOAD, DoesNotHold, |m| prefetches(m, 60.0, 2.0)),
        row("X11", LOAD, Inconclusive, |m| prefetches(m, 36.0, 2.0)),
        row("X11", LOAD, Untestable, |m| {
            prefetches(m, 25.0, 2.0).without(|series, _| series.starts_with("load"))
        }),
        row("X11", NULL, Holds, |m| prefetches(m, 25.0, 100.0)),
        row("X11", NULL, DoesNotHold, |m| prefetches(m, 25.0, 2.0)),
        row("X11", NULL, Inconclusive, |m| prefetches(m, 25.0, 8.0)),
        row("X11", NULL, Untestable, |m| {
            prefetches(m, 25.0, 2.0).without(|series, _| series.contains("null"))
        })
        .says("was not measured at 1"),
    ]
}
