//! What an experiment takes from its surroundings: a [`Host`] gives it, or says by a [`Lack`] that it
//! cannot.
//!
//! Linux is one host (`experiment::Linux`). A host without an operating system implements what it has:
//! every method but the name is provided, and answers that the host has no such thing.

mod cpus;
mod each;
mod event;
mod node;
mod pages;
mod threads;

pub use cpus::{Arrangement, CpuLocation, Nearness, Sharing, Told};
pub use each::{Each, Meter, of_kernel, of_shot};
pub use event::{Event, Group, Refusal, Software};
pub use node::{Found as FoundPages, MemoryNode, MemoryPolicy, Nodes, OnNode};
pub use pages::{Alias, Backing, Code, Granted, Heap, Pages, Populate, Via, View};
pub use threads::{
    BackgroundLoad, Process, RoundOptions, RunAhead, RunAheadBudget, RunAheadLimit, Team, Worker,
    WorkerTime,
};

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Debug;
use core::sync::atomic::AtomicU32;
use core::time::Duration;

use crate::cpu::SplitLocks;
use crate::measure::{Monitor, NoMonitor};

/// Something that lasts until it is dropped: a thread that works, a thread kept on its CPU,
/// prefetchers that are off.
pub trait Guard: Debug {}

/// Whether the thread is left alone while it measures.
pub trait Watch: Monitor + Debug {}

impl Watch for NoMonitor {}

/// Prefetchers that are ready to be switched off.
pub trait Prefetchers: Debug {
    /// Switches all of them off, until the guard is dropped. Lay out before what is to be measured.
    ///
    /// # Errors
    /// If they cannot be switched off, or not back on.
    fn switch_off(self: Box<Self>) -> Result<Box<dyn Guard>, Lack>;
}

/// The surroundings of an experiment.
///
/// A set-up asks for what it needs, and is untestable by the [`Lack`] that it gets instead.
pub trait Host: Debug + Sync {
    /// Its name, as a sentence begins with it: `Linux`.
    fn name(&self) -> &'static str;

    /// That this host has no such thing: `Linux has no second clock`.
    fn lacks(&self, what: &'static str) -> Lack {
        Lack::Absent {
            host: self.name(),
            what,
        }
    }

    /// Zeroed bytes from the start of a page, in pages of this size on these nodes, all of them there: the
    /// last page may be longer than what is asked for. [`Backing::granted`] says what pages they really
    /// got.
    ///
    /// # Errors
    /// If there is no memory of such pages, or they lie on other nodes.
    fn memory(
        &self,
        bytes: usize,
        pages: Pages,
        policy: &MemoryPolicy,
    ) -> Result<Box<dyn Backing>, Lack> {
        let _ = (bytes, pages, policy);
        Err(self.lacks("memory in pages of a given size"))
    }

    /// Addresses of zeroed 4 KiB pages, each of which comes when it is touched, from one of these nodes:
    /// they may be many more than there is memory.
    ///
    /// # Errors
    /// If pages do not come by themselves here, or there are no such addresses or nodes.
    fn reserve(&self, bytes: usize, policy: &MemoryPolicy) -> Result<Box<dyn Backing>, Lack> {
        let _ = (bytes, policy);
        Err(self.lacks("pages that come when they are touched"))
    }

    /// A way to map `bytes` bytes in pages of this size so that all of them are there, to be timed.
    ///
    /// # Errors
    /// If there is no such call, or it gives other pages.
    fn populate(&self, bytes: usize, pages: Pages) -> Result<Box<dyn Populate>, Lack> {
        let _ = (bytes, pages);
        Err(self.lacks("call that maps populated pages"))
    }

    /// Replaces the whole pages of `bytes` by pages that `cpu` has touched first, and returns them.
    ///
    /// # Errors
    /// If pages stay where they are.
    fn first_touched_on<'m>(&self, bytes: &'m mut [u8], cpu: usize) -> Result<&'m mut [u8], Lack> {
        let _ = (bytes, cpu);
        Err(self.lacks("pages that a second CPU touches first"))
    }

    /// The memory nodes, in rising order.
    ///
    /// # Errors
    /// If nobody tells of any.
    fn nodes(&self) -> Result<Vec<MemoryNode>, Lack> {
        Err(self.lacks("description of memory nodes"))
    }

    /// On which nodes the 4 KiB pages of so many bytes from `first` on lie, in rising order. Nothing is
    /// read there.
    ///
    /// # Errors
    /// If that cannot be told, or a page is not there.
    fn nodes_of(&self, first: *const u8, bytes: usize) -> Result<Vec<OnNode>, Lack> {
        let _ = (first, bytes);
        Err(self.lacks("answer to on which node a page lies"))
    }

    /// The CPU that this thread is on, if that can be told.
    fn current_cpu(&self) -> Option<usize> {
        None
    }

    /// A clock that runs on: the time since any moment.
    ///
    /// # Errors
    /// If there is no clock but the time-stamp counter.
    fn now(&self) -> Result<Duration, Lack> {
        Err(self.lacks("clock beside the time-stamp counter"))
    }

    /// A watch for disturbances of this thread. Takes some milliseconds.
    fn watch(&self) -> Box<dyn Watch> {
        Box::new(NoMonitor)
    }

    /// How many interrupts a CPU took so far, if that is counted.
    fn interrupts(&self, cpu: usize) -> Option<u64> {
        let _ = cpu;
        None
    }

    /// As many of `events`, from the first on, as are counted at a time, for this thread: at least one
    /// that is counted or refused.
    ///
    /// # Errors
    /// If there are no counters.
    fn counters(&self, events: &[Event]) -> Result<Box<dyn Group>, Lack> {
        let _ = events;
        Err(self.lacks("counters of events"))
    }

    /// The names of the events that are counted of a list of names, parted by commas, or of the usual
    /// ones.
    ///
    /// # Errors
    /// If none is counted, or one is no name.
    fn counted(&self, list: Option<&str>) -> Result<Vec<String>, Lack> {
        let _ = list;
        Err(self.lacks("counters of events"))
    }

    /// Starts the members, has `lead` lead them through rounds, and ends them.
    ///
    /// # Errors
    /// If a thread cannot be started or kept on its CPU; `lead` is not called then.
    fn team(
        &self,
        members: &mut [Worker<'_>],
        options: RoundOptions,
        lead: &mut dyn FnMut(&mut dyn Team),
    ) -> Result<(), Lack> {
        let _ = (members, options, lead);
        Err(self.lacks("second thread"))
    }

    /// Starts a thread on `cpu` that repeats `step` until the guard is dropped, and never sleeps.
    ///
    /// # Errors
    /// If it cannot be started, or kept there.
    fn partner(&self, cpu: usize, step: Box<dyn FnMut() + Send>) -> Result<Box<dyn Guard>, Lack> {
        let _ = (cpu, step);
        Err(self.lacks("second thread"))
    }

    /// Starts a process that moves memory until it is dropped, and waits until it is at work.
    ///
    /// # Errors
    /// If there is none, or if it lacks its CPU or memory.
    fn process(&self, load: BackgroundLoad) -> Result<Box<dyn Process>, Lack> {
        let _ = load;
        Err(self.lacks("second process"))
    }

    /// Keeps this thread on `cpu` until the guard is dropped.
    ///
    /// # Errors
    /// If it may not run there.
    fn pin(&self, cpu: usize) -> Result<Box<dyn Guard>, Lack> {
        let _ = cpu;
        Err(self.lacks("way to move a thread to another CPU"))
    }

    /// Sleeps as long as `word` holds `value`, until [`wake`](Self::wake) is called for it, and no
    /// longer than `most`; may return at any time.
    fn sleep(&self, word: &AtomicU32, value: u32, most: Duration) {
        let _ = (word, value, most);
        core::hint::spin_loop();
    }

    /// Wakes the thread that sleeps on `word`, if there is one.
    fn wake(&self, word: &AtomicU32) {
        let _ = word;
    }

    /// Executable memory of `bytes` bytes, which `write` fills before it is executable.
    ///
    /// # Errors
    /// If it is refused.
    fn code(
        &self,
        bytes: usize,
        pages: Pages,
        write: &mut dyn FnMut(&mut [u8]),
    ) -> Result<Box<dyn Code>, Lack> {
        let _ = (bytes, pages, write);
        Err(self.lacks("memory for code made at run time"))
    }

    /// The same pages at two addresses: `bytes` bytes, rounded up to whole pages, of zeros.
    ///
    /// # Errors
    /// If they are refused, or the CPU does not notice writes to code.
    fn alias(&self, bytes: usize, view: View) -> Result<Box<dyn Alias>, Lack> {
        let _ = (bytes, view);
        Err(self.lacks("pages at two addresses"))
    }

    /// The prefetchers of this thread's CPU.
    ///
    /// # Errors
    /// If they may not be switched.
    fn prefetchers(&self) -> Result<Box<dyn Prefetchers>, Lack> {
        Err(self.lacks("switch of the prefetchers"))
    }

    /// That locked instructions across two lines are not trapped.
    ///
    /// # Errors
    /// If they are, or if that is not known.
    fn split_locks(&self) -> Result<SplitLocks, Lack> {
        Err(self.lacks("answer to whether locks across two lines are trapped"))
    }

    /// Interrupts `work` each `period`, and returns the addresses of the instructions at which it was.
    ///
    /// # Errors
    /// If there is no timer.
    fn sample(&self, period: Duration, work: &mut dyn FnMut()) -> Result<Vec<usize>, Lack> {
        let _ = (period, work);
        Err(self.lacks("timer that interrupts"))
    }

    /// That other programs can be started here, and files written.
    ///
    /// # Errors
    /// If not.
    fn programs(&self) -> Result<(), Lack> {
        Err(self.lacks("programs to start"))
    }

    /// What it tells of its machine or of itself, as a number.
    ///
    /// # Errors
    /// If it does not tell that.
    fn told(&self, what: Told) -> Result<f64, Lack> {
        let _ = what;
        Err(self.lacks("description of the machine"))
    }

    /// How it says that CPUs, packages and caches belong together.
    ///
    /// # Errors
    /// If it does not tell that.
    fn sharing(&self) -> Result<Sharing, Lack> {
        Err(self.lacks("description of the machine"))
    }

    /// How it says that cores share the caches beyond the first level.
    ///
    /// # Errors
    /// If it does not tell that.
    fn arrangement(&self) -> Result<Arrangement, Lack> {
        Err(self.lacks("description of the machine"))
    }
}

/// A host that has nothing: an allocator alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHost;

impl Host for NoHost {
    fn name(&self) -> &'static str {
        "an allocator alone"
    }
}

/// Why a host does not give what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lack {
    /// It has no such thing, whatever it is asked.
    Absent {
        /// Its name.
        host: &'static str,
        /// What it does not have.
        what: &'static str,
    },
    /// It has such things, and refused: its answer.
    Refused(String),
}

messages! { Lack:
    Lack::Absent { host, what } => ("{host} has no {what}");
    Lack::Refused(answer) => ("{answer}");
}

impl Lack {
    /// What somebody answered who refused.
    pub fn refused(answer: impl core::fmt::Display) -> Self {
        Lack::Refused(answer.to_string())
    }

    /// Whether the host has no such thing at all.
    pub const fn is_absence(&self) -> bool {
        matches!(self, Lack::Absent { .. })
    }
}
