//! A child process that restores settings when this process ends, however it ends.

// Forks, and the child may only make calls that are safe between fork and exec.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::fmt;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

use crate::os::interrupt::Blocked;

/// A step that restores a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Undo {
    /// Writes bytes into an existing file.
    Write {
        file: CString,
        at: i64,
        bytes: Vec<u8>,
    },
    /// Removes a folder, once it is empty.
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

impl fmt::Display for Undo {
    /// Says what somebody has to do by hand if the step fails.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The only files that are not written from their beginning on are those of registers.
            Undo::Write { file, at, bytes } if *at > 0 => {
                let file = file.to_string_lossy();
                f.write_str("write 0x")?;
                let mut value = bytes.iter().rev();
                value.try_for_each(|byte| write!(f, "{byte:02x}"))?;
                write!(f, " to register {at:#x} of {file}")
            }
            Undo::Write { file, bytes, .. } => {
                let text = String::from_utf8_lossy(bytes);
                write!(f, "write {:?} to {}", text.trim(), file.to_string_lossy())
            }
            Undo::Remove(dir) => write!(f, "remove the folder {}", dir.to_string_lossy()),
        }
    }
}

fn c_string(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(io::Error::from)
}

/// A child process that waits until the parent's end of a socket closes, and then restores settings.
/// The kernel closes that end however the parent ends.
///
/// The child has its own session and blocks all signals, so that neither Ctrl-C nor a SIGKILL to the
/// parent's process group reaches it.
#[derive(Debug)]
pub(super) struct Guardian {
    child: libc::pid_t,
    /// The parent's end of the socket. Closed when the guardian is dropped, or by the kernel.
    line: Option<UnixStream>,
    /// What the child is to do.
    undo: Vec<String>,
}

impl Guardian {
    /// Forks a child that will carry out `undo` in order, and waits until the child is ready. The child
    /// goes on past steps that fail.
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
            undo: undo.iter().map(Undo::to_string).collect(),
        };
        // If the child dies before it is ready, the socket closes and this read fails.
        ours.read_exact(&mut [0])?;
        Ok(guardian)
    }

    /// Returns the child's process number, for a test that kills it.
    #[cfg(test)]
    pub(super) fn child(&self) -> libc::pid_t {
        self.child
    }
}

impl Drop for Guardian {
    /// Makes the child restore everything, and waits for it to end. If it failed or was killed, says on standard
    /// error what is left to do: nothing else would tell that settings of the machine stay changed.
    fn drop(&mut self) {
        drop(self.line.take());
        let mut status = 0;
        // SAFETY: `status` is valid to write; the child is ours and was not waited for.
        while unsafe { libc::waitpid(self.child, &mut status, 0) } < 0
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
        if status != 0 {
            let undo = self.undo.join("; ");
            // As `eprintln` would, but standard error may be closed.
            let _ = writeln!(io::stderr(), "linefill: not all was put back: {undo}");
        }
    }
}

/// Attempts to remove a folder, and nanoseconds between them: processes that end leave the folder a
/// moment later.
const TRIES: u32 = 200;
const BETWEEN: i64 = 10_000_000;

/// The descriptors of the socket's two ends.
struct Ends {
    ours: RawFd,
    theirs: RawFd,
}

impl Ends {
    /// Runs the child: reports that it is ready, waits until the socket closes, restores everything,
    /// and exits.
    fn guard(&self, undo: &[Undo]) -> ! {
        let mut byte = [0_u8; 1];
        // SAFETY: the descriptors are open copies of the parent's, the buffers belong to this frame,
        // and each call is safe between fork and exec (signal-safety(7)).
        unsafe {
            libc::setsid();
            // A copy of the parent's end, left open in this child or in that of another guardian, would keep
            // the socket from closing.
            libc::close(self.ours);
            for (first, last) in [(0, self.theirs - 1), (self.theirs + 1, RawFd::MAX)] {
                // Linux before 5.9 lacks this call; the descriptors then stay open.
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
    /// Carries out the step and returns whether it succeeded. Makes only system calls that are safe
    /// between fork and exec, and allocates nothing.
    fn done(&self) -> bool {
        match self {
            Undo::Write { file, at, bytes } => {
                // SAFETY: the path ends with a zero, the buffer has the given length, and this call
                // owns the descriptor.
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
                    // SAFETY: the path ends with a zero, and the time belongs to this frame.
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

    #[test]
    fn a_step_that_failed_is_said_as_what_is_left_to_do() {
        let register = Path::new("/dev/cpu/3/msr");
        let mask = Path::new("/proc/irq/24/smp_affinity_list");
        let steps = [
            Undo::write(register, 0x1a4, &0x20_u64.to_le_bytes()),
            Undo::write(mask, 0, b"0-3\n"),
            Undo::remove(Path::new("/sys/fs/cgroup/linefill")),
        ];
        let said = steps.map(|step| step.unwrap().to_string());
        let expected = [
            "write 0x0000000000000020 to register 0x1a4 of /dev/cpu/3/msr",
            "write \"0-3\" to /proc/irq/24/smp_affinity_list",
            "remove the folder /sys/fs/cgroup/linefill",
        ];
        assert_eq!(said, expected);
    }
}
