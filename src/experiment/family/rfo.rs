//! Drepper 3.3.4, the two situations in which a core must ask for ownership of lines.

use super::transfer::remote;
use super::word::paired_at;
use crate::experiment::evidence::ratio;
use crate::experiment::setup::{Held, Lap, MigrateSetup, Want};
use crate::experiment::{
    Case, Claim, Evidence, Experiment, Machine, Plot, Untestable, at_least, at_most, plain_curves,
};
use crate::mem::LINE;
use crate::pattern::Layout;
use crate::stats::Interval;

/// The rows of this family.
pub(super) static ALL: &[Experiment] = &[SITUATIONS];

const LAPS: [(&str, Lap); 3] = [
    ("the thread stays", Lap::Home),
    ("the first lap after a move", Lap::First),
    ("the second lap after a move", Lap::Second),
];

const OWN: &str = "a write to a line of one's own";
const READ: &str = "a write to a line that another core has read";

/// The measuring CPU, and the nearest one on another core.
fn cpus(machine: &Machine) -> Result<[usize; 2], Untestable> {
    let near = machine.seating.nearest();
    let near = near.ok_or_else(|| Untestable("it takes two cores, and there is one".to_owned()))?;
    machine.seating.pair(near)
}

/// Working sets in the middle of L1d and of L2, by name.
fn sizes(machine: &Machine) -> [(&'static str, usize); 2] {
    let ranges = &machine.ranges;
    [("L1d", ranges.l1), ("L2", ranges.l2)].map(|(name, range)| (name, machine.middle_of(range)))
}

const SITUATIONS: Experiment = Experiment {
    id: "D24",
    name: "drepper-rfo-situations",
    title: "A thread that moves to another core, and a line that two cores need",
    question: "What does it cost to take over lines that another core has changed?",
    source: "Drepper 3.3.4: the two situations in which requests for ownership are necessary. A \
             thread changes all elements of a list on one core, is moved to the nearest other one, \
             and goes on",
    today: "The thread's lines stay behind, modified, in the caches of the core that it left. The \
            first lap fetches every one of them from there, at the price of a transfer each, and \
            the second finds them at hand: the price is paid once a move and not a lap, but for a \
            list in L2 it is that of a whole lap in the last level or worse. A list in L1d is \
            walked so quickly that its first lap's last requests for ownership are still under way \
            in the second. What the first lap also pays for is a core whose TLB and branch \
            predictors know nothing of the thread. A \
            line that is truly shared is paid for again whenever the other core has looked at it; \
            X13 has the price by state, and B8 what becomes of programs that write one line.",
    plot: Plot::over_working_set(&[]),
    cases: |machine| {
        let Ok(cpus) = cpus(machine) else {
            return Vec::new();
        };
        let layout = Layout::npad(7);
        let mut cases = Vec::new();
        for (_, bytes) in sizes(machine) {
            for (series, lap) in LAPS {
                let setup = MigrateSetup {
                    layout,
                    count: layout.count(bytes).max(1),
                    lap,
                    cpus,
                    seed: machine.seed,
                };
                cases.push(Case::new(series, bytes as f64, setup));
            }
        }
        // As in the table of line states, so that they are measured once.
        for (series, held, others) in [
            (OWN, Held::Own, Vec::new()),
            (READ, Held::Shared, vec![cpus[1]]),
        ] {
            cases.push(Case::new(
                series,
                LINE as f64,
                remote(held, Want::Own, others),
            ));
        }
        cases
    },
    curves: |e| {
        let mut curves = plain_curves(e);
        curves.retain(|curve| LAPS.iter().any(|(name, _)| *name == curve.label));
        curves
    },
    events: &[],
    claims: &[
        Claim {
            text: "of a list that L2 holds the first lap after a move takes more than 1.5 times as \
                   long as one of a thread that stays",
            judge: |e| {
                let [_, (_, l2)] = sizes(e.machine);
                let slower = over_staying(e, LAPS[1].0, l2)?;
                Ok(at_least("first lap over staying, L2", slower, 1.5))
            },
        },
        Claim {
            text: "so it does of one that L1d holds",
            judge: |e| {
                let [(_, l1), _] = sizes(e.machine);
                let slower = over_staying(e, LAPS[1].0, l1)?;
                Ok(at_least("first lap over staying, L1d", slower, 1.5))
            },
        },
        Claim {
            text: "lines move over once: the second lap of a list that L2 holds takes less than \
                   1.2 times as long as one of a thread that stays",
            judge: |e| {
                let [_, (_, l2)] = sizes(e.machine);
                let slower = over_staying(e, LAPS[2].0, l2)?;
                Ok(at_most("second lap over staying, L2", slower, 1.2))
            },
        },
        Claim {
            text: "a line that two cores need costs its writer more than 1.5 times as much as one \
                   of its own",
            judge: |e| {
                cpus(e.machine)?;
                let at = |series| e.at(series, LINE as f64);
                Ok(at_least(
                    "shared over own",
                    ratio(at(READ)?, at(OWN)?)?,
                    1.5,
                ))
            },
        },
    ],
};

/// A lap over one of a thread that stays.
fn over_staying(e: &Evidence<'_>, lap: &str, bytes: usize) -> Result<Interval, Untestable> {
    cpus(e.machine)?;
    paired_at(e, lap, LAPS[0].0, bytes as f64)
}
