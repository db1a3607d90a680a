//! The share of the last level per thread.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::Exact;
use super::machines::{MIB, guest, server};
use super::planted::{Planted, Row, Value, by_level, row, time};

/// Claims about shares are counted.
pub const EXACT: &[Exact] = &[("E25", ".1"), ("E25", ".3")];

const AGREE: &str = ".1";
const LIMIT: &str = ".2";
const WASTE: &str = ".3";
const PAYS: &str = ".4";
const TWICE: &str = ".5";
const SMALLER: &str = ".6";

/// The counts: the share from sysfs and from CPUID, in MiB.
fn counts(machine: &Machine, sysfs: f64, cpuid: f64) -> Planted {
    Planted::new("E25", machine, |series, _| match series {
        "share by sysfs, bytes" => Value::Counted(sysfs * MIB),
        "share by CPUID, bytes" => Value::Counted(cpuid * MIB),
        _ => time(20.0),
    })
}

/// A last level of so many MiB, of which each of so many threads has a share.
fn shared_by(machine: &Machine, threads: u32, mib: f64) -> Planted {
    let mut machine = machine.clone();
    for cache in machine.caches.iter_mut().filter(|cache| cache.level == 3) {
        cache.size = (mib * MIB) as u64;
        cache.shared_by = Some(threads);
    }
    let share = mib / f64::from(threads);
    counts(&machine, share, share)
}

/// The bandwidth of blocks in GB/s, level by level, and of the whole array. The planted machines do not share
/// their caches, so the last level is the share.
fn speeds(machine: &Machine, blocks: [f64; 4], whole: f64) -> Planted {
    Planted::new("E25", machine, |series, x| {
        time(match series {
            "in blocks, each read three times" => by_level(machine, x, blocks),
            _ => whole,
        })
    })
}

/// Blocks that fit a cache are all equally fast. Larger blocks are slower.
fn level(machine: &Machine) -> Planted {
    speeds(machine, [40.0, 40.0, 40.0, 20.0], 20.0)
}

/// A last level whose share is twice L2, so that half of the share lies in L2.
fn many_threads(machine: &Machine) -> Machine {
    let mut machine = machine.clone();
    let l2 = machine.ranges.llc.lo / 2.0;
    for cache in machine.caches.iter_mut().filter(|cache| cache.level == 3) {
        cache.size = 2 * l2 as u64;
    }
    machine
}

pub fn rows() -> Vec<Row> {
    let in_l2 = [PAYS, TWICE, SMALLER]
        .map(|claim| row("E25", claim, Untestable, |m| level(&many_threads(m))).says("twice L2"));
    let mut rows = on_a_large_share();
    rows.extend(in_l2);
    rows
}

fn on_a_large_share() -> Vec<Row> {
    vec![
        row("E25", AGREE, Holds, |m| counts(m, 16.0, 16.0)),
        // CPUID rounds the number of threads up to a power of two.
        row("E25", AGREE, Holds, |m| counts(m, 0.6875, 0.515625))
            .says("by CPUID over by sysfs: 0.75"),
        row("E25", AGREE, DoesNotHold, |m| counts(m, 8.0, 16.0))
            .says("by CPUID over by sysfs: 2.00"),
        row("E25", AGREE, Untestable, |m| {
            Planted::new("E25", m, |series, _| match series {
                "share by sysfs, bytes" => Value::Untestable("/sys is not mounted"),
                _ => Value::Counted(1.0),
            })
        })
        .says("/sys is not mounted"),
        row("E25", LIMIT, Holds, |m| counts(m, 8.0, 8.0)),
        row("E25", LIMIT, DoesNotHold, |m| counts(m, 130.0, 130.0)),
        row("E25", LIMIT, Inconclusive, |m| counts(m, 31.0, 31.0)),
        row("E25", LIMIT, Untestable, |m| {
            let mut blind = m.clone();
            for capacity in &mut blind.ranges.capacities {
                capacity.measured = None;
            }
            counts(m, 8.0, 8.0).on(blind)
        })
        .says("the ladder of working sets shows no step"),
        // The share of each of many threads does not matter.
        row("E25", WASTE, Holds, |m| shared_by(m, 32, 32.0)).says("percent unused: 96.9"),
        row("E25", WASTE, Holds, |m| shared_by(m, 1, 8.0)).says("percent unused: 87.5"),
        row("E25", WASTE, DoesNotHold, |m| shared_by(m, 1, 4.0)).says("percent unused: 75"),
        row("E25", WASTE, Untestable, |m| shared_by(&guest(m), 1, 8.0)).says("virtual machine"),
        row("E25", WASTE, Untestable, |m| {
            level(m).without(|series, _| series == "share by CPUID, bytes")
        }),
        row("E25", PAYS, Holds, level),
        row("E25", PAYS, DoesNotHold, |m| speeds(m, [60.0, 50.0, 20.0, 20.0], 20.0)),
        row("E25", PAYS, Inconclusive, |m| speeds(m, [60.0, 50.0, 25.0, 20.0], 20.0)),
        row("E25", PAYS, Untestable, |m| {
            level(m).without(|series, _| series == "the whole array each time")
        })
        .says("`the whole array each time` was not measured"),
        // Memory begins at a GiB.
        row("E25", PAYS, Holds, |_| {
            let mut model = server();
            model.levels[2].bytes = 256.0 * MIB;
            level(&model.machine())
        }),
        row("E25", TWICE, Holds, level),
        // A thread that finds the whole level for itself.
        row("E25", TWICE, DoesNotHold, |m| speeds(m, [40.0; 4], 20.0))
            .says("half the share over twice the share: 1.00"),
        row("E25", TWICE, Inconclusive, |m| speeds(m, [40.0, 40.0, 44.0, 40.0], 20.0)),
        row("E25", TWICE, Untestable, |m| {
            let last = 2.0 * m.ranges.llc.hi;
            level(m).without(|_, x| x > 1.2 * last)
        }),
        row("E25", SMALLER, Holds, level),
        row("E25", SMALLER, DoesNotHold, |m| speeds(m, [40.0, 60.0, 40.0, 20.0], 20.0)),
        row("E25", SMALLER, Inconclusive, |m| speeds(m, [44.4, 40.0, 40.0, 20.0], 20.0)),
        row("E25", SMALLER, Untestable, |m| {
            let no_caches = Machine { caches: Vec::new(), ..m.clone() };
            level(m).on(no_caches)
        })
        .says("CPUID describes no cache beyond L1d"),
    ]
}
