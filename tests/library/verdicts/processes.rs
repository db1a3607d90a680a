//! A process next to another process: Drepper's Figure 3.31.

use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};
use linefill::experiment::{CpuOrder, Machine, Ranges};

use super::machines::first_cpu_only;
use super::planted::{Planted, Row, noisy, row, time};
use super::siblings;

const READ_FALLS: &str = ".1";
const WRITE_FALLS: &str = ".2";
const READ_ORDER: &str = ".3";
const WRITE_ORDER: &str = ".4";
const READ_TAKEN: &str = ".5";
const WRITE_TAKEN: &str = ".6";

/// The bandwidth is 10, and falls to 5 above these shares of the cache: alone, next to a reader, and next to
/// a writer.
fn falls(machine: &Machine, shares: [f64; 3]) -> Planted {
    falls_to(machine, shares, 5.0)
}

/// The same, where it falls to `to` next to a writer.
fn falls_to(machine: &Machine, shares: [f64; 3], to: f64) -> Planted {
    let cache = machine.ranges.capacities[2].reported.expect("is known");
    Planted::new("D44", machine, |series, x| {
        let (share, fallen) = match series.split_once(", ").expect("names both").1 {
            "alone" => (shares[0], 5.0),
            "beside a reader" => (shares[1], 5.0),
            _ => (shares[2], to),
        };
        time(if x > share * cache { fallen } else { 10.0 })
    })
}

/// Up to the cache's size the bandwidth is 10 alone, and these values next to a reader and next to a writer.
/// Beyond it, it is 2.
fn half(machine: &Machine, [reader, writer]: [f64; 2]) -> Planted {
    let cache = machine.ranges.capacities[2].reported.expect("is known");
    Planted::new("D44", machine, |series, x| {
        if x > cache {
            return time(2.0);
        }
        time(match series.split_once(", ").expect("names both").1 {
            "alone" => 10.0,
            "beside a reader" => reader,
            _ => writer,
        })
    })
}

/// The machine with its first core only, whose two threads share an L2 of 2 MiB.
fn one_core(machine: &Machine) -> Machine {
    let locations = siblings::with(machine).cpu_order.locations().to_vec();
    let first = locations.iter().filter(|location| location.core == 0).copied();
    Machine { cpu_order: CpuOrder::around(None, first.collect()), ..machine.clone() }
}

/// The machine with a last level of so many times its L2.
fn with_last_level(machine: &Machine, times: f64) -> Machine {
    let mut reported = [0, 1, 2].map(|level| machine.ranges.capacities[level].reported);
    reported[2] = reported[1].map(|bytes| times * bytes);
    Machine { ranges: Ranges::from_ladder(&[], reported), ..machine.clone() }
}

pub fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for claim in [READ_FALLS, WRITE_FALLS] {
        rows.extend([
            row("D44", claim, Holds, |m| falls(m, [1.1, 0.6, 0.3])),
            row("D44", claim, DoesNotHold, |m| falls(m, [0.3, 0.6, 1.1])),
            // The bandwidth does not fall.
            row("D44", claim, DoesNotHold, |m| falls(m, [0.3, 0.6, 9.0])),
            row("D44", claim, DoesNotHold, |m| falls(m, [0.6, 0.6, 0.6])),
            // To 0.8 of the plateau.
            row("D44", claim, Inconclusive, |m| falls_to(m, [1.1, 0.6, 0.3], 8.0)),
            row("D44", claim, Untestable, |m| falls(m, [9.0, 0.6, 0.3]))
                .says("does not clearly fall"),
            row("D44", claim, Untestable, |m| falls(&first_cpu_only(m), [1.1, 0.6, 0.3]))
                .says("no two CPUs share a cache"),
            // An eighth of the cache fits L2, from which the bandwidth falls to 5 wherever another process runs.
            row("D44", claim, Untestable, |m| falls(&with_last_level(m, 6.0), [0.3, 0.3, 0.3]))
                .says("may lie in the level before it"),
            row("D44", claim, Untestable, |m| falls(&with_last_level(m, 8.0), [0.2, 0.2, 0.2]))
                .says("does not clearly fall"),
            row("D44", claim, Holds, |m| falls(&with_last_level(m, 8.0), [1.1, 0.6, 0.3])),
            row("D44", claim, Holds, |m| {
                let core = one_core(m);
                let l2 = core.ranges.capacities[1].reported.expect("is known");
                Planted::new("D44", &core, |series, x| {
                    let share = if series.contains("writer") { 0.3 } else { 1.1 };
                    time(if x > share * l2 { 5.0 } else { 10.0 })
                })
            }),
        ]);
    }
    for claim in [READ_ORDER, WRITE_ORDER] {
        rows.extend([
            row("D44", claim, Holds, |m| half(m, [8.0, 6.0])),
            row("D44", claim, DoesNotHold, |m| half(m, [6.0, 8.0]))
                .says("beside a writer over beside a reader: 1.33"),
            // A reader takes as much of the cache as a writer.
            row("D44", claim, DoesNotHold, |m| half(m, [5.0, 5.0])),
            // As the figure, the claim says nothing about a process alone.
            row("D44", claim, Holds, |m| half(m, [10.0, 6.0])),
            row("D44", claim, Inconclusive, |m| half(m, [10.0, 9.0])),
        ]);
    }
    for claim in [READ_TAKEN, WRITE_TAKEN] {
        rows.extend([
            row("D44", claim, Holds, |m| half(m, [5.0, 5.0]))
                .says("beside a reader over alone: 0.50"),
            row("D44", claim, DoesNotHold, |m| half(m, [12.0, 6.0])),
            row("D44", claim, DoesNotHold, |m| half(m, [10.0, 6.0])),
            row("D44", claim, Inconclusive, |m| half(m, [9.0, 6.0])),
        ]);
    }
    for claim in [READ_ORDER, WRITE_ORDER, READ_TAKEN, WRITE_TAKEN] {
        rows.extend([
            // Memory has the same bandwidth as half of the cache.
            row("D44", claim, Untestable, |m| Planted::new("D44", m, |_, _| time(10.0)))
                .says("no part of this cache to share"),
            row("D44", claim, Untestable, |m| {
                half(m, [8.0, 6.0]).without(|series, _| series.ends_with("reader"))
            })
            .says("was not measured at"),
            // They share ports: a slower thread says nothing about the cache.
            row("D44", claim, Untestable, |m| {
                let core = one_core(m);
                let l2 = core.ranges.capacities[1].reported.expect("is known");
                Planted::new("D44", &core, |series, x| match x {
                    x if x > l2 => time(2.0),
                    _ if series.ends_with("alone") => time(10.0),
                    _ if series.ends_with("writer") => time(4.0),
                    _ => time(6.0),
                })
            })
            .says("threads of one core"),
            // Half of the cache hardly leaves L2.
            row("D44", claim, Untestable, |m| half(&with_last_level(m, 3.0), [8.0, 6.0]))
                .says("may lie in the level before it"),
        ]);
    }
    rows
}

/// If noise hides a fall, there is none.
#[test]
fn noise_hides_a_fall() {
    let machine = super::machines::server().machine();
    let planted = Planted::new("D44", &machine, |_, _| noisy(10.0, 0.5));
    for claim in &planted.experiment.claims[..2] {
        let verdict = claim.decide(&planted.evidence()).verdict;
        assert_eq!(verdict, Untestable, "{}", claim.text);
    }
}
