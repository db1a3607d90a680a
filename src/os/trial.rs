//! Runs foreign code in a child process, so that it cannot damage this one.
//!
//! A fault in the code is reported with its signal and address. Code that does not return is killed in
//! time. The process ends with its parent (`PR_SET_PDEATHSIG`).

// Forks, waits for the child, and handles its signals, all through C.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::FromRawFd as _;
use std::os::unix::process::ExitStatusExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitStatus;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::check;
use super::clock::{pause, readable};
use super::interrupt::{Blocked, Handler, set_action, wait_for};
use super::memory::Shared;

/// How a trial ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Ending {
    /// The work ended and returned these bytes.
    Done(Vec<u8>),
    /// The work did something that the CPU or the kernel forbids.
    Fault(Fault),
    /// A signal killed the process, sent from outside or for a call that a sandbox forbids.
    Killed(i32),
    /// The work ended the process itself, with this status.
    Left(i32),
    /// The work did not return in time, and was killed.
    Late,
    /// The work wrote more than [`MOST`] bytes, and was killed.
    TooLong,
    /// The caller asked to stop, and the work did not return soon.
    Stopped,
}

/// An operation that the CPU or the kernel refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The signal.
    pub signal: i32,
    /// The address accessed, if the kernel reports it. It reports none for a non-canonical address, a
    /// misaligned vector or a privileged instruction.
    pub address: Option<u64>,
    /// Offset of the instruction in the code that was [marked](Marks::code); `None` if it lies outside.
    pub offset: Option<u64>,
    /// Offset of the accessed address in the memory that was [marked](Marks::memory), which may be
    /// negative, and the size of that memory in bytes.
    pub memory: Option<(i64, u64)>,
}

/// Where the work's code and memory lie, so that a fault can be reported relative to them. Shared with
/// the parent.
#[repr(C, align(4096))]
#[derive(Debug)]
pub struct Marks {
    code: [AtomicU64; 2],
    memory: [AtomicU64; 2],
    /// Signal, address, instruction, and whether the address is known.
    fault: [AtomicU64; 4],
}

impl Marks {
    /// Records where the code lies.
    pub fn code(&self, code: &[u8]) {
        Marks::set(&self.code, code.as_ptr().addr(), code.len());
    }

    /// Records where its memory lies.
    pub fn memory(&self, address: usize, bytes: usize) {
        Marks::set(&self.memory, address, bytes);
    }

    fn set(mark: &[AtomicU64; 2], address: usize, bytes: usize) {
        mark[0].store(address as u64, Ordering::Relaxed);
        mark[1].store(bytes as u64, Ordering::Relaxed);
    }

    fn fault(&self) -> Fault {
        let [signal, address, instruction, known] =
            [0, 1, 2, 3].map(|place: usize| self.fault[place].load(Ordering::Relaxed));
        let mark =
            |mark: &[AtomicU64; 2]| [0, 1].map(|end: usize| mark[end].load(Ordering::Relaxed));
        let [code, bytes] = mark(&self.code);
        let offset = instruction.wrapping_sub(code);
        let address = (known == 1).then_some(address);
        let [memory, size] = mark(&self.memory);
        let from_memory = |address: u64| (address.wrapping_sub(memory) as i64, size);
        Fault {
            signal: signal as i32,
            address,
            offset: (offset < bytes).then_some(offset),
            memory: address.filter(|_| size > 0).map(from_memory),
        }
    }
}

/// The status of a child whose fault was recorded.
const FAULTED: i32 = 3;

/// The status of a child that panicked.
const PANICKED: i32 = 101;

/// The most bytes that the work may write: far more than any result has.
pub const MOST: usize = 16 << 20;

/// How long a child may take to end by itself after it was asked to stop.
const GRACE: Duration = Duration::from_secs(2);

/// Time between two checks of the clock and of `stop` while the parent waits.
const LOOK: Duration = Duration::from_millis(50);

/// The first pause between two looks whether a child has ended. Each further one is twice as long.
const SHORTEST: Duration = Duration::from_micros(50);

/// The signals that faults raise.
const FAULTS: [i32; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP];

/// `fork`: runs `work` in a child for at most `patience`, and returns how it ended.
///
/// The child has only the calling thread, so that a lock held by another thread at the fork stays
/// locked there. Call this before starting any thread that does more than wait.
///
/// # Errors
/// If the kernel refuses a process, a pipe or a page.
#[doc(alias = "fork")]
pub fn trial(
    patience: Duration,
    stop: &AtomicBool,
    work: impl FnOnce(&'static Marks) -> Vec<u8>,
) -> io::Result<Ending> {
    // SAFETY: the page consists of atomic words.
    let marks: Shared<Marks> = unsafe { Shared::map(libc::PROT_READ | libc::PROT_WRITE, None) }?;
    let (reader, writer) = pipe()?;
    let signals = Blocked::all()?;
    // SAFETY: the call only returns a number.
    let parent = unsafe { libc::getpid() };
    // SAFETY: the child continues with this thread only, and never returns from `child`.
    let forked = unsafe { libc::fork() };
    if forked == 0 {
        drop(reader);
        drop(signals);
        child(parent, marks.get().into(), writer, work);
    }
    let refused = io::Error::last_os_error();
    drop(signals);
    drop(writer);
    if forked < 0 {
        return Err(refused);
    }
    let mut child = Child { pid: forked };
    let mut limits = Limits { began: Instant::now(), patience, stop, asked: None };
    let (bytes, cut) = listen(reader, &mut limits)?;
    // The end of the output need not be that of the child: code may close all descriptors, and go on.
    let cut = match cut {
        None => child.outlasts(&mut limits)?,
        cut => cut,
    };
    let status = child.end(cut.is_some())?;
    Ok(match (cut, status.code()) {
        (Some(cut), _) => cut,
        (None, Some(0)) => Ending::Done(bytes),
        (None, Some(FAULTED)) => Ending::Fault(marks.get().fault()),
        (None, Some(status)) => Ending::Left(status),
        (None, None) => Ending::Killed(status.signal().unwrap_or_default()),
    })
}

/// How long a child may run.
struct Limits<'s> {
    began: Instant,
    patience: Duration,
    stop: &'s AtomicBool,
    /// When `stop` was first seen.
    asked: Option<Instant>,
}

impl Limits<'_> {
    /// Returns why the child is to be given up now, if it is.
    fn cut(&mut self) -> Option<Ending> {
        if self.stop.load(Ordering::Relaxed)
            && self.asked.get_or_insert_with(Instant::now).elapsed() > GRACE
        {
            return Some(Ending::Stopped);
        }
        (self.began.elapsed() > self.patience).then_some(Ending::Late)
    }
}

/// Reads the child's output until it ends. If the child is given up before that, also returns why.
fn listen(mut reader: File, limits: &mut Limits<'_>) -> io::Result<(Vec<u8>, Option<Ending>)> {
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    loop {
        if readable(&reader, LOOK)? {
            match reader.read(&mut part) {
                Ok(0) => return Ok((bytes, None)),
                Ok(count) if bytes.len() + count > MOST => {
                    return Ok((bytes, Some(Ending::TooLong)));
                }
                Ok(count) => bytes.extend_from_slice(&part[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if let Some(cut) = limits.cut() {
            return Ok((bytes, Some(cut)));
        }
    }
}

/// A child process. Dropping it kills the child and waits for it, unless it has been waited for.
struct Child {
    /// Zero once it has been waited for.
    pid: libc::pid_t,
}

impl Child {
    /// Waits for the child to end, and leaves its status to be read by [`end`](Self::end). If the child is
    /// given up before that, returns why.
    fn outlasts(&self, limits: &mut Limits<'_>) -> io::Result<Option<Ending>> {
        // Nearly every child ends at once.
        let mut nap = SHORTEST;
        while !self.ended()? {
            if let Some(cut) = limits.cut() {
                return Ok(Some(cut));
            }
            pause(nap);
            nap = (2 * nap).min(LOOK);
        }
        Ok(None)
    }

    /// Returns whether the child has ended.
    fn ended(&self) -> io::Result<bool> {
        let how = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        loop {
            // SAFETY: zero bytes are a valid siginfo_t, which the call may write.
            let (answer, info) = unsafe {
                let mut info: libc::siginfo_t = MaybeUninit::zeroed().assume_init();
                let pid = self.pid as libc::id_t;
                (libc::waitid(libc::P_PID, pid, &mut info, how), info)
            };
            let error = io::Error::last_os_error();
            match answer {
                // SAFETY: for a child that has not ended the field is zero, as it was before.
                0 => return Ok(unsafe { info.si_pid() } != 0),
                _ if error.kind() == io::ErrorKind::Interrupted => {}
                _ => return Err(error),
            }
        }
    }

    /// Waits for the child to end. Kills it first if `cut`.
    fn end(&mut self, cut: bool) -> io::Result<ExitStatus> {
        if cut {
            // SAFETY: the child is ours and was not waited for, so that the number is its own.
            unsafe { libc::kill(self.pid, libc::SIGKILL) };
        }
        wait_for(std::mem::take(&mut self.pid)).map(ExitStatus::from_raw)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.pid != 0 {
            let _ = self.end(true);
        }
    }
}

fn pipe() -> io::Result<(File, File)> {
    let mut ends = [0; 2];
    // SAFETY: there is room for two descriptors.
    check(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) })?;
    // SAFETY: the kernel has just made both descriptors, and no other code has them.
    Ok(ends.map(|end| unsafe { File::from_raw_fd(end) }).into())
}

/// Runs the child; never returns.
fn child(
    parent: libc::pid_t,
    marks: NonNull<Marks>,
    mut writer: File,
    work: impl FnOnce(&'static Marks) -> Vec<u8>,
) -> ! {
    // SAFETY: the page stays mapped in the child, which never drops its owner.
    let marks: &'static Marks = unsafe { marks.as_ref() };
    // SAFETY: the calls take only numbers.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() != parent {
            libc::_exit(0);
        }
    }
    let told = catch_unwind(AssertUnwindSafe(|| {
        handle_faults(marks).and_then(|()| writer.write_all(&work(marks)))
    }));
    let status = match told {
        Ok(Ok(())) => 0,
        Ok(Err(_)) => 1,
        Err(_) => PANICKED,
    };
    // SAFETY: ends the child. Running destructors is the parent's task.
    unsafe { libc::_exit(status) }
}

/// Where the handler records a fault.
static MARKS: AtomicPtr<Marks> = AtomicPtr::new(ptr::null_mut());

/// Bytes of the handler's stack. The kernel saves all vector registers on it.
const STACK: usize = 256 << 10;

/// Records each fault, on a separate stack: the fault may be in the code's stack.
fn handle_faults(marks: &'static Marks) -> io::Result<()> {
    MARKS.store(ptr::from_ref(marks).cast_mut(), Ordering::Relaxed);
    let stack = Box::leak(vec![0_u8; STACK].into_boxed_slice());
    let stack = libc::stack_t { ss_sp: stack.as_mut_ptr().cast(), ss_flags: 0, ss_size: STACK };
    // SAFETY: the stack is never freed.
    check(unsafe { libc::sigaltstack(&stack, ptr::null_mut()) })?;
    let (handler, flags) = (note as Handler, libc::SA_SIGINFO | libc::SA_ONSTACK);
    for signal in FAULTS {
        // SAFETY: the handler makes atomic stores and ends the process.
        unsafe { set_action(signal, handler as libc::sighandler_t, flags)? };
    }
    Ok(())
}

/// Records the fault and ends the child.
extern "C" fn note(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: set before this handler was installed, and never unmapped.
    let marks = unsafe { &*MARKS.load(Ordering::Relaxed) };
    // SAFETY: with SA_SIGINFO the kernel passes both, and they describe the interrupted thread.
    let (info, context) = unsafe { (&*info, &*context.cast::<libc::ucontext_t>()) };
    let instruction = context.uc_mcontext.gregs[libc::REG_RIP as usize];
    // SAFETY: for a fault of the CPU the field is an address or zero.
    let address = unsafe { info.si_addr() }.addr();
    // The kernel reports a fault whose address it does not know as sent by itself.
    const FROM_KERNEL: i32 = 0x80;
    let has_address = matches!(signal, libc::SIGSEGV | libc::SIGBUS) && info.si_code != FROM_KERNEL;
    let values = [signal as u64, address as u64, instruction as u64, u64::from(has_address)];
    for (place, value) in marks.fault.iter().zip(values) {
        place.store(value, Ordering::Relaxed);
    }
    // SAFETY: ends the child. Nothing else is safe now.
    unsafe { libc::_exit(FAULTED) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::{Code, Pages};

    const PATIENCE: Duration = Duration::from_secs(20);

    fn tried(work: impl FnOnce(&'static Marks) -> Vec<u8>) -> Ending {
        trial(PATIENCE, &AtomicBool::new(false), work).unwrap()
    }

    /// Runs machine code whose fault is to be reported.
    fn of(bytes: &'static [u8], argument: u64) -> Ending {
        tried(move |marks| {
            let code = Code::new(bytes.len(), Pages::Base, |at| at.copy_from_slice(bytes)).unwrap();
            marks.code(code.bytes());
            marks.memory(0x1000, 64);
            // SAFETY: the code runs in a child process, which it may damage.
            unsafe { code.call(0, argument) }.to_le_bytes().into()
        })
    }

    #[test]
    fn what_the_work_gives_comes_back() {
        let long = vec![7; 1 << 20];
        let sent = long.clone();
        assert_eq!(tried(|_| sent), Ending::Done(long));
        // lea rax, [rdi + 1]; ret
        let one_more = of(&[0x48, 0x8D, 0x47, 0x01, 0xC3], 41);
        assert_eq!(one_more, Ending::Done(42_u64.to_le_bytes().into()));
        assert!(tried(|_| vec![7; MOST + 1]) == Ending::TooLong);
    }

    #[test]
    fn a_fault_is_told_by_signal_address_and_instruction() {
        // nop; mov rax, [rdi]; ret
        let Ending::Fault(fault) = of(&[0x90, 0x48, 0x8B, 0x07, 0xC3], 0x1050) else {
            panic!("nobody may read there");
        };
        assert_eq!((fault.signal, fault.offset), (libc::SIGSEGV, Some(1)));
        assert_eq!((fault.address, fault.memory), (Some(0x1050), Some((0x50, 64))));
        let Ending::Fault(fault) = of(&[0x0F, 0x0B], 0) else {
            panic!("ud2 is no instruction");
        };
        assert_eq!((fault.signal, fault.offset, fault.address), (libc::SIGILL, Some(0), None));
        let Ending::Fault(fault) = of(&[0x48, 0x8B, 0x07, 0xC3], 1 << 62) else {
            panic!("that is no canonical address");
        };
        assert_eq!((fault.signal, fault.address), (libc::SIGSEGV, None));
        // mov rsp, rdi; push rax: rsp does not point to a stack.
        let Ending::Fault(fault) = of(&[0x48, 0x89, 0xFC, 0x50], 0x1000) else {
            panic!("there is no stack");
        };
        assert_eq!((fault.address, fault.memory), (Some(0xFF8), Some((-8, 64))));
    }

    #[test]
    fn other_ends_are_told_apart() {
        // SAFETY: ends the child.
        assert_eq!(tried(|_| unsafe { libc::_exit(9) }), Ending::Left(9));
        let killed = tried(|_| {
            // SAFETY: the call takes a number, and kills only the child.
            unsafe { libc::raise(libc::SIGKILL) };
            Vec::new()
        });
        assert_eq!(killed, Ending::Killed(libc::SIGKILL));
        let endless = |patience, stop: bool| {
            let stop = AtomicBool::new(stop);
            // jmp .
            trial(patience, &stop, |_| {
                let code = Code::new(2, Pages::Base, |at| at.copy_from_slice(&[0xEB, 0xFE]));
                // SAFETY: the code never returns, and is killed.
                unsafe { code.unwrap().call(0, 0) }.to_le_bytes().into()
            })
            .unwrap()
        };
        assert_eq!(endless(Duration::from_millis(200), false), Ending::Late);
        assert_eq!(endless(PATIENCE, true), Ending::Stopped);
    }

    #[test]
    fn code_that_closes_its_output_and_goes_on_is_given_up() {
        let silent = |patience, stop: bool| {
            let stop = AtomicBool::new(stop);
            trial(patience, &stop, |_| {
                let began = Instant::now();
                for descriptor in 0..1024 {
                    // SAFETY: the child has no other use for its descriptors.
                    unsafe { libc::close(descriptor) };
                }
                while began.elapsed() < PATIENCE {
                    std::hint::spin_loop();
                }
                Vec::new()
            })
            .unwrap()
        };
        assert_eq!(silent(Duration::from_millis(200), false), Ending::Late);
        assert_eq!(silent(PATIENCE / 2, true), Ending::Stopped);
    }
}
