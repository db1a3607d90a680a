//! The sizes of cache and memory, and which CPUs share caches: exact counts.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Untestable};

use super::machines::guest;
use super::planted::{Planted, Row, Value, row};

const RATIO: &str = ".1";
const LEVELS: &str = ".1";
const THREADS: &str = ".2";
const CORES: &str = ".3";
const LAST: &str = ".4";
const PROCESSORS: &str = ".5";

/// Claims judged on counts alone.
pub const EXACT: &[super::Exact] = &[
    ("D2", ".1"),
    ("D3", ".1"),
    ("D3", ".2"),
    ("D3", ".3"),
    ("D3", ".4"),
    ("D3", ".5"),
    ("D43", ".1"),
    ("D43", ".2"),
    ("D43", ".3"),
    ("E43", ".1"),
    ("E43", ".2"),
    ("E43", ".3"),
];

/// So many last-level caches, of this size on average, and memory.
fn ratio(machine: &Machine, caches: f64, cache: f64, memory: f64) -> Planted {
    Planted::new("D2", machine, |series, _| {
        Value::Counted(match series {
            "bytes of memory" => memory,
            "last-level caches" => caches,
            _ => caches * cache,
        })
    })
}

/// Figure 3.3 with three levels: two processors of two cores with two threads each. `other` replaces some of
/// the counts.
fn figure(machine: &Machine, other: &'static [(&'static str, f64)]) -> Planted {
    const FIGURE: [(&str, f64); 9] = [
        ("hyper-threads per core", 2.0),
        ("cores", 4.0),
        ("processors", 2.0),
        ("levels of cache", 3.0),
        ("caches of the first level", 2.0),
        ("cores whose hyper-threads do not share one L1d", 0.0),
        ("L1d caches that serve several cores", 0.0),
        ("last-level caches per processor", 1.0),
        ("caches that serve several processors", 0.0),
    ];
    Planted::new("D3", machine, |series, _| {
        let mut all = other.iter().chain(&FIGURE);
        let (_, count) = all.find(|(name, _)| *name == series).expect("a count");
        Value::Counted(*count)
    })
}

const FOUR_WAYS: &str = ".1";
const SHARED_L2: &str = ".2";
const SHARED_L3: &str = ".3";
const ITSELF: &str = ".1";
const OTHERS: &str = ".2";
const SIZE: &str = ".3";

/// The arrangement with this number.
fn arranged(machine: &Machine, number: f64) -> Planted {
    Planted::new("D43", machine, |_, _| Value::Counted(number))
}

/// The number of CPUs missing from their masks, of hyper-threads besides a CPU, and of CPUs that share their
/// L1d; the bytes of L2 from sysconf, and from the other sources.
fn siblings(machine: &Machine, counts: [f64; 3], bytes: [f64; 2]) -> Planted {
    Planted::new("E43", machine, |series, _| {
        Value::Counted(match () {
            () if series.contains("leaves out") => counts[0],
            () if series.contains("XOR itself") => counts[1],
            () if series.contains("L1d") => counts[2],
            () if series.ends_with("sysconf") => bytes[0],
            () => bytes[1],
        })
    })
}

const MIB: f64 = 1048576.0;

fn arrangements() -> Vec<Row> {
    vec![
        row("D43", FOUR_WAYS, Holds, |m| arranged(m, 4.0)),
        row("D43", FOUR_WAYS, Holds, |m| arranged(m, 1.0)),
        row("D43", FOUR_WAYS, DoesNotHold, |m| arranged(m, 5.0)),
        row("D43", FOUR_WAYS, DoesNotHold, |m| arranged(m, 6.0)),
        row("D43", FOUR_WAYS, Untestable, |m| arranged(m, 7.0)).says("one core"),
        row("D43", SHARED_L2, Holds, |m| arranged(m, 3.0)),
        row("D43", SHARED_L2, Holds, |m| arranged(m, 6.0)),
        row("D43", SHARED_L2, DoesNotHold, |m| arranged(m, 4.0))
            .says("arrangement of the caches 4"),
        row("D43", SHARED_L2, Untestable, |m| arranged(m, 7.0)),
        row("D43", SHARED_L3, Holds, |m| arranged(m, 4.0)),
        row("D43", SHARED_L3, DoesNotHold, |m| arranged(m, 5.0)),
        row("D43", SHARED_L3, Untestable, |m| {
            Planted::new("D43", m, |_, _| Value::Untestable("no cache is described"))
        })
        .says("no cache is described"),
        row("E43", ITSELF, Holds, |m| siblings(m, [0.0, 1.0, 0.0], [MIB; 2])),
        row("E43", ITSELF, DoesNotHold, |m| siblings(m, [2.0, 1.0, 0.0], [MIB; 2])),
        row("E43", ITSELF, Untestable, |m| siblings(m, [0.0; 3], [MIB; 2]).without(|_, _| true)),
        row("E43", OTHERS, Holds, |m| siblings(m, [0.0, 1.0, 0.0], [MIB; 2])),
        row("E43", OTHERS, DoesNotHold, |m| siblings(m, [0.0, 1.0, 4.0], [MIB; 2])),
        row("E43", OTHERS, Untestable, |m| siblings(m, [0.0, 0.0, 0.0], [MIB; 2]))
            .says("no core has a second hyper-thread"),
        row("E43", SIZE, Holds, |m| siblings(m, [0.0; 3], [MIB; 2])),
        row("E43", SIZE, DoesNotHold, |m| siblings(m, [0.0; 3], [MIB, 2.0 * MIB]))
            .says("by sysfs, 1048576 by sysconf"),
        row("E43", SIZE, Untestable, |m| siblings(m, [0.0; 3], [0.0, MIB]))
            .says("sysconf does not report"),
    ]
}

pub fn rows() -> Vec<Row> {
    let mut rows = arrangements();
    rows.extend(schematics());
    for claim in [LEVELS, THREADS, CORES, LAST, PROCESSORS] {
        let row = row("D3", claim, Untestable, |m| figure(&guest(m), &[]));
        rows.push(row.says("whose host chooses"));
    }
    for claim in [FOUR_WAYS, SHARED_L2, SHARED_L3] {
        let row = row("D43", claim, Untestable, |m| arranged(&guest(m), 4.0));
        rows.push(row.says("whose host chooses"));
    }
    let row = row("E43", OTHERS, Untestable, |m| siblings(&guest(m), [0.0, 1.0, 0.0], [MIB; 2]));
    rows.push(row.says("whose host chooses"));
    rows
}

fn schematics() -> Vec<Row> {
    vec![
        row("D2", RATIO, Holds, |m| ratio(m, 1.0, 32e6, 32e9)),
        // 24 last levels of a server.
        row("D2", RATIO, Holds, |m| ratio(m, 24.0, 32e6, 768e9)).says("last-level caches: 24"),
        row("D2", RATIO, DoesNotHold, |m| ratio(m, 24.0, 32e6, 32e9)),
        row("D2", RATIO, DoesNotHold, |m| ratio(m, 1.0, 260e6, 32e9)),
        row("D2", RATIO, DoesNotHold, |m| ratio(m, 1.0, 2e6, 32e9)),
        row("D2", RATIO, Untestable, |m| ratio(m, 1.0, 0.0, 32e9)).says("not positive"),
        row("D2", RATIO, Untestable, |m| {
            ratio(m, 1.0, 32e6, 32e9).without(|series, _| series == "last-level caches")
        })
        .says("`last-level caches` was not measured"),
        row("D2", RATIO, Untestable, |m| ratio(&guest(m), 1.0, 32e6, 32e9))
            .says("whose host chooses"),
        row("D3", LEVELS, Holds, |m| figure(m, &[])),
        row("D3", LEVELS, DoesNotHold, |m| figure(m, &[("levels of cache", 2.0)])),
        row("D3", LEVELS, DoesNotHold, |m| figure(m, &[("caches of the first level", 1.0)])),
        row("D3", LEVELS, Untestable, |m| {
            Planted::new("D3", m, |_, _| Value::Untestable("/sys is not mounted"))
        })
        .says("/sys is not mounted"),
        row("D3", THREADS, Holds, |m| figure(m, &[])),
        row("D3", THREADS, DoesNotHold, |m| {
            figure(m, &[("cores whose hyper-threads do not share one L1d", 1.0)])
        }),
        row("D3", THREADS, Untestable, |m| figure(m, &[("hyper-threads per core", 1.0)]))
            .says("no core shows more than one hyper-thread"),
        row("D3", CORES, Holds, |m| figure(m, &[])),
        row("D3", CORES, DoesNotHold, |m| {
            figure(m, &[("L1d caches that serve several cores", 2.0)])
        }),
        row("D3", CORES, Untestable, |m| figure(m, &[("cores", 1.0)]))
            .says("the system has only one core"),
        row("D3", LAST, Holds, |m| figure(m, &[])),
        row("D3", LAST, DoesNotHold, |m| figure(m, &[("last-level caches per processor", 4.0)])),
        row("D3", LAST, Untestable, |m| figure(m, &[("cores", 1.0)])),
        row("D3", PROCESSORS, Holds, |m| figure(m, &[])),
        row("D3", PROCESSORS, DoesNotHold, |m| {
            figure(m, &[("caches that serve several processors", 1.0)])
        }),
        row("D3", PROCESSORS, Untestable, |m| figure(m, &[("processors", 1.0)]))
            .says("the system has only one processor"),
    ]
}
