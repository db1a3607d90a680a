//! Reading a counter that Linux shares with a process, without a system call.
//!
//! The kernel describes the counter in a page that it maps into the process and rewrites whenever
//! the counter moves. Source: `struct perf_event_mmap_page` in `include/uapi/linux/perf_event.h`,
//! whose comment gives the protocol.

// Executes `rdpmc` once the page has allowed it.
#![allow(unsafe_code)]

use core::sync::atomic::{AtomicI64, AtomicU16, AtomicU32, AtomicU64, Ordering, compiler_fence};

use super::Rdpmc;

/// The part of the page that reading needs. The kernel writes it, so every field is atomic.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Page {
    version: AtomicU32,
    compat_version: AtomicU32,
    /// Grows by one when the kernel begins to write, and by one when it is done.
    lock: AtomicU32,
    /// One more than the hardware counter, or 0 while the event has none.
    index: AtomicU32,
    /// What the hardware counter is to be added to.
    offset: AtomicI64,
    /// Nanoseconds for which the event was enabled.
    time_enabled: AtomicU64,
    /// Nanoseconds for which it had a counter.
    time_running: AtomicU64,
    capabilities: AtomicU64,
    /// Bits of the hardware counter.
    width: AtomicU16,
}

/// Offset of `pmc_width` in the kernel's structure.
const _: () = assert!(core::mem::offset_of!(Page, width) == 48);
const _: () = assert!(core::mem::offset_of!(Page, capabilities) == 40);

/// `cap_bit0_is_deprecated`: the bits below mean what they say (Linux 3.12 and later).
const MEANT: u64 = 1 << 1;
/// `cap_user_rdpmc`: `rdpmc` may be executed.
const USER_RDPMC: u64 = 1 << 2;

/// How often a reader starts again because the kernel wrote meanwhile. The kernel writes at
/// context switches and interrupts: a second time in a row is rare, a hundredth is a defect.
const PATIENCE: u32 = 100;

/// A count, and for how much of the time it was really counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The count.
    pub value: u64,
    /// Nanoseconds for which the event was enabled, up to the last time the kernel looked.
    pub enabled: u64,
    /// Nanoseconds for which it had a counter: less than `enabled` if events took turns.
    pub running: u64,
}

/// Why a page gave no count. `read(2)` on the event still does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unread {
    /// The kernel does not allow `rdpmc`, or no longer does.
    Forbidden,
    /// The event has no counter at the moment.
    NotCounting,
    /// The page says that counters have this many bits, which no counter has.
    Width(u16),
    /// The kernel wrote to the page during every attempt.
    Torn,
}

messages! { Unread:
    Unread::Forbidden => ("the kernel does not allow rdpmc in user mode");
    Unread::NotCounting => ("the event has no counter at the moment");
    Unread::Width(bits) => ("the kernel speaks of counters of {bits} bits; they have 1 to 64");
    Unread::Torn => ("the kernel rewrote the page during every attempt");
}

impl Page {
    /// The count at this moment.
    ///
    /// Of a counter of 48 bits the kernel keeps the upper part in `offset`, so its value is
    /// sign-extended before it is added.
    ///
    /// # Errors
    /// If there is no count to be had this way; the caller falls back on `read(2)`.
    ///
    /// # Safety
    /// This is the page that the kernel keeps of an event of the calling thread, and `rdpmc`
    /// reads the counters of the CPU that runs it. For pages and counters that are made up,
    /// there is nothing to observe.
    #[inline]
    pub unsafe fn read(&self, counters: &impl Rdpmc) -> Result<Reading, Unread> {
        for _ in 0..PATIENCE {
            let before = self.lock.load(Ordering::Acquire);
            // SAFETY: handed on.
            let found = unsafe { self.attempt(counters) };
            // x86 does not reorder loads, so the compiler alone must be kept from it.
            compiler_fence(Ordering::Acquire);
            if before & 1 == 0 && self.lock.load(Ordering::Relaxed) == before {
                return found;
            }
            core::hint::spin_loop();
        }
        Err(Unread::Torn)
    }

    /// One attempt, whose result counts only if the kernel did not write meanwhile.
    ///
    /// # Safety
    /// As for [`read`](Self::read).
    #[inline(always)]
    unsafe fn attempt(&self, counters: &impl Rdpmc) -> Result<Reading, Unread> {
        let allowed = MEANT | USER_RDPMC;
        if self.capabilities.load(Ordering::Relaxed) & allowed != allowed {
            return Err(Unread::Forbidden);
        }
        let index = self.index.load(Ordering::Relaxed);
        if index == 0 {
            return Err(Unread::NotCounting);
        }
        let width = self.width.load(Ordering::Relaxed);
        if !(1..=64).contains(&width) {
            return Err(Unread::Width(width));
        }
        let offset = self.offset.load(Ordering::Relaxed);
        // SAFETY: the page has just allowed `rdpmc` and named the counter. The kernel leaves it
        // allowed to a process for as long as such a page is mapped; only an administrator who
        // writes the PMU's `rdpmc` file could forbid it between these two instructions.
        let counter = unsafe { counters.rdpmc(index - 1) };
        let unused = 64 - u32::from(width);
        let counter = (counter << unused).cast_signed() >> unused;
        Ok(Reading {
            value: offset.wrapping_add(counter).cast_unsigned(),
            enabled: self.time_enabled.load(Ordering::Relaxed),
            running: self.time_running.load(Ordering::Relaxed),
        })
    }
}

impl Reading {
    /// What was counted since `earlier`.
    #[inline]
    pub fn since(&self, earlier: &Reading) -> Reading {
        Reading {
            value: self.value.wrapping_sub(earlier.value),
            enabled: self.enabled.saturating_sub(earlier.enabled),
            running: self.running.saturating_sub(earlier.running),
        }
    }

    /// The count, extrapolated to the whole time if the event had a counter for a part of it
    /// only. `None` if it never had one.
    pub fn scaled(&self) -> Option<f64> {
        if !self.multiplexed() {
            return Some(self.value as f64);
        }
        let part = self.running as f64 / self.enabled as f64;
        (part > 0.0).then(|| self.value as f64 / part)
    }

    /// Whether the event shared its counter with others.
    pub fn multiplexed(&self) -> bool {
        self.running < self.enabled
    }
}

/// A page as the kernel could have written it.
#[cfg(all(test, feature = "std"))]
pub(crate) fn made_up_page(index: u32, offset: i64, allowed: bool) -> Page {
    let capabilities = if allowed { MEANT | USER_RDPMC } else { MEANT };
    Page {
        index: index.into(),
        offset: offset.into(),
        width: 48.into(),
        capabilities: capabilities.into(),
        ..Page::default()
    }
}

#[cfg(test)]
mod tests;
