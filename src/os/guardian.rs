//! A process that puts settings back when this one ends, however it ends.

// Forks, and the child may only make calls that are safe between fork and exec.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

use crate::os::interrupt::Blocked;

/// What puts a setting back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Undo {
    /// Writes bytes into a file that is there.
    Write {
        file: CString,
        at: i64,
        bytes: Vec<u8>,
    },
    /// Removes an empty folder, once it is empty.
    Remove(CString),
}

impl Undo {
    /// Writes `bytes` into `file` from `at` on.
    pub(super) fn write(file: &Path, at: i64, bytes: &[u8]) -> io::Result<Self> {
        Ok(Undo::Write {
            file: c_string(file)?,
            at,
            bytes: bytes.to_vec(),
        })
    }

    /// Removes the folder `dir`.
    pub(super) fn remove(dir: &Path) -> io::Result<Self> {
        Ok(Undo::Remove(c_string(dir)?))
    }
}

fn c_string(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(io::Error::from)
}

/// A child that waits for the other end of a socket to close, which the kernel sees to whatever
/// ends its parent, and then puts settings back.
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
    /// Forks a child that will do `undo` in this order, and waits until it is on guard. What fails is
    /// passed over.
    pub(super) fn post(undo: &[Undo]) -> io::Result<Self> {
        let (mut ours, theirs) = UnixStream::pair()?;
        let ends = Ends {
            ours: ours.as_raw_fd(),
            theirs: theirs.as_raw_fd(),
        };
        let signals = Blocked::all()?;
        // SAFETY: the child makes only system calls that are safe after fork, and never returns.
        let child = unsafe { libc::fork() };
        if child == 0 {
            ends.guard(undo);
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
    /// Has the child put everything back, and waits for its end.
    fn drop(&mut self) {
        drop(self.line.take());
        let mut status = 0;
        // SAFETY: `status` is valid to write; the child is ours and was not waited for.
        while unsafe { libc::waitpid(self.child, &mut status, 0) } < 0
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
    }
}

/// How often a folder is tried to be removed, and nanoseconds between: processes that end leave it a
/// moment later.
const TRIES: u32 = 200;
const BETWEEN: i64 = 10_000_000;

/// The descriptors that a child works with.
struct Ends {
    ours: RawFd,
    theirs: RawFd,
}

impl Ends {
    /// What the child does: says that it is there, waits for the end of the line, puts everything back,
    /// and ends.
    fn guard(&self, undo: &[Undo]) -> ! {
        let mut byte = [0_u8; 1];
        // SAFETY: the descriptors are open copies of the parent's, the buffers are this frame's,
        // and each call is safe between fork and exec (signal-safety(7)).
        unsafe {
            libc::setsid();
            // With a copy of the other end, also of another guardian's, no line would ever end.
            libc::close(self.ours);
            for (first, last) in [(0, self.theirs - 1), (self.theirs + 1, RawFd::MAX)] {
                // Linux before 5.9 has no such call, and keeps them.
                libc::syscall(libc::SYS_close_range, first, last, 0);
            }
            libc::write(self.theirs, byte.as_ptr().cast(), 1);
            while libc::read(self.theirs, byte.as_mut_ptr().cast(), 1) < 0
                && *libc::__errno_location() == libc::EINTR
            {}
            let mut failed = false;
            for step in undo {
                failed |= !step.done();
            }
            libc::_exit(i32::from(failed))
        }
    }
}

impl Undo {
    /// Puts the setting back and says whether that went well. Makes only system calls that are safe
    /// between fork and exec, and allocates nothing.
    fn done(&self) -> bool {
        match self {
            Undo::Write { file, at, bytes } => {
                // SAFETY: the path ends with a zero, the buffer is as long as it says, and the
                // descriptor is this call's own.
                unsafe {
                    let file = libc::open(file.as_ptr(), libc::O_WRONLY);
                    let bytes_at = bytes.as_ptr().cast();
                    // Files of /proc are written from their beginning on, and refuse `pwrite`.
                    let written = match *at {
                        0 => libc::write(file, bytes_at, bytes.len()),
                        at => libc::pwrite(file, bytes_at, bytes.len(), at),
                    };
                    libc::close(file);
                    written == bytes.len() as isize
                }
            }
            Undo::Remove(dir) => {
                for _ in 0..TRIES {
                    let between = libc::timespec {
                        tv_sec: 0,
                        tv_nsec: BETWEEN,
                    };
                    // SAFETY: the path ends with a zero, and the time is this frame's.
                    unsafe {
                        let answer = libc::rmdir(dir.as_ptr());
                        if answer == 0 || *libc::__errno_location() != libc::EBUSY {
                            return answer == 0;
                        }
                        libc::nanosleep(&raw const between, std::ptr::null_mut());
                    }
                }
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    /// Files of `/proc` refuse `pwrite`, as a pipe does.
    #[test]
    fn a_file_that_is_only_written_from_its_beginning_is_put_back() {
        let name = format!("linefill-guardian-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let c_path = c_string(&path).unwrap();
        // SAFETY: the path ends with a zero.
        assert_eq!(unsafe { libc::mkfifo(c_path.as_ptr(), 0o600) }, 0);
        let guardian = Guardian::post(&[Undo::write(&path, 0, b"0-1").unwrap()]).unwrap();
        let reader = std::thread::spawn({
            let path = path.clone();
            move || {
                let mut text = String::new();
                File::open(path).unwrap().read_to_string(&mut text).unwrap();
                text
            }
        });
        drop(guardian);
        let text = reader.join().unwrap();
        std::fs::remove_file(path).unwrap();
        assert_eq!(text, "0-1");
    }
}
