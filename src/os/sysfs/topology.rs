//! Where a CPU sits: `cpuN/topology`; and memory nodes: `node/nodeN`.

use std::path::Path;

use super::{Sysfs, list, read_list};
use crate::os::root::{Unreadable, read, read_number};

/// The place of one CPU in the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    /// The core, numbered within its package.
    pub core: u64,
    /// The package (socket).
    pub package: u64,
    /// The CPUs of the same core, this one among them, in rising order.
    pub threads: Vec<usize>,
}

impl Topology {
    /// The other hyper-threads of the core, for the CPU `cpu` that this describes.
    pub fn siblings(&self, cpu: usize) -> Vec<usize> {
        self.threads
            .iter()
            .copied()
            .filter(|thread| *thread != cpu)
            .collect()
    }
}

impl Sysfs {
    /// Whether two of `cpus` are hyper-threads of one core, as far as the kernel tells.
    pub fn share_a_core(&self, cpus: &[usize]) -> bool {
        cpus.iter().any(|&cpu| {
            let topology = self.topology(cpu).ok();
            let siblings = topology.map_or_else(Vec::new, |topology| topology.siblings(cpu));
            cpus.iter().any(|other| siblings.contains(other))
        })
    }
}

pub(super) fn of(dir: &Path) -> Result<Topology, Unreadable> {
    Ok(Topology {
        core: read_number(&dir.join("core_id"))?,
        package: read_number(&dir.join("physical_package_id"))?,
        threads: read_list(&dir.join("thread_siblings_list"))?,
    })
}

/// One memory node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its number.
    pub id: usize,
    /// The CPUs next to it; none for a node of memory alone.
    pub cpus: Vec<usize>,
    /// Relative distance to each online node in rising order, 10 to itself (ACPI SLIT).
    pub distances: Vec<u64>,
}

pub(super) fn nodes(dir: &Path) -> Result<Vec<Node>, Unreadable> {
    let path = dir.join("online");
    let text = read(&path)?;
    let ids = list::parse(&text)
        .filter(|ids| !ids.is_empty())
        .ok_or_else(|| Unreadable::malformed(&path, &text, "a list of nodes"))?;
    ids.into_iter()
        .map(|id| node(&dir.join(format!("node{id}")), id))
        .collect()
}

fn node(dir: &Path, id: usize) -> Result<Node, Unreadable> {
    let path = dir.join("cpulist");
    let text = read(&path)?;
    let cpus =
        list::parse(&text).ok_or_else(|| Unreadable::malformed(&path, &text, "a list of CPUs"))?;
    let path = dir.join("distance");
    let text = read(&path)?;
    let distances: Result<_, _> = text.split_whitespace().map(str::parse).collect();
    let distances =
        distances.map_err(|_| Unreadable::malformed(&path, &text, "a row of distances"))?;
    Ok(Node {
        id,
        cpus,
        distances,
    })
}
