//! The simulator against cachegrind: the same counts for instructions and data, reads and writes,
//! in the first level and the last.
//!
//! A small program makes the trace. It has a stack of its own and no library, so that every address
//! is the same under any tool. What lackey printed of it and what cachegrind counted are kept, so
//! that the comparison needs no valgrind; with one, both are made anew, on the program as the
//! compiler of this machine builds it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use linefill::sim::trace::{Decoder, MAGIC, lackey};
use linefill::sim::{Geometry, Hierarchy, HierarchyDesign, Op, Reference};

const KEPT_TRACE: &[u8] = include_bytes!("../fixtures/trace/program.lft");
const KEPT_COUNTS: &str = include_str!("../fixtures/trace/cachegrind.csv");
const PROGRAM: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/fixtures/trace/program.c"
);

/// The caches of a row, as cachegrind's options have them: size, ways, line.
struct Row<'a> {
    caches: [&'a str; 3],
    /// Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw
    counts: [u64; 9],
}

fn kept() -> Vec<Row<'static>> {
    let rows = KEPT_COUNTS.lines().filter(|line| !line.starts_with('#'));
    rows.skip(1)
        .map(|line| {
            let fields: Vec<&str> = line.split(' ').collect();
            Row {
                caches: [fields[0], fields[1], fields[2]],
                counts: std::array::from_fn(|index| fields[index + 3].parse().unwrap()),
            }
        })
        .collect()
}

fn geometry(text: &str) -> Geometry {
    let mut numbers = text.split(',').map(|number| number.parse().unwrap());
    let mut next = || numbers.next().unwrap();
    Geometry::new(next(), next(), next()).unwrap()
}

/// What the simulator counts, in cachegrind's order.
fn simulated(caches: [&str; 3], trace: &[Reference]) -> [u64; 9] {
    let [i1, d1, ll] = caches.map(geometry);
    let mut hierarchy = Hierarchy::new(&HierarchyDesign::cachegrind(i1, d1, ll)).unwrap();
    hierarchy.references(trace);
    let instructions = hierarchy.instructions().unwrap().counters().fetches;
    let (first, last) = (hierarchy.counters(0), hierarchy.counters(1));
    [
        instructions.total(),
        instructions.misses,
        last.fetches.misses,
        first.reads.total(),
        first.reads.misses,
        last.reads.misses,
        first.writes.total(),
        first.writes.misses,
        last.writes.misses,
    ]
}

fn kept_trace() -> Vec<Reference> {
    let bytes = KEPT_TRACE.strip_prefix(MAGIC).unwrap();
    let mut trace = Vec::new();
    let mut decoder = Decoder::default();
    let taken = decoder.decode(bytes, |reference| trace.push(reference));
    assert_eq!(taken, Ok(bytes.len()));
    trace
}

#[test]
fn the_kept_trace_has_every_kind_of_reference_and_some_touch_two_lines() {
    let trace = kept_trace();
    for op in [Op::Fetch, Op::Load, Op::Store, Op::Modify] {
        let of_kind = trace.iter().filter(|reference| reference.op == op);
        let split = of_kind
            .clone()
            .filter(|reference| reference.address / 64 != reference.last() / 64);
        assert!(of_kind.count() > 500, "{op:?}");
        assert!(op == Op::Modify || split.count() > 50, "{op:?}");
    }
}

#[test]
fn kept_counts_are_met_exactly() {
    let trace = kept_trace();
    let rows = kept();
    assert!(rows.len() >= 10);
    for Row { caches, counts } in rows {
        assert_eq!(simulated(caches, &trace), counts, "{caches:?}");
    }
}

fn have_valgrind() -> bool {
    let version = Command::new("valgrind").arg("--version").output();
    if version.is_ok_and(|output| output.status.success()) {
        return true;
    }
    assert!(
        std::env::var_os("CI").is_none(),
        "valgrind is missing, and CI must compare with it"
    );
    println!("ignored: needs valgrind");
    false
}

/// A directory of this test's own.
fn place(name: &str) -> PathBuf {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&place).unwrap();
    place
}

/// Builds the program in `place`. The instructions that a compiler chooses do not matter.
fn build(place: &Path) -> PathBuf {
    let program = place.join("program");
    let built = Command::new("cc")
        .args(["-O1", "-static", "-nostdlib", "-ffreestanding"])
        .args([
            "-fno-stack-protector",
            "-fcf-protection=none",
            "-fno-pie",
            "-no-pie",
        ])
        .arg("-o")
        .args([&program, Path::new(PROGRAM)])
        .status()
        .unwrap();
    assert!(built.success());
    program
}

fn valgrind(options: &[String], program: &Path) {
    let ran = Command::new("valgrind")
        .args(options)
        .arg(program)
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(ran.success(), "{options:?}");
}

/// What lackey prints of the program.
fn traced(place: &Path, program: &Path) -> Vec<Reference> {
    let log = place.join("lackey");
    let options = [
        "--tool=lackey".to_owned(),
        "--trace-mem=yes".to_owned(),
        format!("--log-file={}", log.display()),
    ];
    valgrind(&options, program);
    let text = std::fs::read(log).unwrap();
    text.split(|&byte| byte == b'\n')
        .filter_map(lackey::parse)
        .collect()
}

/// What cachegrind counts.
fn counted(place: &Path, program: &Path, [i1, d1, ll]: [&str; 3]) -> [u64; 9] {
    let out = place.join("cachegrind");
    let options = [
        "--tool=cachegrind".to_owned(),
        "--cache-sim=yes".to_owned(),
        format!("--I1={i1}"),
        format!("--D1={d1}"),
        format!("--LL={ll}"),
        format!("--cachegrind-out-file={}", out.display()),
    ];
    valgrind(&options, program);
    let text = std::fs::read_to_string(out).unwrap();
    let mut lines = text.lines();
    assert!(lines.any(|line| line.trim_end() == "events: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw"));
    let summary = lines
        .find_map(|line| line.strip_prefix("summary: "))
        .unwrap();
    let mut numbers = summary.split(' ').map(|number| number.parse().unwrap());
    std::array::from_fn(|_| numbers.next().unwrap())
}

#[test]
fn cachegrind_counts_the_same_on_the_same_program() {
    if !have_valgrind() {
        return;
    }
    let place = place("cachegrind");
    let program = build(&place);
    let trace = traced(&place, &program);
    assert_eq!(
        trace,
        traced(&place, &program),
        "addresses differ from run to run"
    );
    for Row { caches, .. } in kept() {
        let counts = counted(&place, &program, caches);
        assert!(counts[0] > 50_000, "{counts:?}");
        assert_eq!(simulated(caches, &trace), counts, "{caches:?}");
    }
}
