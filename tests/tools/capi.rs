//! The C library: its header declares all exported functions, its errors are codes with reasons, and the
//! examples in C and Python run.
#![cfg(feature = "lab")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::cli::Ran;
use crate::common::untested::starts;
use crate::programs;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Builds the library once for all tests, and installs it for pkg-config. A setting of cargo for other builds and
/// special letters in the prefix are no obstacle.
fn installed() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join("capi&|prefix");
        let _ = fs::remove_dir_all(&prefix);
        let mut install = Command::new(file("capi/install"));
        install.env("CARGO_TARGET_DIR", programs::folder());
        install.env("CARGO_BUILD_TARGET", "x86_64-unknown-none");
        Ran::of(install.arg(&prefix)).ok();
        prefix
    })
}

/// The output of pkg-config for the library.
fn flags(kinds: &[&str]) -> Vec<String> {
    let mut config = Command::new("pkg-config");
    config.args(kinds).arg("linefill");
    config.env("PKG_CONFIG_PATH", installed().join("lib/pkgconfig"));
    let printed = Ran::of(&mut config).ok().out;
    // Spaces do not occur, and backslashes only protect letters from a shell.
    let words = printed.split_whitespace();
    words.map(|word| word.replace('\\', "")).collect()
}

/// How a program is linked.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Link {
    Shared,
    /// The library's archive, and shared libraries of the system.
    Archive,
    /// No shared library.
    Static,
}

/// Compiles a C program against the library. Each call has a file of its own, because one that is being written
/// cannot be run.
fn compiled(source: &str, link: Link) -> Command {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let program = installed().join(format!("capi-program-{call}"));
    let mut gcc = Command::new("gcc");
    gcc.args(["-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror"]);
    gcc.args(flags(&["--cflags"])).arg(file(source));
    if link == Link::Shared {
        gcc.args(flags(&["--libs"]));
    } else {
        // Without the explicit file name, the linker would prefer the shared library.
        let libraries = flags(&["--libs", "--static"]);
        gcc.args(libraries.iter().map(|flag| match flag.as_str() {
            "-llinefill_c" => "-l:liblinefill_c.a",
            flag => flag,
        }));
    }
    if link == Link::Static {
        gcc.arg("-static");
    }
    Ran::of(gcc.arg("-o").arg(&program)).ok();
    let mut run = Command::new(program);
    run.env("LD_LIBRARY_PATH", installed().join("lib"));
    run
}

fn tools() -> bool {
    starts("gcc") && starts("pkg-config")
}

#[test]
fn the_header_declares_what_the_library_exports() {
    if !starts("nm") {
        return;
    }
    let library = installed().join("lib/liblinefill_c.so");
    let listed = Ran::of(Command::new("nm").args(["-D", "--defined-only"]).arg(library)).ok();
    let exported: BTreeSet<&str> =
        listed.out.lines().map(|line| line.rsplit(' ').next().unwrap()).collect();
    let header = fs::read_to_string(file("capi/include/linefill.h")).unwrap();
    let words =
        header.split_inclusive(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
    let declared = words.filter_map(|word| word.strip_suffix('('));
    let declared: BTreeSet<&str> = declared.filter(|name| name.starts_with("lf_")).collect();
    assert_eq!(declared, exported);
}

/// A program asks for the library by a name that changes with the interface.
#[test]
fn the_shared_library_has_its_version_in_its_name() {
    if !tools() || !starts("readelf") {
        return;
    }
    let version = Ran::of(
        Command::new("pkg-config")
            .arg("--modversion")
            .arg("linefill")
            .env("PKG_CONFIG_PATH", installed().join("lib/pkgconfig")),
    );
    assert_eq!(version.ok().out.trim(), env!("CARGO_PKG_VERSION"));
    let expected = "[liblinefill_c.so.0.1]";
    let program = compiled("capi/examples/ladder.c", Link::Shared);
    for (file, kind) in [
        (installed().join("lib/liblinefill_c.so").as_os_str(), "(SONAME)"),
        (program.get_program(), "(NEEDED)"),
    ] {
        let dynamic = Ran::of(Command::new("readelf").args(["-dW"]).arg(file)).ok().out;
        let mut lines = dynamic.lines().filter(|line| line.contains(kind));
        assert!(lines.any(|line| line.contains(expected)), "{dynamic}");
    }
}

#[test]
fn the_header_is_one_for_cpp() {
    if !starts("g++") || !starts("pkg-config") {
        return;
    }
    for standard in ["-std=c++98", "-std=c++20"] {
        let mut gcc = Command::new("g++");
        gcc.args([standard, "-Wall", "-Wextra", "-pedantic", "-Werror"]);
        gcc.args(["-fsyntax-only", "-x", "c++"]).args(flags(&["--cflags"]));
        Ran::of(gcc.arg(file("capi/include/linefill.h"))).ok();
    }
}

/// The program's calls, each with the code and the reason that it printed.
#[test]
fn bad_input_is_a_code_and_a_reason_that_names_the_value() {
    if !tools() {
        return;
    }
    let expected = "\
no ring: 1 a pointer is null: `ring` is null
no memory: 1 a pointer is null: `memory` is null
order: 2 a number names no order, step or motion: order 9 does not exist; valid numbers are 0 to 2
memory: 3 the memory is too small, or not a multiple of the block size: 10 bytes hold no whole \
        cache line; a region needs at least 127 bytes
padding: 4 no list fits, or the step needs padding: no element with 2305843009213693951 words \
        fits into 4096 bytes
vector: 5 the CPU lacks the vector registers: this CPU has no vector registers of 24 bytes; \
        there may be 16, 32, 64
motion: 2 a number names no order, step or motion: motion -1 does not exist; valid \
        numbers are 0 to 4
off a line: 3 the memory is too small, or not a multiple of the block size: 4096 bytes do not \
        begin on a line of 64 bytes, or end in one
part: 3 the memory is too small, or not a multiple of the block size: 64 bytes are not a \
        multiple of 512
no kernel: 1 a pointer is null: `kernel` is null
no machine: 1 a pointer is null: `machine` is null
ring without padding: 0 no error: \n\
512 elements
step: 4 no list fits, or the step needs padding: Inc needs elements with at least 1 word of \
        padding, these have 0
ring: 0 no error: \n\
walk: 0 no error: \n\
lap: 0 no error: \n\
1, 64 steps
no budget: 6 the time budget is invalid, or a clock does not advance: 0 s is not a \
        budget above 0 s and of at most 3600 s
nan: 6 the time budget is invalid, or a clock does not advance: NaN s is not a \
        budget above 0 s and of at most 3600 s
time: 0 no error: \n\
1
copy: 0 no error: \n\
copied: 0 no error: \n\
0
";
    for link in [Link::Shared, Link::Archive, Link::Static] {
        let ran = Ran::of(&mut compiled("tests/fixtures/capi/errors.c", link)).ok();
        assert_eq!(ran.out, expected);
    }
}

#[test]
fn the_examples_measure() {
    let measured = |out: &str| assert_eq!(out.matches(" core cycles per step").count(), 2, "{out}");
    if tools() {
        let ran = Ran::of(&mut compiled("capi/examples/ladder.c", Link::Shared)).ok();
        measured(&ran.out);
        assert!(ran.out.contains("GB/s"), "{}", ran.out);
    }
    if starts("python3") {
        let mut python = Command::new("python3");
        python.arg(file("capi/examples/ladder.py"));
        python.arg(installed().join("lib/liblinefill_c.so"));
        measured(&Ran::of(&mut python).ok().out);
    }
}
