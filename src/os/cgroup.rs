//! What the memory controller leaves to this process: a container is killed at its own limit,
//! however much the machine has.

use std::path::Path;

use super::root::{Root, read, read_number};

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
