//! Lists of events as a user types them, resolved on recorded machines.
#![cfg(feature = "std")]

use crate::common::dump::Dump;
use crate::common::machine::Machine;
use linefill::counters::{Named, Place, Quantity, UnknownName};
use linefill::cpu::Identity;
use linefill::os::perf::{Event, Refusal, Software, Source};
use linefill::pmu::Flavour;

const INTEL: &str = "
    sys/bus/event_source/devices/cpu/type = 4
    sys/bus/event_source/devices/cpu/format/event = config:0-7
";

/// Selects a recorded machine instead of a tree of files.
const HYBRID: &str = "hybrid-pmus";

/// Asks CPU `cpu` of a machine with the files in `tree` and the CPUID dump `dump`.
fn ask<R>(tree: &str, cpu: usize, dump: &str, question: impl FnOnce(&Place) -> R) -> R {
    let machine = match tree {
        HYBRID => Machine::recorded(tree),
        tree => Machine::empty().with(tree),
    };
    let identity = Identity::read(Dump::of(dump));
    question(&Place::on(machine.root(), cpu, identity))
}

fn list(tree: &str, dump: &str, names: &str) -> Result<Vec<Named>, UnknownName> {
    ask(tree, 0, dump, |place| place.list(names))
}

#[test]
fn a_list_is_the_vendors_raw_and_software_events_each_once() {
    let names = "MEM_LOAD_RETIRED.L1_MISS, r0148 ,page-faults,page-faults";
    let events = list(INTEL, "sapphire-rapids", names).unwrap();
    let source = Source { name: "cpu", kind: 4, flavour: Flavour::Intel };
    let raw = Event::raw(&source, 0x148);
    let faults = Event::software(Software::PageFaults);
    let names: Vec<&str> = events.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(names, ["MEM_LOAD_RETIRED.L1_MISS", "r0148", "page-faults"]);
    assert!(events[0].event.is_ok());
    assert_eq!(events[1].event, Ok(raw));
    assert_eq!(events[2].event, Ok(faults));
}

#[test]
fn without_a_pmu_names_are_still_told_from_misspelt_ones() {
    let events = list("", "sapphire-rapids", "L1D_PEND_MISS.PENDING,r0148,task-clock").unwrap();
    assert_eq!(events[0].event, Err(Refusal::NoPmu));
    assert_eq!(events[1].event, Err(Refusal::NoPmu));
    assert!(events[2].event.is_ok());
    let unknown = list("", "sapphire-rapids", "task-clock,L1D_PEND_MISS.PENDIN").unwrap_err();
    assert_eq!(unknown.name, "L1D_PEND_MISS.PENDIN");
    assert_eq!(unknown.near[0], "L1D_PEND_MISS.PENDING");
}

#[test]
fn a_misspelt_name_is_told_with_its_neighbours() {
    let of = |dump, name| list(INTEL, dump, name).unwrap_err();
    let software = of("sapphire-rapids", "page-fault");
    assert_eq!(software.near[0], "page-faults");
    let text = software.to_string();
    assert!(
        text.starts_with("unknown event `page-fault`: no event of Sapphire Rapids; did you mean `"),
        "{text}"
    );
    let part = of("sapphire-rapids", "l1_miss");
    assert!(part.near.iter().all(|name| name.contains("L1_MISS")), "{part}");
    let elsewhere = of("zen2", "MEM_LOAD_RETIRED.L1_MISS");
    let mut cores = elsewhere.elsewhere.iter().map(|core| core.name());
    assert!(cores.any(|name| name == "Skylake client"));
    assert!(elsewhere.to_string().contains(", though of "), "{elsewhere}");
    let far = of("zen2", "L1D_PEND_MISS.PENDING").to_string();
    assert!(far.ends_with(" other cores"), "{far}");
    let nothing = of("zen2", "x");
    assert!(nothing.to_string().ends_with("nothing here is spelt like it"));
    // A raw event needs digits.
    assert_eq!(of("zen2", "r").name, "r");
    assert_eq!(of("zen2", "").name, "");
}

#[test]
fn a_cpu_without_a_table_takes_perfs_names_and_doubts_the_vendors() {
    let events = list(INTEL, "dothan", "cycles,MEM_LOAD_RETIRED.L1_MISS,r01").unwrap();
    assert!(events[0].event.is_ok() && events[2].event.is_ok());
    assert_eq!(events[1].event, Err(Refusal::NoTable));
    let unknown = list(INTEL, "dothan", "cicles").unwrap_err();
    assert_eq!((unknown.core, unknown.near[0].as_str()), (None, "cycles"));
    assert!(unknown.to_string().contains("no event of this CPU"));
}

#[test]
fn a_quantity_is_counted_by_the_cores_own_event() {
    let name = |tree, cpu, dump, quantity| {
        let named = ask(tree, cpu, dump, |place| place.counting(quantity));
        named.map(|named| named.name)
    };
    let misses = Quantity::L1dMisses;
    let expected = Ok("MEM_LOAD_RETIRED.L1_MISS".to_owned());
    assert_eq!(name(INTEL, 0, "sapphire-rapids", misses), expected);
    assert_eq!(name(HYBRID, 3, "alder-lake-e", misses), expected);
    let refused = name(HYBRID, 20, "alder-lake-p", misses).unwrap_err();
    assert_eq!(refused, "no event of Gracemont is known that counts them");
    let general = name(INTEL, 0, "dothan", misses);
    assert_eq!(general, Ok("L1-dcache-load-misses".to_owned()));
    let refused = name(INTEL, 0, "dothan", Quantity::L1dPending).unwrap_err();
    assert!(refused.contains("this CPU"), "{refused}");
}

#[test]
fn every_name_that_is_offered_means_something() {
    ask(INTEL, 0, "sapphire-rapids", |place| {
        let names = place.names();
        assert!(names.len() > 100);
        for name in names {
            assert!(place.named(&name).unwrap().event.is_ok(), "{name}");
        }
    });
}
