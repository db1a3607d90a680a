//! Signals of a thread that is about to fork, and to a child that waits.

// Masks are set by calls into C.
#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;

/// `kill(SIGCONT)`: lets a child that has stopped itself go on.
///
/// # Errors
/// What the kernel answered.
#[cfg(feature = "lab")]
pub(crate) fn resume(child: u32) -> io::Result<()> {
    // SAFETY: the call takes numbers alone, and the signal ends nobody.
    match unsafe { libc::kill(child as libc::pid_t, libc::SIGCONT) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// All signals of this thread held back, until dropped.
pub(super) struct Blocked {
    before: libc::sigset_t,
}

impl Blocked {
    pub(super) fn all() -> io::Result<Self> {
        let mut all = MaybeUninit::<libc::sigset_t>::zeroed();
        let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: both sets are valid to write, and the first is filled before it is read.
        let status = unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr())
        };
        if status != 0 {
            return Err(io::Error::from_raw_os_error(status));
        }
        // SAFETY: the call succeeded, and zero bytes are a valid set in any case.
        let before = unsafe { before.assume_init() };
        Ok(Blocked { before })
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: the set is one that this thread had.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut());
        }
    }
}
