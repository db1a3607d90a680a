//! All memory of this process locked.

// `mlockall` and `munlockall` are calls into C.
#![allow(unsafe_code)]

use std::io;

use crate::os::limits;

/// `mlockall`: everything that is mapped now, and whatever is touched later, stays in memory until this is
/// dropped.
#[derive(Debug)]
pub(super) struct AllMemory(());

/// Locks it.
///
/// # Errors
/// Why not, in words.
pub(super) fn all_memory() -> Result<AllMemory, String> {
    // Under a limit, later mappings beyond it would fail.
    if let Some(limit) = limits::locked_memory()
        && !limits::may_lock_any_memory()
    {
        return Err(format!(
            "memory is not locked: this process may lock {limit} bytes (ulimit -l unlimited, or run as \
             root)"
        ));
    }
    let flags = libc::MCL_CURRENT | libc::MCL_FUTURE | libc::MCL_ONFAULT;
    // SAFETY: the call takes a number.
    match unsafe { libc::mlockall(flags) } {
        0 => Ok(AllMemory(())),
        _ => Err(format!(
            "memory is not locked: {}",
            io::Error::last_os_error()
        )),
    }
}

impl Drop for AllMemory {
    fn drop(&mut self) {
        // SAFETY: the call takes nothing.
        unsafe { libc::munlockall() };
    }
}
