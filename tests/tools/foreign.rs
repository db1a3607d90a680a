//! On targets that the crate does not support, the build must fail with exactly one sentence.

use crate::common::target;
use std::path::Path;
use std::process::Command;

/// The output of cargo for a target that the library must refuse.
fn refusal(target: &str, features: &str) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("foreign");
    let output = Command::new(env!("CARGO"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["check", "--lib", "--locked", "--quiet", "--color", "never"])
        .args(["--target", target, "--features", features])
        .arg("--target-dir")
        .arg(&folder)
        .output()
        .expect("cargo starts");
    assert!(!output.status.success(), "{target} is not refused");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The first line of each error in cargo's output.
fn errors(said: &str) -> Vec<&str> {
    said.lines().filter(|line| line.starts_with("error")).collect()
}

#[test]
fn another_architecture_is_refused_in_one_sentence() {
    const TARGET: &str = "aarch64-unknown-none";
    if !target::installed(TARGET) {
        return;
    }
    let said = refusal(TARGET, "");
    let expected = [
        "error: linefill measures x86-64: build it for an x86_64 target",
        "error: could not compile `linefill` (lib) due to 1 previous error",
    ];
    assert_eq!(errors(&said), expected, "{said}");
}

#[test]
fn another_system_is_refused_in_one_sentence() {
    const TARGET: &str = "x86_64-unknown-freebsd";
    if !target::installed(TARGET) {
        return;
    }
    let said = refusal(TARGET, "std");
    let expected = [
        "error: linefill's features `std`, `criterion`, `peers` and `lab` need Linux; without them \
         it builds for any x86_64 target with ELF or COFF objects, such as x86_64-unknown-none",
        "error: could not compile `linefill` (lib) due to 1 previous error",
    ];
    assert_eq!(errors(&said), expected, "{said}");
}

#[test]
fn another_object_format_is_refused_in_one_sentence() {
    const TARGET: &str = "x86_64-apple-darwin";
    if !target::installed(TARGET) {
        return;
    }
    let said = refusal(TARGET, "");
    let expected = [
        "error: linefill's kernels need ELF or COFF objects: Apple's systems have Mach-O",
        "error: could not compile `linefill` (lib) due to 1 previous error",
    ];
    assert_eq!(errors(&said), expected, "{said}");
}
