//! Reads a counter that Linux shares with a process, without a system call.
//!
//! The kernel describes the counter in a page that it maps into the process. It rewrites the page
//! whenever the event moves to another counter. Source: `struct perf_event_mmap_page` in
//! `include/uapi/linux/perf_event.h`, whose comment gives the protocol.

// Executes `rdpmc` after checking that the page allows it.
#![allow(unsafe_code)]

use core::sync::atomic::{AtomicI64, AtomicU16, AtomicU32, AtomicU64, Ordering, compiler_fence};

use super::Rdpmc;

/// The fields of the page that a reader needs. The kernel writes them, so every field is atomic.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Page {
    version: AtomicU32,
    compat_version: AtomicU32,
    /// Sequence number: incremented when the kernel begins to write, and again when it has finished.
    lock: AtomicU32,
    /// Number of the hardware counter plus one, or 0 while the event has no counter.
    index: AtomicU32,
    /// Value to add to the hardware counter.
    offset: AtomicI64,
    /// Nanoseconds for which the event was enabled.
    time_enabled: AtomicU64,
    /// Nanoseconds for which the event had a counter.
    time_running: AtomicU64,
    capabilities: AtomicU64,
    /// Width of the hardware counter in bits.
    width: AtomicU16,
}

/// The fields must lie at the offsets of the kernel's structure.
const _: () = assert!(core::mem::offset_of!(Page, capabilities) == 40);
const _: () = assert!(core::mem::offset_of!(Page, width) == 48);

/// `cap_bit0_is_deprecated`: the capability bits have their present meaning (Linux 3.12 and later).
const MEANT: u64 = 1 << 1;
/// `cap_user_rdpmc`: `rdpmc` may be executed.
const USER_RDPMC: u64 = 1 << 2;

/// Attempts before a reader gives up because the kernel wrote during each of them. The kernel writes at
/// context switches and interrupts: two failures in a row are rare, a hundred are a defect.
const PATIENCE: u32 = 100;

/// A count, and the times for which the event was enabled and counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The count.
    pub value: u64,
    /// Nanoseconds for which the event was enabled: from a page, up to the kernel's last update.
    pub enabled: u64,
    /// Nanoseconds for which the event had a counter: less than `enabled` if events took turns.
    pub running: u64,
}

/// Why a page gave no count. `read(2)` on the event works even so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unread {
    /// The kernel does not allow `rdpmc`, or no longer does.
    Forbidden,
    /// The event has no counter at the moment.
    NotCounting,
    /// The page gives this width in bits, which no counter has.
    Width(u16),
    /// The event has been without a counter: events take turns, and the page's times are of the kernel's last
    /// update, so that they do not fit the count.
    Turns,
    /// The kernel wrote to the page during every attempt.
    Torn,
}

messages! { Unread:
    Unread::Forbidden => ("the kernel does not allow rdpmc in user mode");
    Unread::NotCounting => ("the event has no counter at the moment");
    Unread::Width(bits) => ("the kernel speaks of counters of {bits} bits; they have 1 to 64");
    Unread::Turns => (
        "events take turns on the counters, and the page's times are older than the count"
    );
    Unread::Torn => ("the kernel rewrote the page during every attempt");
}

impl Page {
    /// Reads the count at this moment.
    ///
    /// The counter's value is sign-extended from its width before `offset` is added, because the kernel
    /// keeps the upper part of the count in `offset`.
    ///
    /// # Errors
    /// If the count cannot be read from the page; the caller falls back on `read(2)`.
    ///
    /// # Safety
    /// The page is the one that the kernel keeps for an event of the calling thread, and `rdpmc` reads
    /// the counters of the CPU that runs the thread. For made-up pages and counters there is no
    /// requirement.
    #[inline]
    pub unsafe fn read(&self, counters: &impl Rdpmc) -> Result<Reading, Unread> {
        for _ in 0..PATIENCE {
            let before = self.lock.load(Ordering::Acquire);
            // SAFETY: the caller's obligation is the same.
            let found = unsafe { self.attempt(counters) };
            // x86 does not reorder loads, so only the compiler must be kept from reordering them.
            compiler_fence(Ordering::Acquire);
            if before & 1 == 0 && self.lock.load(Ordering::Relaxed) == before {
                return found;
            }
            core::hint::spin_loop();
        }
        Err(Unread::Torn)
    }

    /// Makes one attempt. The caller discards the result if the kernel wrote during the attempt.
    ///
    /// # Safety
    /// Same as [`read`](Self::read).
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
        // SAFETY: the page has just allowed `rdpmc` and named the counter. The kernel leaves `rdpmc`
        // allowed to a process for as long as it has such a page mapped; only an administrator who
        // writes the PMU's `rdpmc` file could forbid it between these two instructions.
        let counter = unsafe { counters.rdpmc(index - 1) };
        let unused = 64 - u32::from(width);
        let counter = (counter << unused).cast_signed() >> unused;
        let reading = Reading {
            value: offset.wrapping_add(counter).cast_unsigned(),
            enabled: self.time_enabled.load(Ordering::Relaxed),
            running: self.time_running.load(Ordering::Relaxed),
        };
        // The count is of this moment, while the times are of the kernel's last update. This matters only to
        // an event that has been without a counter.
        match reading.multiplexed() {
            true => Err(Unread::Turns),
            false => Ok(reading),
        }
    }
}

impl Reading {
    /// Returns the count and the times since `earlier`.
    #[inline]
    pub fn since(&self, earlier: &Reading) -> Reading {
        Reading {
            value: self.value.wrapping_sub(earlier.value),
            enabled: self.enabled.saturating_sub(earlier.enabled),
            running: self.running.saturating_sub(earlier.running),
        }
    }

    /// Returns the count, extrapolated to the whole enabled time if the event had a counter for only
    /// part of it. `None` if it never had a counter.
    pub fn scaled(&self) -> Option<f64> {
        if !self.multiplexed() {
            return Some(self.value as f64);
        }
        let part = self.running as f64 / self.enabled as f64;
        (part > 0.0).then(|| self.value as f64 / part)
    }

    /// Returns whether the event shared its counter with other events.
    pub fn multiplexed(&self) -> bool {
        self.running < self.enabled
    }
}

/// Returns a page as the kernel could have written it.
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
