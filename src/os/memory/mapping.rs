//! Address ranges: plain mappings, and mappings with a guard page at each end.
// Makes, advises and reads mappings through C calls and raw pointers.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::ptr::{self, NonNull};

use crate::os::check;

pub(super) const BASE_PAGE: usize = 4096;
pub(super) const HUGE_PAGE: usize = 2 << 20;
pub(super) const GIANT_PAGE: usize = 1 << 30;

/// `mmap` at an address that the kernel chooses; unmapped when dropped.
#[derive(Debug)]
pub(in crate::os) struct Mapped {
    start: NonNull<u8>,
    len: usize,
}

impl Mapped {
    /// Maps the first `len` bytes of `file`, or anonymous memory. `flags` must not fix the address.
    pub(in crate::os) fn new(
        len: usize,
        access: libc::c_int,
        flags: libc::c_int,
        file: Option<&File>,
    ) -> io::Result<Self> {
        let (flags, descriptor) = match file {
            Some(file) => (flags, file.as_raw_fd()),
            None => (flags | libc::MAP_ANONYMOUS, -1),
        };
        // SAFETY: without MAP_FIXED a new mapping replaces no other; the descriptor is open.
        let start = unsafe { libc::mmap(ptr::null_mut(), len, access, flags, descriptor, 0) };
        match NonNull::new(start.cast::<u8>()) {
            Some(first) if start != libc::MAP_FAILED => Ok(Mapped { start: first, len }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Returns the address of the first byte, which is the start of a page.
    pub(in crate::os) fn start(&self) -> NonNull<u8> {
        self.start
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the range belongs to this mapping, and nothing refers to it.
        unsafe { unmap(self.start.as_ptr(), self.len) };
    }
}

/// A `T` that this process shares with a child or with the kernel; unmapped when dropped.
#[derive(Debug)]
pub(in crate::os) struct Shared<T>(Mapped, PhantomData<T>);

impl<T> Shared<T> {
    /// `mmap(MAP_SHARED)`: maps the start of `file`, or zeros.
    ///
    /// # Safety
    /// `T` needs no larger alignment than a page, and its bytes are atomic numbers.
    pub(in crate::os) unsafe fn map(access: libc::c_int, file: Option<&File>) -> io::Result<Self> {
        let mapped = Mapped::new(size_of::<T>(), access, libc::MAP_SHARED, file)?;
        Ok(Shared(mapped, PhantomData))
    }

    pub(in crate::os) fn get(&self) -> &T {
        // SAFETY: the bytes are mapped until this is dropped, and are a `T`, as the caller of `map` guarantees.
        unsafe { self.0.start().cast().as_ref() }
    }
}

/// An area of memory, with one base page without access on each side.
#[derive(Debug)]
pub(super) struct Mapping {
    area: NonNull<u8>,
    len: usize,
}

// SAFETY: a `Mapping` owns its address range, like a boxed slice of bytes.
unsafe impl Send for Mapping {}
// SAFETY: a shared `Mapping` gives only shared bytes, and kernel calls that do not write them.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// `mmap(PROT_NONE)`: reserves an area of `len` bytes (whole pages) that starts on a multiple of
    /// `align`, with its guards. The area cannot be accessed before [`open`](Self::open).
    pub(super) fn reserve(len: usize, align: usize) -> io::Result<Self> {
        Self::reserve_with(len, align, 0)
    }

    /// `mmap(MAP_NORESERVE)`: reserves an area without committing memory for it.
    pub(super) fn reserve_addresses(len: usize) -> io::Result<Self> {
        Self::reserve_with(len, HUGE_PAGE, libc::MAP_NORESERVE)
    }

    fn reserve_with(len: usize, align: usize, flags: libc::c_int) -> io::Result<Self> {
        let slack = align - BASE_PAGE;
        let total = len
            .checked_add(slack + 2 * BASE_PAGE)
            .ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))?;
        let start = map(ptr::null_mut(), total, flags)?;
        let first = start.addr().get();
        let area = (first + BASE_PAGE).next_multiple_of(align);
        let low = area - BASE_PAGE - first;
        let high = total - low - (len + 2 * BASE_PAGE);
        // SAFETY: `low` and `high` bytes at the two ends lie in the range just mapped, outside the area
        // and its guards, and nothing refers to them.
        unsafe {
            unmap(start.as_ptr(), low);
            unmap(start.as_ptr().add(total - high), high);
        }
        // SAFETY: the area starts within the range just mapped.
        let area = unsafe { start.add(low + BASE_PAGE) };
        Ok(Self { area, len })
    }

    /// `mmap(MAP_HUGETLB)`: maps an open area from the pool of pages of `page` bytes, 2 MiB or 1 GiB,
    /// with guards of base pages.
    pub(super) fn reserve_hugetlb(len: usize, page: usize) -> io::Result<Self> {
        let reserved = Self::reserve(len, page)?;
        let area = reserved.area.as_ptr();
        // The kernel cannot turn a reservation into hugetlb pages, so the area is unmapped and mapped again.
        // The second mapping replaces nothing: if another thread has mapped something there meanwhile, that
        // mapping stays intact and this attempt fails.
        // SAFETY: the area is inaccessible, so nothing refers to it.
        unsafe { unmap(area, len) };
        let size = if page == GIANT_PAGE { libc::MAP_HUGE_1GB } else { libc::MAP_HUGE_2MB };
        let flags = libc::MAP_HUGETLB | size | libc::MAP_FIXED_NOREPLACE;
        let filled = map(area, len, flags).and_then(|at| {
            if at == reserved.area {
                return Ok(());
            }
            // Kernels before 4.17 take the address as a hint.
            // SAFETY: the range was just mapped, and nothing refers to it.
            unsafe { unmap(at.as_ptr(), len) };
            Err(io::Error::from_raw_os_error(libc::EEXIST))
        });
        if let Err(error) = filled {
            // SAFETY: the two guards belong to this reservation. The area between them no longer does, so
            // `drop` must not unmap the whole.
            unsafe {
                unmap(area.sub(BASE_PAGE), BASE_PAGE);
                unmap(area.add(len), BASE_PAGE);
            }
            std::mem::forget(reserved);
            return Err(error);
        }
        reserved.open()?;
        Ok(reserved)
    }

    /// `mprotect(PROT_READ | PROT_WRITE)` on the area. Children do not inherit the area: otherwise, after
    /// a fork, each page would cost this process a fault at its next write.
    pub(super) fn open(&self) -> io::Result<()> {
        // If the advice is refused, forks only cost more time.
        let _ = self.advise(libc::MADV_DONTFORK);
        // SAFETY: the area belongs to this mapping; widening access breaks no reference.
        check(unsafe {
            libc::mprotect(self.area.as_ptr().cast(), self.len, libc::PROT_READ | libc::PROT_WRITE)
        })
    }

    /// `madvise` on the area, with advice that keeps its content.
    pub(super) fn advise(&self, advice: libc::c_int) -> io::Result<()> {
        debug_assert!(advice != libc::MADV_DONTNEED && advice != libc::MADV_FREE);
        // SAFETY: the area belongs to this mapping, and the advice keeps its content.
        check(unsafe { libc::madvise(self.area.as_ptr().cast(), self.len, advice) })
    }

    /// `madvise(MADV_POPULATE_WRITE)`: allocates every page of the open area. Writes to each page if the
    /// kernel (before 5.14) does not support the advice.
    pub(super) fn populate(&self) -> io::Result<()> {
        self.populate_or(|| {
            for offset in (0..self.len).step_by(BASE_PAGE) {
                // SAFETY: the area is open, and `offset` lies in it. No other code refers to it yet, and
                // it contains zeros already.
                unsafe { self.area.add(offset).write_volatile(0) };
            }
            Ok(())
        })
    }

    /// Like [`populate`](Self::populate), for pages of `page` bytes from the hugetlb pool. A page that
    /// cannot be had, such as beyond the limit of a control group, is an error: a write to it would end
    /// the program by SIGBUS.
    pub(super) fn populate_from_pool(&self, page: usize) -> io::Result<()> {
        self.populate_or(|| self.read_zeros(page))
    }

    /// `madvise(MADV_POPULATE_WRITE)`, or `otherwise` if the kernel does not support the advice.
    fn populate_or(&self, otherwise: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        match self.populate_at_once() {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => otherwise(),
            done => done,
        }
    }

    /// `read(2)` of `/dev/zero` into the first byte of each page of the open area. The kernel touches the
    /// pages itself and answers EFAULT where the program would get SIGBUS.
    fn read_zeros(&self, page: usize) -> io::Result<()> {
        let zeros = File::open("/dev/zero")?;
        for offset in (0..self.len).step_by(page) {
            // SAFETY: the area is open, and `offset` lies in it. No other code refers to it yet, and it
            // contains zeros already.
            match unsafe { libc::read(zeros.as_raw_fd(), self.area.add(offset).as_ptr().cast(), 1) }
            {
                1 => {}
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                _ => return Err(io::Error::last_os_error()),
            }
        }
        Ok(())
    }

    /// `madvise(MADV_POPULATE_WRITE)`, without a fallback.
    pub(super) fn populate_at_once(&self) -> io::Result<()> {
        loop {
            match self.advise(libc::MADV_POPULATE_WRITE) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                done => return done,
            }
        }
    }

    /// `madvise(MADV_DONTNEED)` on the open area: releases its pages, so that it reads as zeros.
    pub(super) fn discard(&mut self) -> io::Result<()> {
        let start = self.area.as_ptr().cast();
        // SAFETY: the area belongs to this mapping, and `&mut self` guarantees that nothing refers to
        // its content, which becomes zero.
        check(unsafe { give_back(start, self.len) })
    }

    /// `mlock` on the area.
    pub(super) fn lock(&self) -> io::Result<()> {
        // SAFETY: the area belongs to this mapping.
        check(unsafe { libc::mlock(self.area.as_ptr().cast(), self.len) })
    }

    pub(super) fn area(&self) -> Range<usize> {
        let start = self.area.addr().get();
        start..start + self.len
    }

    /// Returns the bytes of an open area.
    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: the area is open, initialised by the kernel to zero, and lives as long as
        // `self`; `&mut` access needs `&mut self`.
        unsafe { std::slice::from_raw_parts(self.area.as_ptr(), self.len) }
    }

    /// Returns the bytes of an open area, for writing.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and `&mut self` makes the borrow the only one.
        unsafe { std::slice::from_raw_parts_mut(self.area.as_ptr(), self.len) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: guards and area belong to this mapping, and borrows of it have ended.
        unsafe { unmap(self.area.as_ptr().sub(BASE_PAGE), self.len + 2 * BASE_PAGE) };
    }
}

/// `mmap` of anonymous, private, inaccessible memory.
fn map(at: *mut u8, len: usize, flags: libc::c_int) -> io::Result<NonNull<u8>> {
    let flags = flags | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: without MAP_FIXED, which no caller passes, a new mapping replaces no other.
    let start = unsafe { libc::mmap(at.cast(), len, libc::PROT_NONE, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(start.cast()).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))
}

/// `munmap`; does nothing for zero bytes.
///
/// # Safety
/// The caller owns the range, and nothing refers to it.
unsafe fn unmap(start: *mut u8, len: usize) {
    if len > 0 {
        // SAFETY: the caller meets the conditions.
        let status = unsafe { libc::munmap(start.cast(), len) };
        debug_assert_eq!(status, 0, "munmap: {}", io::Error::last_os_error());
    }
}

/// `MADV_DONTNEED_LOCKED` of Linux 5.18, from `include/uapi/asm-generic/mman-common.h`.
const MADV_DONTNEED_LOCKED: libc::c_int = 24;

/// `madvise(MADV_DONTNEED)`, also for locked pages if the kernel (from 5.18 on) supports that.
///
/// # Safety
/// As for the call: no other code may see the pages, which become zero.
pub(super) unsafe fn give_back(start: *mut libc::c_void, length: usize) -> libc::c_int {
    // SAFETY: the caller meets the conditions.
    let answer = unsafe { libc::madvise(start, length, libc::MADV_DONTNEED) };
    match io::Error::last_os_error().raw_os_error() {
        // SAFETY: the caller meets the conditions.
        Some(libc::EINVAL) if answer != 0 => unsafe {
            libc::madvise(start, length, MADV_DONTNEED_LOCKED)
        },
        _ => answer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page beyond the end of a file raises SIGBUS, as a page does that the hugetlb pool cannot give.
    #[test]
    fn pages_that_cannot_be_had_are_an_error_and_no_signal() {
        let name = format!("linefill-mapping-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let file =
            File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        let mapping = Mapping::reserve(2 * BASE_PAGE, BASE_PAGE).unwrap();
        // SAFETY: the file replaces the area, to which nothing refers.
        let start = unsafe {
            libc::mmap(
                mapping.area.as_ptr().cast(),
                mapping.len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_FIXED,
                file.as_raw_fd(),
                0,
            )
        };
        assert_eq!(start, mapping.area.as_ptr().cast());
        file.set_len(mapping.len as u64).unwrap();
        mapping.read_zeros(BASE_PAGE).unwrap();
        file.set_len(BASE_PAGE as u64).unwrap();
        let refused = mapping.read_zeros(BASE_PAGE).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EFAULT));
    }
}
