//! The machine on which experiments run, as far as cases and claims depend on it.

pub mod calibration;
pub mod cpu_order;
pub mod predict;
pub mod ranges;

use crate::cpu::{Cache, CacheKind, Ports, Vendor};
use crate::experiment::{
    Calibration, Counting, CpuOrder, Range, Ranges, Rung, Testable, Untestable,
};
use crate::host::MemoryNode;
use crate::mem::LINE;
use crate::prelude::*;
use crate::stats::Interval;
use crate::time::Rate;

/// The machine as a run sees it: what it reports about itself, what the run measured before its
/// experiments, and how much of it the run may use. Plain data, so that it can be read back from a
/// record.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The vendor that CPUID reports.
    pub vendor: Vendor,
    /// The caches that CPUID reports; empty in some virtual machines.
    pub caches: Vec<Cache>,
    /// Published load-to-use latency of L1d in core cycles, if the microarchitecture is known.
    pub load_to_use: Option<u32>,
    /// The bytes that the load and store ports move to and from L1d, if the microarchitecture is known.
    pub ports: Option<Ports>,
    /// The events that the machine counts.
    pub counting: Counting,
    /// The CPUs that threads may use.
    pub cpu_order: CpuOrder,
    /// The memory nodes. Empty where the system reports none.
    pub nodes: Vec<MemoryNode>,
    /// Ticks per second.
    pub rate: Rate,
    /// The seed of every random layout.
    pub seed: u64,
    /// The measured ladder: a random walk, one line per element, in ascending working sets.
    pub ladder: Vec<Rung>,
    /// Why the ladder has no rung, if none of its walks could be measured.
    pub ladder_refused: Option<Untestable>,
    /// The ranges derived from the ladder.
    pub ranges: Ranges,
    /// The other parameters of predictions.
    pub calibration: Calibration,
    /// The largest working set that experiments may use, in bytes.
    pub largest: usize,
    /// Whether to measure more points, and for longer.
    pub full: bool,
    /// Whether the hardware prefetchers were switched off during the whole run.
    pub prefetchers_off: bool,
}

impl Machine {
    /// Returns the cache of `level` that holds data, if CPUID reports it.
    pub fn data_cache(&self, level: u8) -> Option<&Cache> {
        data_cache(&self.caches, level)
    }

    /// Returns the working sets of a curve: powers of two from 4 KiB to the [memory
    /// size](Self::in_memory). In a full run, from 1 KiB, as in the paper, to the largest allowed size,
    /// with half steps.
    pub fn working_sets(&self) -> Vec<usize> {
        let (first, step, to) =
            if self.full { (20, 1, self.largest) } else { (24, 2, self.in_memory()) };
        half_octaves(first, step).take_while(|&bytes| bytes <= to).collect()
    }

    /// Returns every `step`-th of the working sets in a quick run, always with the largest: for curves
    /// whose shape needs few points, and for claims about the largest working set.
    pub fn few_working_sets(&self, step: usize) -> Vec<usize> {
        let step = if self.full { 1 } else { step };
        let mut sizes: Vec<usize> = self.working_sets().into_iter().rev().step_by(step).collect();
        sizes.reverse();
        sizes
    }

    /// Returns a working set inside the memory range, a power of two: at least four times the last-level
    /// cache, or the largest allowed if that is smaller.
    ///
    /// Four times the reported size of a cache counts too, up to 128 MiB. The usable part of a shared cache
    /// differs from run to run, but the working sets should not. It also differs between kernels. A random
    /// walk returns to its lines slowly, and loses them to other guests where a stream keeps them: of 480
    /// MiB, a walk kept 16 MiB and a stream 64 MiB.
    pub fn in_memory(&self) -> usize {
        const AFFORDABLE: f64 = (128 << 20) as f64;
        let reported = self.ranges.capacities.iter().filter_map(|at| at.reported);
        let beyond = (4.0 * reported.fold(0.0, f64::max)).min(AFFORDABLE);
        let wanted = self.ranges.memory.lo.max(beyond) as usize;
        let largest = 1 << self.largest.max(1).ilog2();
        let wanted = wanted.checked_next_power_of_two();
        wanted.map_or(largest, |wanted| wanted.min(largest))
    }

    /// Returns the x of a working set at which a claim about memory is judged.
    ///
    /// # Errors
    /// If the working set is too small to lie in memory, because no more may be allocated.
    pub fn place_in_memory(&self, bytes: usize) -> Testable<f64> {
        let memory = self.ranges.memory;
        let x = bytes as f64;
        if memory.holds(x) {
            return Ok(x);
        }
        Err(Untestable(format!(
            "the largest working set, {:.0} KiB, is not in the {memory}, that of memory",
            x / 1024.0
        )))
    }

    /// Returns the x of the [memory size](Self::in_memory), at which most claims about memory are
    /// judged.
    ///
    /// # Errors
    /// As for [`Machine::place_in_memory`].
    pub fn memory_size(&self) -> Testable<f64> {
        self.place_in_memory(self.in_memory())
    }

    /// Returns the memory node next to a CPU, if the system reports it.
    pub(crate) fn node_of(&self, cpu: usize) -> Option<usize> {
        let mut nodes = self.nodes.iter();
        Some(nodes.find(|node| node.cpus.contains(&cpu))?.id)
    }

    /// Returns the published load-to-use latency of L1d in core cycles. The reason for its absence
    /// mentions `measured`.
    ///
    /// # Errors
    /// If no latency is published for this core.
    pub(crate) fn published_latency(&self, measured: Interval) -> Testable<f64> {
        self.load_to_use.map(f64::from).ok_or_else(|| {
            Untestable(format!(
                "no published load-to-use latency for this CPU; measured {measured} core cycles"
            ))
        })
    }

    /// Returns the time of a random access in a range: the median of the ladder's rungs there.
    ///
    /// # Errors
    /// If the ladder has no rung there: the reason of its rungs if none of them could be measured.
    pub(crate) fn access_in(&self, range: Range) -> Testable<Interval> {
        let rungs = self.ladder.iter();
        let inside = rungs.filter(|rung| range.holds(rung.working_set));
        let costs: Vec<Interval> = inside.map(|rung| rung.cost).collect();
        Interval::median_of(&costs).ok_or_else(|| match &self.ladder_refused {
            Some(reason) => reason.clone(),
            None => Untestable(format!("the ladder of working sets has no point in the {range}")),
        })
    }

    /// Returns one working set for each range that contains one, from L1d to memory: few enough for a
    /// quick run of many series. A range can be empty, for example that of a last level whose available
    /// part is no larger than L2.
    pub fn one_a_range(&self) -> Vec<usize> {
        let ranges = &self.ranges;
        let caches = [ranges.l1, ranges.l2, ranges.llc].map(|range| (range, self.middle_of(range)));
        let memory = (ranges.memory, self.in_memory());
        let all = caches.into_iter().chain([memory]);
        all.filter(|(range, bytes)| range.holds(*bytes as f64)).map(|(_, bytes)| bytes).collect()
    }

    /// Returns the working sets of a curve in a full run, or [one per range](Self::one_a_range) in a
    /// quick run.
    pub fn working_sets_or_one_a_range(&self) -> Vec<usize> {
        if self.full { self.working_sets() } else { self.one_a_range() }
    }

    /// Returns the working sets in the middle of L1d and of L2, with their names.
    pub(crate) fn near(&self) -> [(&'static str, usize); 2] {
        [("L1d", self.middle_of(self.ranges.l1)), ("L2", self.middle_of(self.ranges.l2))]
    }

    /// Returns a working set in the middle of a range, in whole lines.
    pub fn middle_of(&self, range: Range) -> usize {
        let hi = range.hi.min(self.largest as f64);
        let middle = (range.lo * hi).sqrt() as usize;
        middle.checked_next_multiple_of(LINE).unwrap_or(middle)
    }
}

/// Returns the cache of `level` that holds data.
pub(crate) fn data_cache(caches: &[Cache], level: u8) -> Option<&Cache> {
    caches.iter().find(|cache| cache.level == level && cache.kind != CacheKind::Instruction)
}

/// Returns working sets of 2^(k/2) bytes for k from `first` in steps of `step`, rounded down to whole
/// lines.
pub(crate) fn half_octaves(first: u32, step: usize) -> impl Iterator<Item = usize> {
    (first..90).step_by(step).map(|k| {
        let bytes = 2f64.powf(f64::from(k) / 2.0) as usize;
        bytes / LINE * LINE
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns a machine of which nothing is known.
    pub fn unknown() -> Machine {
        Machine {
            vendor: Vendor::Other,
            caches: Vec::new(),
            load_to_use: None,
            cpu_order: CpuOrder::default(),
            nodes: Vec::new(),
            ports: None,
            counting: Counting::default(),
            rate: Rate::from_hz(2e9),
            seed: 1,
            ladder: Vec::new(),
            ladder_refused: None,
            calibration: Calibration::default(),
            ranges: Ranges::from_ladder(&[], [None; 3]),
            largest: 1 << 30,
            full: false,
            prefetchers_off: false,
        }
    }

    #[test]
    fn memory_lies_beyond_what_a_shared_cache_keeps() {
        const MIB: f64 = 1048576.0;
        let with = |reported: f64, kept: f64, largest: usize| {
            let rung =
                |mib: f64, cost: f64| Rung { working_set: mib * MIB, cost: Interval::exact(cost) };
            let half = kept / 2.0;
            let ladder = [
                rung(half / 2.0, 70.0),
                rung(half, 70.0),
                rung(kept, 170.0),
                rung(2.0 * kept, 400.0),
                rung(4.0 * kept, 400.0),
            ];
            let reported = [None, None, Some(reported * MIB)];
            let machine = Machine {
                ranges: Ranges::from_ladder(&ladder, reported),
                largest: largest << 20,
                ..unknown()
            };
            machine.in_memory() >> 20
        };
        assert_eq!(with(32.0, 8.0, 1024), 128);
        assert_eq!(with(480.0, 16.0, 2048), 128);
        assert_eq!(with(480.0, 256.0, 2048), 1024);
        assert_eq!(with(480.0, 16.0, 100), 64);
    }

    #[test]
    fn half_octaves_hold_the_powers_of_two() {
        let sizes: Vec<usize> = half_octaves(20, 1).take(5).collect();
        assert_eq!(sizes, [1024, 1408, 2048, 2880, 4096]);
        let powers: Vec<usize> = half_octaves(24, 2).take(3).collect();
        assert_eq!(powers, [4096, 8192, 16384]);
    }
}
