//! Which CPUs share which caches: Drepper's Figures 3.1 to 3.3.

use std::collections::BTreeSet;

use super::{Cache, Sysfs, Topology};
use crate::cpu::CacheKind;
use crate::host::Sharing;
use crate::os::root::Unreadable;

/// A CPU and what it reaches.
struct Cpu {
    place: Topology,
    caches: Vec<Cache>,
}

impl Cpu {
    /// Cores are numbered within a package, or within a die: their threads tell them apart.
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

/// A cache is known by its level, its kind and whom it serves.
type Identity<'a> = (u32, &'static str, &'a [usize]);

fn identity(cache: &Cache) -> Identity<'_> {
    (cache.level, cache.kind.name(), &cache.shared_by)
}

impl Sysfs {
    /// How CPUs, packages and caches belong together.
    ///
    /// # Errors
    /// [`Unreadable`] when the kernel does not describe the place or the caches of a CPU that is
    /// online.
    pub fn sharing(&self) -> Result<Sharing, Unreadable> {
        let mut cpus = Vec::new();
        for cpu in self.online()? {
            cpus.push(Cpu {
                place: self.topology(cpu)?,
                caches: self.caches(cpu)?,
            });
        }
        Ok(sharing(&cpus))
    }
}

/// The hyper-threads of a core.
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
    let all: BTreeSet<Identity<'_>> = cpus
        .iter()
        .flat_map(|cpu| cpu.caches.iter().map(identity))
        .collect();
    // Whom a cache serves, by core or by package.
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
    let levels: BTreeSet<u32> = all
        .iter()
        .filter(|of| holds_data(of))
        .map(|of| of.0)
        .collect();
    Sharing {
        threads: cores
            .iter()
            .map(|core| of_core(cpus, core).count())
            .max()
            .unwrap_or(0),
        cores: cores.len(),
        packages: packages.len(),
        levels: levels.len(),
        split: all.iter().any(|of| of.0 == 1 && !holds_data(of)),
        divided: cores.iter().filter(|core| firsts(core) > 1).count(),
        joint: all
            .iter()
            .filter(|of| of.0 == 1 && holds_data(of) && serves(**of).0 > 1)
            .count(),
        last_levels: packages.iter().map(lasts).max().unwrap_or(0),
        across: all.iter().filter(|of| serves(**of).1 > 1).count(),
    }
}
