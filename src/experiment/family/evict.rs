//! Beyond the documents: what it costs to move a line outwards, and where it is afterwards.

use super::explain;
use crate::experiment::evidence::{ratio, share_of_miss};
use crate::experiment::setup::{Evict, EvictSetup, LineState, ReloadSetup, Then};
use crate::experiment::{
    Axis, Case, Claim, Evidence, Experiment, Judgement, Machine, Plot, Shape, Unit, Untestable,
    all_of, at_least, at_most, plain_curves,
};
use crate::stats::Interval;

/// The row of this family.
pub(super) static ALL: &[Experiment] = &[FLUSHES];

const INSTRUCTIONS: [Evict; 4] = [
    Evict::Clflush,
    Evict::Clflushopt,
    Evict::Clwb,
    Evict::Cldemote,
];

const STATES: [(&str, LineState); 3] = [
    ("in no cache", LineState::Absent),
    ("clean", LineState::Clean),
    ("dirty", LineState::Dirty),
];

const FENCE: &str = "mfence alone";
const CACHED: &str = "load of a line in L1d";
const ABSENT: &str = "load of a line in no cache";

/// Lines of a run.
const LINES: [u32; 5] = [1, 4, 16, 64, MANY];
const MANY: u32 = EvictSetup::MOST_LINES as u32;

const FLUSHES: Experiment = Experiment {
    id: "X4",
    name: "flush-cost",
    title: "Flushing lines, and writing them back",
    question: "What do clflush, clflushopt, clwb and cldemote cost, and where is the line then?",
    source: "beyond the documents; Intel SDM volume 2A, CLFLUSH, CLFLUSHOPT, CLWB, CLDEMOTE",
    today: "One line takes as long as a load from memory or longer, with the fence that waits for \
            it; lines in one go overlap, and each costs a small part of that. On Intel's CPUs `clflush` waits \
            for the one before and `clflushopt` does not; on AMD's both are as fast. `clwb` may \
            evict the line all the same: Skylake-SP does, Zen 4 was seen to keep it beyond L1d.",
    plot: Some(Plot {
        shape: Shape::Lines,
        x: Axis::log("lines in one go"),
        y: Axis::log("time a line"),
        unit: Unit::CoreCycles,
        reference: &[],
    }),
    cases,
    curves: |e| {
        let mut curves = plain_curves(e);
        curves.retain(|curve| !curve.label.starts_with("load "));
        curves
    },
    events: explain::CONFLICTS,
    claims: &[
        Claim {
            text: "flushes overlap: of 128 dirty lines each takes less than half of one alone by \
                   clflushopt",
            judge: |e| {
                let dirty = flushed(Evict::Clflushopt, "dirty");
                let share = ratio(e.at(&dirty, MANY.into())?, e.at(&dirty, 1.0)?)?;
                Ok(at_most("a line of 128 over one alone", share, 0.5))
            },
        },
        Claim {
            text: "clflush is ordered and clflushopt is not: 128 dirty lines take more than 1.1 \
                   times as long by clflush",
            judge: |e| {
                let of = |by| e.at(&flushed(by, "dirty"), MANY.into());
                let slower = ratio(of(Evict::Clflush)?, of(Evict::Clflushopt)?)?;
                Ok(at_least("clflush over clflushopt", slower, 1.1))
            },
        },
        Claim {
            text: "a dirty line takes longer to flush than a clean one, which memory has already",
            judge: |e| {
                let slower = one_line(e, Evict::Clflush, "dirty", "clean")?;
                Ok(at_least("dirty over clean", slower, 1.0))
            },
        },
        Claim {
            text: "a line that is in no cache takes less time to flush than a clean one in L1d",
            judge: |e| {
                let share = one_line(e, Evict::Clflush, "in no cache", "clean")?;
                Ok(at_most("in no cache over clean", share, 1.0))
            },
        },
        Claim {
            text: "a flushed line has to come from memory: its load takes 0.8 of one that is in no \
                   cache and more",
            judge: |e| {
                let parts = [Evict::Clflush, Evict::Clflushopt].map(|by| {
                    let share = reloaded(e, by)?;
                    let what = format!("share of a miss after {}", by.name());
                    Ok(at_least(&what, share, 0.8))
                });
                Ok(all_of(parts.into_iter().collect::<Result<Vec<_>, _>>()?))
            },
        },
        Claim {
            text: "clwb keeps the line in a cache: its load takes less than half of one that is in \
                   none",
            judge: |e| nearer(e, Evict::Clwb),
        },
        Claim {
            text: "cldemote leaves the line in a cache, too",
            judge: |e| nearer(e, Evict::Cldemote),
        },
        Claim {
            text: "cldemote takes the line out of L1d: its load takes 5 core cycles longer and more",
            judge: |e| {
                let (after, before) = (e.at(&reload(Evict::Cldemote), 1.0)?, e.at(CACHED, 1.0)?);
                let longer = Interval::new(after.lo - before.hi, after.hi - before.lo);
                Ok(at_least("core cycles longer", longer, 5.0))
            },
        },
    ],
};

fn flushed(by: Evict, state: &str) -> String {
    format!("{}, {state}", by.name())
}

fn reload(by: Evict) -> String {
    format!("load after {} of a dirty line", by.name())
}

fn cases(machine: &Machine) -> Vec<Case> {
    let seed = machine.seed;
    let mut cases = Vec::new();
    let run = |by, state, lines: u32| EvictSetup {
        by,
        state,
        lines: lines as usize,
        seed,
    };
    cases.push(Case::new(FENCE, 1, run(None, LineState::Clean, 1)));
    for by in INSTRUCTIONS {
        for (name, state) in STATES {
            let series = flushed(by, name);
            cases.extend(
                LINES.map(|lines| Case::new(series.clone(), lines, run(Some(by), state, lines))),
            );
        }
    }
    let load =
        |series: String, state, then| Case::new(series, 1, ReloadSetup { state, then, seed });
    cases.push(load(ABSENT.to_owned(), LineState::Absent, Then::Nothing));
    cases.push(load(CACHED.to_owned(), LineState::Dirty, Then::Nothing));
    cases.extend(INSTRUCTIONS.map(|by| load(reload(by), LineState::Dirty, Then::Evict(by))));
    cases
}

/// The time of one line in one state over that of one in another.
fn one_line(e: &Evidence<'_>, by: Evict, of: &str, to: &str) -> Result<Interval, Untestable> {
    ratio(e.at(&flushed(by, of), 1.0)?, e.at(&flushed(by, to), 1.0)?)
}

/// The share that a load behind `by` takes of a load of a line in no cache.
fn reloaded(e: &Evidence<'_>, by: Evict) -> Result<Interval, Untestable> {
    share_of_miss(e.at(&reload(by), 1.0)?, e.at(ABSENT, 1.0)?)
}

/// Judges that a load behind `by` takes less than half of one of a line in no cache.
fn nearer(e: &Evidence<'_>, by: Evict) -> Result<Judgement, Untestable> {
    let what = format!("share of a miss after {}", by.name());
    Ok(at_most(&what, reloaded(e, by)?, 0.5))
}
