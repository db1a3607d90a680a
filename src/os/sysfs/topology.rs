//! Where a CPU sits: `cpuN/topology`.

use std::path::Path;

use super::{Sysfs, read_list};
use crate::os::root::{Unreadable, read_number};

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
