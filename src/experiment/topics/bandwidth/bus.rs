//! Drepper 3.3.4: what of the way to memory is left for each of several threads.

use crate::experiment::prelude::*;
use crate::experiment::shared::bandwidth::{BandwidthTeamSetup, Mover, Owner};
use crate::experiment::topics::bandwidth::{BYTES_A_CYCLE, PAPER};
use crate::kernel::Motion;
use crate::mem::PAGE;
use crate::stats::Interval;

const READ: &str = "read memory";
const WRITE: &str = "write memory";
const READ_L2: &str = "read L2";

/// The most threads of a quick run.
const MOST_QUICK: usize = 8;

/// Numbers of threads that all have cores of their own: 1, 2, 4 and so on, and all.
fn threads(machine: &Machine) -> Vec<usize> {
    let most = if machine.full { usize::MAX } else { MOST_QUICK };
    let cores = machine.cpu_order.cores().clamp(1, most);
    let powers = (0..).map(|k| 1 << k).take_while(|&threads| threads < cores);
    powers.chain([cores]).collect()
}

/// Bytes that each of these CPUs works on, so that every last-level cache among them is asked for
/// as much as makes a working set in memory. `None` if that takes more than may be allocated.
fn part(machine: &Machine, cpus: &[usize]) -> Option<usize> {
    let seats = machine.cpu_order.seats().iter();
    let of_cpus: Vec<usize> = seats
        .filter(|seat| cpus.contains(&seat.cpu))
        .map(|seat| seat.last_level)
        .collect();
    let sharers = |level: &usize| of_cpus.iter().filter(|other| *other == level).count();
    let fewest = of_cpus.iter().map(sharers).min()?;
    let bytes = (machine.in_memory() / fewest).next_multiple_of(PAGE);
    (bytes * cpus.len() <= machine.largest.max(machine.in_memory())).then_some(bytes)
}

fn cases(machine: &Machine) -> Vec<Case> {
    let mut cases = Vec::new();
    let l2 = machine.middle_of(machine.ranges.l2);
    for threads in threads(machine) {
        let Ok(cpus) = machine.cpu_order.of(threads) else {
            continue;
        };
        let memory = part(machine, &cpus);
        for (name, motion, bytes) in [
            (READ_L2, Motion::Read, Some(l2 / PAGE * PAGE)),
            (READ, Motion::Read, memory),
            (WRITE, Motion::Write, memory),
        ] {
            let Some(bytes) = bytes.filter(|&bytes| bytes > 0) else {
                continue;
            };
            let setup = BandwidthTeamSetup {
                bytes,
                motion,
                mover: Mover::Vectors(PAPER),
                owner: Owner::Each,
                cpus: cpus.clone(),
            };
            cases.push(Case::new(name, threads as f64, setup).in_turn());
        }
    }
    cases
}

/// What each of the most threads gets, over what one gets alone.
fn kept(e: &Evidence<'_>, series: &str, judge: impl Fn(&str, Interval) -> Judged) -> Judged {
    let alone = e.at(series, 1.0)?;
    let (threads, each) = e.last(series)?;
    if threads < 2.0 {
        let cores = e.machine.cpu_order.cores();
        return Err(Untestable(format!(
            "`{series}` was measured with one thread alone, of {cores} cores"
        )));
    }
    let what = format!("`{series}`, each of {threads} threads over one alone");
    judge(&what, ratio(each, alone)?)
}

/// The same in memory.
fn kept_in_memory(e: &Evidence<'_>, series: &str) -> Judged {
    e.at(series, 1.0)?;
    e.machine.place_in_memory(e.machine.in_memory())?;
    kept(e, series, |what, each| at_most(what, each, 1.0))
}

pub(crate) const SHARED_BUS: Experiment = Experiment {
    id: "D25",
    name: "drepper-fsb-shared",
    title: "The way to memory, shared by several threads",
    question: "Does a thread get less of memory's bandwidth if others use it, too?",
    source: "Drepper 3.3.4: one bus between all cores and memory. Each thread has memory of its \
             own, and those that share a last level have four times its size between them",
    about: "A core of today has its own way to the last level, and the memory controllers are in \
            the package. The number of lines that one core can have under way limits it well \
            below what the controllers give, so that a few cores may read as fast each as one \
            alone, and only a crowd shows that they share. In a guest the strangers on the same \
            package are part of the crowd.",
    seen: &[],
    plot: Some(Plot {
        x: Axis::log("threads"),
        y: Axis::log("bandwidth of a thread"),
        ..BYTES_A_CYCLE
    }),
    cases,
    curves: plain_curves,
    events: events::BANDWIDTH,
    claims: &[
        // If one processor can saturate the bus, two or four that share it have even less each.
        measured(
            "D25.1",
            drepper("3.3.4"),
            "with a thread on each core, each thread reads less from memory than one thread \
             alone",
            |e| kept_in_memory(e, READ),
        )
        .failing("One core leaves enough of memory's bandwidth to the others."),
        // The same bus restricts what each processor can write.
        measured(
            "D25.2",
            drepper("3.3.4"),
            "with a thread on each core, each thread writes less to memory than one thread \
             alone",
            |e| kept_in_memory(e, WRITE),
        )
        .failing("One core leaves enough of memory's bandwidth to the others."),
        measured(
            "D25.3",
            ours("the control: what is not shared must not suffer"),
            "with a thread on each core, each thread reads as much from its own L2 as one \
             thread alone (0.9 to 1.1)",
            |e| kept(e, READ_L2, |what, each| between(what, each, 0.9, 1.1)),
        ),
    ],
};
