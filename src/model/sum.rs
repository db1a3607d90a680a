//! Sums of which each addition waits for the one before.

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
    fn long_sums_wait_for_every_addition_and_short_ones_overlap() {
        assert!(addition_in_sums(3.0, 1e6, 50.0) > 2.999);
        assert_eq!(addition_in_sums(3.0, 25.0, 50.0), 1.0);
        assert_eq!(addition_in_sums(3.0, 25.0, 0.0), 3.0);
    }
}
