//! The simulator must count what cachegrind counts: instructions and data, reads and writes, in the first
//! level and the last.
//!
//! A small program produces the trace. It has its own stack and no library, so that every address is the same
//! under any tool. lackey's output and cachegrind's counts are stored, so that the comparison needs no
//! valgrind. If valgrind is installed, both are also produced anew, on the program as this machine's compiler
//! builds it.

use super::valgrind::{Program, counts, hierarchy};
use crate::common::folder::Folder;
use crate::common::untested::starts;
use linefill::sim::trace::{Decoder, MAGIC};
use linefill::sim::{Op, Reference};

const KEPT_TRACE: &[u8] = include_bytes!("../../fixtures/trace/program.lft");
const KEPT_COUNTS: &str = include_str!("../../fixtures/trace/cachegrind.csv");

/// The caches of a row, in the format of cachegrind's options: size, ways, line.
struct Row<'a> {
    caches: [&'a str; 3],
    /// In the order of [`counts`].
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

fn simulated(caches: [&str; 3], trace: &[Reference]) -> [u64; 9] {
    let mut hierarchy = hierarchy(caches);
    hierarchy.references(trace);
    counts(&hierarchy)
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
        let split =
            of_kind.clone().filter(|reference| reference.address / 64 != reference.last() / 64);
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

#[test]
fn cachegrind_counts_the_same_on_the_same_program() {
    if !starts("valgrind") {
        return;
    }
    let folder = Folder::new("cachegrind");
    let program = Program::build(&folder.at(""), 1).unwrap();
    let trace = program.trace().unwrap();
    assert_eq!(trace, program.trace().unwrap(), "addresses differ from run to run");
    for Row { caches, .. } in kept() {
        let counts = program.counts(caches).unwrap();
        assert!(counts[0] > 50_000, "{counts:?}");
        assert_eq!(simulated(caches, &trace), counts, "{caches:?}");
    }
}
