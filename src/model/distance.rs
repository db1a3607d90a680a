//! How far ahead of a walk to prefetch (Drepper, section 6.3.2: far enough that the line is there
//! when it is needed).
//!
//! A walk takes `work` a step when nothing misses. A prefetch is made at each step for the node
//! `distance` steps later, and arrives `latency` later. Steps are all alike in the long run, so
//! one takes the longer of both: the work, or a `distance`-th of the latency, which is Little's law
//! for as many lines in flight.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_step_less_than_enough_is_too_few() {
        for (latency, work) in [(650.0, 54.0), (300.0, 299.0), (40.0, 160.0), (480.0, 160.0)] {
            let enough = steps_ahead(latency, work);
            assert_eq!(step_with_prefetch(latency, work, enough), work);
            assert!(enough == 1 || step_with_prefetch(latency, work, enough - 1) > work);
        }
    }
}
