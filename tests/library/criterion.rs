//! Measurements for Criterion: what they count, and how they print it.
#![cfg(feature = "criterion")]

use crate::common::folder::Folder;
use crate::common::software::{FRESH, refused, touch};
use crate::common::untested;
use criterion::measurement::Measurement;
use criterion::{Criterion, Throughput};
use linefill::criterion::{Clock, CoreCycles, Counter, CounterError, Ticks};
use linefill::os::perf::probe;
use linefill::time::Rate;

/// The measurement in core cycles, unless this machine gives none.
#[track_caller]
fn core_cycles() -> Option<CoreCycles> {
    let cycles = CoreCycles::new();
    if cycles.is_none() {
        untested::machine("the clock of the core cannot be measured");
    }
    cycles
}

/// The counter of page faults, unless the kernel refuses to count.
#[track_caller]
fn page_faults() -> Option<Counter> {
    (!refused()).then(|| Counter::open("page-faults").unwrap())
}

#[test]
fn a_counter_measures_its_event() {
    let Some(faults) = page_faults() else { return };
    let began = faults.start();
    touch();
    let counted = faults.end(began);
    assert!(counted >= FRESH as f64, "{counted}");
    assert_eq!(faults.add(&faults.zero(), &counted), counted);
    assert_eq!(faults.to_f64(&counted), counted);
}

#[test]
fn a_counter_that_cannot_be_says_why() {
    let Err(CounterError::Unknown(unknown)) = Counter::open("page-fault") else {
        panic!("there is no such event");
    };
    assert_eq!(unknown.near[0], "page-faults");
    match (probe(), Counter::open("instructions")) {
        (Ok(()), counter) => assert!(counter.is_ok()),
        (Err(refusal), counter) => {
            let error = counter.unwrap_err();
            assert_eq!(error, CounterError::Refused(refusal.clone()));
            let text = error.to_string();
            assert!(text.contains(refusal.mend()), "{text}");
        }
    }
}

/// The throughput that a measurement computes from 200 of its units for `work`, and its unit.
fn throughput<M: Measurement>(measurement: &M, work: &Throughput) -> (f64, &'static str) {
    let mut values = [200.0];
    let formatter = measurement.formatter();
    let unit = formatter.scale_throughputs(0.0, work, &mut values);
    (values[0], unit)
}

#[test]
fn throughputs_are_in_units_of_what_was_measured() {
    let bytes = Throughput::Bytes(600);
    // At 2 GHz 200 ticks are 100 ns.
    let ticks = Ticks(Rate::from_hz(2e9));
    assert_eq!(throughput(&ticks, &bytes), (6.0, "GB/s"));
    assert_eq!(throughput(&ticks, &Throughput::Elements(50)), (0.5, "Gelem/s"));
    assert_eq!(throughput(&ticks, &Throughput::Bits(100)), (1.0, "Gb/s"));
    if let Some(cycles) = core_cycles() {
        assert_eq!(throughput(&cycles, &bytes), (3.0, "B/cycle"));
    }
    if let Some(counter) = page_faults() {
        assert_eq!(throughput(&counter, &bytes), (3.0, "B/event"));
        assert_eq!(counter.formatter().scale_for_machines(&mut []), "events");
        assert_eq!(counter.formatter().scale_values(0.0, &mut []), "events");
    }
}

#[test]
fn clocks_convert_the_ticks_that_a_stretch_counts() {
    let ticks = Ticks::calibrated().unwrap();
    assert!(ticks.0.hz() > 1e8, "{:?}", ticks.0);
    assert_eq!(ticks.time(|| 700), 700.0);
    let began = ticks.start();
    assert!(ticks.end(began) > 0.0);
    if let Some(cycles) = core_cycles() {
        assert!(cycles.time(|| 700) > 0.0);
    }
}

#[test]
fn criterion_takes_each_of_them() {
    let folder = Folder::new("criterion");
    let out = folder.at("");
    fn run<M: Measurement + 'static>(measurement: M, folder: &std::path::Path) {
        let criterion = Criterion::default().with_measurement(measurement);
        let criterion = criterion.without_plots().sample_size(10);
        let mut criterion = criterion
            .warm_up_time(std::time::Duration::from_millis(1))
            .measurement_time(std::time::Duration::from_millis(2))
            .nresamples(10)
            .output_directory(folder);
        let mut calls = 0;
        criterion.bench_function("calls", |bencher| {
            bencher.iter(|| {
                calls += 1;
                touch();
            });
        });
        assert!(calls > 0);
    }
    run(Ticks::calibrated().unwrap(), &out);
    if let Some(cycles) = core_cycles() {
        run(cycles, &out);
    }
    if let Some(counter) = page_faults() {
        run(counter, &out);
    }
}
