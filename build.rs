//! Assembles `asm/*.S`, the kernels whose bytes are the experiment, and notes the compiler and the
//! revision for the records.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=asm");
    let arch = std::env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    assert!(
        arch == "x86_64",
        "linefill measures x86-64 and cannot be built for `{arch}`"
    );
    let mut sources: Vec<_> = std::fs::read_dir("asm")
        .expect("asm/ is part of the package")
        .map(|entry| entry.expect("asm/ is readable").path())
        .filter(|path| path.extension() == Some("S".as_ref()))
        .collect();
    sources.sort();
    cc::Build::new()
        .include(Path::new("asm"))
        .files(sources)
        .compile("linefill_asm");

    let rustc = std::env::var("RUSTC").expect("set by cargo");
    let version = said(Command::new(rustc).arg("--version")).unwrap_or_default();
    println!("cargo::rustc-env=LINEFILL_RUSTC={version}");
    if let Some(revision) = revision() {
        println!("cargo::rustc-env=LINEFILL_REVISION={revision}");
    }
}

/// The revision of a checkout; `None` for a published package. Looked up anew after each commit.
fn revision() -> Option<String> {
    let log = said(git().args(["rev-parse", "--git-path", "logs/HEAD"]))?;
    if Path::new(&log).exists() {
        println!("cargo::rerun-if-changed={log}");
    }
    said(git().args(["rev-parse", "--short=10", "HEAD"]))
}

/// git, kept to this package's own repository: a package that is built inside another one's
/// checkout has no revision.
fn git() -> Command {
    let root = std::env::var("CARGO_MANIFEST_DIR").expect("set by cargo");
    let above = Path::new(&root).parent().map(Path::to_owned);
    let mut git = Command::new("git");
    git.env("GIT_CEILING_DIRECTORIES", above.unwrap_or_default());
    git
}

/// What a command printed, if it succeeded.
fn said(command: &mut Command) -> Option<String> {
    let output = command.output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
