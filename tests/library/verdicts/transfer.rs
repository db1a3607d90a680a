//! Lines that move between cores.

use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};
use linefill::experiment::{CpuOrder, Machine};
use linefill::os::sysfs::{CpuLocation, MemoryNode};

use super::machines::{first_cpu_only, guest, with_cores, with_locations};
use super::ownership::ONE_CORE;
use super::planted::{Planted, Row, Value, row, time};

/// A round trip takes 50 ns within a last level, and `step` times as long for each level further away. A hit
/// takes `hit` ns and a miss `miss` ns.
fn trips(machine: &Machine, hit: f64, miss: f64, step: f64) -> Planted {
    Planted::new("X12", machine, |series, place| {
        time(match series {
            "a load that hits in L1d" => hit,
            "a load from memory" => miss,
            _ => 50.0 * step.powf(place - 2.0),
        })
    })
}

/// Round trips within a last level and beyond it; a miss takes 100 ns.
fn quad_core(machine: &Machine, near: f64, far: f64) -> Planted {
    between_caches(&with_cores(machine, 8), near, far)
}

fn between_caches(machine: &Machine, near: f64, far: f64) -> Planted {
    Planted::new("D46", machine, |series, place| {
        time(match series {
            "a load from memory" => 100.0,
            _ if place > 2.0 => far,
            _ => near,
        })
    })
}

/// A machine whose CPUs share one last level.
fn one_last_level(machine: &Machine) -> Machine {
    let mut locations = machine.cpu_order.locations().to_vec();
    for location in &mut locations {
        (location.last_level, location.package) = (0, 0);
    }
    with_locations(machine, locations)
}

/// A machine on which every two cores share an L2.
fn in_pairs(machine: &Machine) -> Machine {
    let mut locations = machine.cpu_order.locations().to_vec();
    for location in &mut locations {
        location.l2 = location.core / 2 * 2;
    }
    with_locations(machine, locations)
}

/// The nanoseconds of a load and of a locked addition, by the place of the line's state on the axis.
fn states(machine: &Machine, at: impl Fn(&str, f64) -> f64) -> Planted {
    Planted::new("X13", machine, |series, place| time(at(series, place)))
}

/// Loads: `modified` if modified on the other core, 60 if clean there, 100 from memory.
fn loads(machine: &Machine, modified: f64) -> Planted {
    states(machine, |_, place| match place {
        2.0 => modified,
        4.0 => 100.0,
        _ => 60.0,
    })
}

/// Consecutive locked additions: 5 for the thread's own lines, `shared` for others.
fn additions(machine: &Machine, shared: f64) -> Planted {
    states(machine, |_, place| if place == 0.0 { 5.0 } else { shared })
}

/// Locked additions with a fence after each. Those to the thread's own lines take 30, and 5 without the
/// fence. Those to lines that another core has read take `shared`, and `many` times as long if several cores
/// have. Those to lines that it wrote take `modified`.
fn fenced(machine: &Machine, shared: f64, modified: f64, many: f64) -> Planted {
    states(machine, |series, place| match place {
        _ if series.ends_with("read the line") => shared * many,
        _ if !series.contains("fence") => 5.0,
        0.0 => 30.0,
        2.0 => modified,
        _ => shared,
    })
}

/// CPUs whose numbers differ by less than `block` are 50 ns apart, and others `far`; the first pair takes
/// `first`.
fn pairs(machine: &Machine, first: f64, far: f64) -> Planted {
    let locations = machine.cpu_order.locations().to_vec();
    let location =
        move |cpu: f64| *locations.iter().find(|location| location.cpu as f64 == cpu).unwrap();
    Planted::new("X14", machine, |series, second| {
        let (one, two) = (location(series.parse().unwrap()), location(second));
        time(match () {
            () if (one.cpu, two.cpu) == (0, 1) => first,
            () if one.last_level == two.last_level => 50.0,
            () => far,
        })
    })
}

/// A machine of 64 cores, of which eight share a last level.
fn with_chiplets(machine: &Machine) -> Machine {
    let location =
        |cpu: usize| CpuLocation { cpu, core: cpu, l2: cpu, last_level: cpu / 8 * 8, package: 0 };
    Machine {
        cpu_order: CpuOrder::around(None, (0..64).map(location).collect()),
        full: false,
        ..machine.clone()
    }
}

/// CPUs on the same last level are 50 ns apart, and others `far`, although the system reports only one last
/// level.
fn unreported(machine: &Machine, far: f64) -> Planted {
    let locations = machine.cpu_order.locations().iter();
    let one = locations.map(|location| CpuLocation { last_level: 0, package: 0, ..*location });
    pairs(machine, 50.0, far).on(Machine {
        cpu_order: CpuOrder::around(None, one.collect()),
        nodes: Vec::new(),
        ..machine.clone()
    })
}

/// The same points on a machine that reports a memory node for each last level.
fn in_nodes(planted: Planted, locations: &[CpuLocation]) -> Planted {
    let mut nodes: Vec<MemoryNode> = Vec::new();
    for location in locations {
        match nodes.iter_mut().find(|node| node.id == location.last_level) {
            Some(node) => node.cpus.push(location.cpu),
            None => nodes.push(MemoryNode {
                id: location.last_level,
                cpus: vec![location.cpu],
                distances: Vec::new(),
                memory: None,
            }),
        }
    }
    let machine = Machine { nodes, ..planted.machine.clone() };
    planted.on(machine)
}

/// The same machine, on which each last level is a processor.
fn of_processors(machine: &Machine) -> Machine {
    let mut locations = machine.cpu_order.locations().to_vec();
    for location in &mut locations {
        location.package = location.last_level;
    }
    with_locations(machine, locations)
}

/// Two CPUs that are hyper-threads of one core, although the system reports two cores.
fn hidden_siblings(machine: &Machine) -> Planted {
    Planted::new("X13", machine, |series, place| match (series, place) {
        ("round trip", _) => ONE_CORE,
        ("load", 0.0) => time(10.0),
        ("load", 2.0) => time(15.0),
        _ => time(20.0),
    })
}

/// The states whose claims need two cores: all.
const STATES: [&str; 6] = [MODIFIED, CLEAN, WRITING, READERS, UPGRADE, AS_LONG];

const TEN: &str = ".1";
const TWO: &str = ".2";
const ACROSS: &str = ".1";
const BUS: &str = ".2";
const LESS: &str = ".3";
const MODIFIED: &str = ".1";
const CLEAN: &str = ".2";
const WRITING: &str = ".3";
const READERS: &str = ".4";
const UPGRADE: &str = ".5";
const AS_LONG: &str = ".6";
const THRICE: &str = ".1";
const ALIKE: &str = ".2";
const REPORTED: &str = ".3";
const SHOWN: &str = ".4";

pub fn rows() -> Vec<Row> {
    let mut rows = on_two_cores();
    rows.extend(STATES.map(|claim| {
        row("X13", claim, Untestable, hidden_siblings).says(
            "threads of one core; and loads of lines that the other CPU modified take only 1.5",
        )
    }));
    // A record of an earlier version has no round trip.
    rows.push(row("X13", CLEAN, Holds, |m| {
        states(m, |_, place| if place == 0.0 { 50.0 } else { 60.0 })
            .without(|series, _| series == "round trip")
    }));
    rows
}

fn on_two_cores() -> Vec<Row> {
    vec![
        row("X12", TEN, Holds, |m| trips(m, 1.0, 100.0, 3.0)),
        row("X12", TEN, DoesNotHold, |m| trips(m, 10.0, 100.0, 3.0)).says("over hit: 5.0"),
        row("X12", TEN, Inconclusive, |m| trips(m, 5.0, 100.0, 3.0)),
        row("X12", TEN, Untestable, |m| trips(m, 1.0, 100.0, 3.0).on(first_cpu_only(m)))
            .says("the test needs two cores"),
        row("X12", TWO, Holds, |m| trips(m, 1.0, 100.0, 3.0)),
        row("X12", TWO, DoesNotHold, |m| trips(m, 1.0, 20.0, 3.0)).says("1.25"),
        row("X12", TWO, Inconclusive, |m| trips(m, 1.0, 25.0, 3.0)),
        row("X12", TWO, Untestable, |m| {
            trips(m, 1.0, 100.0, 3.0).without(|series, _| series.contains("memory"))
        }),
        row("X12", LESS, Holds, |m| trips(m, 1.0, 100.0, 3.0)),
        row("X12", LESS, DoesNotHold, |m| trips(m, 1.0, 100.0, 0.5)).says("over same"),
        row("X12", LESS, Inconclusive, |m| trips(m, 1.0, 100.0, 1.0)),
        row("X12", LESS, Untestable, |m| trips(m, 1.0, 100.0, 3.0).on(first_cpu_only(m)))
            .says("shares the same caches"),
        row("D46", ACROSS, Holds, |m| quad_core(m, 50.0, 200.0)),
        row("D46", ACROSS, DoesNotHold, |m| quad_core(m, 50.0, 75.0))
            .says("over same last level: 1.50"),
        row("D46", ACROSS, Inconclusive, |m| quad_core(m, 50.0, 100.0)),
        row("D46", ACROSS, Untestable, |m| quad_core(m, 50.0, 100.0).on(one_last_level(m)))
            .says("one last-level cache"),
        row("D46", ACROSS, Untestable, |m| between_caches(&of_processors(m), 50.0, 200.0))
            .says("one last-level cache"),
        // The host of a guest may report several last levels that are one.
        row("D46", ACROSS, Untestable, |m| quad_core(&guest(m), 50.0, 50.0))
            .says("over same last level: 1.0"),
        row("D46", ACROSS, Holds, |m| quad_core(&guest(m), 50.0, 200.0)),
        row("D46", BUS, Untestable, |m| quad_core(&guest(m), 50.0, 50.0))
            .says("whose host chooses"),
        row("D46", BUS, Holds, |m| quad_core(&guest(m), 50.0, 200.0)),
        row("D46", BUS, Holds, |m| quad_core(m, 50.0, 200.0)),
        row("D46", BUS, DoesNotHold, |m| quad_core(m, 50.0, 120.0)).says("over a miss: 0.60"),
        row("D46", BUS, Inconclusive, |m| quad_core(m, 50.0, 160.0)),
        row("D46", BUS, Untestable, |m| {
            quad_core(m, 50.0, 200.0).without(|series, _| series.contains("memory"))
        })
        .says("was not measured"),
        row("X13", MODIFIED, Holds, |m| loads(m, 60.0)),
        row("X13", MODIFIED, DoesNotHold, |m| loads(m, 150.0)).says("over memory: 1.50"),
        row("X13", MODIFIED, Inconclusive, |m| loads(m, 100.0)),
        row("X13", MODIFIED, Untestable, |m| {
            Planted::new("X13", m, |_, _| Value::Untestable("no second CPU"))
        })
        .says("no second CPU"),
        row("X13", CLEAN, Holds, |m| loads(m, 65.0)),
        row("X13", CLEAN, DoesNotHold, |m| loads(m, 120.0)).says("modified over exclusive: 2.0"),
        row("X13", CLEAN, Inconclusive, |m| loads(m, 60.0 * 1.33)),
        row("X13", CLEAN, Untestable, |m| loads(m, 60.0).without(|_, place| place == 1.0)),
        row("X13", WRITING, Holds, |m| additions(m, 60.0)),
        row("X13", WRITING, DoesNotHold, |m| additions(m, 10.0)).says("shared over own: 2.0"),
        row("X13", WRITING, Inconclusive, |m| additions(m, 15.0)),
        row("X13", WRITING, Untestable, |m| additions(m, 60.0).without(|_, place| place == 3.0)),
        row("X13", READERS, Holds, |m| fenced(m, 60.0, 60.0, 1.2)),
        row("X13", READERS, DoesNotHold, |m| fenced(m, 60.0, 60.0, 3.0))
            .says("3 readers over one: 3.0"),
        row("X13", READERS, Inconclusive, |m| fenced(m, 60.0, 60.0, 1.5)),
        row("X13", READERS, Untestable, |m| {
            fenced(m, 60.0, 60.0, 1.0).without(|series, _| series.ends_with("read the line"))
        })
        .says("no point of"),
        row("X13", READERS, Untestable, |m| fenced(m, 60.0, 60.0, 1.0).on(with_cores(m, 2)))
            .says("the test needs 3 cores, and this process may use only 2"),
        // Records of earlier versions have readers that are farther away than the one.
        row("X13", READERS, Untestable, |m| {
            fenced(&one_last_level(m), 60.0, 60.0, 3.0).on(m.clone())
        })
        .says("of 7 cores that read the lines, 3 are as near as the nearest"),
        row("X13", READERS, Untestable, |m| fenced(&in_pairs(m), 60.0, 60.0, 3.0))
            .says("the nearest other core is nearer than all others"),
        row("X13", UPGRADE, Holds, |m| fenced(m, 90.0, 60.0, 1.0)).says("over addition: 12.0"),
        row("X13", UPGRADE, DoesNotHold, |m| fenced(m, 33.0, 60.0, 1.0)).says("addition: 0.59"),
        row("X13", UPGRADE, Inconclusive, |m| fenced(m, 40.0, 60.0, 1.0)),
        row("X13", UPGRADE, Untestable, |m| fenced(m, 90.0, 60.0, 1.0).on(first_cpu_only(m)))
            .says("the test needs two cores"),
        row("X13", AS_LONG, Holds, |m| fenced(m, 90.0, 90.0, 1.0)).says("over transfer: 1.0"),
        row("X13", AS_LONG, DoesNotHold, |m| fenced(m, 200.0, 60.0, 1.0)),
        row("X13", AS_LONG, Inconclusive, |m| fenced(m, 90.0, 60.0, 1.0)),
        // A line that the other core modified takes no longer than the thread's own line.
        row("X13", AS_LONG, Untestable, |m| fenced(m, 90.0, 30.0, 1.0)).says("above zero"),
        row("X14", THRICE, Holds, |m| pairs(m, 50.0, 100.0)),
        row("X14", THRICE, DoesNotHold, |m| pairs(m, 50.0, 200.0))
            .says("longest over shortest: 4.0"),
        // The nearest eight CPUs share a last level.
        row("X14", THRICE, DoesNotHold, |m| pairs(&with_chiplets(m), 50.0, 200.0))
            .says("pairs of 8 of 64 CPUs"),
        row("X14", THRICE, Inconclusive, |m| pairs(m, 50.0, 150.0)),
        row("X14", THRICE, Untestable, |m| pairs(m, 50.0, 100.0).without(|_, _| true))
            .says("the test needs two pairs"),
        row("X14", ALIKE, Holds, |m| pairs(m, 50.0, 100.0)),
        row("X14", ALIKE, DoesNotHold, |m| pairs(m, 100.0, 100.0)).says("same last level: 2.0"),
        row("X14", ALIKE, Inconclusive, |m| pairs(m, 75.0, 100.0)),
        row("X14", ALIKE, Untestable, |m| pairs(m, 50.0, 100.0).on(first_cpu_only(m)))
            .says("the test needs two cores"),
        row("X14", REPORTED, Holds, |m| pairs(m, 50.0, 100.0)).says("2 groups of"),
        row("X14", REPORTED, Holds, |m| in_nodes(unreported(m, 100.0), m.cpu_order.locations()))
            .says("2 groups of"),
        row("X14", REPORTED, DoesNotHold, |m| unreported(m, 100.0)).says("not reported: 2 groups"),
        row("X14", REPORTED, Inconclusive, |m| unreported(m, 62.5)),
        row("X14", REPORTED, Untestable, |m| {
            pairs(m, 50.0, 100.0).without(|first, second| first != "0" || second > 1.0)
        })
        .says("has those of 2"),
        row("X14", SHOWN, Holds, |m| pairs(m, 50.0, 100.0)).says("2 groups of"),
        row("X14", SHOWN, DoesNotHold, |m| pairs(m, 50.0, 50.0)).says("show no groups"),
        row("X14", SHOWN, Inconclusive, |m| pairs(m, 50.0, 62.5)),
        row("X14", SHOWN, Untestable, |m| unreported(m, 100.0)).says("1 last level"),
    ]
}
