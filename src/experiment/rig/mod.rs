//! The rig: measures a case on this thread, and measures the ladder from which all ranges derive.

pub mod arena;
pub mod prepared;
mod runs;
pub mod threads;

use crate::experiment::baseline::ladder;
use crate::experiment::machine::{half_octaves, ranges};
use crate::experiment::rig::prepared::PreparedCase;
use crate::experiment::{
    Arena, Case, Context, Count, Measured, PageRequest, Point, Quality, Rung, State, Testable,
    Untestable, Workload, rung_of,
};
use crate::host::{Each, Event, HostMonitor, MemoryPolicy, Pages, Refusal};
use crate::measure::{Buffers, Ended, Outcome, Plan, Sample};
use crate::pmu::Quantity;
use crate::prelude::*;
use crate::time::Rate;
use core::sync::atomic::AtomicBool;

/// Length in nanoseconds of a stretch whose events are counted separately from its time: long enough for
/// some rare events, short enough to avoid most interrupts.
const COUNTED_NANOS: f64 = 1e6;

/// Length, in samples, of a stretch whose events are counted after its time: long enough for some rare
/// events.
const COUNTED_SAMPLES: u64 = 3;

/// The largest number of samples that a point keeps.
const MOST_SAMPLES: usize = 400;

/// The time that a point may take per pass, in seconds, and the number of passes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    /// The longest warm-up.
    pub warm_up: f64,
    /// The longest sampling.
    pub sampling: f64,
    /// How many times a selection is measured from end to end.
    pub passes: u32,
}

impl Effort {
    /// For a run of about three minutes. The warm-up ends before one lap of memory is complete: times
    /// are the same as after a complete lap.
    pub const QUICK: Effort = Effort { warm_up: 0.05, sampling: 0.035, passes: 2 };

    /// For a run that only shows that everything works, in one pass.
    pub const SMOKE: Effort = Effort { warm_up: 0.01, sampling: 0.004, passes: 1 };

    /// For a long run: more points rather than longer ones, because passes over a point differ more than
    /// the samples of a pass.
    pub const FULL: Effort = Effort { warm_up: 0.2, sampling: 0.04, passes: 2 };
}

/// Memory, clock and effort: what turns a [`Case`] into a [`Point`].
#[derive(Debug)]
pub struct Rig<'a> {
    rate: Rate,
    context: Context,
    effort: Effort,
    /// The fraction of the effort's sampling time that is available.
    share: f64,
    stop: &'a AtomicBool,
    monitor: Box<dyn HostMonitor>,
    arena: Arena,
    /// Pages that replace the pages of every case, if any.
    pages: Option<PageRequest>,
    /// The quantities that can be counted, and the event for each.
    counters: Vec<(Quantity, Event)>,
    /// The CPU whose interrupts are counted.
    interrupts: Option<usize>,
    samples: Vec<Sample>,
    scratch: Vec<f64>,
}

impl<'a> Rig<'a> {
    /// Returns a rig that measures on this thread's CPU until `stop` is set.
    pub fn new(rate: Rate, context: Context, effort: Effort, stop: &'a AtomicBool) -> Self {
        Rig {
            rate,
            context,
            effort,
            share: 1.0,
            stop,
            monitor: context.host.monitor(),
            arena: Arena::on(context.host),
            pages: None,
            counters: Vec::new(),
            interrupts: None,
            samples: vec![Sample::default(); MOST_SAMPLES],
            scratch: vec![0.0; MOST_SAMPLES],
        }
    }

    /// Measures every case in `pages`, whatever it asks for. Exceptions are cases [about their own
    /// pages](Case::in_its_own_pages), [numbers](crate::experiment::Setup::is_count) that are the same in any
    /// pages, and addresses without memory, which could not all be backed.
    pub fn with_pages(self, pages: Option<Pages>) -> Self {
        Rig { pages: pages.map(PageRequest::from), ..self }
    }

    /// Puts the memory of every case on `node`, unless the case names nodes.
    pub fn with_node(mut self, node: Option<usize>) -> Self {
        if let Some(node) = node {
            self.arena.put_on(MemoryPolicy::Bind(node));
        }
        self
    }

    /// Counts requested quantities by these events.
    pub fn with_counters(self, counters: Vec<(Quantity, Event)>) -> Self {
        Rig { counters, ..self }
    }

    /// Counts the interrupts of this CPU while each point is sampled. It must be the measuring CPU.
    pub fn with_interrupts(self, interrupts: Option<usize>) -> Self {
        Rig { interrupts, ..self }
    }

    /// Makes sampling take this fraction of its time from the next case on.
    pub fn sample_for(&mut self, share: f64) {
        self.share = share;
    }

    /// Makes the next case get other physical pages.
    pub fn move_house(&mut self) {
        self.arena.renew();
    }

    /// Measures a case. Returns `None` if it was stopped before the first sample.
    pub fn measure(&mut self, case: &Case) -> Option<Point> {
        self.measure_and_count(case, &[])
    }

    /// Measures a case, and then counts the quantities in `wanted` that this rig can count. Returns
    /// `None` if it was stopped before the first sample.
    pub fn measure_and_count(&mut self, case: &Case, wanted: &[Quantity]) -> Option<Point> {
        let state = match self.state_of(case, wanted) {
            Ok(state) => state?,
            Err(reason) => State::Untestable(reason),
        };
        Some(Point { series: case.series.clone(), x: case.x, state })
    }

    /// Returns the pages to request for a case.
    pub(crate) fn pages_for(&self, case: &Case) -> PageRequest {
        let is_bound = case.own_pages || case.pages == PageRequest::Reserved;
        match self.pages {
            Some(pages) if !is_bound && !case.setup.is_count() => pages,
            _ => case.pages,
        }
    }

    fn state_of(&mut self, case: &Case, wanted: &[Quantity]) -> Testable<Option<State>> {
        let plan = self.plan();
        let wanted = self.events(wanted);
        let pages = self.pages_for(case);
        let mut prepared = PreparedCase::new(case, &mut self.arena, pages, self.context)?;
        if let Workload::Count(value) = prepared.workload {
            return Ok(Some(State::Counted(value)));
        }
        let buffers = Buffers { samples: &mut self.samples, scratch: &mut self.scratch };
        let (host, cpu) = (self.context.host, self.interrupts);
        let taken = || host.interrupts(cpu?);
        let before = taken();
        let Some(outcome) = prepared.time(self.rate, &plan, self.monitor.as_mut(), buffers)? else {
            return Ok(None);
        };
        let runs = match outcome.ended {
            Ended::Stopped => None,
            _ => prepared.run_by_run(case.runs_of)?,
        };
        let after = taken();
        let samples = self.samples[..outcome.taken].to_vec();
        let mut measured = measured(outcome, &prepared, samples);
        measured.runs.extend(runs);
        measured.interrupts = before.zip(after).map(|(before, after)| after.saturating_sub(before));
        if outcome.ended != Ended::Stopped {
            let operations = COUNTED_SAMPLES * outcome.operations;
            measured.counts = counts(&mut prepared, &wanted, operations);
        }
        Ok(Some(State::Measured(Box::new(measured))))
    }

    /// Returns the quantities in `wanted` that this rig can count and `point` lacks.
    pub fn missing(&self, point: &Point, wanted: &[Quantity]) -> Vec<Quantity> {
        let has = |quantity| point.counts().iter().any(|count| count.quantity == quantity);
        let countable = self.events(wanted).into_iter();
        let countable = countable.map(|(quantity, _)| quantity);
        countable.filter(|&quantity| !has(quantity)).collect()
    }

    /// Counts, per operation of a case, the quantities in `wanted` that this rig can count.
    pub fn counts(&mut self, case: &Case, wanted: &[Quantity]) -> Vec<Count> {
        let wanted = self.events(wanted);
        let events: Vec<Event> = wanted.iter().map(|(_, event)| *event).collect();
        let each = self.count(case, &events).unwrap_or_default();
        named(&wanted, each)
    }

    /// Counts `events` per operation of a case, in stretches of some milliseconds. Returns nothing if
    /// the case is a number without operations.
    ///
    /// # Errors
    /// If the case cannot run here.
    pub fn count(&mut self, case: &Case, events: &[Event]) -> Testable<Vec<Result<Each, Refusal>>> {
        let plan = Plan {
            sample_ticks: self.rate.ticks(COUNTED_NANOS),
            // A single sample, needed only for its number of operations.
            budget_ticks: 0,
            ..self.plan()
        };
        let pages = self.pages_for(case);
        let mut prepared = PreparedCase::new(case, &mut self.arena, pages, self.context)?;
        if let Workload::Count(_) = prepared.workload {
            return Ok(Vec::new());
        }
        let buffers = Buffers { samples: &mut self.samples, scratch: &mut self.scratch };
        let outcome = prepared.time(self.rate, &plan, self.monitor.as_mut(), buffers)?;
        let outcome = outcome.ok_or_else(|| Untestable("it was stopped".to_owned()))?;
        Ok(prepared.each(events, outcome.operations))
    }

    /// Returns the quantities in `wanted` that this rig can count, with their events.
    fn events(&self, wanted: &[Quantity]) -> Vec<(Quantity, Event)> {
        let known = self.counters.iter();
        let asked = |counter: &&(Quantity, Event)| wanted.contains(&counter.0);
        known.filter(asked).copied().collect()
    }

    fn plan(&self) -> Plan<'a> {
        let seconds = |seconds: f64| self.rate.ticks(seconds * 1e9);
        Plan {
            warm_up_ticks: seconds(self.effort.warm_up),
            stop: Some(self.stop),
            ..Plan::of_seconds(self.rate.hz(), self.share * self.effort.sampling)
        }
    }

    /// Measures the ladder: a random walk, one line per element, from 4 KiB up to `largest` bytes in
    /// half octaves. It uses 2 MiB pages where available, so that it shows the caches and not the TLB.
    /// Beyond 256 MiB it ends once the level of memory is flat, if all three levels of caches are
    /// `reported`. Calls `each` with every rung. Rungs that could not be measured are left out.
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
            let Some(point) = self.measure(&ladder::rung(bytes, seed)) else { break };
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

/// The working set that the ladder reaches in any case, if `largest` permits.
const FARTHEST: usize = 256 << 20;

/// Converts the outcome of a measurement to the form that a point keeps.
fn measured(outcome: Outcome, prepared: &PreparedCase<'_>, samples: Vec<Sample>) -> Measured {
    Measured {
        ticks: outcome.ticks,
        core_per_tick: outcome.core_per_tick,
        operations: outcome.operations,
        work: prepared.work(),
        samples,
        disturbed: outcome.disturbed.unwrap_or(0),
        quality: Quality::of(prepared.threads, outcome.restless()),
        ended: outcome.ended,
        pages: prepared.granted.to_string(),
        passes: Vec::new(),
        counts: Vec::new(),
        runs: Vec::new(),
        interrupts: None,
        thread_stats: prepared.threads,
        confidence: None,
    }
}

/// Counts `wanted` per operation. Leaves out events for which the PMU had no counter.
fn counts(
    prepared: &mut PreparedCase<'_>,
    wanted: &[(Quantity, Event)],
    operations: u64,
) -> Vec<Count> {
    let events: Vec<Event> = wanted.iter().map(|(_, event)| *event).collect();
    named(wanted, prepared.each(&events, operations))
}

/// Pairs counted events with the quantities they count. Leaves out refused events.
fn named(wanted: &[(Quantity, Event)], each: Vec<Result<Each, Refusal>>) -> Vec<Count> {
    let pairs = wanted.iter().zip(each);
    let count = |(&(quantity, _), each): (&(Quantity, Event), Result<Each, Refusal>)| {
        let each = each.ok()?;
        Some(Count { quantity, value: each.value, multiplexed: each.multiplexed() })
    };
    pairs.filter_map(count).collect()
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use crate::cpu::Features;
    use crate::experiment::Linux;
    use crate::experiment::machine::tests::unknown;
    use crate::experiment::shared::arithmetic::RegisterSetup;
    use crate::experiment::shared::count::CountSetup;

    /// Pages for all cases apply to all cases except numbers and those about their own pages.
    #[test]
    fn a_case_about_its_own_pages_keeps_them() {
        let stop = AtomicBool::new(false);
        let features = Features::detect();
        let rig =
            Rig::new(Rate::from_hz(1e9), Context { features, host: &Linux }, Effort::QUICK, &stop);
        let rig = rig.with_pages(Some(Pages::Huge));
        let case = || Case::new("a case", 1.0, RegisterSetup);
        assert_eq!(rig.pages_for(&case()), PageRequest::Huge);
        assert_eq!(rig.pages_for(&case().in_its_own_pages()), PageRequest::Base);
        assert_eq!(rig.pages_for(&case().in_reservation()), PageRequest::Reserved);
        let number = CountSetup::computed("a number", 0, |_| Ok(1.0));
        assert_eq!(rig.pages_for(&number.at(1.0)), PageRequest::Base);
    }

    /// With pages of one size for all, series in pages of several sizes would lie in the same pages.
    #[test]
    fn what_compares_page_sizes_keeps_them() {
        let names_pages = |case: &Case| {
            let series = &case.series;
            series.contains("iB pages") || series.contains("pages of ")
        };
        for experiment in crate::experiment::topics::built() {
            let cases = (experiment.cases)(&unknown());
            let compares = cases.iter().any(names_pages);
            for case in cases.iter().filter(|case| !case.setup.is_count()) {
                let large = matches!(case.pages, PageRequest::Huge | PageRequest::Giant);
                let kept = case.own_pages || case.pages == PageRequest::Reserved;
                assert!(kept || !(large || compares), "{}: {}", experiment.id, case.series);
            }
        }
    }
}
