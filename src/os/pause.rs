//! Sleep that no refused system call turns into a panic.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Sleeps for `time`, by a futex with a time limit.
///
/// [`std::thread::sleep`] calls `clock_nanosleep`, and panics where a sandbox refuses that. Threads
/// need the futex anyway; where it is refused as well, this waits without sleeping.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_lasts_at_least_as_long_as_it_is_to() {
        for micros in [0, 1, 3000] {
            let (time, began) = (Duration::from_micros(micros), Instant::now());
            pause(time);
            assert!(began.elapsed() >= time);
        }
    }
}
