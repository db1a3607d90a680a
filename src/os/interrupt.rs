//! Signals: a clean stop on Ctrl-C, `kill` or a closed terminal; blocking all signals around a fork; and
//! resuming a stopped child.

// Handlers are installed and masks are set by calls into C.
#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

/// Makes only an atomic store, which is safe in a signal handler.
extern "C" fn note(_signal: libc::c_int) {
    ASKED.store(true, Ordering::Relaxed);
}

/// `sigaction` of SIGINT, SIGTERM and SIGHUP: from now on each of them sets the returned flag. A
/// second SIGINT or SIGTERM kills as usual. A second SIGHUP does not: a terminal that is closed
/// sends two, its own and that of its shell.
///
/// A signal that the parent made this process ignore (`nohup`, a background job) stays ignored. May be
/// called again: it installs the handlers again and leaves the flag as it is.
///
/// # Errors
/// The error of `sigaction`; the default actions then stay in force.
#[doc(alias = "SIGINT")]
#[doc(alias = "SIGTERM")]
#[doc(alias = "SIGHUP")]
pub fn install() -> io::Result<&'static AtomicBool> {
    // RESETHAND restores SIG_DFL before the handler runs, so that the second signal kills.
    for (signal, flags) in
        [(libc::SIGINT, libc::SA_RESETHAND), (libc::SIGTERM, libc::SA_RESETHAND), (libc::SIGHUP, 0)]
    {
        arm(signal, flags, note)?;
    }
    Ok(&ASKED)
}

/// Does nothing: the write that raised the signal then fails.
extern "C" fn nothing(_signal: libc::c_int) {}

/// `sigaction` of SIGXFSZ: a write beyond the limit of a file's size (`ulimit -f`) fails with EFBIG, which
/// is reported, instead of killing the process. An ignored signal would have the same effect, but the programs
/// that this process starts would inherit it.
///
/// # Errors
/// The error of `sigaction`; the default action then stays in force.
#[cfg(feature = "lab")]
#[doc(alias = "SIGXFSZ")]
pub(crate) fn survive_file_limit() -> io::Result<()> {
    arm(libc::SIGXFSZ, 0, nothing)
}

fn arm(
    signal: libc::c_int,
    flags: libc::c_int,
    handler: extern "C" fn(libc::c_int),
) -> io::Result<()> {
    let mut old = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a null new action only queries; `old` is valid to write.
    if unsafe { libc::sigaction(signal, std::ptr::null(), old.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded, and zero bytes are a valid sigaction in any case.
    let old = unsafe { old.assume_init() };
    if old.sa_sigaction == libc::SIG_IGN {
        return Ok(());
    }

    // SAFETY: zero bytes are a valid sigaction: no flags, and an empty mask on Linux.
    let mut new: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    new.sa_sigaction = handler as libc::sighandler_t;
    // RESTART lets interrupted file output continue.
    new.sa_flags = flags | libc::SA_RESTART;
    // SAFETY: `new` holds a handler of the one-argument kind (no SA_SIGINFO) which only stores
    // to an atomic or does nothing.
    if unsafe { libc::sigaction(signal, &new, std::ptr::null_mut()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// `kill(SIGCONT)`: resumes a child that has stopped itself.
///
/// # Errors
/// The kernel's error.
#[cfg(feature = "lab")]
pub(crate) fn resume(child: u32) -> io::Result<()> {
    // SAFETY: the call takes only numbers, and the signal ends no process.
    match unsafe { libc::kill(child as libc::pid_t, libc::SIGCONT) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// `waitpid`: waits until a child of this process has ended, and returns its status.
pub(super) fn wait_for(child: libc::pid_t) -> io::Result<libc::c_int> {
    let mut status = 0;
    // SAFETY: `status` is valid to write.
    while unsafe { libc::waitpid(child, &mut status, 0) } < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    Ok(status)
}

/// Blocks all signals of this thread until dropped.
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
        // SAFETY: the set is the mask that this thread had before.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut());
        }
    }
}
