//! Which CPU to measure on when nobody says.

use std::path::Path;

use super::affinity::{Pinned, allowed, pin};
use super::root::{Root, read};
use super::sysfs::list;

/// A CPU to measure on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// The CPU.
    pub cpu: usize,
    /// What speaks for it.
    pub why: &'static str,
}

/// The CPU least likely to be disturbed: an isolated one; else the last of `allowed`, of the
/// performance cores where there are two kinds. The first CPU handles most interrupts, so it comes
/// last. `None` if `allowed` is empty and no CPU is isolated.
pub fn measuring_cpu(root: &Root, allowed: &[usize]) -> Option<Choice> {
    let devices = root.sys.join("devices");
    let online = listed(&devices.join("system/cpu/online"));
    let isolated = listed(&devices.join("system/cpu/isolated"));
    // Isolated CPUs are in nobody's mask, so `allowed` does not speak for them.
    if let Some(&cpu) = isolated.iter().find(|cpu| online.contains(cpu)) {
        return Some(Choice {
            cpu,
            why: "isolated",
        });
    }
    // The event source of the performance cores exists on hybrid CPUs alone.
    let performance = listed(&devices.join("cpu_core/cpus"));
    if let Some(&cpu) = allowed.iter().rfind(|cpu| performance.contains(cpu)) {
        return Some(Choice {
            cpu,
            why: "the last performance core",
        });
    }
    allowed.last().map(|&cpu| Choice {
        cpu,
        why: "the last one allowed",
    })
}

/// Pins the calling thread to the CPU least likely to be disturbed, or to the last one allowed where
/// that is refused.
///
/// # Errors
/// The reason of the last refusal; the thread then runs where it ran before.
pub fn pin_to_measure(root: &Root) -> Result<Pinned, String> {
    let allowed = allowed();
    let choice = measuring_cpu(root, &allowed).map(|choice| choice.cpu);
    let mut refusal = "the system names no CPU".to_owned();
    // An isolated CPU may lie outside the cpuset of this process; the last allowed one does not.
    for cpu in choice.into_iter().chain(allowed.last().copied()) {
        match pin(cpu) {
            Ok(pinned) => return Ok(pinned),
            Err(error) => refusal = error.to_string(),
        }
    }
    Err(refusal)
}

/// The CPUs that a file lists; none if it does not.
fn listed(path: &Path) -> Vec<usize> {
    read(path)
        .ok()
        .and_then(|text| list::parse(&text))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn choice(files: &[(&str, &str)], allowed: &[usize]) -> Option<Choice> {
        let name = format!("linefill-choice-{}-{}", std::process::id(), files.len());
        let dir = std::env::temp_dir().join(name);
        for (file, text) in files {
            let path = dir.join("sys/devices").join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let choice = measuring_cpu(&Root::under(&dir), allowed);
        if !files.is_empty() {
            fs::remove_dir_all(dir).unwrap();
        }
        choice
    }

    fn cpu(choice: Option<Choice>) -> Option<usize> {
        choice.map(|choice| choice.cpu)
    }

    #[test]
    fn an_isolated_cpu_is_preferred_though_no_mask_has_it() {
        let files = [("system/cpu/online", "0-7"), ("system/cpu/isolated", "5-6")];
        assert_eq!(cpu(choice(&files, &[0, 1, 2, 3, 4, 7])), Some(5));
    }

    #[test]
    fn a_performance_core_is_preferred_to_an_efficient_one() {
        let files = [("cpu_core/cpus", "0-3")];
        assert_eq!(cpu(choice(&files, &[0, 1, 2, 3, 4, 5])), Some(3));
    }

    #[test]
    fn without_any_file_it_is_the_last_one_allowed() {
        assert_eq!(cpu(choice(&[], &[0, 1])), Some(1));
        assert_eq!(choice(&[], &[]), None);
    }
}
