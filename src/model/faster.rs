//! What a faster part saves of the whole (Amdahl's law).

/// The share of the time that is saved if what takes `share` of it becomes `factor` times as fast.
///
/// Drepper's Figure 3.32 compares memory modules of 667 and 800 MHz: memory that takes all the time
/// would save `saved(1.0, 800.0 / 667.0)`, 16.6 %, and be 20 % faster.
pub fn saved(share: f64, factor: f64) -> f64 {
    share * (1.0 - 1.0 / factor)
}

#[cfg(test)]
mod tests {
    use super::saved;

    #[test]
    fn a_part_saves_no_more_than_it_takes() {
        assert_eq!(saved(0.5, 2.0), 0.25);
        assert_eq!(saved(0.0, 100.0), 0.0);
        assert_eq!(saved(1.0, 1.0), 0.0);
        assert_eq!(saved(0.3, f64::INFINITY), 0.3);
    }
}
