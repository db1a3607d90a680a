//! What an experiment needs from its surroundings. A [`Host`] provides it, or returns a [`Lack`].
//!
//! Linux is one host (`experiment::Linux`). A host without an operating system implements what it has.
//! Every method except [`Host::name`] has a default, most of which answer that the host lacks the feature.

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
#[cfg(feature = "record")]
pub(crate) use threads::misplaced;
pub use threads::{
    BackgroundLoad, Misplaced, Process, RoundOptions, RunAhead, RunAheadBudget, RunAheadLimit,
    ThreadGroup, Worker, WorkerTime,
};

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Debug;
use core::sync::atomic::AtomicU32;
use core::time::Duration;

use crate::cpu::SplitLocks;
use crate::measure::{Monitor, NoMonitor};

/// A state that lasts until it is dropped: a working thread, a pinned thread, prefetchers that are off.
pub trait Guard: Debug {}

/// Detects disturbances of a thread while it measures.
pub trait HostMonitor: Monitor + Debug {}

impl HostMonitor for NoMonitor {}

/// Prefetchers that are ready to be switched off.
pub trait Prefetchers: Debug {
    /// Switches all of them off until the guard is dropped. Lay out the data to measure first.
    ///
    /// # Errors
    /// If they cannot be switched off, or could not be switched on again.
    fn switch_off(self: Box<Self>) -> Result<Box<dyn Guard>, Lack>;
}

/// The surroundings of an experiment.
///
/// A set-up asks for what it needs. If it gets a [`Lack`] instead, it cannot be tested.
#[expect(unused_variables, reason = "the defaults use no parameter")]
pub trait Host: Debug + Sync {
    /// Returns the host's name, as it begins a sentence: `Linux`.
    fn name(&self) -> &'static str;

    /// Returns the error that this host lacks a feature: `Linux has no second clock`.
    fn lacks(&self, what: &'static str) -> Lack {
        Lack::Absent { host: self.name(), what }
    }

    /// Allocates zeroed bytes that start on a page, in pages of this size on these nodes. All pages are
    /// present; the last page may extend beyond `bytes`. [`Backing::granted`] reports the pages granted.
    ///
    /// # Errors
    /// If there is no memory in such pages, or the pages lie on other nodes.
    fn memory(
        &self,
        bytes: usize,
        pages: Pages,
        policy: &MemoryPolicy,
    ) -> Result<Box<dyn Backing>, Lack> {
        Err(self.lacks("memory in pages of a given size"))
    }

    /// Reserves addresses of zeroed 4 KiB pages. Each page is allocated from these nodes when it is touched.
    /// The size may exceed the memory.
    ///
    /// # Errors
    /// If pages are not allocated on touch here, or the addresses or nodes cannot be had.
    fn reserve(&self, bytes: usize, policy: &MemoryPolicy) -> Result<Box<dyn Backing>, Lack> {
        Err(self.lacks("pages that come when they are touched"))
    }

    /// Returns a way to map `bytes` bytes in populated pages of this size, to be timed.
    ///
    /// # Errors
    /// If there is no such call, or it gives other pages.
    fn populate(&self, bytes: usize, pages: Pages) -> Result<Box<dyn Populate>, Lack> {
        Err(self.lacks("call that maps populated pages"))
    }

    /// Replaces the whole pages of `bytes` by pages that `cpu` has touched first, and returns them.
    ///
    /// # Errors
    /// If the pages cannot be replaced.
    fn first_touched_on<'m>(&self, bytes: &'m mut [u8], cpu: usize) -> Result<&'m mut [u8], Lack> {
        Err(self.lacks("pages that a second CPU touches first"))
    }

    /// Returns the memory nodes, in ascending order.
    ///
    /// # Errors
    /// If the host describes none.
    fn nodes(&self) -> Result<Vec<MemoryNode>, Lack> {
        Err(self.lacks("description of memory nodes"))
    }

    /// Returns the nodes on which the 4 KiB pages of `bytes` bytes from `first` on lie, in ascending order.
    /// Does not access these bytes.
    ///
    /// # Errors
    /// If the nodes cannot be found, or a page is not present.
    fn nodes_of(&self, first: *const u8, bytes: usize) -> Result<Vec<OnNode>, Lack> {
        Err(self.lacks("way to tell on which node a page lies"))
    }

    /// Returns the CPU that this thread is on; `None` if the host does not report it.
    fn current_cpu(&self) -> Option<usize> {
        None
    }

    /// Returns the time of a steady clock, counted from an arbitrary moment.
    ///
    /// # Errors
    /// If there is no clock besides the time-stamp counter.
    fn now(&self) -> Result<Duration, Lack> {
        Err(self.lacks("clock beside the time-stamp counter"))
    }

    /// Returns a monitor of disturbances of this thread. Takes some milliseconds.
    fn monitor(&self) -> Box<dyn HostMonitor> {
        Box::new(NoMonitor)
    }

    /// Returns the number of interrupts that a CPU has taken so far; `None` if they are not counted.
    fn interrupts(&self, cpu: usize) -> Option<u64> {
        None
    }

    /// Opens as many of `events`, from the first on, as can be counted at once, for this thread. At least
    /// one of them is counted or refused.
    ///
    /// # Errors
    /// If there are no counters.
    fn counters(&self, events: &[Event]) -> Result<Box<dyn Group>, Lack> {
        Err(self.lacks("counters of events"))
    }

    /// Returns the names of the events that can be counted, out of a comma-separated list or, without a
    /// list, out of the usual events.
    ///
    /// # Errors
    /// If none can be counted, or an entry is not the name of an event.
    fn counted(&self, list: Option<&str>) -> Result<Vec<String>, Lack> {
        Err(self.lacks("counters of events"))
    }

    /// Starts the workers, calls `lead` to run rounds, and ends the workers.
    ///
    /// # Errors
    /// If a thread cannot be started or pinned to its CPU, or if the time-stamp counters of the CPUs disagree;
    /// `lead` is then not called.
    fn thread_group(
        &self,
        workers: &mut [Worker<'_>],
        options: RoundOptions,
        lead: &mut dyn FnMut(&mut dyn ThreadGroup),
    ) -> Result<(), Lack> {
        Err(self.lacks("second thread"))
    }

    /// Starts a thread on `cpu` that repeats `step` until the guard is dropped, and never sleeps.
    ///
    /// # Errors
    /// If the thread cannot be started or pinned.
    fn background_thread(
        &self,
        cpu: usize,
        step: Box<dyn FnMut() + Send>,
    ) -> Result<Box<dyn Guard>, Lack> {
        Err(self.lacks("second thread"))
    }

    /// Starts a process that moves memory until it is dropped, and waits until it is at work.
    ///
    /// # Errors
    /// If the process cannot be started, or cannot have its CPU or memory.
    fn process(&self, load: BackgroundLoad) -> Result<Box<dyn Process>, Lack> {
        Err(self.lacks("second process"))
    }

    /// Pins this thread to `cpu` until the guard is dropped.
    ///
    /// # Errors
    /// If the thread may not run there.
    fn pin(&self, cpu: usize) -> Result<Box<dyn Guard>, Lack> {
        Err(self.lacks("way to move a thread to another CPU"))
    }

    /// Sleeps while `word` holds `value`, until [`wake`](Self::wake) is called for `word`, and for at most
    /// `most`. May return at any time.
    fn sleep(&self, word: &AtomicU32, value: u32, most: Duration) {
        core::hint::spin_loop();
    }

    /// Wakes the thread that sleeps on `word`, if there is one.
    fn wake(&self, word: &AtomicU32) {}

    /// Allocates executable memory of `bytes` bytes. `write` fills it before it becomes executable.
    ///
    /// # Errors
    /// If the memory is refused.
    fn code(
        &self,
        bytes: usize,
        pages: Pages,
        write: &mut dyn FnMut(&mut [u8]),
    ) -> Result<Box<dyn Code>, Lack> {
        Err(self.lacks("memory for code made at run time"))
    }

    /// Maps the same pages at two addresses: `bytes` zeroed bytes, rounded up to whole pages.
    ///
    /// # Errors
    /// If the mappings are refused, or the CPU does not notice writes to code.
    fn alias(&self, bytes: usize, view: View) -> Result<Box<dyn Alias>, Lack> {
        Err(self.lacks("pages at two addresses"))
    }

    /// Prepares the prefetchers of this thread's CPU.
    ///
    /// # Errors
    /// If they may not be switched.
    fn prefetchers(&self) -> Result<Box<dyn Prefetchers>, Lack> {
        Err(self.lacks("switch of the prefetchers"))
    }

    /// Returns permission to execute locked instructions across two lines.
    ///
    /// # Errors
    /// If such instructions are trapped, or if that is not known.
    fn split_locks(&self) -> Result<SplitLocks, Lack> {
        Err(self.lacks("way to tell whether locks across two lines are trapped"))
    }

    /// Runs `work` in a child process. Returns whether the CPU or the kernel refused something in it.
    ///
    /// # Errors
    /// If the process cannot be started, or ends in another way.
    fn faults(&self, work: &mut dyn FnMut()) -> Result<bool, Lack> {
        Err(self.lacks("second process"))
    }

    /// Runs `work` while a timer interrupts it each `period`. Returns the addresses of the interrupted
    /// instructions.
    ///
    /// # Errors
    /// If there is no timer.
    fn sample(&self, period: Duration, work: &mut dyn FnMut()) -> Result<Vec<usize>, Lack> {
        Err(self.lacks("timer that interrupts"))
    }

    /// Checks that other programs can be started, and files written.
    ///
    /// # Errors
    /// If they cannot.
    fn programs(&self) -> Result<(), Lack> {
        Err(self.lacks("programs to start"))
    }

    /// Returns a number that the host reports about its machine or itself.
    ///
    /// # Errors
    /// If the host does not report it.
    fn told(&self, what: Told) -> Result<f64, Lack> {
        Err(self.lacks("description of the machine"))
    }

    /// Returns how CPUs, packages and caches belong together, as the host reports it.
    ///
    /// # Errors
    /// If the host does not report it.
    fn sharing(&self) -> Result<Sharing, Lack> {
        Err(self.lacks("description of the machine"))
    }

    /// Returns how cores share the caches beyond the first level, as the host reports it.
    ///
    /// # Errors
    /// If the host does not report it.
    fn arrangement(&self) -> Result<Arrangement, Lack> {
        Err(self.lacks("description of the machine"))
    }
}

/// A host that offers nothing but an allocator.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHost;

impl Host for NoHost {
    fn name(&self) -> &'static str {
        "an allocator alone"
    }
}

/// Why a host did not provide what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lack {
    /// The host does not have the feature at all.
    Absent {
        /// The host's name.
        host: &'static str,
        /// The missing feature.
        what: &'static str,
    },
    /// The host has the feature, but refused, with this answer.
    Refused(String),
}

messages! { Lack:
    Lack::Absent { host, what } => ("{host} has no {what}");
    Lack::Refused(answer) => ("{answer}");
}

impl Lack {
    /// Returns a refusal with this answer.
    pub fn refused(answer: impl core::fmt::Display) -> Self {
        Lack::Refused(answer.to_string())
    }

    /// Returns whether the host does not have the feature at all.
    pub const fn is_absence(&self) -> bool {
        matches!(self, Lack::Absent { .. })
    }
}
