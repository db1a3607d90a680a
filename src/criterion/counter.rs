//! Events, by a performance counter or by the kernel.

use core::fmt;

use criterion::Throughput;
use criterion::measurement::{Measurement, ValueFormatter};
use linefill::counters::{Place, UnknownName};
use linefill::os::perf::{self, Refusal};
use linefill::pmu::Reading;

use super::clock::amount;

/// How often an event happens: any that [`Place::named`] takes, of this thread.
///
/// Criterion analyses no sample in which nothing happened, and says so.
#[derive(Debug)]
pub struct Counter {
    counter: perf::Counter,
}

/// Why an event is not measured.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CounterError {
    /// It has no such name here.
    Unknown(UnknownName),
    /// This machine does not count it.
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
    /// The event of this name, counted from now on.
    ///
    /// # Errors
    /// If the name means nothing here, or the machine does not count it.
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

    fn add(&self, a: &f64, b: &f64) -> f64 {
        a + b
    }

    fn zero(&self) -> f64 {
        0.0
    }

    fn to_f64(&self, value: &f64) -> f64 {
        *value
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        &Events
    }
}

/// Events as Criterion prints them.
struct Events;

impl ValueFormatter for Events {
    fn scale_values(&self, _: f64, _: &mut [f64]) -> &'static str {
        "events"
    }

    fn scale_throughputs(&self, _: f64, work: &Throughput, values: &mut [f64]) -> &'static str {
        let (amount, [.., an_event]) = amount(work);
        for value in values {
            *value = amount / *value;
        }
        an_event
    }

    fn scale_for_machines(&self, _: &mut [f64]) -> &'static str {
        "events"
    }
}
