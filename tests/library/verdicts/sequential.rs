//! Figures 3.10, 3.11 and 3.13.

use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};
use linefill::experiment::{Machine, Range};

use super::planted::{Planted, Row, Value, by_level, noisy, row, time};

const LATENCY: &str = ".1";
const HIDDEN: &str = ".2";
const LEVELS: &str = ".3";
const HALFWAY: &str = ".4";
const APART: &str = ".1";
const LINE: &str = ".2";
const WRITES: &str = ".1";
const WRITE_BACK: &str = ".2";
const ADDNEXT: &str = ".3";
const AS_FOLLOW: &str = ".4";
const SOONER: &str = ".5";

/// Figure 3.10: `near` times the published latency in L1d, and `far` times this time in memory.
fn walk(machine: &Machine, near: f64, far: f64) -> Planted {
    let near = near * f64::from(machine.load_to_use.expect("is known"));
    let far = near * far;
    Planted::new("D14", machine, |_, x| time(by_level(machine, x, [near, near, near, far])))
}

/// Figure 3.10 with these times per step, level by level.
fn plateaus(machine: &Machine, costs: [f64; 4]) -> Planted {
    Planted::new("D14", machine, |_, x| time(by_level(machine, x, costs)))
}

/// Figure 3.11: core cycles per step in memory for NPAD 0, 7, 15 and 31.
fn apart(machine: &Machine, costs: [f64; 4]) -> Planted {
    Planted::new("D15", machine, |series, x| {
        let npads = ["NPAD=0", "NPAD=7", "NPAD=15", "NPAD=31"];
        let index = npads.iter().position(|npad| *npad == series);
        let cost = costs[index.expect("a series")];
        time(by_level(machine, x, [5.0, 5.0, 5.0, cost]))
    })
}

/// Figure 3.13: the ratios of Inc and Addnext0 to Follow, level by level.
fn writes(machine: &Machine, inc: [f64; 4], addnext0: [f64; 4]) -> Planted {
    Planted::new("D17", machine, |series, x| {
        time(match series {
            "Inc" => 10.0 * by_level(machine, x, inc),
            "Addnext0" => 10.0 * by_level(machine, x, addnext0),
            _ => 10.0,
        })
    })
}

fn holds(range: Range) -> impl Fn(&str, f64) -> bool {
    move |_, x| range.holds(x)
}

pub fn rows() -> Vec<Row> {
    vec![
        row("D14", LATENCY, Holds, |m| walk(m, 1.0, 2.0)),
        row("D14", LATENCY, DoesNotHold, |m| walk(m, 1.25, 2.0)),
        row("D14", LATENCY, DoesNotHold, |m| walk(m, 0.75, 2.0)),
        row("D14", LATENCY, Inconclusive, |m| walk(m, 1.1, 2.0)),
        row("D14", LATENCY, Untestable, |m| {
            let unknown = Machine { load_to_use: None, ..m.clone() };
            walk(m, 1.0, 2.0).on(unknown)
        })
        .says("no published load-to-use latency for this CPU; measured"),
        // 3.6 times as many core cycles, each of them longer.
        row("D14", HIDDEN, DoesNotHold, |m| walk(m, 1.0, 4.5).with_clock_in_memory(0.8))
            .says("4.5"),
        row("D14", HIDDEN, Holds, |m| walk(m, 1.0, 3.0)),
        row("D14", HIDDEN, DoesNotHold, |m| walk(m, 1.0, 5.0)).says("memory over L1d: 5."),
        row("D14", HIDDEN, Inconclusive, |m| walk(m, 1.0, 4.0)),
        row("D14", HIDDEN, Untestable, |m| walk(m, 1.0, 2.0).without(holds(m.ranges.memory)))
            .says("`NPAD=0` was not measured at"),
        row("D14", HIDDEN, Holds, |m| walk(m, 1.0, 1.5))
            .says("(claimed: below 4); the prefetchers keep up with the walk"),
        row("D14", LEVELS, Holds, |m| {
            plateaus(m, [5.0, 10.0, 10.0, 12.0]).with_clock_in_memory(0.8)
        })
        .says("memory over L2: 1.20"),
        row("D14", LEVELS, Holds, |m| plateaus(m, [4.0, 8.0, 8.5, 9.1])),
        row("D14", LEVELS, DoesNotHold, |m| plateaus(m, [4.0, 4.1, 4.5, 9.1]))
            .says("L2 over L1d: 1.0"),
        row("D14", LEVELS, DoesNotHold, |m| plateaus(m, [4.0, 8.0, 8.0, 8.0]))
            .says("memory over L2: 1.0"),
        row("D14", LEVELS, Inconclusive, |m| plateaus(m, [4.0, 4.4, 8.0, 9.0])),
        row("D14", LEVELS, Untestable, |m| {
            plateaus(m, [4.0, 8.0, 8.5, 9.1]).without(holds(m.ranges.l2))
        }),
        // On the planted machines, a random access to L2 takes 14 or 16 cycles.
        row("D14", HALFWAY, Holds, |m| plateaus(m, [4.0, 8.0, 8.5, 9.1])),
        row("D14", HALFWAY, DoesNotHold, |m| plateaus(m, [4.0, 14.0, 14.0, 14.0])),
        row("D14", HALFWAY, Inconclusive, |m| {
            let l2 = m.ranges.l2;
            let access = m.ladder.iter().find(|rung| l2.holds(rung.working_set));
            plateaus(m, [0.75 * access.unwrap().cost.middle(); 4])
        }),
        row("D14", HALFWAY, Untestable, |m| {
            let mut without = m.clone();
            without.ladder.clear();
            plateaus(m, [4.0, 8.0, 8.5, 9.1]).on(without)
        })
        .says("the ladder of working sets has no point"),
        row("D15", APART, Holds, |m| apart(m, [6.0, 14.0, 26.0, 40.0])),
        row("D15", APART, DoesNotHold, |m| apart(m, [6.0, 14.0, 26.0, 20.0]))
            .says("NPAD=31 over NPAD=15: 0.77"),
        row("D15", APART, DoesNotHold, |m| apart(m, [6.0, 14.0, 26.0, 26.0])),
        row("D15", APART, Inconclusive, |m| apart(m, [6.0, 14.0, 26.0, 28.6])),
        row("D15", APART, Untestable, |m| {
            apart(m, [6.0; 4]).without(|series, _| series == "NPAD=15")
        })
        .says("no point of `NPAD=15` was measured"),
        row("D15", LINE, Holds, |m| apart(m, [6.0, 14.0, 26.0, 40.0])),
        row("D15", LINE, DoesNotHold, |m| apart(m, [6.0, 9.0, 26.0, 40.0]))
            .says("the prefetchers bring whole lines nearly as fast"),
        row("D15", LINE, Inconclusive, |m| apart(m, [6.0, 12.0, 26.0, 40.0])),
        row("D15", LINE, Untestable, |m| {
            Planted::new("D15", m, |_, _| Value::Untestable("stopped"))
        })
        .says("stopped"),
        // The walk over words takes longer for a line than the walk over lines.
        row("D15", LINE, DoesNotHold, |m| apart(m, [17.0, 18.0, 60.0, 70.0]))
            .says("memory holds up the walk over words itself"),
        row("D15", APART, Holds, |m| apart(m, [17.0, 20.0, 60.0, 70.0]))
            .says("memory holds up the walk over words itself"),
        row("D17", WRITES, Holds, |m| writes(m, [1.0, 1.0, 1.2, 1.5], [1.0; 4])),
        // The last level is none of the document's.
        row("D17", WRITES, Holds, |m| writes(m, [1.0, 1.0, 0.9, 1.5], [1.0; 4]))
            .says("in the last level"),
        row("D17", WRITES, DoesNotHold, |m| writes(m, [1.0, 1.0, 1.2, 1.0], [1.0; 4]))
            .says("Inc over Follow in memory: 1.00"),
        row("D17", WRITES, Inconclusive, |m| writes(m, [1.0, 1.0, 1.2, 1.1], [1.0; 4])),
        // A shared last level may not be measured at all.
        row("D17", WRITES, Holds, |m| {
            writes(m, [1.0, 1.0, 0.9, 1.5], [1.0; 4]).without(holds(m.ranges.llc))
        }),
        row("D17", WRITES, Untestable, |m| {
            writes(m, [1.0; 4], [1.0; 4]).without(holds(m.ranges.memory))
        })
        .says("`Inc` and `Follow` have no point in common"),
        row("D17", WRITE_BACK, Holds, |m| writes(m, [1.0, 1.0, 1.1, 1.5], [1.0; 4])),
        row("D17", WRITE_BACK, DoesNotHold, |m| writes(m, [1.0, 1.0, 1.1, 1.1], [1.0; 4])),
        row("D17", WRITE_BACK, DoesNotHold, |m| writes(m, [1.0, 1.0, 1.1, 3.5], [1.0; 4])),
        row("D17", WRITE_BACK, Inconclusive, |m| writes(m, [1.0, 1.0, 1.1, 3.0], [1.0; 4])),
        row("D17", WRITE_BACK, Untestable, |m| {
            writes(m, [1.0; 4], [1.0; 4]).without(|series, _| series == "Follow")
        })
        .says("no point of `Follow` was measured"),
        // Walks of equal cost count as holding, because 5 % are allowed.
        row("D17", ADDNEXT, Holds, |m| writes(m, [1.0; 4], [1.0; 4])),
        row("D17", ADDNEXT, DoesNotHold, |m| writes(m, [1.0; 4], [1.0, 1.2, 1.0, 1.0])),
        row("D17", ADDNEXT, Inconclusive, |m| {
            Planted::new("D17", m, |series, _| match series {
                "Addnext0" => noisy(10.5, 0.02),
                _ => time(10.0),
            })
        }),
        row("D17", ADDNEXT, Untestable, |m| {
            writes(m, [1.0; 4], [1.0; 4]).without(holds(m.ranges.l2))
        }),
        row("D17", AS_FOLLOW, Holds, |m| writes(m, [1.2; 4], [1.0; 4])),
        row("D17", AS_FOLLOW, DoesNotHold, |m| writes(m, [1.2; 4], [1.3; 4])),
        row("D17", AS_FOLLOW, Inconclusive, |m| writes(m, [1.2; 4], [1.1; 4])),
        row("D17", AS_FOLLOW, Untestable, |m| {
            writes(m, [1.0; 4], [1.0; 4]).without(holds(m.ranges.l2))
        }),
        row("D17", SOONER, Holds, |m| writes(m, [1.0; 4], [1.0, 1.0, 1.3, 1.0])),
        row("D17", SOONER, DoesNotHold, |m| writes(m, [1.0; 4], [1.3, 1.3, 0.9, 1.3])),
        row("D17", SOONER, Inconclusive, |m| writes(m, [1.0; 4], [1.0, 1.0, 1.02, 1.0])),
        row("D17", SOONER, Untestable, |m| {
            let mut unknown = m.clone();
            unknown.ranges.capacities[1].reported = None;
            unknown.ranges.capacities[1].measured = None;
            writes(m, [1.0; 4], [1.0; 4]).on(unknown)
        })
        .says("no working set of twice the size of L2"),
        // Inc is slower in L2 already, and is still slower beyond it.
        row("D17", SOONER, Holds, |m| writes(m, [1.0, 1.3, 1.6, 1.0], [1.0, 1.0, 1.5, 1.0]))
            .says("growth of Addnext0 from L2 to"),
        // A bad point in L1d says nothing about L2.
        row("D17", SOONER, Holds, |m| {
            Planted::new("D17", m, |series, x| match series {
                _ if m.ranges.l1.holds(x) => noisy(0.0, 1.0),
                "Addnext0" => time(10.0 * by_level(m, x, [1.0, 1.0, 1.3, 1.0])),
                _ => time(10.0),
            })
        }),
    ]
}
