//! Row X19: memory on several nodes, on machines that are described by sysfs trees.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};
use linefill::experiment::{CpuOrder, Machine, PageRequest, find};
use linefill::host::{MemoryNode, MemoryPolicy};
use linefill::os::Sysfs;
use linefill::os::sysfs::CpuLocation;

use super::planted::{Planted, Row, but, noisy, row, time};
use crate::common::machine::Machine as Tree;

const APART: &str = ".1";
const ORDER: &str = ".2";
const STATED: &str = ".3";
const READ_IN_TURN: &str = ".4";
const STREAMED: &str = ".5";
const TOUCHED: &str = ".6";
const READ: &str = ".7";
const WRITTEN: &str = ".8";
const WALK_IN_TURN: &str = ".9";

/// Two sockets of 64 cores with SMT and one node each.
const TWO: &str = "two-sockets-128";
/// A socket of four nodes.
const FOUR: &str = "nps4-epyc";
/// Two sockets of four nodes.
const EIGHT: &str = "eight-nodes";
/// Two sockets, a node with only memory, and a node with only CPUs.
const CXL: &str = "cxl-memory";
/// One node.
const ONE: &str = "vm-genoa";

/// The machine that a tree describes.
struct Described {
    name: &'static str,
    nodes: Vec<MemoryNode>,
    locations: Vec<CpuLocation>,
}

/// The trees, read once. Of each node, the first two CPUs and the last one are used.
fn described(name: &str) -> &'static Described {
    static ALL: OnceLock<Vec<Described>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let read = |name| {
            let tree = Tree::recorded(name);
            let sysfs = Sysfs::at(&tree.root().sys);
            let nodes = sysfs.nodes().unwrap();
            let few = |node: &MemoryNode| {
                let mut cpus = node.cpus.clone();
                let last = cpus.pop();
                cpus.truncate(2);
                cpus.extend(last);
                cpus
            };
            let cpus: Vec<usize> = nodes.iter().flat_map(few).collect();
            Described { name, locations: sysfs.locations(&cpus), nodes }
        };
        [TWO, FOUR, EIGHT, CXL, ONE].map(read).into()
    });
    all.iter().find(|of| of.name == name).unwrap()
}

/// The machine with the nodes and the CPUs of a tree; `first` is the CPU that measures.
fn located(tree: &str, first: Option<usize>, machine: &Machine) -> Machine {
    let of = described(tree);
    Machine {
        cpu_order: CpuOrder::around(first, of.locations.clone()),
        nodes: of.nodes.clone(),
        ..machine.clone()
    }
}

fn on(tree: &str, machine: &Machine) -> Machine {
    located(tree, None, machine)
}

/// The machine with a single node.
fn one(machine: &Machine) -> Planted {
    usual(ONE, machine)
}

/// The results for remote memory.
#[derive(Clone, Copy)]
struct Far {
    /// The time of a step relative to a step in local memory, by the firmware's distance.
    step: fn(u64) -> f64,
    /// The time of a read from another node relative to one from local memory.
    read: f64,
    /// The time of a write, in the same way.
    write: f64,
    /// The time of a non-temporal write to another node relative to an ordinary one.
    stream: f64,
    /// The time of a read from interleaved memory relative to one from local memory.
    turns: f64,
    /// The times of a step in interleaved memory, and in memory placed by first touch, relative to a step in
    /// local memory.
    walk_in_turn: f64,
    touched: f64,
}

/// The values of the firmware's distances and of Drepper's figure.
const USUAL: Far = Far {
    step: |distance| distance as f64 / 10.0,
    read: 1.25,
    write: 1.0,
    stream: 0.8,
    turns: 1.12,
    walk_in_turn: 2.1,
    touched: 1.0,
};

/// Nanoseconds per step in local memory.
const STEP: f64 = 100.0;

fn far(tree: &str, machine: &Machine, far: Far) -> Planted {
    let machine = on(tree, machine);
    let nodes = machine.nodes.clone();
    Planted::new("X19", &machine, |series, x| {
        let distance = |from: usize| {
            let of = nodes.iter().find(|node| node.id == from).unwrap();
            of.distances[nodes.iter().position(|node| node.id as f64 == x).unwrap()]
        };
        let own = distance(0) == 10;
        let times = |factor: f64| if own { 1.0 } else { factor };
        time(match series {
            "walk, two nodes in turn" => STEP * far.walk_in_turn,
            "walk, first touch" => STEP * far.touched,
            "read" => 30.0 * times(far.read),
            "read, two nodes in turn" => 30.0 * far.turns,
            "write" => 60.0 * times(far.write),
            "non-temporal write" if own => 40.0,
            "non-temporal write" => 60.0 * far.write * far.stream,
            from => STEP * (far.step)(distance(from.parse().unwrap())),
        })
    })
}

fn usual(tree: &str, machine: &Machine) -> Planted {
    far(tree, machine, USUAL)
}

pub fn rows() -> Vec<Row> {
    let mut rows = vec![
        row("X19", APART, Holds, |m| usual(TWO, m)).says("3.20"),
        row("X19", APART, Holds, |m| usual(CXL, m)).says("CPU of node 0, memory of node 2"),
        row("X19", APART, DoesNotHold, |m| {
            let step = |distance| if distance > 10 { 1.1 } else { 1.0 };
            far(TWO, m, Far { step, ..USUAL })
        }),
        row("X19", APART, Inconclusive, |m| usual(FOUR, m)).says("1.20"),
        row("X19", ORDER, Holds, |m| usual(TWO, m)),
        row("X19", ORDER, Holds, |m| usual(EIGHT, m)),
        row("X19", ORDER, Holds, |m| usual(CXL, m)),
        row("X19", ORDER, DoesNotHold, |m| {
            // The other socket is nearer than another node of the same socket.
            let step = |distance| match distance {
                10 => 1.0,
                12 => 1.6,
                _ => 1.3,
            };
            far(EIGHT, m, Far { step, ..USUAL })
        })
        .says("memory of node 4"),
        row("X19", ORDER, Inconclusive, |m| {
            let step = |_| 1.0;
            far(TWO, m, Far { step, ..USUAL })
        }),
        row("X19", ORDER, Untestable, |m| {
            let mut planted = usual(FOUR, m);
            for node in &mut planted.machine.nodes {
                node.distances = vec![10; 4];
            }
            planted
        })
        .says("the firmware states the same distance"),
        row("X19", STATED, Holds, |m| usual(TWO, m)),
        row("X19", STATED, Holds, |m| usual(EIGHT, m)),
        row("X19", STATED, DoesNotHold, |m| {
            let step = |distance| if distance > 10 { 1.7 } else { 1.0 };
            far(TWO, m, Far { step, ..USUAL })
        })
        .says("0.53"),
        row("X19", STATED, Inconclusive, |m| {
            let step = |distance| if distance > 10 { 2.4 } else { 1.0 };
            far(TWO, m, Far { step, ..USUAL })
        }),
        row("X19", STATED, Untestable, |m| {
            let mut planted = usual(TWO, m);
            for node in &mut planted.machine.nodes {
                node.distances.clear();
            }
            planted
        })
        .says("the firmware states the same distance between all nodes, or none"),
        row("X19", READ_IN_TURN, Holds, |m| usual(TWO, m)),
        row("X19", READ_IN_TURN, DoesNotHold, |m| far(TWO, m, but(USUAL, |of| of.turns = 0.8))),
        row("X19", READ_IN_TURN, DoesNotHold, |m| far(TWO, m, but(USUAL, |of| of.turns = 1.4))),
        row("X19", READ_IN_TURN, Inconclusive, |m| far(TWO, m, but(USUAL, |of| of.turns = 0.98))),
        row("X19", STREAMED, Holds, |m| usual(TWO, m)).says("0.80"),
        row("X19", STREAMED, DoesNotHold, |m| far(TWO, m, but(USUAL, |of| of.stream = 1.2))),
        row("X19", STREAMED, Inconclusive, |m| far(TWO, m, but(USUAL, |of| of.stream = 1.0))),
        row("X19", TOUCHED, Holds, |m| usual(TWO, m)),
        row("X19", TOUCHED, DoesNotHold, |m| far(TWO, m, but(USUAL, |of| of.touched = 1.3))),
        row("X19", TOUCHED, Inconclusive, |m| far(TWO, m, but(USUAL, |of| of.touched = 1.1))),
        row("X19", READ, Holds, |m| usual(TWO, m)).says("0.80"),
        row("X19", READ, DoesNotHold, |m| far(TWO, m, but(USUAL, |of| of.read = 1.02))),
        row("X19", READ, Inconclusive, |m| far(TWO, m, but(USUAL, |of| of.read = 1.11))),
        row("X19", WRITTEN, Holds, |m| usual(TWO, m)),
        row("X19", WRITTEN, DoesNotHold, |m| far(TWO, m, but(USUAL, |of| of.write = 1.5))),
        row("X19", WRITTEN, Inconclusive, |m| far(TWO, m, but(USUAL, |of| of.write = 1.11))),
        row("X19", WALK_IN_TURN, Holds, |m| usual(TWO, m)),
        row("X19", WALK_IN_TURN, DoesNotHold, |m| {
            far(TWO, m, but(USUAL, |of| of.walk_in_turn = 1.4))
        }),
        row("X19", WALK_IN_TURN, Inconclusive, |m| {
            far(TWO, m, but(USUAL, |of| of.walk_in_turn = 2.1 * 1.1))
        }),
        row("X19", APART, Inconclusive, |m| {
            let machine = on(TWO, m);
            Planted::new("X19", &machine, |_, _| noisy(STEP, 0.5))
        }),
    ];
    let claims =
        [APART, ORDER, STATED, READ_IN_TURN, STREAMED, TOUCHED, READ, WRITTEN, WALK_IN_TURN];
    rows.extend(
        claims.map(|claim| {
            row("X19", claim, Untestable, one).says("this machine has one memory node")
        }),
    );
    rows
}

/// The pairs of nodes, of CPUs and of memory, in a machine's map.
fn map(machine: &Machine) -> BTreeSet<(usize, usize)> {
    let cases = (find("X19").unwrap().cases)(machine);
    let pair = |series: &str, x: f64| Some((series.parse().ok()?, x as usize));
    let pairs = cases.iter().filter_map(|case| pair(&case.series, case.x));
    pairs.collect()
}

fn all_pairs(from: &[usize], to: &[usize]) -> BTreeSet<(usize, usize)> {
    let pairs = from.iter().flat_map(|from| to.iter().map(|to| (*from, *to)));
    pairs.collect()
}

#[test]
fn few_nodes_are_measured_in_a_quick_run_and_all_in_a_full_one() {
    let quick = super::machines::server().machine();
    let full = Machine { full: true, ..quick.clone() };
    let quickly = |tree| map(&on(tree, &quick));
    let fully = |tree| map(&on(tree, &full));
    assert_eq!(quickly(TWO), all_pairs(&[0, 1], &[0, 1]));
    assert_eq!(fully(TWO), quickly(TWO));
    assert_eq!(quickly(FOUR), all_pairs(&[0, 1], &[0, 1, 2, 3]));
    assert_eq!(fully(FOUR), all_pairs(&[0, 1, 2, 3], &[0, 1, 2, 3]));
    // The farthest node is in the other socket; besides these two nodes, one node per distance is measured.
    assert_eq!(quickly(EIGHT), all_pairs(&[0, 4], &[0, 1, 2, 4]));
    let all: Vec<usize> = (0..8).collect();
    assert_eq!(fully(EIGHT), all_pairs(&all, &all));
    // A node without CPUs is only a column, and a node without memory only a row.
    assert_eq!(fully(CXL), all_pairs(&[0, 1, 3], &[0, 1, 2]));
    assert_eq!(quickly(CXL), all_pairs(&[0, 1], &[0, 1, 2]));
}

#[test]
fn the_node_of_the_measuring_cpu_comes_first() {
    let machine = super::machines::server().machine();
    assert_eq!(map(&located(EIGHT, Some(63), &machine)), all_pairs(&[7, 0], &[0, 1, 4, 7]));
    // This node has no memory, so another node counts as the local one.
    let cases = (find("X19").unwrap().cases)(&located(CXL, Some(8), &machine));
    let read: Vec<f64> =
        cases.iter().filter(|case| case.series == "read").map(|case| case.x).collect();
    assert_eq!(read, [0.0, 1.0]);
}

/// Each case runs on a CPU of its node with its memory bound: the second thread of a core comes last.
#[test]
fn a_case_names_its_cpu_and_its_nodes() {
    let machine = on(TWO, &super::machines::server().machine());
    let cases = (find("X19").unwrap().cases)(&machine);
    let case = |series: &str, x: f64| {
        let found = cases.iter().find(|case| case.series == series && case.x == x);
        found.unwrap_or_else(|| panic!("no {series} at {x}"))
    };
    assert_eq!(case("1", 0.0).policy, MemoryPolicy::Bind(0));
    assert!(format!("{:?}", case("1", 0.0).setup).contains("cpu: 64,"));
    assert!(format!("{:?}", case("0", 1.0).setup).contains("cpu: 0,"));
    for series in ["walk, two nodes in turn", "read, two nodes in turn"] {
        let policy = &case(series, 0.0).policy;
        assert_eq!(*policy, MemoryPolicy::Interleave(vec![0, 1]));
    }
    assert_eq!(case("walk, first touch", 0.0).policy, MemoryPolicy::Local);
    for case in &cases {
        assert_eq!(case.pages, PageRequest::HugeIfAny);
        assert!(case.in_turn, "{case:?}");
    }
    assert_eq!(cases.len(), 4 + 2 + 6 + 1);
}

#[test]
fn one_node_costs_nothing_and_says_why() {
    let machine = super::machines::server().machine();
    let reason = |machine: &Machine| {
        let planted = Planted::new("X19", machine, |_, _| time(1.0));
        assert!(planted.points.is_empty());
        let first = find("X19").unwrap().claims[0];
        first.decide(&planted.evidence()).numbers
    };
    assert_eq!(reason(&on(ONE, &machine)), "this machine has one memory node");
    let untold = Machine { nodes: Vec::new(), ..machine.clone() };
    assert_eq!(reason(&untold), "the system tells of no memory nodes");
    let mut lonely = on(CXL, &machine);
    lonely.nodes[1].memory = Some(0);
    lonely.nodes[2].memory = Some(0);
    assert_eq!(reason(&lonely), "of the 4 memory nodes of this machine, only node 0 has memory");
    lonely.nodes[0].memory = Some(0);
    assert_eq!(reason(&lonely), "no memory node of this machine has memory");
    let mut elsewhere = on(CXL, &machine);
    elsewhere.cpu_order = CpuOrder::around(None, described(ONE).locations.clone());
    for node in &mut elsewhere.nodes {
        node.cpus.retain(|cpu| *cpu > 1);
    }
    assert_eq!(reason(&elsewhere), "no CPU that threads may have is next to a node with memory");
}
