//! Core cycles without performance counters.

use criterion::Throughput;
use criterion::measurement::{Measurement, ValueFormatter};
use linefill::time::{start, stop, yardstick};

use super::clock::{Clock, amount};

/// Core cycles: ticks, held against the yardstick before and after. Needs no PMU.
#[derive(Clone, Copy, Debug)]
pub struct CoreCycles {
    /// Core cycles per tick at first, for stretches beside which the yardstick gave nothing.
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

/// Core cycles per tick by the median of `readings`; a reading of 0 is none.
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
        let (amount, [_, a_cycle, _]) = amount(work);
        for value in values {
            *value = amount / *value;
        }
        a_cycle
    }

    fn scale_for_machines(&self, _: &mut [f64]) -> &'static str {
        "core cycles"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_reading_converts_and_missing_ones_do_not() {
        let cycles = yardstick::CYCLES;
        let even = [cycles / 2; 2 * READINGS];
        assert_eq!(core_per_tick(even), Some(2.0));
        // An interruption of one reading, and one that gave nothing, leave the median.
        let odd = [
            0,
            cycles / 2,
            cycles / 2,
            cycles / 2,
            cycles / 2,
            9 * cycles,
        ];
        assert_eq!(core_per_tick(odd), Some(2.0));
        assert_eq!(core_per_tick([0; 2 * READINGS]), None);
        let clock = CoreCycles { at_first: 1.5 };
        let none = [0; READINGS];
        assert_eq!(clock.convert(100, none, none), 150.0);
    }
}
