//! Figures 3.4 and 3.15.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};
use linefill::stats::Interval;

use super::machines::{guest, server};
use super::planted::{Planted, Row, Value, by_level, noisy, row, time};

const TWENTY: &str = ".1";
const STEPS: &str = ".2";
const TEN: &str = ".1";
const RISES: &str = ".2";

/// Figure 3.4: the time of a random write on each level.
fn levels(machine: &Machine, costs: [f64; 4]) -> Planted {
    Planted::new("D8", machine, |_, x| time(by_level(machine, x, costs)))
}

/// Figure 3.15: the ratio of a random step to a sequential one in memory, which rises by `rise` per octave.
fn random(machine: &Machine, gap: f64, rise: f64) -> Planted {
    let from = machine.ranges.memory.lo;
    Planted::new("D19", machine, |series, x| match series {
        "sequential" => time(10.0),
        _ if x < from => time(5.0),
        _ => time(10.0 * gap * rise.powf((x / from).log2())),
    })
}

pub fn rows() -> Vec<Row> {
    vec![
        row("D8", TWENTY, Holds, |m| levels(m, [5.0, 16.0, 70.0, 400.0])),
        row("D8", TWENTY, Holds, |m| levels(m, [5.0, 16.0, 70.0, 110.0]).with_clock_in_memory(0.8))
            .says("memory over L1d: 22.0"),
        row("D8", TWENTY, DoesNotHold, |m| levels(m, [5.0, 16.0, 40.0, 80.0])),
        row("D8", TWENTY, Inconclusive, |m| levels(m, [5.0, 16.0, 70.0, 100.0])),
        row("D8", TWENTY, Untestable, |m| {
            let memory = m.ranges.memory;
            levels(m, [5.0, 16.0, 70.0, 400.0]).without(|_, x| memory.holds(x))
        }),
        row("D8", STEPS, Holds, |m| levels(m, [5.0, 16.0, 70.0, 400.0])),
        row("D8", STEPS, DoesNotHold, |m| levels(m, [5.0; 4])).says("the curve has no step"),
        row("D8", STEPS, DoesNotHold, |m| {
            // L1d as reported by CPUID, but a step at an eighth of it.
            let early = m.ranges.l1.hi / 4.0;
            Planted::new("D8", m, |_, x| {
                let near = if x <= early { 5.0 } else { 16.0 };
                time(by_level(m, x, [near, 16.0, 70.0, 400.0]))
            })
        })
        .says("KiB of L1d"),
        row("D8", STEPS, DoesNotHold, |m| levels(m, [5.0, 16.0, 16.5, 17.0]))
            .says("MiB of the last level"),
        // Other guests may use the last level of a virtual machine.
        row("D8", STEPS, Untestable, |m| levels(&guest(m), [5.0, 16.0, 16.5, 17.0]))
            .says("other guests may have used the last level"),
        row("D8", STEPS, Untestable, |m| {
            // A larger last level than the ladder found, as if other cores had used it then.
            let room = 3.0 * m.ranges.capacities[2].usable();
            Planted::new("D8", m, |_, x| {
                let memory = if x > room { 400.0 } else { 70.0 };
                time(by_level(m, x, [5.0, 16.0, 70.0, memory]))
            })
        })
        .says("other cores may have used the last level"),
        row("D8", STEPS, Inconclusive, |m| {
            // The lower ends of the intervals are the same: the noise is as large as the steps.
            Planted::new("D8", m, |_, x| {
                let cost = by_level(m, x, [5.0, 16.0, 70.0, 400.0]);
                Value::Timed(Interval::new(1.0, 2.0 * cost - 1.0))
            })
        })
        .says("if the curve has a step at all"),
        row("D8", STEPS, Untestable, |m| {
            let mut unknown = m.clone();
            for capacity in &mut unknown.ranges.capacities {
                capacity.reported = None;
                capacity.measured = None;
            }
            levels(m, [5.0, 16.0, 70.0, 400.0]).on(unknown)
        })
        .says("neither CPUID nor the ladder of working sets gives the size of cache level 1"),
        row("D8", STEPS, Untestable, |m| {
            let memory = m.ranges.memory;
            levels(m, [5.0, 16.0, 70.0, 400.0]).without(|_, x| memory.holds(x))
        })
        .says("no working set beyond the last-level cache"),
        // L2 is the last level.
        row("D8", STEPS, Holds, |_| {
            let mut model = server();
            model.levels.truncate(2);
            levels(&model.machine(), [5.0, 16.0, 16.0, 400.0])
        })
        .says("2 MiB of the last level"),
        row("D19", TEN, Holds, |m| random(m, 20.0, 1.2)),
        row("D19", TEN, DoesNotHold, |m| random(m, 4.0, 1.2)),
        row("D19", TEN, Inconclusive, |m| random(m, 10.0, 1.0)),
        row("D19", TEN, Untestable, |m| {
            random(m, 20.0, 1.2).without(|series, _| series == "sequential")
        })
        .says("no point of `sequential` was measured"),
        row("D19", RISES, Holds, |m| random(m, 20.0, 1.4)),
        row("D19", RISES, DoesNotHold, |m| random(m, 20.0, 1.0)),
        // In a full run there are several doublings. The first alone gives a mean of 1.26.
        row("D19", RISES, DoesNotHold, |m| {
            let machine = Machine { full: true, ..m.clone() };
            let first = machine.in_memory() as f64;
            Planted::new("D19", &machine, move |series, x| match series {
                "sequential" => time(10.0),
                _ => time(400.0 * 2f64.powf((x / first).log2().clamp(0.0, 1.0))),
            })
        })
        .says("least growth per doubling, from 256 to 1024 MiB: 1.00"),
        row("D19", RISES, Inconclusive, |m| Planted::new("D19", m, |_, _| noisy(400.0, 0.2))),
        row("D19", RISES, Untestable, |m| {
            let memory = m.ranges.memory;
            let first = m.working_sets().into_iter().find(|bytes| memory.holds(*bytes as f64));
            let first = first.expect("a working set in memory") as f64;
            random(m, 20.0, 1.4).without(|_, x| x > first)
        })
        .says("the claim needs two working sets"),
    ]
}
