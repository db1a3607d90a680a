//! The twin of [`Register`](crate::kernel::Register).

/// Inverts `value` `operations` times.
pub fn register(value: u64, operations: u64) -> u64 {
    (0..operations).fold(value, |value, _| !value)
}
