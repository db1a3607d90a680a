//! Events by name, on recorded machines of several vendors and on a machine without a PMU.
#![cfg(feature = "std")]

use crate::common::dump::Dump;
use crate::common::machine::Machine;
use linefill::cpu::Identity;
use linefill::os::perf::{Event, Refusal, Software, Source};
use linefill::pmu::{Encoding, Flavour};

const PLAIN: &str = "
    sys/bus/event_source/devices/cpu/type = 4
    sys/bus/event_source/devices/cpu/format/event = config:0-7
";

const ZEN: &str = "
    sys/bus/event_source/devices/cpu/type = 4
    sys/bus/event_source/devices/cpu/format/event = config:0-7,32-35
";

/// Selects a recorded machine instead of a tree of files.
const HYBRID: &str = "hybrid-pmus";

fn named(name: &str, tree: &str, cpu: usize, dump: &str) -> Result<Event, Refusal> {
    let machine = match tree {
        HYBRID => Machine::recorded(tree),
        tree => Machine::empty().with(tree),
    };
    let identity = Identity::read(Dump::of(dump));
    Event::named_on(name, &machine.root(), cpu, &identity)
}

fn source(name: &'static str, kind: u32, flavour: Flavour) -> Source {
    Source { name, kind, flavour }
}

#[test]
fn a_vendors_name_means_the_event_of_this_core() {
    let intel = source("cpu", 4, Flavour::Intel);
    let missed = Event::hardware(&intel, Encoding::new(0xD1, 0x08));
    assert_eq!(named("MEM_LOAD_RETIRED.L1_MISS", PLAIN, 0, "sapphire-rapids"), Ok(missed));
    let amd = source("cpu", 4, Flavour::Amd);
    let allocated = Event::hardware(&amd, Encoding::new(0x41, 0x01));
    assert_eq!(named("LsMabAlloc.Loads", ZEN, 0, "zen2"), Ok(allocated));
}

#[test]
fn a_hybrid_cpu_is_asked_by_the_kind_of_core() {
    let core = source("cpu_core", 4, Flavour::Intel);
    let atom = source("cpu_atom", 10, Flavour::Intel);
    let name = "MEM_LOAD_RETIRED.L1_MISS";
    let missed = Event::hardware(&core, Encoding::new(0xD1, 0x08));
    // The kernel's list of CPUs decides, not the core on which CPUID was read.
    assert_eq!(named(name, HYBRID, 3, "alder-lake-e"), Ok(missed));
    let hit = "MEM_LOAD_UOPS_RETIRED.L2_HIT";
    let expected = Event::hardware(&atom, Encoding::new(0xD1, 0x02));
    assert_eq!(named(hit, HYBRID, 20, "alder-lake-p"), Ok(expected));
    assert_eq!(
        named("cpu_atom/MEM_LOAD_UOPS_RETIRED.L2_HIT/", HYBRID, 3, "alder-lake-p"),
        Ok(expected)
    );
    // The efficient cores have no such event, and the refusal names their microarchitecture.
    let Err(Refusal::Unknown(unknown)) = named(name, HYBRID, 20, "alder-lake-p") else {
        panic!("{name} was found on an efficient core");
    };
    assert_eq!(unknown.microarch.name(), "Gracemont");
    assert!(unknown.elsewhere().any(|core| core.name() == "Alder Lake (P)"));
}

#[test]
fn perfs_own_names_go_to_the_pmu_of_the_core() {
    assert_eq!(named("cycles", PLAIN, 0, "sapphire-rapids"), Ok(Event::CYCLES));
    assert_eq!(named("Instructions", ZEN, 0, "zen2"), Ok(Event::INSTRUCTIONS));
    let misses = named("L1-dcache-load-misses", ZEN, 0, "zen2");
    assert_eq!(misses, Ok(Event::L1D_LOAD_MISSES));
    let misses = named("dTLB-load-misses", PLAIN, 0, "k8");
    assert_eq!(misses, Ok(Event::DTLB_LOAD_MISSES));
    let on_atom = named("cycles", HYBRID, 20, "alder-lake-p").unwrap();
    assert_eq!(named("cpu_atom/cycles/", HYBRID, 0, "alder-lake-p"), Ok(on_atom));
    let on_core = named("cycles", HYBRID, 0, "alder-lake-p").unwrap();
    assert!(on_core != on_atom && on_core != Event::CYCLES);
    let faults = Event::software(Software::PageFaults);
    assert_eq!(named("page-faults", "", 0, "k8"), Ok(faults));
}

#[test]
fn what_cannot_be_named_says_why() {
    let typo = named("MEM_LOAD_RETIRED.L1_MISSES", PLAIN, 0, "sapphire-rapids").unwrap_err();
    assert!(typo.to_string().ends_with("; the nearest is MEM_LOAD_RETIRED.L1_MISS"), "{typo}");
    // A misspelt name is reported even if there is no PMU.
    assert_eq!(named("MEM_LOAD_RETIRED.L1_MISSES", "", 0, "sapphire-rapids"), Err(typo));
    let no_pmu = named("MEM_LOAD_RETIRED.L1_MISS", "", 0, "sapphire-rapids");
    assert_eq!(no_pmu, Err(Refusal::NoPmu));
    let old = named("MEM_LOAD_RETIRED.L1_MISS", PLAIN, 0, "dothan");
    assert_eq!(old, Err(Refusal::NoTable));
    // For an event that every PMU counts, the kernel gives the reason why it does not count.
    assert_eq!(named("cycles", "", 0, "dothan"), Ok(Event::CYCLES));
    // An event of a PMU that does not exist is not counted on another one.
    let elsewhere = named("cpu_atom/cycles/", PLAIN, 0, "sapphire-rapids");
    assert_eq!(elsewhere, Err(Refusal::NoPmu));
}
