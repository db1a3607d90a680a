//! Reads, writes and copies by one core: Drepper 3.5.1.

use linefill::cpu::Core;
use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};
use linefill::stats::Interval;

use super::machines::{guest, with_dtlb, with_reported_dtlb};
use super::planted::{Planted, Row, Value, by_level, row, time};

const LOADS: &str = ".1";
const STORES: &str = ".2";
const WRITE_BACK: &str = ".3";
const COPY: &str = ".4";

const L2: &str = ".1";
const THROUGH: &str = ".2";
const MEMORY: &str = ".3";
const COPY_WRITE: &str = ".4";
const DTLB: &str = ".5";

const KEEPS: &str = ".1";
const TEN: &str = ".2";
const WRITE_L2: &str = ".3";
const SAME: &str = ".4";

const BALANCE: &str = ".1";
const TENTH: &str = ".2";
const COPY_L1: &str = ".3";
const WRITE_MEMORY: &str = ".4";

/// The width in the label of a series, in bytes.
fn width(series: &str) -> Option<usize> {
    let (_, width) = series.rsplit_once(", ")?;
    width.strip_suffix(" B")?.parse().ok()
}

/// D35 with vectors that reach these shares of the ports' limit.
fn shares(m: &Machine, reads: f64, writes: f64) -> Planted {
    let ports = m.ports.expect("is known");
    Planted::new("D35", m, |series, _| {
        let width = width(series).unwrap_or(16);
        let limit = |bytes: Option<u32>| f64::from(bytes.expect("is a vector"));
        time(match series.split(',').next() {
            Some("read") => reads * limit(ports.read(width)),
            _ => writes * limit(ports.write(width)),
        })
    })
}

/// D35 with the same bandwidths at every width: reads, writes and copies in L1d, L2, the last level and
/// memory.
fn levels(m: &Machine, [read, write, copy]: [[f64; 4]; 3]) -> Planted {
    Planted::new("D35", m, |series, x| {
        time(match series.split(',').next() {
            Some("read") => by_level(m, x, read),
            Some("write") => by_level(m, x, write),
            _ => by_level(m, x, copy),
        })
    })
}

/// Reads, writes and copies that are equally fast but in the last level, where copies are faster.
const COPIED_IN_LLC: [[f64; 4]; 3] = [[8.0; 4], [4.0; 4], [3.0, 3.0, 5.0, 3.0]];

/// D35 with no bytes per cycle of `what` in L1d.
fn without_clock(m: &Machine, what: &str) -> Planted {
    Planted::new("D35", m, |series, x| match m.ranges.l1.holds(x) && series == what {
        true => Value::WithoutCoreClock(Interval::exact(100.0)),
        false => time(100.0),
    })
}

/// A figure with these bandwidths per level.
fn figure(id: &str, m: &Machine, [read, write, copy]: [[f64; 4]; 3]) -> Planted {
    Planted::new(id, m, |series, x| {
        let levels = match series {
            "read, 16 B" => read,
            "write, 16 B" => write,
            _ => copy,
        };
        time(by_level(m, x, levels))
    })
}

/// The paper's values.
const PENTIUM_4: [[f64; 4]; 3] =
    [[15.8, 5.7, 5.3, 5.3], [3.55, 3.55, 0.6, 0.55], [3.1, 2.7, 0.6, 0.55]];
const CORE_2: [[f64; 4]; 3] =
    [[16.0, 15.9, 15.5, 15.4], [15.4, 6.6, 0.7, 0.55], [15.4, 5.0, 0.7, 0.55]];
const OPTERON: [[f64; 4]; 3] =
    [[35.7, 2.4, 2.4, 2.4], [18.8, 6.0, 2.9, 0.55], [8.9, 1.4, 1.3, 0.55]];

/// Figure 3.24 on a machine whose L1 dTLB has `entries` entries. Reads reach 5.7 bytes per cycle within its
/// reach, and `beyond` bytes per cycle beyond it.
fn beyond_the_dtlb(m: &Machine, entries: u32, beyond: f64) -> Planted {
    let machine = with_dtlb(m, entries);
    Planted::new("D36", &machine, |series, _| {
        time(if series.starts_with("read, 5/4") { beyond } else { 5.7 })
    })
}

/// Figure 3.24 on a core whose L1 dTLB has `has` entries and of which CPUID reports `reported`. Reads are slower
/// only beyond what these entries reach.
fn on_core(m: &Machine, name: &str, has: u32, reported: u32) -> Planted {
    let core = Core::named(name).expect("is known");
    let machine = with_reported_dtlb(m, reported, Some(core));
    Planted::new("D36", &machine, |series, reach| {
        let pages = reach / 4096.0;
        let beyond = series.starts_with("read, 5/4") && pages * 1.25 > f64::from(has);
        time(if beyond { 5.3 } else { 5.7 })
    })
}

/// Reads of 2 bytes per cycle, writes and copies of 1, except `what`, which has `levels`.
fn but(id: &str, m: &Machine, what: &str, levels: [f64; 4]) -> Planted {
    let series = format!("{what}, 16 B");
    Planted::new(id, m, |found, x| {
        time(match found {
            found if found == series => by_level(m, x, levels),
            "read, 16 B" => 2.0,
            _ => 1.0,
        })
    })
}

/// `what` was not measured.
fn missing(id: &str, m: &Machine, what: &str) -> Planted {
    figure(id, m, CORE_2).without(|series, _| series.starts_with(what))
}

pub fn rows() -> Vec<Row> {
    let mut rows = program();
    rows.extend(fig_3_24());
    rows.extend(fig_3_26());
    rows.extend(fig_3_28());
    rows
}

fn program() -> Vec<Row> {
    vec![
        row("D35", LOADS, Holds, |m| shares(m, 0.94, 1.0)).says("64-byte reads"),
        row("D35", LOADS, DoesNotHold, |m| shares(m, 0.6, 1.0)),
        row("D35", LOADS, Inconclusive, |m| shares(m, 0.8, 1.0)),
        row("D35", LOADS, Untestable, |m| {
            let unknown = Machine { ports: None, ..m.clone() };
            shares(m, 0.9, 0.9).on(unknown)
        })
        .says("not in the table of cores"),
        // A CPU without wide vectors is judged by the vectors that it has.
        row("D35", LOADS, Holds, |m| {
            Planted::new("D35", m, |series, _| match width(series) {
                Some(32 | 64) => Value::Untestable("this CPU lacks"),
                _ => time(47.0),
            })
        })
        .says("16-byte reads"),
        // A width that the CPU has is not passed over because it has no value in L1d.
        row("D35", LOADS, Untestable, |m| without_clock(m, "read, 64 B")).says("read, 64 B at "),
        row("D35", STORES, Holds, |m| shares(m, 1.0, 0.94)).says("64-byte writes"),
        row("D35", STORES, DoesNotHold, |m| shares(m, 1.0, 0.6)),
        row("D35", STORES, Inconclusive, |m| shares(m, 1.0, 0.8)),
        row("D35", STORES, Untestable, |m| {
            shares(m, 1.0, 1.0).without(|series, _| series == "write, 16 B")
        })
        .says("no point of `write, 16 B`"),
        row("D35", WRITE_BACK, Holds, |m| levels(m, CORE_2)),
        row("D35", WRITE_BACK, DoesNotHold, |m| {
            levels(m, [[8.0; 4], [6.0, 5.0, 4.0, 3.0], [1.0; 4]])
        }),
        row("D35", WRITE_BACK, Inconclusive, |m| {
            levels(m, [[8.0; 4], [8.0, 5.0, 4.0, 2.0], [1.0; 4]])
        }),
        row("D35", WRITE_BACK, Untestable, |m| {
            levels(m, CORE_2).without(|series, _| series.starts_with("write"))
        }),
        // The widest vectors that exist count.
        row("D35", WRITE_BACK, Holds, |m| {
            levels(m, CORE_2).without(|series, _| width(series) == Some(64))
        })
        .says("32-byte writes"),
        row("D35", WRITE_BACK, Untestable, |m| without_clock(m, "write, 64 B"))
            .says("write, 64 B at "),
        row("D35", COPY, Holds, |m| levels(m, PENTIUM_4)),
        row("D35", COPY, DoesNotHold, |m| levels(m, [[8.0; 4], [4.0; 4], [3.0, 5.0, 3.0, 3.0]]))
            .says("copies in L2: 1.25"),
        row("D35", COPY, DoesNotHold, |m| levels(m, COPIED_IN_LLC))
            .says("copies in the last level: 1.25"),
        // Other guests may have slowed the reads and the writes.
        row("D35", COPY, Untestable, |m| levels(&guest(m), COPIED_IN_LLC))
            .says("other guests may have used the last level"),
        // A machine whose last level has no point that is sure to lie there.
        row("D35", COPY, Holds, |m| {
            let llc = m.ranges.llc;
            levels(m, COPIED_IN_LLC).without(|_, x| llc.holds(x))
        }),
        row("D35", COPY, DoesNotHold, |m| levels(m, [[3.0; 4], [8.0; 4], [3.0, 3.0, 3.0, 6.0]]))
            .says("copies in memory: 2.00"),
        row("D35", COPY, Inconclusive, |m| levels(m, [[8.0; 4], [4.0; 4], [3.0, 4.4, 3.0, 3.0]])),
        row("D35", COPY, Untestable, |m| {
            levels(m, CORE_2).without(|series, _| series.starts_with("copy"))
        })
        .says("no point of `copy, 16 B`"),
    ]
}

fn fig_3_24() -> Vec<Row> {
    vec![
        row("D36", L2, Holds, |m| figure("D36", m, PENTIUM_4)),
        row("D36", L2, DoesNotHold, |m| figure("D36", m, CORE_2)),
        row("D36", L2, Inconclusive, |m| but("D36", m, "read", [4.0, 2.0, 1.0, 1.0])),
        row("D36", L2, Untestable, |m| missing("D36", m, "read")),
        row("D36", THROUGH, Holds, |m| figure("D36", m, PENTIUM_4)),
        row("D36", THROUGH, DoesNotHold, |m| figure("D36", m, OPTERON)),
        row("D36", THROUGH, Inconclusive, |m| but("D36", m, "read", [3.0, 1.0, 1.0, 1.0])),
        row("D36", THROUGH, Untestable, |m| missing("D36", m, "write")),
        row("D36", MEMORY, Holds, |m| figure("D36", m, PENTIUM_4)),
        row("D36", MEMORY, DoesNotHold, |m| figure("D36", m, OPTERON)),
        row("D36", MEMORY, Inconclusive, |m| but("D36", m, "read", [9.0, 7.0, 6.0, 5.0])),
        row("D36", MEMORY, Untestable, |m| missing("D36", m, "read")),
        row("D36", COPY_WRITE, Holds, |m| figure("D36", m, PENTIUM_4)),
        row("D36", COPY_WRITE, DoesNotHold, |m| but("D36", m, "copy", [1.0, 1.0, 1.0, 0.6])),
        row("D36", COPY_WRITE, Inconclusive, |m| but("D36", m, "copy", [1.0, 1.0, 1.0, 0.8])),
        row("D36", COPY_WRITE, Untestable, |m| missing("D36", m, "copy")),
        // 48 entries reach 192 KiB; two thirds and five quarters of this are in L2.
        row("D36", DTLB, Holds, |m| beyond_the_dtlb(m, 48, 5.3)),
        row("D36", DTLB, Holds, |m| on_core(m, "Golden Cove", 96, 64)),
        // Bulldozer has 32 entries and its successors 64: CPUID tells which.
        row("D36", DTLB, Holds, |m| on_core(m, "Bulldozer", 64, 64)),
        row("D36", DTLB, DoesNotHold, |m| beyond_the_dtlb(m, 48, 5.7)),
        row("D36", DTLB, Inconclusive, |m| beyond_the_dtlb(m, 48, 5.7 / 1.03)),
        row("D36", DTLB, Untestable, |m| figure("D36", m, PENTIUM_4))
            .says("not published, and CPUID does not report them"),
        row("D36", DTLB, Untestable, |m| beyond_the_dtlb(m, 4096, 5.3))
            .says("do not both lie in the"),
    ]
}

fn fig_3_26() -> Vec<Row> {
    vec![
        row("D38", KEEPS, Holds, |m| figure("D38", m, CORE_2)),
        row("D38", KEEPS, DoesNotHold, |m| figure("D38", m, PENTIUM_4)),
        row("D38", KEEPS, Inconclusive, |m| but("D38", m, "read", [10.0, 9.5, 9.5, 9.0])),
        row("D38", KEEPS, Untestable, |m| missing("D38", m, "read")),
        row("D38", TEN, Holds, |m| figure("D38", m, CORE_2)),
        row("D38", TEN, DoesNotHold, |m| figure("D38", m, PENTIUM_4)),
        row("D38", TEN, Inconclusive, |m| but("D38", m, "write", [10.0, 5.0, 2.0, 1.0])),
        row("D38", TEN, Untestable, |m| missing("D38", m, "write")),
        row("D38", WRITE_L2, Holds, |m| figure("D38", m, CORE_2)),
        row("D38", WRITE_L2, DoesNotHold, |m| figure("D38", m, PENTIUM_4)),
        row("D38", WRITE_L2, Inconclusive, |m| but("D38", m, "write", [10.0, 5.0, 2.0, 1.0])),
        row("D38", WRITE_L2, Untestable, |m| missing("D38", m, "write")),
        row("D38", SAME, Holds, |m| figure("D38", m, CORE_2)),
        row("D38", SAME, DoesNotHold, |m| figure("D38", m, OPTERON)),
        row("D38", SAME, Inconclusive, |m| but("D38", m, "write", [1.6, 1.0, 1.0, 1.0])),
        row("D38", SAME, Untestable, |m| missing("D38", m, "read")),
    ]
}

fn fig_3_28() -> Vec<Row> {
    vec![
        row("D40", BALANCE, Holds, |m| figure("D40", m, OPTERON)),
        row("D40", BALANCE, DoesNotHold, |m| figure("D40", m, CORE_2)),
        row("D40", BALANCE, Inconclusive, |m| but("D40", m, "read", [1.5, 1.0, 1.0, 1.0])),
        row("D40", BALANCE, Untestable, |m| missing("D40", m, "write")),
        row("D40", TENTH, Holds, |m| figure("D40", m, OPTERON)),
        row("D40", TENTH, DoesNotHold, |m| figure("D40", m, CORE_2)),
        row("D40", TENTH, Inconclusive, |m| but("D40", m, "read", [10.0, 1.0, 1.0, 1.0])),
        row("D40", TENTH, Untestable, |m| missing("D40", m, "read")),
        row("D40", COPY_L1, Holds, |m| figure("D40", m, OPTERON)),
        row("D40", COPY_L1, DoesNotHold, |m| figure("D40", m, CORE_2)),
        row("D40", COPY_L1, Inconclusive, |m| but("D40", m, "copy", [0.6, 1.0, 1.0, 1.0])),
        row("D40", COPY_L1, Untestable, |m| missing("D40", m, "copy")),
        row("D40", WRITE_MEMORY, Holds, |m| figure("D40", m, OPTERON)),
        row("D40", WRITE_MEMORY, DoesNotHold, |m| but("D40", m, "write", [9.0, 8.0, 5.0, 3.0])),
        row("D40", WRITE_MEMORY, Inconclusive, |m| but("D40", m, "write", [9.0, 5.0, 2.0, 1.0])),
        row("D40", WRITE_MEMORY, Untestable, |m| {
            Planted::new("D40", m, |_, _| Value::Untestable("no memory"))
        })
        .says("no memory"),
    ]
}

/// Every second power of two misses the range of an L2 that the ladder finds slightly smaller than 256 KiB.
#[test]
fn a_narrow_range_has_a_point_too() {
    let mut machine = super::machines::server().machine();
    machine.ranges.l2.lo = 65_536.0;
    machine.ranges.l2.hi = 120_000.0;
    for id in ["D35", "D36", "D37", "D38", "D39", "D40", "D41"] {
        let cases = (super::planted::experiment(id).cases)(&machine);
        let inside = cases.iter().any(|case| machine.ranges.l2.holds(case.x));
        assert!(inside, "{id}");
    }
}
