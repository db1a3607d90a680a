//! A folder of a test's own, and what came of a command.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A folder that is removed at the end.
pub struct Folder(PathBuf);

impl Folder {
    /// A fresh one; `name` is the test's.
    pub fn new(name: &str) -> Self {
        let name = format!("linefill-{name}-{}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        Folder(dir)
    }

    /// A path in it.
    pub fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What came of a command.
#[derive(Debug)]
pub struct Ran {
    /// Its exit status; `None` if a signal killed it.
    pub status: Option<i32>,
    /// What it printed.
    pub out: String,
    /// What it said on the standard error.
    pub err: String,
}

impl Ran {
    /// Runs `command` to its end.
    pub fn of(command: &mut Command) -> Self {
        let output = command.output().unwrap();
        Ran {
            status: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs `command` to its end, with the standard output that it was given.
    pub fn of_stderr(command: &mut Command) -> Self {
        let child = command.stderr(Stdio::piped()).spawn().unwrap();
        let output = child.wait_with_output().unwrap();
        Ran {
            status: output.status.code(),
            out: String::new(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Panics unless it succeeded.
    #[track_caller]
    pub fn ok(self) -> Self {
        assert_eq!(self.status, Some(0), "{self:#?}");
        self
    }

    /// Panics unless it gave an answer, be it a bad one: `doctor` fails on a machine that is busy.
    #[track_caller]
    pub fn answered(self) -> Self {
        assert!(matches!(self.status, Some(0 | 1)), "{self:#?}");
        self
    }

    /// Panics unless it was refused with a message that has every one of `parts`.
    #[track_caller]
    pub fn refused(self, parts: &[&str]) -> Self {
        assert_eq!(self.status, Some(2), "{self:#?}");
        for part in parts {
            assert!(self.err.contains(part), "no {part:?} in {self:#?}");
        }
        self
    }
}
