//! A case: one point of an experiment before it is measured.

use std::sync::Arc;

use crate::cpu::Features;
use crate::kernel::{Kernel, Work};
use crate::measure::Shot;
use crate::mem::Region;
use crate::os::leash::RunAheadLimit;
use crate::os::{BackgroundLoad, Pages, Worker};

use super::{Forecast, Machine, Parameters, SampleOf};

/// Why something cannot be put to the test here. Never a panic, never a zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untestable(pub String);

impl core::fmt::Display for Untestable {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for Untestable {}

impl Untestable {
    /// Takes an error's message as the reason.
    pub fn because(error: impl core::fmt::Display) -> Self {
        Untestable(error.to_string())
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
    /// What is laid out and run.
    pub setup: Box<dyn Setup>,
    /// Whether its pages are what it is about: other pages for all cases are not for this one.
    pub own_pages: bool,
    /// Whether it is compared with the cases beside it, point by point, and so must be measured
    /// in turn with them: another experiment's point of the same setup will not do.
    pub in_turn: bool,
}

impl Case {
    /// A case in 4 KiB pages, those of the documents.
    pub fn new(series: impl Into<String>, x: impl Into<f64>, setup: impl Setup + 'static) -> Self {
        Case {
            series: series.into(),
            x: x.into(),
            pages: PageRequest::Base,
            setup: Box::new(setup),
            own_pages: false,
            in_turn: false,
        }
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
}

/// A layout and a kernel, as data, and the way to make them ready.
///
/// Its `Debug` form names it wholly: two setups that print alike do the same.
pub trait Setup: core::fmt::Debug {
    /// Bytes of memory it needs.
    fn bytes(&self) -> usize;

    /// Lays the pattern out in `region`, which holds at least [`bytes`](Self::bytes).
    ///
    /// # Errors
    /// If this CPU cannot run it, with the reason.
    fn prepare<'m>(
        &self,
        region: Region<'m>,
        context: &Context,
    ) -> Result<Workload<'m>, Untestable>;

    /// The same to be traced, where what is timed is a shot of it.
    ///
    /// # Errors
    /// If this CPU cannot run it, with the reason.
    fn traced<'m>(
        &self,
        region: Region<'m>,
        context: &Context,
    ) -> Result<Workload<'m>, Untestable> {
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
    },
    /// The same while a second process is at work, which is there for as long as that takes.
    Beside {
        /// The kernel.
        kernel: Box<dyn Kernel + 'm>,
        /// Operations of one round over its working set.
        period: u64,
        /// What the second process does.
        chore: BackgroundLoad,
    },
    /// Kernels to be timed in their steady state, all at once.
    ThreadGroup {
        /// The threads.
        members: Vec<Worker<'m>>,
        /// Whose time counts.
        pace: SampleOf,
        /// Operations of a member in one round over its working set.
        period: u64,
        /// Whether the members wait for each other, so that none may do more than the others.
        in_step: bool,
    },
    /// A kernel to be timed in its steady state while another one helps it.
    Helped {
        /// The kernel, and its helper.
        members: Vec<Worker<'m>>,
        /// Operations of one round over its working set.
        period: u64,
        /// What keeps the helper from running too far ahead.
        leash: Arc<RunAheadLimit>,
    },
    /// An operation to be timed once per preparation.
    Shot {
        /// The operation.
        shot: Box<dyn Shot + 'm>,
        /// What it does.
        work: Work,
    },
    /// Runs from beginning to end, each of a preparation of its own, by threads that share the
    /// work.
    Runs {
        /// The threads. What one is told to do is its share of a run, whatever the number.
        members: Vec<Worker<'m>>,
        /// Brings the memory into the state in which a run is to find it. Not timed.
        renew: Box<dyn FnMut(Run) + 'm>,
        /// Operations of a run, by all threads together.
        operations: u64,
        /// If a share is given, a sample is the quickest of four runs less that share of the
        /// quickest of four others, in turn: what is alike in both at that moment leaves.
        less: Option<f64>,
    },
    /// A number that is counted, not timed.
    Count(f64),
}

impl core::fmt::Debug for Workload<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Workload::Steady { period, .. } => write!(f, "Steady {{ lap: {period} }}"),
            Workload::Beside { period, chore, .. } => {
                write!(f, "Beside {{ lap: {period}, chore: {chore:?} }}")
            }
            Workload::ThreadGroup { members, pace, .. } => {
                write!(f, "ThreadGroup {{ members: {members:?}, pace: {pace:?} }}")
            }
            Workload::Helped { members, .. } => write!(f, "Helped {{ members: {members:?} }}"),
            Workload::Shot { work, .. } => write!(f, "Shot {{ work: {work:?} }}"),
            Workload::Runs {
                members,
                operations,
                ..
            } => write!(
                f,
                "Runs {{ members: {members:?}, operations: {operations} }}"
            ),
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
