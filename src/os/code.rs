//! Machine code made at run time. No address is ever writable and executable at once.
// Calls bytes that were written as data, and maps pages twice.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::FromRawFd;
use std::ptr;
use std::sync::atomic::AtomicU32;

use super::memory::Mapped;
use super::{Memory, MemoryError, Pages};
pub use crate::host::View;
use crate::host::{self, Alias as _, Code as _};
use crate::kernel::Function;
use crate::mem::PAGE;

/// Why memory for code could not be had.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CodeError {
    /// The memory could not be allocated.
    Memory(MemoryError),
    /// The kernel refused a call, usually because a security module forbids code that was not
    /// loaded from a file.
    Refused {
        /// The call.
        call: &'static str,
        /// The kernel's answer.
        answer: String,
    },
    /// Writes through one address do not change the code that runs at the other.
    Stale,
}

impl CodeError {
    /// Describes the error of the last call.
    fn last(call: &'static str) -> Self {
        CodeError::Refused { call, answer: io::Error::last_os_error().to_string() }
    }
}

messages! { CodeError:
    CodeError::Memory(error) => ("{error}");
    CodeError::Refused { call, answer } => (
        "{call} refused executable memory ({answer}); a security module may forbid it \
         (SELinux: the boolean deny_execmem; systemd: MemoryDenyWriteExecute=)"
    );
    CodeError::Stale => (
        "code that was modified through another address runs unchanged, as in an emulator \
         that keeps its translation"
    );
}

/// `mprotect`: code between two guard pages, written first and executable from then on.
///
/// ```
/// use linefill::os::{Code, Pages};
/// // mov eax, 7; ret
/// let code = Code::new(6, Pages::Base, |bytes| {
///     bytes.copy_from_slice(&[0xB8, 7, 0, 0, 0, 0xC3]);
/// })?;
/// // SAFETY: the bytes are a function that returns 7, whatever its argument.
/// assert_eq!(unsafe { code.call(0, 1) }, 7);
/// # Ok::<(), linefill::os::code::CodeError>(())
/// ```
#[doc(alias = "mprotect")]
#[derive(Debug)]
pub struct Code {
    memory: Memory,
    /// Bytes of code; data may follow them.
    len: usize,
}

impl Code {
    /// Maps `bytes` bytes, lets `write` fill them, and makes them executable and no longer writable.
    /// Bytes that `write` leaves are zeros.
    ///
    /// # Errors
    /// If the memory or its permission is refused.
    pub fn new(
        bytes: usize,
        pages: Pages,
        write: impl FnOnce(&mut [u8]),
    ) -> Result<Code, CodeError> {
        Code::written(bytes, bytes, pages, write)
    }

    /// Like [`new`](Self::new), in 4 KiB pages, with `data` bytes behind the code, from the next page on.
    /// The data stays writable and never becomes executable. `write` fills code and data.
    ///
    /// # Errors
    /// If the memory or its permission is refused.
    pub fn with_data(
        bytes: usize,
        data: usize,
        write: impl FnOnce(&mut [u8]),
    ) -> Result<Code, CodeError> {
        let all = bytes.next_multiple_of(PAGE).saturating_add(data);
        Code::written(all, bytes, Pages::Base, write)
    }

    /// Maps and writes `all` bytes, and makes the pages of the first `len` executable and no longer writable.
    fn written(
        all: usize,
        len: usize,
        pages: Pages,
        write: impl FnOnce(&mut [u8]),
    ) -> Result<Code, CodeError> {
        let mut memory = Memory::new(all, pages).map_err(CodeError::Memory)?;
        write(memory.as_mut_slice());
        let at = memory.as_mut_slice().as_mut_ptr();
        let pages = len.next_multiple_of(memory.pages().bytes());
        let permission = libc::PROT_READ | libc::PROT_EXEC;
        // SAFETY: the range belongs to this memory, and is not written from here on.
        if unsafe { libc::mprotect(at.cast(), pages, permission) } != 0 {
            return Err(CodeError::last("mprotect"));
        }
        Ok(Code { memory, len })
    }

    /// Returns the code.
    pub fn bytes(&self) -> &[u8] {
        &self.memory.as_slice()[..self.len]
    }

    /// Calls the function at `offset` with one argument in `rdi`, and returns its `rax`.
    ///
    /// # Safety
    /// At `offset` there is a function of the System V calling convention. Everything that it may execute
    /// lies in this code, and it does nothing that its caller could not do.
    ///
    /// # Panics
    /// If `offset` lies outside the code.
    #[inline]
    pub unsafe fn call(&self, offset: usize, argument: u64) -> u64 {
        let function = self.function(offset);
        // SAFETY: the caller promises that a function of this type starts here.
        unsafe { function(argument) }
    }

    /// Calls the function at `offset` with three arguments, in `rdi`, `rsi` and `rdx`, and returns its
    /// `rax`.
    ///
    /// # Safety
    /// As [`call`](Self::call).
    ///
    /// # Panics
    /// If `offset` lies outside the code.
    #[inline]
    pub unsafe fn call_with(&self, offset: usize, [first, second, third]: [u64; 3]) -> u64 {
        type Three = unsafe extern "sysv64" fn(u64, u64, u64) -> u64;
        // SAFETY: the caller promises that a function starts here. In this calling convention a function
        // may ignore arguments.
        unsafe {
            let function = std::mem::transmute::<Function, Three>(self.function(offset));
            function(first, second, third)
        }
    }
}

impl host::Code for Code {
    #[inline]
    fn function(&self, offset: usize) -> Function {
        function(&self.bytes()[offset])
    }
}

/// Returns an address of code as a function. Its caller must ensure that the code there is a function.
fn function(entry: *const u8) -> Function {
    // SAFETY: a function pointer is a non-null address, and addresses in a mapping are not null.
    unsafe { std::mem::transmute::<*const u8, Function>(entry) }
}

/// `memfd_create`: the same physical pages at two addresses, the first of which is writable.
///
/// With a second view of [`View::Code`], a program can rewrite code that it executes, although no
/// address is both writable and executable. The CPU detects self-modification by physical address,
/// so it notices.
#[doc(alias = "memfd_create")]
#[derive(Debug)]
pub struct Alias {
    first: Mapped,
    second: Mapped,
    len: usize,
    view: View,
}

impl Alias {
    /// Maps `bytes` bytes, rounded up to whole pages, twice. They hold zeros.
    ///
    /// # Errors
    /// If the kernel refuses one of the calls, or the CPU does not notice writes to code. This is
    /// tested first.
    pub fn new(bytes: usize, view: View) -> Result<Alias, CodeError> {
        let len = bytes.max(1).next_multiple_of(PAGE);
        let file = shared_memory(len)?;
        let data = libc::PROT_READ | libc::PROT_WRITE;
        let first = map(&file, len, data)?;
        let permission = match view {
            View::Data => data,
            View::Code => libc::PROT_READ | libc::PROT_EXEC,
        };
        let second = map(&file, len, permission)?;
        let mut alias = Alias { first, second, len, view };
        match view {
            View::Code if !alias.follows_writes() => Err(CodeError::Stale),
            _ => Ok(alias),
        }
    }

    /// Returns whether a function that has run before follows a change of its code. Leaves zeros.
    fn follows_writes(&mut self) -> bool {
        // More than enough for a CPU that has prefetched the old code.
        const CALLS: usize = 1000;
        let follows = [1, 2].into_iter().all(|number| {
            self.write(0, &[0xB8, number, 0, 0, 0, 0xC3]); // mov eax, number; ret
            let function = self.function(0);
            // SAFETY: there is a function at 0, and a write changes only the number that it returns.
            (0..CALLS).any(|_| unsafe { function(0) } == u64::from(number))
        });
        self.write(0, &[0; 6]);
        follows
    }

    /// Returns the bytes of each view.
    #[allow(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.len
    }
}

impl host::Alias for Alias {
    fn first(&self) -> *mut u8 {
        self.first.start().as_ptr()
    }

    fn second(&self) -> *mut u8 {
        self.second.start().as_ptr()
    }

    fn write(&mut self, offset: usize, bytes: &[u8]) {
        let end = offset.checked_add(bytes.len());
        assert!(
            end.is_some_and(|end| end <= self.len),
            "{} bytes at {offset} do not fit into {}",
            bytes.len(),
            self.len
        );
        // SAFETY: the bytes fit into the first view, which is writable and which nothing refers
        // to while `self` is borrowed mutably.
        unsafe { ptr::copy(bytes.as_ptr(), self.first().add(offset), bytes.len()) };
    }

    fn word(&self, offset: usize) -> &AtomicU32 {
        assert!(
            offset.is_multiple_of(4) && offset < self.len,
            "no aligned word of 4 bytes at {offset}"
        );
        // SAFETY: the word lies in the first view, which is readable, writable and lives as long as
        // `self`, and it is aligned because views start on a page. `write` takes `self` mutably, so
        // that no reference to the word exists meanwhile.
        unsafe { AtomicU32::from_ptr(self.first().add(offset).cast()) }
    }

    #[inline]
    fn function(&self, offset: usize) -> Function {
        assert!(self.view == View::Code && offset < self.len, "no code at {offset}");
        function(self.second().wrapping_add(offset))
    }
}

// SAFETY: the mappings belong to the process, not to a thread. A shared `Alias` changes them only by
// atomic stores; code that uses its addresses is responsible for its own accesses.
unsafe impl Send for Alias {}
// SAFETY: likewise.
unsafe impl Sync for Alias {}

/// Creates anonymous pages as a file that can be mapped more than once.
fn shared_memory(len: usize) -> Result<File, CodeError> {
    // SAFETY: the name is a string that ends in a zero.
    let descriptor = unsafe { libc::memfd_create(c"linefill".as_ptr(), libc::MFD_CLOEXEC) };
    if descriptor < 0 {
        return Err(CodeError::last("memfd_create"));
    }
    // SAFETY: the kernel has just made this descriptor, and no other code has it.
    let file = unsafe { File::from_raw_fd(descriptor) };
    file.set_len(len as u64)
        .map_err(|error| CodeError::Refused { call: "ftruncate", answer: error.to_string() })?;
    Ok(file)
}

fn map(file: &File, len: usize, permission: libc::c_int) -> Result<Mapped, CodeError> {
    let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
    Mapped::new(len, permission, flags, Some(file)).map_err(|_| CodeError::last("mmap"))
}
