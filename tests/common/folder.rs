//! A folder for a test, and the result of a command.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A folder that is removed when dropped.
pub struct Folder(PathBuf);

impl Folder {
    /// Creates an empty folder; `name` identifies the test.
    pub fn new(name: &str) -> Self {
        let name = format!("linefill-{name}-{}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        Folder(dir)
    }

    /// A path in the folder.
    pub fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The program that tests run: the one that the environment variable `LINEFILL_PROGRAM` names, or else the one
/// that cargo built with them, which needs the feature `lab`. Its path is absolute, because tests run it in other
/// folders.
pub fn program() -> Option<PathBuf> {
    let built = option_env!("CARGO_BIN_EXE_linefill").map(Into::into);
    let program = std::env::var_os("LINEFILL_PROGRAM").or(built)?;
    Some(fs::canonicalize(program).expect("the program"))
}

/// The result of a command.
#[derive(Debug)]
pub struct Ran {
    /// The exit status; `None` if a signal killed the command.
    pub status: Option<i32>,
    /// The standard output.
    pub out: String,
    /// The standard error.
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

    /// Runs `command` to its end, without capturing its standard output.
    pub fn of_stderr(command: &mut Command) -> Self {
        let child = command.stderr(Stdio::piped()).spawn().unwrap();
        let output = child.wait_with_output().unwrap();
        Ran {
            status: output.status.code(),
            out: String::new(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Panics unless the command succeeded.
    #[track_caller]
    pub fn ok(self) -> Self {
        assert_eq!(self.status, Some(0), "{self:#?}");
        self
    }

    /// Panics unless the command gave an answer, even a bad one: `doctor` fails on a busy machine.
    #[track_caller]
    pub fn answered(self) -> Self {
        assert!(matches!(self.status, Some(0 | 1)), "{self:#?}");
        self
    }

    /// Panics unless the command was refused with a message that contains every one of `parts`.
    #[track_caller]
    pub fn refused(self, parts: &[&str]) -> Self {
        assert_eq!(self.status, Some(2), "{self:#?}");
        for part in parts {
            assert!(self.err.contains(part), "no {part:?} in {self:#?}");
        }
        self
    }
}
