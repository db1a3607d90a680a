//! The raw monotonic clock, the rate of the TSC against it, a sleep that does not panic if a system call is
//! refused, and a bounded wait for a file.
// `clock_gettime` and `poll` are calls into C that fill a structure.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::AsRawFd;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::time::{Rate, RateError, start};

/// How long the two clocks are compared. Reading them takes less than a microsecond, so that the rate
/// is accurate to a few parts per million. A core that was asleep reaches its clock frequency in this time.
const STRETCH: Duration = Duration::from_millis(250);

/// Readings of both clocks, of which the least disturbed is kept.
const READINGS: usize = 16;

/// `clock_gettime(CLOCK_MONOTONIC_RAW)`: nanoseconds since an arbitrary start.
///
/// The raw clock is not slewed by NTP, so a rate taken from two readings is the hardware's rate.
/// A reading costs some tens of nanoseconds through the vDSO, or a system call if the clock
/// source has no vDSO path.
#[doc(alias = "CLOCK_MONOTONIC_RAW")]
pub fn monotonic_raw_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid timespec to write; the clock exists on every Linux since 2.6.28.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_RAW, &mut now) };
    assert_eq!(status, 0, "CLOCK_MONOTONIC_RAW is missing: Linux 2.6.28 or later is needed");
    // Both fields are non-negative for a monotonic clock, and nanoseconds fit u64 for 584 years.
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Measures the rate of the time-stamp counter against [`monotonic_raw_ns`]. Keeps the CPU busy for a
/// quarter of a second.
///
/// # Errors
/// If one of the clocks stands still.
pub fn calibrate() -> Result<Rate, RateError> {
    let (began, ticks) = both();
    // Either clock may stand still, so the number of spins also bounds the loop.
    let mut spins = 0_u64;
    while monotonic_raw_ns().saturating_sub(began) < STRETCH.as_nanos() as u64 && spins < 1 << 28 {
        spins += 1;
    }
    let (ended, last) = both();
    Rate::between(last.saturating_sub(ticks), ended.saturating_sub(began))
}

/// Reads both clocks at the same time: takes several readings, and returns the one that took the fewest
/// ticks. Preemption between the two clocks would make the rate wrong by a percent or more.
fn both() -> (u64, u64) {
    let reading = |_| {
        let before = start();
        let now = monotonic_raw_ns();
        let around = start().saturating_sub(before);
        (around, now, before + around / 2)
    };
    let quickest = (0..READINGS).map(reading).min();
    let (_, now, ticks) = quickest.expect("several readings");
    (now, ticks)
}

/// Sleeps for `time`, on a futex with a timeout.
///
/// [`std::thread::sleep`] calls `clock_nanosleep`, and panics if a sandbox refuses that call. Threads
/// need the futex anyway. If the futex is refused too, this function waits without sleeping.
pub fn pause(time: Duration) {
    let (nobody, news) = (Mutex::new(()), Condvar::new());
    let began = Instant::now();
    let mut held = nobody.lock().unwrap_or_else(PoisonError::into_inner);
    while let Some(left) = time.checked_sub(began.elapsed())
        && !left.is_zero()
    {
        let woken = news.wait_timeout(held, left);
        held = woken.unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// `poll`: waits at most `time` until `file` can be read or has ended, and returns whether it can. A signal
/// ends the wait.
pub(crate) fn readable(file: &impl AsRawFd, time: Duration) -> io::Result<bool> {
    let mut poll = libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one descriptor, which is open, in a structure that is valid to write.
    let ready = unsafe { libc::poll(&mut poll, 1, time.as_millis() as libc::c_int) };
    let error = io::Error::last_os_error();
    if ready < 0 && error.kind() != io::ErrorKind::Interrupted {
        return Err(error);
    }
    Ok(ready > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_advances_by_at_least_the_time_slept() {
        let start = monotonic_raw_ns();
        std::thread::sleep(Duration::from_millis(5));
        let elapsed = monotonic_raw_ns() - start;
        // 1 % below, because sleeping uses the slewed clock.
        assert!(elapsed >= 4_950_000, "{elapsed} ns");
    }

    #[test]
    fn two_calibrations_agree() {
        let (first, second) = (calibrate().unwrap().hz(), calibrate().unwrap().hz());
        assert!((first / second - 1.0).abs() < 1e-3, "{first} {second}");
        assert!(first > 1e8, "{first}");
    }

    #[test]
    fn a_pause_lasts_at_least_as_long_as_it_is_to() {
        for micros in [0, 1, 3000] {
            let (time, began) = (Duration::from_micros(micros), Instant::now());
            pause(time);
            assert!(began.elapsed() >= time);
        }
    }
}
