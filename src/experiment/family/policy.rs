//! Drepper 3.3.3, write behaviour: what a program can see of the write policies.

use super::explain;
use crate::experiment::evidence::{ratio, share_of_miss};
use crate::experiment::setup::{
    Evict, LineState, Policy, ReadBackSetup, ReloadSetup, RewriteSetup, Then,
};
use crate::experiment::{
    Axis, Case, Claim, Evidence, Experiment, Machine, Plot, Shape, Unit, Untestable, at_least,
    at_most, plain_curves,
};
use crate::kernel::FillWay;
use crate::mem::LINE;
use crate::stats::Interval;

/// The row of this family.
pub(super) static ALL: &[Experiment] = &[POLICIES];

const BACK: &str = "write-back: plain stores";
const THROUGH: &str = "write-through: each store followed by clwb";
const COMBINING: &str = "write-combining: non-temporal stores";
const UNCACHEABLE: &str = "uncacheable";
const ABSENT: &str = "a line in no cache";

/// Where on the axis storing again and again, loading one line and reading a run of lines stand.
const AGAIN: f64 = 0.0;
const RELOAD: f64 = 1.0;
const READ_BACK: f64 = 2.0;

const POLICIES: Experiment = Experiment {
    id: "D22",
    name: "drepper-write-policies",
    title: "Write-back, write-through, write-combining",
    question: "What does a store cost under each write policy, and where is the line afterwards?",
    source: "Drepper 3.3.3, on write-through, write-back, write-combining and uncacheable memory",
    today: "Ordinary memory is write-back, and a program has no other. It comes near to \
            write-through with a `clwb` behind each store, which waits for the one before to reach \
            the memory controller, and to write-combining with non-temporal stores. A variable \
            that is written over and over costs a cycle a store in a write-back cache; the same \
            stores past it cost no more while they meet in one buffer, and their line is gone from \
            the caches. Where `clwb` leaves the line differs: Skylake-SP evicts it, Zen 4 was \
            seen to keep it, not in L1d but about as far away as the last level.",
    plot: Some(Plot {
        shape: Shape::Bars,
        x: Axis::linear(
            "a store to one word again and again (0), a load of a stored line (1), a line of many \
             read back (2)",
        ),
        y: Axis::log("time"),
        unit: Unit::CoreCycles,
        reference: &[],
    }),
    cases,
    curves: plain_curves,
    events: explain::STORES,
    claims: &[
        Claim {
            text: "write-through is slow for a variable that is written over and over: a store \
                   takes more than twice as long as under write-back",
            judge: |e| {
                Ok(at_least(
                    "write-through over write-back",
                    stores(e, THROUGH, BACK)?,
                    2.0,
                ))
            },
        },
        Claim {
            text: "write-combining collects such stores: each takes less than half of one that is \
                   written through",
            judge: |e| {
                let share = stores(e, COMBINING, THROUGH)?;
                Ok(at_most("write-combining over write-through", share, 0.5))
            },
        },
        Claim {
            text: "a store to uncacheable memory is slower than one that is combined",
            judge: |e| {
                let slower = stores(e, UNCACHEABLE, COMBINING)?;
                Ok(at_least("uncacheable over write-combining", slower, 1.0))
            },
        },
        Claim {
            text: "a line under write-back is in the cache when it is loaded again: that takes less \
                   than half of a load from memory",
            judge: |e| Ok(at_most("share of a miss", reload(e, BACK)?, 0.5)),
        },
        Claim {
            text: "so is a line that was written through",
            judge: |e| Ok(at_most("share of a miss", reload(e, THROUGH)?, 0.5)),
        },
        Claim {
            text: "a line written by non-temporal stores is not: it takes 0.8 of a load from memory \
                   and more",
            judge: |e| Ok(at_least("share of a miss", reload(e, COMBINING)?, 0.8)),
        },
        Claim {
            text: "lines enough for half of L2, written by non-temporal stores, take 1.5 times as \
                   long to read back as lines written through the cache",
            judge: |e| {
                let slower = ratio(e.at(COMBINING, READ_BACK)?, e.at(BACK, READ_BACK)?)?;
                Ok(at_least("non-temporal over cached, read back", slower, 1.5))
            },
        },
    ],
};

fn cases(machine: &Machine) -> Vec<Case> {
    let seed = machine.seed;
    let mut cases = Vec::new();
    for (series, policy) in [
        (BACK, Policy::WriteBack),
        (THROUGH, Policy::WriteThrough),
        (COMBINING, Policy::WriteCombining),
        (UNCACHEABLE, Policy::Uncacheable),
    ] {
        cases.push(Case::new(series, AGAIN, RewriteSetup { policy }));
    }
    for (series, state, then) in [
        (ABSENT, LineState::Absent, Then::Nothing),
        (BACK, LineState::Dirty, Then::Nothing),
        (THROUGH, LineState::Dirty, Then::Evict(Evict::Clwb)),
        (COMBINING, LineState::Clean, Then::NonTemporalStores),
    ] {
        cases.push(Case::new(series, RELOAD, ReloadSetup { state, then, seed }));
    }
    let bytes = (machine.ranges.l2.hi as usize).next_multiple_of(LINE);
    for (series, way) in [(BACK, FillWay::Cached), (COMBINING, FillWay::NonTemporal)] {
        let case = Case::new(series, READ_BACK, ReadBackSetup { bytes, way });
        cases.push(case.in_large_pages());
    }
    cases
}

/// The time of a store under one policy over that under another.
fn stores(e: &Evidence<'_>, of: &str, to: &str) -> Result<Interval, Untestable> {
    ratio(e.at(of, AGAIN)?, e.at(to, AGAIN)?)
}

/// The share that loading a line again takes of a load from memory.
fn reload(e: &Evidence<'_>, series: &str) -> Result<Interval, Untestable> {
    share_of_miss(e.at(series, RELOAD)?, e.at(ABSENT, RELOAD)?)
}
