//! Machines as a text of `path = content` lines, written to files. A machine is recorded, or composed as the
//! head of its file says.
//!
//! `cpu[0-3,8]` in a path stands for each of those CPUs; its number replaces `$` in the content. `\n` in the
//! content is a line break. Lines that start with `#` are comments.
#![cfg(feature = "std")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use linefill::os::Root;

/// A recorded machine in a folder that is removed when dropped.
pub struct Machine {
    dir: PathBuf,
}

impl Machine {
    /// A machine without files.
    pub fn empty() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("os-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        // A process of the same number may have been killed before it removed its own.
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        Self { dir }
    }

    /// The machine recorded in `tests/fixtures/sysfs/<name>.tree`.
    pub fn recorded(name: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/fixtures/sysfs")
            .join(name)
            .with_extension("tree");
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        Self::empty().with(&text)
    }

    /// The same machine with additional or replaced files.
    pub fn with(self, tree: &str) -> Self {
        for line in tree.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (path, content) = line.split_once('=').unwrap_or_else(|| panic!("{line:?}"));
            let content = content.trim().replace("\\n", "\n") + "\n";
            for (path, number) in expand(path.trim()) {
                let path = self.dir.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, content.replace('$', &number)).unwrap();
            }
        }
        self
    }

    /// The root folder for the parsers.
    pub fn root(&self) -> Root {
        Root::under(&self.dir)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// The paths that a line's path stands for, each with its number.
fn expand(path: &str) -> Vec<(String, String)> {
    let Some((before, rest)) = path.split_once('[') else {
        return vec![(path.into(), String::new())];
    };
    let (numbers, after) = rest.split_once(']').unwrap();
    let mut paths = Vec::new();
    for part in numbers.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        for number in first.parse::<usize>().unwrap()..=last.parse().unwrap() {
            paths.push((format!("{before}{number}{after}"), number.to_string()));
        }
    }
    paths
}
