//! How to bench your own function: in core cycles, by events, and the events of a single call.
//!
//! ```sh
//! cargo bench --features criterion --bench own_function
//! ```
//!
//! In your own crate, the two dev-dependencies are `criterion`, and `linefill` with its feature `criterion`.
//! The code below then needs no change.

use std::collections::HashMap;
use std::hint::black_box;

use criterion::{Criterion, Throughput};
use linefill::counters;
use linefill::criterion::{CoreCycles, Counter, Ticks};

/// The function to measure: it counts each word.
fn count_words(text: &str) -> HashMap<&str, u32> {
    let mut counts = HashMap::new();
    for word in text.split_ascii_whitespace() {
        *counts.entry(word).or_default() += 1;
    }
    counts
}

/// The input, about 30 KiB, made once.
fn text() -> String {
    let words = ["line", "way", "set", "stride", "miss", "fill", "buffer"];
    let numbered = (0..6000).map(|i| words[i * i % 7]);
    numbered.collect::<Vec<_>>().join(" ")
}

/// The benchmark, for any measurement.
fn bench<M: criterion::measurement::Measurement + 'static>(measurement: M, unit: &str) {
    let text = text();
    let criterion = Criterion::default().with_measurement(measurement);
    let mut criterion = criterion.without_plots().configure_from_args();
    let mut group = criterion.benchmark_group("count_words");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.sample_size(20);
    group.warm_up_time(std::time::Duration::from_millis(200));
    group.measurement_time(std::time::Duration::from_millis(500));
    group.bench_function(unit, |bencher| {
        bencher.iter(|| black_box(count_words(black_box(&text))));
    });
    group.finish();
}

fn main() {
    // 1. Time, in two units that a change of the clock frequency does not affect.
    match Ticks::calibrated() {
        Ok(ticks) => bench(ticks, "ticks"),
        Err(error) => println!("ticks: {error}"),
    }
    match CoreCycles::new() {
        Some(cycles) => bench(cycles, "core cycles"),
        None => println!("core cycles: the yardstick gives nothing"),
    }
    // 2. Events by name. Prints the reason if the machine does not count one.
    for event in ["instructions", "L1-dcache-load-misses", "task-clock"] {
        match Counter::open(event) {
            Ok(counter) => bench(counter, event),
            Err(error) => println!("{event}: {error}"),
        }
    }
    // 3. The usual events in a single call, and why some are not counted.
    let text = text();
    let (counts, events) = counters::scope(|| count_words(black_box(&text)));
    println!("one call, {} words:\n{events}", counts.len());
}
