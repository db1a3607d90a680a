//! The memory of a run: the size of the largest working set, and the memory node to use.

use anyhow::{Context as _, Result, bail};

use crate::host::{MemoryNode, Nodes};
use crate::lab::size::show;
use crate::os::memory::prefer_node;
use crate::os::root::read;
use crate::os::sysfs::list;
use crate::os::{Root, Sysfs};

const MIB: u64 = 1 << 20;

/// The smallest limit accepted: with less, no walk leaves L1d.
const LEAST: u64 = 64 << 10;

/// The largest working set by default: twice the largest working set of Drepper's figures. With a last level
/// of more than 256 MiB, it is four times the level, rounded up to a power of two. Memory begins there.
const MOST: u64 = 1 << 30;

/// The largest working set by default with a last level of any size. One pass over a larger one takes ten
/// seconds.
const MOST_WITH_CACHE: u64 = 4 << 30;

/// Returns the largest working set in bytes: as requested, or a size that leaves most memory to the rest of
/// the machine. `last_level` is the size that CPUID reports, 0 if none, and `address_space` is RLIMIT_AS.
pub(super) fn largest(
    asked: Option<u64>,
    last_level: u64,
    available: u64,
    address_space: Option<u64>,
) -> Result<u64> {
    let Some(asked) = asked else {
        // The memory of a case is mapped in both page sizes, and the program needs memory too.
        let quarter = available.min(address_space.unwrap_or(u64::MAX)) / 4;
        let memory = 4 * last_level.min(MOST_WITH_CACHE / 4);
        let most = MOST.max(memory.next_power_of_two());
        return Ok((most.min(quarter) / MIB * MIB).max(MIB));
    };
    let shown = show(asked as f64);
    if asked < LEAST {
        bail!("--memory {shown} is below {}, the smallest useful limit", show(LEAST as f64));
    }
    if asked > available {
        bail!(
            "--memory {shown} is more than the {} this machine has available",
            show(available as f64)
        );
    }
    match address_space {
        Some(limit) if asked > limit => bail!(
            "--memory {shown} is more than the address space this process may have: {} \
             (RLIMIT_AS, `ulimit -v`)",
            show(limit as f64)
        ),
        _ => Ok(asked),
    }
}

/// Returns the memory nodes that the system reports; empty if it reports none.
pub(in crate::lab) fn nodes(root: &Root) -> Vec<MemoryNode> {
    Sysfs::at(&root.sys).nodes().unwrap_or_default()
}

/// Checks that this process can allocate memory on `node`. The error names the usable nodes.
fn check(node: usize, nodes: &[MemoryNode], root: &Root) -> Result<()> {
    let ids = |nodes: &mut dyn Iterator<Item = &MemoryNode>| -> Vec<usize> {
        nodes.map(|node| node.id).collect()
    };
    if nodes.is_empty() {
        bail!("--node {node}: the system tells of no memory nodes");
    }
    let Some(found) = nodes.iter().find(|known| known.id == node) else {
        let all = ids(&mut nodes.iter());
        bail!("--node {node}: no node {node}: this machine has {}", Nodes(&all));
    };
    if !found.has_memory() {
        let some = ids(&mut nodes.iter().filter(|node| node.has_memory()));
        bail!("--node {node}: node {node} has CPUs and no memory: {} can have it", Nodes(&some));
    }
    match allowed(root) {
        Some(allowed) if !allowed.contains(&node) => bail!(
            "--node {node}: node {node} is kept from this process, which may use {} \
             (Mems_allowed_list, set by a cpuset)",
            Nodes(&allowed)
        ),
        _ => Ok(()),
    }
}

/// Returns the nodes that this process may allocate memory on, if the system reports them.
fn allowed(root: &Root) -> Option<Vec<usize>> {
    let status = read(&root.proc.join("self/status")).ok()?;
    let mut lines = status.lines();
    list::parse(lines.find_map(|line| line.strip_prefix("Mems_allowed_list:"))?)
}

/// Makes this thread, and every thread that it starts, allocate memory on `node`.
pub(super) fn prefer(node: usize, nodes: &[MemoryNode], root: &Root) -> Result<()> {
    check(node, nodes, root)?;
    prefer_node(node).with_context(|| format!("--node {node}: set_mempolicy is refused"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::os::root::Planted;

    /// With a last level of 32 MiB.
    fn largest(asked: Option<u64>, available: u64, address_space: Option<u64>) -> Result<u64> {
        super::largest(asked, 32 << 20, available, address_space)
    }

    #[test]
    fn without_a_wish_the_machine_keeps_three_quarters() {
        assert_eq!(largest(None, 64 << 30, None).unwrap(), 1 << 30);
        assert_eq!(largest(None, 2 << 30, None).unwrap(), 512 << 20);
        let limited = largest(None, 64 << 30, Some(512 << 20));
        assert_eq!(limited.unwrap(), 128 << 20);
        let with_cache = |mib: u64| super::largest(None, mib << 20, 64 << 30, None).unwrap();
        assert_eq!(with_cache(256), 1 << 30);
        assert_eq!(with_cache(320), 2 << 30);
        assert_eq!(with_cache(2048), 4 << 30);
    }

    #[test]
    fn a_wish_beyond_the_machine_is_refused_with_both_values() {
        let asked = Some(8 << 30);
        let error = largest(asked, 4 << 30, None).unwrap_err().to_string();
        assert!(error.contains("8 GiB") && error.contains("4 GiB"), "{error}");
        let error = largest(asked, 16 << 30, Some(512 << 20)).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("512 MiB") && error.contains("RLIMIT_AS"), "{error}");
        assert!(largest(Some(1), 1 << 30, None).is_err());
        assert_eq!(largest(asked, 16 << 30, None).unwrap(), 8 << 30);
    }

    fn node(id: usize, memory: u64) -> MemoryNode {
        MemoryNode { id, cpus: vec![id], distances: vec![10], memory: Some(memory) }
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
        assert_eq!(refused(3, &nodes), "--node 3: no node 3: this machine has nodes 0, 1 and 4");
        assert_eq!(refused(3, &nodes[..1]), "--node 3: no node 3: this machine has node 0");
        assert_eq!(
            refused(1, &nodes),
            "--node 1: node 1 has CPUs and no memory: nodes 0 and 4 can have it"
        );
        assert_eq!(refused(0, &[]), "--node 0: the system tells of no memory nodes");
    }

    #[test]
    fn a_node_outside_the_cpuset_is_refused() {
        let status = "Name:\tx\nMems_allowed:\t1\nMems_allowed_list:\t0,2-3\n";
        let planted = Planted::new("node", "proc", &[("self/status", status)]);
        let nodes = [node(0, 1), node(1, 1), node(2, 1)];
        let root = planted.root();
        let inside = check(2, &nodes, &root);
        let outside = check(1, &nodes, &root);
        assert!(inside.is_ok());
        let outside = outside.unwrap_err().to_string();
        assert!(
            outside.contains("node 1 is kept from this process, which may use nodes 0, 2 and 3"),
            "{outside}"
        );
    }
}
