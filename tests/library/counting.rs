//! The events that a rig counts in addition to the time. Events of the kernel stand in for events of the PMU.
#![cfg(feature = "std")]

use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::software::refused;
use linefill::counters::Quantity;
use linefill::cpu::Features;
use linefill::experiment::shared::count::CountSetup;
use linefill::experiment::shared::touch::{Touch, TouchSetup};
use linefill::experiment::shared::walk::WalkSetup;
use linefill::experiment::{Case, Context, Effort, Linux, Rig, State};
use linefill::os::Pages;
use linefill::os::perf::{Event, Software};
use linefill::pattern::{Layout, Order};
use linefill::stats::Interval;
use linefill::time::Rate;

static STOP: AtomicBool = AtomicBool::new(false);

/// A rig that counts page faults in place of misses of L1d, and the thread's clock in place of cycles.
fn rig(stop: &AtomicBool) -> Rig<'_> {
    let effort = Effort { warm_up: 0.001, sampling: 0.001, passes: 1 };
    let context = Context { features: Features::detect(), host: &Linux };
    Rig::new(Rate::from_hz(2.5e9), context, effort, stop).with_counters(vec![
        (Quantity::Cycles, Event::software(Software::TaskClock)),
        (Quantity::L1dMisses, Event::software(Software::PageFaults)),
    ])
}

/// An operation is the first write to a page: one page fault.
fn first_touch() -> Case {
    let setup = TouchSetup { pages: Pages::Base, count: 32, touch: Touch::Write };
    Case::new("first touch", 0.0, setup)
}

fn walk() -> Case {
    let setup = WalkSetup::follow(Layout::npad(7), 4096, Order::Sequential);
    Case::new("walk", 4096.0, setup)
}

#[test]
fn a_point_carries_what_was_counted_of_its_operation() {
    if refused() {
        return;
    }
    let wanted = [Quantity::L1dMisses, Quantity::Cycles, Quantity::LoopOps];
    let point = rig(&STOP).measure_and_count(&first_touch(), &wanted).unwrap();
    // The counts have the order of the rig's counters. Events that it cannot count are left out.
    let [clock, faults] = point.counts() else {
        panic!("two of three can be counted: {:?}", point.counts());
    };
    assert_eq!(clock.quantity, Quantity::Cycles);
    assert!(clock.value.lo >= 0.0 && !clock.multiplexed);
    assert_eq!(faults.quantity, Quantity::L1dMisses);
    assert_eq!(faults.value, Interval::exact(1.0));
    // A step of a walk causes no page faults, and the cost of the readings must not appear.
    let point = rig(&STOP).measure_and_count(&walk(), &[Quantity::L1dMisses]).unwrap();
    assert_eq!(point.counts()[0].value, Interval::exact(0.0));
}

#[test]
fn nothing_is_counted_that_nobody_asked_for() {
    let point = rig(&STOP).measure(&walk()).unwrap();
    assert!(point.counts().is_empty());
    assert!(matches!(point.state, State::Measured(_)));
}

#[test]
fn what_another_experiment_did_not_want_is_counted_later() {
    if refused() {
        return;
    }
    let mut rig = rig(&STOP);
    let point = rig.measure_and_count(&first_touch(), &[Quantity::Cycles]).unwrap();
    let wanted = [Quantity::Cycles, Quantity::L1dMisses, Quantity::Loads];
    let missing = rig.missing(&point, &wanted);
    assert_eq!(missing, [Quantity::L1dMisses]);
    let counts = rig.counts(&first_touch(), &missing);
    assert_eq!(counts.len(), 1);
    assert_eq!(counts[0].value, Interval::exact(1.0));
}

#[test]
fn events_are_counted_of_operations_and_not_of_numbers() {
    if refused() {
        return;
    }
    let mut rig = rig(&STOP);
    let faults = Event::software(Software::PageFaults);
    let counts = rig.count(&first_touch(), &[faults]).unwrap();
    assert_eq!(counts.len(), 1);
    let number = CountSetup::computed("a number", 0, |_| Ok(7.0)).at(0.0);
    assert_eq!(rig.count(&number, &[faults]), Ok(Vec::new()));
}

#[test]
fn a_rig_that_is_stopped_counts_nothing() {
    let stop = AtomicBool::new(false);
    let mut rig = rig(&stop);
    stop.store(true, Ordering::Relaxed);
    let faults = Event::software(Software::PageFaults);
    assert!(rig.count(&walk(), &[faults]).is_err());
    assert!(rig.measure_and_count(&walk(), &[Quantity::Cycles]).is_none());
}
