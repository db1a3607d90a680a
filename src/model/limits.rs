//! Bounds of a rate: lines in flight (Little's law), a station that clients use one after another, a
//! chain of additions, and the part that does not become faster (Amdahl's law).
//!
//! Also the distance at which to prefetch ahead of a walk (Drepper, section 6.3.2: far enough that the
//! line is there when it is needed). A step takes `work` if nothing misses. Each step prefetches the
//! node `distance` steps later, which arrives after `latency`. In the long run all steps are alike, so a
//! step takes the longer of `work` and `latency / distance`, which is Little's law for `distance` lines
//! in flight.

/// Returns the mean number of misses in flight, if an operation misses `misses` times and takes `time`,
/// and a miss takes `latency`, in the same unit.
///
/// Any stationary system has L = λW (J. Little, Operations Research 9, 1961): misses begin at the rate
/// `misses / time`, and each is outstanding for `latency`. The mean is over all time. Intel's
/// L1D_PEND_MISS.PENDING / PENDING_CYCLES is a mean over the cycles with a miss outstanding, and so
/// never less.
///
/// ```
/// // A miss of 160 ns at every operation of 20 ns.
/// assert_eq!(linefill::model::in_flight(1.0, 160.0, 20.0), 8.0);
/// ```
pub fn in_flight(misses: f64, latency: f64, time: f64) -> f64 {
    misses * latency / time
}

/// Returns the time from one use of a station to the next by the same client. Each of `clients` clients
/// uses the station for `service`, one after another, and does something else for `think` in between.
///
/// A client that never waits comes back after `think + service`. A station that is never idle serves one
/// client per `service`, and each client comes back after all others. By operational analysis no system
/// is faster than either bound (P. Denning and J. Buzen, Computing Surveys 10(3), 1978; Lazowska,
/// Zahorjan, Graham and Sevcik, Quantitative System Performance, 1984, chapter 5, asymptotic bounds),
/// and a system with equal times reaches the bounds. By Little's law the throughput of all clients is
/// their number over this time, at most `1 / service`. Each client spends this time less `think` at the
/// station: with many clients `clients * service - think`.
///
/// ```
/// # use linefill::model::closed_cycle;
/// // A line that takes 60 ns for each of its users, who have 100 ns of other work.
/// assert_eq!(closed_cycle(2.0, 100.0, 60.0), 160.0);
/// assert_eq!(closed_cycle(8.0, 100.0, 60.0), 480.0);
/// ```
pub fn closed_cycle(clients: f64, think: f64, service: f64) -> f64 {
    (think + service).max(clients * service)
}

/// Returns the smallest number of steps ahead at which a prefetch arrives in time: latency over work,
/// rounded up. Both are in the same unit, and positive.
///
/// ```
/// # use linefill::model::steps_ahead;
/// assert_eq!(steps_ahead(650.0, 165.0), 4);
/// assert_eq!(steps_ahead(165.0, 165.0), 1);
/// ```
pub fn steps_ahead(latency: f64, work: f64) -> u32 {
    let exact = latency / work;
    let whole = exact as u32;
    whole.saturating_add(u32::from(f64::from(whole) < exact))
}

/// Returns the time per step with a prefetch `distance` steps ahead, at least 1.
///
/// ```
/// # use linefill::model::step_with_prefetch;
/// assert_eq!(step_with_prefetch(650.0, 165.0, 1), 650.0);
/// assert_eq!(step_with_prefetch(650.0, 165.0, 2), 325.0);
/// assert_eq!(step_with_prefetch(650.0, 165.0, 8), 165.0);
/// ```
pub fn step_with_prefetch(latency: f64, work: f64, distance: u32) -> f64 {
    work.max(latency / f64::from(distance))
}

/// Returns the share of the time that is saved if a part that takes `share` of it becomes `factor` times
/// as fast.
///
/// Drepper's Figure 3.32 compares memory modules of 667 and 800 MHz: memory that takes all the time
/// would save `saved(1.0, 800.0 / 667.0)`, 16.6 %, and be 20 % faster.
pub fn saved(share: f64, factor: f64) -> f64 {
    share * (1.0 - 1.0 / factor)
}

/// Returns the time per addition in consecutive sums of `additions` additions each, on a core that has
/// `window` additions in flight. Each addition of a sum waits `latency` for the one before.
///
/// A sum does not wait for the sum before it. The window reaches over `window / additions` sums beyond
/// the retiring sum, and all these overlap.
///
/// ```
/// # use linefill::model::addition_in_sums;
/// // A window as long as a sum: two at a time.
/// assert_eq!(addition_in_sums(4.0, 50.0, 50.0), 2.0);
/// ```
pub fn addition_in_sums(latency: f64, additions: f64, window: f64) -> f64 {
    latency * additions / (additions + window)
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec;

    use super::*;

    #[test]
    fn one_miss_after_the_other_is_one_in_flight() {
        assert_eq!(in_flight(1.0, 175.0, 175.0), 1.0);
        assert_eq!(in_flight(3.0, 175.0, 525.0), 1.0);
    }

    #[test]
    fn work_between_misses_leaves_less_than_one() {
        assert_eq!(in_flight(1.0, 100.0, 400.0), 0.25);
    }

    /// A station with equal times, client by client, in the order of arrival.
    fn simulated(clients: usize, think: f64, service: f64) -> f64 {
        const TURNS: usize = 1000;
        let mut back = vec![0.0; clients];
        let mut free = 0.0_f64;
        let mut last = vec![0.0; clients];
        for _ in 0..TURNS {
            for client in 0..clients {
                free = free.max(back[client]) + service;
                last[client] = free;
                back[client] = free + think;
            }
        }
        last[0] / TURNS as f64
    }

    #[test]
    fn a_station_of_equal_times_reaches_the_bounds() {
        for (clients, think) in [(1, 0.0), (1, 5.0), (2, 0.5), (2, 1.0), (3, 7.0), (16, 3.0)] {
            let model = closed_cycle(clients as f64, think, 1.0);
            let found = simulated(clients, think, 1.0);
            assert!((found / model - 1.0).abs() < 0.02, "{clients} {think}: {found} {model}");
        }
    }

    #[test]
    fn one_step_less_than_enough_is_too_few() {
        for (latency, work) in [(650.0, 54.0), (300.0, 299.0), (40.0, 160.0), (480.0, 160.0)] {
            let enough = steps_ahead(latency, work);
            assert_eq!(step_with_prefetch(latency, work, enough), work);
            assert!(enough == 1 || step_with_prefetch(latency, work, enough - 1) > work);
        }
    }

    #[test]
    fn a_part_saves_no_more_than_it_takes() {
        assert_eq!(saved(0.5, 2.0), 0.25);
        assert_eq!(saved(0.0, 100.0), 0.0);
        assert_eq!(saved(1.0, 1.0), 0.0);
        assert_eq!(saved(0.3, f64::INFINITY), 0.3);
    }

    #[test]
    fn long_sums_wait_for_every_addition_and_short_ones_overlap() {
        assert!(addition_in_sums(3.0, 1e6, 50.0) > 2.999);
        assert_eq!(addition_in_sums(3.0, 25.0, 50.0), 1.0);
        assert_eq!(addition_in_sums(3.0, 25.0, 0.0), 3.0);
    }
}
