//! A child process that restores settings when this process ends, however it ends.

// Forks, and the child may only make calls that are safe between fork and exec.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString};
use std::fmt;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

use crate::os::interrupt::{Blocked, wait_for};

/// A step that restores a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Undo {
    /// Writes bytes into an existing file.
    Write { file: CString, at: i64, bytes: Vec<u8> },
    /// Removes a folder, once it is empty.
    Remove(CString),
}

impl Undo {
    /// Writes `bytes` into `file` from `at` on.
    pub(super) fn write(file: &Path, at: i64, bytes: &[u8]) -> io::Result<Self> {
        Ok(Undo::Write { file: c_string(file)?, at, bytes: bytes.to_vec() })
    }

    /// Removes the folder `dir`.
    pub(super) fn remove(dir: &Path) -> io::Result<Self> {
        Ok(Undo::Remove(c_string(dir)?))
    }
}

impl fmt::Display for Undo {
    /// Describes the manual fix if the step fails.
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
    /// Visible to the tests, which kill it.
    pub(super) child: libc::pid_t,
    /// The parent's end of the socket. Shut down when the guardian is dropped, or closed by the kernel.
    line: UnixStream,
    /// What the child is to do.
    undo: Vec<Undo>,
}

impl Guardian {
    /// Forks a child that will carry out `undo` in order, and waits until the child is ready. The child
    /// goes on past steps that fail.
    pub(super) fn post(undo: &[Undo]) -> io::Result<Self> {
        let (line, theirs) = UnixStream::pair()?;
        let ends = [&line, &theirs].map(AsRawFd::as_raw_fd);
        // Allocated here, because the child must not allocate.
        let mut report = vec![0; undo.len()];
        let signals = Blocked::all()?;
        // SAFETY: the child makes only system calls that are safe after fork, and never returns.
        let child = unsafe { libc::fork() };
        if child == 0 {
            guard(ends, undo, &mut report);
        }
        drop(signals);
        drop(theirs);
        if child < 0 {
            return Err(io::Error::last_os_error());
        }
        let mut guardian = Guardian { child, line, undo: undo.to_vec() };
        // If the child dies before it is ready, the socket closes and this read fails.
        if let Err(error) = guardian.line.read_exact(&mut [0]) {
            // The caller has changed nothing yet.
            guardian.undo.clear();
            return Err(error);
        }
        Ok(guardian)
    }

    /// Makes the child restore everything, waits for it to end, and returns the steps that are left to do.
    /// If the child was killed, this process carries out the steps.
    fn relieve(&mut self) -> Vec<String> {
        let mut report = Vec::new();
        // If the child was killed, the socket is closed and the report empty.
        let _ = self.line.shutdown(Shutdown::Write);
        let _ = self.line.read_to_end(&mut report);
        let _ = wait_for(self.child);
        let mut report = report.into_iter();
        let mut left = std::mem::take(&mut self.undo);
        left.retain(|step| report.next().map_or_else(|| !step.done(), |done| done == 0));
        left.iter().map(Undo::to_string).collect()
    }
}

impl Drop for Guardian {
    /// Makes the child restore everything, and says on standard error what is left to do: nothing else
    /// would tell that settings of the machine stay changed.
    fn drop(&mut self) {
        let left = self.relieve().join("; ");
        if !left.is_empty() {
            // As `eprintln` would, but standard error may be closed.
            let _ = writeln!(io::stderr(), "linefill: not all was put back: {left}");
        }
    }
}

/// Attempts to remove a folder, and nanoseconds between them: processes that end leave the folder a
/// moment later.
const TRIES: u32 = 200;
const BETWEEN: i64 = 10_000_000;

/// Runs the child, between the socket's two ends: says that it is ready, waits until the socket closes,
/// restores everything, reports by a byte per step which steps were done, and exits.
fn guard([ours, theirs]: [RawFd; 2], undo: &[Undo], report: &mut [u8]) -> ! {
    let mut byte = [0_u8; 1];
    // SAFETY: the descriptors are open copies of the parent's, the buffers belong to this frame,
    // and each call is safe between fork and exec (signal-safety(7)).
    unsafe {
        libc::setsid();
        // A copy of the parent's end, left open in this child or in that of another guardian, would keep
        // the socket from closing.
        libc::close(ours);
        for (first, last) in [(0, theirs - 1), (theirs + 1, RawFd::MAX)] {
            // Linux before 5.9 lacks this call; the descriptors then stay open.
            libc::syscall(libc::SYS_close_range, first, last, 0);
        }
        libc::write(theirs, byte.as_ptr().cast(), 1);
        while libc::read(theirs, byte.as_mut_ptr().cast(), 1) < 0
            && *libc::__errno_location() == libc::EINTR
        {}
        for (step, done) in undo.iter().zip(&mut *report) {
            *done = step.done().into();
        }
        // Nobody reads this if the parent was killed; SIGPIPE is blocked.
        libc::write(theirs, report.as_ptr().cast(), report.len());
        libc::_exit(0)
    }
}

impl Undo {
    /// Carries out the step and returns whether nothing is left to do. Makes only system calls that are
    /// safe between fork and exec, and allocates nothing.
    fn done(&self) -> bool {
        match self {
            Undo::Write { file, at, bytes } => {
                // A change that was refused, such as of an interrupt that the kernel places itself, needs no
                // undoing, and the kernel refuses that too.
                write(file, *at, bytes) || holds(file, *at, bytes)
            }
            Undo::Remove(dir) => remove(dir),
        }
    }
}

/// Writes `bytes` into `file` from `at` on, and returns whether that succeeded. A setting whose file does not
/// exist is gone too. A register stays when its device goes.
fn write(file: &CStr, at: i64, bytes: &[u8]) -> bool {
    let from = bytes.as_ptr().cast();
    // SAFETY: the path ends with a zero, the buffer has the given length, and this call owns the descriptor.
    unsafe {
        let file = libc::open(file.as_ptr(), libc::O_WRONLY);
        if file < 0 {
            return at == 0 && *libc::__errno_location() == libc::ENOENT;
        }
        // Files of /proc are written from their beginning on, and refuse `pwrite`.
        let written = match at {
            0 => libc::write(file, from, bytes.len()),
            at => libc::pwrite(file, from, bytes.len(), at),
        };
        libc::close(file);
        written == bytes.len() as isize
    }
}

/// Returns whether `file` holds `bytes` from `at` on. A text may end with white space.
fn holds(file: &CStr, at: i64, bytes: &[u8]) -> bool {
    let mut found = [0_u8; 4096];
    let into = found.as_mut_ptr().cast();
    // SAFETY: the path ends with a zero, the buffer has at least the given length, and this call owns the
    // descriptor.
    let read = unsafe {
        let file = libc::open(file.as_ptr(), libc::O_RDONLY);
        let read = match at {
            0 => libc::read(file, into, found.len()),
            at => libc::pread(file, into, found.len().min(bytes.len()), at),
        };
        libc::close(file);
        read
    };
    let found = found.get(..read.try_into().unwrap_or(0));
    let rest = found.and_then(|found| found.strip_prefix(bytes));
    rest.is_some_and(|rest| rest.iter().all(u8::is_ascii_whitespace))
}

/// Removes a folder, and returns whether it is gone.
fn remove(dir: &CStr) -> bool {
    for _ in 0..TRIES {
        let between = libc::timespec { tv_sec: 0, tv_nsec: BETWEEN };
        // SAFETY: the path ends with a zero, and the time belongs to this frame.
        unsafe {
            if libc::rmdir(dir.as_ptr()) == 0 {
                return true;
            }
            match *libc::__errno_location() {
                libc::EBUSY => libc::nanosleep(&raw const between, std::ptr::null_mut()),
                error => return error == libc::ENOENT,
            };
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::root::Planted;
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

    /// Posts a guardian for `undo` and relieves it at once.
    fn left(undo: &[io::Result<Undo>]) -> Vec<String> {
        let undo: Vec<Undo> = undo.iter().map(|step| step.as_ref().unwrap().clone()).collect();
        Guardian::post(&undo).unwrap().relieve()
    }

    /// The kernel refuses every write to this file, also to root, as it does for interrupts that it places
    /// itself.
    const UNWRITABLE: &str = "/sys/devices/system/cpu/possible";

    #[test]
    fn what_was_never_changed_is_not_left_to_do() {
        let value = std::fs::read_to_string(UNWRITABLE).unwrap();
        let machine = Planted::new("guardian-unchanged", ".", &[("present", "before")]);
        let gone = machine.path().join("partition");
        let steps = [
            Undo::write(Path::new(UNWRITABLE), 0, value.trim().as_bytes()),
            Undo::write(Path::new("/proc/version"), 2, b"nux"),
            Undo::write(&machine.path().join("present"), 0, b"before"),
            Undo::write(&gone.join("cpuset.cpus.partition"), 0, b"member"),
            Undo::remove(&gone),
        ];
        assert_eq!(left(&steps), [""; 0]);
    }

    #[test]
    fn only_steps_that_failed_are_left_to_do() {
        let machine = Planted::new("guardian-failed", ".", &[("folder/file", "")]);
        let [folder, device] = ["folder", "msr"].map(|name| machine.path().join(name));
        let steps = [
            Undo::write(&folder.join("file"), 0, b"0-1"),
            Undo::write(Path::new(UNWRITABLE), 0, b"77"),
            // A register stays as it is when its device goes.
            Undo::write(&device, 0x1a4, &[0x20]),
            Undo::remove(&folder),
        ];
        let [folder, device] = [folder, device].map(|path| path.display().to_string());
        let expected = [
            format!("write \"77\" to {UNWRITABLE}"),
            format!("write 0x20 to register 0x1a4 of {device}"),
            format!("remove the folder {folder}"),
        ];
        assert_eq!(left(&steps), expected);
    }

    #[test]
    fn this_process_does_what_a_killed_guardian_does_not() {
        let machine = Planted::new("guardian-killed", ".", &[("file", "now")]);
        let file = machine.path().join("file");
        let refused = Undo::write(Path::new(UNWRITABLE), 0, b"77").unwrap();
        let undo = [Undo::write(&file, 0, b"old").unwrap(), refused.clone()];
        let mut guardian = Guardian::post(&undo).unwrap();
        // SAFETY: the process is a child of this process and has not been waited for.
        unsafe { libc::kill(guardian.child, libc::SIGKILL) };
        assert_eq!(guardian.relieve(), [refused.to_string()]);
        assert_eq!(std::fs::read_to_string(file).unwrap(), "old");
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
