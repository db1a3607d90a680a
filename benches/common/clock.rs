//! Criterion's clocks: ticks of the time-stamp counter, and core cycles.

use criterion::Throughput;
use criterion::measurement::{Measurement, ValueFormatter};
use linefill::time::{Rate, start, stop, yardstick};

/// A measurement that takes any stretch of code that counts its own ticks.
pub trait Clock: Measurement<Value = f64> + Copy {
    /// The unit, as it ends the name of a benchmark.
    const NAME: &'static str;

    /// Runs `stretch`, which returns the ticks it took, and converts them.
    fn time(&self, stretch: impl FnOnce() -> u64) -> f64;
}

/// Ticks of the time-stamp counter, with the rate that turns them into seconds.
#[derive(Clone, Copy, Debug)]
pub struct Ticks(pub Rate);

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
        let (amount, per_nanosecond, _) = amount(work);
        for value in values {
            *value = amount / self.0.nanos(*value);
        }
        per_nanosecond
    }

    fn scale_for_machines(&self, _: &mut [f64]) -> &'static str {
        "ticks"
    }
}

/// Core cycles: ticks, held against the yardstick before and after.
#[derive(Clone, Copy, Debug)]
pub struct CoreCycles {
    /// Core cycles a tick when the bench began, for stretches beside which the yardstick gave
    /// nothing.
    at_first: f64,
}

/// Readings of the yardstick on either side of a stretch.
const READINGS: usize = 3;

impl CoreCycles {
    /// The clock, if the yardstick works here.
    pub fn new() -> Option<Self> {
        let readings = [(); 2 * READINGS].map(|()| yardstick::ticks());
        Some(CoreCycles {
            at_first: core_per_tick(readings)?,
        })
    }

    fn convert(self, ticks: u64, before: [u64; READINGS], after: [u64; READINGS]) -> f64 {
        let mut readings = [0; 2 * READINGS];
        readings[..READINGS].copy_from_slice(&before);
        readings[READINGS..].copy_from_slice(&after);
        ticks as f64 * core_per_tick(readings).unwrap_or(self.at_first)
    }
}

/// Core cycles a tick by the median of `readings`; a reading of 0 is none.
fn core_per_tick(mut readings: [u64; 2 * READINGS]) -> Option<f64> {
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
        self.convert(ticks, before, readings())
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
        self.convert(ticks, before, readings())
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

impl ValueFormatter for CoreCycles {
    fn scale_values(&self, _: f64, _: &mut [f64]) -> &'static str {
        "cycles"
    }

    fn scale_throughputs(&self, _: f64, work: &Throughput, values: &mut [f64]) -> &'static str {
        let (amount, _, per_cycle) = amount(work);
        for value in values {
            *value = amount / *value;
        }
        per_cycle
    }

    fn scale_for_machines(&self, _: &mut [f64]) -> &'static str {
        "core cycles"
    }
}

/// What an operation does, and its unit a nanosecond and a core cycle.
fn amount(work: &Throughput) -> (f64, &'static str, &'static str) {
    match *work {
        Throughput::Bytes(bytes) | Throughput::BytesDecimal(bytes) => {
            (bytes as f64, "GB/s", "B/cycle")
        }
        Throughput::Bits(bits) => (bits as f64, "Gb/s", "b/cycle"),
        Throughput::Elements(elements) | Throughput::ElementsAndBytes { elements, .. } => {
            (elements as f64, "Gelem/s", "elem/cycle")
        }
    }
}
