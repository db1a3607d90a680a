//! Samples during which the thread was disturbed, and the summary of the others.

use std::cell::{Cell, RefCell};

use linefill::measure::{Ended, Outcome, Sample, steady};
use linefill::stats::Summary;
use linefill::time::yardstick;

use super::planted::{ANY, ENDLESS, Memory, Planted, endless, measure, scripted};

/// Takes twenty samples; those in `disturbed` take fifty times as long.
fn with_disturbed(disturbed: impl Fn(usize) -> bool) -> (Outcome, Vec<Sample>) {
    let (each, runs) = (Cell::new(1_000), RefCell::default());
    let mut memory = Memory::new(20);
    let mut watch = scripted(|question| {
        let (sample, after) = (question / 2, question % 2);
        let slow = disturbed(sample);
        each.set(if slow && after == 0 { 50_000 } else { 1_000 });
        // The state after a disturbed sample differs from the state before it.
        (2 * sample + if slow { after } else { 0 }) as u64
    });
    let mut kernel = Planted::new(0, &each, &runs);
    let outcome = steady(&mut kernel, &ENDLESS, &mut watch, memory.buffers()).unwrap();
    (outcome, memory.samples)
}

#[test]
fn disturbed_samples_are_marked_and_left_out() {
    // Most samples are disturbed: a median over all would be that of the disturbed ones.
    let (outcome, samples) = with_disturbed(|sample| sample % 3 != 0);
    let marked: Vec<bool> = samples.iter().map(|sample| sample.disturbed).collect();
    let wanted: Vec<bool> = (0..20).map(|sample| sample % 3 != 0).collect();
    assert_eq!(marked, wanted);
    assert_eq!((outcome.taken, outcome.disturbed, outcome.ticks.n), (20, Some(13), 7));
    assert!(outcome.ticks.median < 10_000.0, "{:?}", outcome.ticks);
}

#[test]
fn if_all_samples_were_disturbed_all_are_used() {
    let (outcome, _) = with_disturbed(|_| true);
    assert_eq!((outcome.disturbed, outcome.ticks.n), (Some(20), 20));
    assert!(outcome.ticks.median > 10_000.0, "{:?}", outcome.ticks);
}

#[test]
fn the_outcome_summarises_the_samples_it_leaves() {
    let (outcome, samples) = with_disturbed(|sample| sample < 5);
    let mut values: Vec<f64> =
        samples[5..].iter().map(|sample| sample.value(outcome.operations)).collect();
    assert_eq!(outcome.ticks, Summary::of(&mut values).unwrap());
    let mut clocks: Vec<f64> = samples
        .iter()
        .filter(|sample| sample.yardstick > 0)
        .map(|sample| yardstick::CYCLES as f64 / sample.yardstick as f64)
        .collect();
    let clock = Summary::of(&mut clocks).map(|clock| clock.median);
    assert_eq!(outcome.core_per_tick, clock);
}

#[test]
fn a_handful_of_undisturbed_samples_is_too_few() {
    for (quiet, kept) in [(5, 20), (6, 6)] {
        let (outcome, _) = with_disturbed(|sample| sample >= quiet);
        assert_eq!((outcome.disturbed, outcome.ticks.n), (Some(20 - quiet), kept));
    }
}

/// A plan's minimum number counts only undisturbed samples. If all are disturbed, the measurement takes
/// several times that number.
#[test]
fn the_least_number_of_samples_counts_the_undisturbed() {
    let plan = endless(|plan| {
        plan.least = 10;
        plan.precision = ANY;
    });
    for (disturbed, taken) in
        [((|_| false) as fn(usize) -> bool, 10), (|sample| sample % 2 == 1, 20), (|_| true, 60)]
    {
        let mut watch = scripted(|question| {
            let (sample, after) = (question / 2, question % 2);
            (2 * sample + if disturbed(sample) { after } else { 0 }) as u64
        });
        let outcome = measure(&plan, &mut watch, 200).0.unwrap();
        assert_eq!((outcome.taken, outcome.ended), (taken, Ended::Precise));
    }
}
