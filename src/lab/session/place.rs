//! One CPU for the thread that measures.

use anyhow::{Context as _, Result};

use crate::os::{Pinned, Root, allowed, measuring_cpu, pin};

/// The CPU to measure on when nobody says.
pub(super) fn default_cpu(root: &Root) -> Option<usize> {
    measuring_cpu(root, &allowed()).map(|choice| choice.cpu)
}

/// Pins this thread to `wanted`, or to the CPU least likely to be disturbed. Where the system
/// refuses, the thread stays free, and the note says so.
///
/// # Errors
/// If `wanted` does not exist or is kept from this process.
pub(super) fn hold(wanted: Option<usize>, root: &Root) -> Result<(Option<Pinned>, Vec<String>)> {
    if let Some(cpu) = wanted {
        return match pin(cpu) {
            Ok(pinned) => Ok((Some(pinned), Vec::new())),
            Err(error) if error.refusal.is_some() => Ok((None, vec![unpinned(&error)])),
            Err(error) => Err(error).with_context(|| format!("--cpu {cpu}")),
        };
    }
    let mut refusal = "the system names no CPU".to_owned();
    // An isolated CPU may lie outside the cpuset of this process; the last allowed one does not.
    for cpu in default_cpu(root)
        .into_iter()
        .chain(allowed().last().copied())
    {
        match pin(cpu) {
            Ok(pinned) => return Ok((Some(pinned), Vec::new())),
            Err(error) => refusal = error.to_string(),
        }
    }
    Ok((None, vec![unpinned(&refusal)]))
}

fn unpinned(reason: &dyn core::fmt::Display) -> String {
    format!("not pinned, so the scheduler may move the measurement: {reason}")
}
