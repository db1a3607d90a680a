//! How CPUs belong together, and facts that a host reports about its machine.

use alloc::collections::BTreeSet;

/// What a CPU shares with other CPUs. Each field except the first is the lowest CPU that shares the core,
/// cache or package, so that two CPUs share it if the fields are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "record", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "record", serde(from = "[usize; 5]", into = "[usize; 5]"))]
pub struct CpuLocation {
    /// The CPU itself.
    pub cpu: usize,
    /// The core: equal for hyper-threads of one core.
    pub core: usize,
    /// The level-2 cache.
    pub l2: usize,
    /// The last-level cache.
    pub last_level: usize,
    /// The package (socket).
    pub package: usize,
}

impl From<[usize; 5]> for CpuLocation {
    /// Takes the fields in their order.
    fn from([cpu, core, l2, last_level, package]: [usize; 5]) -> Self {
        CpuLocation { cpu, core, l2, last_level, package }
    }
}

impl From<CpuLocation> for [usize; 5] {
    fn from(at: CpuLocation) -> Self {
        [at.cpu, at.core, at.l2, at.last_level, at.package]
    }
}

variants! {
    /// The nearest resource that two CPUs share, nearest first, and its name.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Nearness {
        /// Hyper-threads of one core.
        Core = "same core",
        /// Cores that share a level-2 cache.
        Level2 = "same L2",
        /// Cores that share a last-level cache.
        LastLevel = "same last level",
        /// Cores of one package with separate last-level caches.
        Package = "same package",
        /// Cores of different packages.
        System = "other package",
    }
}

impl CpuLocation {
    /// Returns the nearest resource that this CPU shares with `other`, another CPU.
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

/// How the CPUs, packages and caches of a machine belong together. Counts only online CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sharing {
    /// The most hyper-threads of any core.
    pub threads: usize,
    /// Number of cores.
    pub cores: usize,
    /// Number of packages (sockets).
    pub packages: usize,
    /// Number of cache levels that hold data.
    pub levels: usize,
    /// Whether instructions have a separate first-level cache.
    pub split: bool,
    /// Number of cores whose hyper-threads do not share one L1d.
    pub divided: usize,
    /// Number of L1d caches that serve several cores.
    pub joint: usize,
    /// The most last-level caches of any package.
    pub last_levels: usize,
    /// Bytes of the last-level caches of all CPUs together.
    pub last_level_bytes: u64,
    /// Number of caches that serve several packages.
    pub across: usize,
}

variants! {
    /// How the cores of a processor share the caches beyond the first level. The first four arrangements are
    /// those of Drepper, "What Every Programmer Should Know About Memory", 3.5.3.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Arrangement {
        /// Each core has its own level-2 cache, which is the last: early multi-core processors.
        Separate,
        /// All cores share the level-2 cache, which is the last: Intel's dual cores of 2006.
        SharedL2,
        /// Groups of cores share a level-2 cache, which is the last: Intel's quad cores of 2007.
        L2OfGroups,
        /// Each core has a level-2 cache, and all share the level-3 cache: AMD's family 10h, and most since.
        SharedL3,
        /// Each core has a level-2 cache, and groups share a level-3 cache: core complexes of Zen. A group may be
        /// a single core.
        L3OfGroups,
        /// Groups of cores share a level-2 cache below a level-3 cache: clusters of efficient cores. All cores may
        /// be one group.
        L2InL3,
        /// Each processor has one core.
        OneCore,
    }
}

impl Arrangement {
    /// Returns the arrangement of CPUs at these locations, whose caches have `levels` levels that hold data;
    /// `None` if there are no CPUs.
    pub fn of(locations: &[CpuLocation], levels: usize) -> Option<Arrangement> {
        // The most different values of `counted` among CPUs with the same value of `shared`.
        let most = |shared: fn(&CpuLocation) -> usize, counted: fn(&CpuLocation) -> usize| {
            let pairs: BTreeSet<_> = locations.iter().map(|of| (shared(of), counted(of))).collect();
            let count = |key| pairs.iter().filter(|pair| pair.0 == key).count();
            pairs.iter().map(|pair| count(pair.0)).max()
        };
        let cores_per_package = most(|location| location.package, |location| location.core)?;
        let cores_per_l2 = most(|location| location.l2, |location| location.core)?;
        let cores_per_last = most(|location| location.last_level, |location| location.core)?;
        let l2s_per_last = most(|location| location.last_level, |location| location.l2)?;
        let lasts_per_package = most(|location| location.package, |location| location.last_level)?;
        // One L2 and one L3 may serve the same cores, so that their locations are equal.
        let l2_is_last = levels < 3 && l2s_per_last == 1;
        Some(match () {
            () if cores_per_package == 1 => Arrangement::OneCore,
            () if l2_is_last && cores_per_last == 1 => Arrangement::Separate,
            () if l2_is_last && lasts_per_package == 1 => Arrangement::SharedL2,
            () if l2_is_last => Arrangement::L2OfGroups,
            () if cores_per_l2 > 1 => Arrangement::L2InL3,
            () if lasts_per_package == 1 => Arrangement::SharedL3,
            () => Arrangement::L3OfGroups,
        })
    }
}

/// A number that a host reports about its machine or itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Told {
    /// Bytes of the machine's memory.
    Memory,
    /// Bytes of the last-level cache per hardware thread that shares it, on this CPU.
    LastLevelShare,
    /// Number of caches whose size is not the product of line, ways and sets.
    CachesThatDisagree,
    /// Number of CPUs that are missing from the mask of their own core's hyper-threads.
    AbsentFromOwnMask,
    /// The most hyper-threads that share a core with any CPU.
    OtherThreads,
    /// Number of CPUs whose other hyper-threads differ from the other CPUs that share their L1d.
    OtherThreadsAstray,
    /// Bytes of L2 that `sysconf` returns to a program.
    Level2BySysconf,
    /// Bytes of this CPU's L2 in the description of the machine.
    Level2,
    /// Number of page directories that this program's addresses need.
    PageDirectories,
}
