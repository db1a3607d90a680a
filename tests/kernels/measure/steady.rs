//! The steady measurement: N operations, then 2N.

use std::cell::{Cell, RefCell};

use linefill::kernel::{IndexChase, Kernel};
use linefill::measure::{NoMonitor, Outcome, Sample, in_stretches, steady};
use linefill::pattern::Chain;

use super::planted::{ENDLESS, Memory, Planted, Taking, endless, measure, scripted, spin};

#[test]
fn a_sample_is_the_difference_an_operation() {
    let sample = Sample { short: 1_100, long: 2_100, ..Sample::default() };
    assert_eq!(sample.value(100), 10.0);
    // If the shorter run was interrupted, the sample is negative, not huge.
    let interrupted = Sample { short: 5_100, ..sample };
    assert_eq!(interrupted.value(100), -30.0);
}

#[test]
fn what_happens_once_a_run_leaves_by_the_difference() {
    let (each, runs) = (Cell::new(1_000), RefCell::default());
    let mut memory = Memory::new(31);
    // Starting a run costs a hundred times as much as an operation.
    let mut kernel = Planted::new(100_000, &each, &runs);
    let outcome = steady(&mut kernel, &ENDLESS, &mut NoMonitor, memory.buffers()).unwrap();
    assert_eq!(outcome.operations, 1, "a run is longer than a sample from the first");
    let median = outcome.ticks.median;
    assert!((1_000.0 / 1.5..1_500.0).contains(&median), "{median}");
}

#[test]
fn a_sample_is_n_operations_and_then_twice_as_many() {
    let (outcome, runs) = measure(&ENDLESS, &mut NoMonitor, 9);
    let Outcome { taken, operations, checksum, .. } = outcome.unwrap();
    assert_eq!(taken, 9);
    let timed = &runs[runs.len() - 2 * taken..];
    assert_eq!(timed, [operations, 2 * operations].repeat(taken));
    assert_eq!(checksum, runs.iter().sum::<u64>(), "the last run's checksum");
}

/// If two threads share a CPU, one of them may wait for it in most runs.
#[test]
fn interruptions_of_most_stretches_make_no_operation_look_long() {
    let mut calls = 0;
    let mut time = |operations: u64| {
        calls += 1;
        let waits = if calls % 4 == 0 { 0 } else { 1 << 30 };
        (10 * operations + waits, 0)
    };
    let mut memory = Memory::new(9);
    let plan = endless(|plan| plan.sample_ticks = 4_000);
    let outcome = in_stretches(&mut time, &plan, &mut NoMonitor, memory.buffers()).unwrap();
    let lasting = 10 * outcome.operations;
    assert!((4_000..32_000).contains(&lasting), "{lasting}");
}

#[test]
fn the_kernel_goes_on_where_it_stopped() {
    // 0, 1, 2, ... and back: after k jumps from 0 the walk is at k modulo `LENGTH`.
    const LENGTH: u64 = 10_007;
    let mut slots: Vec<u32> = (1..LENGTH as u32).chain([0]).collect();
    let mut jump = IndexChase::new(Chain::given(&mut slots).unwrap());
    let mut total = 0;
    let mut memory = Memory::new(7);
    let mut kernel = Taking(|operations| {
        total += operations;
        jump.run(operations)
    });
    let plan = endless(|plan| plan.warm_up = 3 * LENGTH);
    let outcome = steady(&mut kernel, &plan, &mut NoMonitor, memory.buffers()).unwrap();
    assert_eq!(outcome.checksum, total % LENGTH);
}

/// The number of consecutive runs of N that must be long enough to end the search for N.
const TRIES: usize = 7;

#[test]
fn the_warm_up_runs_the_lap_before_the_first_sample() {
    let each = Cell::new(200);
    for period in [0, 1, 1_000, 1_234] {
        let runs: RefCell<Vec<u64>> = RefCell::default();
        let mut before = None;
        let plan = endless(|plan| plan.warm_up = period);
        let mut memory = Memory::new(3);
        let mut watch = scripted(|_| {
            before.get_or_insert_with(|| runs.borrow().len());
            0
        });
        let mut kernel = Planted::new(0, &each, &runs);
        let outcome = steady(&mut kernel, &plan, &mut watch, memory.buffers()).unwrap();
        // The search for N ends with runs of N; the warm-up follows.
        let runs: Vec<u64> = runs.borrow()[..before.unwrap()].to_vec();
        let n = outcome.operations;
        let found = runs.iter().position(|run| *run == n).unwrap();
        let warm = &runs[found + TRIES..];
        assert_eq!(warm.iter().sum::<u64>(), period);
        assert!(warm.iter().all(|run| *run <= n), "in stretches of {n}: {warm:?}");
    }
}

#[test]
fn a_warm_up_without_time_does_not_run() {
    let plan = endless(|plan| {
        plan.warm_up = u64::MAX;
        plan.warm_up_ticks = 0;
    });
    let (outcome, runs) = measure(&plan, &mut NoMonitor, 3);
    let n = outcome.unwrap().operations;
    let found = runs.iter().position(|run| *run == n).unwrap();
    assert_eq!(runs[found + TRIES..], [n, 2 * n].repeat(3));
}

#[test]
fn one_interruption_does_not_make_an_operation_look_long() {
    let mut first = true;
    let mut interrupted = Taking(|operations| {
        spin(if first { 50_000 } else { 100 * operations });
        first = false;
        0
    });
    let mut memory = Memory::new(1);
    let outcome = steady(&mut interrupted, &ENDLESS, &mut NoMonitor, memory.buffers()).unwrap();
    assert!(outcome.operations > 1);
}

#[test]
fn the_search_for_n_ends_even_if_operations_cost_nothing() {
    let plan = endless(|plan| plan.sample_ticks = u64::MAX);
    let mut memory = Memory::new(1);
    let mut most = 0;
    let mut nothing = Taking(|operations: u64| {
        most = operations.max(most);
        0
    });
    let outcome = steady(&mut nothing, &plan, &mut NoMonitor, memory.buffers()).unwrap();
    assert_eq!(most, 2 * outcome.operations);
}
