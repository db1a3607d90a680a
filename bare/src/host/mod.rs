//! The bare image as a host of experiments: memory in pages of every size, code, counters and prefetchers. It
//! has one CPU, no threads and no files.

mod counters;
mod memory;
mod prefetchers;

use alloc::boxed::Box;
use core::cell::Cell;

use linefill::cpu::{Identity, SplitLocks};
use linefill::host::{
    Alias, Backing, Code, Event, Group, Host, Lack, MemoryPolicy, Pages as PageSize, Prefetchers,
    View,
};
use linefill::pmu::Capabilities;

use crate::pages::Pages;
use memory::{Executable, Own, Twice};

pub use counters::counting;

/// The host.
#[derive(Debug)]
pub struct Bare;

/// The only host.
pub static HOST: Bare = Bare;

/// The resources of the host. A function that uses one takes it and puts it back.
struct State {
    pages: Cell<Option<Pages>>,
    counters: Cell<Option<Capabilities>>,
    ring: Cell<u16>,
}

// SAFETY: one CPU runs the program, and no interrupt handler uses the state.
unsafe impl Sync for State {}

static STATE: State =
    State { pages: Cell::new(None), counters: Cell::new(None), ring: Cell::new(3) };

/// Gives the host its memory, the ring, and the counters that it can program in this ring, if any.
pub fn begin(pages: Pages, counters: Option<Capabilities>, ring: u16) {
    STATE.pages.set(Some(pages));
    STATE.counters.set(counters);
    STATE.ring.set(ring);
}

/// Calls `work` with the memory.
///
/// # Panics
/// If [`begin`] was not called.
fn with_pages<R>(work: impl FnOnce(&mut Pages) -> R) -> R {
    let mut pages = STATE.pages.take().expect("the host has begun");
    let result = work(&mut pages);
    STATE.pages.set(Some(pages));
    result
}

impl Host for Bare {
    fn name(&self) -> &'static str {
        "the bare image"
    }

    fn memory(
        &self,
        bytes: usize,
        pages: PageSize,
        policy: &MemoryPolicy,
    ) -> Result<Box<dyn Backing>, Lack> {
        if *policy != MemoryPolicy::Default {
            return Err(self.lacks("choice of the memory node of a page"));
        }
        Ok(Box::new(Own::new(bytes, pages)?))
    }

    fn counters(&self, events: &[Event]) -> Result<Box<dyn Group>, Lack> {
        let capabilities = STATE.counters.get();
        let capabilities = capabilities.ok_or_else(|| self.lacks("counters of events"))?;
        Ok(Box::new(counters::Programmed::of_first(events, capabilities)))
    }

    fn code(
        &self,
        bytes: usize,
        pages: PageSize,
        write: &mut dyn FnMut(&mut [u8]),
    ) -> Result<Box<dyn Code>, Lack> {
        Ok(Box::new(Executable::new(bytes, pages, write)?))
    }

    fn alias(&self, bytes: usize, _: View) -> Result<Box<dyn Alias>, Lack> {
        Ok(Box::new(Twice::new(bytes)?))
    }

    fn prefetchers(&self) -> Result<Box<dyn Prefetchers>, Lack> {
        let ready = prefetchers::Ready::here(STATE.ring.get())?;
        Ok(Box::new(ready))
    }

    /// On a bare CPU nothing traps split locks: firmware leaves the trap disabled, and no operating system
    /// enables it. A hypervisor may.
    fn split_locks(&self) -> Result<SplitLocks, Lack> {
        match Identity::detect().hypervisor_name() {
            // SAFETY: there is no hypervisor, so nothing traps split locks.
            None => Ok(unsafe { SplitLocks::allowed() }),
            Some(name) => Err(Lack::refused(format_args!(
                "{name} may trap locks across two lines, and does not tell"
            ))),
        }
    }
}
