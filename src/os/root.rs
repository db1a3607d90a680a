//! Where the kernel's text files are found: the live machine, or a recorded one.

use std::fs;
use std::path::{Path, PathBuf};

/// The three file trees that describe a machine. All code that parses them takes a `Root`, so that
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
    /// Returns the trees of the machine that this process runs on.
    pub fn live() -> Self {
        Self::under(Path::new("/"))
    }

    /// Returns the trees of a recorded machine: `dir/proc`, `dir/sys` and `dir/dev`.
    pub fn under(dir: &Path) -> Self {
        Self { proc: dir.join("proc"), sys: dir.join("sys"), dev: dir.join("dev") }
    }
}

/// A file that could not be read or parsed, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The file.
    pub path: PathBuf,
    /// The kernel's error, or what is wrong with the text.
    pub problem: String,
}

impl Unreadable {
    /// Reports a file with this problem.
    pub(super) fn new(path: impl Into<PathBuf>, problem: impl ToString) -> Self {
        Self { path: path.into(), problem: problem.to_string() }
    }

    /// Reports a file whose `text` is not what was `expected`.
    pub(super) fn malformed(path: &Path, text: &str, expected: &str) -> Self {
        let shown: String = text.chars().take(40).collect();
        Self::new(path, format_args!("{shown:?} is not {expected}"))
    }
}

messages! { Unreadable:
    Unreadable { path, problem } => ("{}: {problem}", path.display());
}

/// Reads the text of a file, without the white space around it.
pub(crate) fn read(path: &Path) -> Result<String, Unreadable> {
    let text = fs::read_to_string(path).map_err(|error| Unreadable::new(path, error))?;
    Ok(text.trim().to_owned())
}

/// Reads a file that holds a decimal number.
pub(super) fn read_number(path: &Path) -> Result<u64, Unreadable> {
    let text = read(path)?;
    text.parse().map_err(|_| Unreadable::malformed(path, &text, "a number"))
}

/// A machine for a test: a temporary folder with the files that the test reads, removed when dropped.
#[cfg(test)]
pub(crate) struct Planted(PathBuf);

#[cfg(test)]
impl Planted {
    /// Creates a machine whose `files` below `folder` hold these texts. `name` must be unique to the test.
    pub(crate) fn new(name: &str, folder: &str, files: &[(&str, &str)]) -> Self {
        let name = format!("linefill-{name}-{}", std::process::id());
        let planted = Planted(std::env::temp_dir().join(name));
        // Left by a killed process that had the same number.
        let _ = fs::remove_dir_all(&planted.0);
        for (file, text) in files {
            planted.set(&format!("{folder}/{file}"), text);
        }
        planted
    }

    pub(super) fn set(&self, file: &str, text: &str) {
        let path = self.0.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn root(&self) -> Root {
        Root::under(&self.0)
    }

    /// Returns a command that runs one test of this program and passes it the folder.
    pub(super) fn alone(&self, test: &str) -> std::process::Command {
        let mut program = std::process::Command::new(std::env::current_exe().unwrap());
        program.args(["--exact", test]).env(PASSED, &self.0);
        program.stdout(std::process::Stdio::null());
        program
    }

    /// Returns the machine that [`alone`](Self::alone) passed to this process, if it did.
    pub(super) fn passed() -> Option<Root> {
        std::env::var_os(PASSED).map(|dir| Root::under(dir.as_ref()))
    }
}

#[cfg(test)]
const PASSED: &str = "LINEFILL_TEST_MACHINE";

/// Waits until `done`, at most 20 seconds, and returns whether it was.
#[cfg(test)]
pub(super) fn wait_until(done: impl Fn() -> bool) -> bool {
    let began = std::time::Instant::now();
    while !done() {
        if began.elapsed() > std::time::Duration::from_secs(20) {
            return false;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    true
}

#[cfg(test)]
impl Drop for Planted {
    fn drop(&mut self) {
        // The folder does not exist if no file was put there.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_is_named() {
        let error = read(Path::new("/nonexistent/online")).unwrap_err();
        assert_eq!(error.path, Path::new("/nonexistent/online"));
        assert!(error.to_string().starts_with("/nonexistent/online: "), "{error}");
    }

    #[test]
    fn a_malformed_file_is_named_with_its_text() {
        let error = Unreadable::malformed(Path::new("size"), &"x".repeat(100), "a size");
        assert_eq!(error.to_string(), format!("size: \"{}\" is not a size", "x".repeat(40)));
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
