//! The caches of a CPU (`cpuN/cache/indexM`), and the CPUs that share them: Drepper's Figures 3.1 to 3.3.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::{Sysfs, Topology, list, read_list};
use crate::cpu::CacheKind;
use crate::host::Sharing;
use crate::os::root::{Unreadable, read, read_number};

/// A cache as a CPU sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    /// Level; level 1 is nearest to the core.
    pub level: u32,
    /// What the cache holds.
    pub kind: CacheKind,
    /// Size in bytes.
    pub size: u64,
    /// Ways: lines per set; `None` if the kernel does not report them.
    pub ways: Option<u64>,
    /// Number of sets; `None` if the kernel does not report it.
    pub sets: Option<u64>,
    /// Bytes per line; `None` if the kernel does not report them.
    pub line: Option<u64>,
    /// The CPUs that share the cache, in ascending order; at least one.
    pub shared_by: Vec<usize>,
}

impl Cache {
    /// Returns the bytes of this cache per CPU that shares it: the size divided by the number of bits in
    /// `shared_cpu_map` (Drepper, "What Every Programmer Should Know About Memory", 6.2.3).
    pub fn share(&self) -> u64 {
        self.size / self.shared_by.len() as u64
    }

    /// Returns whether the cache holds data.
    pub fn holds_data(&self) -> bool {
        self.kind != CacheKind::Instruction
    }
}

/// Reads every `index*` in the folder `dir`, in order of the numbers.
pub(super) fn all(dir: &Path) -> Result<Vec<Cache>, Unreadable> {
    let mut caches = Vec::new();
    // The kernel numbers them without gaps.
    while let index = dir.join(format!("index{}", caches.len()))
        && index.is_dir()
    {
        caches.push(one(&index)?);
    }
    if caches.is_empty() {
        return Err(Unreadable::new(dir, "no cache is described"));
    }
    Ok(caches)
}

fn one(dir: &Path) -> Result<Cache, Unreadable> {
    // Zero means "unknown" in these three files, and older kernels leave them out.
    let geometry = |name: &str| read_number(&dir.join(name)).ok().filter(|number| *number > 0);
    Ok(Cache {
        level: level(&dir.join("level"))?,
        kind: kind(&dir.join("type"))?,
        size: size(&dir.join("size"))?,
        ways: geometry("ways_of_associativity"),
        sets: geometry("number_of_sets"),
        line: geometry("coherency_line_size"),
        shared_by: shared_by(dir)?,
    })
}

fn level(path: &Path) -> Result<u32, Unreadable> {
    match read_number(path)? {
        level @ 1..=8 => Ok(level as u32),
        other => Err(Unreadable::malformed(path, &other.to_string(), "a level from 1 to 8")),
    }
}

fn kind(path: &Path) -> Result<CacheKind, Unreadable> {
    let text = read(path)?;
    match text.as_str() {
        "Data" => Ok(CacheKind::Data),
        "Instruction" => Ok(CacheKind::Instruction),
        "Unified" => Ok(CacheKind::Unified),
        _ => Err(Unreadable::malformed(path, &text, "Data, Instruction or Unified")),
    }
}

/// Reads a size such as `32K`.
fn size(path: &Path) -> Result<u64, Unreadable> {
    let text = read(path)?;
    let kib = text.strip_suffix('K').and_then(|digits| digits.parse::<u64>().ok());
    kib.and_then(|kib| kib.checked_mul(1024))
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| Unreadable::malformed(path, &text, "a size in KiB such as 32K"))
}

/// Reads the CPUs of `shared_cpu_list`, or of `shared_cpu_map` on kernels before 2.6.26, which have no list.
fn shared_by(dir: &Path) -> Result<Vec<usize>, Unreadable> {
    let from_list = read_list(&dir.join("shared_cpu_list"));
    let path = dir.join("shared_cpu_map");
    if from_list.is_ok() || !path.exists() {
        return from_list;
    }
    list::read_mask(&path)
}

/// A CPU, its place and its caches.
struct Cpu {
    place: Topology,
    caches: Vec<Cache>,
}

impl Cpu {
    /// Identifies the core by its hyper-threads: core numbers are unique only within a package or a die.
    fn core(&self) -> &[usize] {
        &self.place.threads
    }

    fn first_level(&self) -> Option<&Cache> {
        let mut data = self.caches.iter().filter(|cache| cache.holds_data());
        data.find(|cache| cache.level == 1)
    }

    fn last_level(&self) -> Option<&Cache> {
        let data = self.caches.iter().filter(|cache| cache.holds_data());
        data.max_by_key(|cache| cache.level)
    }
}

/// Identifies a cache by its level, its kind and the CPUs that share it.
type Identity<'a> = (u32, &'static str, &'a [usize]);

fn identity(cache: &Cache) -> Identity<'_> {
    (cache.level, cache.kind.name(), &cache.shared_by)
}

impl Sysfs {
    /// Returns how CPUs, packages and caches belong together.
    ///
    /// # Errors
    /// [`Unreadable`] if the kernel does not describe the place or the caches of an online CPU.
    pub fn sharing(&self) -> Result<Sharing, Unreadable> {
        let mut cpus = Vec::new();
        for cpu in self.online()? {
            cpus.push(Cpu { place: self.topology(cpu)?, caches: self.caches(cpu)? });
        }
        Ok(sharing(&cpus))
    }
}

/// Returns the hyper-threads of a core.
fn of_core<'a>(cpus: &'a [Cpu], core: &'a [usize]) -> impl Iterator<Item = &'a Cpu> {
    cpus.iter().filter(move |cpu| cpu.core() == core)
}

fn sharing(cpus: &[Cpu]) -> Sharing {
    let cores: BTreeSet<_> = cpus.iter().map(Cpu::core).collect();
    let packages: BTreeSet<_> = cpus.iter().map(|cpu| cpu.place.package).collect();
    let firsts = |core: &[usize]| {
        let firsts = of_core(cpus, core).filter_map(Cpu::first_level);
        firsts.map(identity).collect::<BTreeSet<_>>().len()
    };
    let lasts = |package: &u64| {
        let cpus = cpus.iter().filter(|cpu| cpu.place.package == *package);
        let lasts = cpus.filter_map(Cpu::last_level);
        lasts.map(identity).collect::<BTreeSet<_>>().len()
    };
    // The sizes may differ: of two dies, or of two kinds of cores.
    let all_lasts = cpus.iter().filter_map(Cpu::last_level);
    let sizes: BTreeMap<_, u64> = all_lasts.map(|last| (identity(last), last.size)).collect();
    let all: BTreeSet<Identity<'_>> =
        cpus.iter().flat_map(|cpu| cpu.caches.iter().map(identity)).collect();
    // Numbers of cores and of packages that a cache serves.
    let serves = |wanted: Identity<'_>| {
        let served = cpus.iter().filter(move |cpu| {
            let mut caches = cpu.caches.iter();
            caches.any(|cache| identity(cache) == wanted)
        });
        let cores: BTreeSet<_> = served.clone().map(Cpu::core).collect();
        let packages: BTreeSet<_> = served.map(|cpu| cpu.place.package).collect();
        (cores.len(), packages.len())
    };
    let holds_data = |of: &Identity<'_>| of.1 != CacheKind::Instruction.name();
    let levels: BTreeSet<u32> = all.iter().filter(|of| holds_data(of)).map(|of| of.0).collect();
    Sharing {
        threads: cores.iter().map(|core| of_core(cpus, core).count()).max().unwrap_or(0),
        cores: cores.len(),
        packages: packages.len(),
        levels: levels.len(),
        split: all.iter().any(|of| of.0 == 1 && !holds_data(of)),
        divided: cores.iter().filter(|core| firsts(core) > 1).count(),
        joint: all.iter().filter(|of| of.0 == 1 && holds_data(of) && serves(**of).0 > 1).count(),
        last_levels: packages.iter().map(lasts).max().unwrap_or(0),
        last_level_bytes: sizes.values().sum(),
        across: all.iter().filter(|of| serves(**of).1 > 1).count(),
    }
}
