//! The limits behind a refused allocation: of this process, of its container, which is killed at its
//! own limit however much the machine has, and of the machine.

// `getrlimit` and `sysconf` are calls into C.
#![allow(unsafe_code)]

use std::path::Path;

use super::root::{Root, Unreadable, read, read_number};

/// `getrlimit(RLIMIT_AS)`: bytes of address space this process may have; `None` when unlimited.
#[doc(alias = "RLIMIT_AS")]
pub fn address_space() -> Option<u64> {
    soft_limit(libc::RLIMIT_AS)
}

/// `getrlimit(RLIMIT_MEMLOCK)`: bytes this process may lock; `None` when unlimited.
#[doc(alias = "RLIMIT_MEMLOCK")]
pub fn locked_memory() -> Option<u64> {
    soft_limit(libc::RLIMIT_MEMLOCK)
}

/// Whether this process may lock more memory than that (`CAP_IPC_LOCK`).
pub(super) fn may_lock_any_memory() -> bool {
    const CAP_IPC_LOCK: u32 = 14;
    let status = read(&Root::live().proc.join("self/status")).unwrap_or_default();
    let mut lines = status.lines();
    let effective = lines.find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    effective.is_some_and(|mask| mask >> CAP_IPC_LOCK & 1 == 1)
}

/// `getrlimit(RLIMIT_STACK)`: bytes that the main thread's stack may have; `None` when unlimited.
#[doc(alias = "RLIMIT_STACK")]
pub fn stack() -> Option<u64> {
    soft_limit(libc::RLIMIT_STACK)
}

/// The type of a `RLIMIT_` constant: an enumeration in glibc, `int` in musl.
#[cfg(target_env = "gnu")]
type Resource = libc::__rlimit_resource_t;
#[cfg(not(target_env = "gnu"))]
type Resource = libc::c_int;

fn soft_limit(resource: Resource) -> Option<u64> {
    let mut limit = libc::rlimit {
        rlim_cur: libc::RLIM_INFINITY,
        rlim_max: libc::RLIM_INFINITY,
    };
    // SAFETY: `limit` is valid to write. On failure it keeps "unlimited".
    unsafe { libc::getrlimit(resource, &mut limit) };
    (limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

/// Memory, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MachineMemory {
    /// All that the machine has (`MemTotal`).
    pub total: u64,
    /// What this process can take without swapping: `MemAvailable`, or what its control group
    /// leaves where that is less.
    pub available: u64,
    /// Swap space (`SwapTotal`).
    pub swap: u64,
}

/// The memory that `/proc/meminfo` and the control groups of `root` tell of.
///
/// # Errors
/// [`Unreadable`] when `meminfo` is missing or lacks the total or the available memory.
pub fn machine_memory(root: &Root) -> Result<MachineMemory, Unreadable> {
    let path = root.proc.join("meminfo");
    let text = read(&path)?;
    let field = |name: &str| {
        meminfo_bytes(&text, name).ok_or_else(|| Unreadable {
            path: path.clone(),
            problem: format!("it has no valid {name} line"),
        })
    };
    let available = field("MemAvailable")?;
    Ok(MachineMemory {
        total: field("MemTotal")?,
        available: headroom(root).map_or(available, |left| left.min(available)),
        swap: meminfo_bytes(&text, "SwapTotal").unwrap_or(0),
    })
}

/// Bytes on the line `name` of a text in the form of `/proc/meminfo`.
pub(super) fn meminfo_bytes(text: &str, name: &str) -> Option<u64> {
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let kib: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// Memory of the machine that this process runs on; without `/proc`, what `sysconf` says, which
/// counts no reclaimable page as available and knows no swap.
pub fn memory_here() -> MachineMemory {
    machine_memory(&Root::live()).unwrap_or_else(|_| MachineMemory {
        total: pages_in_bytes(libc::_SC_PHYS_PAGES),
        available: pages_in_bytes(libc::_SC_AVPHYS_PAGES),
        swap: 0,
    })
}

/// `sysconf(_SC_LEVEL2_CACHE_SIZE)`: bytes of the level-2 cache that a core reaches, as the C
/// library has it from CPUID; `None` where it does not tell, or is not glibc.
#[doc(alias = "_SC_LEVEL2_CACHE_SIZE")]
pub fn level_2_cache() -> Option<u64> {
    #[cfg(target_env = "gnu")]
    // SAFETY: the call takes a number and has no preconditions.
    let bytes = unsafe { libc::sysconf(libc::_SC_LEVEL2_CACHE_SIZE) };
    #[cfg(not(target_env = "gnu"))]
    let bytes = -1;
    u64::try_from(bytes).ok().filter(|bytes| *bytes > 0)
}

fn pages_in_bytes(name: libc::c_int) -> u64 {
    // SAFETY: the call takes a number and has no preconditions.
    let (pages, size) = unsafe { (libc::sysconf(name), libc::sysconf(libc::_SC_PAGESIZE)) };
    u64::try_from(pages).unwrap_or(0) * u64::try_from(size).unwrap_or(0)
}

/// The files of one version of the memory controller.
struct Version {
    /// The controllers field of its line in `/proc/self/cgroup`.
    controllers: &'static str,
    /// Where it is mounted below `/sys/fs/cgroup`.
    mount: &'static str,
    limit: &'static str,
    usage: &'static str,
    /// The line of `memory.stat` that counts file pages the kernel drops before it kills.
    reclaimable: &'static str,
}

const VERSIONS: [Version; 2] = [
    Version {
        controllers: "",
        mount: "",
        limit: "memory.max",
        usage: "memory.current",
        reclaimable: "inactive_file",
    },
    Version {
        controllers: "memory",
        mount: "memory",
        limit: "memory.limit_in_bytes",
        usage: "memory.usage_in_bytes",
        reclaimable: "total_inactive_file",
    },
];

/// Bytes that this process may still take before its control group, or one above it, is at its
/// limit; `None` when there is none.
pub(super) fn headroom(root: &Root) -> Option<u64> {
    let groups = read(&root.proc.join("self/cgroup")).ok()?;
    VERSIONS
        .iter()
        .filter_map(|version| version.headroom(&groups, &root.sys))
        .min()
}

impl Version {
    fn headroom(&self, groups: &str, sys: &Path) -> Option<u64> {
        let group = groups.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, group) = rest.split_once(':')?;
            (controllers == self.controllers).then_some(group)
        })?;
        let mount = sys.join("fs/cgroup").join(self.mount);
        // Inside a container the group's own path may be invisible; its limit then shows at the
        // mount's top, which is the last ancestor.
        let levels = Path::new(group.trim_start_matches('/')).ancestors();
        levels
            .filter_map(|level| self.level(&mount.join(level)))
            .min()
    }

    /// What one group leaves. A group without a limit says `max`, which is no number, or in
    /// version 1 a number beyond any memory.
    fn level(&self, dir: &Path) -> Option<u64> {
        let limit = read_number(&dir.join(self.limit)).ok()?;
        let usage = read_number(&dir.join(self.usage)).ok()?;
        let reclaimable = read(&dir.join("memory.stat")).ok().and_then(|stat| {
            stat.lines().find_map(|line| {
                line.strip_prefix(self.reclaimable)?
                    .strip_prefix(' ')?
                    .trim()
                    .parse::<u64>()
                    .ok()
            })
        });
        Some(limit.saturating_sub(usage.saturating_sub(reclaimable.unwrap_or(0))))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const TEXT: &str = "MemTotal:       24684084 kB\nMemFree:        23733240 kB\n\
        MemAvailable:   24224228 kB\nHugePages_Total:       0\n";

    #[test]
    fn meminfo_is_in_kib() {
        assert_eq!(meminfo_bytes(TEXT, "MemTotal"), Some(24_684_084 * 1024));
        assert_eq!(meminfo_bytes(TEXT, "MemAvailable"), Some(24_224_228 * 1024));
        assert_eq!(meminfo_bytes(TEXT, "Mem"), None);
        assert_eq!(
            meminfo_bytes(TEXT, "HugePages_Total"),
            None,
            "a count, not a size"
        );
    }

    #[test]
    fn a_missing_meminfo_is_named() {
        let error = machine_memory(&Root::under(Path::new("/nonexistent"))).unwrap_err();
        assert_eq!(error.path, Path::new("/nonexistent/proc/meminfo"));
    }

    #[test]
    fn this_machine_has_memory_and_sysconf_agrees_on_the_total() {
        let here = memory_here();
        assert!(here.available <= here.total);
        let total = pages_in_bytes(libc::_SC_PHYS_PAGES);
        assert!(
            here.total.abs_diff(total) < here.total / 100,
            "{here:?} {total}"
        );
    }
}
