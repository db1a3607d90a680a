//! Rust targets beside the host's, which `rustup target add` installs.

// Each test binary uses a part of this.
#![allow(dead_code)]

use std::process::Command;

/// Says that a test is passed over for lack of something that can be installed; where the
/// environment says `CI`, it fails instead.
#[track_caller]
pub fn ignored(missing: &str) -> bool {
    assert!(
        std::env::var_os("CI").is_none(),
        "{missing} is missing, and CI must have it"
    );
    println!("ignored: needs {missing}");
    false
}

/// Whether rustc has the libraries of a target; if not, the test is [`ignored`].
#[track_caller]
pub fn installed(target: &str) -> bool {
    let libraries = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", target])
        .output()
        .expect("rustc starts");
    let folder = String::from_utf8_lossy(&libraries.stdout);
    let there = libraries.status.success() && std::fs::exists(folder.trim()).unwrap_or(false);
    there || ignored(&format!("`rustup target add {target}`"))
}
