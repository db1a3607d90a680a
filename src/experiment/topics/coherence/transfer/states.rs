//! X13: the first access to a line, by its state in another core's cache.

use crate::experiment::prelude::*;
use crate::experiment::shared::remote::{Held, Want};
use crate::experiment::topics::coherence::transfer::{nearest, remote};
use crate::stats::Interval;

const LOADS: &str = "load";
const ADDITIONS: &str = "locked addition";
const FENCED: &str = "locked addition, a fence behind it";

/// The places of the states on the axis.
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

/// Of so many readers, as far as there are CPUs, a line is taken away from.
const MOST_READERS: usize = 15;

const READERS: &str = "locked addition, a fence behind it, all others read the line";

pub(super) const STATES: Experiment = Experiment {
    id: "X13",
    name: "line-states",
    title: "The first access to a line that another core holds",
    question: "What does a line's state in another cache cost the one who wants it?",
    source: "Drepper 3.3.4, Figure 3.18: the states of a line and who must be told",
    seen: &[
        seen(
            "Zen 5",
            "Locked additions overlap: to shared lines they took 15.8 ticks in sequence beside \
             14.2 to own ones, and with a fence behind each 111 beside 56.",
        ),
        seen(
            "Zen 4",
            "Locked additions to modified lines overlap if their addresses are known beforehand; \
             those to shared lines do not.",
        ),
    ],
    about: "A load finds the line where the directory or the snoop says; a modified line comes \
            from the core that modified it. A locked addition must own the line: from another \
            core it takes it away, and copies that others share must be invalidated first, \
            though the data are at hand. 64 lines are accessed one after the other, each by the \
            number that the one before it held; the other core has brought them into their state \
            before. Two costs are told apart. In sequence an addition may begin before the line \
            of the one before is owned: that is what a program sees. With a fence behind it, \
            nothing begins before: that is the latency of the transfer or of the upgrade, and of \
            the fence, which additions to own lines pay as well.",
    plot: Some(Plot::bars(
        Axis::linear(
            "modified here (0), exclusive there (1), modified there (2), shared (3), in memory (4)",
        ),
        Axis::linear("time of an access"),
        Unit::Nanoseconds,
    )),
    events: &[],
    cases: state_cases,
    curves: |e| {
        let mut curves = plain_curves(e);
        curves.retain(|curve| curve.label != READERS);
        curves
    },
    claims: &[
        measured(
            "X13.1",
            ours(
                "whether a modified line comes from its core more quickly than a clean one from \
                 memory",
            ),
            "a line that a near core has modified is loaded in less time than one from memory",
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
            "a line that a core has modified costs its reader as much as a clean one of the same \
             core, to a third",
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
             take more than 3 times as long as to lines of one's own",
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
            "The core begins an addition before it owns the line of the one before: a sequence \
             shows its throughput, and not how long an upgrade takes.",
        ),
        measured(
            "X13.4",
            ours("whether copies are invalidated one after the other or all at once"),
            "behind a fence each, locked additions to lines that all other cores have read take \
             less than 1.5 times as long as to lines that one has read",
            readers,
        ),
        measured(
            "X13.5",
            ours("the latency of an upgrade, which a sequence without fences may hide"),
            "until a line that another core has read is owned, more than twice the time of a locked \
             addition to a line of one's own passes: a fence behind each shows it",
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
            ours("whether an upgrade, for which the data are at hand, takes as long as a transfer"),
            "until a line that another core has read is owned, 0.5 to 2 times as much time passes \
             as until one that it modified is",
            |e| {
                nearest(e)?;
                let at = |held| e.at(FENCED, held_at(held));
                let own = at(Held::Own)?;
                let [upgrade, transfer] =
                    [at(Held::Shared)?, at(Held::Modified)?].map(|there| longer(there, own));
                between("upgrade over transfer", ratio(upgrade, transfer), 0.5, 2.0)
            },
        ),
    ],
};

/// What `there` takes longer than `own`.
fn longer(there: Interval, own: Interval) -> Interval {
    Interval::new(there.lo - own.hi, there.hi - own.lo)
}

/// How many times the `addition` to a line of one's own passes until a shared line is owned: what
/// a fenced addition to it takes longer than one to an `own` line, for which the fence is paid as
/// well.
///
/// # Errors
/// If the addition took no time.
pub(crate) fn upgrade(
    shared: Interval,
    own: Interval,
    addition: Interval,
) -> Result<Interval, Untestable> {
    let longer = longer(shared, own);
    if addition.lo <= 0.0 {
        return Err(Untestable(format!("a locked addition took {addition}")));
    }
    // The end of the addition that makes the quotient least, or most, depends on the sign.
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
    let one = e.at(FENCED, held_at(Held::Shared))?;
    let (readers, all) = e.last(READERS)?;
    at_most(&format!("{readers} readers over one"), ratio(all, one), 1.5)
}

fn state_cases(machine: &Machine) -> Vec<Case> {
    let near = machine.cpu_order.nearest();
    let Some(Ok([_, other])) = near.map(|near| machine.cpu_order.pair(near)) else {
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
    // One thread a core, the measuring one's left out.
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
