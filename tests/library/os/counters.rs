//! Counting on this machine: software events, which work nearly everywhere, and hardware events, which work
//! or give a reason why not.
#![cfg(feature = "std")]
// A test gives up its user, by a system call.
#![allow(unsafe_code)]

use std::time::Duration;

use crate::common::child;
use crate::common::software::{FRESH, refused, touch};
use crate::common::untested;
use linefill::host::{Group as _, Meter as _};
use linefill::os::perf::{Counter, Event, Group, Refusal, Software, probe, probe_software};
use linefill::pmu::Reading;

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
    assert_eq!(group.events(), 3);
    let (mut before, mut counts) = ([Reading::default(); 3], [Reading::default(); 3]);
    group.scope_into(touch, &mut before, &mut counts).1.unwrap();
    assert!(counts[0].value > 0);
    assert!(counts[2].value >= FRESH as u64);
    match probe() {
        Ok(()) => assert!(counts[1].value > 0),
        Err(refusal) => {
            untested::machine(&format!("cycles in a group: {refusal}"));
            assert_eq!(counts[1], Reading::default());
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
        let event = Event::named(software.name()).unwrap();
        assert_eq!(event, Event::software(software));
        let counter = Counter::open(&event);
        let in_kernel = [Software::ContextSwitches, Software::Migrations].contains(&software);
        match counter {
            Ok(_) => {}
            // An unprivileged user may be barred from what only the kernel does.
            Err(refusal @ Refusal::Paranoid(_)) if in_kernel => {
                untested::machine(&format!("{}: {refusal}", software.name()));
            }
            Err(refusal) => panic!("{}: {refusal}", software.name()),
        }
    }
    assert_eq!(Group::open(&[]).events(), 0);
}

/// Under `perf_event_paranoid` 2 such a user may count user mode only, where no context switch occurs.
#[test]
fn an_unprivileged_user_counts_switches_or_is_refused() {
    if refused() {
        return;
    }
    // In a process of its own: without the user, the kernel shields the whole process from others.
    let child = child::exact(module_path!(), "child_counts_without_privileges").output();
    let child = child.unwrap();
    assert!(child.status.success(), "{child:?}");
}

#[test]
#[ignore = "gives up its user; its parent test runs it"]
fn child_counts_without_privileges() {
    let somebody = 30_000;
    // SAFETY: the calls take numbers.
    unsafe {
        if libc::geteuid() == 0 {
            let changed = libc::syscall(libc::SYS_setresuid, somebody, somebody, somebody);
            assert_eq!(changed, 0, "{}", std::io::Error::last_os_error());
        }
    }
    assert_eq!(probe_software(), Ok(()));
    for (software, least) in
        [(Software::ContextSwitches, 1), (Software::Migrations, 0), (Software::TaskClock, 1)]
    {
        match Counter::open(&Event::software(software)) {
            Ok(counter) => {
                let ((), counted) =
                    counter.scope(|| std::thread::sleep(Duration::from_millis(5))).unwrap();
                assert!(counted.value >= least, "{}: {counted:?}", software.name());
            }
            Err(refusal) => {
                assert!(matches!(refusal, Refusal::Paranoid(_)), "{refusal}");
                assert_ne!(software, Software::TaskClock);
            }
        }
    }
}

#[test]
fn a_hardware_event_counts_or_says_why_not() {
    match (probe(), Counter::open(&Event::INSTRUCTIONS)) {
        (Ok(()), counter) => {
            let counter = counter.unwrap();
            let (_, counted) = counter.scope(|| (0..1000).fold(0_u64, u64::wrapping_add)).unwrap();
            assert!(counted.value > 0);
        }
        (Err(reason), counter) => {
            untested::machine(&format!("a hardware event: {reason}"));
            let refusal: Refusal = counter.unwrap_err();
            assert_eq!(refusal, reason);
        }
    }
}
