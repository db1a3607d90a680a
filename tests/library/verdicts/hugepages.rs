//! Figure 7.9.

use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};
use linefill::experiment::{Machine, Ranges};

use super::machines::{KIB, MIB, with_dtlb, with_memory};
use super::planted::{Planted, Row, Value, row, time};

const MEMORY: &str = ".1";
const L2: &str = ".2";
const GIANT: &str = ".3";

/// The ratio of 4 KiB pages to larger ones: up to 2^20 bytes, and beyond. Nothing is known of the machine's
/// TLBs, so that 2^20 bytes are needed to exceed the first.
fn planted(machine: &Machine, near: f64, far: f64) -> Planted {
    Planted::new("F4", machine, |series, x| {
        let gain = if x > MIB { far } else { near };
        match series {
            "4 KiB pages" => time(100.0 * gain),
            _ => time(100.0),
        }
    })
}

/// A machine whose L1 dTLB has `entries` entries. Walks over more 4 KiB pages take 1.5 times as long as in
/// larger pages.
fn first_tlb(machine: &Machine, entries: u32) -> Planted {
    Planted::new("F4", &with_dtlb(machine, entries), |series, x| {
        let missed = series == "4 KiB pages" && x > f64::from(entries) * 4.0 * KIB;
        time(if missed { 150.0 } else { 100.0 })
    })
}

/// The same machine with a last level of 8 MiB.
fn desktop(machine: &Machine) -> Machine {
    let reported = [32.0 * KIB, 256.0 * KIB, 8.0 * MIB].map(Some);
    Machine { ranges: Ranges::from_ladder(&[], reported), ..machine.clone() }
}

fn without(machine: &Machine, pages: &'static str, reason: &'static str) -> Planted {
    Planted::new("F4", machine, |series, _| {
        if series == pages { Value::Untestable(reason) } else { time(100.0) }
    })
}

pub fn rows() -> Vec<Row> {
    vec![
        row("F4", MEMORY, Holds, |m| planted(m, 1.0, 1.5)),
        row("F4", MEMORY, DoesNotHold, |m| planted(m, 1.5, 1.0)),
        row("F4", MEMORY, Inconclusive, |m| planted(m, 1.5, 1.1)),
        row("F4", MEMORY, Untestable, |m| without(m, "2 MiB pages", "no 2 MiB pages"))
            .says("no 2 MiB pages"),
        row("F4", MEMORY, Untestable, |m| {
            let largest = 1 << 22;
            let small = Machine { largest, ..m.clone() };
            planted(&small, 1.0, 1.5)
        }),
        // Memory begins at 32 MiB, and TLBs reach farther.
        row("F4", MEMORY, Holds, |m| planted(&desktop(m), 1.0, 1.5)),
        row("F4", MEMORY, Untestable, |m| {
            let small = with_memory(&desktop(m), 48 << 20);
            planted(&small, 1.0, 1.5)
        })
        .says("needs 64 MiB to be far beyond the reach of every TLB, and this run has 48 MiB"),
        row("F4", L2, Holds, |m| planted(m, 1.5, 1.0)),
        row("F4", L2, DoesNotHold, |m| planted(m, 1.0, 1.5)),
        row("F4", L2, Inconclusive, |m| planted(m, 1.2, 1.5)),
        // As many entries as a Pentium 4, a Zen 5 and a Lion Cove have.
        row("F4", L2, Holds, |m| first_tlb(m, 64)).says("a working set of 512 KiB"),
        row("F4", L2, Holds, |m| first_tlb(m, 96)).says("a working set of 768 KiB"),
        row("F4", L2, Holds, |m| first_tlb(m, 128)).says("a working set of 1024 KiB"),
        row("F4", L2, Untestable, |m| planted(&desktop(m), 1.5, 1.0))
            .says("1024 KiB miss the L1 dTLB, and L2 holds 256 KiB"),
        row("F4", L2, Untestable, |m| planted(m, 1.5, 1.5).without(|_, x| x == MIB))
            .says("no point in common"),
        row("F4", GIANT, Holds, |m| planted(m, 1.0, 1.5)),
        row("F4", GIANT, DoesNotHold, |m| planted(m, 1.5, 1.0)),
        row("F4", GIANT, Inconclusive, |m| planted(m, 1.0, 1.1)),
        row("F4", GIANT, Untestable, |m| without(m, "1 GiB pages", "no 1 GiB pages"))
            .says("no 1 GiB pages"),
    ]
}
