//! Memory nodes: `node/nodeN`.

use std::path::Path;

use super::list;
use crate::os::root::{Unreadable, read};

/// One memory node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its number.
    pub id: usize,
    /// The CPUs next to it; none for a node of memory alone.
    pub cpus: Vec<usize>,
    /// Relative distance to each online node in rising order, 10 to itself (ACPI SLIT).
    pub distances: Vec<u64>,
}

pub(super) fn all(dir: &Path) -> Result<Vec<Node>, Unreadable> {
    let path = dir.join("online");
    let text = read(&path)?;
    let ids = list::parse(&text)
        .filter(|ids| !ids.is_empty())
        .ok_or_else(|| Unreadable::malformed(&path, &text, "a list of nodes"))?;
    ids.into_iter()
        .map(|id| one(&dir.join(format!("node{id}")), id))
        .collect()
}

fn one(dir: &Path, id: usize) -> Result<Node, Unreadable> {
    let path = dir.join("cpulist");
    let text = read(&path)?;
    let cpus =
        list::parse(&text).ok_or_else(|| Unreadable::malformed(&path, &text, "a list of CPUs"))?;
    let path = dir.join("distance");
    let text = read(&path)?;
    let distances: Result<_, _> = text.split_whitespace().map(str::parse).collect();
    let distances =
        distances.map_err(|_| Unreadable::malformed(&path, &text, "a row of distances"))?;
    Ok(Node {
        id,
        cpus,
        distances,
    })
}
