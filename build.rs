//! Assembles the kernels below `asm`, lists their symbols and the documents' published numbers, sets `hosted` if
//! experiments have a host, and passes the compiler version and the revision to the crate for the records.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=asm");
    // On other targets `src/lib.rs` stops the build with one sentence that says what is supported.
    if variable("CARGO_CFG_TARGET_ARCH") == "x86_64" {
        assemble();
    }
    if std::env::var_os("CARGO_FEATURE_LAB").is_some() {
        embed();
    }
    println!("cargo::rustc-check-cfg=cfg(hosted)");
    if hosted() {
        println!("cargo::rustc-cfg=hosted");
    }

    let version = said(Command::new(variable("RUSTC")).arg("--version")).unwrap_or_default();
    println!("cargo::rustc-env=LINEFILL_RUSTC={version}");
    if let Some(revision) = revision() {
        println!("cargo::rustc-env=LINEFILL_REVISION={revision}");
    }
}

/// Whether the kernels can be assembled: pointers have 64 bits, and objects are ELF or COFF.
fn is_supported() -> bool {
    variable("CARGO_CFG_TARGET_POINTER_WIDTH") == "64"
        && variable("CARGO_CFG_TARGET_VENDOR") != "apple"
}

/// Whether experiments have a host: Linux with `std`, or a host that the user implements without `std`.
fn hosted() -> bool {
    let [std, experiments] = ["STD", "EXPERIMENTS"]
        .map(|name| std::env::var_os(format!("CARGO_FEATURE_{name}")).is_some());
    let system = match std {
        true => variable("CARGO_CFG_TARGET_OS") == "linux",
        false => experiments,
    };
    system && variable("CARGO_CFG_TARGET_ARCH") == "x86_64"
}

/// Assembles all of `asm/<subject>/*.S`: by a C compiler into one library, or, with the feature `rustc-asm`, by
/// rustc as part of the crate.
fn assemble() {
    let paths = files(Path::new("asm"), "S");
    let text = |path| std::fs::read_to_string(path).expect("asm/ is readable");
    let sources: Vec<String> = paths.iter().map(|path| without_comments(&text(path))).collect();
    list(&sources);
    match std::env::var_os("CARGO_FEATURE_RUSTC_ASM") {
        Some(_) => join(&without_comments(&text(&"asm/linefill.h".into())), &sources),
        None if is_supported() => compile(paths),
        None => {}
    }
}

/// Returns the files of a folder and of the folders in it with this extension, by path.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder is part of the package");
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.expect("the folder is readable").path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension() == Some(extension.as_ref()) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Lists the files of `reference/` for `src/lab/reference.rs`.
fn embed() {
    println!("cargo::rerun-if-changed=reference");
    let root = variable("CARGO_MANIFEST_DIR");
    let mut list = String::new();
    for path in files(Path::new("reference"), "csv") {
        let name = path.file_name().expect("a file's name");
        let path = Path::new(&root).join(&path);
        list += &format!("File {{ name: {name:?}, text: include_str!({path:?}) }},\n");
    }
    write("references.rs", &format!("&[{list}]"));
}

/// Lists the kernels for `src/kernel/symbols.rs`: every word that starts with `linefill_` and does not end
/// with `_end`.
fn list(sources: &[String]) {
    let word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut kernels: Vec<&str> = sources
        .iter()
        .flat_map(|source| source.split(|letter| !word(letter)))
        .filter(|name| name.starts_with("linefill_") && !name.ends_with("_end"))
        .collect();
    kernels.sort_unstable();
    kernels.dedup();
    write("symbols.rs", &format!("code! {{ {} }}", kernels.join(" ")));
}

/// Joins the sources into one text for `global_asm!`. Removes the macros of a file after its text, because
/// other files define macros with the same names, and those of the header at the end: link-time optimisation
/// assembles the texts of all crates as one.
fn join(header: &str, sources: &[String]) {
    let coff = ["uefi", "windows"].contains(&&*variable("CARGO_CFG_TARGET_OS"));
    let header = preprocessed(header, !coff);
    let mut joined = header.clone();
    for source in sources {
        let source = preprocessed(source, !coff);
        joined += &(source.clone() + &without_macros(&source));
    }
    joined += &without_macros(&header);
    // Returns to the section in which the compiler's own code continues.
    write("kernels.s", &(joined + ".text\n"));
}

/// Returns the lines that remove the macros of a text.
fn without_macros(text: &str) -> String {
    let macros = text.lines().filter_map(|line| line.strip_prefix(".macro "));
    macros
        .filter_map(|line| line.split([' ', ',']).next())
        .map(|name| format!(".purgem {name}\n"))
        .collect()
}

/// Does the work of the C preprocessor, as far as the sources use it: drops the one `#include`, because the
/// header is joined already, and resolves the choice of the object format. Drops `.intel_syntax`, because
/// rustc's assembler starts in Intel syntax.
fn preprocessed(source: &str, elf: bool) -> String {
    let mut kept = String::new();
    let mut open = Vec::new();
    for line in source.lines() {
        match line.split_once(' ').map_or(line, |(word, _)| word) {
            "#include" | "#error" => {}
            "#ifdef" if line == "#ifdef __ELF__" => open.push(elf),
            // Skips the check that the C compiler writes the object format of the target.
            "#if" if line.contains("LINEFILL_UEFI") => open.push(false),
            "#else" => open.last_mut().into_iter().for_each(|taken| *taken = !*taken),
            "#endif" => drop(open.pop()),
            word if word.starts_with('#') => panic!("rustc-asm knows no `{line}`"),
            _ if line.trim_start().starts_with(".intel_syntax") => {}
            _ if open.iter().all(|&taken| taken) => kept += &format!("{line}\n"),
            _ => {}
        }
    }
    kept
}

/// Removes the comments, because comments may contain names of kernels.
fn without_comments(source: &str) -> String {
    let mut kept = String::new();
    let mut rest = source;
    while let Some((before, comment)) = rest.split_once("/*") {
        kept += before;
        rest = comment.split_once("*/").expect("a comment that ends").1;
    }
    kept + rest
}

/// Writes a file for the crate to include.
fn write(name: &str, text: &str) {
    let out = PathBuf::from(variable("OUT_DIR"));
    std::fs::write(out.join(name), text).expect("OUT_DIR is writable");
}

/// Assembles the sources by a C compiler.
fn compile(paths: Vec<PathBuf>) {
    let mut build = cc::Build::new();
    build.include(Path::new("asm")).files(paths);
    let (os, target) = (variable("CARGO_CFG_TARGET_OS"), variable("TARGET"));
    if os == "uefi" {
        build.define("LINEFILL_UEFI", None);
    }
    // For bare metal `cc` uses the host's own compiler, which writes ELF objects for the host's architecture.
    let host_serves = os != "uefi" && is_linux(&variable("HOST"));
    if ["none", "uefi"].contains(&&*os) && !chosen(&target) && !host_serves {
        build.compiler("clang");
    }
    if let Err(error) = build.try_compile("linefill_asm") {
        let name = target.replace('-', "_");
        println!(
            "cargo::error=linefill's kernels need a C compiler: gcc or clang for Linux and \
             x86_64-unknown-none, clang for x86_64-unknown-uefi, or what CC_{name} names; or none \
             with the feature `rustc-asm`. For {target}: {error}"
        );
    }
}

/// Whether this host is x86-64 Linux. Distributions have vendors of their own, as in `x86_64-alpine-linux-musl`.
fn is_linux(host: &str) -> bool {
    host.starts_with("x86_64-") && host.contains("-linux-")
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

/// The value of an environment variable that cargo sets; empty if it is not set.
fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

/// The revision of a checkout; `None` for a published package. Cargo runs this script again after each
/// commit.
fn revision() -> Option<String> {
    let log = said(git().args(["rev-parse", "--git-path", "logs/HEAD"]))?;
    if Path::new(&log).exists() {
        println!("cargo::rerun-if-changed={log}");
    }
    said(git().args(["rev-parse", "--short=10", "HEAD"]))
}

/// git, restricted to this package's own repository: a package that is built inside another repository's
/// checkout has no revision.
fn git() -> Command {
    let root = variable("CARGO_MANIFEST_DIR");
    let above = Path::new(&root).parent().map(Path::to_owned);
    let mut git = Command::new("git");
    git.env("GIT_CEILING_DIRECTORIES", above.unwrap_or_default());
    git
}

/// The trimmed output of a command, if it succeeded.
fn said(command: &mut Command) -> Option<String> {
    let output = command.output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
