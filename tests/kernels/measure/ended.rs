//! The reasons why sampling ends, and the samples that remain then.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, Ordering};

use linefill::measure::{Ended, NoMonitor, Sample, steady};

use super::planted::{ANY, Memory, Planted, Taking, endless, measure, scripted, spin};

#[test]
fn stopped_before_the_first_sample_there_is_no_outcome() {
    let stop = AtomicBool::new(true);
    let plan = endless(|plan| {
        plan.stop = Some(&stop);
        plan.warm_up = u64::MAX;
    });
    let mut asked = 0;
    let mut watch = scripted(|_| {
        asked += 1;
        0
    });
    assert_eq!(measure(&plan, &mut watch, 5).0, None);
    assert_eq!(asked, 0, "no sample was begun");
}

#[test]
fn stopped_later_the_samples_taken_are_kept() {
    let stop = AtomicBool::new(false);
    let plan = endless(|plan| plan.stop = Some(&stop));
    let mut watch = scripted(|question| {
        // The question before the third sample; that sample is still taken.
        if question == 4 {
            stop.store(true, Ordering::Relaxed);
        }
        0
    });
    let outcome = measure(&plan, &mut watch, 50).0.unwrap();
    assert_eq!((outcome.taken, outcome.ended), (3, Ended::Stopped));
    assert_eq!(outcome.ticks.n, 3);
}

#[test]
fn a_full_buffer_ends_it_and_no_buffer_prevents_it() {
    let plan = endless(|plan| plan.least = 100);
    let outcome = measure(&plan, &mut NoMonitor, 7).0.unwrap();
    assert_eq!((outcome.taken, outcome.ended), (7, Ended::Full));
    assert_eq!(measure(&plan, &mut NoMonitor, 0).0, None);

    let (each, runs) = (Cell::new(200), RefCell::default());
    let mut memory = Memory::new(7);
    memory.scratch.truncate(4);
    let mut kernel = Planted::new(0, &each, &runs);
    let outcome = steady(&mut kernel, &plan, &mut NoMonitor, memory.buffers()).unwrap();
    assert_eq!((outcome.taken, outcome.ended), (4, Ended::Full));
    assert_eq!(memory.samples[4..], [Sample::default(); 3]);
}

#[test]
fn a_spent_budget_ends_it_after_a_sample() {
    let plan = endless(|plan| {
        plan.budget_ticks = 0;
        plan.least = 10;
    });
    let outcome = measure(&plan, &mut NoMonitor, 50).0.unwrap();
    assert_eq!((outcome.taken, outcome.ended), (1, Ended::Budget));
}

#[test]
fn it_is_precise_once_the_interval_is_narrow_and_not_before_the_least_number() {
    for least in [1, 7, 20] {
        let plan = endless(|plan| (plan.least, plan.precision) = (least, ANY));
        let outcome = measure(&plan, &mut NoMonitor, 100).0.unwrap();
        assert_eq!(outcome.ended, Ended::Precise);
        // The precision is checked from time to time, not after every sample.
        assert!((least..least + 5).contains(&outcome.taken), "{outcome:?}");
    }
}

#[test]
fn a_median_that_is_not_positive_is_never_precise() {
    // Twice the operations take no time. Such noise must never count as precise.
    let mut shrinking = Taking(|operations| {
        spin(if operations == 1 { 50_000 } else { 0 });
        0
    });
    let plan = endless(|plan| plan.precision = ANY);
    let mut memory = Memory::new(20);
    let outcome = steady(&mut shrinking, &plan, &mut NoMonitor, memory.buffers()).unwrap();
    assert!(outcome.ticks.median < 0.0);
    assert_eq!(outcome.ended, Ended::Full);
}
