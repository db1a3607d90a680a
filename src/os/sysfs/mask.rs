//! Sets of CPUs as libNUMA hands them out (Drepper 6.3.4).

use core::ops::BitXor;
use std::collections::BTreeSet;

use super::{Sysfs, list, read_list};
use crate::os::root::{Unreadable, read};

/// A set of CPUs, as `cpu_set_t` is one.
#[doc(alias = "cpu_set_t")]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CpuMask(BTreeSet<usize>);

impl CpuMask {
    /// The CPUs, in rising order.
    pub fn cpus(&self) -> impl Iterator<Item = usize> {
        self.0.iter().copied()
    }

    /// Whether a CPU is among them.
    pub fn contains(&self, cpu: usize) -> bool {
        self.0.contains(&cpu)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

impl FromIterator<usize> for CpuMask {
    fn from_iter<I: IntoIterator<Item = usize>>(cpus: I) -> Self {
        CpuMask(cpus.into_iter().collect())
    }
}

/// `CPU_XOR`: the CPUs that are in one of the two.
impl BitXor for &CpuMask {
    type Output = CpuMask;

    fn bitxor(self, other: &CpuMask) -> CpuMask {
        CpuMask(&self.0 ^ &other.0)
    }
}

impl Sysfs {
    /// The hyper-threads of the cores that the CPUs of `of` belong to, those CPUs among them:
    /// `NUMA_cpu_level_mask` of level 1, from the masks in `topology/thread_siblings`, or the lists beside them. Without
    /// hyper-threads it is `of` itself, which the call of the paper marks by returning 1.
    ///
    /// # Errors
    /// [`Unreadable`] when a mask is missing or malformed.
    #[doc(alias = "NUMA_cpu_level_mask")]
    pub fn hyper_threads(&self, of: &CpuMask) -> Result<CpuMask, Unreadable> {
        let mut all = BTreeSet::new();
        for cpu in of.cpus() {
            let path = self.cpu(cpu).join("topology/thread_siblings");
            if !path.exists() {
                all.extend(read_list(&path.with_file_name("thread_siblings_list"))?);
                continue;
            }
            let text = read(&path)?;
            let cpus = list::parse_mask(&text).filter(|cpus| !cpus.is_empty());
            all.extend(cpus.ok_or_else(|| Unreadable::malformed(&path, &text, "a mask of CPUs"))?);
        }
        Ok(CpuMask(all))
    }

    /// The CPUs that share their first-level data cache with `cpu`, itself among them.
    ///
    /// # Errors
    /// As [`caches`](Self::caches), and when none of them is such a cache.
    pub fn sharers_of_l1d(&self, cpu: usize) -> Result<CpuMask, Unreadable> {
        let caches = self.caches(cpu)?.into_iter();
        let mut first = caches.filter(|cache| cache.level == 1 && cache.holds_data());
        let first = first.next().ok_or_else(|| Unreadable {
            path: self.cpu(cpu).join("cache"),
            problem: "none of the caches is an L1d".into(),
        })?;
        Ok(first.shared_by.into_iter().collect())
    }
}
