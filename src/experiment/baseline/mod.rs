//! The points that every run measures before any experiment: the [ladder], and the cases of the
//! [calibration](crate::experiment::Calibration).

pub mod ladder;

use crate::experiment::baseline::ladder::laps;
use crate::experiment::machine::calibration::{FLOAT_ADDITION, ORDERS, PAGES, ROUND_TRIP};
use crate::experiment::shared::arithmetic::{AdditionSetup, OrdersSetup};
use crate::experiment::shared::bandwidth::{BandwidthSetup, Mover};
use crate::experiment::shared::walk::WalkSetup;
use crate::experiment::shared::words::RoundTripSetup;
use crate::experiment::{Case, Left, Machine, Stream};
use crate::kernel::{BLOCK, RoundTripWay};
use crate::mem::LINE;
use crate::pattern::{Layout, Order, Orders};
use crate::prelude::*;
use core::iter::successors;

/// A number of pages that exceeds every first-level TLB and fits every second-level TLB, with lines that
/// fit L1d.
const A_FEW_PAGES: usize = 256;

/// Bytes per access of a stream: the widest access that nearly every CPU has.
const WIDTH: usize = 32;

/// Bytes through which a lap of a random walk takes a few tenths of a second.
const SHORT_LAP: usize = 256 << 20;

/// Returns the calibration's cases for a machine whose ladder is known.
pub fn calibrating(machine: &Machine) -> Vec<Case> {
    let ranges = &machine.ranges;
    let mut cases = Vec::new();
    let memory = machine.in_memory();
    // A stream keeps more of a shared cache than a walk does, so the ladder does not show how much of
    // the last level a stream can use. A measured cache ends between two bytes, and the first stream
    // must not be smaller than the range of the last level.
    let first = ranges.llc.lo.ceil() as usize;
    let octaves = successors(Some(first), |bytes| bytes.checked_mul(2));
    let l2 = Some(machine.middle_of(ranges.l2)).filter(|&bytes| ranges.l2.holds(bytes as f64));
    let sizes: Vec<usize> =
        l2.into_iter().chain(octaves.take_while(|&bytes| bytes < memory)).chain([memory]).collect();
    for stream in Stream::ALL {
        for &bytes in &sizes {
            // Stores past the caches go to memory from any working set.
            if stream == Stream::NonTemporal && bytes != memory {
                continue;
            }
            let whole = bytes.next_multiple_of(BLOCK);
            let setup = BandwidthSetup::new(whole, stream.motion(), Mover::Vectors(WIDTH));
            cases.push(Case::new(stream.series(), bytes as f64, setup));
        }
    }
    // Laps are useful only for working sets that may lie in the last level, and a lap through more than
    // `SHORT_LAP` takes seconds.
    let largest = memory.min(SHORT_LAP.max(4 * ranges.llc.hi as usize));
    let shared = successors(sizes.get(1).map(|first| first / 2), |bytes| bytes.checked_mul(2));
    for bytes in shared.take_while(|&bytes| bytes <= largest) {
        cases.extend(laps(bytes, machine.seed));
    }
    let pages = WalkSetup {
        count: A_FEW_PAGES,
        ..WalkSetup::follow(Layout::npad(7).one_a_page().rotating(), LINE, Order::Sequential)
    };
    cases.push(Case::new(PAGES, A_FEW_PAGES as f64, pages));
    for left in Left::ALL {
        let walk = WalkSetup::follow(Layout::npad(7), memory, left.order());
        cases.push(Case::new(left.series(), memory as f64, walk));
    }
    cases.push(Case::new(FLOAT_ADDITION, 0.0, AdditionSetup));
    for (series, arrangement) in ORDERS {
        let batch = arrangement.bytes(Orders::BATCH);
        let orders = OrdersSetup {
            batches: (ranges.l1.hi as usize / batch).max(1),
            arrangement,
            seed: machine.seed,
        };
        cases.push(Case::new(series, ranges.l1.hi, orders));
    }
    let near = machine.cpu_order.nearest();
    if let Some(Ok(cpus)) = near.map(|near| machine.cpu_order.pair(near)) {
        let trip = RoundTripSetup { way: RoundTripWay::CompareExchange, cpus: cpus.to_vec() };
        cases.push(Case::new(ROUND_TRIP, 0.0, trip));
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Ranges;
    use crate::experiment::machine::tests::unknown;

    #[test]
    fn the_first_stream_beyond_l2_lies_in_the_range_of_the_last_level() {
        // The ends of a measured L2 lie between two bytes.
        let reported = [32_768.0, 820_214.149, 33_554_432.0];
        let machine = Machine { ranges: Ranges::from_ladder(&[], reported.map(Some)), ..unknown() };
        let llc = machine.ranges.llc;
        assert!(llc.lo.fract() > 0.0, "{llc}");
        let cases = calibrating(&machine).into_iter();
        let mut beyond = cases.filter(|of| of.series == Stream::Loads.series() && of.x > 1e6);
        let first = beyond.next().expect("a stream").x;
        assert!(llc.holds(first) && first < llc.lo + 1.0, "{first}");
    }
}
