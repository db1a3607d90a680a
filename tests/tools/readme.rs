//! Follows README.md, "Embed a kernel", and docs/EMBED.md exactly in new packages: a program for Linux, a
//! static library that a C compiler links, and a program that boots in QEMU without an operating system. Each
//! prints the cost of a step.

use crate::common::folder::Folder;
use crate::common::target;
use crate::common::untested::starts;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const README: &str = include_str!("../../README.md");
const ELSEWHERE: &str = include_str!("../../docs/EMBED.md");
const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const QEMU: &str = "qemu-system-x86_64";

/// The code blocks of a section in order, without their fences.
fn blocks(text: &'static str, section: &str) -> Vec<&'static str> {
    let (_, section) = text.split_once(&format!("\n## {section}\n")).expect("the section");
    let section = section.split("\n## ").next().unwrap_or_default();
    let between = section.split("\n```").collect::<Vec<_>>();
    let inside = between.chunks_exact(2).map(|pair| pair[1]);
    let blocks = inside.map(|block| block.split_once('\n').expect("a fence").1);
    blocks.collect()
}

/// From the README: the function, the commands that create a package for Linux, and its `main.rs`.
fn on_linux() -> [&'static str; 3] {
    blocks(README, "Embed a kernel")[..].try_into().expect("three blocks")
}

/// A folder outside of any package, with a link to the checkout.
struct Fresh(Folder);

impl Fresh {
    fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        std::os::unix::fs::symlink(ROOT, folder.at("linefill")).unwrap();
        Fresh(folder)
    }

    /// Runs commands as a reader would type them, in the folder or in a package below it.
    fn shell(&self, package: &str, commands: &str) -> Output {
        let output = Command::new("sh")
            .args(["-euc", commands])
            .current_dir(self.0.at(package))
            .env_remove("CARGO_TARGET_DIR")
            .env_remove("CARGO_BUILD_TARGET")
            // How fast the program is, no test looks at, and optimisation takes half of the build.
            .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0")
            .output()
            .expect("sh starts");
        println!("{}", String::from_utf8_lossy(&output.stderr));
        output
    }

    /// Creates a package with `commands`, and adds these files.
    fn package(&self, name: &str, commands: &str, files: &[(&str, &str)]) {
        assert!(self.shell("", commands).status.success(), "{commands}");
        let package = self.0.at(name);
        for (file, text) in files {
            fs::write(package.join(file), text).unwrap();
        }
        // The same versions as in the other tests, so that this test needs no additional network access.
        fs::copy(Path::new(ROOT).join("Cargo.lock"), package.join("Cargo.lock")).unwrap();
    }
}

/// The ticks in `2.67 ticks, Some(4.01) core cycles per step`.
fn ticks(output: &Output) -> f64 {
    let said = String::from_utf8_lossy(&output.stdout);
    let line = said.lines().find(|line| line.trim_end().ends_with("core cycles per step"));
    let line = line.unwrap_or_else(|| panic!("no such line in {said}"));
    let (ticks, _) = line.split_once(" ticks, ").expect("ticks");
    ticks.parse().expect("a number")
}

/// The example `embed` must be the code in the section.
#[test]
fn the_section_shows_the_example() {
    let [walk, _, main] = on_linux();
    let same = |shown: &str, example: &str| assert_eq!(shown.trim(), example.trim());
    same(walk, include_str!("../../examples/embed/walk.rs"));
    same(main, include_str!("../../examples/embed/main.rs"));
}

#[test]
fn a_program_for_linux_prints_what_a_step_costs() {
    let [walk, new, main] = on_linux();
    let fresh = Fresh::new("linefill-readme-linux");
    let files = [("src/walk.rs", walk), ("src/main.rs", main)];
    fresh.package("walk", new, &files);
    let output = fresh.shell("walk", "cargo run --release");
    assert!(output.status.success());
    assert!(ticks(&output) > 0.0);
}

#[test]
fn a_static_library_without_std_is_linked_by_a_c_compiler() {
    if !starts("cc") {
        return;
    }
    let [walk, ..] = on_linux();
    let blocks = blocks(ELSEWHERE, "In a static library without std");
    let [new, lib, main, build] = blocks[..] else {
        panic!("blocks are missing");
    };
    let fresh = Fresh::new("linefill-readme-static");
    let files = [("src/walk.rs", walk), ("src/lib.rs", lib), ("main.c", main)];
    fresh.package("step", new, &files);
    let output = fresh.shell("step", build);
    assert!(output.status.success());
    let said = String::from_utf8_lossy(&output.stdout);
    let cycles = said.trim_end().strip_suffix(" core cycles per step");
    let cycles: f64 = cycles.expect("a line").parse().expect("a number");
    assert!(cycles > 0.0 || cycles == -1.0, "{said}");
}

#[test]
fn a_program_without_an_operating_system_prints_what_a_step_costs() {
    if !starts(QEMU) || !target::installed("x86_64-unknown-none") {
        return;
    }
    let [walk, ..] = on_linux();
    let blocks = blocks(ELSEWHERE, "Without an operating system");
    let [new, main, boot] = blocks[..] else {
        panic!("blocks are missing");
    };
    let fresh = Fresh::new("linefill-readme-bare");
    let files = [("src/walk.rs", walk), ("src/main.rs", main)];
    fresh.package("walk-bare", new, &files);
    let output = fresh.shell("walk-bare", boot);
    assert_eq!(output.status.code(), Some(33));
    assert!(ticks(&output).is_finite());
}
