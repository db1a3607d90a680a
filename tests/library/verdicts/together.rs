//! Reads, writes and copies by several threads: Drepper's Figures 3.25, 3.27 and 3.29, and the bus.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};
use linefill::os::sysfs::CpuLocation;

use super::machines::{first_cpu_only, guest, of_two_kinds, with_cores, with_locations};
use super::planted::{Planted, Row, by_level, row, time};

const HALF_L1: &str = ".1";
const HALF_L2: &str = ".2";
const HALF_MEMORY: &str = ".3";

const SAME_READ: &str = ".1";
const SAME_WRITE: &str = ".2";
const NO_FASTER: &str = ".3";
const OWN: &str = ".4";
const MEMORY: &str = ".5";
const HALF_IN_L2: &str = ".6";

const UNAFFECTED: &str = ".1";
const IN_MEMORY: &str = ".4";
const TWENTIETH: &str = ".2";
const FASTER: &str = ".3";

const BUS_READ: &str = ".1";
const BUS_WRITE: &str = ".2";
const BUS_L2: &str = ".3";

/// A machine whose CPUs have the places that `location` sets.
fn located(
    machine: &Machine,
    location: impl Fn(usize, &mut linefill::os::sysfs::CpuLocation),
) -> Machine {
    let mut locations = machine.cpu_order.locations().to_vec();
    for (index, of) in locations.iter_mut().enumerate() {
        location(index, of);
    }
    with_locations(machine, locations)
}

/// A machine in which every two CPUs are hyper-threads of a core.
fn with_siblings(machine: &Machine) -> Machine {
    located(machine, |index, location| location.core = index / 2 * 2)
}

/// The share of one thread's bandwidth that each of two threads keeps in L1d, L2, the last level and memory.
#[derive(Clone, Copy)]
struct Kept {
    /// Reads of the same memory.
    read: [f64; 4],
    /// Writes to the same memory.
    write: [f64; 4],
    /// Copies within the same memory.
    copy: [f64; 4],
    /// Separate memory.
    own: [f64; 4],
}

/// The Core 2's values.
const CORE_2: Kept = Kept {
    read: [1.0; 4],
    write: [0.034, 0.6, 0.6, 0.58],
    copy: [0.034, 0.6, 0.6, 0.58],
    own: [1.0, 1.0, 0.9, 0.6],
};

/// The Pentium 4's values.
const SIBLINGS: Kept = Kept { read: [0.5; 4], write: [0.55; 4], copy: [0.55; 4], own: [0.5; 4] };

/// Bytes per cycle of one thread: reads; writes and copies.
const READS: [f64; 4] = [16.0, 16.0, 15.5, 15.4];
const WRITES: [f64; 4] = [15.4, 6.6, 0.7, 0.55];

fn kept(id: &str, machine: &Machine, kept: Kept) -> Planted {
    Planted::new(id, machine, |series, x| {
        let (what, threads) = series.split_once(", ").expect("names both");
        let (one, same) = match what {
            "read" => (READS, kept.read),
            "write" => (WRITES, kept.write),
            _ => (WRITES, kept.copy),
        };
        let share = match threads {
            "one thread" => 1.0,
            "same memory" => by_level(machine, x, same),
            _ => by_level(machine, x, kept.own),
        };
        time(by_level(machine, x, one) * share)
    })
}

/// Hyper-threads that keep these shares.
fn siblings(machine: &Machine, of: Kept) -> Planted {
    kept("D37", &with_siblings(machine), of)
}

/// The series of one thread is missing.
fn without_one(planted: Planted, what: &'static str) -> Planted {
    planted.without(move |series, _| series == format!("{what}, one thread"))
}

pub fn rows() -> Vec<Row> {
    let mut rows = fig_3_25();
    rows.extend(fig_3_27());
    rows.extend(fig_3_29());
    rows.extend(bus());
    rows
}

fn fig_3_25() -> Vec<Row> {
    let mut rows = Vec::new();
    for claim in [HALF_L1, HALF_L2, HALF_MEMORY] {
        rows.extend([
            row("D37", claim, Holds, |m| siblings(m, SIBLINGS)),
            row("D37", claim, DoesNotHold, |m| {
                let read = [0.9, 0.8, 0.9, 1.0];
                siblings(m, Kept { read, ..SIBLINGS })
            }),
            row("D37", claim, Inconclusive, |m| {
                let read = [0.65; 4];
                siblings(m, Kept { read, ..SIBLINGS })
            }),
            row("D37", claim, Untestable, |m| {
                let none = located(m, |_, location| location.core = location.cpu);
                kept("D37", &none, SIBLINGS)
            })
            .says("no two CPUs here are hyper-threads of one core"),
        ]);
    }
    rows
}

fn fig_3_27() -> Vec<Row> {
    let mut rows = vec![
        row("D39", SAME_READ, Holds, |m| kept("D39", m, CORE_2)),
        row("D39", SAME_READ, DoesNotHold, |m| {
            let read = [1.0, 0.8, 1.0, 1.0];
            kept("D39", m, Kept { read, ..CORE_2 })
        })
        .says("read, same memory, L2: each of two over one alone: 0.80"),
        row("D39", SAME_READ, Inconclusive, |m| {
            let read = [0.9, 1.0, 1.0, 1.0];
            kept("D39", m, Kept { read, ..CORE_2 })
        }),
        row("D39", SAME_WRITE, Holds, |m| kept("D39", m, CORE_2)),
        row("D39", SAME_WRITE, DoesNotHold, |m| {
            let copy = [0.4; 4];
            kept("D39", m, Kept { copy, ..CORE_2 })
        })
        .says("copy, same memory, L1d: each of two over one alone: 0.40"),
        row("D39", SAME_WRITE, Inconclusive, |m| {
            let write = [0.3; 4];
            kept("D39", m, Kept { write, ..CORE_2 })
        }),
        row("D39", NO_FASTER, Holds, |m| kept("D39", m, CORE_2)),
        row("D39", NO_FASTER, DoesNotHold, |m| {
            let write = [0.33; 4];
            kept("D39", m, Kept { write, ..CORE_2 })
        }),
        row("D39", NO_FASTER, Inconclusive, |m| {
            // Twice 0.55 bytes per cycle.
            let write = [1.1 / 15.4; 4];
            kept("D39", m, Kept { write, ..CORE_2 })
        }),
        row("D39", OWN, Holds, |m| kept("D39", m, CORE_2)),
        row("D39", OWN, DoesNotHold, |m| {
            let own = [1.0, 0.7, 0.7, 0.7];
            kept("D39", m, Kept { own, ..CORE_2 })
        }),
        row("D39", OWN, DoesNotHold, |m| kept("D39", m, SIBLINGS))
            .says("read, own memory, L1d: each of two over one alone: 0.50"),
        row("D39", OWN, Inconclusive, |m| {
            let own = [0.9, 1.0, 0.7, 0.7];
            kept("D39", m, Kept { own, ..CORE_2 })
        }),
        row("D39", OWN, Untestable, |m| {
            let cluster = located(m, |_, location| location.l2 = 0);
            kept("D39", &cluster, CORE_2)
        })
        .says("the two cores share an L2"),
        row("D39", MEMORY, Holds, |m| kept("D39", m, CORE_2)),
        row("D39", MEMORY, DoesNotHold, |m| {
            let write = [0.03, 0.6, 0.6, 1.0];
            kept("D39", m, Kept { write, ..CORE_2 })
        }),
        row("D39", MEMORY, Inconclusive, |m| {
            let write = [0.03, 0.6, 0.6, 0.75];
            kept("D39", m, Kept { write, ..CORE_2 })
        }),
        row("D39", HALF_IN_L2, Holds, |m| kept("D39", m, CORE_2)),
        row("D39", HALF_IN_L2, DoesNotHold, |m| {
            let write = [0.03, 0.9, 0.6, 0.6];
            kept("D39", m, Kept { write, ..CORE_2 })
        }),
        row("D39", HALF_IN_L2, Inconclusive, |m| {
            let write = [0.03, 0.65, 0.6, 0.6];
            kept("D39", m, Kept { write, ..CORE_2 })
        }),
        row("D39", MEMORY, Untestable, |m| without_one(kept("D39", m, CORE_2), "write"))
            .says("no point of `write, one thread`"),
        row("D39", OWN, Untestable, |m| without_one(kept("D39", m, CORE_2), "copy")),
    ];
    for claim in [SAME_READ, SAME_WRITE, NO_FASTER, OWN, MEMORY, HALF_IN_L2] {
        rows.push(
            row("D39", claim, Untestable, |m| kept("D39", &first_cpu_only(m), CORE_2))
                .says("the test needs two cores"),
        );
    }
    rows
}

fn fig_3_29() -> Vec<Row> {
    /// The Opteron's values.
    const OPTERON: Kept = Kept { read: [0.8; 4], write: [0.014, 0.1, 0.85, 0.9], ..CORE_2 };
    /// Writes in L1d are half as fast as in the last level.
    const SLOW_NEAR: Kept = Kept { write: [0.014, 0.1, 0.7, 0.9], ..CORE_2 };
    let mut rows = vec![
        row("D41", UNAFFECTED, Holds, |m| kept("D41", m, OPTERON)),
        row("D41", UNAFFECTED, Holds, |m| kept("D41", m, CORE_2)),
        row("D41", UNAFFECTED, DoesNotHold, |m| {
            let read = [0.5; 4];
            kept("D41", m, Kept { read, ..OPTERON })
        }),
        row("D41", UNAFFECTED, Inconclusive, |m| {
            let read = [0.75, 0.8, 0.8, 0.8];
            kept("D41", m, Kept { read, ..OPTERON })
        }),
        row("D41", IN_MEMORY, Holds, |m| kept("D41", m, OPTERON)),
        row("D41", IN_MEMORY, Holds, |m| kept("D41", m, CORE_2)),
        row("D41", IN_MEMORY, DoesNotHold, |m| {
            let read = [0.5; 4];
            kept("D41", m, Kept { read, ..OPTERON })
        }),
        row("D41", IN_MEMORY, Inconclusive, |m| {
            let read = [0.8, 0.8, 0.8, 0.75];
            kept("D41", m, Kept { read, ..OPTERON })
        }),
        row("D41", TWENTIETH, Holds, |m| kept("D41", m, OPTERON)),
        row("D41", TWENTIETH, DoesNotHold, |m| {
            let write = [0.33; 4];
            kept("D41", m, Kept { write, ..OPTERON })
        }),
        row("D41", TWENTIETH, Inconclusive, |m| {
            let write = [0.05; 4];
            kept("D41", m, Kept { write, ..OPTERON })
        }),
        row("D41", FASTER, Holds, |m| kept("D41", m, SLOW_NEAR)).says("last level over L1d: 2.2"),
        row("D41", FASTER, DoesNotHold, |m| {
            let write = [0.33; 4];
            kept("D41", m, Kept { write, ..OPTERON })
        }),
        row("D41", FASTER, Untestable, |m| {
            let write = [0.33; 4];
            kept("D41", &guest(m), Kept { write, ..OPTERON })
        })
        .says("other guests may have used the last level"),
        row("D41", FASTER, Inconclusive, |m| {
            // 0.7 bytes per cycle in both places.
            let write = [0.7 / 15.4, 1.0, 1.0, 1.0];
            kept("D41", m, Kept { write, ..OPTERON })
        }),
    ];
    for claim in [UNAFFECTED, TWENTIETH, FASTER, IN_MEMORY] {
        rows.push(
            row("D41", claim, Untestable, |m| kept("D41", &first_cpu_only(m), OPTERON))
                .says("the test needs two cores"),
        );
    }
    rows
}

/// The same bytes per second, while the clock of several busy cores is this factor of that of one.
fn at_a_slower_clock(planted: Planted, factor: f64) -> Planted {
    planted.with_clock(|_, threads| if threads > 1.0 { factor } else { 1.0 })
}

/// With more than one thread, each keeps these shares of the bandwidth of reading L2, and of reading and
/// writing memory.
fn bus_keeps(machine: &Machine, l2: f64, read: f64, write: f64) -> Planted {
    Planted::new("D25", machine, |series, threads| {
        let (one, keeps) = match series {
            "read L2" => (16.0, l2),
            "read memory" => (6.0, read),
            _ => (4.0, write),
        };
        time(one * if threads > 1.0 { keeps } else { 1.0 })
    })
}

fn bus() -> Vec<Row> {
    let mut rows = vec![
        row("D25", BUS_READ, Holds, |m| bus_keeps(m, 1.0, 0.6, 0.6))
            .says("each of 8 threads over one alone: 0.60"),
        row("D25", BUS_READ, DoesNotHold, |m| bus_keeps(m, 1.0, 1.2, 0.6)),
        row("D25", BUS_READ, Inconclusive, |m| bus_keeps(m, 1.0, 0.9, 0.6)),
        row("D25", BUS_WRITE, Holds, |m| bus_keeps(m, 1.0, 0.6, 0.6)),
        row("D25", BUS_WRITE, DoesNotHold, |m| bus_keeps(m, 1.0, 0.6, 1.2)),
        row("D25", BUS_WRITE, Inconclusive, |m| bus_keeps(m, 1.0, 0.6, 0.9)),
        // Fifteen percent fewer bytes per second, and as many per cycle.
        row("D25", BUS_READ, Holds, |m| at_a_slower_clock(bus_keeps(m, 1.0, 0.85, 0.85), 0.85))
            .says("over one alone: 0.85"),
        row("D25", BUS_WRITE, Holds, |m| at_a_slower_clock(bus_keeps(m, 1.0, 0.85, 0.85), 0.85)),
        row("D25", BUS_L2, Holds, |m| at_a_slower_clock(bus_keeps(m, 0.85, 0.85, 0.85), 0.85)),
        row("D25", BUS_L2, Holds, |m| bus_keeps(m, 1.0, 0.6, 0.6)),
        row("D25", BUS_L2, DoesNotHold, |m| bus_keeps(m, 0.5, 0.6, 0.6)),
        row("D25", BUS_L2, Inconclusive, |m| bus_keeps(m, 0.9, 0.6, 0.6)),
    ];
    for claim in [BUS_READ, BUS_WRITE, BUS_L2] {
        rows.push(
            row("D25", claim, Untestable, |m| bus_keeps(&first_cpu_only(m), 1.0, 0.6, 0.6))
                .says("the test needs 2 cores, and this process may use only one"),
        );
        rows.push(
            row("D25", claim, Untestable, |m| bus_keeps(&of_two_kinds(m), 1.0, 0.6, 0.6))
                .says("cores of two kinds"),
        );
        rows.extend([
            row("D25", claim, Untestable, |m| {
                let quick = bus_keeps(&with_cores(m, 12), 1.0, 0.6, 0.6);
                quick.without(|_, threads| threads == 12.0)
            })
            .says("was timed on 8 of 12 cores: `--profile full` times all of them"),
            row("D25", claim, Holds, |m| bus_keeps(&with_cores(m, 12), 1.0, 0.6, 0.6))
                .says("each of 12 threads over one alone"),
        ]);
    }
    rows.push(
        row("D25", BUS_L2, Untestable, |m| {
            let pairs = m
                .cpu_order
                .locations()
                .iter()
                .map(|location| CpuLocation { l2: location.core / 2, ..*location });
            let machine = with_locations(m, pairs);
            bus_keeps(&machine, 0.5, 0.6, 0.6)
        })
        .says("up to 2 of the 8 threads share an L2"),
    );
    for claim in [BUS_READ, BUS_WRITE] {
        // The threads under one last level need the memory size together, and there are sixteen.
        rows.push(
            row("D25", claim, Untestable, |m| bus_keeps(&with_cores(m, 64), 1.0, 0.6, 0.6))
                .says("was timed on 8 of 64 cores: all of them need 2048 MiB together"),
        );
    }
    rows
}

/// Threads that share a last level use four times its size together, so each works on less. On machines with
/// several last levels, all of them are filled.
#[test]
fn every_last_level_is_asked_for_more_than_it_holds() {
    for machine in super::machines::known() {
        let experiment = super::planted::experiment("D25");
        for case in (experiment.cases)(&machine) {
            let threads = case.x as usize;
            if case.series == "read L2" {
                continue;
            }
            let levels = threads.div_ceil(4);
            let least = levels * machine.in_memory();
            assert!(case.setup.bytes() >= least, "{threads} on {}", machine.name);
            assert!(case.setup.bytes() <= machine.largest);
        }
    }
}
