//! The tables of events: their format, their contents for single events, and the core of a CPU.

use std::collections::BTreeSet;

use super::microarch;
use crate::common::dump::Dump;
use linefill::cpu::{Identity, Vectors};
use linefill::pmu::{Encoding, EventCode, Microarch, event, events};

const TABLES: [&str; 3] = [
    include_str!("../../../src/pmu/events/intel_core.csv"),
    include_str!("../../../src/pmu/events/intel_atom.csv"),
    include_str!("../../../src/pmu/events/amd.csv"),
];

fn code(name: &str, microarch: Microarch) -> EventCode {
    event(name, microarch).unwrap_or_else(|unknown| panic!("{unknown}"))
}

#[test]
fn every_line_is_read_and_belongs_to_somebody() {
    let mut marks = 0;
    for table in TABLES {
        let lines = table.lines().filter(|line| !line.starts_with('#'));
        for line in lines.skip(1) {
            let (_, cores) = line.rsplit_once(',').expect("nine fields");
            marks += cores.split(' ').count();
        }
    }
    let read: usize = Microarch::all().map(|core| events(core).count()).sum();
    assert_eq!(read, marks, "a line, or a mark in it, is not understood");
}

#[test]
fn every_core_encodes_a_name_once() {
    for core in Microarch::all() {
        assert!(core.source().contains(" v"), "{core:?}");
        let mut names = BTreeSet::new();
        for code in events(core) {
            assert!(names.insert(code.name), "{} {}", core.name(), code.name);
            assert_eq!(code.microarch, core);
            assert!(code.name.len() <= 72, "{} would be cut", code.name);
            assert!(code.counters != 0 || code.fixed.is_some(), "{code:?}");
        }
        for code in events(core).step_by(5) {
            assert_eq!(event(code.name, core), Ok(code));
        }
    }
}

/// Encodings from the vendors' manuals: Intel SDM volume 3B, chapter "Performance Monitoring
/// Events"; AMD's Processor Programming References.
#[test]
fn encodings_are_those_of_the_manuals() {
    let pending = code("L1D_PEND_MISS.PENDING", microarch("Haswell"));
    assert_eq!(pending.encoding, Encoding::new(0x48, 0x01));
    assert_eq!(pending.counters, 0b0100, "PMC2 alone before Skylake");
    let pending = code("L1D_PEND_MISS.PENDING", microarch("Skylake server"));
    assert_eq!(pending.counters, 0b1111);
    let cycles = code("L1D_PEND_MISS.PENDING_CYCLES", microarch("Sapphire Rapids"));
    assert_eq!(cycles.encoding, Encoding::new(0x48, 0x01).cmask(1));
    let missed = code("MEM_LOAD_RETIRED.L1_MISS", microarch("Sapphire Rapids"));
    assert_eq!(missed.encoding, Encoding::new(0xD1, 0x08));
    let missed = code("MEM_LOAD_UOPS_RETIRED.L1_MISS", microarch("Broadwell"));
    assert_eq!(missed.encoding, Encoding::new(0xD1, 0x08));
    let instructions = code("INST_RETIRED.ANY", microarch("Granite Rapids"));
    assert_eq!(instructions.fixed, Some(0));
    let allocated = code("ls_mab_alloc.loads", microarch("Zen 2"));
    assert_eq!(allocated.encoding, Encoding::new(0x41, 0x01));
    assert_eq!(allocated.counters, u32::MAX);
    let dispatched = code("ls_pref_instr_disp.prefetch", microarch("Zen 4"));
    assert_eq!(dispatched.encoding, Encoding::new(0x4B, 0x01));
}

#[test]
fn a_name_is_found_as_either_document_spells_it() {
    let as_perf = code("ls_mab_alloc.loads", microarch("Zen 3"));
    assert_eq!(code("LsMabAlloc.Loads", microarch("Zen 3")), as_perf);
    let as_intel = code("MACHINE_CLEARS.SMC", microarch("Skylake client"));
    assert_eq!(code("machine_clears.smc", microarch("Skylake client")), as_intel);
}

#[test]
fn an_unknown_name_is_shown_with_what_there_is() {
    let unknown = event("MEM_LOAD_RETIRED.L1_MISSES", microarch("Skylake client")).unwrap_err();
    assert_eq!(unknown.nearest, Some("MEM_LOAD_RETIRED.L1_MISS"));
    assert_eq!(
        unknown.to_string(),
        "Skylake client has no event \"MEM_LOAD_RETIRED.L1_MISSES\" in the tables; \
         the nearest is MEM_LOAD_RETIRED.L1_MISS"
    );
    let elsewhere = event("ls_any_fills_from_sys.local_l2", microarch("Zen 2")).unwrap_err();
    let text = elsewhere.to_string();
    assert!(text.ends_with("; counted on Zen 4, Zen 5"), "{text}");
    let nothing = event("x", microarch("Zen 4")).unwrap_err();
    assert_eq!(nothing.nearest, None);
    assert_eq!(nothing.to_string(), "Zen 4 has no event \"x\" in the tables");
}

#[test]
fn a_cpu_has_the_events_of_its_core() {
    let core = |dump| Microarch::of(&Identity::read(Dump::of(dump)));
    assert_eq!(core("alder-lake-p"), Some(microarch("Alder Lake (P)")));
    assert_eq!(core("alder-lake-e"), Some(microarch("Gracemont")));
    assert_eq!(core("coffee-lake"), Some(microarch("Skylake client")));
    assert_eq!(core("sapphire-rapids"), Some(microarch("Sapphire Rapids")));
    assert_eq!(core("zen2"), Some(microarch("Zen 2")));
    assert_eq!(core("zen4-guest"), Some(microarch("Zen 4")));
    assert_eq!(core("dothan"), None, "older than the tables");
    assert_eq!(core("k8"), None);
    // The generation has one name for clients and servers, but they have different lists of events.
    let lake = Identity { vectors: Vectors::Sse, ..Identity::read(Dump::of("coffee-lake")) };
    let model = |model| Microarch::of(&Identity { model, ..lake });
    assert_eq!(model(0x2A), Some(microarch("Sandy Bridge")));
    assert_eq!(model(0x2D), Some(microarch("Sandy Bridge server")));
    assert_eq!(model(0x3E), Some(microarch("Ivy Bridge server")));
    assert_eq!(model(0x3F), Some(microarch("Haswell server")));
    assert_eq!(model(0x3D), Some(microarch("Broadwell")));
    assert_eq!(model(0x56), Some(microarch("Broadwell server")));
    let server = |stepping| {
        let identity = Identity { model: 0x55, stepping, ..lake };
        Microarch::of(&identity)
    };
    assert_eq!(server(4), Some(microarch("Skylake server")));
    assert_eq!(server(7), Some(microarch("Cascade Lake")));
}
