//! The memory nodes in the sheet, where there are several.

use super::Row;
use crate::host::MemoryNode;
use crate::lab::inferred::Inferred;
use crate::lab::record::Header;
use crate::lab::size::show;
use crate::os::sysfs::list;

/// A row per node: how long a random step in its memory takes from each node, and what the kernel says.
pub(super) fn rows(header: &Header, inferred: &Inferred) -> Vec<Row> {
    if header.nodes.len() < 2 {
        return Vec::new();
    }
    let row = |node: &MemoryNode| {
        let reaches = inferred.nodes.iter().filter(|reach| reach.to == node.id);
        let steps = reaches.map(|of| format!("{:.0} ns from node {}", of.nanos.middle(), of.from));
        let steps: Vec<String> = steps.collect();
        Row {
            name: format!("memory node {}", node.id),
            measured: (!steps.is_empty())
                .then(|| format!("random step in its memory: {}", steps.join(", "))),
            kernel: Some(described(node)),
            ..Row::default()
        }
    };
    header.nodes.iter().map(row).collect()
}

fn described(node: &MemoryNode) -> String {
    let mut parts = vec![match &node.cpus[..] {
        [] => "no CPUs".to_owned(),
        cpus => format!("CPUs {}", list::format(cpus)),
    }];
    parts.extend(node.memory.map(|bytes| match bytes {
        0 => "no memory".to_owned(),
        bytes => show(bytes as f64),
    }));
    let distances: Vec<String> = node.distances.iter().map(u64::to_string).collect();
    if !distances.is_empty() {
        parts.push(format!("distances {}", distances.join(" ")));
    }
    parts.join(", ")
}
