//! Drepper 6.2.3: the share of the last level that a program may count on, and work in blocks of
//! that size.

use crate::cpu::{Cache, Caches};
use crate::experiment::claim::verdict::{told_by_hardware, unless_strangers};
use crate::experiment::machine::predict::{Flow, moved};
use crate::experiment::prelude::*;
use crate::experiment::shared::count::CountSetup;
use crate::experiment::shared::lines::LoadSetup;
use crate::host::Told;
use crate::kernel::Blocked;
use crate::order;

pub(crate) static ALL: &[Experiment] = &[LLC_SHARE];

const SYSFS: &str = "share by sysfs, bytes";
const CPUID: &str = "share by CPUID, bytes";
const BLOCKS: &str = "in blocks, each read three times";
const WHOLE: &str = "the whole array each time";

/// How often a block is read.
const TIMES: u32 = 3;

/// The smallest last level of the paper's figures, that of the Pentium 4.
const SMALLEST: f64 = (1 << 20) as f64;

/// The most bytes that an array takes for the sake of its blocks.
const AFFORDABLE: usize = 512 << 20;

/// Returns the last level that CPUID reports beyond L1, if there is one.
fn last_level(machine: &Machine) -> Testable<&Cache> {
    let beyond = machine.caches.iter().filter(|cache| cache.level > 1);
    beyond.max_by_key(|cache| cache.level).ok_or_else(no_share)
}

/// Returns the bytes of the last level that one hardware thread may count on, as CPUID reports
/// them, in whole lines.
fn share(machine: &Machine) -> Testable<usize> {
    let last = last_level(machine)?;
    let bytes = last.share().unwrap_or(last.size) as usize / LINE * LINE;
    if bytes == 0 { Err(no_share()) } else { Ok(bytes) }
}

/// Returns the bytes of the last level that one hardware thread finds: its share if the other threads
/// use theirs, the whole level if they are idle.
pub(crate) fn share_to_whole(machine: &Machine) -> Testable<[f64; 2]> {
    Ok([share(machine)? as f64, last_level(machine)?.size as f64])
}

/// Returns the bytes of the array. The array lies in memory and has several blocks.
fn array(machine: &Machine) -> usize {
    let largest = AFFORDABLE.min(1 << machine.largest.max(1).ilog2());
    let blocks = 4 * share(machine).unwrap_or(0);
    blocks.next_power_of_two().min(largest).max(machine.in_memory())
}

/// Returns the bytes of the largest block, so that the array has two of them.
fn largest_block(machine: &Machine) -> usize {
    array(machine) / 2
}

/// Returns the sizes of a block: half of L1d, half of L2, the share, and a quarter, half and twice
/// the share; in a full run also the working sets from 16 KiB on.
fn blocks(machine: &Machine) -> Vec<usize> {
    let ranges = &machine.ranges;
    let mut sizes = vec![ranges.l1.hi as usize, ranges.l2.hi as usize];
    if let Ok(share) = share(machine) {
        sizes.extend([share / 4, share / 2, share, 2 * share]);
    }
    if machine.full {
        sizes.extend(machine.working_sets().into_iter().filter(|&size| size >= 16 << 10));
    }
    let most = largest_block(machine);
    let fitting = sizes.into_iter().filter(|size| (LINE..=most).contains(size));
    order::distinct(fitting.map(|size| size / LINE * LINE))
}

const LLC_SHARE: Experiment = Experiment {
    id: "E25",
    name: "drepper-llc-share",
    title: "A hardware thread's share of the last level, and blocks of that size",
    question: "How much of the last-level cache can a program count on, and is work in blocks of \
               that size the fastest?",
    source: "Drepper 6.2.3: the size of the highest level in sysfs, divided by the number of bits \
             in shared_cpu_map. The paper times no program. The claims use blocks of half the \
             share, because the paper leaves room for code and other data",
    about: "The share is computed from sysfs and from CPUID. The test then reads an array in \
            blocks with 16-byte loads: each block three times before the next block. The chart \
            shows the read rate over the block size, and the rate of reading the whole array each \
            time. A block that fits a cache comes from memory only once. On servers, the share is \
            often a small slice of a last level that many cores share, and the space that one core \
            finds there depends on the work of the other cores. A virtual machine learns from its \
            host who shares the cache. If the last level is far from the core, blocks that fit L2 \
            are faster than larger ones.",
    plot: Some(Plot::lines(
        Axis::bytes("block size"),
        Axis::log("read rate"),
        Unit::GigabytesPerSecond,
    )),
    cases: |machine| {
        let mut cases = vec![
            CountSetup::told(SYSFS, Told::LastLevelShare).at(0.0),
            CountSetup::computed(CPUID, 0, by_cpuid).at(0.0),
        ];
        let array = array(machine);
        let blocks = blocks(machine).into_iter();
        cases.extend(
            blocks.map(|block| Case::new(BLOCKS, block as f64, BlockedSetup { array, block })),
        );
        let whole = LoadSetup { bytes: array, width: 16, non_temporal: false };
        cases.push(Case::new(WHOLE, array as f64, whole));
        cases
    },
    curves: |e| e.curves_of(|label| [BLOCKS, WHOLE].contains(&label)),
    events: events::WALK,
    claims: &[
        // CPUID gives an upper bound of the threads that share the cache, on Intel a power of two. sysfs
        // counts the threads that are there.
        reported(
            "E25.1",
            ours("CPUID is a second source of this number; the document uses only sysfs"),
            "CPUID's share of the last level per hardware thread is at most that of sysfs: CPUID \
             gives an upper bound of the threads that share it",
            |e| {
                let agreement = ratio(e.at(CPUID, 0.0), e.at(SYSFS, 0.0))?;
                told_by_hardware(e)?;
                between("by CPUID over by sysfs", agreement, 0.0, 1.0)
            },
        )
        .failing(
            "CPUID and sysfs contradict each other: the size of the last level differs, or more \
             threads share it by sysfs than CPUID allows.",
        ),
        // The size of the last level over the bits of shared_cpu_map is a safe lower limit.
        measured(
            "E25.2",
            drepper("6.2.3"),
            "the share of the last level that sysfs gives is a safe lower limit: a random walk \
             finds at least as much",
            |e| {
                let share = e.at(SYSFS, 0.0)?;
                e.no_chance(share.middle())?;
                let found = capacity_found(e.machine)?;
                unless_strangers(e, at_least("capacity found over share", ratio(found, share), 1.0))
            },
        ),
        // Sizes differ by factors of eight and more, so that assuming the smallest throws away 87
        // % of the cache or more.
        reported(
            "E25.3",
            drepper("6.2.3"),
            "a program made for a last level of 1 MiB leaves 87 % or more of this machine's last \
             level unused",
            |e| {
                let threads = last_level(e.machine)?.shared_by.unwrap_or(1).max(1);
                let size = e.at(CPUID, 0.0)?.scaled(f64::from(threads));
                told_by_hardware(e)?;
                let used = ratio(Interval::exact(SMALLEST), size)?;
                let [lo, hi] = [used.hi, used.lo].map(|used| 100.0 * (1.0 - used).max(0.0));
                at_least("percent unused", Interval::new(lo, hi), 87.0)
            },
        )
        .then(87.0, "")
        .failing("The last level is less than eight times as large as that of the Pentium 4."),
        // Match the working set to the cache: a job that is too large is done in smaller pieces.
        measured(
            "E25.4",
            drepper("6.2.3"),
            "blocks of half this hardware thread's share of the last level are read more than \
             1.25 times as fast as the whole array",
            |e| {
                let array = e.machine.place_in_memory(array(e.machine))?;
                let faster = ratio(half_the_share(e), e.at(WHOLE, array))?;
                unless_strangers(e, at_least("half the share over the whole array", faster, 1.25))
            },
        ),
        measured(
            "E25.5",
            ours(
                "the document says that the share may be too low a limit if other threads do not \
                 use theirs; this shows whether it is, beside idle threads",
            ),
            "blocks of twice this hardware thread's share of the last level are read at least \
             10 % more slowly than blocks of half the share",
            |e| {
                let twice = 2 * share(e.machine)?;
                let most = largest_block(e.machine);
                if twice > most {
                    let [twice, most] = [twice, most].map(|bytes| bytes >> 20);
                    return Err(Untestable(format!(
                        "twice the share is {twice} MiB, and a block of this test takes at most \
                         {most} MiB"
                    )));
                }
                e.no_chance(twice as f64)?;
                let twice = e.at(BLOCKS, twice as f64)?;
                let speed = ratio(half_the_share(e), twice)?;
                at_least("half the share over twice the share", speed, LONGER)
            },
        )
        .holding("Keep blocks within the share: a thread that takes more of the level loses speed.")
        .failing(
            "A thread can use more than its share of the level without losing speed, at least \
             while the other threads leave theirs.",
        ),
        measured(
            "E25.6",
            ours(
                "if smaller blocks are faster, work should fit a nearer cache than the last level",
            ),
            "no block smaller than half this hardware thread's share of the last level is more \
             than 10 % faster than blocks of half the share",
            |e| {
                let half = half(e.machine)?;
                let smaller = e.series(BLOCKS)?.into_iter().filter(|(x, _)| *x < half);
                let fastest = smaller
                    .map(|(_, speed)| speed.widened(0.01))
                    .reduce(Interval::most)
                    .ok_or_else(|| Untestable("no smaller blocks were read".to_owned()))?;
                let speed = ratio(half_the_share(e), fastest)?;
                unless_strangers(e, at_least("half the share over the fastest", speed, 0.9))
            },
        )
        .failing("Cut the work to the nearest cache that it can fit."),
    ],
    ..Experiment::PLAIN
};

/// Returns the bytes of half the share. The other half is left to code and other data of the job.
fn half(machine: &Machine) -> Testable<f64> {
    Ok((share(machine)? / 2 / LINE * LINE) as f64)
}

/// Returns the speed at which blocks of half the share are read.
///
/// # Errors
/// If such blocks lie in L2, or in the last level by chance: their speed says nothing about the last level.
fn half_the_share(e: &Evidence<'_>) -> Testable<Reading> {
    let half = half(e.machine)?;
    let range = e.machine.ranges.llc;
    if last_level(e.machine).is_ok_and(|last| last.level > 2) && half < range.lo {
        return Err(Untestable(format!(
            "half the share is {:.0} KiB, and only blocks of more than {:.0} KiB, twice L2, lie in \
             the last level",
            half / 1024.0,
            range.lo / 1024.0
        )));
    }
    e.no_chance(half)?;
    e.at(BLOCKS, half)
}

fn no_share() -> Untestable {
    Untestable("CPUID describes no cache beyond L1d".to_owned())
}

/// Returns the last level of which CPUID or the ladder gives the capacity.
pub(crate) fn last_known(machine: &Machine) -> Option<&Capacity> {
    let mut levels = machine.ranges.capacities.iter().rev();
    levels.find(|at| at.reported.is_some() || at.measured.is_some())
}

/// Returns the capacity of the last level that the ladder found, good to a factor of 1.5.
fn capacity_found(machine: &Machine) -> Testable<Interval> {
    let found = last_known(machine).and_then(|at| at.measured);
    let found = found.ok_or_else(|| {
        Untestable::because("the ladder of working sets shows no step beyond the last-level cache")
    })?;
    Ok(Interval::new(found / 1.5, found * 1.5))
}

fn by_cpuid(_: u64) -> Testable<f64> {
    let caches = Caches::detect();
    let last =
        caches.last_level().ok_or_else(|| Untestable::because("CPUID describes no caches"))?;
    last.share().map(|share| share as f64).ok_or_else(|| {
        Untestable::because("CPUID does not report how many threads share the last level")
    })
}

/// An array of `array` bytes, whose blocks of `block` bytes are each read three times. An operation is a
/// block.
#[derive(Clone, Copy, Debug)]
struct BlockedSetup {
    array: usize,
    block: usize,
}

impl Setup for BlockedSetup {
    fn bytes(&self) -> usize {
        self.array
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Testable<Workload<'m>> {
        let blocked = Blocked::new(region, self.block / LINE, TIMES)?;
        let period = blocked.pass();
        Ok(Workload::steady(blocked, period))
    }

    /// Predicts the time of a block. The four loads of a line are added to one sum, in one cycle each.
    fn predict(&self, parameters: &Parameters<'_>) -> Option<Forecast> {
        let lines = self.block / LINE;
        let reading = |bytes| {
            let flow = Flow { loaded: LINE, width: Some(16), ..Flow::default() };
            Some(moved(parameters, bytes, flow, &MODEL)?.at_least(4.0))
        };
        let first = reading(self.array)?;
        let again = f64::from(TIMES - 1);
        let each = first.cycles + again * reading(self.block)?.cycles;
        Some(MODEL.forecast(lines as f64 * each))
    }
}

static MODEL: Model = Model {
    name: "a block's first reading at the array's rate, the others at its own",
    basis: Basis::Published,
    bar: 0.25,
    leaves_out: "lines of the block that other cores evict from the last level, and prefetchers \
                 that start anew with each reading",
};
