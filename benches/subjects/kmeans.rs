//! Sestoft's k-means: an iteration in each of the note's variants and of ours, on one thread and on one
//! thread per core. The elements of the throughput are points.

use crate::common::driver::Driver;
use criterion::Throughput;
use linefill::cpu::Features;
use linefill::experiment::topics::kmeans::WAYS;
use linefill::experiment::topics::kmeans::run::{KMeansSetup, KMeansWay};
use linefill::experiment::{Context, CpuOrder, Linux, Setup, Untestable, Workload};
use linefill::host::ThreadGroup as _;
use linefill::mem::Region;
use linefill::os::{RoundOptions, Sysfs, Worker, WorkerTime, allowed, current_cpu, thread_group};

/// Points per thread.
const POINTS: usize = 4000;

/// Nanoseconds from the call of a round to its start.
const AHEAD: f64 = 30_000.0;

pub fn main(driver: &mut Driver) {
    let cpu_order = CpuOrder::around(current_cpu(), Sysfs::live().locations(&allowed()));
    let mut threads = vec![1, cpu_order.cores().max(1)];
    threads.dedup();
    for threads in threads {
        let locations = cpu_order.locations().iter().map(|location| location.cpu);
        let cpus: Vec<usize> = locations.take(threads).collect();
        let place = format!("threads {threads}");
        let timed = WAYS.map(|(name, way)| {
            let name = format!("{name}, {place}");
            let timed = iteration(driver, &name, way, &cpus);
            timed.unwrap_or_else(|reason| {
                driver.say(&format!("{name}: skipped: {reason}"));
                None
            })
        });
        let Some(two_p) = timed[1] else { continue };
        for ((name, _), time) in WAYS.iter().zip(timed) {
            if let Some(time) = time {
                driver.say(&format!("{name} over 2P, {place}: {:.2}", time / two_p));
            }
        }
    }
}

/// Times whole iterations with one thread per CPU, and returns the core cycles of one iteration, or its ticks
/// if there is no yardstick.
fn iteration(
    driver: &mut Driver,
    name: &str,
    way: KMeansWay,
    cpus: &[usize],
) -> Result<Option<f64>, Untestable> {
    let setup = KMeansSetup {
        way,
        points: cpus.len() * POINTS,
        tasks: cpus.len(),
        cpus: cpus.to_vec(),
        turn: 0,
    };
    let options = RoundOptions { ahead: driver.rate().ticks(AHEAD), keep_on: false };
    let work = Some(Throughput::Elements(setup.points as u64));
    let timed = thread_group(&mut workers(&setup)?, options, |group| {
        driver.time(name, work, &mut |operations| {
            let times = group.round(operations).iter();
            times.map(WorkerTime::until).max().unwrap_or(0)
        })
    });
    let timed = timed?;
    Ok(timed.cycles.or(timed.ticks))
}

fn workers(setup: &KMeansSetup) -> Result<Vec<Worker<'static>>, Untestable> {
    let context = Context { features: Features::detect(), host: &Linux };
    // The set-up does not use this region: its workers allocate their own memory.
    let region = Region::new(Box::leak(Box::new([0; 128])))?;
    match setup.prepare(region, &context)? {
        Workload::Threads { workers, .. } => Ok(workers),
        other => Err(Untestable(format!("{other:?} is no thread group"))),
    }
}
