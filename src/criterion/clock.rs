//! What the two clocks have in common.

use criterion::Throughput;
use criterion::measurement::Measurement;

/// A measurement that takes any stretch of code that counts its own ticks.
pub trait Clock: Measurement<Value = f64> + Copy {
    /// The unit, as it ends the name of a benchmark.
    const NAME: &'static str;

    /// Runs `stretch`, which returns the ticks it took, and converts them.
    fn time(&self, stretch: impl FnOnce() -> u64) -> f64;
}

/// What an operation does, and its unit a nanosecond, a core cycle and an event.
pub(super) fn amount(work: &Throughput) -> (f64, [&'static str; 3]) {
    match *work {
        Throughput::Bytes(bytes) | Throughput::BytesDecimal(bytes) => {
            (bytes as f64, ["GB/s", "B/cycle", "B/event"])
        }
        Throughput::Bits(bits) => (bits as f64, ["Gb/s", "b/cycle", "b/event"]),
        Throughput::Elements(elements) | Throughput::ElementsAndBytes { elements, .. } => {
            (elements as f64, ["Gelem/s", "elem/cycle", "elem/event"])
        }
    }
}
