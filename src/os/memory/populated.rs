//! Memory that `mmap` itself populates.

// Maps and unmaps through C calls.
#![allow(unsafe_code)]

use std::io;
use std::ptr::{self, NonNull};

/// `mmap(MAP_POPULATE)`: anonymous memory whose pages are all there when the call returns.
///
/// It has no guard pages and says nothing of what it got: it exists to be timed. Where transparent
/// huge pages are always on, it may be in 2 MiB pages.
#[doc(alias = "MAP_POPULATE")]
#[derive(Debug)]
pub struct Populated {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: it owns its address range, like a boxed slice of bytes.
unsafe impl Send for Populated {}
// SAFETY: a shared one gives its address and nothing else.
unsafe impl Sync for Populated {}

impl Populated {
    /// Maps `bytes` bytes, which the kernel rounds up to whole pages.
    ///
    /// # Errors
    /// The kernel's answer. It does not tell when it could not populate all of it.
    pub fn map(bytes: usize) -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
        // SAFETY: without MAP_FIXED a new mapping replaces no other.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes, access, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start =
            NonNull::new(start.cast()).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))?;
        Ok(Self { start, bytes })
    }

    /// Address of the first byte.
    pub fn address(&self) -> usize {
        self.start.addr().get()
    }
}

impl Drop for Populated {
    fn drop(&mut self) {
        // SAFETY: the range is this mapping's own, and nothing refers to it.
        let status = unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
        debug_assert_eq!(status, 0, "munmap: {}", io::Error::last_os_error());
    }
}
