//! How CPUs belong together, and what else a host tells of its machine.

use alloc::collections::BTreeSet;

/// What a CPU shares with others. Each field but the first names the lowest CPU that shares it,
/// so that two CPUs share what is equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "record", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "record", serde(from = "[usize; 5]", into = "[usize; 5]"))]
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

/// How the CPUs of a machine, its packages and its caches belong together. Only CPUs that are
/// online count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sharing {
    /// Hyper-threads of the core that has most.
    pub threads: usize,
    /// Cores.
    pub cores: usize,
    /// Packages (sockets).
    pub packages: usize,
    /// Levels of cache that hold data.
    pub levels: usize,
    /// Whether instructions have a first-level cache of their own.
    pub split: bool,
    /// Cores whose hyper-threads do not share one L1d.
    pub divided: usize,
    /// L1d caches that serve several cores.
    pub joint: usize,
    /// Last-level caches of the package that has most.
    pub last_levels: usize,
    /// Caches that serve several packages.
    pub across: usize,
}

/// How the cores of the processors share their caches beyond the first level. The first four are
/// those of Drepper, "What Every Programmer Should Know About Memory", 3.5.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Arrangement {
    /// Each core has its own last level: early multi-core processors.
    Separate,
    /// All cores share the second level, which is the last: Intel's dual cores of 2006.
    SharedL2,
    /// Groups of cores share a second level, which is the last: Intel's quad cores of 2007.
    L2OfGroups,
    /// Each core has its second level, and all share the third: AMD's family 10h, and most since.
    SharedL3,
    /// Each core has its second level, and groups of them a third: core complexes of Zen.
    L3OfGroups,
    /// Groups of cores share a second level, and larger ones a third: clusters of efficient cores.
    L2InL3,
    /// Each processor has one core.
    OneCore,
}

impl Arrangement {
    /// All of them.
    pub const ALL: [Arrangement; 7] = [
        Arrangement::Separate,
        Arrangement::SharedL2,
        Arrangement::L2OfGroups,
        Arrangement::SharedL3,
        Arrangement::L3OfGroups,
        Arrangement::L2InL3,
        Arrangement::OneCore,
    ];

    /// The arrangement of the CPUs that sit so; `None` without any.
    pub fn of(seats: &[CpuLocation]) -> Option<Arrangement> {
        // Of all that share what `shared` tells, so many different ones of `counted` at most.
        let most = |shared: fn(&CpuLocation) -> usize, counted: fn(&CpuLocation) -> usize| {
            let pairs: BTreeSet<_> = seats.iter().map(|of| (shared(of), counted(of))).collect();
            let count = |key| pairs.iter().filter(|pair| pair.0 == key).count();
            pairs.iter().map(|pair| count(pair.0)).max()
        };
        let cores_a_package = most(|seat| seat.package, |seat| seat.core)?;
        let cores_an_l2 = most(|seat| seat.l2, |seat| seat.core)?;
        let cores_a_last = most(|seat| seat.last_level, |seat| seat.core)?;
        let l2s_a_last = most(|seat| seat.last_level, |seat| seat.l2)?;
        let lasts_a_package = most(|seat| seat.package, |seat| seat.last_level)?;
        Some(match () {
            () if cores_a_package == 1 => Arrangement::OneCore,
            () if cores_a_last == 1 => Arrangement::Separate,
            () if l2s_a_last == 1 && lasts_a_package == 1 => Arrangement::SharedL2,
            () if l2s_a_last == 1 => Arrangement::L2OfGroups,
            () if cores_an_l2 > 1 => Arrangement::L2InL3,
            () if lasts_a_package == 1 => Arrangement::SharedL3,
            () => Arrangement::L3OfGroups,
        })
    }
}

/// A number that a host tells of its machine or of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Told {
    /// Bytes of memory of the machine.
    Memory,
    /// Bytes of the last level that a hardware thread of this CPU may count on.
    LastLevelShare,
    /// Caches of which line, ways and sets do not make the size.
    CachesThatDisagree,
    /// CPUs that the mask of their own core's hyper-threads leaves out.
    AbsentFromOwnMask,
    /// The most hyper-threads beside a CPU.
    OtherThreads,
    /// CPUs whose other hyper-threads are not who shares their L1d.
    OtherThreadsAstray,
    /// Bytes of L2, as a program asks for them by `sysconf`.
    Level2BySysconf,
    /// Bytes of this CPU's L2, as the description of the machine has them.
    Level2,
    /// Page directories that the addresses of this program take.
    PageDirectories,
}
