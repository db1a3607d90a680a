use linefill::kernel::{Kernel, Step, Walk};
use linefill::measure::{Buffers, NoMonitor, Plan, Sample, steady};
use linefill::mem::Region;
use linefill::pattern::{Layout, Order, Ring};

/// What a step of a random walk through 16 KiB costs, in ticks and in core cycles.
pub fn step() -> (f64, Option<f64>) {
    // A random list of 256 lines in memory of yours: one cycle through all of them.
    let mut memory = [0u8; 256 * 64 + 64];
    let region = Region::new(&mut memory).unwrap();
    let ring = Ring::new(region, Layout::npad(7), 256, Order::Random { seed: 1 }).unwrap();

    // Walking it is safe: only `pattern` can build a ring, and it never leads outside.
    let mut walk = Walk::new(ring, Step::Follow).unwrap();
    walk.run(1_000_000);

    // Or have it timed: N against 2N steps in samples of 50,000 ticks, until the median is known to
    // 1 %, or for 25 million ticks.
    let (mut samples, mut scratch) = ([Sample::default(); 100], [0.0; 100]);
    let buffers = Buffers { samples: &mut samples, scratch: &mut scratch };
    let plan = Plan::of_ticks(50_000, 25_000_000).warm_up(256);
    let outcome = steady(&mut walk, &plan, &mut NoMonitor, buffers).expect("room for samples");
    (outcome.ticks.median, outcome.core_cycles().map(|cycles| cycles.median))
}
