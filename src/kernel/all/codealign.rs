//! The twin of [`CodeAlign`](crate::kernel::CodeAlign).

/// Counts rounds.
pub fn rounds(rounds: u64) -> u64 {
    (0..rounds).fold(0, |count, _| count + 1)
}
