//! The timed walk: a random ring of one line per element, over several working sets.

use core::f64::consts::SQRT_2;
use core::iter::successors;

use linefill::kernel::{Kernel, Step, Walk, Work};
use linefill::measure::{Buffers, NoMonitor, Outcome, Plan, Sample, steady};
use linefill::mem::{LINE, Region};
use linefill::pattern::{Layout, Order, Ring};
use linefill::stats::median;
use linefill::time::yardstick;

use crate::counters::{COUNTED, Count, Programmed};

/// The smallest working set.
pub const SMALLEST: usize = 4 << 10;

/// Seconds per working set, without the warm-up, if the samples do not agree earlier.
const BUDGET: f64 = 0.12;

/// The maximum number of samples per point.
const SAMPLES: usize = 101;

/// An element is a line: a pointer and seven words of padding.
const LAYOUT: Layout = Layout::npad(7);

/// The working sets in bytes, in half octaves up to `largest`: the sizes of the lab's ladder.
pub fn working_sets(largest: usize) -> impl Iterator<Item = usize> {
    let between = |power: usize| (power as f64 * SQRT_2) as usize / LINE * LINE;
    successors(Some(SMALLEST), |power| power.checked_mul(2))
        .flat_map(move |power| [power, between(power)])
        .take_while(move |&bytes| bytes <= largest)
}

/// The result of a walk over one working set.
pub struct Walked<'a> {
    /// Elements of the ring.
    pub elements: usize,
    /// Elements that one lap of the kernel visited, each once, until it returned to the start.
    pub visited: usize,
    /// The work of a step.
    pub work: Work,
    /// The measurement.
    pub outcome: Outcome,
    /// The samples of the measurement.
    pub samples: &'a [Sample],
    /// The counts per step.
    pub counts: [Option<Count>; COUNTED.len()],
}

/// Buffers for samples.
pub struct Store {
    samples: [Sample; SAMPLES],
    scratch: [f64; SAMPLES],
}

impl Store {
    /// An empty store.
    pub fn new() -> Self {
        Self { samples: [Sample::default(); SAMPLES], scratch: [0.0; SAMPLES] }
    }
}

/// Builds a ring over `bytes` of `region`, checks one lap of the kernel, times the walk, and counts events if
/// there are counters. `hz` is the rate of the time-stamp counter. `None` if the region is too small.
pub fn walk<'a>(
    region: Region<'_>,
    bytes: usize,
    seed: u64,
    hz: f64,
    store: &'a mut Store,
    counters: Option<&mut Programmed<'_>>,
) -> Option<Walked<'a>> {
    let elements = LAYOUT.count(bytes);
    let ring = Ring::new(region, LAYOUT, elements, Order::Random { seed }).ok()?;
    let mut walk = Walk::new(ring, Step::Follow).ok()?;
    let visited = lap(&mut walk, elements);
    let plan = Plan::of_seconds(hz, BUDGET).warm_up(elements as u64);
    let buffers = Buffers { samples: &mut store.samples, scratch: &mut store.scratch };
    let outcome = steady(&mut walk, &plan, &mut NoMonitor, buffers)?;
    // Whole laps, so that every measurement visits the same lines.
    let steps = outcome.operations.next_multiple_of(elements as u64);
    let counts = counters.map_or([None; COUNTED.len()], |counters| {
        counters.count(steps, |steps| _ = walk.run(steps))
    });
    Some(Walked {
        elements,
        visited,
        work: walk.work(),
        samples: &store.samples[..outcome.taken],
        outcome,
        counts,
    })
}

/// Core cycles per tick at this moment: the median of several yardstick readings. `None` if no clock has this
/// ratio: an emulator that was stopped meanwhile gives any number.
pub fn core_per_tick() -> Option<f64> {
    let mut ticks = [0.0; 15];
    ticks.fill_with(|| yardstick::ticks() as f64);
    ticks.sort_unstable_by(f64::total_cmp);
    let ticks = median(&ticks).filter(|&ticks| ticks > 0.0)?;
    let ratio = yardstick::CYCLES as f64 / ticks;
    yardstick::RATIOS.contains(&ratio).then_some(ratio)
}

/// The number of single steps until the walk first returns to its start, or 0 if it does not return within
/// `elements` steps. No element can occur twice on the way: the walk only follows pointers, so it would then
/// never return.
fn lap(walk: &mut Walk<'_>, elements: usize) -> usize {
    let begin = walk.run(0);
    (1..=elements).find(|_| walk.run(1) == begin).unwrap_or(0)
}
