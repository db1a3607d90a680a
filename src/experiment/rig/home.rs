//! On which memory node the pages lie that other CPUs touch first.

use crate::experiment::{Arena, Case, Untestable};
use crate::host::{FoundPages, Granted, Host, MemoryPolicy};
use crate::prelude::*;

/// Where the pages of a case have to lie that CPUs touch first.
pub(super) struct Home {
    /// The nodes asked for, or that of the CPU that touches all of them; otherwise any.
    policy: MemoryPolicy,
    /// That CPU.
    cpu: Option<usize>,
}

impl Home {
    /// That of the pages of `case`; `None` where there are no several nodes.
    pub fn of(case: &Case, arena: &Arena, host: &dyn Host) -> Option<Home> {
        let nodes = host.nodes().ok()?;
        if nodes.len() < 2 {
            return None;
        }
        let cpu = case.setup.first_touched_by();
        let near = cpu.and_then(|cpu| nodes.iter().find(|node| node.cpus.contains(&cpu)));
        let asked = [&case.policy, arena.policy()].into_iter();
        let asked = asked.into_iter().find(|policy| !policy.nodes().is_empty());
        let policy = match (asked, near) {
            (Some(asked), _) => asked.clone(),
            // Where it has no memory, the kernel takes the next that has.
            (None, Some(node)) if node.has_memory() => MemoryPolicy::Bind(node.id),
            _ => MemoryPolicy::Default,
        };
        Some(Home { policy, cpu })
    }

    /// What was granted, with the nodes on which so many bytes from an address on lie now.
    ///
    /// # Errors
    /// If that cannot be told, or they lie elsewhere.
    pub fn found(
        &self,
        host: &dyn Host,
        (first, bytes): (*const u8, usize),
        granted: Granted,
    ) -> Result<Granted, Untestable> {
        let on = host.nodes_of(first, bytes)?;
        if !self.policy.is_met_by(&on) {
            let touched = match self.cpu {
                Some(cpu) => format!("touched first by CPU {cpu}"),
                None => "touched first by several CPUs".to_owned(),
            };
            return Err(Untestable(format!(
                "memory {touched} should lie on {}: there are {}",
                self.policy,
                FoundPages(&on)
            )));
        }
        Ok(Granted::Placed {
            pages: Box::new(granted.pages().clone()),
            on,
        })
    }
}
