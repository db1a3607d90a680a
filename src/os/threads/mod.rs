//! Threads and processes that run beside the calling thread: groups that start at the same tick, and
//! background work that goes on until it is dropped. Also the sleep of a thread until a word changes.

// `futex` is a system call without a wrapper in C.
#![allow(unsafe_code)]

use std::ptr;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

mod background_process;
mod background_thread;
mod group;

pub use background_process::{BackgroundProcess, BackgroundProcessError};
pub use background_thread::{BackgroundThread, BackgroundThreadError};
pub use group::{ThreadGroup, ThreadGroupError, thread_group};

/// `futex(FUTEX_WAIT_PRIVATE)`: sleeps while `word` holds `value`, until [`wake`] is called for
/// `word`, and for at most `most`. Returns at once if `word` holds another value. May wake
/// spuriously.
#[doc(alias = "FUTEX_WAIT")]
pub fn wait(word: &AtomicU32, value: u32, most: Duration) {
    let most = libc::timespec {
        tv_sec: most.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: most.subsec_nanos().into(),
    };
    // SAFETY: the kernel reads the word, which is borrowed and aligned, and the timeout, which
    // outlives the call. Whatever the kernel returns, the caller checks the word again.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            value,
            ptr::from_ref(&most),
        );
    }
}

/// `futex(FUTEX_WAKE_PRIVATE)`: wakes one thread that sleeps on `word`, if there is one.
#[doc(alias = "FUTEX_WAKE")]
pub fn wake(word: &AtomicU32) {
    // SAFETY: the kernel uses the address as a key and does not access the word.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
            1,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;
    use std::thread;
    use std::time::Instant;

    #[test]
    fn nobody_sleeps_on_another_value_or_for_longer_than_wanted() {
        let word = AtomicU32::new(1);
        wait(&word, 0, Duration::from_secs(1000));
        let began = Instant::now();
        wait(&word, 1, Duration::from_millis(5));
        // It may wake early for no reason, and late on a busy machine.
        assert!(began.elapsed() < Duration::from_secs(1000));
    }

    #[test]
    fn a_sleeper_is_woken() {
        let word = AtomicU32::new(1);
        thread::scope(|scope| {
            scope.spawn(|| {
                while word.load(Ordering::Acquire) == 1 {
                    wait(&word, 1, Duration::from_secs(1000));
                }
            });
            thread::sleep(Duration::from_millis(5));
            word.store(0, Ordering::Release);
            wake(&word);
        });
    }
}
