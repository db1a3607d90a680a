//! Where CPUs sit relative to each other, by sysfs.

use super::Sysfs;
use crate::host::CpuLocation;

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
