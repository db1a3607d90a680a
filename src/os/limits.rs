//! The limits behind a refused allocation: those of this process, of its container and of the machine.
//! A container is killed at its own limit, however much memory the machine has.

// `getrlimit` and `sysconf` are calls into C.
#![allow(unsafe_code)]

use std::path::Path;

use super::root::{Root, Unreadable, read, read_number};

/// `getrlimit(RLIMIT_AS)`: returns the bytes of address space that this process may use; `None` if unlimited.
#[doc(alias = "RLIMIT_AS")]
pub fn address_space() -> Option<u64> {
    soft_limit(libc::RLIMIT_AS)
}

/// `getrlimit(RLIMIT_MEMLOCK)`: returns the bytes that this process may lock; `None` if unlimited.
#[doc(alias = "RLIMIT_MEMLOCK")]
pub fn locked_memory() -> Option<u64> {
    soft_limit(libc::RLIMIT_MEMLOCK)
}

/// Returns whether this process may lock more than `RLIMIT_MEMLOCK` (`CAP_IPC_LOCK`).
pub(super) fn may_lock_any_memory() -> bool {
    const CAP_IPC_LOCK: u32 = 14;
    let status = read(&Root::live().proc.join("self/status")).unwrap_or_default();
    let mut lines = status.lines();
    let effective = lines.find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    effective.is_some_and(|mask| mask >> CAP_IPC_LOCK & 1 == 1)
}

/// `getrlimit(RLIMIT_STACK)`: returns the most bytes of the main thread's stack; `None` if unlimited.
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
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: `limit` is valid to write. On failure it keeps "unlimited".
    unsafe { libc::getrlimit(resource, &mut limit) };
    (limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

/// Amounts of memory, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MachineMemory {
    /// All memory of the machine (`MemTotal`).
    pub total: u64,
    /// Memory that this process can take without swapping: `MemAvailable`, or what its control group
    /// leaves if that is less.
    pub available: u64,
    /// Swap space (`SwapTotal`).
    pub swap: u64,
}

/// Reads the amounts of memory from `/proc/meminfo` and the control groups of `root`.
///
/// # Errors
/// [`Unreadable`] if `meminfo` is missing or lacks the total or the available memory.
pub fn machine_memory(root: &Root) -> Result<MachineMemory, Unreadable> {
    let path = root.proc.join("meminfo");
    let text = read(&path)?;
    let field = |name| meminfo_field(&path, &text, name);
    let available = field("MemAvailable")?;
    Ok(MachineMemory {
        total: field("MemTotal")?,
        available: headroom(root).map_or(available, |left| left.min(available)),
        swap: meminfo_bytes(&text, "SwapTotal").unwrap_or(0),
    })
}

/// Returns the bytes on the line `name` of a text in the format of `/proc/meminfo`, which must have it.
pub(super) fn meminfo_field(path: &Path, text: &str, name: &str) -> Result<u64, Unreadable> {
    meminfo_bytes(text, name).ok_or_else(|| no_line(path, name))
}

/// Returns the error that a file has no line `name` with a size.
pub(super) fn no_line(path: &Path, name: &str) -> Unreadable {
    Unreadable::new(path, format_args!("it has no valid {name} line"))
}

/// Returns the bytes on the line `name` of a text in the format of `/proc/meminfo`.
pub(super) fn meminfo_bytes(text: &str, name: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let kib: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// Returns the amounts of memory of the machine that this process runs on. Without `/proc` they come
/// from `sysconf`, which counts no reclaimable page as available and reports no swap.
pub fn memory_here() -> MachineMemory {
    machine_memory(&Root::live()).unwrap_or_else(|_| MachineMemory {
        total: pages_in_bytes(libc::_SC_PHYS_PAGES),
        available: pages_in_bytes(libc::_SC_AVPHYS_PAGES),
        swap: 0,
    })
}

/// `sysconf(_SC_LEVEL2_CACHE_SIZE)`: returns the bytes of a core's level-2 cache, as the C library
/// finds them in CPUID; `None` if the C library does not report them, or is not glibc.
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
    /// The controllers field of this version's line in `/proc/self/cgroup`.
    controllers: &'static str,
    /// The mount point below `/sys/fs/cgroup`.
    mount: &'static str,
    limit: &'static str,
    usage: &'static str,
    /// The line of `memory.stat` that counts file pages. The kernel drops these before it kills a process.
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

/// Returns the bytes that this process can take before its control group, or a group above it, reaches
/// its limit; `None` if there is no limit.
pub(super) fn headroom(root: &Root) -> Option<u64> {
    let groups = read(&root.proc.join("self/cgroup")).ok()?;
    VERSIONS.iter().filter_map(|version| version.headroom(&groups, &root.sys)).min()
}

impl Version {
    fn headroom(&self, groups: &str, sys: &Path) -> Option<u64> {
        let group = groups.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, group) = rest.split_once(':')?;
            (controllers == self.controllers).then_some(group)
        })?;
        let mount = sys.join("fs/cgroup").join(self.mount);
        // Inside a container the group's own path may be invisible. Its limit then appears at the top of
        // the mount, which is the last ancestor.
        let levels = Path::new(group.trim_start_matches('/')).ancestors();
        levels.filter_map(|level| self.level(&mount.join(level))).min()
    }

    /// Returns the bytes left in one group. The limit of a group without one is `max`, which is not a
    /// number, or in version 1 a number larger than any memory.
    fn level(&self, dir: &Path) -> Option<u64> {
        let limit = read_number(&dir.join(self.limit)).ok()?;
        let usage = read_number(&dir.join(self.usage)).ok()?;
        let reclaimable = read(&dir.join("memory.stat")).ok().and_then(|stat| {
            stat.lines().find_map(|line| {
                line.strip_prefix(self.reclaimable)?.strip_prefix(' ')?.trim().parse::<u64>().ok()
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
        assert_eq!(meminfo_bytes(TEXT, "HugePages_Total"), None, "a count, not a size");
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
        assert!(here.total.abs_diff(total) < here.total / 100, "{here:?} {total}");
    }
}
