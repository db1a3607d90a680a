//! Where CPUs sit relative to each other: what two of them share.

use super::Sysfs;

/// What a CPU shares with others. Each field but the first names the lowest CPU that shares it,
/// so that two CPUs share what is equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "lab", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "lab", serde(from = "[usize; 5]", into = "[usize; 5]"))]
pub struct CpuLocation {
    /// The CPU itself.
    pub cpu: usize,
    /// Its core: equal for hyper-threads.
    pub core: usize,
    /// Its level-2 cache.
    pub l2: usize,
    /// Its last-level cache.
    pub last_level: usize,
    /// Its package (socket).
    pub package: usize,
}

impl From<[usize; 5]> for CpuLocation {
    /// The fields in their order.
    fn from([cpu, core, l2, last_level, package]: [usize; 5]) -> Self {
        CpuLocation {
            cpu,
            core,
            l2,
            last_level,
            package,
        }
    }
}

impl From<CpuLocation> for [usize; 5] {
    fn from(at: CpuLocation) -> Self {
        [at.cpu, at.core, at.l2, at.last_level, at.package]
    }
}

/// The nearest thing that two CPUs share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Nearness {
    /// Hyper-threads of one core.
    Core,
    /// Cores with one level-2 cache between them.
    Level2,
    /// Cores with one last-level cache.
    LastLevel,
    /// Cores of one package with last-level caches of their own.
    Package,
    /// Cores of different packages.
    System,
}

impl Nearness {
    /// All of them, the nearest first.
    pub const ALL: [Nearness; 5] = [
        Nearness::Core,
        Nearness::Level2,
        Nearness::LastLevel,
        Nearness::Package,
        Nearness::System,
    ];

    /// What they share, in words.
    pub fn name(self) -> &'static str {
        match self {
            Nearness::Core => "same core",
            Nearness::Level2 => "same L2",
            Nearness::LastLevel => "same last level",
            Nearness::Package => "same package",
            Nearness::System => "other package",
        }
    }
}

impl CpuLocation {
    /// What this CPU shares with `other`, another CPU.
    pub fn to(&self, other: &CpuLocation) -> Nearness {
        if self.core == other.core {
            Nearness::Core
        } else if self.l2 == other.l2 {
            Nearness::Level2
        } else if self.last_level == other.last_level {
            Nearness::LastLevel
        } else if self.package == other.package {
            Nearness::Package
        } else {
            Nearness::System
        }
    }
}

impl Sysfs {
    /// Where each of `cpus` sits, in their order.
    ///
    /// What the kernel does not tell is taken for the common case: a core a CPU, a level-2 cache a
    /// core, a last-level cache a package, one package.
    pub fn seats(&self, cpus: &[usize]) -> Vec<CpuLocation> {
        cpus.iter().map(|&cpu| self.seat(cpu)).collect()
    }

    fn seat(&self, cpu: usize) -> CpuLocation {
        let topology = self.topology(cpu).ok();
        let caches = self.caches(cpu).unwrap_or_default();
        let data = || caches.iter().filter(|cache| cache.holds_data());
        let threads = topology.as_ref().and_then(|known| known.threads.first());
        let core = threads.copied().unwrap_or(cpu);
        let package = self.first_of_package(topology.map(|known| known.package));
        let l2 = data().find(|cache| cache.level == 2);
        let last = data()
            .filter(|cache| cache.level > 1)
            .max_by_key(|cache| cache.level);
        let lowest = |cache: &super::Cache| cache.shared_by.first().copied();
        CpuLocation {
            cpu,
            core,
            l2: l2.and_then(lowest).unwrap_or(core),
            last_level: last.and_then(lowest).unwrap_or(package),
            package,
        }
    }

    /// The lowest online CPU of a package; 0 where the kernel does not tell.
    fn first_of_package(&self, package: Option<u64>) -> usize {
        let online = self.online().unwrap_or_default();
        let of = |cpu: &usize| self.topology(*cpu).ok().map(|known| known.package);
        let first = online.into_iter().find(|cpu| of(cpu) == package);
        first.unwrap_or(0)
    }
}
