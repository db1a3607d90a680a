//! A process that puts a register back when this one ends, however it ends.

// Forks, and the child may only make calls that are safe between fork and exec.
#![allow(unsafe_code)]

use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::os::unix::net::UnixStream;

use crate::os::msr::Msr;
use crate::os::signals::Blocked;

/// A child that waits for the other end of a socket to close, which the kernel sees to whatever
/// ends its parent, and then writes a register.
///
/// It is in a session of its own and lets no signal interrupt it, so that neither Ctrl-C nor a
/// SIGKILL to the parent's process group reaches it.
#[derive(Debug)]
pub(super) struct Guardian {
    child: libc::pid_t,
    /// Closed when dropped, at the latest by the kernel.
    line: Option<UnixStream>,
}

impl Guardian {
    /// Forks a child that will write `value` into `register`, and waits until it is on guard.
    pub(super) fn post(msr: &Msr, register: u32, value: u64) -> io::Result<Self> {
        let (mut ours, theirs) = UnixStream::pair()?;
        let ends = Ends {
            ours: ours.as_raw_fd(),
            theirs: theirs.as_raw_fd(),
            msr: msr.as_fd().as_raw_fd(),
        };
        let signals = Blocked::all()?;
        // SAFETY: the child makes only system calls that are safe after fork, and never returns.
        let child = unsafe { libc::fork() };
        if child == 0 {
            ends.guard(register, value);
        }
        drop(signals);
        drop(theirs);
        if child < 0 {
            return Err(io::Error::last_os_error());
        }
        let guardian = Guardian {
            child,
            line: Some(ours.try_clone()?),
        };
        // A child that died before it was on guard closes the line, and this fails.
        ours.read_exact(&mut [0])?;
        Ok(guardian)
    }

    /// The child's process, for a test that ends it.
    #[cfg(test)]
    pub(super) fn child(&self) -> libc::pid_t {
        self.child
    }
}

impl Drop for Guardian {
    /// Has the child write, and waits for its end.
    fn drop(&mut self) {
        drop(self.line.take());
        let mut status = 0;
        // SAFETY: `status` is valid to write; the child is ours and was not waited for.
        while unsafe { libc::waitpid(self.child, &mut status, 0) } < 0
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
    }
}

/// The descriptors that a child works with.
struct Ends {
    ours: RawFd,
    theirs: RawFd,
    msr: RawFd,
}

impl Ends {
    /// What the child does: says that it is there, waits for the end of the line, writes, and ends.
    fn guard(&self, register: u32, value: u64) -> ! {
        let bytes = value.to_le_bytes();
        let mut byte = [0_u8; 1];
        // SAFETY: the descriptors are open copies of the parent's, the buffers are this frame's,
        // and each call is safe between fork and exec (signal-safety(7)).
        unsafe {
            libc::setsid();
            // With a copy of the other end, also of another guardian's, no line would ever end.
            libc::close(self.ours);
            let (low, high) = (self.theirs.min(self.msr), self.theirs.max(self.msr));
            for (first, last) in [(0, low - 1), (low + 1, high - 1), (high + 1, RawFd::MAX)] {
                // Linux before 5.9 has no such call, and keeps them.
                libc::syscall(libc::SYS_close_range, first, last, 0);
            }
            libc::write(self.theirs, bytes.as_ptr().cast(), 1);
            while libc::read(self.theirs, byte.as_mut_ptr().cast(), 1) < 0
                && *libc::__errno_location() == libc::EINTR
            {}
            let written = libc::pwrite(self.msr, bytes.as_ptr().cast(), 8, register.into());
            libc::_exit(i32::from(written != 8))
        }
    }
}
