//! Figure 3.14.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};
use linefill::stats::Interval;

use super::machines::{MIB, guest};
use super::planted::{Planted, Row, Value, by_level, row, time};

const KNEE: &str = ".1";
const WORTH: &str = ".2";
const WHICH: &str = ".3";

fn levels(machine: &Machine, random: [f64; 4], sequential: [f64; 4]) -> Planted {
    Planted::new("D18", machine, |series, x| {
        let levels = match series.starts_with("random") {
            true => random,
            false => sequential,
        };
        time(by_level(machine, x, levels))
    })
}

const RANDOM: [f64; 4] = [5.0, 16.0, 70.0, 400.0];
const SEQUENTIAL: [f64; 4] = [4.0, 5.0, 6.0, 30.0];

fn random(machine: &Machine, levels_of_random: [f64; 4]) -> Planted {
    levels(machine, levels_of_random, SEQUENTIAL)
}

/// In memory, from twice the memory size on, each step takes three times as long. A full run measures there.
fn with_page_walks(machine: &Machine, levels_of_random: [f64; 4]) -> Planted {
    let full = Machine { full: true, ..machine.clone() };
    let far = machine.in_memory() as f64;
    Planted::new("D18", &full, |_, x| {
        let walks = if x > far { 3.0 } else { 1.0 };
        time(walks * by_level(machine, x, levels_of_random))
    })
}

/// The same machine, whose last level has `bytes` by CPUID, and `threads` that share it.
fn shared(machine: &Machine, bytes: Option<f64>, threads: u32) -> Machine {
    let mut machine = machine.clone();
    for cache in machine.caches.iter_mut().filter(|cache| cache.level == 3) {
        cache.size = bytes.map_or(cache.size, |bytes| bytes as u64);
        cache.shared_by = Some(threads);
    }
    machine
}

fn in_caches_only(machine: &Machine) -> Planted {
    let memory = machine.ranges.memory;
    random(machine, RANDOM).without(|_, x| memory.holds(x))
}

pub fn rows() -> Vec<Row> {
    vec![
        row("D18", KNEE, Holds, |m| random(m, RANDOM)),
        // The other cores are idle: the walk finds the whole last level, not only a share of it.
        row("D18", KNEE, Holds, |m| random(&shared(m, None, 4), RANDOM)),
        // The other cores leave a share smaller than L2, and the walk leaves both at once.
        row("D18", KNEE, Holds, |m| {
            let part = m.ranges.l2.hi;
            Planted::new("D18", &shared(m, None, 32), |_, x| {
                time(if x > part { 400.0 } else { by_level(m, x, RANDOM) })
            })
        }),
        // A rise beyond twice the whole level is none of its, even if L2's own lies in the range.
        row("D18", KNEE, DoesNotHold, |m| random(&shared(m, Some(4.0 * MIB), 16), RANDOM))
            .says("step nearest to the 256 to 4096 KiB of this CPU's part of the last level"),
        // Also in a guest: other guests move the rise to smaller working sets only.
        row("D18", KNEE, DoesNotHold, |m| random(&guest(&shared(m, Some(4.0 * MIB), 16)), RANDOM)),
        row("D18", KNEE, Untestable, |m| random(&guest(m), [5.0, 16.0, 16.5, 17.0]))
            .says("the curve has no step, and this CPU's part of the last level has"),
        // A rise in memory is that of the page walks.
        row("D18", KNEE, Holds, |m| with_page_walks(m, RANDOM)),
        row("D18", KNEE, DoesNotHold, |m| with_page_walks(m, [5.0, 16.0, 16.5, 17.0]))
            .says("the curve has no step"),
        row("D18", KNEE, Untestable, |m| {
            // A third of the share.
            let part = 0.3 * m.ranges.capacities[2].usable();
            Planted::new("D18", m, |_, x| {
                let memory = if x > part { 400.0 } else { 70.0 };
                time(by_level(m, x, [5.0, 16.0, memory, 400.0]))
            })
        })
        .says("other cores may have used the last level"),
        row("D18", KNEE, DoesNotHold, |m| random(m, [5.0, 16.0, 16.5, 17.0]))
            .says("the curve has no step"),
        row("D18", KNEE, Inconclusive, |m| {
            // The lower ends of the intervals are the same: the noise is as large as the steps.
            Planted::new("D18", m, |_, x| {
                let cost = by_level(m, x, RANDOM);
                Value::Timed(Interval::new(1.0, 2.0 * cost - 1.0))
            })
        })
        .says("if the curve has a step at all"),
        row("D18", KNEE, Untestable, in_caches_only).says("no working set beyond"),
        row("D18", KNEE, Untestable, |m| {
            let mut silent = m.clone();
            silent.caches.clear();
            random(m, RANDOM).on(silent)
        })
        .says("no cache beyond L1d"),
        row("D18", WORTH, Holds, |m| random(m, RANDOM)),
        row("D18", WORTH, Holds, |m| random(m, [5.0, 16.0, 70.0, 119.0]).with_clock_in_memory(0.8))
            .says("memory over the last level: 1.70"),
        row("D18", WORTH, DoesNotHold, |m| random(m, [5.0, 16.0, 70.0, 84.0]))
            .says("memory over the last level: 1.20"),
        row("D18", WORTH, Untestable, |m| random(&guest(m), [5.0, 16.0, 70.0, 84.0]))
            .says("other guests may have used the last level"),
        row("D18", WORTH, Inconclusive, |m| random(m, [5.0, 16.0, 70.0, 105.0])),
        row("D18", WORTH, Untestable, in_caches_only),
        row("D18", WHICH, Holds, |m| random(m, RANDOM)),
        row("D18", WHICH, Holds, |m| random(m, [5.0, 16.0, 70.0, 320.0]).with_clock_in_memory(0.8))
            .says("at random: 20.0"),
        row("D18", WHICH, DoesNotHold, |m| levels(m, RANDOM, [4.0, 5.0, 6.0, 100.0]))
            .says("in sequence: 20.0"),
        row("D18", WHICH, DoesNotHold, |m| random(m, [5.0, 16.0, 70.0, 160.0]))
            .says("at random: 10.0"),
        row("D18", WHICH, Inconclusive, |m| random(m, [5.0, 16.0, 70.0, 176.0])),
        row("D18", WHICH, Untestable, |m| {
            random(m, RANDOM).without(|series, _| series.starts_with("sequential"))
        })
        .says("no point of `sequential"),
    ]
}
