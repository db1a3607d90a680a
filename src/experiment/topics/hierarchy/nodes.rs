//! X19: memory of several nodes, and its distance from the CPUs of each node.

use crate::experiment::claim::verdict::Extreme;
use crate::experiment::prelude::*;
use crate::experiment::shared::walk::WalkSetup;
use crate::host::{MemoryNode, MemoryPolicy, Nodes, Worker};
use crate::kernel::{Bandwidth, Motion, Vector};
use crate::order;
use crate::pattern::Layout;

pub(crate) static ALL: &[Experiment] = &[NODES];

/// The series beside the map; the series of the map are the numbers of the CPUs' nodes. Their x is
/// the node of the memory. For memory that two nodes interleave, and for memory that the thread
/// touched first, x is the node of the CPU.
const WALK_IN_TURN: &str = "walk, two nodes in turn";
const WALK_TOUCHED: &str = "walk, first touch";
const READ: &str = "read";
const WRITE: &str = "write";
const STREAM: &str = "non-temporal write";
const READ_IN_TURN: &str = "read, two nodes in turn";

const NODES: Experiment = Experiment {
    id: "X19",
    name: "memory-nodes",
    title: "Memory of this node and of others",
    question: "How much farther is the memory of another node?",
    source: "Beyond Drepper 5.4 and Figure 5.4: latency and bandwidth from a CPU of each node to \
             memory of each node",
    about: "A machine with several memory controllers far apart has several memory nodes: one per \
            socket, several per socket where the firmware divides it (NPS, SNC), and one without \
            CPUs for memory behind CXL. The map shows the time of a step of a random walk, one \
            line per element, on 2 MiB pages where there are any: a row per node whose CPU walks, \
            a column per node whose memory it walks through. The pages of each case are new, are \
            bound to their node before they are touched, and the kernel is asked afterwards where \
            they lie. From the node of the measuring CPU, one thread also reads and writes its own \
            memory and that of the farthest node, walks and reads memory of which every other page \
            lies on each, and walks memory that it touched first without asking for a node. The \
            firmware states a distance for each pair of nodes (ACPI SLIT), 10 for the own node. \
            The kernel chooses nodes by these distances, whatever the latencies are.",
    plot: Some(Plot {
        shape: Shape::Heat { depth: "CPU of node", mirrored: false },
        x: Axis::linear("memory of node"),
        y: Axis::linear("time per step of a random walk"),
        unit: Unit::Nanoseconds,
        reference: &[],
    }),
    cases,
    curves: |e| e.curves_of(|label| label.parse::<usize>().is_ok()),
    claims: &[
        measured(
            "X19.1",
            ours("programs place threads and memory by node; whether that pays depends on this"),
            "a random walk through memory of another node takes at least 1.2 times as long as \
             through memory of the own node",
            |e| {
                let Extreme { at, value } = Extreme::least(of_pairs(e)?.into_iter().map(Ok))?;
                at_least(&in_words(at, "over own memory"), value, 1.2)
            },
        )
        .holding("Keep a thread and its memory on one node.")
        .failing("Some nodes are so near that their memory serves as well."),
        measured(
            "X19.2",
            ours(
                "the kernel chooses the next node by the distances that the firmware states (ACPI \
                 SLIT)",
            ),
            "of two nodes, a random walk takes longer through memory of the one that the firmware \
             states to be farther",
            |e| {
                let Extreme { at, value } = Extreme::least(in_order(e)?.into_iter().map(Ok))?;
                at_least(&in_words(at, "over the nearer by the firmware"), value, 1.0)
            },
        )
        .failing("Place memory by the map, not by the distances that the firmware states."),
        measured(
            "X19.3",
            ours(
                "the ACPI specification, 5.2.17, scales the stated distances to 10 for the own \
                 node, so that 20 stands for twice as far",
            ),
            "latencies of a random walk through memory of other nodes, over that of the own node, \
             are within a quarter of the quotients of the distances that the firmware states",
            |e| {
                let quotients = stated(e)?;
                let quotients = || quotients.iter().copied().map(Ok);
                let (low, high) = (Extreme::least(quotients())?, Extreme::most(quotients())?);
                all_of([
                    at_least(&in_words(low.at, "measured over stated"), low.value, 0.75),
                    at_most(&in_words(high.at, "measured over stated"), high.value, 1.25),
                ])
            },
        ),
        measured(
            "X19.4",
            ours("one thread is limited by its outstanding misses, not by the memory of one node"),
            "a single thread reads memory whose pages lie on its own and on another node in turn \
             no faster than memory of its own node, and no slower than memory of the other",
            |e| {
                let Ends { home, far, .. } = measured_ends(e)?;
                let [own, other] = [home, far].map(|node| e.at(READ, node as f64));
                let turns = e.at(READ_IN_TURN, home as f64)?;
                all_of([
                    at_most("speed over that of own memory", ratio(own?, &turns), 1.02),
                    at_least("over that of the other", ratio(other?, turns), 0.98),
                ])
            },
        ),
        measured(
            "X19.5",
            ours("non-temporal stores need no line from the other node before they write it"),
            "non-temporal stores of one thread to memory of another node take no longer than \
             ordinary stores to it",
            |e| {
                let Ends { far, .. } = measured_ends(e)?;
                let [stream, write] = [STREAM, WRITE].map(|way| e.at(way, far as f64));
                at_most("non-temporal over ordinary stores", ratio(stream?, write?), 1.0)
            },
        ),
        measured(
            "X19.6",
            ours("Linux takes a page from the node of the CPU that touches it first"),
            "a random walk through memory that the CPU touched first takes at most 1.1 times as \
             long as through memory that was bound to its node",
            |e| {
                let Ends { home, .. } = measured_ends(e)?;
                let touched = e.at(WALK_TOUCHED, home as f64)?;
                at_most("touched first over bound", ratio(touched, walk(e, home, home)), 1.1)
            },
        ),
        // With the memory one hop away, reads are a fifth slower than those of local memory at every
        // working set. The text calls the processors AMD's and does not name them further. 0.9 is our
        // threshold.
        measured(
            "X19.7",
            drepper("5.4, Figure 5.4"),
            "a single thread reads memory of another node at most at 0.9 times the speed of its \
             own",
            |e| at_most("speed over that of own memory", speed(e, READ)?, 0.9),
        )
        .then(0.8, "AMD, memory one hop away"),
        // Beyond the caches, writes to the other node are as fast as local ones: the interconnect keeps
        // up with memory. The figure shows 1.5 % less to 2 % more from 2^24 bytes on. Within the
        // caches they are a fifth slower. The tenth is ours.
        measured(
            "X19.8",
            drepper("5.4, Figure 5.4"),
            "a single thread writes memory of another node, far beyond the caches, at 0.9 to 1.1 \
             times the speed of its own",
            |e| between("speed over that of own memory", speed(e, WRITE)?, 0.9, 1.1),
        )
        .then_between(0.985, 1.02, "AMD, memory one hop away"),
        measured(
            "X19.9",
            ours("interleaving is advised for memory that threads of all nodes use"),
            "a random walk through memory of two nodes in turn takes as long as the mean of walks \
             through memory of each, within a tenth",
            |e| {
                let Ends { home, far, .. } = measured_ends(e)?;
                let (own, other) = (walk(e, home, home)?, walk(e, home, far)?);
                let mean = Interval::new((own.lo + other.lo) / 2.0, (own.hi + other.hi) / 2.0);
                let turns = e.at(WALK_IN_TURN, home as f64)?;
                between("in turn over the mean of both", ratio(turns, mean), 0.9, 1.1)
            },
        ),
    ],
    ..Experiment::PLAIN
};

fn cases(machine: &Machine) -> Vec<Case> {
    let Ok(Ends { from, to, home, far }) = ends(machine) else { return Vec::new() };
    let bytes = machine.in_memory();
    let case = |series: &str, x: usize, cpu, work, policy| {
        // Only a page that its CPU touches first lies on the node that `Local` names.
        let touched = policy == MemoryPolicy::Local;
        let setup = NodeSetup { cpu, bytes, work, seed: machine.seed, touched };
        Case::new(series, x as f64, setup).in_large_pages().on_nodes(policy).in_turn()
    };
    let mut cases = Vec::new();
    for &(node, cpu) in &from {
        let walk = |&memory: &usize| {
            case(&node.to_string(), memory, cpu, Work::Walk, MemoryPolicy::Bind(memory))
        };
        cases.extend(to.iter().map(walk));
    }
    let Some(&(_, cpu)) = from.iter().find(|(node, _)| *node == home) else { return cases };
    let turns = || MemoryPolicy::Interleave(vec![home, far]);
    cases.push(case(WALK_IN_TURN, home, cpu, Work::Walk, turns()));
    cases.push(case(WALK_TOUCHED, home, cpu, Work::Walk, MemoryPolicy::Local));
    for (series, motion) in
        [(READ, Motion::Read), (WRITE, Motion::Write), (STREAM, Motion::WriteNonTemporal)]
    {
        cases.extend([home, far].map(|memory| {
            case(series, memory, cpu, Work::Move(motion), MemoryPolicy::Bind(memory))
        }));
    }
    cases.push(case(READ_IN_TURN, home, cpu, Work::Move(Motion::Read), turns()));
    cases
}

#[derive(Clone, Copy, Debug)]
enum Work {
    /// Walks in random order, one line per element.
    Walk,
    /// Moves blocks of 512 bytes.
    Move(Motion),
}

/// One thread on a CPU, and memory on the nodes that the case asks for.
#[derive(Clone, Copy, Debug)]
struct NodeSetup {
    cpu: usize,
    bytes: usize,
    work: Work,
    seed: u64,
    /// Whether the CPU touches the pages first, and the kernel chooses their node.
    touched: bool,
}

impl Setup for NodeSetup {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn first_touched_by(&self) -> Option<usize> {
        self.touched.then_some(self.cpu)
    }

    fn prepare<'m>(&self, region: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        let region = match self.touched {
            true => Region::new(context.host.first_touched_on(region.into_bytes(), self.cpu)?)?,
            false => region,
        };
        let (kernel, period): (Box<dyn crate::kernel::Kernel + Send + 'm>, u64) = match self.work {
            Work::Walk => {
                let setup = WalkSetup::random(Layout::npad(7), region.len(), self.seed);
                (Box::new(setup.walk(region)?), setup.count as u64)
            }
            Work::Move(motion) => {
                let stream = Bandwidth::new(region, motion, Vector::Sse2)?;
                let period = stream.pass();
                (Box::new(stream), period)
            }
        };
        Ok(Workload::at_once(vec![Worker { cpu: self.cpu, kernel }], SampleOf::First, period))
    }
}

/// Number of nodes whose CPUs a quick run uses, and number of nodes whose memory it measures.
const FEW_FROM: usize = 2;
const FEW_TO: usize = 4;

/// The nodes of the CPUs and of the memory that a run measures.
#[derive(Debug, PartialEq)]
struct Ends {
    /// The nodes that have CPUs, each with the CPU that measures. The measuring CPU's node is the
    /// first; in a quick run, `home` is.
    from: Vec<(usize, usize)>,
    /// The nodes that have memory, in ascending order.
    to: Vec<usize>,
    /// The first node that has both CPUs and memory.
    home: usize,
    /// The node with memory whose stated distance from `home` is the largest.
    far: usize,
}

/// Returns the nodes that a run measures.
///
/// # Errors
/// If there is nothing to compare. The reason says how many nodes there are.
fn ends(machine: &Machine) -> Testable<Ends> {
    let refused = |reason: &str| Err(Untestable::because(reason));
    let nodes = &machine.nodes;
    let with_memory: Vec<usize> =
        nodes.iter().filter(|node| node.has_memory()).map(|node| node.id).collect();
    match (nodes.len(), &with_memory[..]) {
        (0, _) => return refused("the system tells of no memory nodes"),
        (1, _) => return refused("this machine has one memory node"),
        (_, []) => return refused("no memory node of this machine has memory"),
        (all, [one]) => {
            return Err(Untestable(format!(
                "of the {all} memory nodes of this machine, only {} has memory",
                Nodes(&[*one])
            )));
        }
        _ => {}
    }
    let mut from: Vec<(usize, usize)> = Vec::new();
    for location in machine.cpu_order.locations() {
        let near = machine.node_of(location.cpu);
        if let Some(node) = near.filter(|node| from.iter().all(|(known, _)| known != node)) {
            from.push((node, location.cpu));
        }
    }
    let Some(&(home, _)) = from.iter().find(|(node, _)| with_memory.contains(node)) else {
        return refused("no CPU that threads may have is next to a node with memory");
    };
    let distance = |to: usize| distance(nodes, home, to).unwrap_or(0);
    let others = || with_memory.iter().copied().filter(|node| *node != home);
    // Of nodes at the same distance, the first.
    let far = others().rev().max_by_key(|node| distance(*node)).unwrap_or(home);
    let mut to = with_memory.clone();
    if !machine.full {
        order::by_key(&mut from, |(node, _)| (*node != home, *node != far));
        from.truncate(FEW_FROM);
        // Nodes of measuring CPUs and the farthest node come first, then one node of each distance,
        // then the others.
        let rank = |node: usize| {
            let before = others().take_while(|other| *other != node);
            let repeated = before.filter(|other| distance(*other) == distance(node));
            let chosen = node == home || node == far || from.iter().any(|(of, _)| *of == node);
            (!chosen, repeated.count(), node)
        };
        order::by_key(&mut to, |node| rank(*node));
        to.truncate(FEW_TO);
        to.sort_unstable();
    }
    Ok(Ends { from, to, home, far })
}

/// Like [`ends`], if the working set was large enough to lie in memory.
fn measured_ends(e: &Evidence<'_>) -> Testable<Ends> {
    let ends = ends(e.machine)?;
    e.machine.memory_size()?;
    Ok(ends)
}

/// Returns the distance from one node to another, as the firmware states it.
fn distance(nodes: &[MemoryNode], from: usize, to: usize) -> Option<u64> {
    let node = nodes.iter().find(|node| node.id == from)?;
    let place = nodes.iter().position(|node| node.id == to)?;
    node.distances.get(place).copied()
}

/// The nodes of a CPU and of memory, and a quotient of two latencies.
type Quotient = ((usize, usize), Interval);

/// Returns what is at the nodes of a CPU and of memory.
fn in_words((from, to): (usize, usize), what: &str) -> String {
    format!("CPU of node {from}, memory of node {to}, {what}")
}

/// Returns the time of a step in memory of node `to` from a CPU of node `from`.
fn walk(e: &Evidence<'_>, from: usize, to: usize) -> Testable<Reading> {
    e.at(&from.to_string(), to as f64)
}

/// Returns the times of steps in memory of other nodes over those in memory of the CPU's own node,
/// for each CPU whose node has memory.
fn of_pairs(e: &Evidence<'_>) -> Testable<Vec<Quotient>> {
    let Ends { from, to, .. } = measured_ends(e)?;
    let mut quotients = Vec::new();
    for (from, _) in from.into_iter().filter(|(node, _)| to.contains(node)) {
        let own = walk(e, from, from)?;
        for &to in to.iter().filter(|node| **node != from) {
            quotients.push(((from, to), ratio(walk(e, from, to)?, &own)?));
        }
    }
    Ok(quotients)
}

/// Returns the reason why the firmware's distances cannot be compared.
fn all_alike() -> Untestable {
    Untestable("the firmware states the same distance between all nodes, or none".to_owned())
}

/// Returns the times of steps in memory of the farther of two nodes, as the firmware states it,
/// over those in memory of the nearer node, for each CPU and each two nodes.
fn in_order(e: &Evidence<'_>) -> Testable<Vec<Quotient>> {
    let Ends { from, to, .. } = measured_ends(e)?;
    let nodes = &e.machine.nodes;
    let mut quotients = Vec::new();
    for (from, _) in from {
        for &far in &to {
            for &near in &to {
                let [at, before] = [far, near].map(|to| distance(nodes, from, to));
                if before.is_some() && before < at {
                    let value = ratio(walk(e, from, far)?, walk(e, from, near)?)?;
                    quotients.push(((from, far), value));
                }
            }
        }
    }
    if quotients.is_empty() { Err(all_alike()) } else { Ok(quotients) }
}

/// Returns the quotients of [`of_pairs`], each over the quotient of the distances that the firmware
/// states.
fn stated(e: &Evidence<'_>) -> Testable<Vec<Quotient>> {
    let nodes = &e.machine.nodes;
    let stated = |from, to| distance(nodes, from, to).filter(|distance| *distance > 0);
    let over_stated = |((from, to), value): Quotient| {
        let (own, other) = (stated(from, from)?, stated(from, to)?);
        Some(((from, to), value.scaled(own as f64 / other as f64)))
    };
    let quotients: Vec<Quotient> = of_pairs(e)?.into_iter().filter_map(over_stated).collect();
    let differ = |node: &MemoryNode| {
        let mut distances = node.distances.windows(2);
        distances.any(|pair| pair[0] != pair[1])
    };
    let comparable = !quotients.is_empty() && nodes.iter().any(differ);
    if comparable { Ok(quotients) } else { Err(all_alike()) }
}

/// Returns the speed of a motion in memory of the farthest node over its speed in memory of the own
/// node.
fn speed(e: &Evidence<'_>, series: &str) -> Testable<Interval> {
    let Ends { home, far, .. } = measured_ends(e)?;
    ratio(e.at(series, home as f64)?, e.at(series, far as f64)?)
}
