//! Where a CPU sits: `cpuN/topology`; and memory nodes: `node/nodeN`.

use std::path::Path;

use super::{Sysfs, list, read_list};
use crate::host::MemoryNode;
use crate::os::limits::meminfo_bytes;
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

pub(super) fn nodes(dir: &Path) -> Result<Vec<MemoryNode>, Unreadable> {
    let path = dir.join("online");
    let text = read(&path)?;
    let ids = list::parse(&text)
        .filter(|ids| !ids.is_empty())
        .ok_or_else(|| Unreadable::malformed(&path, &text, "a list of nodes"))?;
    ids.into_iter()
        .map(|id| node(&dir.join(format!("node{id}")), id))
        .collect()
}

fn node(dir: &Path, id: usize) -> Result<MemoryNode, Unreadable> {
    let path = dir.join("cpulist");
    let text = read(&path)?;
    let cpus =
        list::parse(&text).ok_or_else(|| Unreadable::malformed(&path, &text, "a list of CPUs"))?;
    let path = dir.join("distance");
    let text = read(&path)?;
    let distances: Result<_, _> = text.split_whitespace().map(str::parse).collect();
    let distances =
        distances.map_err(|_| Unreadable::malformed(&path, &text, "a row of distances"))?;
    Ok(MemoryNode {
        id,
        cpus,
        distances,
        memory: memory_field(dir, id, "MemTotal").ok(),
    })
}

/// Bytes on the line `name` of a node's `meminfo`, whose lines begin with the node.
fn memory_field(dir: &Path, id: usize, name: &str) -> Result<u64, Unreadable> {
    let path = dir.join("meminfo");
    let text = read(&path)?;
    let begin = format!("Node {id} ");
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(&begin));
    let found = lines.find_map(|line| meminfo_bytes(line, name));
    found.ok_or_else(|| Unreadable {
        path: path.clone(),
        problem: format!("it has no valid {name} line"),
    })
}

/// Bytes of a node that are free, or taken by files alone.
pub(super) fn available_on(dir: &Path, id: usize) -> Result<u64, Unreadable> {
    let files = ["Active(file)", "Inactive(file)"];
    let files = files.map(|name| memory_field(dir, id, name).unwrap_or(0));
    Ok(memory_field(dir, id, "MemFree")?.saturating_add(files.into_iter().sum()))
}
