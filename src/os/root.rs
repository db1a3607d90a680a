//! Where the kernel's text files are found: the live machine, or a recorded one.

use std::fs;
use std::path::{Path, PathBuf};

/// The three trees that describe a machine. Everything that parses them takes a `Root`, so that
/// it can be tested on recordings of other machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// The process tree, `/proc` on a live machine.
    pub proc: PathBuf,
    /// The device tree, `/sys` on a live machine.
    pub sys: PathBuf,
    /// The device nodes, `/dev` on a live machine.
    pub dev: PathBuf,
}

impl Root {
    /// The machine that this process runs on.
    pub fn live() -> Self {
        Self::under(Path::new("/"))
    }

    /// A recorded machine: `dir/proc`, `dir/sys` and `dir/dev`.
    pub fn under(dir: &Path) -> Self {
        Self {
            proc: dir.join("proc"),
            sys: dir.join("sys"),
            dev: dir.join("dev"),
        }
    }
}

/// The text of a file without the white space around it, or the reason why there is none.
///
/// # Errors
/// A sentence that names the file and what the kernel answered.
pub fn read(path: &Path) -> Result<String, String> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text.trim().to_owned()),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_is_a_reason_that_names_it() {
        let reason = read(Path::new("/nonexistent/online")).unwrap_err();
        assert!(reason.contains("/nonexistent/online"), "{reason}");
    }

    #[test]
    fn a_recording_has_the_three_trees() {
        let root = Root::under(Path::new("box"));
        assert_eq!(root.proc, Path::new("box/proc"));
        assert_eq!(root.sys, Path::new("box/sys"));
        assert_eq!(root.dev, Path::new("box/dev"));
        assert_eq!(Root::live().proc, Path::new("/proc"));
    }
}
