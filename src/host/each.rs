//! Counts events per operation, as the difference between N and 2N operations.

use alloc::vec;
use alloc::vec::Vec;
use core::hint::black_box;

use super::Lack;
use crate::kernel::Kernel;
use crate::measure::Shot;
use crate::pmu::Reading;
use crate::stats::{Interval, Summary};

/// The count of an event per operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Each {
    /// Events per operation: the 95 % confidence interval of the median.
    pub value: Interval,
    /// The fraction of the time in which the event had a counter. Below 1 the value is extrapolated.
    pub counted: f64,
}

impl Each {
    /// Returns whether the event shared its counter with other events.
    pub fn multiplexed(&self) -> bool {
        self.counted < 1.0
    }
}

/// Counters that are read around a piece of work. Implemented by the kernel's counters, and by tests.
pub trait Meter {
    /// Returns the number of events that were asked for, counted or not.
    fn events(&self) -> usize;

    /// Runs `work`, and stores the counts of that time in `into`, event by event. `into` has one reading
    /// per event. The readings of events that are not counted stay as they are.
    ///
    /// # Errors
    /// If the counters cannot be read.
    fn around(&self, work: &mut dyn FnMut(), into: &mut [Reading]) -> Result<(), Lack>;
}

/// Number of differences taken.
const TIMES: usize = 9;

/// Shots per difference.
const SHOTS: u64 = 16;

/// Counts events per operation of `kernel` in its steady state. Counts around N operations and around 2N,
/// nine times. The difference removes one-off costs, such as starting and reading the counters. The
/// result is `None` for an event that never had a counter.
///
/// # Errors
/// If the counters cannot be read.
pub fn of_kernel(
    kernel: &mut dyn Kernel,
    operations: u64,
    meter: &dyn Meter,
) -> Result<Vec<Option<Each>>, Lack> {
    let operations = operations.max(1);
    differences(meter, operations, &mut |stretches| {
        let mut run = |operations| {
            black_box(kernel.run(black_box(operations)));
        };
        meter.around(&mut || run(operations), &mut stretches.short)?;
        meter.around(&mut || run(2 * operations), &mut stretches.long)
    })
}

/// Like [`of_kernel`], for single operations that are prepared again each time, against empty stretches.
///
/// # Errors
/// If the counters cannot be read.
pub fn of_shot(shot: &mut dyn Shot, meter: &dyn Meter) -> Result<Vec<Option<Each>>, Lack> {
    let operations = SHOTS * shot.operations().max(1);
    let mut one = vec![Reading::default(); meter.events()];
    differences(meter, operations, &mut |stretches| {
        for _ in 0..SHOTS {
            shot.prepare();
            let mut shoot = || {
                black_box(shot.shoot());
            };
            meter.around(&mut shoot, &mut one)?;
            add(&mut stretches.long, &one);
            meter.around(&mut || (), &mut one)?;
            add(&mut stretches.short, &one);
        }
        Ok(())
    })
}

fn add(sums: &mut [Reading], readings: &[Reading]) {
    for (sum, reading) in sums.iter_mut().zip(readings) {
        sum.value += reading.value;
        sum.enabled += reading.enabled;
        sum.running += reading.running;
    }
}

/// The counts of the two stretches of work whose difference is taken, event by event.
struct Stretches {
    short: Vec<Reading>,
    long: Vec<Reading>,
}

/// Takes the difference of two stretches [`TIMES`] times. The longer one has `operations` more operations.
fn differences(
    meter: &dyn Meter,
    operations: u64,
    take: &mut dyn FnMut(&mut Stretches) -> Result<(), Lack>,
) -> Result<Vec<Option<Each>>, Lack> {
    let events = meter.events();
    let mut values: Vec<Vec<f64>> = vec![Vec::with_capacity(TIMES); events];
    let mut whole = vec![Reading::default(); events];
    for _ in 0..TIMES {
        let nothing = || vec![Reading::default(); events];
        let mut stretches = Stretches { short: nothing(), long: nothing() };
        take(&mut stretches)?;
        let pairs = stretches.short.iter().zip(&stretches.long);
        for (values, (short, long)) in values.iter_mut().zip(pairs) {
            if let (Some(short), Some(long)) = (short.scaled(), long.scaled()) {
                values.push((long - short) / operations as f64);
            }
        }
        add(&mut whole, &stretches.short);
        add(&mut whole, &stretches.long);
    }
    let pairs = values.iter_mut().zip(&whole);
    Ok(pairs.map(|(values, whole)| each(values, whole)).collect())
}

fn each(values: &mut [f64], whole: &Reading) -> Option<Each> {
    let interval = Summary::of(values)?.interval;
    Some(Each {
        // A count cannot be negative, but a difference of two noisy counts can.
        value: interval.most(Interval::exact(0.0)),
        counted: match whole.multiplexed() {
            true => whole.running as f64 / whole.enabled as f64,
            false => 1.0,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::rc::Rc;
    use core::cell::Cell;

    /// A kernel that counts its operations.
    struct Done(Rc<Cell<u64>>);

    impl Kernel for Done {
        fn run(&mut self, operations: u64) -> u64 {
            self.0.set(self.0.get() + operations);
            operations
        }
    }

    impl Shot for Done {
        /// Does as much as a shot, but outside the counted part.
        fn prepare(&mut self) {
            self.run(4);
        }

        fn shoot(&mut self) -> u64 {
            self.run(4)
        }

        fn operations(&self) -> u64 {
            4
        }
    }

    /// Two counters of an event that happens three times per operation. The second counter runs only part
    /// of the time.
    struct MadeUp {
        done: Rc<Cell<u64>>,
        /// Counts that a reading itself causes.
        costs: u64,
        /// The fraction of the time in which the second event had a counter.
        share: f64,
        /// Whether the counters can be read.
        works: bool,
    }

    impl Meter for MadeUp {
        fn events(&self) -> usize {
            2
        }

        fn around(&self, work: &mut dyn FnMut(), into: &mut [Reading]) -> Result<(), Lack> {
            let before = self.done.get();
            work();
            if !self.works {
                return Err(Lack::refused("no answer"));
            }
            let happened = 3 * (self.done.get() - before) + self.costs;
            into[0] = Reading { value: happened, enabled: 1000, running: 1000 };
            into[1] = Reading {
                value: (happened as f64 * self.share) as u64,
                enabled: 1000,
                running: (1000.0 * self.share) as u64,
            };
            Ok(())
        }
    }

    fn made_up(costs: u64, share: f64) -> (Done, MadeUp) {
        let done = Rc::new(Cell::new(0));
        let meter = MadeUp { done: Rc::clone(&done), costs, share, works: true };
        (Done(done), meter)
    }

    const THREE: Interval = Interval { lo: 3.0, hi: 3.0 };

    #[test]
    fn what_the_counters_cost_leaves_with_the_difference() {
        for costs in [0, 700, 1_000_000] {
            let (mut done, meter) = made_up(costs, 1.0);
            let counts = of_kernel(&mut done, 100, &meter).unwrap();
            for count in counts {
                let count = count.unwrap();
                assert_eq!(count.value, THREE);
                assert!(!count.multiplexed());
            }
            let counts = of_shot(&mut done, &meter).unwrap();
            assert_eq!(counts[0].unwrap().value, THREE, "prepared uncounted");
        }
    }

    #[test]
    fn an_event_that_takes_turns_is_extrapolated_and_marked() {
        let (mut done, meter) = made_up(200, 0.25);
        let counts = of_kernel(&mut done, 1000, &meter).unwrap();
        let [Some(whole), Some(part)] = counts[..] else {
            panic!("both were counted: {counts:?}");
        };
        assert!(!whole.multiplexed() && part.multiplexed());
        assert_eq!((part.value, part.counted), (THREE, 0.25));
        let (mut done, meter) = made_up(200, 0.0);
        let counts = of_kernel(&mut done, 1000, &meter).unwrap();
        assert_eq!(counts[1], None, "it never had a counter");
    }

    #[test]
    fn counters_that_cannot_be_read_are_an_error() {
        let (mut done, meter) = made_up(0, 1.0);
        let silent = MadeUp { works: false, ..meter };
        assert!(of_kernel(&mut done, 1, &silent).is_err());
        assert!(of_shot(&mut done, &silent).is_err());
    }

    #[test]
    fn nothing_is_counted_less_than_never() {
        // The longer stretch counts less than the shorter one.
        let noise = Reading { value: 9, enabled: 1, running: 1 };
        let values = &mut [-0.5, -0.25, 0.125];
        let count = each(values, &noise).unwrap();
        assert_eq!(count.value, Interval::new(0.0, 0.125));
    }
}
