//! A case laid out in memory, which is timed and then counted.

// Flushes the memory of a pattern before it is walked.
#![allow(unsafe_code)]

use crate::cpu::flush_bytes;
use crate::experiment::rig::{runs, threads};
use crate::experiment::{
    Arena, Case, Context, Distribution, LapsFrom, PageRequest, SampleOf, Testable, ThreadStats,
    Timing, Untestable, Workload,
};
use crate::host::{
    BackgroundLoad, Each, Event, FoundPages, Granted, Host, HostMonitor, Lack, MemoryPolicy,
    Refusal, of_kernel, of_shot,
};
use crate::kernel::Work;
use crate::measure::{Buffers, Outcome, Plan, one_shot, steady};
use crate::prelude::*;
use crate::time::Rate;

/// A case laid out in memory.
pub struct PreparedCase<'m> {
    /// What is timed or counted.
    pub workload: Workload<'m>,
    /// The pages that the system granted.
    pub granted: Granted,
    /// Statistics of the threads, once timed, if the case has several.
    pub threads: Option<ThreadStats>,
    laps_from: Option<LapsFrom>,
    context: Context,
    first: *const u8,
    /// Bytes to flush.
    bytes: usize,
}

impl<'m> PreparedCase<'m> {
    /// Lays out `case` in `pages`.
    pub fn new(
        case: &Case,
        arena: &'m mut Arena,
        pages: PageRequest,
        context: Context,
    ) -> Testable<Self> {
        let setup = &case.setup;
        let home = if setup.moves_pages() { Home::of(case, arena, context.host) } else { None };
        let (region, granted) = match (setup.is_count(), &home) {
            (true, _) => arena.region_to_count(setup.bytes(), pages)?,
            (_, Some(_)) => arena.new_region(setup.bytes(), pages, &case.policy)?,
            (_, None) => arena.region_on(setup.bytes(), pages, &case.policy)?,
        };
        let first = region.bytes().as_ptr();
        let length = region.len();
        // Flushing addresses without memory would populate them.
        let sparse = pages == PageRequest::Reserved;
        let bytes = if sparse { 0 } else { length };
        let workload = setup.prepare(region, &context)?;
        let granted = match home {
            Some(home) => home.found(context.host, (first, length), granted)?,
            None => granted,
        };
        Ok(PreparedCase {
            workload,
            granted,
            threads: None,
            laps_from: case.laps_from,
            context,
            first,
            bytes,
        })
    }

    /// Times the case, from cold memory unless it asks for warm caches. Returns `None` if it was stopped
    /// before the first sample, or if there is nothing to time.
    ///
    /// # Errors
    /// If it needs threads or a second process that cannot be started.
    pub fn time(
        &mut self,
        rate: Rate,
        plan: &Plan<'_>,
        monitor: &mut dyn HostMonitor,
        buffers: Buffers<'_>,
    ) -> Testable<Option<Outcome>> {
        let in_laps =
            |period| Plan { warm_up: period, until_steady: self.laps_from.is_some(), ..*plan };
        let prepares_itself = matches!(
            self.workload,
            Workload::Count(_)
                | Workload::Shot { .. }
                | Workload::Threads { timing: Timing::Runs { .. }, .. }
        );
        if !prepares_itself && self.laps_from != Some(LapsFrom::Caches) {
            // SAFETY: the region's memory stays mapped as long as the workload borrows it.
            unsafe { flush_bytes(self.first, self.bytes, &self.context.features) };
        }
        let host = self.context.host;
        let timed = match &mut self.workload {
            Workload::Count(_) => return Ok(None),
            Workload::Shot { shot, .. } => {
                return Ok(one_shot(shot.as_mut(), plan, monitor, buffers));
            }
            Workload::Steady { kernel, period, beside } => {
                let plan = in_laps(*period);
                let steady = || steady(kernel.as_mut(), &plan, monitor, buffers);
                return match beside {
                    None => Ok(steady()),
                    Some(load) => while_at_work(host, *load, steady),
                };
            }
            Workload::Threads { workers, timing } => match timing {
                Timing::Runs { renew, operations, less } => {
                    let runs = threads::Runs {
                        renew: renew.as_mut(),
                        operations: *operations,
                        less: *less,
                    };
                    threads::runs(host, workers, runs, rate, plan, buffers)?
                }
                Timing::AtOnce { sample, period, in_step } => {
                    let plan = in_laps(*period);
                    threads::at_once(host, workers, *sample, *in_step, rate, &plan, buffers)?
                }
                Timing::Helped { period, limit } => {
                    let plan = in_laps(*period);
                    let helped = SampleOf::First;
                    let timed =
                        threads::at_once(host, workers, helped, true, rate, &plan, buffers)?;
                    timed.map(|(outcome, stats)| {
                        let lead = limit.leads();
                        (outcome, ThreadStats { lead, ..stats })
                    })
                }
            },
        };
        Ok(timed.map(|(outcome, stats)| {
            self.threads = Some(stats);
            outcome
        }))
    }

    /// Returns the distribution of runs of `operations` operations, each timed separately. Returns
    /// `None` if `operations` is `None`, or if single runs of this workload cannot be timed. The threads
    /// of the workload are of no further use afterwards.
    ///
    /// # Errors
    /// If a thread cannot be started or kept on its CPU.
    pub fn run_by_run(&mut self, operations: Option<u64>) -> Testable<Option<Distribution>> {
        let of = operations
            .map(|operations| runs::one_by_one(self.context.host, &mut self.workload, operations));
        of.unwrap_or(Ok(None))
    }

    /// Returns the work per operation.
    pub fn work(&self) -> Work {
        match &self.workload {
            Workload::Steady { kernel, .. } => kernel.work(),
            Workload::Threads { workers, .. } => {
                workers.first().map_or_else(Work::default, |worker| worker.kernel.work())
            }
            Workload::Shot { work, .. } => *work,
            Workload::Count(_) => Work::default(),
        }
    }

    /// Counts `events` per operation, around stretches of `operations` operations and twice as many.
    /// Counts at a time only as many events as the PMU has counters for, so that no event is
    /// multiplexed.
    pub fn each(&mut self, events: &[Event], operations: u64) -> Vec<Result<Each, Refusal>> {
        let host = self.context.host;
        let mut counts = Vec::with_capacity(events.len());
        while counts.len() < events.len() {
            let group = match host.counters(&events[counts.len()..]) {
                Ok(group) => group,
                Err(lack) => {
                    counts.resize_with(events.len(), || Err(Refusal::Lacking(lack.clone())));
                    break;
                }
            };
            let group = group.as_ref();
            let idle = (0..group.events()).all(|place| group.refusal(place).is_some());
            let each = match &mut self.workload {
                _ if idle => Ok(vec![None; group.events()]),
                Workload::Steady { kernel, beside, .. } => {
                    let mut counted = || of_kernel(kernel.as_mut(), operations, group);
                    match beside {
                        None => counted(),
                        Some(load) => while_at_work(host, *load, counted)
                            .unwrap_or_else(|reason| Err(Lack::Refused(reason.0))),
                    }
                }
                Workload::Shot { shot, .. } => of_shot(shot.as_mut(), group),
                Workload::Threads { .. } => {
                    Err(Lack::refused("events are counted of one thread, and these are several"))
                }
                Workload::Count(_) => Ok(vec![None; group.events()]),
            };
            let silent = each.as_ref().err().map(|error| Refusal::Other(error.to_string()));
            let each = each.unwrap_or_else(|_| vec![None; group.events()]);
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

/// Runs `measure` while a second process works.
///
/// # Errors
/// If the process cannot be started, or if it stopped before the end: the measurement is then void.
fn while_at_work<T>(
    host: &dyn Host,
    load: BackgroundLoad,
    measure: impl FnOnce() -> T,
) -> Testable<T> {
    let mut process = host.process(load)?;
    let before = process.stretches();
    let value = measure();
    if process.lives() && process.stretches() > before {
        Ok(value)
    } else {
        Err(Untestable("the second process stopped working in the middle of it".to_owned()))
    }
}

/// Where the pages of a case whose CPUs touch them first must lie.
pub(super) struct Home {
    /// The nodes asked for, or else the node of the CPU that touches all pages; otherwise any node.
    policy: MemoryPolicy,
    /// The CPU that touches all pages, if there is one.
    cpu: Option<usize>,
}

impl Home {
    /// Returns the home of the pages of `case`, or `None` on a host with fewer than two nodes.
    pub fn of(case: &Case, arena: &Arena, host: &dyn Host) -> Option<Home> {
        let nodes = host.nodes().ok()?;
        if nodes.len() < 2 {
            return None;
        }
        let cpu = case.setup.first_touched_by();
        let near = cpu.and_then(|cpu| nodes.iter().find(|node| node.cpus.contains(&cpu)));
        let asked = [&case.policy, arena.policy()].into_iter();
        let asked = asked.into_iter().find(|policy| !policy.nodes().is_empty());
        let policy = match (asked, near) {
            (Some(asked), _) => asked.clone(),
            // If that node has no memory, the kernel takes the nearest node that has some.
            (None, Some(node)) if node.has_memory() => MemoryPolicy::Bind(node.id),
            _ => MemoryPolicy::Default,
        };
        Some(Home { policy, cpu })
    }

    /// Returns `granted` with the nodes on which the `bytes` bytes from `first` on lie now.
    ///
    /// # Errors
    /// If the nodes are unknown, or not those required.
    pub fn found(
        &self,
        host: &dyn Host,
        (first, bytes): (*const u8, usize),
        granted: Granted,
    ) -> Testable<Granted> {
        let on = host.nodes_of(first, bytes)?;
        if !self.policy.is_met_by(&on) {
            let touched = match self.cpu {
                Some(cpu) => format!("touched first by CPU {cpu}"),
                None => "touched first by several CPUs".to_owned(),
            };
            return Err(Untestable(format!(
                "memory {touched} should lie on {}: there are {}",
                self.policy,
                FoundPages(&on)
            )));
        }
        Ok(Granted::Placed { pages: Box::new(granted.pages().clone()), on })
    }
}
