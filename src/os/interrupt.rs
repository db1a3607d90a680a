//! Signals: a clean stop on Ctrl-C, `kill` or a closed terminal; blocking all signals around a fork; and
//! resuming a stopped child.

// Handlers are installed and masks are set by calls into C.
#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};

use super::check;

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

/// `sigaction` of SIGXFSZ: a write beyond the limit of a file's size (`ulimit -f`) fails with EFBIG, which
/// is reported, instead of killing the process. An ignored signal would have the same effect, but the programs
/// that this process starts would inherit it.
///
/// # Errors
/// The error of `sigaction`; the default action then stays in force.
#[cfg(feature = "lab")]
#[doc(alias = "SIGXFSZ")]
pub(crate) fn survive_file_limit() -> io::Result<()> {
    /// The write that raised the signal then fails.
    extern "C" fn nothing(_signal: libc::c_int) {}
    arm(libc::SIGXFSZ, 0, nothing)
}

fn arm(
    signal: libc::c_int,
    flags: libc::c_int,
    handler: extern "C" fn(libc::c_int),
) -> io::Result<()> {
    let mut old = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a null new action only queries; `old` is valid to write, and zero bytes are a valid sigaction
    // in any case.
    let (status, old) = unsafe {
        let status = libc::sigaction(signal, std::ptr::null(), old.as_mut_ptr());
        (status, old.assume_init())
    };
    check(status)?;
    if old.sa_sigaction != libc::SIG_IGN {
        // RESTART lets interrupted file output continue.
        // SAFETY: the handler takes one argument, and only stores to an atomic or does nothing.
        unsafe { set_action(signal, handler as libc::sighandler_t, flags | libc::SA_RESTART)? };
    }
    Ok(())
}

/// A handler of a signal that is installed with SA_SIGINFO.
pub(super) type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);

/// `sigaction`: sets what this process does at a signal, and returns what it did before.
///
/// # Safety
/// `action` is SIG_DFL, SIG_IGN, or a function that does only what is safe in a signal handler: a [`Handler`]
/// if `flags` contain SA_SIGINFO, and else one that takes the signal alone.
pub(super) unsafe fn set_action(
    signal: libc::c_int,
    action: libc::sighandler_t,
    flags: libc::c_int,
) -> io::Result<libc::sigaction> {
    let mut old = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: zero bytes are a valid sigaction: no flags, and an empty mask on Linux. `new` and `old` are
    // valid for what the call reads and writes, and the caller vouches for the action.
    unsafe {
        let mut new: libc::sigaction = MaybeUninit::zeroed().assume_init();
        (new.sa_sigaction, new.sa_flags) = (action, flags);
        check(libc::sigaction(signal, &new, old.as_mut_ptr()))?;
        Ok(old.assume_init())
    }
}

/// `kill(SIGCONT)`: resumes a child that has stopped itself.
#[cfg(feature = "lab")]
pub(crate) fn resume(child: u32) -> io::Result<()> {
    // SAFETY: the call takes only numbers, and the signal ends no process.
    check(unsafe { libc::kill(child as libc::pid_t, libc::SIGCONT) })
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
