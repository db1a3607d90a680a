//! The memory node that a run is asked to use.

use anyhow::{Context as _, Result, bail};

use crate::host::{MemoryNode, Nodes};
use crate::os::memory::prefer_node;
use crate::os::root::read;
use crate::os::sysfs::list;
use crate::os::{Root, Sysfs};

/// The memory nodes that the system tells of; none where it tells of none.
pub(in crate::lab) fn nodes(root: &Root) -> Vec<MemoryNode> {
    Sysfs::at(&root.sys).nodes().unwrap_or_default()
}

/// Whether `node` can have memory of this process.
///
/// # Errors
/// If there is no such node, it has no memory, or it is kept from this process: with those that there
/// are.
fn check(node: usize, nodes: &[MemoryNode], root: &Root) -> Result<()> {
    let ids = |nodes: &mut dyn Iterator<Item = &MemoryNode>| -> Vec<usize> {
        nodes.map(|node| node.id).collect()
    };
    if nodes.is_empty() {
        bail!("--node {node}: the system tells of no memory nodes");
    }
    let Some(found) = nodes.iter().find(|known| known.id == node) else {
        let all = ids(&mut nodes.iter());
        bail!(
            "--node {node}: no node {node}: this machine has {}",
            Nodes(&all)
        );
    };
    if !found.has_memory() {
        let some = ids(&mut nodes.iter().filter(|node| node.has_memory()));
        bail!(
            "--node {node}: node {node} has CPUs and no memory: {} can have it",
            Nodes(&some)
        );
    }
    match allowed(root) {
        Some(allowed) if !allowed.contains(&node) => bail!(
            "--node {node}: node {node} is kept from this process, which may use {} (Mems_allowed_list, \
             set by a cpuset)",
            Nodes(&allowed)
        ),
        _ => Ok(()),
    }
}

/// The nodes that this process may take memory from, if the system tells.
fn allowed(root: &Root) -> Option<Vec<usize>> {
    let status = read(&root.proc.join("self/status")).ok()?;
    let mut lines = status.lines();
    list::parse(lines.find_map(|line| line.strip_prefix("Mems_allowed_list:"))?)
}

/// Has this thread, and every thread that it starts, take memory from `node`.
///
/// # Errors
/// If there is no such node, or the kernel refuses.
pub(super) fn prefer(node: usize, nodes: &[MemoryNode], root: &Root) -> Result<()> {
    check(node, nodes, root)?;
    prefer_node(node).with_context(|| format!("--node {node}: set_mempolicy is refused"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn node(id: usize, memory: u64) -> MemoryNode {
        MemoryNode {
            id,
            cpus: vec![id],
            distances: vec![10],
            memory: Some(memory),
        }
    }

    #[test]
    fn a_node_is_checked_against_those_there_are() {
        let nowhere = Root::under(Path::new("/nonexistent"));
        let nodes = [node(0, 1 << 30), node(1, 0), node(4, 1 << 30)];
        assert!(check(4, &nodes, &nowhere).is_ok());
        let refused = |node, nodes: &[MemoryNode]| {
            let error = check(node, nodes, &nowhere).unwrap_err();
            error.to_string()
        };
        assert_eq!(
            refused(3, &nodes),
            "--node 3: no node 3: this machine has nodes 0, 1 and 4"
        );
        assert_eq!(
            refused(3, &nodes[..1]),
            "--node 3: no node 3: this machine has node 0"
        );
        assert_eq!(
            refused(1, &nodes),
            "--node 1: node 1 has CPUs and no memory: nodes 0 and 4 can have it"
        );
        assert_eq!(
            refused(0, &[]),
            "--node 0: the system tells of no memory nodes"
        );
    }

    #[test]
    fn a_node_outside_the_cpuset_is_refused() {
        let dir = std::env::temp_dir().join(format!("linefill-node-{}", std::process::id()));
        std::fs::create_dir_all(dir.join("proc/self")).unwrap();
        let status = "Name:\tx\nMems_allowed:\t1\nMems_allowed_list:\t0,2-3\n";
        std::fs::write(dir.join("proc/self/status"), status).unwrap();
        let nodes = [node(0, 1), node(1, 1), node(2, 1)];
        let root = Root::under(&dir);
        let inside = check(2, &nodes, &root);
        let outside = check(1, &nodes, &root);
        std::fs::remove_dir_all(&dir).unwrap();
        assert!(inside.is_ok());
        let outside = outside.unwrap_err().to_string();
        assert!(
            outside.contains("node 1 is kept from this process, which may use nodes 0, 2 and 3"),
            "{outside}"
        );
    }
}
