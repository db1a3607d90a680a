//! Figures 3.25, 3.27 and 3.29: two threads read, write and copy the same memory.

use crate::experiment::claim::verdict::unless_strangers;
use crate::experiment::prelude::*;
use crate::experiment::shared::bandwidth::{BandwidthSetup, BandwidthTeamSetup, Mover, Owner};
use crate::experiment::topics::bandwidth::{
    BY_VECTORS, BYTES_A_CYCLE, COPY, PAPER, READ, WRITE, a_size_a_level, working_sets,
};
use crate::host::Nearness;
use crate::stats::Interval;
use Place::{L1, L2, Llc, Memory};
use Threads::{One, Own, Same};

pub(super) mod figures;

/// The number of threads of a series, and the owner of their memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Threads {
    /// One thread.
    One,
    /// Two threads on the same memory.
    Same,
    /// Two threads, each on memory of its own.
    Own,
}

impl Threads {
    const ALL: [Threads; 3] = [One, Same, Own];

    const fn name(self) -> &'static str {
        match self {
            One => "one thread",
            Same => "same memory",
            Own => "own memory",
        }
    }
}

fn series(what: &str, threads: Threads) -> String {
    format!("{what}, {}", threads.name())
}

/// Where a working set lives.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    L1,
    L2,
    Llc,
    Memory,
}

impl Place {
    pub(super) const fn name(self) -> &'static str {
        match self {
            L1 => "L1d",
            L2 => "L2",
            Llc => "the last level",
            Memory => "memory",
        }
    }

    pub(super) fn range(self, machine: &Machine) -> Range {
        match self {
            L1 => machine.ranges.l1,
            L2 => machine.ranges.l2,
            Llc => machine.ranges.llc,
            Memory => machine.ranges.memory,
        }
    }
}

/// The bandwidth of a thread of a series in a place, in bytes per core cycle.
fn level(
    e: &Evidence<'_>,
    what: &str,
    threads: Threads,
    place: Place,
) -> Result<Interval, Untestable> {
    let label = series(what, threads);
    e.series(&label)?;
    match place {
        Memory => e.at(&label, e.machine.place_in_memory(e.machine.in_memory())?),
        _ => e.level(&label, place.range(e.machine)),
    }
}

/// Two CPUs.
type Pair = Result<[usize; 2], Untestable>;

/// The nearest two on different cores.
fn cores(machine: &Machine) -> Pair {
    let near = machine.cpu_order.nearest();
    let near =
        near.ok_or_else(|| Untestable("the test needs two cores, and there is one".to_owned()))?;
    machine.cpu_order.pair(near)
}

/// Two hyper-threads of one core.
fn hyper_threads(machine: &Machine) -> Pair {
    machine.cpu_order.pair(Nearness::Core)
}

/// The cases of a figure whose threads run on a pair of CPUs; only those of one thread if there is
/// no pair.
fn figure_cases(machine: &Machine, pair: &Pair, kinds: &[Threads]) -> Vec<Case> {
    let sizes = match machine.full {
        true => working_sets(machine),
        false => a_size_a_level(machine),
    };
    let mut cases = Vec::new();
    for bytes in sizes {
        for what in [READ, WRITE, COPY] {
            let made = kinds
                .iter()
                .map(|&kind| case(machine, pair, what, kind, bytes));
            cases.extend(made.flatten());
        }
    }
    crate::experiment::topics::bandwidth::without_repetition(cases)
}

fn case(
    machine: &Machine,
    pair: &Pair,
    what: &str,
    threads: Threads,
    bytes: usize,
) -> Option<Case> {
    let (_, motion) = BY_VECTORS.into_iter().find(|(name, _)| *name == what)?;
    let granularity = motion.granularity();
    let bytes = bytes / granularity * granularity;
    if bytes == 0 {
        return None;
    }
    let mover = Mover::Vectors(PAPER);
    let label = series(what, threads);
    let owner = match threads {
        One => {
            let setup = BandwidthSetup {
                bytes,
                motion,
                mover,
            };
            return Some(Case::new(label, bytes as f64, setup));
        }
        Same => Owner::All,
        Own => Owner::Each,
    };
    let setup = BandwidthTeamSetup {
        bytes,
        motion,
        mover,
        owner,
        cpus: pair.as_ref().ok()?.to_vec(),
    };
    let room = owner == Owner::All || 2 * bytes <= machine.largest;
    room.then(|| Case::new(label, bytes as f64, setup))
}

/// The bandwidth of a thread of a series in a place, if it counts.
type Level<'e> = &'e dyn Fn(&str, Threads, Place) -> Result<Interval, Untestable>;

/// Judges the bandwidth of two threads on a pair of CPUs.
fn of_pair(e: &Evidence<'_>, pair: Pair, judge: &dyn Fn(Level<'_>) -> Judged) -> Judged {
    // Without any point, why there is none is the reason.
    level(e, READ, One, L1)?;
    pair?;
    judge(&|what, threads, place| level(e, what, threads, place))
}

/// Judges the bandwidth of two threads on two cores.
fn of_cores(e: &Evidence<'_>, judge: &dyn Fn(Level<'_>) -> Judged) -> Judged {
    of_pair(e, cores(e.machine), judge)
}

/// The bandwidth of each of two threads over that of one thread alone, in several places.
fn kept(
    level: Level<'_>,
    parts: &[(&str, Threads, Place)],
    judge: impl Fn(&str, Interval) -> Judged,
) -> Judged {
    all_of(parts.iter().map(|&(what, threads, place)| {
        let each = ratio(level(what, threads, place), level(what, One, place))?;
        let what = format!("{what}, {}, {}", threads.name(), place.name());
        judge(&format!("{what}: each of two over one alone"), each)
    }))
}

/// Half, within tolerance.
fn half(what: &str, each: Interval) -> Judged {
    between(what, each, 0.4, 0.65)
}

/// Equal, within tolerance.
fn as_much(what: &str, each: Interval) -> Judged {
    between(what, each, 0.9, 1.1)
}
