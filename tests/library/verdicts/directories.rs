//! TLB usage: page walks and page directories.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::Exact;
use super::planted::{Planted, Row, Value, row, time};

const PAGES: &str = ".1";
const DIRECTORIES: &str = ".2";
const WALK: &str = ".3";
const SPARSE: &str = ".4";
const RANDOMISED: &str = ".5";

pub const EXACT: &[Exact] = &[("E26", RANDOMISED)];

/// Core cycles per line by stride: 64 B, 4 KiB, a few pages, 2 MiB, 1 GiB.
struct Costs {
    hot: [f64; 5],
    cold: [f64; 5],
    directories: f64,
}

/// Values with which every claim holds.
const USUAL: Costs = Costs {
    hot: [20.0, 60.0, 70.0, 100.0, 150.0],
    cold: [400.0, 600.0, 700.0, 900.0, 1200.0],
    directories: 4.0,
};

fn planted(machine: &Machine, costs: Costs) -> Planted {
    Planted::new("E26", machine, |series, x| {
        let ends = [64.0, 4096.0, 65536.0, 2097152.0];
        let index = ends.iter().filter(|end| x > **end).count();
        match series {
            "page tables in the caches" => time(costs.hot[index]),
            "page tables in memory" => time(costs.cold[index]),
            "page directories of this program" => Value::Counted(costs.directories),
            _ => time(5.0),
        }
    })
}

fn usual(machine: &Machine) -> Planted {
    planted(machine, USUAL)
}

fn hot(machine: &Machine, hot: [f64; 5]) -> Planted {
    planted(machine, Costs { hot, ..USUAL })
}

fn cold(machine: &Machine, cold: [f64; 5]) -> Planted {
    planted(machine, Costs { cold, ..USUAL })
}

fn spread(machine: &Machine, directories: f64) -> Planted {
    let costs = Costs { directories, ..USUAL };
    planted(machine, costs)
}

pub fn rows() -> Vec<Row> {
    vec![
        row("E26", PAGES, Holds, usual).says("64 pages over one: 3.0"),
        row("E26", PAGES, DoesNotHold, |m| hot(m, [20.0, 25.0, 70.0, 100.0, 150.0])),
        row("E26", PAGES, Inconclusive, |m| hot(m, [20.0, 30.0, 70.0, 100.0, 150.0])),
        row("E26", PAGES, Untestable, |m| {
            usual(m).without(|series, _| series == "page tables in the caches")
        }),
        row("E26", DIRECTORIES, Holds, usual),
        row("E26", DIRECTORIES, DoesNotHold, |m| hot(m, [20.0, 60.0, 62.0, 64.0, 150.0]))
            .says("2 MiB apart over in a row: 1.0"),
        row("E26", DIRECTORIES, DoesNotHold, |m| hot(m, [20.0, 60.0, 70.0, 100.0, 100.0]))
            .says("1 GiB apart over 2 MiB apart: 1.00"),
        row("E26", DIRECTORIES, Inconclusive, |m| hot(m, [20.0, 60.0, 70.0, 72.0, 150.0])),
        row("E26", DIRECTORIES, Untestable, |m| {
            // The process may lack address space.
            Planted::new("E26", m, |_, x| {
                if x > 1e9 { Value::Untestable("address space is limited") } else { time(50.0) }
            })
        })
        .says("address space is limited"),
        row("E26", WALK, Holds, usual).says("core cycles"),
        row("E26", WALK, DoesNotHold, |m| cold(m, [400.0, 410.0, 420.0, 430.0, 440.0])),
        row("E26", WALK, Inconclusive, |m| cold(m, [400.0, 450.0, 500.0, 600.0, 700.0])),
        row("E26", WALK, Untestable, |m| {
            // Page walks have no visible cost.
            hot(m, [20.0; 5])
        })
        .says("no ratio: "),
        row("E26", SPARSE, Holds, usual),
        row("E26", SPARSE, DoesNotHold, |m| cold(m, [400.0, 600.0, 610.0, 620.0, 630.0])),
        row("E26", SPARSE, Inconclusive, |m| cold(m, [400.0, 600.0, 700.0, 800.0, 900.0])),
        row("E26", SPARSE, Untestable, |m| {
            usual(m).without(|series, _| series == "page tables in memory")
        })
        .says("no point of `page tables in memory` was measured"),
        row("E26", RANDOMISED, Holds, usual).says("page directories: 4"),
        row("E26", RANDOMISED, DoesNotHold, |m| spread(m, 2.0)),
        row("E26", RANDOMISED, Untestable, |m| {
            usual(m).without(|series, _| series == "page directories of this program")
        }),
    ]
}
