//! Counting on this machine: software events, which work nearly everywhere, and hardware events, which work
//! or give a reason why not.
#![cfg(feature = "std")]

use std::hint::black_box;

use crate::common::untested;
use linefill::os::perf::{Counter, Event, Group, Pmu, Refusal, Software, probe, probe_software};
use linefill::os::{Memory, Pages};

/// Pages that are written for the first time.
const FRESH: usize = 64;

/// Whether software events cannot be counted here. Then there is nothing to test.
fn refused() -> bool {
    match probe_software() {
        Ok(()) => false,
        Err(refusal) => {
            untested::machine(&refusal.to_string());
            true
        }
    }
}

/// Writes to pages that are not mapped yet.
fn touch() -> usize {
    let mut memory = Memory::new(FRESH * 4096, Pages::Base).unwrap();
    memory.give_back().unwrap();
    for page in memory.region().bytes_mut().chunks_mut(4096) {
        page[0] = 1;
    }
    black_box(memory.region().len())
}

#[test]
fn page_faults_are_counted_in_a_scope() {
    if refused() {
        return;
    }
    let counter = Counter::open(&Event::software(Software::PageFaults)).unwrap();
    let (bytes, counted) = counter.scope(touch).unwrap();
    assert!(bytes >= FRESH * 4096);
    assert!(counted.value >= FRESH as u64, "{counted:?}");
    let ((), nothing) = counter.scope(|| ()).unwrap();
    assert!(nothing.value < counted.value, "{nothing:?}");
}

#[test]
fn a_software_event_is_read_by_a_system_call() {
    if refused() {
        return;
    }
    let counter = Counter::open(&Event::software(Software::TaskClock)).unwrap();
    assert!(counter.fast().is_err());
    let first = counter.read().unwrap();
    let second = counter.read().unwrap();
    assert!(second.value > first.value, "{first:?} {second:?}");
}

#[test]
fn a_group_counts_all_its_events_and_names_those_it_cannot() {
    if refused() {
        return;
    }
    let events = [
        Event::software(Software::TaskClock),
        Event::CYCLES,
        Event::software(Software::PageFaults),
    ];
    let group = Group::open(&events);
    assert_eq!(group.len(), 3);
    assert!(!group.is_empty());
    let (_, counts) = group.scope(touch).unwrap();
    assert!(counts[0].unwrap().value > 0);
    assert!(counts[2].unwrap().value >= FRESH as u64);
    match probe() {
        Pmu::Available => assert!(counts[1].unwrap().value > 0),
        Pmu::Refused(refusal) => {
            assert_eq!(counts[1], None);
            assert_eq!(group.refusal(1), Some(&refusal));
        }
    }
    assert_eq!(group.refusal(0), None);
}

#[test]
fn every_software_event_opens_under_its_name() {
    if refused() {
        return;
    }
    for software in Software::ALL {
        let counter = Counter::open(&Event::software(software));
        assert!(counter.is_ok(), "{}: {counter:?}", software.name());
    }
    assert!(Group::open(&[]).is_empty());
}

#[test]
fn a_hardware_event_counts_or_says_why_not() {
    match (probe(), Counter::open(&Event::INSTRUCTIONS)) {
        (Pmu::Available, counter) => {
            let counter = counter.unwrap();
            let (_, counted) = counter
                .scope(|| (0..1000).fold(0_u64, u64::wrapping_add))
                .unwrap();
            assert!(counted.value > 0);
        }
        (Pmu::Refused(reason), counter) => {
            let refusal: Refusal = counter.unwrap_err();
            assert_eq!(refusal, reason);
        }
    }
}
