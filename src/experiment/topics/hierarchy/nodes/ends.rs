//! The memory nodes that a run measures.

use crate::experiment::prelude::*;
use crate::host::{MemoryNode, Nodes};
use crate::order;

/// Number of nodes whose CPUs a quick run uses, and number of nodes whose memory it measures.
const FEW_FROM: usize = 2;
const FEW_TO: usize = 4;

/// The nodes of the CPUs and of the memory that a run measures.
#[derive(Debug, PartialEq)]
pub(super) struct Ends {
    /// The nodes that have CPUs, each with the CPU that measures. The measuring CPU's node is the
    /// first; in a quick run, `home` is.
    pub from: Vec<(usize, usize)>,
    /// The nodes that have memory, in ascending order.
    pub to: Vec<usize>,
    /// The first node that has both CPUs and memory.
    pub home: usize,
    /// The node with memory whose stated distance from `home` is the largest.
    pub far: usize,
}

/// Returns the nodes that a run measures.
///
/// # Errors
/// If there is nothing to compare. The reason says how many nodes there are.
pub(super) fn ends(machine: &Machine) -> Testable<Ends> {
    let refused = |reason: String| Err(Untestable(reason));
    let nodes = &machine.nodes;
    let with_memory: Vec<usize> = nodes
        .iter()
        .filter(|node| node.has_memory())
        .map(|node| node.id)
        .collect();
    match (&nodes[..], &with_memory[..]) {
        ([], _) => return refused("the system tells of no memory nodes".to_owned()),
        ([_], _) => return refused("this machine has one memory node".to_owned()),
        (_, []) => return refused("no memory node of this machine has memory".to_owned()),
        (_, [_]) => {
            return refused(format!(
                "of the {} memory nodes of this machine, only {} has memory",
                nodes.len(),
                Nodes(&with_memory)
            ));
        }
        _ => {}
    }
    let mut from: Vec<(usize, usize)> = Vec::new();
    for seat in machine.cpu_order.seats() {
        let near = machine.node_of(seat.cpu);
        if let Some(node) = near.filter(|node| from.iter().all(|(known, _)| known != node)) {
            from.push((node, seat.cpu));
        }
    }
    let Some(&(home, _)) = from.iter().find(|(node, _)| with_memory.contains(node)) else {
        return refused("no CPU that threads may have is next to a node with memory".to_owned());
    };
    let distance = |to: usize| distance(nodes, home, to).unwrap_or(0);
    let others = || with_memory.iter().copied().filter(|node| *node != home);
    // Of nodes at the same distance, the first.
    let far = others().rev().max_by_key(|node| distance(*node));
    let far = far.unwrap_or(home);
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
    Ok(Ends {
        from,
        to,
        home,
        far,
    })
}

/// Returns the nodes that were measured.
///
/// # Errors
/// As [`ends`], and if the working set is too small to lie in memory.
pub(super) fn measured_ends(e: &Evidence<'_>) -> Testable<Ends> {
    let ends = ends(e.machine)?;
    e.machine.memory_size()?;
    Ok(ends)
}

/// Returns the distance from one node to another, as the firmware states it.
pub(super) fn distance(nodes: &[MemoryNode], from: usize, to: usize) -> Option<u64> {
    let node = nodes.iter().find(|node| node.id == from)?;
    let place = nodes.iter().position(|node| node.id == to)?;
    node.distances.get(place).copied()
}
