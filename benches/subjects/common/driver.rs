//! Passes code to Criterion, once per clock.

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput};
use linefill::kernel::Kernel;
use linefill::os::{self, Pinned};
use linefill::stats::median;
use linefill::time::{Rate, start, stop};

// The library's measurements for Criterion, included from their source: the library exports them with its
// feature `criterion`, but the benches need only `std`. They use a part of the file.
#[allow(dead_code, unused_imports)]
#[path = "../../../src/criterion.rs"]
mod measurements;

use crate::SUBJECTS;
use measurements::{Clock, CoreCycles, Ticks};

/// Samples per benchmark.
const SAMPLES: usize = 20;

/// Long enough for one lap of a random walk through 128 MiB.
const WARM_UP: Duration = Duration::from_millis(300);

/// Total time of all samples.
const MEASUREMENT: Duration = Duration::from_millis(600);

/// Resamples of the bootstrap: more would not improve the intervals of 20 samples.
const RESAMPLES: usize = 10_000;

/// One subject, with one Criterion per clock, because a Criterion supports only one measurement.
pub struct Driver {
    subject: &'static str,
    rate: Rate,
    ticks: Timer<Ticks>,
    /// `None` if the yardstick gives no value.
    cycles: Option<Timer<CoreCycles>>,
    _pinned: Option<Pinned>,
}

/// A clock and its Criterion.
struct Timer<C: Clock> {
    clock: C,
    criterion: Criterion<C>,
}

/// Median times of an operation. `None` in a test run, or if a filter excluded the benchmark.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timed {
    /// In ticks.
    pub ticks: Option<f64>,
    /// In core cycles.
    pub cycles: Option<f64>,
}

impl Driver {
    /// Pins the thread and calibrates the clocks. `None` if the command line names only other subjects, or if
    /// there is no clock.
    pub fn new(subject: &'static str) -> Option<Self> {
        if !asked_for(subject) {
            return None;
        }
        let pinned = pin();
        let ticks = match Ticks::calibrated() {
            Ok(ticks) => ticks,
            Err(error) => {
                println!("{subject}: skipped: {error}");
                return None;
            }
        };
        let cycles = CoreCycles::new();
        if cycles.is_none() {
            println!("{subject}: core cycles skipped: the yardstick gives nothing");
        }
        Some(Driver {
            subject,
            rate: ticks.0,
            ticks: Timer::new(ticks),
            cycles: cycles.map(Timer::new),
            _pinned: pinned,
        })
    }

    /// The rate of the time-stamp counter.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Benchmarks `stretch`, which runs the given number of operations and returns the ticks that they took.
    /// `work` is the work of an operation, if the benchmark is about speed.
    pub fn time(
        &mut self,
        name: &str,
        work: Option<Throughput>,
        stretch: &mut dyn FnMut(u64) -> u64,
    ) -> Timed {
        let ticks = self.ticks.time(self.subject, name, work.clone(), stretch);
        let cycles =
            self.cycles.as_mut().and_then(|timer| timer.time(self.subject, name, work, stretch));
        Timed { ticks, cycles }
    }

    /// Prints a line with the name of this subject.
    pub fn say(&self, text: &str) {
        println!("{}: {text}", self.subject);
    }
}

impl<C: Clock + 'static> Timer<C> {
    fn new(clock: C) -> Self {
        Timer {
            clock,
            criterion: Criterion::default()
                .with_measurement(clock)
                .without_plots()
                .sample_size(SAMPLES)
                .warm_up_time(WARM_UP)
                .measurement_time(MEASUREMENT)
                .nresamples(RESAMPLES)
                .configure_from_args(),
        }
    }

    /// Runs one benchmark, and returns the median of its samples.
    fn time(
        &mut self,
        subject: &str,
        name: &str,
        work: Option<Throughput>,
        stretch: &mut dyn FnMut(u64) -> u64,
    ) -> Option<f64> {
        // A separate group per benchmark, because the throughput of a group cannot be removed.
        let mut group = self.criterion.benchmark_group(subject);
        if let Some(work) = work {
            group.throughput(work);
        }
        let mut seen: Vec<f64> = Vec::with_capacity(128);
        group.bench_function(BenchmarkId::new(name, C::NAME), |bencher| {
            bencher.iter_custom(|operations| {
                let value = self.clock.time(|| stretch(operations));
                seen.push(value / operations as f64);
                value
            });
        });
        group.finish();
        // The samples are the last calls, after the warm-up; a test run has none.
        let warm_up = seen.len().checked_sub(SAMPLES).filter(|&calls| calls > 0)?;
        let samples = &mut seen[warm_up..];
        samples.sort_unstable_by(f64::total_cmp);
        median(samples)
    }
}

/// The ticks that `operations` operations take.
pub fn ticks<K: Kernel + ?Sized>(kernel: &mut K, operations: u64) -> u64 {
    let began = start();
    black_box(kernel.run(black_box(operations)));
    stop() - began
}

/// The ticks of `times` calls of `what`.
#[inline(always)]
pub fn around<R>(times: u64, mut what: impl FnMut() -> R) -> u64 {
    let began = start();
    for _ in 0..times {
        black_box(what());
    }
    stop() - began
}

/// Whether each bench runs once, untimed: as Criterion decides, where cargo does not say `--bench`, as in `cargo
/// test`, or the user says `--test`.
pub fn is_test() -> bool {
    let has = |wanted: &str| std::env::args().any(|argument| argument == wanted);
    has("--test") || !has("--bench")
}

/// Whether the command line includes this subject. Criterion's own filter decides; this check saves the setup
/// of subjects that will not run.
fn asked_for(subject: &str) -> bool {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let named = |subject: &str| {
        let mut subjects = arguments.iter().map(|argument| argument.split('/').next());
        subjects.any(|named| named == Some(subject))
    };
    named(subject) || !SUBJECTS.iter().any(|(other, _)| named(other))
}

/// Pins the thread to the last CPU that it may use, because the first CPUs serve more interrupts.
fn pin() -> Option<Pinned> {
    let cpu = *os::allowed().last()?;
    os::pin(cpu).inspect_err(|error| println!("not pinned: {error}")).ok()
}
