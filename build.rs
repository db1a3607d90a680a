//! Assembles `asm/*.S`, the kernels whose bytes are the experiment, lists their symbols, and notes the
//! compiler and the revision for the records.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=asm");
    // Elsewhere `src/lib.rs` says in one sentence what can be built.
    if variable("CARGO_CFG_TARGET_ARCH") == "x86_64" {
        assemble();
    }

    let version = said(Command::new(variable("RUSTC")).arg("--version")).unwrap_or_default();
    println!("cargo::rustc-env=LINEFILL_RUSTC={version}");
    if let Some(revision) = revision() {
        println!("cargo::rustc-env=LINEFILL_REVISION={revision}");
    }
}

/// Assembles all of `asm/*.S` into one library.
fn assemble() {
    let mut sources: Vec<_> = std::fs::read_dir("asm")
        .expect("asm/ is part of the package")
        .map(|entry| entry.expect("asm/ is readable").path())
        .filter(|path| path.extension() == Some("S".as_ref()))
        .collect();
    sources.sort();
    let mut build = cc::Build::new();
    build.include(Path::new("asm")).files(sources);
    let (os, target) = (variable("CARGO_CFG_TARGET_OS"), variable("TARGET"));
    if os == "uefi" {
        build.define("LINEFILL_UEFI", None);
    }
    // For bare metal `cc` takes the host's own compiler, which writes ELF objects for the host's
    // architecture.
    let host_serves = os != "uefi" && variable("HOST").starts_with("x86_64-unknown-linux");
    if ["none", "uefi"].contains(&&*os) && !chosen(&target) && !host_serves {
        build.compiler("clang");
    }
    if let Err(error) = build.try_compile("linefill_asm") {
        let name = target.replace('-', "_");
        println!(
            "cargo::error=linefill's kernels need a C compiler: gcc or clang for Linux and \
             x86_64-unknown-none, clang for x86_64-unknown-uefi, or what CC_{name} names. For \
             {target}: {error}"
        );
        return;
    }
    let out = std::path::PathBuf::from(variable("OUT_DIR"));
    let archive = std::fs::read(out.join("liblinefill_asm.a")).expect("cc has made the library");
    let mut kernels: Vec<&str> = symbols(&archive)
        .filter(|name| name.starts_with("linefill_") && !name.ends_with("_end"))
        .collect();
    kernels.sort_unstable();
    kernels.dedup();
    assert!(!kernels.is_empty(), "the library's index names no kernel");
    let list = format!("code! {{ {} }}", kernels.join(" "));
    std::fs::write(out.join("symbols.rs"), list).expect("OUT_DIR is writable");
}

/// The symbols in the index of a library, its first member: a header of 60 bytes, the number of
/// symbols, as many offsets, and the names, each with a 0 behind it (System V, also GNU and COFF).
fn symbols(archive: &[u8]) -> impl Iterator<Item = &str> {
    let index = archive
        .strip_prefix(b"!<arch>\n/ ")
        .expect("a library with an index");
    let index = &index[58..];
    let count = u32::from_be_bytes(index[..4].try_into().expect("4 bytes")) as usize;
    let names = index[4 + 4 * count..].split(|&byte| byte == 0);
    names
        .take(count)
        .filter_map(|name| std::str::from_utf8(name).ok())
}

/// Whether the environment names a compiler for this target, as `cc` reads it.
fn chosen(target: &str) -> bool {
    let names = [
        format!("CC_{target}"),
        format!("CC_{}", target.replace('-', "_")),
        "TARGET_CC".to_owned(),
    ];
    for name in &names {
        println!("cargo::rerun-if-env-changed={name}");
    }
    names.iter().any(|name| std::env::var_os(name).is_some())
}

/// What cargo says, or nothing.
fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
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
    let root = variable("CARGO_MANIFEST_DIR");
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
