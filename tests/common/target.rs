//! Rust targets other than the host's, which `rustup target add` installs.

use std::process::Command;

use super::untested;

/// Whether rustc has the libraries of a target. If not, reports that the test is not run.
#[track_caller]
pub fn installed(target: &str) -> bool {
    let libraries = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", target])
        .output()
        .expect("rustc starts");
    let folder = String::from_utf8_lossy(&libraries.stdout);
    let there = libraries.status.success() && std::fs::exists(folder.trim()).unwrap_or(false);
    if !there {
        untested::tool(&format!("`rustup target add {target}`"));
    }
    there
}
