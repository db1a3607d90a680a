//! Drepper 3.3.4: the share of memory bandwidth that each of several threads gets.

use crate::experiment::prelude::*;
use crate::experiment::shared::bandwidth::{BandwidthGroupSetup, Owner};
use crate::experiment::shared::cores::{on_all_cores, up_to_all_cores};
use crate::experiment::topics::bandwidth::scaling::own_l2;
use crate::experiment::topics::bandwidth::{BYTES_A_CYCLE, by_16_bytes};
use crate::kernel::Motion;

const READ: &str = "read memory";
const WRITE: &str = "write memory";
const READ_L2: &str = "read L2";

const NOT_SATURATED: &str =
    "One core alone does not saturate memory, and leaves enough bandwidth to the others.";

/// Returns the bytes per CPU, such that the CPUs below each last-level cache together use at least
/// the memory size. `None` if more memory than allowed would be allocated.
fn part(machine: &Machine, cpus: &[usize]) -> Option<usize> {
    let bytes = wanted(machine, cpus)?;
    (bytes * cpus.len() <= room(machine)).then_some(bytes)
}

/// Returns the bytes that the threads together may use.
fn room(machine: &Machine) -> usize {
    machine.largest.max(machine.in_memory())
}

/// Returns the bytes per CPU, as for [`part`], whether or not they may be allocated.
fn wanted(machine: &Machine, cpus: &[usize]) -> Option<usize> {
    let locations = machine.cpu_order.locations().iter();
    let of_cpus: Vec<usize> = locations
        .filter(|location| cpus.contains(&location.cpu))
        .map(|location| location.last_level)
        .collect();
    let sharers = |level: &usize| of_cpus.iter().filter(|other| *other == level).count();
    Some((machine.in_memory() / of_cpus.iter().map(sharers).min()?).next_multiple_of(PAGE))
}

fn cases(machine: &Machine) -> Vec<Case> {
    let mut cases = Vec::new();
    let l2 = machine.middle_of(machine.ranges.l2);
    for threads in up_to_all_cores(machine) {
        let Ok(cpus) = machine.cpu_order.of(threads) else { continue };
        let memory = part(machine, &cpus);
        for (name, motion, bytes) in [
            (READ_L2, Motion::Read, Some(l2 / PAGE * PAGE)),
            (READ, Motion::Read, memory),
            (WRITE, Motion::Write, memory),
        ] {
            let Some(bytes @ 1..) = bytes else { continue };
            let of = by_16_bytes(bytes, motion);
            let setup = BandwidthGroupSetup { of, owner: Owner::Each, cpus: cpus.clone() };
            cases.push(Case::new(name, threads as f64, setup).in_turn());
        }
    }
    cases
}

/// Judges the bandwidth per thread with a thread on each core over that of one thread alone.
fn kept(e: &Evidence<'_>, series: &str, judge: impl Fn(&str, Interval) -> Judged) -> Judged {
    let alone = e.at(series, 1.0)?;
    let (threads, each) = on_all_cores(e, series)?;
    judge(&format!("`{series}`, each of {threads} threads over one alone"), ratio(each, alone)?)
}

/// Judges whether threads in memory get less bandwidth than one thread alone.
fn kept_in_memory(e: &Evidence<'_>, series: &str) -> Judged {
    // The clock of several busy cores is often slower than that of one, but not that of memory: bytes per
    // second count, not bytes per core cycle.
    let e = &Evidence { unit: Unit::GigabytesPerSecond, ..*e };
    e.at(series, 1.0)?;
    e.machine.memory_size()?;
    all_find_room(e, series)?;
    kept(e, series, |what, each| at_most(what, each, LESS))
}

/// Checks that threads on all cores find enough memory.
fn all_find_room(e: &Evidence<'_>, series: &str) -> Testable<()> {
    let cores = e.machine.cpu_order.cores();
    let cpus = e.machine.cpu_order.of(cores)?;
    let needed = cores * wanted(e.machine, &cpus).unwrap_or(0);
    let room = room(e.machine);
    if needed <= room {
        return Ok(());
    }
    let (most, _) = e.last(series)?;
    let [needed, room] = [needed, room].map(|bytes| bytes.div_ceil(1 << 20));
    Err(Untestable(format!(
        "`{series}` was timed on {most} of {cores} cores: all of them need {needed} MiB together, \
         and this run has {room} MiB (`--memory`)"
    )))
}

pub(crate) const SHARED_BUS: Experiment = Experiment {
    id: "D25",
    name: "drepper-fsb-shared",
    title: "Memory bandwidth shared by several threads",
    question: "Does a thread get less memory bandwidth if other threads use memory, too?",
    source: "Drepper 3.3.4: one bus between all cores and memory. Here each thread has memory of \
             its own; together, the threads under one last level use four times its size",
    about: "Each thread, on a core of its own, reads or writes its own memory; the chart shows the \
            bandwidth per thread. Each thread touches its memory first, so that it lies on the \
            thread's memory node; with several nodes, the record names those of all threads. In \
            the paper, all cores share one bus. Today each core has its own connection to the last \
            level, and the memory controllers are in the package. The number of outstanding misses \
            limits what one core can transfer. How many cores it takes to saturate memory depends \
            on that limit and on the controllers: two may be enough, or a few cores may each read \
            as fast as one core alone. L2 serves as a control, because threads do not share it. In \
            a guest, other guests on the same package also use its bandwidth.",
    plot: Some(Plot {
        x: Axis::log("threads"),
        y: Axis::log("bandwidth per thread"),
        ..BYTES_A_CYCLE
    }),
    cases,
    events: events::BANDWIDTH,
    claims: &[
        // If one processor can saturate the bus, each of two or four that share it gets even less.
        measured(
            "D25.1",
            drepper("3.3.4"),
            "with a thread on each core, each thread reads at least 10 % less per second from \
             memory than one thread alone",
            |e| kept_in_memory(e, READ),
        )
        .failing(NOT_SATURATED),
        // The same bus restricts what each processor can write.
        measured(
            "D25.2",
            drepper("3.3.4"),
            "with a thread on each core, each thread writes at least 10 % less per second to \
             memory than one thread alone",
            |e| kept_in_memory(e, WRITE),
        )
        .failing(NOT_SATURATED),
        measured(
            "D25.3",
            ours("the control: a cache that threads do not share must be as fast as before"),
            "with a thread on each core, each thread reads as much per cycle from its own L2 as \
             one thread alone (0.9 to 1.1)",
            |e| {
                own_l2(e.machine, e.machine.cpu_order.cores())?;
                kept(e, READ_L2, |what, each| between(what, each, 0.9, 1.1))
            },
        ),
    ],
    ..Experiment::PLAIN
};
