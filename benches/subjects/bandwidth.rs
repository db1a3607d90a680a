//! Bandwidth of one core, relative to the limit of the ports, and compared with likwid-bench and plain loops
//! at the same working set in the same run.

use std::hint::black_box;

use criterion::Throughput;

use crate::common::driver::{Driver, Timed, around, ticks};
use crate::common::likwid::{Likwid, PROGRAM};
use linefill::cpu::{Caches, Features, Identity, Ports};
use linefill::experiment::{Arena, Linux, PageRequest};
use linefill::kernel::{BLOCK, Bandwidth, Kernel, Motion, Vector};
use linefill::measure::{Buffers, NoMonitor, Plan, Sample, steady};

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// Blocks per operation: 4 MiB, so that the cost of the clock is negligible.
const BLOCKS: u64 = 8192;

/// The lab's measurement: its maximum number of samples, and its maximum time.
const SAMPLES: usize = 400;
const SECONDS: f64 = 0.1;

/// Turns of a kernel and of likwid-bench. The fastest turn counts: other activity on the machine only makes a
/// turn slower.
const TURNS: usize = 3;

/// The time of a turn of likwid-bench, in nanoseconds.
const PEER_NANOS: f64 = 0.1e9;

/// The name of a workload, the workload, and its name in likwid-bench.
type Workload = (&'static str, Motion, &'static str);

const WORKLOADS: [Workload; 7] = [
    ("read", Motion::Read, "load"),
    ("read two halves", Motion::ReadHalves, "load"),
    ("write", Motion::Write, "store"),
    ("update", Motion::Update, "update"),
    ("copy", Motion::Copy, "copy"),
    ("non-temporal write", Motion::WriteNonTemporal, "store_mem"),
    ("non-temporal copy", Motion::CopyNonTemporal, "copy_mem"),
];

pub fn main(driver: &mut Driver) {
    let features = Features::detect();
    let likwid = Likwid::find();
    if likwid.is_none() {
        driver.say(&format!("comparison with {PROGRAM} ignored: needs {PROGRAM}"));
    }
    let ports = Identity::detect().ports();
    if ports.is_none() {
        driver.say("the ports of this CPU are not known here, so neither is their limit");
    }
    driver.say("B/cycle count a copied or updated byte once, GB/s count it read and written");
    let widest = Vector::BYTES
        .into_iter()
        .rev()
        .find_map(|bytes| Vector::of(bytes, features))
        .unwrap_or(Vector::Sse2);
    let mut bench = Bench { arena: Arena::on(&Linux), likwid, ports };
    let sizes @ [.., memory] = sizes();
    for bytes in sizes {
        for workload @ (_, motion, _) in WORKLOADS {
            // For accesses that bypass the caches, one working set is enough.
            let past = matches!(motion, Motion::WriteNonTemporal | Motion::CopyNonTemporal);
            if bytes == memory || !past {
                bench.time(driver, workload, widest, bytes);
            }
        }
        // The width of the cited documents.
        bench.time(driver, WORKLOADS[0], Vector::Sse2, bytes);
        bench.plain(driver, bytes);
    }
}

/// Working sets: half of L1d, a quarter of L2, an eighth of the last level but at most 4 MiB, and one well
/// beyond the caches.
fn sizes() -> [usize; 4] {
    let caches = Caches::detect();
    let of = |level| caches.data(level).map(|cache| cache.size as usize);
    let last = caches.last_level().map_or(8 * MIB, |cache| cache.size as usize);
    // The usable part of a shared cache may be small.
    let llc = (last / 8).min(4 * MIB);
    let memory = (4 * last).clamp(64 * MIB, 128 * MIB);
    let [l1, l2] = [of(1).unwrap_or(32 * KIB) / 2, of(2).unwrap_or(256 * KIB) / 4];
    [l1, l2, llc, memory].map(|bytes| bytes / KIB * KIB)
}

struct Bench {
    arena: Arena,
    likwid: Option<Likwid>,
    ports: Option<Ports>,
}

/// The measured speed, in bytes per core cycle and gigabytes per second.
#[derive(Clone, Copy)]
struct Speed {
    a_cycle: Option<f64>,
    gigabytes: f64,
}

impl Bench {
    /// Measures one kernel, and likwid-bench's equivalent after it.
    fn time(
        &mut self,
        driver: &mut Driver,
        (what, motion, likwid): Workload,
        vector: Vector,
        bytes: usize,
    ) {
        let width = vector.bytes();
        let name = format!("{what}, {width} B, {}", words(bytes));
        let region = match self.arena.region(bytes, PageRequest::Base) {
            Ok((region, _)) => region,
            Err(reason) => return driver.say(&format!("{name}: skipped: {reason}")),
        };
        let mut kernel = match Bandwidth::new(region, motion, vector) {
            Ok(kernel) => kernel,
            Err(error) => return driver.say(&format!("{name}: skipped: {error}")),
        };
        let work = kernel.work();
        let moved = work.bytes_read + work.bytes_written;
        let in_all = Some(Throughput::Bytes(u64::from(moved) * BLOCKS));
        let run = &mut |operations| ticks(&mut kernel, operations * BLOCKS);
        let timed = driver.time(&name, in_all, run);
        if timed.ticks.is_none() {
            return;
        }
        // Criterion's samples contain interrupts, and an interrupt can change how loads pair up until the
        // next interrupt. The lab's samples are too short for either effect.
        let (once, moved) = (work.bytes_read.max(work.bytes_written), moved.into());
        let mut ours = None;
        let mut theirs = Ok(0.0_f64);
        let registers = match width {
            16 => "sse",
            32 => "avx",
            _ => "avx512",
        };
        let test = format!("{likwid}_{registers}");
        for _ in 0..TURNS {
            let Some(timed) = steadily(driver, &mut kernel) else {
                return driver.say(&format!("{name}: skipped: it could not be sampled"));
            };
            let Some(speed) = speed(driver, timed, once.into(), moved) else {
                return;
            };
            let rounds = (PEER_NANOS * speed.gigabytes / bytes as f64) as u64;
            if ours.is_none_or(|best: Speed| best.gigabytes <= speed.gigabytes) {
                ours = Some(speed);
            }
            if let (Some(likwid), Ok(best)) = (&self.likwid, &theirs) {
                let turn = likwid.bandwidth(&test, bytes, rounds);
                theirs = turn.map(|turn| turn.max(*best));
            }
        }
        let Some(ours) = ours else { return };
        let mut line = told(&name, &ours);
        if let (Some(most), Some(a_cycle)) = (self.limit(motion, width), ours.a_cycle) {
            line += &format!(", {:.2} of the ports", a_cycle / most);
        }
        driver.say(&line);
        match theirs {
            Err(said) => driver.say(&format!("{name}: {PROGRAM} -t {test} says: {said}")),
            Ok(theirs) if theirs > 0.0 => driver.say(&format!(
                "{name}: {:.2} times {PROGRAM}'s {test}, {theirs:.1} GB/s",
                ours.gigabytes / theirs
            )),
            Ok(_) => {}
        }
    }

    /// The limit of the ports, in bytes per cycle. A copy is limited by its loads or by its stores.
    fn limit(&self, motion: Motion, width: usize) -> Option<f64> {
        let ports = self.ports?;
        let (loads, stores) = (ports.read(width)?, ports.write(width)?);
        Some(f64::from(match motion {
            motion if motion.reads_alone() => loads,
            Motion::Write => stores,
            Motion::Update | Motion::Copy => loads.min(stores),
            _ => return None,
        }))
    }

    /// STREAM's Copy and Scale in a plain program: `copy_from_slice`, which is `memcpy`, and a loop that the
    /// compiler vectorises.
    fn plain(&mut self, driver: &mut Driver, bytes: usize) {
        for (what, round) in
            [("memcpy", copy as fn(&mut [f64], &[f64])), ("plain loop that scales", scale)]
        {
            let name = format!("{what}, {}", words(bytes));
            let Ok((region, _)) = self.arena.region(bytes, PageRequest::Base) else {
                return driver.say(&format!("{name}: skipped: no memory"));
            };
            let numbers = region.into_f64s();
            numbers.fill(1.0);
            let (from, to) = numbers.split_at_mut(numbers.len() / 2);
            let rounds = (BLOCKS as usize * BLOCK).div_ceil(bytes) as u64;
            let moved = (rounds * bytes as u64) as f64;
            let timed =
                driver.time(&name, Some(Throughput::Bytes(moved as u64)), &mut |operations| {
                    around(operations * rounds, || round(black_box(&mut *to), black_box(&*from)))
                });
            if let Some(speed) = speed(driver, timed, moved / 2.0, moved) {
                driver.say(&told(&name, &speed));
            }
        }
    }
}

/// Ticks and core cycles per operation, measured with the lab's method.
fn steadily(driver: &Driver, kernel: &mut Bandwidth<'_>) -> Option<Timed> {
    let (mut samples, mut scratch) = ([Sample::default(); SAMPLES], [0.0; SAMPLES]);
    let buffers = Buffers { samples: &mut samples, scratch: &mut scratch };
    let mut plan = Plan::of_seconds(driver.rate().hz(), SECONDS).warm_up(kernel.pass());
    plan.least = SAMPLES / 4;
    let outcome = steady(kernel, &plan, &mut NoMonitor, buffers)?;
    Some(Timed {
        ticks: Some(outcome.ticks.median),
        cycles: outcome.core_per_tick.map(|ratio| ratio * outcome.ticks.median),
    })
}

/// The speed of an operation that passes over `once` bytes and moves `moved`, if it was sampled.
fn speed(driver: &Driver, timed: Timed, once: f64, moved: f64) -> Option<Speed> {
    Some(Speed {
        a_cycle: timed.cycles.map(|cycles| once / cycles),
        gigabytes: moved / driver.rate().nanos(timed.ticks?),
    })
}

fn told(name: &str, speed: &Speed) -> String {
    let a_cycle = speed.a_cycle.map_or(String::new(), |bytes| format!("{bytes:.2} B/cycle, "));
    format!("{name}: {a_cycle}{:.1} GB/s", speed.gigabytes)
}

fn words(bytes: usize) -> String {
    match bytes / KIB {
        kib if kib < 1024 => format!("{kib} KiB"),
        kib => format!("{} MiB", kib / 1024),
    }
}

#[inline(never)]
fn copy(to: &mut [f64], from: &[f64]) {
    to.copy_from_slice(from);
}

#[inline(never)]
fn scale(to: &mut [f64], from: &[f64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = 3.0 * from;
    }
}
