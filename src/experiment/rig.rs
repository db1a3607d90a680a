//! The rig: measures a case on this thread, and the ladder that all ranges come from.

// Flushes the memory of a pattern before it is walked.
#![allow(unsafe_code)]

use core::sync::atomic::AtomicBool;

use super::cold;
use super::machine::half_octaves;
use super::setup::WalkSetup;
use super::{
    Arena, Case, Context, Measured, Point, Rung, State, Subject, Unit, Untestable, Wish, ranges,
};
use crate::kernel::Work;
use crate::measure::{Buffers, Outcome, Plan, Sample, Watch, one_shot, steady};
use crate::os::{Granted, Pages, Switches};
use crate::pattern::{Layout, Order};
use crate::time::Rate;

/// The most samples a point keeps.
const MOST_SAMPLES: usize = 400;

/// How much time a point may take in a pass, in seconds, and how many passes there are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    /// The most that a warm-up takes.
    pub warm_up: f64,
    /// The most that sampling takes.
    pub sampling: f64,
    /// How often a selection is measured from end to end.
    pub passes: u32,
}

impl Effort {
    /// For a run of about a minute.
    pub const QUICK: Effort = Effort {
        warm_up: 0.2,
        sampling: 0.08,
        passes: 2,
    };

    /// For a run that takes its time.
    pub const FULL: Effort = Effort {
        warm_up: 2.0,
        sampling: 0.5,
        passes: 3,
    };
}

/// Memory, clock and effort: what turns a [`Case`] into a [`Point`].
#[derive(Debug)]
pub struct Rig<'a> {
    rate: Rate,
    context: Context,
    effort: Effort,
    stop: &'a AtomicBool,
    arena: Arena,
    /// Pages that replace those of every case, if any.
    pages: Option<Wish>,
    samples: Vec<Sample>,
    scratch: Vec<f64>,
}

/// Looks at the thread's context switches and CPU.
struct Preemption;

impl Watch for Preemption {
    fn state(&mut self) -> u64 {
        let now = Switches::now();
        let cpu = now.cpu.map_or(u64::MAX, |cpu| cpu as u64);
        // Switches only grow, so a change of either part changes the whole.
        (now.voluntary + now.involuntary) << 16 | cpu & 0xFFFF
    }
}

impl<'a> Rig<'a> {
    /// A rig that measures until `stop` is set.
    pub fn new(rate: Rate, context: Context, effort: Effort, stop: &'a AtomicBool) -> Self {
        Rig {
            rate,
            context,
            effort,
            stop,
            arena: Arena::default(),
            pages: None,
            samples: vec![Sample::default(); MOST_SAMPLES],
            scratch: vec![0.0; MOST_SAMPLES],
        }
    }

    /// Measures every case in `pages`, whatever it asks for.
    pub fn with_pages(self, pages: Option<Pages>) -> Self {
        Rig {
            pages: pages.map(Wish::from),
            ..self
        }
    }

    /// Has the next case laid out in other physical pages.
    pub fn move_house(&mut self) {
        self.arena.renew();
    }

    /// Measures a case. `None` if it was stopped before the first sample.
    pub fn measure(&mut self, case: &Case) -> Option<Point> {
        let state = match self.state_of(case) {
            Ok(state) => state?,
            Err(reason) => State::Untestable(reason),
        };
        Some(Point {
            series: case.series.clone(),
            x: case.x,
            state,
        })
    }

    fn state_of(&mut self, case: &Case) -> Result<Option<State>, Untestable> {
        let pages = self.pages.unwrap_or(case.pages);
        let (region, granted) = self.arena.region(case.setup.bytes(), pages)?;
        let (first, bytes) = (region.bytes().as_ptr(), region.len());
        let mut subject = case.setup.prepare(region, &self.context)?;
        let seconds = |seconds: f64| self.rate.ticks(seconds * 1e9);
        let plan = Plan {
            warm_up_ticks: seconds(self.effort.warm_up),
            stop: Some(self.stop),
            ..Plan::of_seconds(self.rate.hz(), self.effort.sampling)
        };
        let buffers = Buffers {
            samples: &mut self.samples,
            scratch: &mut self.scratch,
        };
        let (outcome, work) = match &mut subject {
            Subject::Count(value) => return Ok(Some(State::Counted(*value))),
            Subject::Steady { kernel, lap } => {
                // SAFETY: the region's memory stays mapped as long as the subject borrows it.
                unsafe { cold::flush(first, bytes, &self.context.features) };
                let plan = Plan {
                    warm_up: *lap,
                    ..plan
                };
                let outcome = steady(kernel.as_mut(), &plan, &mut Preemption, buffers);
                (outcome, kernel.work())
            }
            Subject::Shot { shot, work } => (
                one_shot(shot.as_mut(), &plan, &mut Preemption, buffers),
                *work,
            ),
        };
        Ok(outcome.map(|outcome| {
            let samples = self.samples[..outcome.taken].to_vec();
            State::Measured(Box::new(measured(outcome, work, samples, &granted)))
        }))
    }

    /// Measures the ladder: a random walk, one line an element, from 4 KiB up to `largest` bytes
    /// in half octaves, in 2 MiB pages where there are any: it is to show caches, not the TLB.
    /// Beyond 256 MiB it ends once memory's own level is flat. Calls `each` with every rung; rungs
    /// that could not be measured are left out.
    pub fn ladder(
        &mut self,
        largest: usize,
        seed: u64,
        reported: [Option<f64>; 3],
        mut each: impl FnMut(&Point),
    ) -> Vec<Rung> {
        let levels = reported.iter().flatten().count();
        let mut rungs = Vec::new();
        for bytes in half_octaves(24, 1).take_while(|&bytes| bytes <= largest) {
            let setup = WalkSetup::follow(Layout::npad(7), bytes, Order::Random { seed });
            let case = Case::new(LADDER, bytes as f64, setup).in_large_pages();
            let Some(point) = self.measure(&case) else {
                break;
            };
            rungs.extend(rung_of(&point, self.rate));
            each(&point);
            let far = bytes >= FARTHEST;
            if far && levels == 3 && ranges::flat_in_memory(&rungs, levels) {
                break;
            }
        }
        rungs
    }
}

/// The working set that the ladder reaches in any case, if it may.
const FARTHEST: usize = 256 << 20;

/// The series of the ladder.
pub const LADDER: &str = "random walk, one line an element";

/// The rung that a point of the ladder makes, in core cycles, or in ticks without a yardstick.
pub fn rung_of(point: &Point, rate: Rate) -> Option<Rung> {
    let State::Measured(measured) = &point.state else {
        return None;
    };
    let cost = measured
        .interval(Unit::CoreCycles, rate)
        .unwrap_or(measured.ticks.interval);
    Some(Rung {
        working_set: point.x,
        cost,
    })
}

/// What came of a steady or single measurement, as a point keeps it.
fn measured(outcome: Outcome, work: Work, samples: Vec<Sample>, granted: &Granted) -> Measured {
    Measured {
        ticks: outcome.ticks,
        core_per_tick: outcome.core_per_tick,
        operations: outcome.operations,
        work,
        samples,
        disturbed: outcome.disturbed,
        ended: outcome.ended,
        pages: granted.to_string(),
        passes: Vec::new(),
        counts: Vec::new(),
    }
}
