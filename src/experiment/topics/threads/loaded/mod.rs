//! Loaded latency: the time of a walk in memory while the other cores stream.

use crate::experiment::machine::cpu_order::sharers;
use crate::experiment::prelude::*;
use crate::experiment::shared::cores::not_all_cores;
use crate::experiment::shared::walk::WalkSetup;
use crate::experiment::{Percentile, Point};
use crate::kernel::{BLOCK, Motion};
use crate::order;
use crate::pattern::{Layout, Order};

use setup::{LoadedSetup, Timed};

mod setup;

pub(crate) static ALL: &[Experiment] = &[LOADED_LATENCY];

/// The loads: their names, the motions of the other cores, and how often each byte crosses the
/// memory bus. Lines that are read only to be overwritten do not count.
const LOADS: [(&str, Motion, f64); 4] = [
    (READS, Motion::Read, 1.0),
    (STORES, Motion::WriteNonTemporal, 1.0),
    ("updates", Motion::Update, 2.0),
    ("copies", Motion::Copy, 2.0),
];

const READS: &str = "reads";
const STORES: &str = "non-temporal stores";

/// Number of loads in a quick run: reads and non-temporal stores.
const QUICK_LOADS: usize = 2;

/// Floating-point additions between two bursts of a stream, each waiting for the previous one.
const PAUSES: [u64; 9] = [0, 64, 128, 256, 512, 1024, 2048, 4096, 16384];

/// Pauses of a quick run beside reads. They are close where one of them should give half of the bandwidth.
const QUICK_READS: [u64; 7] = [0, 256, 512, 1024, 2048, 4096, 16384];

/// Pauses of a quick run beside the other loads.
const QUICK_OTHERS: [u64; 5] = [0, 128, 512, 2048, 16384];

/// Blocks per burst, the work between two pauses: 4 KiB that are read, or written.
const BURST: u64 = 8;

const BURST_BYTES: f64 = BURST as f64 * BLOCK as f64;

/// The largest number of threads if `--memory` has no room for a stream on every other core.
const MOST_WITHOUT_ROOM: usize = 8;

/// The series of a walk whose next line no prefetcher knows.
const RANDOM: &str = "a random walk";

/// The series of a walk whose next lines prefetchers fetch ahead.
const IN_ORDER: &str = "a walk in order";

/// Names the series of a walk while the other cores are idle.
fn alone(walk: &str) -> String {
    format!("{walk} alone")
}

/// Names the series of a walk while the other cores run this load.
fn walk_beside(walk: &str, load: &str) -> String {
    format!("{walk} beside {load}")
}

/// Names the series of a stream of this load, while one core walks and the others stream.
fn stream_beside(load: &str, walk: &str) -> String {
    format!("{load} beside {walk}")
}

/// One line per element.
const LAYOUT: Layout = Layout::npad(7);

/// Prepares the case of a walk. Steps of the random walk are also timed one by one. A step in order
/// is too short for that: reading the counter would take most of the time.
fn timed(walk: &str, case: Case) -> Case {
    let case = case.in_large_pages();
    match walk {
        RANDOM => case.run_by_run(1),
        _ => case,
    }
}

/// Returns the number of threads, of which one walks and the others stream, and the bytes of a stream.
fn threads(machine: &Machine) -> (usize, usize) {
    let cores = machine.cpu_order.cores().max(1);
    match stream_bytes(machine, cores) {
        Some(bytes) => (cores, bytes),
        None => (cores.min(MOST_WITHOUT_ROOM), machine.in_memory() / 2),
    }
}

/// Returns the bytes of each stream if all threads together may use no more than `--memory` allows. The
/// streams under one last level do not fit into it. `None` if there is no such size.
fn stream_bytes(machine: &Machine, threads: usize) -> Option<usize> {
    let usual = machine.in_memory() / 2;
    let room =
        machine.largest.saturating_sub(machine.in_memory()) / threads.saturating_sub(1).max(1);
    if usual <= room {
        return Some(usual);
    }
    let less = 1 << room.checked_ilog2()?;
    // The first thread does not stream.
    let streams = machine.cpu_order.first(threads).get(1..)?;
    let [fewest, _] = sharers(streams, |location| location.last_level);
    machine.ranges.memory.holds((fewest * less) as f64).then_some(less)
}

/// Returns the number of streams beside a walk. A record of an earlier version may have fewer than
/// [`threads`] says.
fn streams(e: &Evidence<'_>) -> usize {
    let is_loaded = |point: &&Point| {
        LOADS.iter().any(|(load, ..)| {
            [RANDOM, IN_ORDER].iter().any(|walk| point.series == walk_beside(walk, load))
        })
    };
    let mut loaded = e.points.iter().filter(is_loaded);
    let stats = loaded.find_map(|point| point.measured()?.thread_stats);
    let threads = stats.map_or_else(|| threads(e.machine).0, |stats| stats.workers as usize);
    threads.saturating_sub(1)
}

fn streams_in_words(e: &Evidence<'_>) -> String {
    match streams(e) {
        1 => "1 stream".to_owned(),
        more => format!("{more} streams"),
    }
}

const LOADED_LATENCY: Experiment = Experiment {
    id: "X16",
    name: "loaded-latency",
    title: "The latency of memory under load",
    question: "How much longer does a miss take while other cores use the bandwidth of memory?",
    source: "Beyond the papers: the loaded latency of Intel's Memory Latency Checker and of \
             multichase",
    about: "One core walks a list in memory in random order, one line per element, on 2 MiB pages. \
            Every other core streams through memory of its own, 4 KiB at a time, and a pause after \
            each 4 KiB sets the rate. The horizontal axis is the bandwidth of all streams \
            together: the bandwidth of one stream, timed beside the walk and the other streams, \
            times the number of streams. All other cores stream if `--memory` has room for their \
            streams, and otherwise seven. Each byte of an update or a copy counts twice, once as \
            read and once as written. Up to the knee of the curve, the latency of the walk should \
            hardly rise. Beyond the knee the queues of memory fill: more load adds little \
            bandwidth and much latency. One streaming core may not reach the knee, because its \
            number of outstanding misses is limited (X10), and with it the bandwidth of the core. \
            The curves of p99 show single steps, each timed by itself: 99 of 100 steps take at \
            most this time. A second walk goes through the same list in the order of its \
            addresses, so that prefetchers can fetch its next lines ahead. To do so they need \
            bandwidth, which the other cores use as well, and some prefetchers fetch less while \
            memory is busy. Rows of memory that are open already may help this walk, too: \
            `linefill run X16 --prefetchers off` shows what is left without prefetchers.",
    plot: Some(Plot::lines(
        Axis::linear("bandwidth of the other cores, GB/s"),
        Axis::linear("time per step of the walk"),
        Unit::Nanoseconds,
    )),
    cases: |machine| {
        let bytes = machine.in_memory();
        let random = Order::Random { seed: machine.seed };
        let orders = [(RANDOM, random), (IN_ORDER, Order::Sequential)];
        let mut cases: Vec<Case> = Vec::new();
        for (walk, order) in orders {
            let setup = WalkSetup::follow(LAYOUT, bytes, order);
            cases.push(timed(walk, Case::new(alone(walk), 0.0, setup)));
        }
        let (threads, stream) = threads(machine);
        let Ok(cpus) = machine.cpu_order.of(threads) else { return cases };
        if cpus.len() < 2 {
            return cases;
        }
        let loads = if machine.full { LOADS.len() } else { QUICK_LOADS };
        let mut beside = |(walk, order): (&str, Order), load: &str, motion, pause: u64| {
            let setup = |timed| LoadedSetup {
                bytes,
                stream,
                order,
                motion,
                pause,
                timed,
                cpus: cpus.clone(),
            };
            let of = |series, of| Case::new(series, pause as f64, setup(of));
            cases.push(timed(walk, of(walk_beside(walk, load), Timed::Walk)));
            cases.push(of(stream_beside(load, walk), Timed::Stream).in_large_pages());
        };
        for (load, motion, _) in LOADS.into_iter().take(loads) {
            let pauses: &[u64] = match (machine.full, load) {
                (true, _) => &PAUSES,
                (false, READS) => &QUICK_READS,
                (false, _) => &QUICK_OTHERS,
            };
            for &pause in pauses {
                beside(orders[0], load, motion, pause);
            }
        }
        // The claim needs only the full load. A full run has the whole curve.
        let rates = if machine.full { PAUSES.len() } else { 1 };
        for pause in PAUSES.into_iter().take(rates) {
            beside(orders[1], READS, Motion::Read, pause);
        }
        cases
    },
    curves: |e| {
        let e = &e.in_time();
        let curve = |label: String, alone: Option<Interval>, mut points: Vec<(f64, Interval)>| {
            if points.is_empty() {
                return None;
            }
            points.extend(alone.map(|alone| (0.0, alone)));
            order::by(&mut points, |a, b| a.0.total_cmp(&b.0));
            Some(Curve { label, points })
        };
        let alone_at = |walk| e.at(&alone(walk), 0.0).ok();
        let Some(random) = alone_at(RANDOM) else { return Vec::new() };
        let slow = e.percentile(&alone(RANDOM), 0.0, Percentile::P99).ok();
        let mut curves: Vec<Curve> = Vec::new();
        for load in LOADS {
            let found = loaded(e, RANDOM, load);
            let usual = found.iter().map(|at| (at.bandwidth.middle(), at.latency));
            let single = found.iter().filter_map(|at| Some((at.bandwidth.middle(), at.slow?)));
            let load = load.0;
            curves.extend(curve(format!("beside {load}"), Some(*random), usual.collect()));
            curves.extend(curve(format!("p99 beside {load}"), slow, single.collect()));
        }
        let found = loaded(e, IN_ORDER, LOADS[0]);
        let in_order = found.iter().map(|at| (at.bandwidth.middle(), at.latency));
        let label = format!("in order beside {READS}");
        curves.extend(curve(label, alone_at(IN_ORDER).map(Interval::from), in_order.collect()));
        curves
    },
    claims: &[
        measured(
            "X16.1",
            ours("the papers time memory that no other core uses; on servers other cores use it"),
            "while all other cores read memory as fast as they can, a random walk in memory takes \
             more than 1.25 times as long as alone",
            |e| {
                let what = format!("beside {} of reads over alone", streams_in_words(e));
                at_least(&what, slowed(e, READS)?.0, 1.25)
            },
        )
        .failing("The streams of the other cores leave enough bandwidth for the walk."),
        measured(
            "X16.2",
            ours("a half-full queue costs little: the latency should rise only at the knee"),
            "while the other cores read memory at half of their full bandwidth, a random walk in \
             memory takes less than 1.25 times as long as alone",
            |e| {
                let (_, most) = slowed(e, READS)?;
                let e = &e.in_time();
                let alone = e.at(&alone(RANDOM), 0.0)?;
                let half = at_half(&loaded(e, RANDOM, LOADS[0]), most)?;
                let share = half.bandwidth.middle() / most;
                let what = format!(
                    "beside {} of reads at {:.0} % of the bandwidth over alone",
                    streams_in_words(e),
                    100.0 * share
                );
                at_most(&what, ratio(half.latency, alone), 1.25)
            },
        ),
        measured(
            "X16.3",
            ours("a memory bus loses time when it changes between reads and writes"),
            "beside non-temporal stores of all other cores, a random walk in memory takes at least \
             1.05 times as long as beside reads of all other cores",
            |e| {
                let [stores, reads] = [STORES, READS].map(|load| {
                    let e = &e.in_time();
                    slowed(e, load)?;
                    e.at(&walk_beside(RANDOM, load), 0.0)
                });
                let streams = streams_in_words(e);
                at_least(
                    &format!("beside {streams} of stores over beside {streams} of reads"),
                    ratio(stores?, reads?),
                    1.05,
                )
            },
        )
        .failing(
            "Non-temporal stores of the other cores do not delay a walk more than their reads do.",
        ),
        measured(
            "X16.4",
            ours(
                "prefetching takes bandwidth ahead of need, and prefetchers hold back where it is \
                 short: the papers time them on idle memory",
            ),
            "while all other cores read memory as fast as they can, a walk in order, whose lines \
             prefetchers can fetch ahead, takes at most half as long as a random walk",
            |e| {
                testable(e)?;
                let beside = |walk| e.at(&walk_beside(walk, READS), 0.0);
                at_least(
                    &format!("random over in order, beside {}", streams_in_words(e)),
                    ratio(beside(RANDOM), beside(IN_ORDER)),
                    2.0,
                )
            },
        ),
    ],
    ..Experiment::PLAIN
};

/// The walk and the streams at one pause.
#[derive(Clone, Copy, Debug)]
struct Loaded {
    /// Bandwidth of all streams together, in GB/s.
    bandwidth: Interval,
    /// Time per step of the walk, in nanoseconds.
    latency: Interval,
    /// The time in nanoseconds that 99 of 100 steps, each timed by itself, do not exceed.
    slow: Option<Interval>,
}

/// Returns the results of a walk under one of [`LOADS`], from the shortest pause on. `e` must be in
/// nanoseconds.
fn loaded(e: &Evidence<'_>, walk: &str, (load, _, times): (&str, Motion, f64)) -> Vec<Loaded> {
    let streams = streams(e) as f64;
    let at = |pause: u64| {
        let timed = walk_beside(walk, load);
        let latency = e.at(&timed, pause as f64).ok()?;
        let slow = e.percentile(&timed, pause as f64, Percentile::P99).ok();
        let burst = e.at(&stream_beside(load, walk), pause as f64).ok()?;
        if burst.lo <= 0.0 {
            return None;
        }
        let bytes = streams * times * BURST_BYTES;
        let bandwidth = Interval::new(bytes / burst.hi, bytes / burst.lo);
        Some(Loaded { bandwidth, latency: *latency, slow })
    };
    PAUSES.into_iter().filter_map(at).collect()
}

/// Checks that the test has two cores, that all other cores streamed, and that its walk lies in memory.
fn testable(e: &Evidence<'_>) -> Testable<()> {
    e.machine.cpu_order.at_least(2)?;
    let (threads, cores) = (streams(e) + 1, e.machine.cpu_order.cores());
    if threads < cores {
        let what = "the walk and the streams ran";
        return Err(match stream_bytes(e.machine, cores) {
            Some(_) => not_all_cores(what, threads, cores),
            None => Untestable(format!(
                "{what} on {threads} of {cores} cores: the streams of all of them need more memory \
                 (`--memory`)"
            )),
        });
    }
    e.machine.place_in_memory(e.machine.in_memory()).map(|_| ())
}

/// Returns the time of a random walk beside this load without pauses divided by that of the walk
/// alone, and the bandwidth of the load in GB/s.
fn slowed(e: &Evidence<'_>, load: &str) -> Testable<(Interval, f64)> {
    testable(e)?;
    let e = &e.in_time();
    let slowed = ratio(e.at(&walk_beside(RANDOM, load), 0.0), e.at(&alone(RANDOM), 0.0))?;
    let burst = e.at(&stream_beside(load, RANDOM), 0.0)?.middle();
    let streams = streams(e) as f64;
    Ok((slowed, streams * BURST_BYTES / burst))
}

/// The least and the largest share of the full bandwidth that counts as half of it.
const HALF: [f64; 2] = [0.4, 0.6];

/// Returns the load that is nearest to half of the bandwidth `most`. Fails if none lies within [`HALF`] of it.
fn at_half(loads: &[Loaded], most: f64) -> Testable<Loaded> {
    let share = |at: &Loaded| at.bandwidth.middle() / most;
    let [least, largest] = HALF;
    let about_half = loads.iter().filter(|at| (least..=largest).contains(&share(at)));
    let nearest = about_half.min_by(|a, b| {
        let [a, b] = [a, b].map(|at| (share(at) - 0.5).abs());
        a.total_cmp(&b)
    });
    nearest.copied().ok_or_else(|| {
        Untestable(format!(
            "no pause gave the streams {:.0} to {:.0} % of their full bandwidth",
            100.0 * least,
            100.0 * largest
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::machine::tests::unknown;

    #[test]
    fn one_core_measures_the_walks_alone() {
        let machine = unknown();
        let cases = (LOADED_LATENCY.cases)(&machine);
        assert_eq!(cases.len(), 2, "{cases:?}");
    }

    #[test]
    fn half_of_the_load_is_the_load_nearest_to_it() {
        let at = |bandwidth: f64| Loaded {
            bandwidth: Interval::exact(bandwidth),
            latency: Interval::exact(100.0),
            slow: None,
        };
        let loads = [40.0, 23.0, 19.0, 1.0].map(at);
        let half = at_half(&loads, 40.0).unwrap();
        assert_eq!(half.bandwidth.middle(), 19.0);
        assert!(at_half(&loads[..1], 40.0).is_err());
        // 28 % and 65 %.
        assert!(at_half(&[26.0, 11.0].map(at), 40.0).is_err());
    }
}
