//! A case laid out in memory: timed, then counted.

// Flushes the memory of a pattern before it is walked.
#![allow(unsafe_code)]

use crate::counters::{Each, of_kernel, of_shot};
use crate::experiment::rig::{cold, crew};
use crate::experiment::{
    Arena, Case, Context, DisturbanceMonitor, PageRequest, SampleOf, ThreadStats, Untestable,
    Workload,
};
use crate::kernel::Work;
use crate::measure::{Buffers, Outcome, Plan, one_shot, steady};
use crate::os::perf::{Event, Group, Refusal};
use crate::os::{BackgroundLoad, BackgroundProcess, Granted};
use crate::time::Rate;

/// A case laid out in memory.
pub(crate) struct PreparedCase<'m> {
    pub subject: Workload<'m>,
    /// The pages that it got.
    pub granted: Granted,
    /// The threads, once they were timed, if it takes several.
    pub crew: Option<ThreadStats>,
    context: Context,
    first: *const u8,
    /// Bytes to flush.
    bytes: usize,
}

impl<'m> PreparedCase<'m> {
    /// Lays `case` out in `pages`.
    pub fn new(
        case: &Case,
        arena: &'m mut Arena,
        pages: PageRequest,
        context: Context,
    ) -> Result<Self, Untestable> {
        let (region, granted) = arena.region(case.setup.bytes(), pages)?;
        let first = region.bytes().as_ptr();
        // To flush addresses without memory would give them some.
        let sparse = pages == PageRequest::Reserved;
        let bytes = if sparse { 0 } else { region.len() };
        Ok(PreparedCase {
            subject: case.setup.prepare(region, &context)?,
            granted,
            crew: None,
            context,
            first,
            bytes,
        })
    }

    /// Times it, from cold memory on. `None` if it was stopped before the first sample, or if
    /// there is nothing to time.
    ///
    /// # Errors
    /// If it takes threads or a second process that cannot be had.
    pub fn time(
        &mut self,
        rate: Rate,
        plan: &Plan<'_>,
        alone: &mut DisturbanceMonitor,
        buffers: Buffers<'_>,
    ) -> Result<Option<Outcome>, Untestable> {
        if let Workload::Steady { .. }
        | Workload::Beside { .. }
        | Workload::ThreadGroup { .. }
        | Workload::Helped { .. } = self.subject
        {
            // SAFETY: the region's memory stays mapped as long as the subject borrows it.
            unsafe { cold::flush(self.first, self.bytes, &self.context.features) };
        }
        let lapped = |period| Plan {
            warm_up: period,
            ..*plan
        };
        Ok(match &mut self.subject {
            Workload::Count(_) => None,
            Workload::Steady { kernel, period } => {
                steady(kernel.as_mut(), &lapped(*period), alone, buffers)
            }
            Workload::Beside {
                kernel,
                period,
                chore,
            } => beside(*chore, || {
                steady(kernel.as_mut(), &lapped(*period), alone, buffers)
            })?,
            Workload::ThreadGroup {
                members,
                pace,
                period,
                in_step,
            } => {
                let plan = lapped(*period);
                let timed = crew::at_once(members, *pace, *in_step, rate, &plan, buffers)?;
                timed.map(|(outcome, crew)| {
                    self.crew = Some(crew);
                    outcome
                })
            }
            Workload::Runs {
                members,
                renew,
                operations,
                less,
            } => {
                let runs = crew::Runs {
                    renew: renew.as_mut(),
                    operations: *operations,
                    less: *less,
                };
                let timed = crew::runs(members, runs, rate, plan, buffers)?;
                timed.map(|(outcome, crew)| {
                    self.crew = Some(crew);
                    outcome
                })
            }
            Workload::Helped {
                members,
                period,
                leash,
            } => {
                let plan = lapped(*period);
                let timed = crew::at_once(members, SampleOf::First, true, rate, &plan, buffers)?;
                timed.map(|(outcome, crew)| {
                    let lead = leash.leads();
                    self.crew = Some(ThreadStats { lead, ..crew });
                    outcome
                })
            }
            Workload::Shot { shot, .. } => one_shot(shot.as_mut(), plan, alone, buffers),
        })
    }

    /// What an operation does.
    pub fn work(&self) -> Work {
        match &self.subject {
            Workload::Steady { kernel, .. } | Workload::Beside { kernel, .. } => kernel.work(),
            Workload::ThreadGroup { members, .. }
            | Workload::Runs { members, .. }
            | Workload::Helped { members, .. } => members
                .first()
                .map_or_else(Work::default, |member| member.kernel.work()),
            Workload::Shot { work, .. } => *work,
            Workload::Count(_) => Work::default(),
        }
    }

    /// Counts `events` of an operation, around stretches of `operations` and twice as many. As
    /// many events at a time as the PMU counts, so that none takes turns with another.
    pub fn each(&mut self, events: &[Event], operations: u64) -> Vec<Result<Each, Refusal>> {
        let mut counts = Vec::with_capacity(events.len());
        while counts.len() < events.len() {
            let group = Group::of_first(&events[counts.len()..]);
            let idle = (0..group.len()).all(|place| group.refusal(place).is_some());
            let each = match &mut self.subject {
                _ if idle => Ok(vec![None; group.len()]),
                Workload::Steady { kernel, .. } => of_kernel(kernel.as_mut(), operations, &group),
                Workload::Beside { kernel, chore, .. } => {
                    let counted = || of_kernel(kernel.as_mut(), operations, &group);
                    beside(*chore, counted)
                        .map_err(std::io::Error::other)
                        .flatten()
                }
                Workload::Shot { shot, .. } => of_shot(shot.as_mut(), &group),
                Workload::ThreadGroup { .. } | Workload::Runs { .. } | Workload::Helped { .. } => {
                    Err(std::io::Error::other(
                        "events are counted of one thread, and these are several",
                    ))
                }
                Workload::Count(_) => Ok(vec![None; group.len()]),
            };
            let silent = each
                .as_ref()
                .err()
                .map(|error| Refusal::Other(error.to_string()));
            let each = each.unwrap_or_else(|_| vec![None; group.len()]);
            counts.extend(each.into_iter().enumerate().map(|(place, each)| {
                match (group.refusal(place), &silent) {
                    (Some(refusal), _) | (None, Some(refusal)) => Err(refusal.clone()),
                    (None, None) => each.ok_or(Refusal::Busy),
                }
            }));
        }
        counts
    }
}

/// What comes of `measure` while a second process is at work.
///
/// # Errors
/// If there is none, or if it stopped meanwhile: nothing was measured beside it then.
fn beside<T>(chore: BackgroundLoad, measure: impl FnOnce() -> T) -> Result<T, Untestable> {
    let mut neighbour = BackgroundProcess::start(chore).map_err(Untestable::because)?;
    let before = neighbour.stretches();
    let value = measure();
    if neighbour.lives() && neighbour.stretches() > before {
        Ok(value)
    } else {
        Err(Untestable(
            "the second process stopped working in the middle of it".to_owned(),
        ))
    }
}
