//! The counter that an event gets on a made-up CPU, and the error if it gets none.

use super::machine::{AMD, ANY, INTEL, Machine, PENDING, counters};
use super::microarch;
use linefill::pmu::{Capabilities, EventCode, Microarch, ProgramError, Slot, event};

#[test]
fn an_event_of_one_counter_gets_that_or_none() {
    let mut machine = Machine::new(INTEL);
    let mut counters = counters(&mut machine);
    // Before Skylake, PENDING counts only in PMC2.
    assert_eq!(counters.add(PENDING, 0b0100), Ok(Slot::General(2)));
    let full = ProgramError::Full { able: 0b0100, first: 2, holder: PENDING };
    assert_eq!(counters.add(PENDING, 0b0100), Err(full));
    assert_eq!(
        full.to_string(),
        "the event can be counted by counter 2, and none is free: \
         counter 2 counts event 48h, umask 01h"
    );
    for n in [0, 1, 3] {
        assert_eq!(counters.add(PENDING, ANY), Ok(Slot::General(n)));
    }
    let error = counters.add(PENDING, ANY).unwrap_err();
    let full = ProgramError::Full { able: ANY, first: 0, holder: PENDING };
    assert_eq!(error, full);
    assert!(error.to_string().contains("by any general counter"), "{error}");
}

#[test]
fn a_counter_that_is_not_there_is_named() {
    let mut machine = Machine::new(INTEL);
    let mut counters = counters(&mut machine);
    let able = 0b1011_0000;
    let absent = ProgramError::Absent { able, present: 4 };
    assert_eq!(counters.add(PENDING, able), Err(absent));
    assert_eq!(
        absent.to_string(),
        "the event can be counted by counter 4, 5, 7 alone; this CPU has 4, from 0 on"
    );
    let none = counters.add(PENDING, 0).unwrap_err();
    assert_eq!(none.to_string(), "no general counter can count the event");
}

fn code(name: &str, microarch: Microarch) -> EventCode {
    event(name, microarch).unwrap()
}

#[test]
fn an_event_of_the_tables_goes_where_it_counts() {
    let mut machine = Machine::new(INTEL);
    let mut counters = counters(&mut machine);
    let core = microarch("Haswell");
    let mut add = |name| counters.add_event(&code(name, core));
    assert_eq!(add("INST_RETIRED.ANY"), Ok(Slot::Fixed(0)));
    // The event's fixed counter is in use; a general counter counts the same event.
    assert_eq!(add("INST_RETIRED.ANY"), Ok(Slot::General(0)));
    assert_eq!(add("L1D_PEND_MISS.PENDING"), Ok(Slot::General(2)));
    assert_eq!(add("CPU_CLK_UNHALTED.REF_TSC"), Ok(Slot::Fixed(2)));
    // No general counter counts reference cycles.
    let taken = ProgramError::Taken { fixed: 2 };
    assert_eq!(add("CPU_CLK_UNHALTED.REF_TSC"), Err(taken));
    let Err(ProgramError::Full { first: 2, holder, .. }) = add("L1D_PEND_MISS.PENDING_CYCLES")
    else {
        panic!("PMC2 was given away twice");
    };
    assert_eq!(holder, PENDING);
    core::mem::forget(counters);
    let without_fixed = Capabilities { fixed: 0, ..INTEL };
    let mut machine = Machine::new(without_fixed);
    let mut counters = self::counters(&mut machine);
    let slot = counters.add_event(&code("INST_RETIRED.ANY", core));
    assert_eq!(slot, Ok(Slot::General(0)));
}

#[test]
fn the_choosiest_event_comes_first() {
    let names = [
        "MEM_LOAD_UOPS_RETIRED.L1_MISS",
        "INST_RETIRED.ANY",
        "L1D.REPLACEMENT",
        "L1D_PEND_MISS.PENDING",
        "LD_BLOCKS.STORE_FORWARD",
    ];
    let events = names.map(|name| code(name, microarch("Haswell")));
    let mut machine = Machine::new(INTEL);
    let slots = counters(&mut machine).add_all(&events);
    let general = Slot::General;
    let expected = [general(0), Slot::Fixed(0), general(1), general(2), general(3)];
    assert_eq!(slots, Ok(expected));
    // If counters were assigned in the order of this list, the third event would have taken counter 2.
    let both = ["L1D_PEND_MISS.PENDING", "L1D_PEND_MISS.PENDING_CYCLES"];
    let events = both.map(|name| code(name, microarch("Haswell")));
    let mut machine = Machine::new(INTEL);
    let refused = counters(&mut machine).add_all(&events);
    assert!(matches!(refused, Err(ProgramError::Full { first: 2, .. })), "{refused:?}");
    let none = Capabilities { general: 0, ..INTEL };
    let mut machine = Machine::new(none);
    let fixed = [code("INST_RETIRED.ANY", microarch("Haswell"))];
    assert_eq!(counters(&mut machine).add_all(&fixed), Ok([Slot::Fixed(0)]));
}

#[test]
fn off_core_events_share_a_register() {
    let mut machine = Machine::new(INTEL);
    machine.registers.insert(0x1A6, 0x77);
    let mut counters = counters(&mut machine);
    let of = |name| code(name, microarch("Sandy Bridge"));
    let reads = of("OFFCORE_RESPONSE.DEMAND_DATA_RD.ANY_RESPONSE");
    assert_ne!(reads.encoding.offcore, 0);
    assert_eq!(counters.add_event(&reads), Ok(Slot::General(0)));
    assert_eq!(counters.add_event(&reads), Ok(Slot::General(1)));
    assert_eq!(counters.add(PENDING, ANY), Ok(Slot::General(2)));
    let other = reads.encoding.offcore(reads.encoding.offcore ^ 1);
    let conflict = ProgramError::Offcore { wanted: other.offcore, held: reads.encoding.offcore };
    assert_eq!(counters.add(other, ANY), Err(conflict));
    assert!(conflict.to_string().contains("off-core response register"), "{conflict}");
    counters.start();
    counters.stop();
    counters.start();
    drop(counters);
    let wrote: Vec<u64> = machine.written_to(0x1A6).collect();
    let value = reads.encoding.offcore;
    assert_eq!(wrote, [value, value, 0x77], "what was there before is put back once");
}

/// The made-up CPU panics at a write to a register that it does not have.
#[test]
fn off_core_events_are_refused_where_their_register_does_not_exist() {
    let mut machine = Machine::new(AMD);
    let mut counters = counters(&mut machine);
    let refused = ProgramError::NoOffcore { wanted: 0x1_0001 };
    assert_eq!(counters.add(PENDING.offcore(0x1_0001), ANY), Err(refused));
    assert_eq!(
        refused.to_string(),
        "the event wants 0x10001 in the off-core response register, which this CPU does not have"
    );
    // The refused event took no counter.
    assert_eq!(counters.add(PENDING, ANY), Ok(Slot::General(0)));
    counters.start();
    drop(counters);
    assert_eq!(machine.written_to(0x1A6).count(), 0);
}

#[test]
fn fixed_counters_are_those_there_are_and_each_once() {
    let mut machine = Machine::new(INTEL);
    let mut counters = counters(&mut machine);
    assert_eq!(counters.add_fixed(1), Ok(Slot::Fixed(1)));
    assert_eq!(counters.add_fixed(1), Err(ProgramError::Taken { fixed: 1 }));
    let absent = ProgramError::NoFixed { asked: 3, present: 3 };
    assert_eq!(counters.add_fixed(3), Err(absent));
    assert_eq!(absent.to_string(), "there is no fixed counter 3; this CPU has 3");
    assert_eq!(ProgramError::Taken { fixed: 1 }.to_string(), "fixed counter 1 counts already");
}
