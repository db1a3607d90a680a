//! Two kernels measured alternately, with known costs.

use std::cell::{Cell, RefCell};
use std::sync::atomic::AtomicBool;

use linefill::kernel::Kernel;
use linefill::measure::{Ended, Monitor, NoMonitor, Paired, Plan, in_turn};

use super::planted::{ANY, ENDLESS, Memory, Planted, Taking, endless, scripted};

/// Measures kernels of `one` and of 200 ticks per operation, for up to twenty pairs.
fn measured(
    one: &Cell<u64>,
    plan: &Plan<'_>,
    watch: &mut dyn Monitor,
) -> (Option<Paired>, [Memory; 2]) {
    let (other, runs) = (Cell::new(200), RefCell::default());
    let mut first = Planted::new(0, one, &runs);
    let runs = RefCell::default();
    let mut second = Planted::new(0, &other, &runs);
    let mut memory = [Memory::new(20), Memory::new(20)];
    let buffers = memory.each_mut().map(Memory::buffers);
    let paired = in_turn([&mut first, &mut second], plan, watch, buffers);
    (paired, memory)
}

/// Whether a ratio is from `wanted` pairs, or a few less: in a few pairs the machine may interrupt the
/// shorter run for longer than the longer run takes.
fn within(pairs: usize, wanted: usize) -> bool {
    (wanted - 3..=wanted).contains(&pairs)
}

#[test]
fn the_ratio_is_that_of_the_costs() {
    let (paired, memory) = measured(&Cell::new(600), &ENDLESS, &mut NoMonitor);
    let paired = paired.unwrap();
    let ratio = paired.ratio.unwrap();
    assert!((2.0..4.0).contains(&ratio.median), "{ratio:?}");
    assert!(within(ratio.n, 20), "{ratio:?}");
    for (outcome, memory) in paired.outcomes.iter().zip(&memory) {
        assert_eq!((outcome.taken, outcome.ended), (20, Ended::Full));
        assert_eq!((outcome.disturbed, memory.samples.len()), (None, 20));
        assert!(memory.samples.iter().all(|sample| sample.long > 0));
    }
}

/// A pair with a disturbed half does not contribute to the ratio.
#[test]
fn disturbed_pairs_are_left_out_of_the_ratio() {
    let one = Cell::new(600);
    let slow = |sample: usize| sample.is_multiple_of(5);
    let mut watch = scripted(|question| {
        let (sample, after) = (question / 2, question % 2);
        let slow = slow(sample);
        one.set(if slow && after == 0 { 60_000 } else { 600 });
        (2 * sample + if slow { after } else { 0 }) as u64
    });
    let (paired, _) = measured(&one, &ENDLESS, &mut watch);
    let paired = paired.unwrap();
    let ratio = paired.ratio.unwrap();
    let quiet = (0..20).filter(|pair| !slow(2 * pair) && !slow(2 * pair + 1));
    assert!(within(ratio.n, quiet.count()), "{ratio:?}");
    assert!((2.0..4.0).contains(&ratio.median), "{ratio:?}");
    let disturbed = paired.outcomes.map(|outcome| outcome.disturbed.unwrap());
    assert_eq!(disturbed.iter().sum::<usize>(), (0..40).filter(|&s| slow(s)).count());
}

#[test]
fn it_ends_as_a_steady_measurement_does() {
    let plan = endless(|plan| {
        plan.least = 10;
        plan.precision = ANY;
    });
    let (paired, _) = measured(&Cell::new(200), &plan, &mut NoMonitor);
    let outcome = paired.unwrap().outcomes[0];
    assert_eq!((outcome.taken, outcome.ended), (10, Ended::Precise));

    let stop = AtomicBool::new(true);
    let plan = endless(|plan| plan.stop = Some(&stop));
    assert_eq!(measured(&Cell::new(200), &plan, &mut NoMonitor).0, None);
}

/// A kernel that takes no time for additional operations has no ratio.
#[test]
fn nothing_has_no_ratio() {
    let (mut calls, mut others) = (0_u64, 0_u64);
    // The run with fewer operations takes longer.
    let mut first = Taking(|operations: u64| {
        calls += 1;
        super::planted::spin(if operations == 1 { 9_000 } else { 0 });
        calls
    });
    let mut second = Taking(|operations: u64| {
        others += 1;
        super::planted::spin(if operations == 1 { 9_000 } else { 0 });
        others
    });
    let kernels: [&mut dyn Kernel; 2] = [&mut first, &mut second];
    let mut memory = [Memory::new(9), Memory::new(9)];
    let buffers = memory.each_mut().map(Memory::buffers);
    let paired = in_turn(kernels, &ENDLESS, &mut NoMonitor, buffers).unwrap();
    assert_eq!(paired.ratio, None);
}
