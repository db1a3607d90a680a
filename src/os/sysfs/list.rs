//! Sets of CPUs: the kernel's two formats, and masks as in libNUMA (Drepper 6.3.4).

use core::ops::BitXor;
use std::collections::BTreeSet;
use std::path::Path;

use super::{Sysfs, read_list};
use crate::os::root::{self, Unreadable};

/// The largest CPU number accepted. The kernel's own limit on x86-64 (`NR_CPUS`) is 8192. A larger number
/// means a corrupt file, and a range up to it must not be expanded.
const MAX_CPU: usize = 65_535;

/// Parses a list such as `0-3,8`; empty text is the empty list. `None` if malformed.
pub(crate) fn parse(text: &str) -> Option<Vec<usize>> {
    let text = text.trim();
    let mut cpus = Vec::new();
    if text.is_empty() {
        return Some(cpus);
    }
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        // Bounds the total too, in case the list repeats ranges.
        if first > last || last > MAX_CPU || cpus.len() + (last - first) > MAX_CPU {
            return None;
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}

/// Parses a mask such as `00000003` or `ff,ffffffff`: groups of 32 bits in hexadecimal, highest group
/// first. `None` if malformed.
fn parse_mask(text: &str) -> Option<Vec<usize>> {
    let groups: Vec<&str> = text.trim().split(',').collect();
    if groups.len() * 32 > MAX_CPU + 1 {
        return None;
    }
    let mut cpus = Vec::new();
    for (group, digits) in groups.iter().rev().enumerate() {
        let word = u32::from_str_radix(digits, 16).ok()?;
        cpus.extend((0..32).filter(|bit| word >> bit & 1 == 1).map(|bit| group * 32 + bit));
    }
    Some(cpus)
}

/// Reads a list of CPUs, which may be empty.
pub(in crate::os) fn read(path: &Path) -> Result<Vec<usize>, Unreadable> {
    match &*root::read(path)? {
        // Some kernels print a null pointer if no CPU is named.
        "(null)" => Ok(Vec::new()),
        text => parse(text).ok_or_else(|| Unreadable::malformed(path, text, "a list of CPUs")),
    }
}

/// Reads a mask of CPUs, which must not be empty.
pub(super) fn read_mask(path: &Path) -> Result<Vec<usize>, Unreadable> {
    let text = root::read(path)?;
    parse_mask(&text)
        .filter(|cpus| !cpus.is_empty())
        .ok_or_else(|| Unreadable::malformed(path, &text, "a mask of CPUs"))
}

/// Formats CPU numbers, in ascending order, as a list such as `0-3,8`.
pub(crate) fn format(cpus: &[usize]) -> String {
    let mut text = String::new();
    let mut rest = cpus;
    while let Some(&first) = rest.first() {
        let run = rest.iter().zip(first..).take_while(|(cpu, expected)| *cpu == expected).count();
        if !text.is_empty() {
            text.push(',');
        }
        text += &first.to_string();
        if run > 1 {
            text += &format!("-{}", first + run - 1);
        }
        rest = &rest[run..];
    }
    text
}

/// A set of CPUs, like `cpu_set_t`.
#[doc(alias = "cpu_set_t")]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CpuMask(BTreeSet<usize>);

impl CpuMask {
    /// Returns the CPUs of the set, in ascending order.
    pub fn cpus(&self) -> impl Iterator<Item = usize> {
        self.0.iter().copied()
    }

    /// Returns whether the set contains a CPU.
    pub fn contains(&self, cpu: usize) -> bool {
        self.0.contains(&cpu)
    }

    /// Returns the number of CPUs in the set.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

impl FromIterator<usize> for CpuMask {
    fn from_iter<I: IntoIterator<Item = usize>>(cpus: I) -> Self {
        CpuMask(cpus.into_iter().collect())
    }
}

/// `CPU_XOR`: the CPUs that are in exactly one of the two sets.
impl BitXor for &CpuMask {
    type Output = CpuMask;

    fn bitxor(self, other: &CpuMask) -> CpuMask {
        CpuMask(&self.0 ^ &other.0)
    }
}

impl Sysfs {
    /// `NUMA_cpu_level_mask` of level 1: returns all hyper-threads of the cores that the CPUs of `of` belong
    /// to, those CPUs included. Reads the masks in `topology/thread_siblings`, or the lists beside them.
    /// Without hyper-threads the result is `of` itself; the paper's call marks this case by returning 1.
    ///
    /// # Errors
    /// [`Unreadable`] if a mask is missing or malformed.
    #[doc(alias = "NUMA_cpu_level_mask")]
    pub fn hyper_threads(&self, of: &CpuMask) -> Result<CpuMask, Unreadable> {
        let mut all = BTreeSet::new();
        for cpu in of.cpus() {
            let path = self.cpu(cpu).join("topology/thread_siblings");
            all.extend(if path.exists() {
                read_mask(&path)?
            } else {
                read_list(&path.with_file_name("thread_siblings_list"))?
            });
        }
        Ok(CpuMask(all))
    }

    /// Returns the CPUs that share their first-level data cache with `cpu`, `cpu` included.
    ///
    /// # Errors
    /// As [`caches`](Self::caches), and if there is no first-level data cache among them.
    pub fn sharers_of_l1d(&self, cpu: usize) -> Result<CpuMask, Unreadable> {
        let caches = self.caches(cpu)?.into_iter();
        let mut first = caches.filter(|cache| cache.level == 1 && cache.holds_data());
        let none = || Unreadable::new(self.cpu(cpu).join("cache"), "none of the caches is an L1d");
        let first = first.next().ok_or_else(none)?;
        Ok(first.shared_by.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists() {
        assert_eq!(parse("0"), Some(vec![0]));
        assert_eq!(parse("0-3,8\n"), Some(vec![0, 1, 2, 3, 8]));
        assert_eq!(parse("8,0-1"), Some(vec![0, 1, 8]));
        assert_eq!(parse(""), Some(vec![]));
        for bad in ["x", "1-", "-1", "3-1", "0,,2", "0-99999999999", "0-70000", "0x3"] {
            assert_eq!(parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn masks() {
        assert_eq!(parse_mask("3"), Some(vec![0, 1]));
        assert_eq!(parse_mask("00000000,00000005"), Some(vec![0, 2]));
        assert_eq!(parse_mask("1,00000000"), Some(vec![32]));
        assert_eq!(parse_mask("0"), Some(vec![]));
        for bad in ["", "g", "1,", "123456789"] {
            assert_eq!(parse_mask(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn lists_are_written_as_the_kernel_writes_them() {
        assert_eq!(format(&[]), "");
        assert_eq!(format(&[7]), "7");
        assert_eq!(format(&[0, 1, 2, 3, 8, 10, 11]), "0-3,8,10-11");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(cpus in prop::collection::btree_set(0usize..8192, 0..200)) {
            let cpus: Vec<usize> = cpus.into_iter().collect();
            prop_assert_eq!(parse(&format(&cpus)), Some(cpus));
        }

        #[test]
        fn no_text_panics(text in "[-0-9a-f,]{0,40}") {
            let _ = parse(&text);
            let _ = parse_mask(&text);
        }
    }
}
