//! The overhead of timing: the start/stop pair, the yardstick, a look at preemption, a sample.

mod common {
    pub mod clock;
    pub mod driver;
}

use std::hint::black_box;

use common::driver::{Driver, Timed};
use linefill::kernel::{Access, Kernel, Work};
use linefill::measure::{Buffers, Plan, Sample, Unwatched, steady};
use linefill::os::Switches;
use linefill::time::{start, stop, yardstick};

fn main() {
    let Some(mut driver) = Driver::new("overhead") else {
        return;
    };
    let own = driver.time("what a pair of start and stop reads", None, &mut |pairs| {
        (0..pairs).map(|_| empty()).sum()
    });
    let pair = driver.time("a pair of start and stop", None, &mut |pairs| {
        around(pairs, || {
            black_box(empty());
        })
    });
    driver.time("yardstick", None, &mut |readings| {
        around(readings, || {
            black_box(yardstick::ticks());
        })
    });
    driver.time("a look at context switches", None, &mut |looks| {
        around(looks, || {
            black_box(Switches::now());
        })
    });
    driver.time("a steady sample of nothing", None, &mut sample_nothing);

    report(&driver, "an empty start/stop pair reads", own);
    report(&driver, "a start/stop pair takes", pair);
}

fn report(driver: &Driver, what: &str, timed: Timed) {
    let Some(ticks) = timed.ticks else { return };
    let cycles = timed
        .cycles
        .map_or(String::new(), |cycles| format!(", {cycles:.1} core cycles"));
    let nanos = driver.rate().nanos(ticks);
    driver.say(&format!("{what} {ticks:.1} ticks{cycles}, {nanos:.1} ns"));
}

/// What the pair reads with nothing in between.
#[inline(always)]
fn empty() -> u64 {
    let began = start();
    stop() - began
}

/// Ticks of `times` calls of `what`.
#[inline(always)]
fn around(times: u64, mut what: impl FnMut()) -> u64 {
    let began = start();
    for _ in 0..times {
        what();
    }
    stop() - began
}

/// Samples that one measurement keeps here; the lab's points keep a few hundred at most.
const ROOM: usize = 64;

/// Measures a kernel that does nothing until `samples` samples were taken.
fn sample_nothing(samples: u64) -> u64 {
    let mut kept = [Sample::default(); ROOM];
    let mut scratch = [0.0; ROOM];
    let plan = Plan {
        warm_up: 0,
        warm_up_ticks: 0,
        // Met by the first operation, so that nobody looks for a longer stretch of nothing.
        sample_ticks: 0,
        least: 15,
        // Never met: the buffer ends the measurement.
        precision: 0.0,
        budget_ticks: u64::MAX,
        stop: None,
    };
    let mut left = samples;
    let began = start();
    while left > 0 {
        let now = left.min(ROOM as u64);
        let buffers = Buffers {
            samples: &mut kept[..now as usize],
            scratch: &mut scratch,
        };
        black_box(steady(&mut Nothing, &plan, &mut Unwatched, buffers));
        left -= now;
    }
    stop() - began
}

/// A kernel whose operations do nothing.
struct Nothing;

impl Kernel for Nothing {
    fn run(&mut self, operations: u64) -> u64 {
        operations
    }

    fn work(&self) -> Work {
        Work::default()
    }

    fn trace(&mut self, _: u64, _: &mut dyn FnMut(Access)) {}
}
