//! How many misses of L1d a core keeps outstanding: random walks side by side.

use crate::cpu::Identity;
use crate::experiment::machine::predict::{Places, in_flight, random};
use crate::experiment::prelude::*;
use crate::experiment::shared::count::CountSetup;
use crate::experiment::topics::parallelism::mlp::EVENTS;
use crate::experiment::topics::parallelism::shuffle::in_passes;
use crate::infer::in_parallel;
use crate::kernel::ParallelChase;
use crate::mem::{LINE, Region};
use crate::pattern::Lanes;
use crate::stats::Interval;

/// The rows of this family.
pub(crate) static ALL: &[Experiment] = &[FILL_BUFFERS];

/// The series of what is published of this core.
pub(crate) const PUBLISHED: &str = "outstanding misses of L1d, as published";

/// The published number of misses that this core keeps outstanding.
pub(crate) fn published() -> Case {
    let setup = CountSetup {
        name: PUBLISHED,
        bytes: 0,
        count: |_, _| {
            let core = Identity::detect().core();
            let published = core.and_then(|core| core.outstanding_misses.value());
            published.map(f64::from).ok_or_else(|| {
                Untestable("nothing is known to be published for this core".to_owned())
            })
        },
        argument: 0,
    };
    Case::new(PUBLISHED, 1, setup)
}

const LANES: &str = "a step of one of n walks";

/// Numbers of walks: each that a core of today may end at in a full run.
fn lanes(machine: &Machine) -> Vec<usize> {
    if machine.full {
        let few = 1..=32;
        let more = [36, 40, 44, 48, 52, 56, 60, 64, 72, 80, 96, 112, 128];
        few.chain(more).collect()
    } else {
        vec![
            1, 2, 4, 8, 10, 12, 14, 16, 18, 20, 22, 24, 28, 32, 40, 48, 56, 64, 80, 96, 128,
        ]
    }
}

const FILL_BUFFERS: Experiment = Experiment {
    id: "X10",
    name: "fill-buffers",
    title: "Random walks side by side",
    question: "How many misses of L1d does a core keep outstanding?",
    source: "Beyond Startin: the number that Little's law and the counters of A3 end at; D. Lemire's \
             program testingmlp (2018)",
    seen: &[],
    about: "Walks side by side cost nothing as long as there is a buffer for the miss of each; \
            from then on a walk waits for another, and more of them gain nothing, or lose a \
            little. Where the pages are small and the TLB is missed too, page walks are \
            outstanding beside the loads, and some cores have walkers for fewer of them than \
            buffers.",
    plot: Some(Plot::lines(
        Axis::log("walks side by side"),
        Axis::log("time of a step"),
        Unit::Nanoseconds,
    )),
    cases: |machine| {
        let setup = |lanes| LanesSetup {
            working_set: machine.in_memory(),
            lanes,
            seed: machine.seed,
        };
        let walk = |lanes| Case::new(LANES, lanes as f64, setup(lanes)).in_large_pages();
        let mut cases: Vec<Case> = lanes(machine).into_iter().map(walk).collect();
        cases.push(published());
        cases
    },
    curves: |e| {
        let mut curves = plain_curves(e);
        curves.retain(|curve| curve.label == LANES);
        curves
    },
    events: EVENTS,
    claims: &[
        measured(
            "X10.1",
            ours("what the misses of a core cost depends on how many are under way"),
            "in memory, a step of eight random walks side by side takes less than a quarter of \
             the time of a step of one walk",
            |e| {
                e.machine.place_in_memory(e.machine.in_memory())?;
                at_most(
                    "eight walks over one",
                    in_passes(e, (LANES, 8.0), (LANES, 1.0)),
                    0.25,
                )
            },
        ),
        measured(
            "X10.2",
            ours(
                "published numbers of outstanding misses of L1d were 8 to 24 until 2022: does a \
                 core keep more?",
            ),
            "the time of a step stops falling before there are 32 random walks side by side",
            |e| at_most("walks that reach the shortest time", reached(e), 32.0),
        ),
        measured(
            "X10.3",
            ours("does a measurement find the number that is published for the core?"),
            "the number of random walks that reaches the shortest time of a step is the published \
             number of outstanding misses of L1d, to 20 %",
            |e| {
                let published = e.at(PUBLISHED, 1.0)?.middle();
                // To a digit that can be read.
                let share = |tenths: f64| (tenths * published).round() / 10.0;
                between(
                    "walks that reach the shortest time",
                    reached(e),
                    share(8.0),
                    share(12.0),
                )
            },
        ),
    ],
};

/// How many walks reach the shortest time of a step.
fn reached(e: &Evidence<'_>) -> Result<Interval, Untestable> {
    e.machine.place_in_memory(e.machine.in_memory())?;
    let reached = in_parallel(&e.series(LANES)?);
    reached.ok_or_else(|| {
        Untestable("it takes times of three numbers of walks, and more, above 0".to_owned())
    })
}

/// Random rings in parts of one working set. An operation is a step in one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LanesSetup {
    /// Bytes of all rings together.
    pub working_set: usize,
    /// How many there are.
    pub lanes: usize,
    /// Decides their orders.
    pub seed: u64,
}

impl LanesSetup {
    fn lines(&self) -> usize {
        self.working_set / LINE
    }
}

impl Setup for LanesSetup {
    fn bytes(&self) -> usize {
        Lanes::span(self.lines())
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Result<Workload<'m>, Untestable> {
        let lanes = Lanes::new(region, self.lanes, self.lines(), self.seed)?;
        Ok(Workload::steady(
            ParallelChase::new(lanes),
            self.lines() as u64,
        ))
    }

    fn predict(&self, parameters: &Parameters<'_>) -> Option<Forecast> {
        let step = random(parameters, Places::lines(self.lines()), None)?;
        let in_flight = in_flight(parameters, self.lanes)?;
        Some(step.then(step.cycles / in_flight, &SIDE_BY_SIDE))
    }
}

static SIDE_BY_SIDE: Model = Model {
    name: "a random step, so many at a time as there are buffers",
    basis: Basis::Published,
    bar: 0.25,
    leaves_out: "page walks, of which fewer are under way at once than misses",
};
