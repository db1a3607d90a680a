//! Arbitrary arguments. The cases run in a separate process, because an access outside the region ends it:
//! the case that it named last is the culprit.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt;
use std::process::Output;

use linefill::cpu::Features;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};

use super::constructors::{drive, families, memory};
use crate::common::child;

/// The prefix of the line that names the next case.
const CASE: &str = "case: ";

/// Bytes per case: more than any case reads, so that no argument is 0 only because the bytes ran out.
const LONGEST: usize = 200;

#[test]
fn every_constructor_keeps_to_its_region() {
    ends_well(&rerun("child_builds_the_same_cases_every_time"));
}

#[test]
fn other_arguments_every_time_keep_to_their_region() {
    ends_well(&rerun("child_builds_other_cases_every_time"));
}

/// An access outside the region in a child is reported with the case that made it.
#[test]
fn a_case_that_leaves_its_region_is_named() {
    let output = rerun("child_leaves_its_region");
    let failure = std::panic::catch_unwind(|| ends_well(&output)).unwrap_err();
    let text = failure.downcast_ref::<String>().unwrap();
    assert!(text.contains("signal 11"), "{text}");
    assert!(text.contains("a byte behind the region"), "{text}");
}

/// Searches the source for kernels, so that a new kernel cannot be forgotten.
#[test]
fn no_kernel_is_left_out() {
    // Building these is unsafe, except `Register` and `Addition`, which have no arguments.
    let left_out = ["AlignCopies", "Handover", "Patch", "Register", "Addition", "PageAlias"];
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/kernel");
    let subjects = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let files = subjects.flat_map(|subject| files_below(&subject));
    let mut found = 0;
    for path in files {
        let text = std::fs::read_to_string(path).unwrap();
        let of_kernels = text.lines().filter(|line| line.starts_with("impl"));
        for line in of_kernels.filter_map(|line| line.split_once(" Kernel for ")) {
            let name = line.1.split(['<', ' ']).next().unwrap();
            let driven = families().any(|family| family == name);
            assert!(driven || left_out.contains(&name), "{name} is not driven");
            found += 1;
        }
    }
    assert!(found > 30, "{found} kernels");
}

/// The file itself, or all files below a folder.
fn files_below(path: &std::path::Path) -> Vec<std::path::PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let entries = std::fs::read_dir(path).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.flat_map(|path| files_below(&path)).collect()
}

/// Fails, with the last case that the child named, unless the child succeeded.
fn ends_well(output: &Output) {
    let errors = String::from_utf8_lossy(&output.stderr);
    let last = errors.lines().rfind(|line| line.starts_with(CASE));
    let last = last.unwrap_or("no case was begun");
    if let Some(signal) = output.status.signal() {
        panic!("signal {signal} in {last}");
    }
    if !output.status.success() {
        let notes = errors.lines().filter(|line| !line.starts_with(CASE));
        let notes: Vec<_> = notes.collect();
        // If a case fails by a panic, the simplest failing case comes last.
        let notes = notes[notes.len().saturating_sub(12)..].join("\n");
        panic!("{last}\n{notes}");
    }
}

/// Runs one of the ignored tests below in a separate process.
fn rerun(test: &str) -> Output {
    child::after("ulimit -c 0; ", module_path!(), test).env("RUST_BACKTRACE", "0").output().unwrap()
}

/// Builds and runs `cases` cases, and returns how many of each family were built.
fn build(mut runner: TestRunner) -> BTreeMap<&'static str, u32> {
    let memory = RefCell::new(memory());
    let built = RefCell::new(BTreeMap::new());
    let result = runner.run(&vec(any::<u8>(), LONGEST), |data| {
        let mut case = CASE.to_owned();
        // Printed immediately, because the process may end during the case, and in one call of the system.
        let mut note = |text: std::fmt::Arguments<'_>| {
            writeln!(case, "{text}; ").unwrap();
            std::io::stderr().write_all(case.as_bytes()).unwrap();
            case.pop();
        };
        let (name, is_built) = drive(&data, &mut memory.borrow_mut(), &mut note);
        *built.borrow_mut().entry(name).or_default() += u32::from(is_built);
        Ok::<(), TestCaseError>(())
    });
    match result {
        Ok(()) => built.into_inner(),
        Err(TestError::Fail(reason, data)) => {
            let read = data.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            panic!("{reason}: {:?}", &data[..read])
        }
        Err(error) => panic!("{error}"),
    }
}

fn config(cases: u32) -> Config {
    Config {
        cases,
        // The test's report contains the failing case, so no file needs to store it.
        failure_persistence: None,
        ..Config::default()
    }
}

#[test]
#[ignore = "may die; its parent test runs it"]
fn child_builds_the_same_cases_every_time() {
    let algorithm = proptest::test_runner::RngAlgorithm::ChaCha;
    let rng = proptest::test_runner::TestRng::deterministic_rng(algorithm);
    let built = build(TestRunner::new_with_rng(config(12000), rng));
    // If all were refused, the test would have shown nothing.
    println!("{built:?}");
    // Its ways need FMA or AVX-512.
    let features = Features::detect();
    let tiles = features.fma().is_some() || features.avx512().is_some();
    for name in families().filter(|name| tiles || *name != "TileMatmul") {
        let times = built.get(name).copied().unwrap_or(0);
        assert!(times >= 5, "{name} was built {times} times");
    }
}

#[test]
#[ignore = "may die; its parent test runs it"]
fn child_builds_other_cases_every_time() {
    build(TestRunner::new(config(2000)));
}

#[test]
#[ignore = "dies; its parent test runs it"]
fn child_leaves_its_region() {
    let mut memory = memory();
    eprintln!("{CASE}a byte behind the region");
    let len = memory.mapped();
    let start = memory.as_mut_slice().as_mut_ptr();
    // SAFETY: this is unsound on purpose: the guard page must end this process here.
    unsafe { start.wrapping_add(len).write_volatile(1) };
}
