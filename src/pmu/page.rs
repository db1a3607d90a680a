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

/// Attempts before a reader stops because the kernel wrote during each of them. The kernel writes at
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
        if reading.multiplexed() { Err(Unread::Turns) } else { Ok(reading) }
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
mod tests {
    //! Pages as the kernel could have written them; some are rewritten while they are read.

    extern crate std;
    use super::*;
    use core::cell::Cell;
    use core::sync::atomic::AtomicBool;
    use std::vec::Vec;

    /// A source of made-up counter values.
    struct Fake<'a> {
        value: u64,
        /// Called while the counter is read.
        meanwhile: &'a dyn Fn(),
        asked: Cell<Option<u32>>,
    }

    impl Fake<'_> {
        fn of(value: u64) -> Self {
            Fake { value, meanwhile: &|| (), asked: Cell::new(None) }
        }
    }

    impl Rdpmc for Fake<'_> {
        unsafe fn rdpmc(&self, counter: u32) -> u64 {
            self.asked.set(Some(counter));
            (self.meanwhile)();
            self.value
        }
    }

    fn page(index: u32, offset: i64, width: u16) -> Page {
        Page {
            index: index.into(),
            offset: offset.into(),
            width: width.into(),
            capabilities: (MEANT | USER_RDPMC).into(),
            time_enabled: 300.into(),
            time_running: 300.into(),
            ..Page::default()
        }
    }

    fn read(page: &Page, counters: &Fake<'_>) -> Result<Reading, Unread> {
        // SAFETY: page and counters are made up.
        unsafe { page.read(counters) }
    }

    #[test]
    fn a_counter_is_added_to_its_offset_with_its_sign() {
        let counters = Fake::of(5);
        assert_eq!(read(&page(3, 1000, 48), &counters).unwrap().value, 1005);
        assert_eq!(counters.asked.get(), Some(2));
        // The kernel sets a counter to a negative value, so that it overflows at its period.
        let minus_ten = Fake::of((1 << 48) - 10);
        assert_eq!(read(&page(1, 1000, 48), &minus_ten).unwrap().value, 990);
        let whole = Fake::of(u64::MAX);
        assert_eq!(read(&page(1, 1, 64), &whole).unwrap().value, 0);
        let one_bit = Fake::of(1);
        assert_eq!(read(&page(1, 1, 1), &one_bit).unwrap().value, 0);
        // Fixed counters have bit 30 set in their number.
        let fixed = Fake::of(0);
        read(&page((1 << 30 | 1) + 1, 0, 48), &fixed).unwrap();
        assert_eq!(fixed.asked.get(), Some(1 << 30 | 1));
    }

    #[test]
    fn what_cannot_be_read_says_why_and_executes_nothing() {
        let counters = Fake::of(5);
        let forbidden = Page { capabilities: MEANT.into(), ..page(1, 0, 48) };
        assert_eq!(read(&forbidden, &counters), Err(Unread::Forbidden));
        // Before Linux 3.12 the bits had another meaning.
        let ancient = Page { capabilities: USER_RDPMC.into(), ..page(1, 0, 48) };
        assert_eq!(read(&ancient, &counters), Err(Unread::Forbidden));
        assert_eq!(read(&page(0, 7, 48), &counters), Err(Unread::NotCounting));
        for width in [0, 65, u16::MAX] {
            assert_eq!(read(&page(1, 0, width), &counters), Err(Unread::Width(width)));
        }
        assert_eq!(counters.asked.get(), None);
    }

    #[test]
    fn a_page_that_is_always_being_written_is_given_up() {
        let odd = Page { lock: 7.into(), ..page(1, 0, 48) };
        assert_eq!(read(&odd, &Fake::of(1)), Err(Unread::Torn));
        let moving = page(1, 0, 48);
        let write = || _ = moving.lock.fetch_add(2, Ordering::Relaxed);
        let restless = Fake { meanwhile: &write, ..Fake::of(1) };
        assert_eq!(read(&moving, &restless), Err(Unread::Torn));
        assert_eq!(moving.lock.load(Ordering::Relaxed), 2 * PATIENCE);
    }

    #[test]
    fn a_permission_taken_back_in_the_middle_is_noticed() {
        let page = page(1, 40, 48);
        // The second attempt checks the page first, and reads no counter.
        let take_back = || {
            page.lock.fetch_add(1, Ordering::Relaxed);
            page.capabilities.store(MEANT, Ordering::Relaxed);
            page.lock.fetch_add(1, Ordering::Relaxed);
        };
        let counters = Fake { meanwhile: &take_back, ..Fake::of(2) };
        assert_eq!(read(&page, &counters), Err(Unread::Forbidden));
    }

    /// Reads the page while another thread changes it 19 999 times, each time in two steps. Returns what was
    /// read, and last what is there at the end.
    fn read_while_written(
        page: &Page,
        counters: &impl Rdpmc,
        [first, second]: [&(dyn Fn(u32) + Sync); 2],
    ) -> Vec<Reading> {
        let done = AtomicBool::new(false);
        let mut values = Vec::new();
        // SAFETY: page and counters are made up.
        let read = || unsafe { page.read(counters) };
        std::thread::scope(|scope| {
            let kernel = scope.spawn(|| {
                for round in 1..20_000 {
                    page.lock.fetch_add(1, Ordering::SeqCst);
                    first(round);
                    if round % 16 == 0 {
                        std::thread::yield_now();
                    }
                    second(round);
                    page.lock.fetch_add(1, Ordering::SeqCst);
                }
                done.store(true, Ordering::SeqCst);
            });
            while !done.load(Ordering::SeqCst) {
                match read() {
                    Ok(reading) => values.push(reading),
                    Err(unread) => assert_eq!(unread, Unread::Torn),
                }
            }
            kernel.join().unwrap();
        });
        values.push(read().unwrap());
        values
    }

    /// The writer moves the counter and changes offset and times with it, so that a reader that mixes two
    /// states sees a sum that no state has.
    #[test]
    fn no_reader_sees_half_of_an_update() {
        let page = page(1, 0, 48);
        let first = |round: u32| page.offset.store(i64::from(round) * 1000, Ordering::SeqCst);
        let second = |round: u32| {
            let enabled = u64::from(round) * 1000;
            page.time_enabled.store(enabled, Ordering::SeqCst);
            page.time_running.store(enabled, Ordering::SeqCst);
        };
        let values = read_while_written(&page, &Fake::of(0), [&first, &second]);
        for reading in &values {
            assert!(reading.value == 0 || reading.value == reading.enabled, "{reading:?}");
        }
        assert!(values.is_sorted_by_key(|reading| reading.value));
        assert_eq!(values.last().unwrap().value, 19_999_000);
    }

    /// Counters with different values: the number of one state must never be combined with the offset of
    /// another.
    struct Two;

    impl Two {
        const VALUES: [u64; 2] = [10, 70];
    }

    impl Rdpmc for Two {
        unsafe fn rdpmc(&self, counter: u32) -> u64 {
            Two::VALUES[counter as usize]
        }
    }

    /// The writer moves the event from counter to counter and takes its counter away in between. The sum of
    /// counter and offset is the same on either counter.
    #[test]
    fn no_reader_mixes_two_counters() {
        const SUM: u64 = 1000;
        let page = page(1, (SUM - Two::VALUES[0]).cast_signed(), 48);
        let first = |round: u32| {
            page.index.store(0, Ordering::SeqCst);
            let offset = (SUM - Two::VALUES[round as usize % 2]).cast_signed();
            page.offset.store(offset, Ordering::SeqCst);
        };
        let second = |round: u32| page.index.store(round % 2 + 1, Ordering::SeqCst);
        let values = read_while_written(&page, &Two, [&first, &second]);
        assert!(values.iter().all(|reading| reading.value == SUM));
    }

    #[test]
    fn shared_counters_are_extrapolated_and_say_so() {
        let reading = Reading { value: 50, enabled: 300, running: 100 };
        assert!(reading.multiplexed());
        assert_eq!(reading.scaled(), Some(150.0));
        let alone = Reading { running: 300, ..reading };
        assert!(!alone.multiplexed());
        assert_eq!(alone.scaled(), Some(50.0));
        let never = Reading { running: 0, ..reading };
        assert_eq!(never.scaled(), None);
        // No time passes between two updates of the page.
        let short = reading.since(&reading);
        assert_eq!(short.scaled(), Some(0.0));
    }

    /// The count is of this moment, and the times are of the last update.
    #[test]
    fn what_took_turns_is_not_read_from_the_page() {
        let turns = Page { time_running: 100.into(), ..page(1, 50, 48) };
        assert_eq!(read(&turns, &Fake::of(0)), Err(Unread::Turns));
        turns.time_running.store(300, Ordering::Relaxed);
        assert_eq!(read(&turns, &Fake::of(0)).unwrap().value, 50);
    }

    #[test]
    fn a_difference_survives_a_counter_that_went_round() {
        let reading = |value, enabled| Reading { value, enabled, running: enabled };
        let difference = reading(5, 900).since(&reading(u64::MAX - 4, 100));
        assert_eq!(difference, reading(10, 800));
    }
}
