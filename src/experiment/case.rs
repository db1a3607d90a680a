//! A case: one point of an experiment before it is measured.

use crate::prelude::*;
use alloc::sync::Arc;

use crate::cpu::Features;
use crate::host::{BackgroundLoad, Host, MemoryPolicy, Pages, RunAheadLimit, Worker};
use crate::kernel::{Kernel, Work};
use crate::measure::Shot;
use crate::mem::Region;

use super::{Forecast, Machine, Parameters, SampleOf};

/// Why something cannot be put to the test here. Never a panic, never a zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untestable(pub String);

impl core::fmt::Display for Untestable {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The error's message is the reason, so that `?` serves in every set-up. (Untestable is no error
/// type itself, or this would hold for itself, too.)
impl<E: core::error::Error> From<E> for Untestable {
    fn from(error: E) -> Self {
        Untestable::because(error)
    }
}

/// A value, or the reason why it cannot be had here.
pub type Testable<T> = Result<T, Untestable>;

impl Untestable {
    /// The reason in words.
    pub fn because(error: impl core::fmt::Display) -> Self {
        Untestable(error.to_string())
    }

    /// It takes vector registers, which a program for this target leaves alone.
    #[cfg(not(target_feature = "sse2"))]
    pub(crate) fn without_vectors() -> Self {
        Untestable("built for a target without vector registers".to_owned())
    }

    /// It takes the standard library: programs, files, its locks.
    #[cfg(not(feature = "std"))]
    pub(crate) fn without_std() -> Self {
        Untestable("built without the standard library".to_owned())
    }

    /// It takes another crate's lock, map or pool, and there is none of them in this program.
    pub fn without_peers() -> Self {
        Untestable("built without the feature peers".to_owned())
    }
}

/// One point: where it belongs in the plot, and what is measured for it.
#[derive(Debug)]
pub struct Case {
    /// The series it belongs to.
    pub series: String,
    /// Its place on the horizontal axis.
    pub x: f64,
    /// The pages it wants.
    pub pages: PageRequest,
    /// The nodes that its pages are to lie on.
    pub policy: MemoryPolicy,
    /// What is laid out and run.
    pub setup: Box<dyn Setup>,
    /// Whether its pages are what it is about: other pages for all cases are not for this one.
    pub own_pages: bool,
    /// Whether it is compared with the cases beside it, point by point, and so must be measured
    /// in turn with them: another experiment's point of the same setup will not do.
    pub in_turn: bool,
    /// From where laps go on until two agree; `None` if it is sampled after one lap from memory.
    pub laps_from: Option<LapsFrom>,
    /// Operations of a run where runs are timed one by one as well, to see how they spread.
    pub runs_of: Option<u64>,
}

/// Where the lines of a working set are before its first lap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LapsFrom {
    /// In memory.
    Memory,
    /// In the caches, as many as they hold: it was written just before.
    Caches,
}

impl Case {
    /// A case in 4 KiB pages, those of the documents.
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

    /// Whether this is the case that `point` was measured in.
    pub fn is_at(&self, point: &super::Point) -> bool {
        self.series == point.series && self.x == point.x
    }

    /// The same case, whose pages are what it is about, whatever pages a run is made in.
    pub fn in_its_own_pages(self) -> Self {
        Case {
            own_pages: true,
            ..self
        }
    }

    /// The same case, measured in turn with its neighbours.
    pub fn in_turn(self) -> Self {
        Case {
            in_turn: true,
            ..self
        }
    }

    /// The same case, sampled once two laps agree.
    pub fn laps_from(self, start: LapsFrom) -> Self {
        Case {
            laps_from: Some(start),
            ..self
        }
    }

    /// The same case, of which runs of so many operations are timed one by one as well.
    pub fn run_by_run(self, operations: u64) -> Self {
        Case {
            runs_of: Some(operations),
            ..self
        }
    }

    /// The same case on these nodes, because they are what it is about.
    pub fn on_nodes(self, policy: MemoryPolicy) -> Self {
        Case { policy, ..self }
    }

    /// The same case in 2 MiB pages, because they are what it is about.
    pub fn in_huge_pages(self) -> Self {
        Case {
            pages: PageRequest::Huge,
            ..self
        }
    }

    /// The same case in 1 GiB pages, because they are what it is about.
    pub fn in_giant_pages(self) -> Self {
        Case {
            pages: PageRequest::Giant,
            ..self
        }
    }

    /// The same case in a reservation of addresses, of which it touches few pages.
    pub fn in_reservation(self) -> Self {
        Case {
            pages: PageRequest::Reserved,
            ..self
        }
    }

    /// The same case in 2 MiB pages, to keep the TLB out of it, if there are any.
    pub fn in_large_pages(self) -> Self {
        Case {
            pages: PageRequest::HugeIfAny,
            ..self
        }
    }
}

/// The pages that a case wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PageRequest {
    /// 4 KiB.
    Base,
    /// 2 MiB: without them the case is untestable.
    Huge,
    /// 1 GiB: likewise.
    Giant,
    /// 4 KiB, each given when it is touched first: addresses may be many more than memory. They
    /// are not flushed before sampling, which would touch them all.
    Reserved,
    /// 2 MiB, or 4 KiB where there are none. The point says what it got.
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

/// What the driver knows and a setup may need.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// What the CPU can execute, less what a mask took away.
    pub features: Features,
    /// Where memory, threads, counters and whatever else come from.
    pub host: &'static dyn Host,
}

#[cfg(all(test, feature = "std"))]
impl Context {
    /// That of a test: this CPU, and Linux.
    pub(crate) fn here() -> Self {
        Context {
            features: Features::detect(),
            host: &super::Linux,
        }
    }
}

/// A layout and a kernel, as data, and the way to make them ready.
///
/// Its `Debug` form names it wholly: two setups that print alike do the same.
pub trait Setup: core::fmt::Debug {
    /// Bytes of memory it needs. Provided: none.
    fn bytes(&self) -> usize {
        0
    }

    /// Whether it yields a number ([`Workload::Count`]) that is the same in whatever pages. Provided: no.
    fn is_count(&self) -> bool {
        false
    }

    /// The CPU that touches all of its pages first, if it lies in new ones for that. Provided: none.
    fn first_touched_by(&self) -> Option<usize> {
        None
    }

    /// Whether other CPUs touch pages of its first, which may then lie on other nodes. Provided: if there is
    /// a CPU that touches all of them first.
    fn moves_pages(&self) -> bool {
        self.first_touched_by().is_some()
    }

    /// Lays the pattern out in `region`, which holds at least [`bytes`](Self::bytes).
    ///
    /// # Errors
    /// If this CPU cannot run it, with the reason.
    fn prepare<'m>(&self, region: Region<'m>, context: &Context) -> Testable<Workload<'m>>;

    /// The same to be traced, where what is timed is a shot of it.
    ///
    /// # Errors
    /// If this CPU cannot run it, with the reason.
    fn traced<'m>(&self, region: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        self.prepare(region, context)
    }

    /// The time of an operation as the machine's parameters predict it, if there is a model.
    fn predict(&self, _: &Parameters<'_>) -> Option<Forecast> {
        None
    }
}

/// What a setup made ready.
pub enum Workload<'m> {
    /// A kernel to be timed in its steady state, N against 2N.
    Steady {
        /// The kernel.
        kernel: Box<dyn Kernel + 'm>,
        /// Operations of one round over its working set.
        period: u64,
        /// What a second process does meanwhile, if there is to be one.
        beside: Option<BackgroundLoad>,
    },
    /// Kernels on threads of their own.
    Threads {
        /// The threads.
        members: Vec<Worker<'m>>,
        /// How they are timed.
        timing: Timing<'m>,
    },
    /// An operation to be timed once per preparation.
    Shot {
        /// The operation.
        shot: Box<dyn Shot + 'm>,
        /// What it does.
        work: Work,
    },
    /// A number that is counted, not timed.
    Count(f64),
}

/// How several threads are timed.
pub enum Timing<'m> {
    /// In their steady state, all at once.
    AtOnce {
        /// Whose time counts.
        sample: SampleOf,
        /// Operations of a thread in one round over its working set.
        period: u64,
        /// Whether the threads wait for each other, so that none may do more than the others.
        in_step: bool,
    },
    /// The first in its steady state, while the second helps it.
    Helped {
        /// Operations of one round over its working set.
        period: u64,
        /// Keeps the helper from running too far ahead.
        limit: Arc<RunAheadLimit>,
    },
    /// Runs from beginning to end, each of a preparation of its own. A thread does its share of a
    /// run, whatever number of operations it is told to do.
    Runs {
        /// Brings the memory into the state in which a run is to find it. Not timed.
        renew: Box<dyn FnMut(Run) + 'm>,
        /// Operations of a run, by all threads together.
        operations: u64,
        /// If a share is given, a sample is the fastest of four runs less that share of the fastest
        /// of four others, in turn: what is alike in both at that moment cancels.
        less: Option<f64>,
    },
}

impl<'m> Workload<'m> {
    /// A kernel to be timed in its steady state, with the operations of one round over its working
    /// set.
    pub fn steady(kernel: impl Kernel + 'm, period: u64) -> Self {
        Workload::Steady {
            kernel: Box::new(kernel),
            period,
            beside: None,
        }
    }

    /// An operation to be timed once per preparation, and what it does.
    pub fn shot(shot: impl Shot + 'm, work: Work) -> Self {
        Workload::Shot {
            shot: Box::new(shot),
            work,
        }
    }

    /// Threads to be timed in their steady state, all at once: whose time counts, and the
    /// operations of one round over the working set of each.
    pub fn at_once(members: Vec<Worker<'m>>, sample: SampleOf, period: u64) -> Self {
        let timing = Timing::AtOnce {
            sample,
            period,
            in_step: false,
        };
        Workload::Threads { members, timing }
    }

    /// The same of threads that wait for each other, so that none may do more than the others.
    pub fn in_step(members: Vec<Worker<'m>>, sample: SampleOf, period: u64) -> Self {
        let timing = Timing::AtOnce {
            sample,
            period,
            in_step: true,
        };
        Workload::Threads { members, timing }
    }

    /// The kernel of a steady workload, and the operations of one round. What a second process
    /// would do is none of its accesses.
    ///
    /// # Errors
    /// If it is something else.
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
            Workload::Threads { members, .. } => write!(f, "Threads {{ members: {members:?} }}"),
            Workload::Shot { work, .. } => write!(f, "Shot {{ work: {work:?} }}"),
            Workload::Count(value) => write!(f, "Count({value})"),
        }
    }
}

/// Which of two runs beside each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Run {
    /// The one whose time counts.
    One,
    /// The one of which a share is taken off.
    Other,
}

/// The cases of an experiment on a machine.
pub type Cases = fn(&Machine) -> Vec<Case>;
