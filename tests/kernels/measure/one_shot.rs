//! Single operations.

use std::cell::RefCell;
use std::sync::atomic::AtomicBool;

use linefill::measure::{Ended, NoMonitor, Plan, Shot, one_shot};

use super::planted::{ANY, ENDLESS, Memory, endless, spin};

/// Preparing takes `prepared` ticks, and shooting `shot` ticks.
struct Planned<'a> {
    prepared: u64,
    shot: u64,
    calls: &'a RefCell<String>,
}

impl Shot for Planned<'_> {
    fn prepare(&mut self) {
        self.calls.borrow_mut().push('p');
        spin(self.prepared);
    }

    fn shoot(&mut self) -> u64 {
        let mut calls = self.calls.borrow_mut();
        calls.push('s');
        spin(self.shot);
        calls.len() as u64
    }
}

#[test]
fn every_shot_has_a_preparation_of_its_own_that_is_not_timed() {
    let calls = RefCell::default();
    let mut memory = Memory::new(15);
    let mut shot = Planned { prepared: 40_000, shot: 2_000, calls: &calls };
    let outcome = one_shot(&mut shot, &ENDLESS, &mut NoMonitor, memory.buffers()).unwrap();
    let calls = calls.into_inner();
    let shots = outcome.operations as usize * outcome.taken;
    // The first shot determines the number of shots per sample.
    assert_eq!(calls, "ps".repeat(1 + shots));
    assert_eq!(outcome.checksum, calls.len() as u64);
    let median = outcome.ticks.median;
    assert!((2_000.0 / 1.5..3_000.0).contains(&median), "{median}");
}

#[test]
fn a_shot_of_many_operations_is_told_by_the_operation() {
    struct Many;
    impl Shot for Many {
        fn prepare(&mut self) {}
        fn shoot(&mut self) -> u64 {
            spin(32_000);
            0
        }
        fn operations(&self) -> u64 {
            64
        }
    }
    let mut memory = Memory::new(15);
    let outcome = one_shot(&mut Many, &ENDLESS, &mut NoMonitor, memory.buffers()).unwrap();
    assert_eq!(outcome.operations % 64, 0);
    let median = outcome.ticks.median;
    assert!((500.0 / 1.5..750.0).contains(&median), "{median}");
}

#[test]
fn shots_that_take_long_are_samples_by_themselves() {
    let calls = RefCell::default();
    let mut shot = Planned { prepared: 400_000, shot: 2_000, calls: &calls };
    let plan = endless(|plan| {
        plan.budget_ticks = 4_000_000;
        plan.least = 15;
        plan.precision = 0.0;
    });
    let mut memory = Memory::new(15);
    let outcome = one_shot(&mut shot, &plan, &mut NoMonitor, memory.buffers()).unwrap();
    assert_eq!(outcome.operations, 1);
}

#[test]
fn one_shot_ends_as_steady_does() {
    let calls = RefCell::default();
    let mut shot = Planned { prepared: 0, shot: 500, calls: &calls };
    let mut run = |plan: &Plan<'_>, room| {
        let outcome = one_shot(&mut shot, plan, &mut NoMonitor, Memory::new(room).buffers());
        outcome.map(|outcome| (outcome.taken, outcome.ended))
    };
    let stop = AtomicBool::new(true);
    let stopped = endless(|plan| plan.stop = Some(&stop));
    let spent = endless(|plan| plan.budget_ticks = 0);
    let precise = endless(|plan| {
        plan.precision = ANY;
        plan.least = 5;
    });
    assert_eq!(run(&stopped, 9), None);
    assert_eq!(run(&spent, 9), Some((1, Ended::Budget)));
    assert_eq!(run(&precise, 9), Some((5, Ended::Precise)));
    assert_eq!(run(&ENDLESS, 9), Some((9, Ended::Full)));
}
