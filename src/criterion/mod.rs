//! What Criterion can measure besides seconds: ticks, core cycles, and events.
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
//! Criterion 0.8 is covered. A `Measurement` is a trait of one Criterion, so each release of this crate
//! names the one it is for: it follows a new 0.x or major of Criterion in a minor version of its own (a
//! patch cannot change it), and does not keep the ones before.
//!
//! A Criterion has one measurement: make one for each. Criterion's samples are not the difference
//! of N and 2N, but it fits a line through samples of many lengths, which does the same.

// Paths begin with the crate's name, because the benches include these files as they are: so they
// need no feature of the crate but `std`.
mod clock;
mod core_cycles;
mod counter;
mod ticks;

pub use clock::Clock;
pub use core_cycles::CoreCycles;
pub use counter::{Counter, CounterError};
pub use ticks::Ticks;
