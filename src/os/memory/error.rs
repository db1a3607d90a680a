//! Why memory could not be had.

use std::{fmt, io};

use crate::host::{FoundPages, MemoryPolicy, Nodes, OnNode};
use crate::os::limits;

/// Why [`Memory::new`](super::Memory::new) failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryError {
    /// Zero bytes were asked for.
    Empty,
    /// More than the machine can give without swapping.
    TooLarge {
        /// Bytes asked for.
        requested: usize,
        /// Bytes available.
        available: u64,
    },
    /// The kernel refused a step.
    Refused {
        /// Bytes asked for.
        requested: usize,
        /// The call that was refused.
        step: &'static str,
        /// The kernel's error.
        answer: String,
        /// The limit on address space (`RLIMIT_AS`); `None` if there is none.
        address_space: Option<u64>,
        /// Bytes that were available.
        available: u64,
    },
    /// 2 MiB pages were asked for, and none could be had, for this reason.
    NoHugePages(String),
    /// 1 GiB pages were asked for, and there are not enough, for this reason.
    NoGiantPages(String),
    /// The kernel refused the policy, or the query for the nodes of the pages.
    NoPolicy {
        /// The policy asked for.
        asked: MemoryPolicy,
        /// The call that was refused.
        step: &'static str,
        /// The kernel's error.
        answer: String,
        /// The nodes of the machine; empty if the kernel reports none.
        nodes: Vec<usize>,
    },
    /// More bytes than a node has were asked for.
    NodeTooSmall {
        /// The node asked for.
        node: usize,
        /// Bytes asked for.
        requested: usize,
        /// Bytes on the node that are free or hold only cached files.
        available: u64,
    },
    /// Pages lie on other nodes than those asked for.
    Elsewhere {
        /// The policy asked for.
        asked: MemoryPolicy,
        /// The nodes on which the pages lie.
        got: Vec<OnNode>,
    },
}

impl MemoryError {
    pub(super) fn refused(requested: usize, step: &'static str, answer: &io::Error) -> Self {
        Self::Refused {
            requested,
            step,
            answer: answer.to_string(),
            address_space: limits::address_space(),
            available: limits::memory_here().available,
        }
    }
}

messages! { MemoryError:
    Self::Empty => ("0 bytes of memory asked for; at least 1 is needed");
    Self::TooLarge { requested, available } => (
        "{} of memory asked for, and only {} are available (31/32 of that may be taken)",
        Size(*requested as u64),
        Size(*available)
    );
    Self::Refused { requested, step, answer, address_space, available } => (
        "{} of memory refused by {step}: {answer}; address space is {}, {} of memory are available",
        Size(*requested as u64),
        address_space.map_or_else(
            || "unlimited".to_owned(),
            |limit| format!("limited to {} (RLIMIT_AS, `ulimit -v`)", Size(limit)),
        ),
        Size(*available)
    );
    Self::NoHugePages(reason) => ("no 2 MiB pages: {reason}");
    Self::NoGiantPages(reason) => ("no 1 GiB pages: {reason}");
    Self::NoPolicy { asked, step, answer, nodes } => (
        "memory on {asked} refused by {step}: {answer}; {}",
        match &nodes[..] {
            [] => "the kernel tells of no memory nodes".to_owned(),
            nodes => format!("this machine has {}", Nodes(nodes)),
        }
    );
    Self::NodeTooSmall { node, requested, available } => (
        "{} of memory on node {node} asked for, and only {} are available there (31/32 of \
         that may be taken)",
        Size(*requested as u64),
        Size(*available)
    );
    Self::Elsewhere { asked, got } => (
        "memory on {asked} asked for, and got {}", FoundPages(got)
    );
}

/// Why [`Memory::lock`](super::Memory::lock) failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockRefused {
    /// Bytes that were to be locked.
    pub bytes: usize,
    /// The limit on locked memory (`RLIMIT_MEMLOCK`); `None` if unlimited.
    pub limit: Option<u64>,
    /// The kernel's error.
    pub answer: String,
}

messages! { LockRefused:
    Self { bytes, limit, answer } => (
        "{} cannot be locked: {answer}; {}",
        Size(*bytes as u64),
        limit.map_or_else(
            || "RLIMIT_MEMLOCK is unlimited".to_owned(),
            |limit| format!("the limit is {} (RLIMIT_MEMLOCK, `ulimit -l`)", Size(limit)),
        )
    );
}

/// A number of bytes in a message: in the nearest binary unit, and exact.
pub(in crate::os) struct Size(pub u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, name) = match self.0 {
            ..0x400 => return write!(f, "{} bytes", self.0),
            0x400..0x10_0000 => (1u64 << 10, "KiB"),
            0x10_0000..0x4000_0000 => (1 << 20, "MiB"),
            _ => (1 << 30, "GiB"),
        };
        if self.0.is_multiple_of(unit) {
            write!(f, "{} {name}", self.0 / unit)
        } else {
            write!(f, "{:.1} {name} ({} bytes)", self.0 as f64 / unit as f64, self.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_value_and_the_limit() {
        let refused = MemoryError::Refused {
            requested: 1 << 30,
            step: "mmap",
            answer: "Cannot allocate memory (os error 12)".into(),
            address_space: Some(512 << 20),
            available: 3 << 30,
        };
        assert_eq!(
            refused.to_string(),
            "1 GiB of memory refused by mmap: Cannot allocate memory (os error 12); address \
             space is limited to 512 MiB (RLIMIT_AS, `ulimit -v`), 3 GiB of memory are available"
        );
        let large = MemoryError::TooLarge { requested: 3 << 40, available: 24_224_228 << 10 };
        assert_eq!(
            large.to_string(),
            "3072 GiB of memory asked for, and only 23.1 GiB (24805609472 bytes) are available \
             (31/32 of that may be taken)"
        );
        let policy = MemoryError::NoPolicy {
            asked: MemoryPolicy::Bind(3),
            step: "mbind",
            answer: "Invalid argument (os error 22)".into(),
            nodes: vec![0],
        };
        assert_eq!(
            policy.to_string(),
            "memory on node 3 refused by mbind: Invalid argument (os error 22); this machine has \
             node 0"
        );
        let elsewhere = MemoryError::Elsewhere {
            asked: MemoryPolicy::Bind(1),
            got: vec![OnNode { node: 0, pages: 2 }, OnNode { node: 1, pages: 7 }],
        };
        assert_eq!(
            elsewhere.to_string(),
            "memory on node 1 asked for, and got 2 pages on node 0, 7 pages on node 1"
        );
        let small = MemoryError::NodeTooSmall { node: 1, requested: 2 << 30, available: 1 << 30 };
        assert_eq!(
            small.to_string(),
            "2 GiB of memory on node 1 asked for, and only 1 GiB are available there (31/32 of \
             that may be taken)"
        );
        let lock = LockRefused { bytes: 1 << 24, limit: Some(8 << 20), answer: "no".into() };
        assert_eq!(
            lock.to_string(),
            "16 MiB cannot be locked: no; the limit is 8 MiB (RLIMIT_MEMLOCK, `ulimit -l`)"
        );
    }

    #[test]
    fn sizes_are_exact() {
        assert_eq!(Size(1023).to_string(), "1023 bytes");
        assert_eq!(Size(1024).to_string(), "1 KiB");
        assert_eq!(Size(1536).to_string(), "1.5 KiB (1536 bytes)");
        assert_eq!(Size(1 << 20).to_string(), "1 MiB");
    }
}
