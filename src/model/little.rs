//! Little's law: what is under way is what begins in a time, multiplied by how long it stays.

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
}
