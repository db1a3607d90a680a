//! The PMUs of the machine, as the kernel lists them.

use std::path::Path;

use crate::os::root::{Root, Unreadable, read};
use crate::os::sysfs::list;
use crate::pmu::Flavour;

/// A PMU of the cores: one in most machines, one a kind of core in hybrid ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The kernel's name: `cpu`, or `cpu_core` and `cpu_atom`.
    pub name: &'static str,
    /// The number by which `perf_event_open` knows it.
    pub kind: u32,
    /// How it numbers events.
    pub flavour: Flavour,
}

impl Source {
    /// Whether other cores of this CPU have another.
    pub(super) fn hybrid(&self) -> bool {
        self.name != "cpu"
    }
}

/// The PMU that counts what `cpu` does.
///
/// # Errors
/// If the kernel lists none for it, with the file that should have said so.
pub fn source_of(root: &Root, cpu: usize) -> Result<Source, Unreadable> {
    let devices = root.sys.join("bus/event_source/devices");
    for name in ["cpu_core", "cpu_atom"] {
        let at = devices.join(name);
        let listed = read(&at.join("cpus")).unwrap_or_default();
        if list::parse(&listed).is_some_and(|cpus| cpus.contains(&cpu)) {
            return source(&at, name);
        }
    }
    source(&devices.join("cpu"), "cpu")
}

/// The PMU of this name.
///
/// # Errors
/// If the kernel lists none.
pub(super) fn named_source(root: &Root, name: &'static str) -> Result<Source, Unreadable> {
    source(&root.sys.join("bus/event_source/devices").join(name), name)
}

fn source(at: &Path, name: &'static str) -> Result<Source, Unreadable> {
    let kind = at.join("type");
    let text = read(&kind)?;
    let kind = text
        .parse()
        .map_err(|_| Unreadable::malformed(&kind, &text, "the number of an event source"))?;
    // Only AMD's numbers have an upper part, which the kernel says by the event's format.
    let format = read(&at.join("format/event")).unwrap_or_default();
    let flavour = if format.contains(',') {
        Flavour::Amd
    } else {
        Flavour::Intel
    };
    Ok(Source {
        name,
        kind,
        flavour,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A machine with these files under its list of event sources.
    fn machine(name: &str, files: &[(&str, &str)]) -> Root {
        let dir = std::env::temp_dir().join(format!("linefill-{name}-{}", std::process::id()));
        for (file, text) in files {
            let path = dir.join("sys/bus/event_source/devices").join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Root::under(&dir)
    }

    fn gone(root: &Root) {
        // The directory exists only if a file was put there.
        let _ = fs::remove_dir_all(root.sys.parent().unwrap());
    }

    #[test]
    fn a_hybrid_cpu_has_a_source_for_each_kind_of_core() {
        let root = machine(
            "hybrid",
            &[
                ("cpu_core/type", "4\n"),
                ("cpu_core/cpus", "0-15\n"),
                ("cpu_core/format/event", "config:0-7\n"),
                ("cpu_atom/type", "10\n"),
                ("cpu_atom/cpus", "16-23\n"),
                ("cpu_atom/format/event", "config:0-7\n"),
            ],
        );
        let found = source_of(&root, 3).unwrap();
        assert_eq!((found.name, found.kind), ("cpu_core", 4));
        let found = source_of(&root, 16).unwrap();
        assert_eq!((found.name, found.kind), ("cpu_atom", 10));
        assert_eq!(found.flavour, Flavour::Intel);
        let missing = source_of(&root, 24).unwrap_err();
        assert!(missing.path.ends_with("devices/cpu/type"), "{missing}");
        gone(&root);
    }

    #[test]
    fn amd_is_told_by_the_upper_part_of_its_event_numbers() {
        let root = machine(
            "amd",
            &[
                ("cpu/type", "4\n"),
                ("cpu/format/event", "config:0-7,32-35\n"),
            ],
        );
        let found = source_of(&root, 0).unwrap();
        assert_eq!((found.name, found.flavour), ("cpu", Flavour::Amd));
        gone(&root);
    }

    #[test]
    fn a_type_that_is_no_number_is_shown() {
        let root = machine("odd", &[("cpu/type", "four\n")]);
        let error = source_of(&root, 0).unwrap_err();
        assert!(error.to_string().contains("\"four\""), "{error}");
        gone(&root);
    }
}
