//! Ticks of the time-stamp counter.

use criterion::Throughput;
use criterion::measurement::{Measurement, ValueFormatter};
use linefill::os::calibrate;
use linefill::time::{Rate, RateError, start, stop};

use super::clock::{Clock, amount};

/// Ticks of the time-stamp counter between fences, with the rate that turns them into seconds.
#[derive(Clone, Copy, Debug)]
pub struct Ticks(pub Rate);

impl Ticks {
    /// The counter, calibrated against the kernel's raw clock, which takes a quarter of a second.
    ///
    /// # Errors
    /// If the counter stands still beside that clock.
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
        self
    }
}

impl ValueFormatter for Ticks {
    fn scale_values(&self, _: f64, _: &mut [f64]) -> &'static str {
        "ticks"
    }

    fn scale_throughputs(&self, _: f64, work: &Throughput, values: &mut [f64]) -> &'static str {
        let (amount, [a_nano, ..]) = amount(work);
        for value in values {
            *value = amount / self.0.nanos(*value);
        }
        a_nano
    }

    fn scale_for_machines(&self, _: &mut [f64]) -> &'static str {
        "ticks"
    }
}
