//! A background process that moves memory on its own CPU until it is stopped.
//!
//! The process is forked instead of started from a program, so that other crates' benches and tests can
//! use it. It ends with this process, however this process ends. Dropping the handle kills it. If the thread
//! that started it ends, by a panic or with the process, the kernel kills it (`PR_SET_PDEATHSIG`). If
//! the parent ends before the child can ask for that, the child sees that its parent has changed.

// Forks, and the child may only make calls that are safe after fork.
#![allow(unsafe_code)]

use std::io;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::host::{BackgroundLoad, Process};
use crate::kernel::{Bandwidth, Kernel};
use crate::mem::{PAGE, Region};
use crate::os::affinity::keep_on;
use crate::os::clock::pause;
use crate::os::interrupt::{Blocked, wait_for};
use crate::os::memory::{Mapped, Shared};

/// Why a background process could not be started.
#[derive(Debug)]
pub enum BackgroundProcessError {
    /// The kernel refused the process, or the page that the processes share.
    Fork(io::Error),
    /// The process could not be pinned to this CPU.
    Cpu(usize, io::Error),
    /// The process could not allocate this many bytes.
    Memory(usize, io::Error),
    /// The bytes are not a positive multiple of the bytes per block.
    Blocks {
        /// The bytes asked for.
        bytes: usize,
        /// Bytes per block.
        granularity: usize,
    },
    /// The process ended, or was not ready in time.
    Ended,
}

messages! { BackgroundProcessError:
    BackgroundProcessError::Fork(error) => ("no background process: {error}");
    BackgroundProcessError::Cpu(cpu, error) => (
        "the background process cannot run on CPU {cpu}: {error}"
    );
    BackgroundProcessError::Memory(bytes, error) => (
        "the background process gets no {bytes} bytes: {error}"
    );
    BackgroundProcessError::Blocks { bytes, granularity } => (
        "{bytes} bytes are not a positive multiple of {granularity}"
    );
    BackgroundProcessError::Ended => ("the background process ended before it was at work");
}

/// A background process that works until dropped.
///
/// Stays on the thread that started it: the process ends when that thread ends.
#[derive(Debug)]
pub struct BackgroundProcess {
    child: libc::pid_t,
    board: Shared<Board>,
    /// Whether the child's end was seen. Its number may then belong to another process.
    ended: bool,
    of_this_thread: PhantomData<*const ()>,
}

/// The page that the two processes share.
#[derive(Debug)]
#[repr(C, align(4096))]
struct Board {
    /// 0 at first; then one of the states below in the low bits, and an error number above them.
    state: AtomicU64,
    /// Number of stretches of work done.
    stretches: AtomicU64,
}

const AT_WORK: u64 = 1;
const NO_CPU: u64 = 2;
const NO_MEMORY: u64 = 3;

/// Bits of the state below the error number.
const STATE_BITS: u32 = 8;

/// How long the background process may take to get its memory.
const PATIENCE: Duration = Duration::from_secs(20);

/// Blocks of work between two checks of the parent: a fraction of a millisecond.
const STRETCH: u64 = 2048;

impl BackgroundProcess {
    /// Forks a process that runs `load`, and waits until it is at work.
    ///
    /// # Errors
    /// If the process cannot be forked, or cannot have its CPU or memory.
    #[doc(alias = "fork")]
    pub fn start(load: BackgroundLoad) -> Result<Self, BackgroundProcessError> {
        let (bytes, granularity) = (load.bytes, load.motion.granularity());
        if bytes == 0 || !bytes.is_multiple_of(granularity) {
            return Err(BackgroundProcessError::Blocks { bytes, granularity });
        }
        // SAFETY: the page consists of atomic words.
        let board = unsafe { Shared::map(libc::PROT_READ | libc::PROT_WRITE, None) };
        let board: Shared<Board> = board.map_err(BackgroundProcessError::Fork)?;
        let signals = Blocked::all().map_err(BackgroundProcessError::Fork)?;
        // SAFETY: the call only returns a number.
        let parent = unsafe { libc::getpid() };
        // SAFETY: the child makes only system calls, runs assembly on its own memory, allocates
        // nothing, and never returns.
        let child = unsafe { libc::fork() };
        if child == 0 {
            work(&load, parent, board.get());
        }
        let refused = io::Error::last_os_error();
        drop(signals);
        if child < 0 {
            return Err(BackgroundProcessError::Fork(refused));
        }
        let mut process =
            BackgroundProcess { child, board, ended: false, of_this_thread: PhantomData };
        process.wait(load)?;
        Ok(process)
    }

    fn wait(&mut self, load: BackgroundLoad) -> Result<(), BackgroundProcessError> {
        let began = Instant::now();
        loop {
            let state = self.board.get().state.load(Ordering::Acquire);
            let error = || io::Error::from_raw_os_error((state >> STATE_BITS) as i32);
            match state & ((1 << STATE_BITS) - 1) {
                AT_WORK => return Ok(()),
                NO_CPU => return Err(BackgroundProcessError::Cpu(load.cpu, error())),
                NO_MEMORY => return Err(BackgroundProcessError::Memory(load.bytes, error())),
                _ if !self.lives() || began.elapsed() > PATIENCE => {
                    return Err(BackgroundProcessError::Ended);
                }
                _ => pause(Duration::from_micros(100)),
            }
        }
    }
}

impl Process for BackgroundProcess {
    fn stretches(&self) -> u64 {
        self.board.get().stretches.load(Ordering::Relaxed)
    }

    fn lives(&mut self) -> bool {
        if !self.ended {
            let mut status = 0;
            // SAFETY: `status` is valid to write; the child is ours and was not waited for.
            let found = unsafe { libc::waitpid(self.child, &mut status, libc::WNOHANG) };
            // On an error, the child was waited for elsewhere, or waiting is not permitted.
            self.ended = found != 0;
        }
        !self.ended
    }
}

impl Drop for BackgroundProcess {
    /// Kills the process, and waits for it to end.
    fn drop(&mut self) {
        if self.lives() {
            // SAFETY: the child is ours and was not waited for, so that the number is still its own.
            unsafe { libc::kill(self.child, libc::SIGKILL) };
            let _ = wait_for(self.child);
        }
    }
}

impl Board {
    /// Reports the reason to the parent, and ends the child.
    fn leave(&self, state: u64, error: io::Error) -> ! {
        self.say(state, error.raw_os_error().unwrap_or(libc::EINVAL));
        // SAFETY: ends the child. Running destructors is the parent's task.
        unsafe { libc::_exit(1) }
    }

    fn say(&self, state: u64, error: i32) {
        let error = u64::from(error.unsigned_abs()) << STATE_BITS;
        self.state.store(error | state, Ordering::Release);
    }
}

/// Aborts when dropped: a panic of the child would unwind into the parent's frames.
struct NoWayBack;

impl Drop for NoWayBack {
    fn drop(&mut self) {
        std::process::abort();
    }
}

/// Runs the child; never returns.
fn work(load: &BackgroundLoad, parent: libc::pid_t, board: &Board) -> ! {
    let _never_dropped = NoWayBack;
    // SAFETY: the calls take only numbers and are safe after fork. The child closes its descriptors
    // because it does not need them, and because a reader that waits for the end of the parent's
    // output would wait for the child too. Linux before 5.9 lacks `close_range`.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() != parent {
            libc::_exit(0);
        }
        libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0);
    }
    if let Err(error) = keep_on(load.cpu) {
        board.leave(NO_CPU, error);
    }
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_POPULATE;
    let pages = load.bytes.next_multiple_of(PAGE);
    let memory = match Mapped::new(pages, access, flags, None) {
        Ok(memory) => memory,
        Err(error) => board.leave(NO_MEMORY, error),
    };
    // SAFETY: just mapped, zeroed, at least this long, and unmapped only when the child ends.
    let bytes = unsafe { std::slice::from_raw_parts_mut(memory.start().as_ptr(), load.bytes) };
    let kernel = Region::new(bytes)
        .ok()
        .and_then(|region| Bandwidth::new(region, load.motion, load.vector).ok());
    let Some(mut kernel) = kernel else {
        board.leave(NO_MEMORY, io::Error::from_raw_os_error(libc::EINVAL));
    };
    // One pass over all of the memory before the process counts as at work.
    kernel.run(kernel.pass());
    board.say(AT_WORK, 0);
    loop {
        kernel.run(STRETCH);
        board.stretches.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the calls take only numbers.
        unsafe {
            if libc::getppid() != parent {
                libc::_exit(0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Motion, Vector};
    use crate::os::allowed;

    fn load(cpu: usize, motion: Motion) -> BackgroundLoad {
        BackgroundLoad { cpu, bytes: 1 << 20, motion, vector: Vector::Sse2 }
    }

    /// Returns whether a process of this number exists, including dead processes not yet waited for.
    fn exists(process: libc::pid_t) -> bool {
        std::path::Path::new(&format!("/proc/{process}")).exists()
    }

    #[test]
    fn it_works_until_dropped() {
        let cpu = *allowed().last().unwrap();
        for motion in [Motion::Read, Motion::Write, Motion::Copy] {
            let mut process = BackgroundProcess::start(load(cpu, motion)).unwrap();
            let (id, first) = (process.child, process.stretches());
            let began = Instant::now();
            while process.stretches() < first + 3 {
                assert!(process.lives() && began.elapsed() < PATIENCE);
                std::thread::yield_now();
            }
            assert!(exists(id));
            drop(process);
            assert!(!exists(id));
        }
    }

    #[test]
    fn what_it_lacks_is_named() {
        let said = |load| BackgroundProcess::start(load).unwrap_err().to_string();
        let cpu = allowed()[0];
        assert!(said(load(8191, Motion::Read)).contains("CPU 8191"));
        let huge = BackgroundLoad { bytes: 1 << 46, ..load(cpu, Motion::Read) };
        assert!(said(huge).contains("gets no 70368744177664 bytes"));
        let part = BackgroundLoad { bytes: 512, ..load(cpu, Motion::Copy) };
        assert!(said(part).contains("512 bytes are not a positive multiple of 1024"));
    }

    #[test]
    fn an_end_that_nobody_asked_for_is_seen() {
        let mut process = BackgroundProcess::start(load(allowed()[0], Motion::Read)).unwrap();
        // SAFETY: the process is a child of this process and has not been waited for.
        unsafe { libc::kill(process.child, libc::SIGKILL) };
        let began = Instant::now();
        while process.lives() {
            assert!(began.elapsed() < PATIENCE);
        }
    }

    #[test]
    fn a_panic_ends_it() {
        let cpu = allowed()[0];
        let (tell, told) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let process = BackgroundProcess::start(load(cpu, Motion::Write)).unwrap();
            tell.send(process.child).unwrap();
            panic!("in the middle of a measurement");
        });
        assert!(thread.join().is_err());
        assert!(!exists(told.recv().unwrap()));
    }
}
