//! Tests that could not run, or only in part. Each test writes its reason to a list, and the test binary
//! `untested`, which cargo runs after all others, prints the list.
//!
//! libtest cannot do this: it drops the output of a test that passes, and evaluates `#[ignore]` at compile
//! time. A separate list covers every binary and every way to run them.

use std::fs::{self, File};
use std::io::Write as _;
use std::panic::Location;
use std::path::PathBuf;
use std::process::Command;

/// The reason why a test could not run.
pub enum Why {
    /// A missing tool that can be installed. CI must have it.
    Tool,
    /// The CPU, the kernel or its settings.
    Machine,
}

impl Why {
    pub const fn word(self) -> &'static str {
        match self {
            Why::Tool => "needs",
            Why::Machine => "this machine:",
        }
    }
}

/// Reports that a test is not run because a tool that can be installed is missing.
///
/// # Panics
/// If the environment variable `CI` is set.
#[track_caller]
pub fn tool(missing: &str) {
    note(Why::Tool, missing);
    assert!(std::env::var_os("CI").is_none(), "{missing} is missing, and CI must have it");
}

/// Reports that a test, or a part of it, is not run because of the machine or its kernel.
#[track_caller]
pub fn machine(reason: &str) {
    note(Why::Machine, reason);
}

/// Whether a program exists. If not, reports that the test is not run because of a missing [`tool`].
#[track_caller]
pub fn starts(program: &str) -> bool {
    let starts = Command::new(program).arg("--version").output().is_ok();
    if !starts {
        tool(program);
    }
    starts
}

#[track_caller]
fn note(why: Why, what: &str) {
    let binary = std::env::current_exe().unwrap_or_default();
    let binary = binary.file_name().unwrap_or_default().to_string_lossy();
    let binary = binary.rsplit_once('-').map_or(&*binary, |(name, _)| name);
    let thread = std::thread::current();
    let test = match thread.name() {
        // With one test thread, libtest runs the tests on the main thread.
        None | Some("main") => {
            let place = Location::caller();
            format!("{}:{}", place.file(), place.line())
        }
        Some(test) => test.to_owned(),
    };
    let line = format!("{binary} {test}: {} {what}\n", why.word());
    print!("not run: {line}");
    let file = list();
    fs::create_dir_all(file.parent().expect("a folder")).expect("the folder of the list");
    let file = File::options().append(true).create(true).open(file);
    // One write per line, because tests in several processes may append to the file.
    let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
    written.expect("the list of tests that were not run");
}

/// The folder of lists, one for each process that runs test binaries, such as cargo.
pub fn lists() -> PathBuf {
    let folder = match option_env!("CARGO_TARGET_TMPDIR") {
        Some(folder) => PathBuf::from(folder),
        // Cargo does not name the folder to the tests in the sources of the library. It is the one beside the
        // profile's, in which `deps` contains the binary.
        None => {
            let binary = std::env::current_exe().expect("the path of the test binary");
            let beside = binary.ancestors().nth(3).expect("the target directory");
            beside.join("tmp")
        }
    };
    folder.join("untested")
}

/// The list of the process that started this one.
pub fn list() -> PathBuf {
    lists().join(std::os::unix::process::parent_id().to_string())
}
