//! Samples the instruction pointer of a thread by a timer, for machines without a PMU.

// A signal handler is installed through C, and reads the interrupted context.
#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, TryLockError};
use std::time::Duration;

use super::check;
use super::interrupt::{self, set_action};

/// The most samples per run.
pub const MOST: usize = 4096;

/// The buffer that the handler fills, and the number of interrupts so far.
static ADDRESSES: [AtomicUsize; MOST] = [const { AtomicUsize::new(0) }; MOST];
static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// Held during a sampling run: the process has only one signal and one buffer for it.
static BUSY: Mutex<()> = Mutex::new(());

/// The error while a run is in progress. Waiting for that run could deadlock: its work may wait for the
/// caller.
fn busy() -> io::Error {
    io::Error::new(
        io::ErrorKind::ResourceBusy,
        "this process is already sampling; wait until that sampling ends",
    )
}

/// Records the instruction at which the thread was interrupted. Makes only atomic accesses, which are
/// safe in a signal handler.
extern "C" fn note(_signal: libc::c_int, _info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let taken = TAKEN.fetch_add(1, Ordering::Relaxed);
    if let Some(address) = ADDRESSES.get(taken) {
        // SAFETY: with SA_SIGINFO the kernel hands over a ucontext of the interrupted thread.
        let context = unsafe { &*context.cast::<libc::ucontext_t>() };
        let at = context.uc_mcontext.gregs[libc::REG_RIP as usize];
        address.store(at as usize, Ordering::Relaxed);
    }
}

/// `timer_create`: runs `work` while a timer interrupts the thread every `period`. Returns the
/// addresses of the interrupted instructions, at most [`MOST`] of them.
///
/// As in any profiler driven by a timer, an interrupt is taken once the oldest instruction in flight
/// has retired. A recorded address is therefore that of the instruction after the one that the
/// thread was waiting for.
///
/// # Errors
/// - [`ResourceBusy`](io::ErrorKind::ResourceBusy) while another sampling run is in progress, on
///   any thread: its work might wait for this run.
/// - The kernel's error if it refuses the timer or the handler.
#[doc(alias = "SIGPROF")]
pub fn sample(period: Duration, work: impl FnOnce()) -> io::Result<Vec<usize>> {
    let _one_at_a_time = match BUSY.try_lock() {
        Ok(alone) => alone,
        Err(TryLockError::Poisoned(alone)) => alone.into_inner(),
        Err(TryLockError::WouldBlock) => return Err(busy()),
    };
    TAKEN.store(0, Ordering::Relaxed);
    let handler = Handler::install()?;
    let timer = Timer::start(period)?;
    work();
    // The timer goes first: after the handler, its signal would meet the action before.
    drop(timer);
    drop(handler);
    let taken = TAKEN.load(Ordering::Relaxed).min(MOST);
    let addresses = ADDRESSES[..taken].iter();
    Ok(addresses.map(|at| at.load(Ordering::Relaxed)).collect())
}

/// The installed handler of SIGPROF. Dropping it restores the one before.
struct Handler {
    before: libc::sigaction,
}

impl Handler {
    fn install() -> io::Result<Self> {
        let (handler, flags) = (note as interrupt::Handler, libc::SA_SIGINFO | libc::SA_RESTART);
        // SAFETY: the handler makes only atomic accesses.
        let before = unsafe { set_action(libc::SIGPROF, handler as libc::sighandler_t, flags)? };
        Ok(Handler { before })
    }
}

impl Drop for Handler {
    fn drop(&mut self) {
        // A pending signal would meet the action before: the default one ends the process. Ignoring the
        // signal discards it.
        // SAFETY: the first action ignores the signal, the second is the one that `sigaction` returned.
        unsafe {
            let _ = set_action(libc::SIGPROF, libc::SIG_IGN, 0);
            libc::sigaction(libc::SIGPROF, &self.before, std::ptr::null_mut());
        }
    }
}

/// A timer that interrupts the thread that started it.
struct Timer(libc::timer_t);

impl Timer {
    fn start(period: Duration) -> io::Result<Self> {
        // SAFETY: zero bytes are a valid sigevent.
        let mut event: libc::sigevent = unsafe { MaybeUninit::zeroed().assume_init() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = libc::SIGPROF;
        // SAFETY: the call has no preconditions.
        event.sigev_notify_thread_id = unsafe { libc::gettid() };
        let mut timer = MaybeUninit::<libc::timer_t>::zeroed();
        let (clock, made) = (libc::CLOCK_MONOTONIC, timer.as_mut_ptr());
        // SAFETY: both pointers are valid for what the call reads and writes.
        check(unsafe { libc::timer_create(clock, &mut event, made) })?;
        // SAFETY: the call succeeded.
        let timer = Timer(unsafe { timer.assume_init() });
        let every = libc::timespec {
            tv_sec: period.as_secs() as i64,
            tv_nsec: libc::c_long::from(period.subsec_nanos()),
        };
        let setting = libc::itimerspec { it_interval: every, it_value: every };
        // SAFETY: the timer exists, and a null pointer does not ask for the old setting.
        check(unsafe { libc::timer_settime(timer.0, 0, &setting, std::ptr::null_mut()) })?;
        Ok(timer)
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: the timer exists, and nothing uses it any more.
        unsafe { libc::timer_delete(self.0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Kernel as _, Step, Walk, symbols};
    use crate::mem::Region;
    use crate::pattern::{Layout, Order, Ring};
    use std::sync::PoisonError;
    use std::time::Instant;

    /// Serialises the tests.
    static TURN: Mutex<()> = Mutex::new(());

    #[test]
    fn a_sampling_within_another_is_refused() {
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let never = Duration::from_secs(100);
        let within = || sample(never, || ()).map_err(|error| error.kind());
        let (mut here, mut elsewhere) = (Ok(Vec::new()), Ok(Vec::new()));
        sample(never, || {
            here = within();
            elsewhere = std::thread::scope(|scope| scope.spawn(within).join().unwrap());
        })
        .unwrap();
        assert_eq!(here, Err(io::ErrorKind::ResourceBusy));
        assert_eq!(elsewhere, Err(io::ErrorKind::ResourceBusy));
        assert_eq!(within(), Ok(Vec::new()));
    }

    #[test]
    fn a_busy_thread_is_interrupted_where_it_is() {
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = vec![0; 64 * 1024];
        let region = Region::new(&mut bytes).unwrap();
        let ring = Ring::new(region, Layout::npad(7), 100, Order::Sequential).unwrap();
        let mut walk = Walk::new(ring, Step::Follow).unwrap();
        let mut kernels = symbols::all();
        let kernel = kernels.find(|code| code.name == "linefill_walk_follow");
        let code = kernel.unwrap().bytes.as_ptr_range();
        let addresses = sample(Duration::from_micros(200), || {
            // Until interrupted often enough, however slow the machine is.
            let began = Instant::now();
            while TAKEN.load(Ordering::Relaxed) < 20 && began.elapsed() < Duration::from_secs(20) {
                // Steps for milliseconds: the time between two runs is short beside them.
                walk.run(2_000_000);
            }
        });
        let addresses = addresses.unwrap();
        assert!(addresses.len() >= 20, "{} samples", addresses.len());
        let inside = |at: &&usize| code.contains(&std::ptr::without_provenance(**at));
        let inside = addresses.iter().filter(inside).count();
        assert!(
            4 * inside >= 3 * addresses.len(),
            "{inside} of {} samples are in {code:?}: {addresses:x?}",
            addresses.len()
        );
    }

    /// Sets what the process does at SIGPROF, and returns what it did before.
    fn replace(action: libc::sighandler_t) -> libc::sighandler_t {
        // SAFETY: the action is the default one, or the one that was there before.
        unsafe { set_action(libc::SIGPROF, action, 0) }.unwrap().sa_sigaction
    }

    #[test]
    fn the_action_before_comes_back_and_no_signal_meets_it() {
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        // No other test may sample meanwhile: its signals would end the process.
        let _alone = BUSY.lock().unwrap_or_else(PoisonError::into_inner);
        let inherited = replace(libc::SIG_DFL);
        let handler = Handler::install().unwrap();
        // The signal is still pending when the handler goes.
        mask(libc::SIG_BLOCK);
        // SAFETY: the call takes a number, and the handler is installed.
        unsafe { libc::raise(libc::SIGPROF) };
        drop(handler);
        // A signal that is pending even now ends the process here.
        mask(libc::SIG_UNBLOCK);
        assert_eq!(replace(inherited), libc::SIG_DFL);
    }

    /// Blocks or unblocks SIGPROF for this thread.
    fn mask(how: libc::c_int) {
        // SAFETY: the set is filled before it is used.
        unsafe {
            let mut set = MaybeUninit::<libc::sigset_t>::zeroed().assume_init();
            libc::sigemptyset(&mut set);
            libc::sigaddset(&mut set, libc::SIGPROF);
            assert_eq!(libc::pthread_sigmask(how, &set, std::ptr::null_mut()), 0);
        }
    }

    #[test]
    fn nothing_is_sampled_of_nothing_and_samplings_follow_each_other() {
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..3 {
            let addresses = sample(Duration::from_secs(100), || ()).unwrap();
            assert!(addresses.is_empty());
        }
    }
}
