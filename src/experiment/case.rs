//! A case: one point of an experiment before it is measured.

use crate::prelude::*;
use alloc::sync::Arc;

use crate::cpu::Features;
use crate::host::{BackgroundLoad, Host, MemoryPolicy, Pages, RunAheadLimit, Worker, WorkerTime};
use crate::kernel::{Kernel, Work};
use crate::measure::Shot;
use crate::mem::Region;

use super::{Forecast, Machine, Parameters, Point, Testable, Untestable};

/// A point of an experiment before it is measured: its place in the plot, and what is measured for it.
#[derive(Debug)]
pub struct Case {
    /// The series of the point.
    pub series: String,
    /// The place on the horizontal axis.
    pub x: f64,
    /// The requested pages.
    pub pages: PageRequest,
    /// The nodes for the pages.
    pub policy: MemoryPolicy,
    /// The layout and the kernel.
    pub setup: Box<dyn Setup>,
    /// Whether the case is about its own pages. Pages that a run sets for all cases then do not apply to
    /// it.
    pub own_pages: bool,
    /// Whether the case is compared with its neighbours point by point, and so must be measured
    /// interleaved with them. Another experiment's point of the same set-up cannot replace it.
    pub in_turn: bool,
    /// Where laps start that continue until two laps agree. `None` if the case is sampled after one lap
    /// from memory.
    pub laps_from: Option<LapsFrom>,
    /// Operations per run, if single runs are timed as well, for their distribution.
    pub runs_of: Option<u64>,
}

/// Where the lines of a working set are before its first lap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LapsFrom {
    /// In memory.
    Memory,
    /// In the caches, as many as they hold: the working set was written just before.
    Caches,
}

/// The cost of a point besides its working set, as bytes that are laid out, flushed and walked once.
const A_POINT: f64 = 8.0 * 1048576.0;

impl Case {
    /// Returns a case in 4 KiB pages, as in the documents.
    pub fn new(series: impl Into<String>, x: impl Into<f64>, setup: impl Setup + 'static) -> Self {
        Case {
            series: series.into(),
            x: x.into(),
            pages: PageRequest::Base,
            policy: MemoryPolicy::Default,
            setup: Box::new(setup),
            own_pages: false,
            in_turn: false,
            laps_from: None,
            runs_of: None,
        }
    }

    /// Whether `point` was measured for this case.
    pub fn is_at(&self, point: &Point) -> bool {
        self.series == point.series && self.x == point.x
    }

    /// Returns the cost of measuring the case, in bytes that are laid out, flushed and walked once. The time is
    /// roughly proportional to it.
    pub fn cost(&self) -> f64 {
        // Most pages of a reservation of a terabyte are never touched.
        let laid_out = match self.pages {
            PageRequest::Reserved => 0,
            _ => self.setup.bytes(),
        };
        laid_out as f64 + A_POINT
    }

    /// Marks the case as one about its own pages, which a run's choice of pages does not change.
    pub fn in_its_own_pages(self) -> Self {
        Case { own_pages: true, ..self }
    }

    /// Measures the case interleaved with its neighbours.
    pub fn in_turn(self) -> Self {
        Case { in_turn: true, ..self }
    }

    /// Samples the case once two laps agree.
    pub fn laps_from(self, start: LapsFrom) -> Self {
        Case { laps_from: Some(start), ..self }
    }

    /// Also times single runs of `operations` operations.
    pub fn run_by_run(self, operations: u64) -> Self {
        Case { runs_of: Some(operations), ..self }
    }

    /// Puts the case on these nodes, because it is about them.
    pub fn on_nodes(self, policy: MemoryPolicy) -> Self {
        Case { policy, ..self }
    }

    /// Puts the case in 2 MiB pages, because it is about them.
    pub fn in_huge_pages(self) -> Self {
        Case { pages: PageRequest::Huge, ..self.in_its_own_pages() }
    }

    /// Puts the case in 1 GiB pages, because it is about them.
    pub fn in_giant_pages(self) -> Self {
        Case { pages: PageRequest::Giant, ..self.in_its_own_pages() }
    }

    /// Puts the case in a reservation of addresses, of which it touches few pages.
    pub fn in_reservation(self) -> Self {
        Case { pages: PageRequest::Reserved, ..self }
    }

    /// Puts the case in 2 MiB pages where available, to exclude effects of the TLB.
    pub fn in_large_pages(self) -> Self {
        Case { pages: PageRequest::HugeIfAny, ..self }
    }
}

/// The pages that a case requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PageRequest {
    /// 4 KiB.
    Base,
    /// 2 MiB. Where unavailable, the case is untestable.
    Huge,
    /// 1 GiB. Where unavailable, the case is untestable.
    Giant,
    /// 4 KiB, each populated at its first touch: there may be many more addresses than memory. Such
    /// pages are not flushed before sampling, because flushing would touch them all.
    Reserved,
    /// 2 MiB, or 4 KiB where 2 MiB pages are unavailable. The point records which pages it got.
    HugeIfAny,
}

impl From<Pages> for PageRequest {
    fn from(pages: Pages) -> Self {
        match pages {
            Pages::Base => PageRequest::Base,
            Pages::Huge => PageRequest::Huge,
            Pages::Giant => PageRequest::Giant,
        }
    }
}

/// What a set-up needs to know about its surroundings.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// The features of the CPU, less those that a mask removes.
    pub features: Features,
    /// The source of memory, threads, counters and everything else outside this crate.
    pub host: &'static dyn Host,
}

#[cfg(all(test, feature = "std"))]
impl Context {
    /// Returns the context of a test: this CPU, and Linux.
    pub(crate) fn here() -> Self {
        Context { features: Features::detect(), host: &super::Linux }
    }
}

/// A layout and a kernel, as data, which can be laid out in memory and run.
///
/// The `Debug` form must describe the set-up completely: two set-ups that print alike do the same.
pub trait Setup: core::fmt::Debug {
    /// Returns the bytes of memory needed. By default 0.
    fn bytes(&self) -> usize {
        0
    }

    /// Whether the set-up yields a number ([`Workload::Count`]) that is the same in any pages. By
    /// default false.
    fn is_count(&self) -> bool {
        false
    }

    /// Returns the CPU that touches all pages first, if the set-up needs new pages for that. By default
    /// `None`.
    fn first_touched_by(&self) -> Option<usize> {
        None
    }

    /// Whether other CPUs touch pages of the set-up first, which may then lie on other nodes. By default
    /// true if there is a CPU that touches all pages first.
    fn moves_pages(&self) -> bool {
        self.first_touched_by().is_some()
    }

    /// Lays out the pattern in `region`, which holds at least [`bytes`](Self::bytes).
    ///
    /// # Errors
    /// If this CPU cannot run it, with the reason.
    fn prepare<'m>(&self, region: Region<'m>, context: &Context) -> Testable<Workload<'m>>;

    /// Lays out the pattern for a trace, for example where the timed workload is a shot. By default as
    /// [`prepare`](Self::prepare).
    ///
    /// # Errors
    /// If this CPU cannot run it, with the reason.
    fn traced<'m>(&self, region: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        self.prepare(region, context)
    }

    /// Predicts the time per operation from the machine's parameters, if there is a model.
    fn predict(&self, _: &Parameters<'_>) -> Option<Forecast> {
        None
    }
}

/// A set-up laid out in memory.
pub enum Workload<'m> {
    /// A kernel that is timed in its steady state, as the difference of 2N and N operations.
    Steady {
        /// The kernel.
        kernel: Box<dyn Kernel + 'm>,
        /// Operations per round over its working set.
        period: u64,
        /// What a second process does meanwhile, if there is one.
        beside: Option<BackgroundLoad>,
    },
    /// Kernels on several threads.
    Threads {
        /// The threads.
        workers: Vec<Worker<'m>>,
        /// How they are timed.
        timing: Timing<'m>,
    },
    /// An operation that is timed once per preparation.
    Shot {
        /// The operation.
        shot: Box<dyn Shot + 'm>,
        /// The work of the operation.
        work: Work,
    },
    /// A number that is counted, not timed.
    Count(f64),
}

/// The worker of a thread group whose time is taken as a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SampleOf {
    /// The fastest worker, as in Drepper's figures.
    Fastest,
    /// The median worker.
    Median,
    /// The slowest worker, timed from the common start: the time that the whole group takes, as in
    /// Sestoft's table.
    Slowest,
    /// The first worker, which the others help.
    First,
}

impl SampleOf {
    /// Returns the ticks of a round, by the times of its workers.
    pub fn ticks(self, times: &[WorkerTime]) -> u64 {
        let mut own: Vec<u64> = times.iter().map(|time| time.ticks).collect();
        own.sort_unstable();
        match self {
            SampleOf::Fastest => own[0],
            SampleOf::Median => own[own.len() / 2],
            SampleOf::First => times.first().map_or(0, |time| time.ticks),
            SampleOf::Slowest => times.iter().map(WorkerTime::until).fold(0, u64::max),
        }
    }
}

/// How several threads are timed.
pub enum Timing<'m> {
    /// In their steady state, all at once.
    AtOnce {
        /// The worker whose time counts.
        sample: SampleOf,
        /// Operations of a thread per round over its working set.
        period: u64,
        /// Whether the threads wait for each other, so that none can do more operations than the others.
        in_step: bool,
    },
    /// The first thread in its steady state, while the second helps it.
    Helped {
        /// Operations per round over its working set.
        period: u64,
        /// Keeps the helper from running too far ahead.
        limit: Arc<RunAheadLimit>,
    },
    /// Runs from beginning to end, each prepared anew. A thread does its share of a run, whatever number
    /// of operations it is told to do. Before each run it is told to do 0, in which it fetches what was
    /// renewed.
    Runs {
        /// Brings the memory into the state that a run starts from. Not timed.
        renew: Box<dyn FnMut(Run) + 'm>,
        /// Operations per run, of all threads together.
        operations: u64,
        /// If given, a sample is the fastest of four runs less this fraction of the fastest of four
        /// other runs, interleaved: disturbances that affect both kinds of run cancel.
        less: Option<f64>,
    },
}

impl<'m> Workload<'m> {
    /// Returns a kernel to be timed in its steady state. `period` is the operations of one round over
    /// its working set.
    pub fn steady(kernel: impl Kernel + 'm, period: u64) -> Self {
        Workload::Steady { kernel: Box::new(kernel), period, beside: None }
    }

    /// Returns an operation to be timed once per preparation, which does `work`.
    pub fn shot(shot: impl Shot + 'm, work: Work) -> Self {
        Workload::Shot { shot: Box::new(shot), work }
    }

    /// Returns threads to be timed in their steady state, all at once. `sample` selects the worker whose
    /// time counts; `period` is the operations of one round over each thread's working set.
    pub fn at_once(workers: Vec<Worker<'m>>, sample: SampleOf, period: u64) -> Self {
        let timing = Timing::AtOnce { sample, period, in_step: false };
        Workload::Threads { workers, timing }
    }

    /// Like [`Workload::at_once`], for threads that wait for each other, so that none can do more than
    /// the others.
    pub fn in_step(workers: Vec<Worker<'m>>, sample: SampleOf, period: u64) -> Self {
        let timing = Timing::AtOnce { sample, period, in_step: true };
        Workload::Threads { workers, timing }
    }

    /// Returns the kernel of a steady workload, and the operations of one round. The accesses of a
    /// second process are not part of it.
    ///
    /// # Errors
    /// If the workload is not steady.
    pub fn kernel(self) -> Testable<(Box<dyn Kernel + 'm>, u64)> {
        match self {
            Workload::Steady { kernel, period, .. } => Ok((kernel, period)),
            _ => Err(Untestable::because(
                "it is timed once, by several threads, or counted, and has no trace of one core",
            )),
        }
    }
}

impl core::fmt::Debug for Workload<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Workload::Steady { period, .. } => write!(f, "Steady {{ period: {period} }}"),
            Workload::Threads { workers, .. } => write!(f, "Threads {{ workers: {workers:?} }}"),
            Workload::Shot { work, .. } => write!(f, "Shot {{ work: {work:?} }}"),
            Workload::Count(value) => write!(f, "Count({value})"),
        }
    }
}

/// Selects one of two kinds of run that are timed interleaved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Run {
    /// The run whose time counts.
    One,
    /// The run of whose time a fraction is subtracted.
    Other,
}

/// A function that returns the cases of an experiment on a machine.
pub type Cases = fn(&Machine) -> Vec<Case>;
