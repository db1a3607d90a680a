//! The twin of [`FlushLines`](crate::kernel::FlushLines).

/// The number of lines flushed after `operations` more than `done`: memory does not change.
pub fn flush(done: u64, operations: u64) -> u64 {
    done + operations
}
