//! Inclusive and exclusive caches.

use linefill::cpu::Vendor;
use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::machines::of_vendor;
use super::planted::{Planted, Row, Value, row, time};

const INCLUSIVE: &str = ".1";
const STATED: &str = ".2";
const TOGETHER: &str = ".3";

const AMD: Vendor = Vendor::Amd;
const INTEL: Vendor = Vendor::Intel;

/// How often a line is lost in each repetition on a CPU of this vendor.
fn lost_on(machine: &Machine, vendor: Vendor, lost: [f64; 5]) -> Planted {
    planted(&of_vendor(machine, vendor), lost, None)
}

/// What lines of one set of L2 cost on a CPU of this vendor: more lines than either of L1d and L2
/// has ways, and more than both have.
fn together(machine: &Machine, vendor: Vendor, [some, all]: [f64; 2]) -> Planted {
    let machine = of_vendor(machine, vendor);
    let ways = |level| machine.data_cache(level).unwrap().ways.unwrap();
    let both = f64::from(ways(1) + ways(2));
    Planted::new("D5", &machine, |series, x| match series {
        "lines of one set of L2" => time(if x > both { all } else { some }),
        _ => Value::Counted(0.1),
    })
}

/// The number of times a line is lost in each repetition, and what CPUID reports about the last level.
fn planted(machine: &Machine, lost: [f64; 5], stated: Option<bool>) -> Planted {
    beside(machine, [lost, [0.1; 5]], stated)
}

/// The same, with the counts of the control.
fn beside(machine: &Machine, [lost, control]: [[f64; 5]; 2], stated: Option<bool>) -> Planted {
    let mut machine = machine.clone();
    if let Some(last) = machine.caches.iter_mut().max_by_key(|cache| cache.level) {
        last.inclusive = stated;
    }
    Planted::new("D5", &machine, |series, repeat| match series {
        "times a hot line is lost" => Value::Counted(lost[repeat as usize - 1]),
        "lines of one set of L2" => time(50.0),
        _ => Value::Counted(control[repeat as usize - 1]),
    })
}

/// Two passes on one core, whose last level is not inclusive: beside a busy hyper-thread, and beside a somewhat
/// busy one.
const BUSY: [[f64; 5]; 2] = [[5.94, 5.81, 5.17, 5.97, 6.09], [1.66, 1.70, 1.56, 1.80, 1.72]];
const SOMEWHAT: [[f64; 5]; 2] = [[1.19, 0.92, 0.95, 0.66, 0.42], [0.47, 0.39, 0.55, 0.13, 0.73]];

/// Two passes on an idle core: the control counts more interrupts.
const LESS: [[f64; 5]; 2] = [[0.0, 0.1, 0.2, 0.4, 0.5], [0.0, 0.1, 0.2, 0.4, 0.5]];

const OFTEN: [f64; 5] = [3.9, 9.0, 4.0, 5.5, 0.1];
const NEVER: [f64; 5] = [0.0, 0.1, 7.0, 0.6, 0.2];
const SOMETIMES: [f64; 5] = [0.4, 1.0, 3.0, 5.0, 4.0];

pub fn rows() -> Vec<Row> {
    vec![
        row("D5", INCLUSIVE, Holds, |m| lost_on(m, INTEL, OFTEN)).says("[3.80, 5.40]"),
        row("D5", INCLUSIVE, Holds, |m| lost_on(m, AMD, NEVER)).says("on AMD"),
        row("D5", INCLUSIVE, Holds, |m| beside(&of_vendor(m, AMD), LESS, None))
            .says("0.00 to 0.30"),
        row("D5", INCLUSIVE, DoesNotHold, |m| lost_on(m, INTEL, NEVER)),
        row("D5", INCLUSIVE, DoesNotHold, |m| lost_on(m, AMD, OFTEN)),
        row("D5", INCLUSIVE, Inconclusive, |m| lost_on(m, AMD, SOMETIMES)),
        row("D5", INCLUSIVE, Inconclusive, |m| beside(&of_vendor(m, INTEL), BUSY, None))
            .says("each is lost 1.69 [1.66, 1.72] times while nothing streams past"),
        row("D5", INCLUSIVE, DoesNotHold, |m| beside(&of_vendor(m, INTEL), SOMEWHAT, None)),
        row("D5", INCLUSIVE, Untestable, |m| planted(m, OFTEN, None))
            .says("CPUID reports neither as the vendor"),
        row("D5", INCLUSIVE, Untestable, |m| {
            lost_on(m, INTEL, OFTEN).without(|series, _| series != "times a hot line is lost")
        }),
        row("D5", INCLUSIVE, Untestable, |m| {
            lost_on(m, INTEL, OFTEN).without(|_, repeat| repeat > 3.0)
        })
        .says("too few counts"),
        // On the planted machines, a hit in L2 takes 14 and 16 cycles.
        row("D5", TOGETHER, Holds, |m| together(m, AMD, [16.0, 60.0])),
        row("D5", TOGETHER, Holds, |m| together(m, INTEL, [60.0, 60.0])),
        row("D5", TOGETHER, DoesNotHold, |m| together(m, AMD, [40.0, 60.0])),
        row("D5", TOGETHER, DoesNotHold, |m| together(m, INTEL, [16.0, 60.0])),
        row("D5", TOGETHER, Inconclusive, |m| {
            let l2 = m.ranges.l2;
            let hit = m.ladder.iter().find(|rung| l2.holds(rung.working_set));
            let hit = hit.unwrap().cost.middle();
            together(m, AMD, [0.75 * hit + 0.25 * 60.0, 60.0])
        }),
        row("D5", TOGETHER, Untestable, |m| together(m, AMD, [16.0, 16.0]))
            .says("pages are scattered over the sets"),
        row("D5", TOGETHER, Untestable, |m| together(m, AMD, [16.0, 60.0]).on(m.clone()))
            .says("CPUID reports neither as the vendor"),
        row("D5", STATED, Holds, |m| planted(m, OFTEN, Some(true))).says("CPUID says inclusive"),
        row("D5", STATED, Holds, |m| planted(m, NEVER, Some(false)))
            .says("CPUID says not inclusive"),
        row("D5", STATED, Inconclusive, |m| beside(m, BUSY, Some(false)))
            .says("something else evicts lines"),
        row("D5", STATED, DoesNotHold, |m| planted(m, NEVER, Some(true))),
        row("D5", STATED, DoesNotHold, |m| planted(m, OFTEN, Some(false))),
        row("D5", STATED, Inconclusive, |m| planted(m, SOMETIMES, Some(false))),
        row("D5", STATED, Untestable, |m| planted(m, OFTEN, None)).says("CPUID does not say"),
    ]
}
