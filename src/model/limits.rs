//! What bounds a rate: lines under way (Little's law), a station that clients use in turns, a chain of
//! additions, and the part that stays as slow as it was (Amdahl's law).
//!
//! And how far ahead of a walk to prefetch (Drepper, section 6.3.2: far enough that the line is there
//! when it is needed). A walk takes `work` a step when nothing misses. A prefetch is made at each step
//! for the node `distance` steps later, and arrives `latency` later. Steps are all alike in the long run,
//! so one takes the longer of both: the work, or a `distance`-th of the latency, which is Little's law
//! for as many lines in flight.

/// How many misses are in flight in the mean, if an operation misses `misses` times and takes
/// `time`, while a miss takes `latency`, in the same unit.
///
/// A stationary system of any kind holds L = λW (J. Little, Operations Research 9, 1961): misses
/// begin at the rate `misses / time`, and each stays outstanding for `latency`. The mean is over
/// all time; Intel's L1D_PEND_MISS.PENDING / PENDING_CYCLES is over the cycles with a miss
/// outstanding, and so never less.
///
/// ```
/// // A miss of 160 ns at every operation of 20 ns.
/// assert_eq!(linefill::model::in_flight(1.0, 160.0, 20.0), 8.0);
/// ```
pub fn in_flight(misses: f64, latency: f64, time: f64) -> f64 {
    misses * latency / time
}

/// Time from one use of a station to the next of the same client, where `clients` use it for `service` each,
/// one after the other, and do something else for `think` in between.
///
/// Clients that wait for nobody come back after `think + service`. A station that is never idle serves one
/// client in `service`, and each comes back after all others. By operational analysis no system is faster
/// than either (P. Denning and J. Buzen, Computing Surveys 10(3), 1978; Lazowska, Zahorjan, Graham and
/// Sevcik, Quantitative System Performance, 1984, chapter 5, asymptotic bounds), and one with equal times
/// reaches the bounds. By Little's law the throughput of all clients is their number over this time, at most
/// `1 / service`, and each spends this time less `think` at the station: with many clients
/// `clients * service - think`.
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

/// The least number of steps ahead at which a prefetch arrives in time: latency over work, rounded
/// up. Both in the same unit, and positive.
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

/// What a step takes with a prefetch `distance` steps ahead, at least 1.
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

/// The share of the time that is saved if what takes `share` of it becomes `factor` times as fast.
///
/// Drepper's Figure 3.32 compares memory modules of 667 and 800 MHz: memory that takes all the time
/// would save `saved(1.0, 800.0 / 667.0)`, 16.6 %, and be 20 % faster.
pub fn saved(share: f64, factor: f64) -> f64 {
    share * (1.0 - 1.0 / factor)
}

/// Time of an addition in sums of `additions` each that follow one another, of which each addition
/// waits `latency` for the one before. Of a core that has `window` additions under way at a time.
///
/// A sum does not wait for the one before it. The window reaches over `window / additions` of them
/// beyond the one that retires, and all these go on side by side.
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

    /// A station of equal times, client by client: who comes first is served first.
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
            assert!(
                (found / model - 1.0).abs() < 0.02,
                "{clients} {think}: {found} {model}"
            );
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
