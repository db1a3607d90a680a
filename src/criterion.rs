//! Criterion measurements besides seconds: ticks, core cycles, and events.
//!
//! ```no_run
//! use criterion::Criterion;
//! use linefill::criterion::CoreCycles;
//!
//! let cycles = CoreCycles::new().expect("the yardstick works on this CPU");
//! let mut criterion = Criterion::default().with_measurement(cycles);
//! criterion.bench_function("a sum", |bencher| {
//!     bencher.iter(|| std::hint::black_box((0..1000_u64).sum::<u64>()));
//! });
//! ```
//!
//! Supports Criterion 0.8. The trait `Measurement` belongs to one release of Criterion, so each release
//! of this crate supports one. A new 0.x or major release of Criterion is adopted in a minor version of
//! this crate (a patch version cannot change it), which drops the previous one.
//!
//! A `Criterion` has one measurement: create one `Criterion` per measurement. Criterion's samples are
//! not differences of N and 2N operations, but it fits a line through samples of many lengths, which has
//! the same effect.

// Paths begin with the crate's name because the benches include this file as it is. It therefore needs
// no feature of the crate but `std`.
use core::fmt;

use criterion::Throughput;
use criterion::measurement::{Measurement, ValueFormatter};
use linefill::counters::{Place, UnknownName};
use linefill::os::calibrate;
use linefill::os::perf::{self, Refusal};
use linefill::pmu::Reading;
use linefill::time::{Rate, RateError, start, stop, yardstick};

/// A measurement that can time code that counts its own ticks.
pub trait Clock: Measurement<Value = f64> + Copy {
    /// The unit, which ends the name of a benchmark.
    const NAME: &'static str;

    /// Runs `stretch`, which returns the ticks it took, and converts the ticks to the unit.
    fn time(&self, stretch: impl FnOnce() -> u64) -> f64;
}

/// Divides the amount of work by each value, which `converted` converts first. Returns the units of work per
/// nanosecond, per core cycle and per event.
fn divide(
    work: &Throughput,
    values: &mut [f64],
    converted: impl Fn(f64) -> f64,
) -> [&'static str; 3] {
    let (amount, units) = match *work {
        Throughput::Bytes(bytes) | Throughput::BytesDecimal(bytes) => {
            (bytes as f64, ["GB/s", "B/cycle", "B/event"])
        }
        Throughput::Bits(bits) => (bits as f64, ["Gb/s", "b/cycle", "b/event"]),
        Throughput::Elements(elements) | Throughput::ElementsAndBytes { elements, .. } => {
            (elements as f64, ["Gelem/s", "elem/cycle", "elem/event"])
        }
    };
    for value in values {
        *value = amount / converted(*value);
    }
    units
}

/// Defines the methods of [`Measurement`] for values that are numbers to be added.
macro_rules! sums {
    () => {
        fn add(&self, a: &f64, b: &f64) -> f64 {
            a + b
        }

        fn zero(&self) -> f64 {
            0.0
        }

        fn to_f64(&self, value: &f64) -> f64 {
            *value
        }
    };
}

/// Ticks of the time-stamp counter between fences, with the rate that converts them to seconds.
#[derive(Clone, Copy, Debug)]
pub struct Ticks(pub Rate);

impl Ticks {
    /// Calibrates the counter against the kernel's raw clock, which takes a quarter of a second.
    ///
    /// # Errors
    /// If the counter does not advance beside that clock.
    pub fn calibrated() -> Result<Self, RateError> {
        calibrate().map(Ticks)
    }
}

impl Clock for Ticks {
    const NAME: &'static str = "ticks";

    fn time(&self, stretch: impl FnOnce() -> u64) -> f64 {
        stretch() as f64
    }
}

impl Measurement for Ticks {
    type Intermediate = u64;
    type Value = f64;

    fn start(&self) -> u64 {
        start()
    }

    fn end(&self, began: u64) -> f64 {
        (stop() - began) as f64
    }

    sums!();

    fn formatter(&self) -> &dyn ValueFormatter {
        self
    }
}

impl ValueFormatter for Ticks {
    fn scale_values(&self, _: f64, _: &mut [f64]) -> &'static str {
        "ticks"
    }

    fn scale_throughputs(&self, _: f64, work: &Throughput, values: &mut [f64]) -> &'static str {
        let [per_nano, ..] = divide(work, values, |ticks| self.0.nanos(ticks));
        per_nano
    }

    fn scale_for_machines(&self, _: &mut [f64]) -> &'static str {
        "ticks"
    }
}

/// Core cycles: ticks converted by the yardstick before and after. Needs no PMU.
#[derive(Clone, Copy, Debug)]
pub struct CoreCycles {
    /// Core cycles per tick at the start, for stretches for which the yardstick gave no value.
    at_first: f64,
}

/// Readings of the yardstick on each side of a stretch.
const READINGS: usize = 3;

impl CoreCycles {
    /// Returns the clock, if the yardstick works here.
    pub fn new() -> Option<Self> {
        Some(CoreCycles { at_first: core_per_tick([readings(), readings()])? })
    }

    /// Converts ticks by the readings before and after them.
    fn convert(self, ticks: u64, readings: [[u64; READINGS]; 2]) -> f64 {
        ticks as f64 * core_per_tick(readings).unwrap_or(self.at_first)
    }
}

/// Returns core cycles per tick by the median of `readings`. A reading of 0 means no value.
fn core_per_tick(mut readings: [[u64; READINGS]; 2]) -> Option<f64> {
    let readings = readings.as_flattened_mut();
    readings.sort_unstable();
    let (below, above) = (readings[READINGS - 1], readings[READINGS]);
    let median = (below + above) as f64 / 2.0;
    (below > 0).then(|| yardstick::CYCLES as f64 / median)
}

fn readings() -> [u64; READINGS] {
    [(); READINGS].map(|()| yardstick::ticks())
}

impl Clock for CoreCycles {
    const NAME: &'static str = "core cycles";

    fn time(&self, stretch: impl FnOnce() -> u64) -> f64 {
        let before = readings();
        let ticks = stretch();
        self.convert(ticks, [before, readings()])
    }
}

impl Measurement for CoreCycles {
    type Intermediate = ([u64; READINGS], u64);
    type Value = f64;

    fn start(&self) -> Self::Intermediate {
        (readings(), start())
    }

    fn end(&self, (before, began): Self::Intermediate) -> f64 {
        let ticks = stop() - began;
        self.convert(ticks, [before, readings()])
    }

    sums!();

    fn formatter(&self) -> &dyn ValueFormatter {
        self
    }
}

impl ValueFormatter for CoreCycles {
    fn scale_values(&self, _: f64, _: &mut [f64]) -> &'static str {
        "cycles"
    }

    fn scale_throughputs(&self, _: f64, work: &Throughput, values: &mut [f64]) -> &'static str {
        let [_, per_cycle, _] = divide(work, values, |cycles| cycles);
        per_cycle
    }

    fn scale_for_machines(&self, _: &mut [f64]) -> &'static str {
        "core cycles"
    }
}

/// The number of events of this thread, for any event that [`Place::named`] accepts.
///
/// Criterion does not analyse a sample without any event, and prints that.
#[derive(Debug)]
pub struct Counter {
    counter: perf::Counter,
}

/// The reason why an event is not measured.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CounterError {
    /// No event has this name here.
    Unknown(UnknownName),
    /// This machine does not count the event.
    Refused(Refusal),
}

impl fmt::Display for CounterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CounterError::Unknown(unknown) => unknown.fmt(f),
            CounterError::Refused(refusal) => write!(f, "{refusal} ({})", refusal.mend()),
        }
    }
}

impl core::error::Error for CounterError {}

impl Counter {
    /// Opens the event with this name, counted from now on.
    ///
    /// # Errors
    /// If no event has this name here, or if the machine does not count it.
    pub fn open(name: &str) -> Result<Self, CounterError> {
        let named = Place::here().named(name).map_err(CounterError::Unknown)?;
        let counter = named.event.and_then(|event| perf::Counter::open(&event));
        let counter = counter.map_err(CounterError::Refused)?;
        Ok(Counter { counter })
    }

    fn read(&self) -> Reading {
        self.counter.read().expect("a counter that is open answers")
    }
}

impl Measurement for Counter {
    type Intermediate = Reading;
    type Value = f64;

    fn start(&self) -> Reading {
        self.read()
    }

    fn end(&self, began: Reading) -> f64 {
        let reading = self.read().since(&began);
        reading.scaled().unwrap_or(0.0)
    }

    sums!();

    fn formatter(&self) -> &dyn ValueFormatter {
        &Events
    }
}

/// Formats events for Criterion.
struct Events;

impl ValueFormatter for Events {
    fn scale_values(&self, _: f64, _: &mut [f64]) -> &'static str {
        "events"
    }

    fn scale_throughputs(&self, _: f64, work: &Throughput, values: &mut [f64]) -> &'static str {
        let [.., per_event] = divide(work, values, |events| events);
        per_event
    }

    fn scale_for_machines(&self, _: &mut [f64]) -> &'static str {
        "events"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_reading_converts_and_missing_ones_do_not() {
        let cycles = yardstick::CYCLES;
        let even = [[cycles / 2; READINGS]; 2];
        assert_eq!(core_per_tick(even), Some(2.0));
        // One interrupted reading and one reading without a value do not change the median.
        let odd = [[0, cycles / 2, cycles / 2], [cycles / 2, cycles / 2, 9 * cycles]];
        assert_eq!(core_per_tick(odd), Some(2.0));
        let none = [[0; READINGS]; 2];
        assert_eq!(core_per_tick(none), None);
        assert_eq!(CoreCycles { at_first: 1.5 }.convert(100, none), 150.0);
    }
}
