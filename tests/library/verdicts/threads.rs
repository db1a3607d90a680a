//! List walks by several threads: Figures 3.19 to 3.22 and Table 3.3.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::machines::{first_cpus, of_two_kinds};
use super::planted::{Planted, Row, Value, by_level, row, time};

/// The time of two threads relative to that of one thread, level by level.
#[derive(Clone, Copy)]
struct Slower {
    one_list: [f64; 4],
    own_lists: [f64; 4],
    /// The same for four threads or more, with separate lists in memory.
    four: f64,
}

/// The paper's values; for one list, the values that it would expect.
const PAPER: Slower =
    Slower { one_list: [50.0, 10.0, 5.0, 1.2], own_lists: [1.0, 1.0, 1.0, 1.3], four: 2.4 };

/// No thread slows another one down.
const ALONE: Slower = Slower { one_list: [1.0; 4], own_lists: [1.0; 4], four: 1.0 };

fn threads(series: &str) -> usize {
    let number = series.rsplit(", ").find(|part| part.contains(" thread"));
    let digits = number.and_then(|part| part.split(' ').next());
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(1)
}

fn plant(id: &str, machine: &Machine, slower: Slower) -> Planted {
    Planted::new(id, machine, |series, x| {
        let alone = by_level(machine, x, [4.0, 16.0, 60.0, 400.0]);
        let threads = if series.ends_with("1 thread") { 1 } else { threads(series) };
        let mut factors = match series {
            _ if threads == 1 => [1.0; 4],
            _ if series.ends_with("one list") => slower.one_list,
            _ => slower.own_lists,
        };
        if threads > 2 && series.ends_with("own lists") {
            factors[3] = slower.four;
        }
        time(alone * by_level(machine, x, factors))
    })
}

/// In L2, separate lists take `factor` times as long.
fn in_l2(id: &str, machine: &Machine, factor: f64) -> Planted {
    let own_lists = [1.0, factor, 1.0, 1.3];
    plant(id, machine, Slower { own_lists, ..PAPER })
}

fn in_llc(machine: &Machine, factor: f64) -> Planted {
    let own_lists = [1.0, 1.0, factor, 1.3];
    plant("D30", machine, Slower { own_lists, ..PAPER })
}

fn in_memory(id: &str, machine: &Machine, two: f64, four: f64) -> Planted {
    let own_lists = [1.0, 1.0, 1.0, two];
    let slower = Slower { own_lists, four, ..PAPER };
    plant(id, machine, slower)
}

fn on_one_list(id: &str, machine: &Machine, near: f64) -> Planted {
    let one_list = [near, near, near, 1.2];
    plant(id, machine, Slower { one_list, ..PAPER })
}

/// The same times, while the clock of several busy cores is this factor of that of one.
fn at_a_slower_clock(planted: Planted, factor: f64) -> Planted {
    planted.with_clock(|series, _| if threads(series) > 1 { factor } else { 1.0 })
}

/// Two performance cores and efficient cores. A step takes as long on all cores; the fastest thread tells nothing
/// about threads on cores of both kinds.
fn hybrid(id: &str, machine: &Machine, slower: Slower) -> Planted {
    plant(id, &of_two_kinds(machine), slower)
}

/// The same points, judged on a machine with `cores` cores.
fn cores(planted: Planted, cores: usize) -> Planted {
    let machine = first_cpus(&planted.machine, cores);
    planted.on(machine)
}

fn refused(id: &str, machine: &Machine) -> Planted {
    Planted::new(id, machine, |_, _| Value::Untestable("no second thread"))
}

const READ_SHARED: &str = ".1";
const QUICKER: &str = ".2";
const TWO_READ: &str = ".3";
const FOUR_READ: &str = ".4";
const PING_PONG: &str = ".1";
const INEFFECTIVE: &str = ".2";
const TWO_WRITE: &str = ".4";
const FOUR_WRITE: &str = ".5";
const TWO_RANDOM: &str = ".1";
const FOUR_RANDOM: &str = ".2";
const NEXT_TO_NOTHING: &str = ".4";
const NEAR: &str = ".1";
const LLC: &str = ".2";
const FAR: &str = ".3";

pub fn rows() -> Vec<Row> {
    let mut rows = vec![
        row("D26", READ_SHARED, Holds, |m| plant("D26", m, ALONE)),
        row("D26", READ_SHARED, DoesNotHold, |m| on_one_list("D26", m, 1.5))
            .says("over one, L2: 1.50"),
        row("D26", READ_SHARED, Holds, |m| {
            let one_list = [3.0, 1.0, 1.0, 1.0];
            plant("D26", m, Slower { one_list, ..ALONE })
        }),
        row("D26", READ_SHARED, Inconclusive, |m| on_one_list("D26", m, 1.15)),
        row("D26", READ_SHARED, Untestable, |m| cores(plant("D26", m, ALONE), 1))
            .says("the test needs 2 cores"),
        row("D26", QUICKER, Holds, |m| plant("D26", m, PAPER)),
        row("D26", QUICKER, DoesNotHold, |m| in_memory("D26", m, 0.7, 0.7))
            .says("own lists over one: 0.70"),
        row("D26", QUICKER, Inconclusive, |m| in_memory("D26", m, 0.9, 0.9)),
        row("D26", QUICKER, Untestable, |m| cores(plant("D26", m, PAPER), 1)),
        row("D27", PING_PONG, Holds, |m| plant("D27", m, PAPER)),
        row("D27", PING_PONG, DoesNotHold, |m| plant("D27", m, ALONE))
            .says("one list over one: 1.00"),
        row("D27", PING_PONG, Inconclusive, |m| on_one_list("D27", m, 2.0)),
        row("D27", PING_PONG, Untestable, |m| cores(plant("D27", m, PAPER), 1)),
        row("D27", INEFFECTIVE, Holds, |m| plant("D27", m, PAPER)),
        row("D27", INEFFECTIVE, DoesNotHold, |m| on_one_list("D27", m, 3.0)).says("0.75"),
        row("D27", INEFFECTIVE, Inconclusive, |m| on_one_list("D27", m, 4.0)),
        row("D27", INEFFECTIVE, Untestable, |m| cores(plant("D27", m, PAPER), 1)),
        row("D28", ".3", Holds, |m| plant("D28", m, PAPER)),
        row("D28", ".3", DoesNotHold, |m| plant("D28", m, ALONE)),
        row("D28", ".3", Inconclusive, |m| on_one_list("D28", m, 2.0)),
        row("D28", ".3", Untestable, |m| cores(plant("D28", m, PAPER), 1)),
        row("D29", NEXT_TO_NOTHING, Holds, |m| plant("D29", m, PAPER)),
        row("D29", NEXT_TO_NOTHING, DoesNotHold, |m| plant("D29", m, ALONE)).says("2.00"),
        row("D29", NEXT_TO_NOTHING, Inconclusive, |m| in_memory("D29", m, 1.2, 2.0)),
        row("D29", NEXT_TO_NOTHING, Untestable, |m| cores(plant("D29", m, PAPER), 2))
            .says("the test needs 4 cores, and this process may use only 2"),
        row("D30", NEAR, Holds, |m| plant("D30", m, PAPER)),
        row("D30", NEAR, DoesNotHold, |m| in_l2("D30", m, 1.5)).says("times as much, L2: 0.67"),
        row("D30", NEAR, Inconclusive, |m| in_l2("D30", m, 1.0 / 0.85)),
        row("D30", NEAR, Untestable, |m| refused("D30", m)).says("no second thread"),
        row("D30", LLC, Holds, |m| plant("D30", m, PAPER)),
        row("D30", LLC, DoesNotHold, |m| in_llc(m, 1.5)).says("the last level: 0.67"),
        row("D30", LLC, Inconclusive, |m| in_llc(m, 1.0 / 0.85)),
        row("D30", LLC, Untestable, |m| cores(plant("D30", m, PAPER), 1)),
        row("D30", FAR, Holds, |m| plant("D30", m, PAPER)),
        row("D30", FAR, DoesNotHold, |m| in_memory("D30", m, 0.8, 0.8)).says("last level: 1.25"),
        row("D30", FAR, DoesNotHold, |m| plant("D30", m, ALONE)).says("last level: 1.0"),
        row("D30", FAR, Inconclusive, |m| in_memory("D30", m, 1.0 / 0.9, 1.2)),
        row("D30", FAR, Untestable, |m| cores(plant("D30", m, PAPER), 1)),
        row("D30", ".5", Holds, |m| plant("D30", m, PAPER)),
        row("D30", ".5", DoesNotHold, |m| plant("D30", m, ALONE)).says("over one: 2.00"),
        row("D30", ".5", Inconclusive, |m| on_one_list("D30", m, 2.0)),
        row("D30", ".5", Untestable, |m| cores(plant("D30", m, PAPER), 1)),
    ];
    rows.extend([
        row("D26", TWO_READ, Holds, |m| plant("D26", m, PAPER)),
        row("D26", TWO_READ, DoesNotHold, |m| plant("D26", m, ALONE)),
        row("D26", TWO_READ, Inconclusive, |m| in_memory("D26", m, 1.1, 1.1)),
        row("D26", TWO_READ, Untestable, |m| cores(plant("D26", m, PAPER), 1)),
        row("D26", FOUR_READ, Holds, |m| plant("D26", m, PAPER)),
        row("D26", FOUR_READ, DoesNotHold, |m| plant("D26", m, ALONE)),
        row("D26", FOUR_READ, Inconclusive, |m| in_memory("D26", m, 1.1, 1.15)),
        row("D26", FOUR_READ, Untestable, |m| cores(plant("D26", m, PAPER), 2)),
        row("D27", TWO_WRITE, Holds, |m| plant("D27", m, PAPER)),
        row("D27", TWO_WRITE, DoesNotHold, |m| in_memory("D27", m, 0.8, 1.0)),
        row("D27", TWO_WRITE, DoesNotHold, |m| plant("D27", m, ALONE)),
        row("D27", TWO_WRITE, Inconclusive, |m| in_memory("D27", m, 1.1, 1.0)),
        row("D27", TWO_WRITE, Untestable, |m| refused("D27", m)),
        row("D27", FOUR_WRITE, Holds, |m| plant("D27", m, PAPER)),
        row("D27", FOUR_WRITE, DoesNotHold, |m| plant("D27", m, ALONE)),
        row("D27", FOUR_WRITE, Inconclusive, |m| in_memory("D27", m, 1.1, 1.15)),
        row("D27", FOUR_WRITE, Untestable, |m| cores(plant("D27", m, PAPER), 2)),
        row("D28", TWO_RANDOM, Holds, |m| plant("D28", m, PAPER)),
        row("D28", TWO_RANDOM, DoesNotHold, |m| plant("D28", m, ALONE)),
        // As in the figure: not yet at four times the last level.
        row("D28", TWO_RANDOM, Holds, |m| {
            let first = m.in_memory() as f64;
            Planted::new("D28", m, |series, x| {
                time(if threads(series) > 1 && x > first { 520.0 } else { 400.0 })
            })
        })
        .says("2 threads, own lists over one: 1.30"),
        row("D28", TWO_RANDOM, Inconclusive, |m| in_memory("D28", m, 1.1, 2.0)),
        row("D28", TWO_RANDOM, Untestable, |m| {
            let memory = m.ranges.memory;
            plant("D28", m, PAPER).without(|_, x| memory.holds(x))
        })
        .says("was not measured"),
        row("D28", FOUR_RANDOM, Holds, |m| plant("D28", m, PAPER)),
        row("D28", FOUR_RANDOM, DoesNotHold, |m| plant("D28", m, ALONE)),
        row("D28", FOUR_RANDOM, Inconclusive, |m| in_memory("D28", m, 1.1, 1.5)),
        row("D28", FOUR_RANDOM, Untestable, |m| cores(plant("D28", m, PAPER), 2)),
        row("D27", ".3", Holds, |m| plant("D27", m, PAPER)),
        row("D27", ".3", DoesNotHold, |m| in_l2("D27", m, 1.5)).says("over one, L2: 1.50"),
        row("D27", ".3", Inconclusive, |m| in_l2("D27", m, 1.15)),
        row("D27", ".3", Untestable, |m| refused("D27", m)).says("no second thread"),
        row("D28", ".4", Holds, |m| plant("D28", m, PAPER)),
        row("D28", ".4", DoesNotHold, |m| in_l2("D28", m, 1.5)),
        row("D28", ".4", Inconclusive, |m| in_l2("D28", m, 1.15)),
        row("D28", ".4", Untestable, |m| cores(plant("D28", m, PAPER), 1)),
    ]);
    rows.extend(by_the_clock());
    rows.extend(on_cores_of_two_kinds());
    // One claim per kind of walk: reads in order, writes in order, random steps.
    for way in [".1", ".2", ".3"] {
        rows.extend([
            row("D29", way, Holds, |m| plant("D29", m, PAPER)),
            row("D29", way, DoesNotHold, |m| in_memory("D29", m, 1.6, 3.0)).says("over one: 1.25"),
            row("D29", way, Inconclusive, |m| in_memory("D29", m, 2.0 / 1.5, 3.0)),
            row("D29", way, Untestable, |m| cores(plant("D29", m, PAPER), 1))
                .says("the test needs 2 cores"),
        ]);
    }
    rows
}

/// More time at a slower clock is fewer core cycles more.
fn by_the_clock() -> Vec<Row> {
    let mut rows = vec![
        row("D30", LLC, DoesNotHold, |m| at_a_slower_clock(in_llc(m, 1.25), 0.8))
            .says("the last level: 0.80"),
        row("D30", NEAR, DoesNotHold, |m| at_a_slower_clock(in_l2("D30", m, 1.25), 0.8)),
        row("D30", FAR, Holds, |m| {
            let slow = in_memory("D30", m, 1.18, 1.18);
            let memory = m.ranges.memory;
            slow.with_clock(|series, x| match threads(series) {
                2.. if memory.holds(x) => 0.9,
                _ => 1.0,
            })
        }),
        row("D29", NEXT_TO_NOTHING, Holds, |m| {
            let slow = in_memory("D29", m, 1.0, 1.8);
            slow.with_clock(|series, _| if threads(series) > 2 { 0.9 } else { 1.0 })
        })
        .says("four threads over two: 1.11"),
        // The control is about lines that move, not about the clock of the core.
        row("D27", ".3", Holds, |m| at_a_slower_clock(in_l2("D27", m, 1.25), 0.8))
            .says("over one, L2: 1.00"),
    ];
    for (id, claim) in [
        ("D26", TWO_READ),
        ("D26", FOUR_READ),
        ("D27", TWO_WRITE),
        ("D27", FOUR_WRITE),
        ("D28", TWO_RANDOM),
    ] {
        let plant: fn(&Machine) -> Planted = match id {
            "D26" => |m| at_a_slower_clock(in_memory("D26", m, 1.18, 1.18), 0.9),
            "D27" => |m| at_a_slower_clock(in_memory("D27", m, 1.18, 1.18), 0.9),
            _ => |m| at_a_slower_clock(in_memory("D28", m, 1.18, 1.18), 0.9),
        };
        rows.push(row(id, claim, Holds, plant).says("over one: 1.18"));
    }
    rows
}

fn on_cores_of_two_kinds() -> Vec<Row> {
    let mixed = "cores of two kinds";
    vec![
        row("D26", FOUR_READ, Untestable, |m| hybrid("D26", m, PAPER)).says(mixed),
        row("D27", FOUR_WRITE, Untestable, |m| hybrid("D27", m, PAPER)).says(mixed),
        row("D28", FOUR_RANDOM, Untestable, |m| hybrid("D28", m, PAPER)).says(mixed),
        row("D29", NEXT_TO_NOTHING, Untestable, |m| hybrid("D29", m, PAPER)).says(mixed),
        // Of the others, those on the first two cores are compared.
        row("D26", QUICKER, Holds, |m| hybrid("D26", m, PAPER)).says("2 threads, own lists"),
        row("D27", ".3", Holds, |m| hybrid("D27", m, PAPER)).says("2 threads, own lists"),
        row("D30", NEAR, Holds, |m| hybrid("D30", m, PAPER)).says("share of 2 times"),
        row("D30", LLC, Holds, |m| hybrid("D30", m, PAPER)).says("share of 2 times"),
        // One performance core alone has none to be compared with.
        row("D27", INEFFECTIVE, Untestable, |m| {
            let first = vec![m.cpu_order.locations()[0].cpu];
            let machine =
                Machine { cpu_order: m.cpu_order.clone().with_performance(first), ..m.clone() };
            plant("D27", &machine, PAPER)
        })
        .says(mixed),
    ]
}
