//! Row X20: random walks over large memory, and the first writes to it.

use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};
use linefill::experiment::{CpuOrder, Machine, find};

use super::machines::{of_two_kinds, server, with_cores, with_memory, zen};
use super::planted::{Planted, Row, row, time};

const GAIN: &str = ".1";
const GROWS: &str = ".2";
const FLAT: &str = ".3";
const TABLES: &str = ".4";
const GIANT: &str = ".5";
const TOUCH: &str = ".6";
const SPREAD: &str = ".7";

/// Nanoseconds per step in the smallest and the largest memory, and per first write by one thread and by each
/// of several threads.
#[derive(Clone, Copy)]
struct Large {
    base: [f64; 2],
    huge: [f64; 2],
    giant: f64,
    touch: [f64; 2],
}

const USUAL: Large =
    Large { base: [120.0, 180.0], huge: [100.0, 105.0], giant: 100.0, touch: [500.0, 600.0] };

fn large(machine: &Machine, of: Large) -> Planted {
    let smallest = (machine.in_memory() / 2) as f64;
    Planted::new("X20", machine, |series, x| {
        let end = usize::from(x > smallest);
        time(match series {
            "4 KiB pages" => of.base[end],
            "2 MiB pages" => of.huge[end],
            "1 GiB pages" => of.giant,
            _ => of.touch[usize::from(x > 1.0)],
        })
    })
}

/// The same machine in a full run that may use `gib` GiB.
fn full_with(machine: &Machine, gib: usize) -> Machine {
    Machine { full: true, ..with_memory(machine, gib << 30) }
}

fn in_full(machine: &Machine, of: Large) -> Planted {
    large(&full_with(machine, 128), of)
}

/// The same machine with memory for three walks over lines that the last level holds.
fn little(machine: &Machine) -> Machine {
    with_memory(machine, 12 << 20)
}

pub fn rows() -> Vec<Row> {
    let mut rows = in_memory();
    rows.extend([GAIN, GROWS, FLAT, GIANT, SPREAD].map(|claim| {
        row("X20", claim, Untestable, |m| large(&little(m), USUAL)).says("is not in the range")
    }));
    rows
}

fn in_memory() -> Vec<Row> {
    vec![
        row("X20", GAIN, Holds, |m| large(m, USUAL)).says("4 KiB over 2 MiB pages"),
        row("X20", GAIN, DoesNotHold, |m| {
            let base = [100.0, 105.0];
            large(m, Large { base, ..USUAL })
        }),
        row("X20", GAIN, Inconclusive, |m| {
            let base = [110.0, 115.5];
            large(m, Large { base, ..USUAL })
        }),
        row("X20", GAIN, Untestable, |m| {
            let largest = m.in_memory();
            large(&with_memory(m, largest / 2), USUAL).without(|series, _| series == "2 MiB pages")
        }),
        row("X20", GROWS, Holds, |m| large(m, USUAL)),
        row("X20", GROWS, DoesNotHold, |m| {
            let base = [150.0, 155.0];
            large(m, Large { base, ..USUAL })
        }),
        row("X20", GROWS, Inconclusive, |m| {
            let base = [120.0, 132.0];
            large(m, Large { base, ..USUAL })
        }),
        row("X20", GROWS, Untestable, |m| {
            let largest = 1 << 20;
            large(&Machine { largest, ..m.clone() }, USUAL)
        })
        .says("--memory gives more"),
        row("X20", FLAT, Holds, |m| large(m, USUAL)),
        row("X20", FLAT, DoesNotHold, |m| {
            let huge = [100.0, 140.0];
            large(m, Large { huge, ..USUAL })
        }),
        row("X20", FLAT, Inconclusive, |m| {
            let huge = [100.0, 115.0];
            large(m, Large { huge, ..USUAL })
        }),
        row("X20", FLAT, Untestable, |m| {
            large(m, USUAL).without(|series, _| series == "2 MiB pages")
        })
        .says("was not measured"),
        row("X20", TABLES, Holds, |m| in_full(m, USUAL)),
        row("X20", TABLES, DoesNotHold, |m| {
            let base = [120.0, 130.0];
            in_full(m, Large { base, ..USUAL })
        }),
        row("X20", TABLES, Inconclusive, |m| {
            let base = [120.0, 147.0];
            in_full(m, Large { base, ..USUAL })
        }),
        row("X20", TABLES, Untestable, |m| large(m, USUAL)).says("--profile full --memory"),
        row("X20", GIANT, Holds, |m| in_full(m, USUAL)),
        row("X20", GIANT, DoesNotHold, |m| {
            let giant = 80.0;
            in_full(m, Large { giant, ..USUAL })
        }),
        row("X20", GIANT, Inconclusive, |m| {
            let giant = 95.5;
            in_full(m, Large { giant, ..USUAL })
        }),
        row("X20", GIANT, Untestable, |m| {
            in_full(m, USUAL).without(|series, _| series == "1 GiB pages")
        }),
        row("X20", GIANT, Untestable, |m| {
            let quick = Machine { full: false, ..m.clone() };
            large(&quick, USUAL)
        })
        .says("`--profile full` does"),
        row("X20", TOUCH, Holds, |m| large(m, USUAL)).says("million pages per second"),
        row("X20", TOUCH, DoesNotHold, |m| {
            let touch = [500.0, 1500.0];
            large(m, Large { touch, ..USUAL })
        }),
        row("X20", TOUCH, Inconclusive, |m| {
            let touch = [500.0, 714.0];
            large(m, Large { touch, ..USUAL })
        }),
        row("X20", TOUCH, Untestable, |m| large(&of_two_kinds(m), USUAL))
            .says("cores of two kinds"),
        row("X20", TOUCH, Untestable, |m| {
            let locations = m.cpu_order.locations()[..1].to_vec();
            let cpu_order = CpuOrder::around(None, locations);
            large(&Machine { cpu_order, ..m.clone() }, USUAL)
        })
        .says("needs 2 cores"),
        row("X20", TOUCH, Untestable, |m| large(&little(m), USUAL))
            .says("8 threads need 32 MiB together, and this run has 12 MiB"),
        row("X20", SPREAD, Holds, |m| large(m, USUAL).with_runs(|_| vec![[400, 900], [410, 950]]))
            .says("p99 over median, 4 KiB pages"),
        row("X20", SPREAD, DoesNotHold, |m| {
            large(m, USUAL).with_runs(|series| match series {
                "2 MiB pages" => vec![[400, 440]],
                _ => vec![[400, 900]],
            })
        }),
        row("X20", SPREAD, Inconclusive, |m| {
            large(m, USUAL).with_runs(|_| vec![[400, 500], [400, 900]])
        }),
        row("X20", SPREAD, Untestable, |m| large(m, USUAL)).says("no run was timed by itself"),
    ]
}

#[test]
fn the_first_touch_by_many_cores_keeps_to_the_memory_of_a_run() {
    let machine = with_cores(&server().machine(), 96);
    let cases = (find("X20").unwrap().cases)(&machine);
    for threads in [1.0, 96.0] {
        let mut cases = cases.iter();
        let touch = cases.find(|case| case.x == threads && case.series.starts_with("first write"));
        let setup = format!("{:?}", touch.unwrap().setup);
        // 1 GiB over 96 cores.
        assert!(setup.contains("pages: 2730"), "{setup}");
    }
}

#[test]
fn the_largest_walk_of_a_full_run_fills_the_memory_that_it_may_have() {
    for machine in [server(), zen()] {
        for gib in [1, 3, 20, 100] {
            let machine = full_with(&machine.machine(), gib);
            let cases = (find("X20").unwrap().cases)(&machine);
            let walks = cases.iter().filter(|case| case.series == "2 MiB pages");
            let largest = walks.map(|case| case.x).fold(0.0, f64::max);
            let smallest = (machine.in_memory() / 2) as f64;
            let room = (gib << 30) as f64;
            assert!(largest <= room, "{largest} of {room}");
            assert!(largest + 2.0 * smallest > room, "{largest} of {room}");
        }
    }
}
