//! CPUs, caches and memory nodes as the kernel describes them under `/sys/devices/system`: where a CPU
//! sits (`cpuN/topology`), the memory nodes (`node/nodeN`), and how cores share caches (the arrangements
//! of Drepper 3.5.3).
//!
//! The file names are those of the kernel's `Documentation/ABI/stable/sysfs-devices-system-cpu`
//! and `.../sysfs-devices-node`.

mod cache;
pub(crate) mod list;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::limits::{meminfo_bytes, no_line};
use super::root::{Unreadable, read, read_number};
pub use crate::host::{Arrangement, CpuLocation, MemoryNode, Nearness, Sharing};
pub use cache::Cache;
pub use list::CpuMask;

/// The tree at `/sys`, or a recorded tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sysfs {
    cpus: PathBuf,
    nodes: PathBuf,
}

impl Sysfs {
    /// Returns the tree of the machine that this process runs on.
    pub fn live() -> Self {
        Self::at(Path::new("/sys"))
    }

    /// Returns the tree whose top, `/sys` on a live machine, is `root`.
    pub fn at(root: &Path) -> Self {
        let system = root.join("devices/system");
        Self { cpus: system.join("cpu"), nodes: system.join("node") }
    }

    /// Returns the online CPUs, in ascending order.
    ///
    /// # Errors
    /// [`Unreadable`] if the list is missing, malformed or empty.
    pub fn online(&self) -> Result<Vec<usize>, Unreadable> {
        read_list(&self.cpus.join("online"))
    }

    /// Returns the caches of a CPU, in the order of their `index` folders (level 1 first).
    ///
    /// # Errors
    /// [`Unreadable`] if the CPU has no such folder, as in many virtual machines, or if a cache has no
    /// valid level, type, size or list of CPUs.
    pub fn caches(&self, cpu: usize) -> Result<Vec<Cache>, Unreadable> {
        cache::all(&self.cpu(cpu).join("cache"))
    }

    /// Returns the last data cache between `cpu` and memory.
    ///
    /// # Errors
    /// As [`caches`](Self::caches), and if there is no data cache among them.
    pub fn last_level(&self, cpu: usize) -> Result<Cache, Unreadable> {
        let data = self.caches(cpu)?.into_iter().filter(Cache::holds_data);
        let none = || Unreadable::new(self.cpu(cpu).join("cache"), "none of the caches holds data");
        data.max_by_key(|cache| cache.level).ok_or_else(none)
    }

    /// Returns the place of a CPU: its core, package and hyper-threads.
    ///
    /// # Errors
    /// [`Unreadable`] if one of the files is missing or malformed, also for a CPU that is offline or does
    /// not exist.
    pub fn topology(&self, cpu: usize) -> Result<Topology, Unreadable> {
        let dir = self.cpu(cpu).join("topology");
        Ok(Topology {
            core: read_number(&dir.join("core_id"))?,
            package: read_number(&dir.join("physical_package_id"))?,
            threads: read_list(&dir.join("thread_siblings_list"))?,
        })
    }

    /// Returns the memory nodes, in ascending order.
    ///
    /// # Errors
    /// [`Unreadable`] if there are none (a kernel built without NUMA), or one is malformed.
    pub fn nodes(&self) -> Result<Vec<MemoryNode>, Unreadable> {
        let ids = read_numbers(&self.nodes.join("online"), "a list of nodes")?;
        ids.into_iter().map(|id| node(&self.nodes.join(format!("node{id}")), id)).collect()
    }

    /// Returns the bytes of a node that are free or hold only cached files.
    ///
    /// # Errors
    /// [`Unreadable`] if there is no such node, or its `meminfo` lacks the free memory.
    pub fn available_on(&self, node: usize) -> Result<u64, Unreadable> {
        let dir = self.nodes.join(format!("node{node}"));
        // The pages of cached files count as free, because the kernel gives them up.
        let files = ["Active(file)", "Inactive(file)"];
        let files = files.map(|name| memory_field(&dir, node, name).unwrap_or(0));
        Ok(memory_field(&dir, node, "MemFree")?.saturating_add(files.into_iter().sum()))
    }

    fn cpu(&self, cpu: usize) -> PathBuf {
        self.cpus.join(format!("cpu{cpu}"))
    }
}

/// Reads a list of CPUs that must not be empty.
fn read_list(path: &Path) -> Result<Vec<usize>, Unreadable> {
    read_numbers(path, "a list of CPUs")
}

/// Reads a list of numbers that must not be empty. An error says what was `expected` in the file.
fn read_numbers(path: &Path, expected: &str) -> Result<Vec<usize>, Unreadable> {
    let text = read(path)?;
    list::parse(&text)
        .filter(|numbers| !numbers.is_empty())
        .ok_or_else(|| Unreadable::malformed(path, &text, expected))
}

/// The place of a CPU in the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    /// The core, numbered within its package.
    pub core: u64,
    /// The package (socket).
    pub package: u64,
    /// The CPUs of the same core, this CPU included, in ascending order.
    pub threads: Vec<usize>,
}

impl Topology {
    /// Returns the other hyper-threads of the core. `cpu` is the CPU that this describes.
    pub fn siblings(&self, cpu: usize) -> Vec<usize> {
        self.threads.iter().copied().filter(|thread| *thread != cpu).collect()
    }
}

impl Sysfs {
    /// Returns whether two of `cpus` are hyper-threads of one core, as far as the kernel reports.
    pub fn share_a_core(&self, cpus: &[usize]) -> bool {
        cpus.iter().any(|&cpu| {
            let topology = self.topology(cpu).ok();
            let siblings = topology.map_or_else(Vec::new, |topology| topology.siblings(cpu));
            cpus.iter().any(|other| siblings.contains(other))
        })
    }
}

fn node(dir: &Path, id: usize) -> Result<MemoryNode, Unreadable> {
    let cpus = list::read(&dir.join("cpulist"))?;
    let path = dir.join("distance");
    let text = read(&path)?;
    let distances: Result<_, _> = text.split_whitespace().map(str::parse).collect();
    let distances =
        distances.map_err(|_| Unreadable::malformed(&path, &text, "a row of distances"))?;
    Ok(MemoryNode { id, cpus, distances, memory: memory_field(dir, id, "MemTotal").ok() })
}

/// Returns the bytes on the line `name` of a node's `meminfo`, whose lines begin with the node's number.
fn memory_field(dir: &Path, id: usize, name: &str) -> Result<u64, Unreadable> {
    let path = dir.join("meminfo");
    let text = read(&path)?;
    let begin = format!("Node {id} ");
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(&begin));
    let value = lines.find_map(|line| meminfo_bytes(line, name));
    value.ok_or_else(|| no_line(&path, name))
}

impl Sysfs {
    /// Returns the location of each of `cpus`, in their order.
    ///
    /// If the kernel does not report a part, the common case is assumed: one core per CPU, one level-2 cache
    /// per core, one last-level cache per package, one package.
    pub fn locations(&self, cpus: &[usize]) -> Vec<CpuLocation> {
        let firsts = self.firsts_of_packages();
        let location = |&cpu: &usize| self.location(cpu, &firsts);
        cpus.iter().map(location).collect()
    }

    fn location(&self, cpu: usize, firsts: &BTreeMap<Option<u64>, usize>) -> CpuLocation {
        let topology = self.topology(cpu).ok();
        let caches = self.caches(cpu).unwrap_or_default();
        let data = || caches.iter().filter(|cache| cache.holds_data());
        let threads = topology.as_ref().and_then(|known| known.threads.first());
        let core = threads.copied().unwrap_or(cpu);
        let package = topology.map(|known| known.package);
        let package = firsts.get(&package).copied().unwrap_or(0);
        let l2 = data().find(|cache| cache.level == 2);
        let last = data().filter(|cache| cache.level > 1).max_by_key(|cache| cache.level);
        let lowest = |cache: &Cache| cache.shared_by.first().copied();
        CpuLocation {
            cpu,
            core,
            l2: l2.and_then(lowest).unwrap_or(core),
            last_level: last.and_then(lowest).unwrap_or(package),
            package,
        }
    }

    /// Returns the lowest online CPU of each package. CPUs whose package the kernel does not report count as
    /// one more package, `None`.
    fn firsts_of_packages(&self) -> BTreeMap<Option<u64>, usize> {
        let mut firsts = BTreeMap::new();
        for cpu in self.online().unwrap_or_default() {
            let package = self.topology(cpu).ok().map(|known| known.package);
            firsts.entry(package).or_insert(cpu);
        }
        firsts
    }

    /// Returns how the online cores share their caches. A CPU whose core the kernel does not report counts
    /// as a core.
    ///
    /// # Errors
    /// [`Unreadable`] if the kernel does not describe the caches of an online CPU.
    pub fn arrangement(&self) -> Result<Arrangement, Unreadable> {
        let online = self.online()?;
        let mut levels = BTreeSet::new();
        for cpu in &online {
            let caches = self.caches(*cpu)?;
            let data = caches.iter().filter(|cache| cache.holds_data());
            levels.extend(data.map(|cache| cache.level));
        }
        // The list of CPUs is never empty.
        let arrangement = Arrangement::of(&self.locations(&online), levels.len());
        Ok(arrangement.unwrap_or(Arrangement::OneCore))
    }
}
