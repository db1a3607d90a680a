//! One open event.
// Maps the page that the kernel keeps for the event, and executes `rdpmc` as the page allows.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::{self, Read};
use std::marker::PhantomData;
use std::os::fd::AsRawFd;

use super::group::MOST;
use super::{Event, Refusal, refusal};
use crate::os::check;
use crate::os::memory::Shared;
use crate::pmu::{Cpu, Page, Rdpmc, Reading, Unread};

/// PERF_EVENT_IOC_ENABLE and PERF_EVENT_IOC_DISABLE: `_IO('$', 0)` and `_IO('$', 1)`.
const ENABLE: u16 = 0x2400;
const DISABLE: u16 = 0x2401;

/// An event that counts for the thread that opened it. It stays on that thread, because `rdpmc`
/// reads the counters of the CPU that executes it.
#[derive(Debug)]
pub struct Counter {
    file: File,
    page: Option<Shared<Page>>,
    of_this_thread: PhantomData<*const ()>,
}

impl Counter {
    /// Opens `event` for the calling thread, and starts counting.
    ///
    /// # Errors
    /// Why the kernel does not count it.
    pub fn open(event: &Event) -> Result<Counter, Refusal> {
        Counter::open_in(event, None).map_err(|error| refusal(event, &error))
    }

    /// `ioctl(PERF_EVENT_IOC_DISABLE)` and `ioctl(PERF_EVENT_IOC_ENABLE)`: restarts the group of a
    /// leader. Linux 6.18 counts an event that joins a running group only once the group is scheduled
    /// again, which may take until the next context switch.
    #[doc(alias = "PERF_EVENT_IOC_ENABLE")]
    pub(super) fn restart(&self) -> io::Result<()> {
        self.stop()?;
        self.request(ENABLE)
    }

    /// `ioctl(PERF_EVENT_IOC_DISABLE)`: stops the group of a leader until it is restarted.
    #[doc(alias = "PERF_EVENT_IOC_DISABLE")]
    pub(super) fn stop(&self) -> io::Result<()> {
        self.request(DISABLE)
    }

    fn request(&self, request: u16) -> io::Result<()> {
        // SAFETY: the descriptor is open, and these requests take a number and no pointer.
        check(unsafe { libc::ioctl(self.file.as_raw_fd(), request.into(), 0) })
    }

    /// Opens `event` in the group of `leader`.
    pub(super) fn open_in(event: &Event, leader: Option<&Counter>) -> io::Result<Counter> {
        let file = event.open(leader.map(|leader| &leader.file))?;
        // Without the page, `read` can be used.
        // SAFETY: the kernel keeps a page of zeros and atomic numbers there.
        let page = unsafe { Shared::map(libc::PROT_READ, Some(&file)) }.ok();
        Ok(Counter { file, page, of_this_thread: PhantomData })
    }

    /// Returns the count so far: by `rdpmc` if the kernel allows it, else by `read`.
    ///
    /// # Errors
    /// If the kernel does not answer.
    #[inline]
    pub fn read(&self) -> io::Result<Reading> {
        let page = self.page.as_ref().map(Shared::get);
        // SAFETY: the page is the kernel's own for an event of this thread. Neither the page nor the
        // counter can be sent to another thread.
        unsafe { read_one(page, &Cpu, || self.read_slowly()) }
    }

    /// Runs `work`, and returns its result with the count of that time.
    ///
    /// # Errors
    /// If the kernel does not answer.
    #[inline]
    pub fn scope<R>(&self, work: impl FnOnce() -> R) -> io::Result<(R, Reading)> {
        let before = self.read()?;
        let result = work();
        Ok((result, self.read()?.since(&before)))
    }

    /// Checks whether `rdpmc` can read the counter at the moment.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn fast(&self) -> Result<(), Unread> {
        self.read_fast().map(|_| ())
    }

    /// Returns the count so far, by `rdpmc` only.
    #[inline]
    pub(super) fn read_fast(&self) -> Result<Reading, Unread> {
        let page = self.page.as_ref().ok_or(Unread::Forbidden)?.get();
        // SAFETY: as in `read`.
        unsafe { page.read(&Cpu) }
    }

    #[cold]
    fn read_slowly(&self) -> io::Result<Reading> {
        let mut one = [Reading::default(); 1];
        self.read_group(&mut one)?;
        Ok(one[0])
    }

    /// `read(2)` of a leader: reads the counts of its group, in the order in which they were opened.
    #[doc(alias = "PERF_FORMAT_GROUP")]
    pub(super) fn read_group(&self, into: &mut [Reading]) -> io::Result<()> {
        let mut bytes = [0; 8 * (3 + MOST)];
        let bytes = &mut bytes[..8 * (3 + into.len())];
        (&self.file).read_exact(bytes)?;
        let mut numbers = bytes
            .chunks_exact(8)
            .map(|bytes| u64::from_ne_bytes(bytes.try_into().expect("eight bytes")));
        let mut next = || numbers.next().expect("three numbers more than counts");
        let (_count, enabled, running) = (next(), next(), next());
        for reading in into {
            *reading = Reading { value: next(), enabled, running };
        }
        Ok(())
    }
}

/// Reads the page, or calls `slowly` if the page gives no count.
///
/// # Safety
/// As for [`Page::read`].
#[inline(always)]
unsafe fn read_one(
    page: Option<&Page>,
    counters: &impl Rdpmc,
    slowly: impl FnOnce() -> io::Result<Reading>,
) -> io::Result<Reading> {
    if let Some(page) = page {
        // SAFETY: the caller meets the conditions.
        if let Ok(reading) = unsafe { page.read(counters) } {
            return Ok(reading);
        }
    }
    slowly()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pmu::made_up_page;

    /// A CPU whose every counter holds 7.
    struct Seven;

    impl Rdpmc for Seven {
        unsafe fn rdpmc(&self, _: u32) -> u64 {
            7
        }
    }

    const SLOW: Reading = Reading { value: 1, enabled: 1, running: 1 };

    fn value(page: Option<&Page>) -> u64 {
        // SAFETY: page and counter are made up.
        unsafe { read_one(page, &Seven, || Ok(SLOW)) }.unwrap().value
    }

    #[test]
    fn a_page_that_gives_no_count_is_replaced_by_read() {
        assert_eq!(value(None), 1);
        assert_eq!(value(Some(&made_up_page(1, 100, true))), 107);
        assert_eq!(value(Some(&made_up_page(1, 100, false))), 1);
        assert_eq!(value(Some(&made_up_page(0, 100, true))), 1);
    }

    #[test]
    fn what_the_kernel_does_not_answer_is_an_error() {
        let silent = || Err(io::Error::from_raw_os_error(libc::EIO));
        // SAFETY: there is no page, and the counter is made up.
        let answer = unsafe { read_one(None, &Seven, silent) };
        assert_eq!(answer.unwrap_err().raw_os_error(), Some(libc::EIO));
    }
}
