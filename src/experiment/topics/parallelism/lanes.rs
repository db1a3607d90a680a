//! How many misses of L1d a core keeps outstanding: random walks in parallel.

use crate::experiment::Point;
use crate::experiment::claim::verdict::untestable;
use crate::experiment::machine::predict::{Places, in_flight, random};
use crate::experiment::prelude::*;
use crate::experiment::shared::count::CountSetup;
use crate::experiment::topics::parallelism::mlp::EVENTS;
use crate::experiment::topics::parallelism::shuffle::in_passes;
use crate::infer::in_parallel;
use crate::kernel::ParallelChase;
use crate::pattern::Lanes;

pub(crate) static ALL: &[Experiment] = &[FILL_BUFFERS];

/// The series of the published number for this core.
pub(crate) const PUBLISHED: &str = "outstanding misses of L1d, as published";

/// The case of the published number of misses that this core keeps outstanding.
pub(crate) fn published() -> Case {
    let missing = "no number of outstanding misses is known to be published for this core";
    CountSetup::published(PUBLISHED, |core| core.outstanding_misses, missing).at(1)
}

pub(crate) const LANES: &str = "a step of one of n walks";

/// Returns the numbers of walks. A full run has every number up to 32, and larger ones in steps.
fn lanes(machine: &Machine) -> Vec<usize> {
    if machine.full {
        let few = 1..=32;
        few.chain([36, 40, 44, 48, 52, 56, 60, 64, 72, 80, 96, 112, 128]).collect()
    } else {
        vec![1, 2, 4, 8, 10, 12, 14, 16, 18, 20, 22, 24, 28, 32, 40, 48, 56, 64, 80, 96, 128]
    }
}

const FILL_BUFFERS: Experiment = Experiment {
    id: "X10",
    name: "fill-buffers",
    title: "Random walks in parallel",
    question: "How many misses of L1d does a core keep outstanding?",
    source: "Beyond Startin: the limit of the misses in flight of A3, which Little's law and the \
             counters show; D. Lemire's program testingmlp (2018)",
    about: "One thread steps through several independent random lists in turn. The axis is the \
            number of walks, the height the time per step. While the core has a buffer for the \
            miss of each walk, the misses overlap and the time per step falls with the number of \
            walks. With more walks than buffers, a walk waits for another, and the time stays \
            level or rises a little. With small pages, TLB misses add page walks beside the \
            loads; some cores have fewer page walkers than buffers for misses.",
    plot: Some(Plot::nanoseconds(Axis::log("walks in parallel"), Axis::log("time per step"))),
    cases: |machine| {
        let setup =
            |lanes| LanesSetup { working_set: machine.in_memory(), lanes, seed: machine.seed };
        let walk = |lanes| Case::new(LANES, lanes as f64, setup(lanes)).in_large_pages();
        let mut cases: Vec<Case> = lanes(machine).into_iter().map(walk).collect();
        cases.push(published());
        cases
    },
    curves: |e| e.curves_of(|label| label == LANES),
    events: EVENTS,
    claims: &[
        measured(
            "X10.1",
            ours("the cost of a miss depends on how many misses are in flight"),
            "in memory, a step of eight random walks in parallel takes less than a quarter of the \
             time of a step of one walk",
            |e| {
                e.machine.memory_size()?;
                at_most("eight walks over one", in_passes(e, (LANES, 8.0), (LANES, 1.0)), 0.25)
            },
        ),
        measured(
            "X10.2",
            ours(
                "the published numbers of outstanding misses of L1d were 8 to 24 until 2022: does \
                 a core keep more?",
            ),
            "the time per step stops falling at 32 random walks in parallel or fewer",
            |e| at_most("walks that reach the shortest time", reached(e), 32.0),
        ),
        measured(
            "X10.3",
            ours("does a measurement find the published number of the core?"),
            "the number of random walks that reaches the shortest time per step is the published \
             number of outstanding misses of L1d, within 20 %",
            |e| {
                let published = e.at(PUBLISHED, 1.0)?.middle();
                // Rounded to one decimal digit.
                let share = |tenths: f64| (tenths * published).round() / 10.0;
                let judged = between(
                    "walks that reach the shortest time",
                    reached(e),
                    share(8.0),
                    share(12.0),
                )?;
                let is_limited = judged.verdict == Verdict::DoesNotHold && in_small_pages(e);
                Ok(if is_limited { untestable(judged, FEW_WALKERS) } else { judged })
            },
        ),
    ],
    ..Experiment::PLAIN
};

/// Why another number of walks than the published one says nothing about the buffers.
const FEW_WALKERS: &str =
    "the walks were granted 4 KiB pages, and page walkers may limit them instead";

/// Whether walks were granted pages of 4 KiB, all or in part.
fn in_small_pages(e: &Evidence<'_>) -> bool {
    let walks = e.points.iter().filter(|point| point.series == LANES);
    walks.filter_map(Point::measured).any(|of| {
        let starts = |with: &&str| of.pages.starts_with(with);
        ["4 KiB", "mixed"].iter().any(starts)
    })
}

/// Returns how many walks reach the shortest time per step.
fn reached(e: &Evidence<'_>) -> Testable<Interval> {
    e.machine.memory_size()?;
    let reached = in_parallel(&e.series(LANES)?);
    reached.ok_or_else(|| {
        Untestable("the limit needs measured times of at least three numbers of walks".to_owned())
    })
}

/// Set-up of walks along random rings in parts of one working set. An operation is a step in one
/// ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LanesSetup {
    /// Bytes of all rings together.
    pub working_set: usize,
    pub lanes: usize,
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

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Testable<Workload<'m>> {
        let lanes = Lanes::new(region, self.lanes, self.lines(), self.seed)?;
        Ok(Workload::steady(ParallelChase::new(lanes), self.lines() as u64))
    }

    fn predict(&self, parameters: &Parameters<'_>) -> Option<Forecast> {
        let step = random(parameters, Places::lines(self.lines()), None)?;
        let in_flight = in_flight(parameters, self.lanes)?;
        Some(step.then(step.cycles / in_flight, &SIDE_BY_SIDE))
    }
}

static SIDE_BY_SIDE: Model = Model {
    name: "a random step over the number of walks, or of buffers if that is smaller",
    basis: Basis::Published,
    bar: 0.25,
    leaves_out: "page walks, of which fewer than misses can be in flight",
};
