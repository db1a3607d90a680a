//! The public interface for timing: what it runs, in which order, and what it prints. No times are asserted.
#![cfg(feature = "std")]

use std::cell::{Cell, RefCell};
use std::time::Duration;

use crate::common::untested;
use linefill::bench::{Bench, Budget, Cold, flush};
use linefill::kernel::Kernel;
use linefill::measure::Shot;
use linefill::os::{Pages, allowed, current_cpu, pin};

fn quick() -> Bench {
    Bench::new().expect("both clocks run").with_budget(Duration::from_millis(5))
}

#[test]
fn a_bench_holds_the_thread_and_gives_it_back() {
    // The number of CPUs that the thread may use: std reads the affinity mask.
    let may_use = || std::thread::available_parallelism().unwrap().get();
    let before = may_use();
    let last = *allowed().last().unwrap();
    let bench = Bench::on_pinned(pin(last).unwrap()).unwrap();
    assert_eq!((bench.cpu(), current_cpu()), (Some(last), Some(last)));
    assert!(bench.rate().hz() > 1e8);
    assert_eq!(bench.notes(), Vec::<String>::new());
    assert_eq!(may_use(), 1);
    drop(bench);
    assert_eq!(may_use(), before);
}

#[test]
fn a_closure_is_timed_by_n_against_2n() {
    let runs = RefCell::new(Vec::new());
    let timing = quick().steady_fn(|n| {
        runs.borrow_mut().push(n);
        // Some work, so that the doubling of N ends.
        (0..n).fold(1_u64, |x, i| std::hint::black_box(x.wrapping_mul(3) + i))
    });
    let runs = runs.into_inner();
    let operations = timing.outcome.operations;
    let sampled = &runs[runs.len() - 2 * timing.outcome.taken..];
    assert!(!sampled.is_empty());
    for pair in sampled.chunks(2) {
        assert_eq!(pair, [operations, 2 * operations]);
    }
    // The measurement was monitored, and its units are consistent.
    assert!(timing.outcome.disturbed.is_some());
    let ratio = timing.ticks().median / timing.nanos().median;
    assert!((ratio * 1e9 / timing.rate.hz() - 1.0).abs() < 1e-9);
    let cycles = timing.core_cycles().map(|cycles| cycles.median);
    let ratio = timing.outcome.core_per_tick;
    assert_eq!(cycles, ratio.map(|ratio| ratio * timing.ticks().median));
}

/// Each shot must be prepared directly before it, in samples and in the distribution.
#[test]
fn a_shot_comes_after_its_preparation() {
    let ready = Cell::new(false);
    let shots = Cell::new(0);
    let prepare = || assert!(!ready.replace(true), "prepared twice");
    let measured = quick().one_shot_fn(prepare, || {
        assert!(ready.replace(false), "not prepared");
        shots.set(shots.get() + 1);
    });
    assert!(!ready.get());
    let single = measured.single.count();
    assert!(single > 0);
    let averaged = measured.timing.outcome.taken as u64 * measured.timing.outcome.operations;
    // In addition: one shot that determines the number per sample, and 15 untimed ones.
    assert_eq!(shots.get(), single + averaged + 1 + 15);
}

#[test]
fn two_kernels_are_measured_in_turn() {
    let order = RefCell::new(Vec::new());
    struct Note<'a>(&'a RefCell<Vec<u8>>, u8);
    impl Kernel for Note<'_> {
        fn run(&mut self, operations: u64) -> u64 {
            self.0.borrow_mut().push(self.1);
            (0..operations * u64::from(self.1)).fold(1, |x, i| std::hint::black_box(x ^ i))
        }
    }
    let mut bench = quick();
    let both = bench.compare(&mut Note(&order, 1), &mut Note(&order, 3));
    let taken = both.first.outcome.taken;
    assert_eq!(taken, both.second.outcome.taken);
    let order = order.into_inner();
    // In even pairs the first kernel runs first, in odd pairs the second.
    let wanted = (0..taken).flat_map(|pair| match pair % 2 {
        0 => [1, 1, 3, 3],
        _ => [3, 3, 1, 1],
    });
    assert_eq!(order[order.len() - 4 * taken..], wanted.collect::<Vec<_>>());
    let text = both.to_string();
    assert!(text.contains("times as long as the second"), "{text}");
}

#[test]
fn what_does_nothing_has_no_ratio_to_be_divided_by() {
    let both = quick().compare_fn(|_| (), |_| ());
    // Because of noise, some pairs may be positive.
    let text = both.to_string();
    let said = text.contains("no ratio") || text.contains("times as long");
    assert!(said && both.ratio.is_none_or(|ratio| ratio.median > 0.0), "{text}");
}

/// A flush faults if it goes past a value's pages.
#[test]
fn values_of_any_size_can_be_flushed() {
    let text: String = ('a'..='z').cycle().take(1000).collect();
    flush(&text[13..900]);
    flush("");
    flush(&[0_u8; 0]);
    flush(&());
    flush(&7_u64);
}

#[test]
fn everything_can_be_made_cold_before_a_shot() {
    struct Lookup<'a> {
        cold: Cold,
        memory: &'a [u8],
        prepared: u64,
        done: u64,
    }
    impl Shot for Lookup<'_> {
        fn prepare(&mut self) {
            self.cold.prepare();
            flush(self.memory);
            self.prepared += 1;
        }
        fn shoot(&mut self) -> u64 {
            self.done += 1;
            assert_eq!(self.done, self.prepared, "one preparation before each shot");
            u64::from(self.memory[100])
        }
    }
    let mut bench = quick();
    let memory = bench.memory(4096, Pages::Base).unwrap();
    match Cold::nothing().caches() {
        Ok(mut cold) => cold.prepare(),
        Err(error) => untested::machine(&error.to_string()),
    }
    let cold = Cold::nothing().tlbs().unwrap().predictors().unwrap();
    let (prepared, done) = (0, 0);
    let memory = memory.as_slice();
    let mut lookup = Lookup { cold, memory, prepared, done };
    let shots = bench.one_shot(&mut lookup);
    // The test does not check times: on a busy CPU the empty run, which is subtracted, may have taken longer.
    assert!(shots.single.count() > 0 && lookup.done > shots.single.count());
}

#[test]
fn a_budget_is_kept_or_says_why_not() {
    let mut bench = quick();
    let mut work = |n| (0..n).fold(1_u64, |x, i| std::hint::black_box(x ^ i));
    let generous = bench.cycles_at_most(1e6, &mut work);
    assert!(!matches!(generous, Budget::Exceeded { .. }), "{generous}");
    generous.assert();
    // A negative budget cannot be kept; on a busy CPU the answer may be undecided.
    let impossible = bench.cycles_at_most(-1e6, &mut work);
    assert!(!matches!(impossible, Budget::Kept(_)), "{impossible}");
}
