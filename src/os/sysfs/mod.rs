//! CPUs, caches and memory nodes as the kernel describes them under `/sys/devices/system`.
//!
//! The file names are those of the kernel's `Documentation/ABI/stable/sysfs-devices-system-cpu`
//! and `.../sysfs-devices-node`.

mod arrangement;
mod cache;
pub(crate) mod list;
mod mask;
mod seat;
mod sharing;
mod topology;

use std::path::{Path, PathBuf};

pub use crate::host::{Arrangement, CpuLocation, MemoryNode, Nearness, Sharing};
pub use cache::Cache;
pub use mask::CpuMask;
pub use topology::Topology;

use super::root::{Unreadable, read};

/// The tree at `/sys`, or a recording of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sysfs {
    cpus: PathBuf,
    nodes: PathBuf,
}

impl Sysfs {
    /// The tree of the machine that this process runs on.
    pub fn live() -> Self {
        Self::at(Path::new("/sys"))
    }

    /// A tree whose top, `/sys` on a live machine, is `root`.
    pub fn at(root: &Path) -> Self {
        let system = root.join("devices/system");
        Self {
            cpus: system.join("cpu"),
            nodes: system.join("node"),
        }
    }

    /// The CPUs that are online, in rising order.
    ///
    /// # Errors
    /// [`Unreadable`] when the list is missing, malformed or empty.
    pub fn online(&self) -> Result<Vec<usize>, Unreadable> {
        read_list(&self.cpus.join("online"))
    }

    /// The caches of one CPU, in the order of their `index` folders (level 1 first).
    ///
    /// # Errors
    /// [`Unreadable`] when the CPU has no such folder, as in many virtual machines, or one of
    /// the caches has no valid level, type, size or list of CPUs.
    pub fn caches(&self, cpu: usize) -> Result<Vec<Cache>, Unreadable> {
        cache::all(&self.cpu(cpu).join("cache"))
    }

    /// The last data cache before memory that `cpu` reaches.
    ///
    /// # Errors
    /// As [`caches`](Self::caches), and when there is no data cache among them.
    pub fn last_level(&self, cpu: usize) -> Result<Cache, Unreadable> {
        let data = self.caches(cpu)?.into_iter().filter(Cache::holds_data);
        data.max_by_key(|cache| cache.level)
            .ok_or_else(|| Unreadable {
                path: self.cpu(cpu).join("cache"),
                problem: "none of the caches holds data".into(),
            })
    }

    /// Where one CPU sits: its core, package and hyper-threads.
    ///
    /// # Errors
    /// [`Unreadable`] when one of the files is missing or malformed, which includes a CPU that
    /// is offline or does not exist.
    pub fn topology(&self, cpu: usize) -> Result<Topology, Unreadable> {
        topology::of(&self.cpu(cpu).join("topology"))
    }

    /// The memory nodes, in rising order.
    ///
    /// # Errors
    /// [`Unreadable`] when there are none (a kernel built without NUMA) or one is malformed.
    pub fn nodes(&self) -> Result<Vec<MemoryNode>, Unreadable> {
        topology::nodes(&self.nodes)
    }

    /// Bytes of a node that are free, or taken by files alone.
    ///
    /// # Errors
    /// [`Unreadable`] when there is no such node, or its `meminfo` does not tell.
    pub fn available_on(&self, node: usize) -> Result<u64, Unreadable> {
        topology::available_on(&self.nodes.join(format!("node{node}")), node)
    }

    /// The folder of one CPU.
    fn cpu(&self, cpu: usize) -> PathBuf {
        self.cpus.join(format!("cpu{cpu}"))
    }
}

/// A file that holds a list of CPUs, at least one.
fn read_list(path: &Path) -> Result<Vec<usize>, Unreadable> {
    let text = read(path)?;
    list::parse(&text)
        .filter(|cpus| !cpus.is_empty())
        .ok_or_else(|| Unreadable::malformed(path, &text, "a list of CPUs"))
}
