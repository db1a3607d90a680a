//! Memory nodes, and the policy that says on which of them pages are placed.

use alloc::vec::Vec;
use core::fmt;

/// A memory node: memory, CPUs next to it, or both.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "record", derive(serde::Serialize, serde::Deserialize))]
pub struct MemoryNode {
    /// The node's number.
    pub id: usize,
    /// The CPUs next to the memory; empty for a node that has only memory.
    pub cpus: Vec<usize>,
    /// Relative distance to each online node, in ascending order of the nodes, 10 to itself (ACPI SLIT).
    pub distances: Vec<u64>,
    /// Bytes of memory, 0 for a node that has only CPUs; `None` if the system does not report them.
    #[cfg_attr(feature = "record", serde(default, skip_serializing_if = "Option::is_none"))]
    pub memory: Option<u64>,
}

impl MemoryNode {
    /// Returns whether pages can lie on the node, as far as the system reports.
    pub fn has_memory(&self) -> bool {
        self.memory != Some(0)
    }
}

/// On which memory nodes pages are placed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub enum MemoryPolicy {
    /// Wherever the host puts them.
    #[default]
    Default,
    /// Each page on the node of the CPU that touches it first, whatever the program's policy.
    Local,
    /// All pages on this node.
    Bind(usize),
    /// Page by page on these nodes, interleaved.
    Interleave(Vec<usize>),
}

impl fmt::Display for MemoryPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("any node"),
            Self::Local => f.write_str("the node of the CPU that touches it first"),
            Self::Bind(node) => write!(f, "node {node}"),
            Self::Interleave(nodes) => write!(f, "{} in turn", Nodes(nodes)),
        }
    }
}

/// Formats nodes in words: `node 0`, `nodes 0, 1 and 3`.
#[derive(Debug, Clone, Copy)]
pub struct Nodes<'n>(pub &'n [usize]);

impl fmt::Display for Nodes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => f.write_str("no node"),
            [one] => write!(f, "node {one}"),
            [first, between @ .., last] => {
                write!(f, "nodes {first}")?;
                for node in between {
                    write!(f, ", {node}")?;
                }
                write!(f, " and {last}")
            }
        }
    }
}

/// The number of pages found on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OnNode {
    /// The node.
    pub node: usize,
    /// Number of pages on the node.
    pub pages: usize,
}

impl MemoryPolicy {
    /// Returns the nodes that the policy names; empty if it names none.
    pub fn nodes(&self) -> &[usize] {
        match self {
            Self::Default | Self::Local => &[],
            Self::Bind(node) => core::slice::from_ref(node),
            Self::Interleave(nodes) => nodes,
        }
    }

    /// Returns whether pages lie as the policy asks: none on other nodes. If it interleaves pages over
    /// several nodes, each node's share must be within a tenth of an even share, or within one page.
    pub fn is_met_by(&self, found: &[OnNode]) -> bool {
        let wanted = self.nodes();
        if wanted.is_empty() {
            return true;
        }
        let all: usize = found.iter().map(|on| on.pages).sum();
        let even = all as f64 / wanted.len() as f64;
        let share = |node: &usize| {
            let on = found.iter().filter(|on| on.node == *node);
            on.map(|on| on.pages).sum::<usize>() as f64
        };
        let elsewhere = found.iter().any(|on| on.pages > 0 && !wanted.contains(&on.node));
        let evenly = |node| (share(node) - even).abs() <= (even / 10.0).max(1.0);
        all > 0 && !elsewhere && wanted.iter().all(evenly)
    }
}

/// Formats pages by node in words: `3 pages on node 0, 1 page on node 1`.
#[derive(Debug, Clone, Copy)]
pub struct Found<'n>(pub &'n [OnNode]);

impl fmt::Display for Found<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("no page");
        }
        for (index, OnNode { node, pages }) in self.0.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            let plural = if *pages == 1 { "" } else { "s" };
            write!(f, "{comma}{pages} page{plural} on node {node}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec;

    fn on(found: &[(usize, usize)]) -> Vec<OnNode> {
        let on = |&(node, pages): &(usize, usize)| OnNode { node, pages };
        found.iter().map(on).collect()
    }

    #[test]
    fn a_policy_is_met_by_the_pages_it_asks_for_alone() {
        let bound = MemoryPolicy::Bind(1);
        assert!(bound.is_met_by(&on(&[(1, 7)])));
        assert!(!bound.is_met_by(&on(&[(0, 1), (1, 7)])));
        assert!(!bound.is_met_by(&on(&[(0, 7)])) && !bound.is_met_by(&[]));
        let turns = MemoryPolicy::Interleave(vec![0, 2]);
        assert!(turns.is_met_by(&on(&[(0, 50), (2, 51)])));
        assert!(turns.is_met_by(&on(&[(0, 1)])), "one page has no second");
        assert!(!turns.is_met_by(&on(&[(0, 70), (2, 30)])));
        assert!(!turns.is_met_by(&on(&[(0, 50), (2, 50), (1, 1)])));
        assert!(!turns.is_met_by(&on(&[(0, 100)])));
        for any in [MemoryPolicy::Default, MemoryPolicy::Local] {
            assert!(any.is_met_by(&on(&[(3, 1)])) && any.is_met_by(&[]));
        }
    }

    #[test]
    fn policies_and_pages_are_named() {
        let texts = [
            MemoryPolicy::Default,
            MemoryPolicy::Local,
            MemoryPolicy::Bind(3),
            MemoryPolicy::Interleave(vec![0, 1, 4]),
        ]
        .map(|policy| policy.to_string());
        let expected = [
            "any node",
            "the node of the CPU that touches it first",
            "node 3",
            "nodes 0, 1 and 4 in turn",
        ];
        assert_eq!(texts, expected);
        let found = on(&[(0, 3), (1, 1)]);
        assert_eq!(Found(&found).to_string(), "3 pages on node 0, 1 page on node 1");
        assert_eq!(Found(&[]).to_string(), "no page");
        assert_eq!(Nodes(&[]).to_string(), "no node");
    }
}
