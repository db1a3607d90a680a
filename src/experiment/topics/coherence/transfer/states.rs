//! X13: the first access to a line, by its state in another core's cache.

use crate::experiment::prelude::*;
use crate::experiment::shared::remote::{Held, Want};
use crate::experiment::topics::coherence::sharing::at_least_cores;
use crate::experiment::topics::coherence::transfer::{nearest, remote};
use crate::stats::Interval;

const LOADS: &str = "load";
const ADDITIONS: &str = "locked addition";
const FENCED: &str = "locked addition, a fence behind it";

/// The states of the lines, in the order of the horizontal axis.
const HELD: [Held; 5] = [
    Held::Own,
    Held::Exclusive,
    Held::Modified,
    Held::Shared,
    Held::Nowhere,
];

fn held_at(held: Held) -> f64 {
    let index = HELD.iter().position(|other| *other == held);
    index.unwrap_or(HELD.len()) as f64
}

/// The largest number of readers whose copies are invalidated, if there are enough CPUs.
const MOST_READERS: usize = 15;

const READERS: &str = "locked addition, a fence behind it, all others read the line";

pub(super) const STATES: Experiment = Experiment {
    id: "X13",
    name: "line-states",
    title: "The first access to a line that another core holds",
    question: "How long does an access to a line take, by the state of the line in another core's \
               cache?",
    source: "Drepper 3.3.4, Figure 3.18: the states of a line and who must be informed",
    seen: &[
        seen(
            "Zen 5",
            "Locked additions overlap: in sequence, they took 15.8 ticks on shared lines and 14.2 \
             on lines that the core owned; with a fence after each, 111 and 56.",
        ),
        seen(
            "Zen 4",
            "Locked additions to modified lines overlap if their addresses are known in advance; \
             locked additions to shared lines do not.",
        ),
    ],
    about: "A core accesses 64 lines; each line contains the number of the next, so that a load \
            must finish before the next begins. Before that, the other core has brought the lines \
            into the state on the horizontal axis. A modified line comes from the core that \
            modified it; the directory or a snoop says where a line is. A locked addition must own \
            its line. It takes the line away from another core, and it must first invalidate the \
            copies of other cores, even if the core has the data already. The chart shows \
            additions in two ways. In sequence, an addition may begin before the core owns the \
            line of the previous addition; this is what a program sees. With a fence after each \
            addition, nothing overlaps; this is the latency of the transfer or upgrade plus that \
            of the fence, which additions to owned lines pay as well.",
    plot: Some(Plot::bars(
        Axis::linear(
            "modified here (0), exclusive there (1), modified there (2), shared (3), in memory (4)",
        ),
        Axis::linear("time per access"),
        Unit::Nanoseconds,
    )),
    cases: state_cases,
    curves: |e| e.curves_of(|label| label != READERS),
    claims: &[
        measured(
            "X13.1",
            ours(
                "whether a modified line comes from its core faster than a clean line comes from \
                 memory",
            ),
            "a load of a line that the nearest core has modified takes less time than a load from \
             memory",
            |e| {
                nearest(e)?;
                let there = e.at(LOADS, held_at(Held::Modified))?;
                let memory = e.at(LOADS, held_at(Held::Nowhere))?;
                at_most("modified there over memory", ratio(there, memory), 1.0)
            },
        ),
        measured(
            "X13.2",
            ours("whether the reader pays for the write-back that Figure 3.18 shows"),
            "a load of a line that another core has modified takes 0.75 to 1.33 times as long as a \
             load of a clean line of the same core",
            |e| {
                nearest(e)?;
                let at = |held| e.at(LOADS, held_at(held));
                let dearer = ratio(at(Held::Modified), at(Held::Exclusive));
                between("modified over exclusive", dearer, 0.75, 1.33)
            },
        ),
        measured(
            "X13.3",
            ours("what a program sees of upgrades: the throughput of locked additions"),
            "in sequence, without fences, locked additions to lines that another core has read \
             take more than 3 times as long as locked additions to lines that the core owns",
            |e| {
                nearest(e)?;
                let at = |held| e.at(ADDITIONS, held_at(held));
                at_least(
                    "shared over own",
                    ratio(at(Held::Shared), at(Held::Own)),
                    3.0,
                )
            },
        )
        .holding("The core waits for each line before it begins the next addition.")
        .failing(
            "The core begins an addition before it owns the line of the previous addition: a \
             sequence shows the throughput of upgrades, not their latency.",
        ),
        measured(
            "X13.4",
            ours("whether copies are invalidated one after the other or all at once"),
            "with a fence after each, locked additions to lines that up to 15 other cores have read \
             take less than 1.5 times as long as locked additions to lines that one other core has \
             read",
            readers,
        ),
        measured(
            "X13.5",
            ours("the latency of an upgrade, which a sequence without fences may hide"),
            "the upgrade of a line that another core has read takes more than twice as long as a \
             locked addition to a line that the core owns, timed with a fence after each addition",
            |e| {
                nearest(e)?;
                let at = |series, held| e.at(series, held_at(held));
                let upgrade = upgrade(
                    at(FENCED, Held::Shared)?,
                    at(FENCED, Held::Own)?,
                    at(ADDITIONS, Held::Own)?,
                );
                at_least("upgrade over addition", upgrade, 2.0)
            },
        ),
        measured(
            "X13.6",
            ours("whether an upgrade, which moves no data, takes as long as a transfer"),
            "the upgrade of a line that another core has read takes 0.5 to 2 times as long as the \
             transfer of a line that another core has modified",
            |e| {
                nearest(e)?;
                let at = |held| e.at(FENCED, held_at(held));
                let own = at(Held::Own)?;
                let [upgrade, transfer] =
                    [at(Held::Shared)?, at(Held::Modified)?].map(|there| minus(there, own));
                between("upgrade over transfer", ratio(upgrade, transfer), 0.5, 2.0)
            },
        ),
    ],
    ..Experiment::PLAIN
};

/// Returns the time until a shared line is owned, in multiples of the `addition` to an owned line.
/// This time is the excess of a fenced addition to a `shared` line over a fenced addition to an
/// `own` line; both pay for the fence.
///
/// # Errors
/// If the time of the addition is not certainly above zero.
pub(crate) fn upgrade(shared: Interval, own: Interval, addition: Interval) -> Testable<Interval> {
    let longer = minus(shared, own);
    if addition.lo <= 0.0 {
        return Err(Untestable(format!("a locked addition took {addition}")));
    }
    // The sign decides which end of the addition's interval makes the quotient smallest or largest.
    let quotient = |end: f64, least: bool| {
        let by = if (end > 0.0) == least {
            addition.hi
        } else {
            addition.lo
        };
        end / by
    };
    Ok(Interval::new(
        quotient(longer.lo, true),
        quotient(longer.hi, false),
    ))
}

fn readers(e: &Evidence<'_>) -> Judged {
    at_least_cores(&e.machine.cpu_order, 3)?;
    let one = e.at(FENCED, held_at(Held::Shared))?;
    let (readers, all) = e.last(READERS)?;
    at_most(&format!("{readers} readers over one"), ratio(all, one), 1.5)
}

fn state_cases(machine: &Machine) -> Vec<Case> {
    let Ok([_, other]) = machine.cpu_order.two_cores() else {
        return Vec::new();
    };
    let mut cases = Vec::new();
    for held in HELD {
        let others = match held {
            Held::Own | Held::Nowhere => Vec::new(),
            _ => vec![other],
        };
        let x = held_at(held);
        if held != Held::Shared {
            let setup = remote(held, Want::Read, others.clone());
            cases.push(Case::new(LOADS, x, setup));
        }
        for (series, want) in [(ADDITIONS, Want::Own), (FENCED, Want::OwnFenced)] {
            cases.push(Case::new(series, x, remote(held, want, others.clone())));
        }
    }
    // One thread per core, other than the core of the measuring thread.
    let cores = machine
        .cpu_order
        .cores()
        .saturating_sub(1)
        .min(MOST_READERS);
    if cores > 1 {
        let others: Vec<usize> = machine.cpu_order.seats()[1..=cores]
            .iter()
            .map(|seat| seat.cpu)
            .collect();
        let setup = remote(Held::Shared, Want::OwnFenced, others);
        cases.push(Case::new(READERS, cores as f64, setup));
    }
    cases
}
