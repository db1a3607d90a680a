//! The bandwidth of one core, of some cores, and of all cores at once.

use crate::experiment::claim::verdict::unless_strangers;
use crate::experiment::machine::cpu_order::sharers;
use crate::experiment::prelude::*;
use crate::experiment::shared::bandwidth::{BandwidthGroupSetup, Owner};
use crate::experiment::topics::bandwidth::Place::{self, L1, L2, Llc, Memory};
use crate::experiment::topics::bandwidth::{
    COPY, READ, WRITE, a_size_a_level, by_16_bytes, whole_blocks,
};
use crate::host::CpuLocation;
use crate::infer::saturation;
use crate::kernel::Motion;
use crate::order;

const NON_TEMPORAL: &str = "non-temporal write";

/// The kinds of series: name, motion, place, and whether a quick run measures them.
const KINDS: [(&str, Motion, Place, bool); 13] = [
    (READ, Motion::Read, L1, false),
    (WRITE, Motion::Write, L1, false),
    (COPY, Motion::Copy, L1, false),
    (READ, Motion::Read, L2, true),
    (WRITE, Motion::Write, L2, true),
    (COPY, Motion::Copy, L2, false),
    (READ, Motion::Read, Llc, true),
    (WRITE, Motion::Write, Llc, true),
    (COPY, Motion::Copy, Llc, false),
    (READ, Motion::Read, Memory, true),
    (WRITE, Motion::Write, Memory, true),
    (COPY, Motion::Copy, Memory, true),
    (NON_TEMPORAL, Motion::WriteNonTemporal, Memory, true),
];

/// The share of the highest bandwidth at which memory counts as saturated.
const SATURATED: f64 = 0.9;

fn series(what: &str, place: Place) -> String {
    format!("{what}, {}", place.name())
}

/// Numbers of threads: the powers of two below the number of cores, in a full run also one and a
/// half times each, the cores at one memory, all cores, and all hyper-threads if there are some.
fn numbers(machine: &Machine) -> Vec<usize> {
    let order = &machine.cpu_order;
    let cores = order.cores().max(1);
    let powers = (0..).map(|k| 1 << k).take_while(|&threads| threads < cores);
    let mut numbers: Vec<usize> = powers.collect();
    if machine.full {
        let halves: Vec<usize> = numbers.iter().map(|threads| threads * 3 / 2).collect();
        numbers.extend(halves.into_iter().filter(|&threads| threads < cores));
    }
    let near = cores_of(&at_one_memory(machine)).max(1);
    numbers.extend([near, cores, order.cpus().max(cores)]);
    order::distinct(numbers)
}

/// Returns the CPUs in the package and at the memory node of the first thread: they share the
/// channels of its memory.
fn at_one_memory(machine: &Machine) -> Vec<CpuLocation> {
    let mut locations = machine.cpu_order.locations().to_vec();
    let place = |location: &CpuLocation| (location.package, machine.node_of(location.cpu));
    let first = locations.first().map(place);
    locations.retain(|location| Some(place(location)) == first);
    locations
}

/// Returns the number of cores of these CPUs.
fn cores_of(locations: &[CpuLocation]) -> usize {
    order::distinct(locations.iter().map(|location| location.core)).len()
}

/// Checks that no two of the first `threads` threads share an L2.
pub(super) fn own_l2(machine: &Machine, threads: usize) -> Testable<()> {
    match sharers(machine.cpu_order.first(threads), |location| location.l2) {
        [_, 1] => Ok(()),
        [_, most] => Err(Untestable(format!("up to {most} of the {threads} threads share an L2"))),
    }
}

/// Returns the largest number of these threads that share a cache of a place.
fn most_sharers(place: Place, locations: &[CpuLocation]) -> usize {
    let [_, most] = match place {
        L1 => sharers(locations, |location| location.core),
        L2 => sharers(locations, |location| location.l2),
        Llc | Memory => sharers(locations, |location| location.last_level),
    };
    most
}

/// Returns the working set per thread in a cache, the same for every number of threads: that of
/// Figure 3.27 if the caches hold it for all cores, otherwise the smallest power of two in the
/// range.
fn in_cache(machine: &Machine, place: Place) -> Option<usize> {
    let range = place.range(machine);
    let cores = machine.cpu_order.first(machine.cpu_order.cores());
    let most = most_sharers(place, cores);
    let usual = a_size_a_level(machine).into_iter();
    let mut usual = usual.filter(|&bytes| range.holds(bytes as f64));
    let all_fit = |bytes: &usize| range.holds((most * bytes) as f64);
    let smallest = || {
        let mut powers = (0..usize::BITS - 1).map(|k| 1 << k);
        powers.find(|&bytes| range.holds(bytes as f64))
    };
    usual.find(all_fit).or_else(smallest)
}

/// Returns the bytes per thread in a place. All threads that share a cache together fit in it, or
/// exceed it if the place is memory. `None` if there is no such size.
fn bytes(machine: &Machine, place: Place, threads: usize) -> Option<usize> {
    let locations = machine.cpu_order.first(threads);
    let range = place.range(machine);
    if place != Memory {
        let bytes = in_cache(machine, place)?;
        let together = most_sharers(place, locations) * bytes;
        return range.holds(together as f64).then_some(bytes);
    }
    let [fewest, _] = sharers(locations, |location| location.last_level);
    let (one, room) = (machine.in_memory(), machine.largest / threads.max(1));
    if one <= room {
        return Some(one);
    }
    let less = 1 << room.checked_ilog2()?;
    range.holds((fewest * less) as f64).then_some(less)
}

fn case(
    machine: &Machine,
    (what, motion, place, _): (&str, Motion, Place, bool),
    threads: usize,
) -> Option<Case> {
    let of = by_16_bytes(whole_blocks(bytes(machine, place, threads)?, motion)?, motion);
    let label = series(what, place);
    if threads == 1 {
        return Some(Case::new(label, 1.0, of));
    }
    let cpus = machine.cpu_order.of(threads).ok()?;
    Some(Case::new(label, threads as f64, BandwidthGroupSetup { of, owner: Owner::Each, cpus }))
}

/// Returns the largest number of threads that have a core each, and the bandwidth per thread.
fn all_cores(e: &Evidence<'_>, label: &str) -> Testable<(f64, Reading)> {
    e.machine.cpu_order.at_least(2)?;
    let points = e.series(label)?.into_iter().rev();
    let mut numbers = points.map(|(threads, _)| threads);
    let alone = |threads: &f64| {
        let locations = e.machine.cpu_order.first(*threads as usize);
        *threads > 1.0 && sharers(locations, |location| location.core)[1] == 1
    };
    let threads = numbers.find(alone).ok_or_else(|| {
        Untestable(format!(
            "no point of `{label}` has two threads on two cores: their buffers find no room, or \
             threads take hyper-threads before cores"
        ))
    })?;
    Ok((threads, e.at(label, threads)?))
}

/// Like [`all_cores`], for the first `cores` cores and a series in memory. Fails if fewer were measured.
fn in_memory_on(e: &Evidence<'_>, label: &str, cores: usize) -> Testable<(f64, Reading)> {
    let (threads, _) = all_cores(e, label)?;
    if threads >= cores as f64 {
        return Ok((cores as f64, e.at(label, cores as f64)?));
    }
    let why = match bytes(e.machine, Memory, cores) {
        Some(_) => "no point has a thread on each of them",
        None => "the buffers of all of them need more memory (`--memory`)",
    };
    Err(Untestable(format!("`{label}` was timed on {threads} of {cores} cores: {why}")))
}

/// Judges the bandwidth per core with all cores at work over that of one core alone.
fn kept(e: &Evidence<'_>, what: &str, place: Place, least: f64) -> Judged {
    let label = series(what, place);
    let (threads, each) = all_cores(e, &label).map_err(|reason| {
        let enough = e.machine.cpu_order.cores() > 1;
        match in_cache(e.machine, place) {
            None if enough => Untestable(format!(
                "no power of two, in bytes, lies in the {}, that of {}: it shows too little room \
                 here",
                place.range(e.machine),
                place.name()
            )),
            _ => reason,
        }
    })?;
    e.machine.cpu_order.one_kind(threads as usize)?;
    let kept = ratio(each, e.at(&label, 1.0))?;
    at_least(&format!("{label}: each of {threads} cores over one core alone"), kept, least)
}

/// Multiplies the bandwidth per thread of each point by its number of threads.
fn totals(points: Vec<(f64, Interval)>) -> Vec<(f64, Interval)> {
    let total = |(threads, each): (f64, Interval)| (threads, each.scaled(threads));
    points.into_iter().map(total).collect()
}

/// Judges the share of the cores at one memory that saturates it. Cores elsewhere have memory of their
/// own: beyond the first node the bandwidth rises again.
fn saturating(e: &Evidence<'_>) -> Judged {
    let label = series(READ, Memory);
    e.machine.cpu_order.at_least(2)?;
    let near = at_one_memory(e.machine);
    let cores = cores_of(&near);
    let first = e.machine.cpu_order.first(cores);
    if cores < 2 || !first.iter().all(|location| near.contains(location)) {
        return Err(Untestable(format!(
            "of the first {} threads, not all are on cores of one package and memory node",
            cores.max(2)
        )));
    }
    let (threads, _) = in_memory_on(e, &label, cores)?;
    let mut points = e.series(&label)?;
    points.retain(|point| point.0 <= threads);
    let totals = totals(points);
    let few = || Untestable("the bandwidth of one core alone was not measured".to_owned());
    let cores = saturation(&totals, SATURATED).ok_or_else(few)?;
    let highest = totals.iter().map(|(_, total)| *total);
    let highest = highest.reduce(Interval::most).ok_or_else(few)?;
    let share = cores.scaled(1.0 / threads);
    let Interval { lo, hi } = cores;
    let count = if lo == hi { lo.to_string() } else { format!("{lo} to {hi}") };
    noted(
        at_most("cores that saturate memory over all its cores", share, 0.75),
        format!(
            "{count} of {threads} cores of one package and memory node read at {:.0} % of their \
             highest bandwidth, {:.1} GB/s",
            100.0 * SATURATED,
            highest.middle()
        ),
    )
}

pub(super) const SCALING: Experiment = Experiment {
    id: "X17",
    name: "bandwidth-scaling",
    title: "Bandwidth of one core, of some cores, and of all",
    question: "How does bandwidth grow with the number of cores, and how many cores saturate \
               memory?",
    source: "Beyond the papers: the bandwidth of Figures 3.24 to 3.29 over the number of cores, as \
             likwid-bench and STREAM measure it",
    about: "Each thread reads, writes or copies a buffer of its own by 16-byte accesses, all \
            threads at the same time, or writes it by non-temporal stores. The horizontal axis is \
            the number of threads, the vertical axis the bandwidth of all threads together: that \
            of the median thread, times their number. A copied byte counts twice, as read and as \
            written. Cores near the first one come first, and hyper-threads after all cores. L2 \
            belongs to one core, so its bandwidth should grow in proportion to the cores, unless \
            the clock falls when more cores work. The last level is shared, and its bandwidth may \
            grow more slowly. The bandwidth of memory grows until its channels are busy. The \
            number of cores that reach 90 % of the highest bandwidth is inferred from the curve up \
            to the cores of one package and memory node, because others have memory of their own. \
            Between two points of the curve, no core adds more than the fastest reads, and the \
            bandwidth is no lower than on the straight line. A write to memory reads its line \
            first; a non-temporal write does not, and should be faster as soon as the channels \
            limit both. Where memory for the test is short, many threads have smaller buffers, \
            which together exceed each last level. Where it does not suffice for that, the curve \
            ends early, and claims about all cores are untestable. In the last level itself, the \
            curve ends with as many threads as find room in it.",
    plot: Some(Plot::lines(
        Axis::log("threads"),
        Axis::log("bandwidth of all threads"),
        Unit::GigabytesPerSecond,
    )),
    cases: |machine| {
        let kinds = KINDS.into_iter().filter(|kind| machine.full || kind.3);
        let numbers = numbers(machine);
        let of_kind =
            |kind| numbers.iter().filter_map(move |&threads| case(machine, kind, threads));
        kinds.flat_map(of_kind).collect()
    },
    curves: |e| {
        let curves = e.curves().into_iter();
        curves.map(|curve: Curve| Curve { points: totals(curve.points), ..curve }).collect()
    },
    claims: &[
        measured(
            "X17.1",
            ours(
                "a private cache should serve its core at full speed whatever other cores do; a \
                 lower clock of all cores, or a host that puts two CPUs on one core, takes that \
                 away",
            ),
            "in L2, while all cores read, or all write, each core is at least 0.9 times as fast as \
             one core alone",
            |e| {
                let (threads, _) = all_cores(e, &series(READ, L2))?;
                own_l2(e.machine, threads as usize)?;
                all_of([READ, WRITE].map(|what| kept(e, what, L2, 0.9)))
            },
        )
        .holding("The bandwidth of L2 is that of one core times the number of cores.")
        .failing(
            "The clock falls when all cores work, or the cores share what they seem to have for \
             themselves.",
        ),
        measured(
            "X17.2",
            ours(
                "the channels of memory limit all cores together, the outstanding misses of one \
                 core limit that core: on servers with many cores, some should be enough",
            ),
            "of the cores of one package and memory node, at most three quarters read memory at \
             90 % of the highest bandwidth of all of them",
            saturating,
        )
        .holding(
            "More threads than that on these cores gain little in a program that streams through \
             memory.",
        )
        .failing(
            "Memory has bandwidth for nearly all of its cores: a program that streams needs more \
             than three quarters of them.",
        ),
        measured(
            "X17.3",
            ours("work that is divided evenly waits for the slowest core"),
            "while all cores read memory, the slowest core takes less than 1.5 times as long as \
             the fastest core",
            |e| {
                let label = series(READ, Memory);
                let (threads, _) = in_memory_on(e, &label, e.machine.cpu_order.cores())?;
                let spread = e.spread(&label, threads)?;
                at_most(&format!("slowest over fastest of {threads} cores"), spread, 1.5)
            },
        )
        .failing("Divide such work by its progress, not evenly."),
        measured(
            "X17.4",
            ours(
                "the slices of a last level, and the paths to them, grow in number with the cores: \
                 they should keep up",
            ),
            "in the last level, while as many cores read as find room in it, each core is at least \
             0.8 times as fast as one core alone",
            |e| unless_strangers(e, kept(e, READ, Llc, 0.8)),
        ),
        measured(
            "X17.5",
            ours(
                "a write reads its line first, a non-temporal write does not: it halves the \
                 traffic, which counts where the channels limit",
            ),
            "all cores together write memory at least 1.25 times as fast by non-temporal stores as \
             by ordinary stores",
            |e| {
                let [plain, bypassing] = [WRITE, NON_TEMPORAL].map(|what| series(what, Memory));
                let cores = e.machine.cpu_order.cores();
                let (threads, stores) = in_memory_on(e, &bypassing, cores)?;
                let faster = ratio(stores, e.at(&plain, threads))?;
                let what = format!("non-temporal over ordinary writes of {threads} cores");
                at_least(&what, faster, 1.25)
            },
        )
        .failing(
            "Something other than the traffic limits the writes: the buffers of non-temporal \
             stores, for instance.",
        ),
    ],
    ..Experiment::PLAIN
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::machine::tests::unknown;

    /// A machine of `cores` cores with two hyper-threads each, numbered cores first; eight cores
    /// share a last level.
    fn machine(cores: usize, full: bool) -> Machine {
        let location = |cpu: usize| CpuLocation {
            cpu,
            core: cpu % cores,
            l2: cpu % cores,
            last_level: cpu % cores / 8 * 8,
            package: cpu % cores / 48 * 48,
        };
        Machine {
            cpu_order: CpuOrder::around(None, (0..2 * cores).map(location).collect()),
            full,
            ..unknown()
        }
    }

    #[test]
    fn numbers_of_threads_end_with_all_cores_and_all_hyper_threads() {
        assert_eq!(numbers(&unknown()), [1]);
        assert_eq!(numbers(&machine(2, false)), [1, 2, 4]);
        assert_eq!(numbers(&machine(12, false)), [1, 2, 4, 8, 12, 24]);
        assert_eq!(numbers(&machine(12, true)), [1, 2, 3, 4, 6, 8, 12, 24]);
        // Also all cores of the first package.
        assert_eq!(numbers(&machine(128, false)), [1, 2, 4, 8, 16, 32, 48, 64, 128, 256]);
    }
}
