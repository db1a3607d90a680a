//! A slowdown spread over the operations that may have caused it: Sestoft 4.1.

/// A run that took longer than another, and what it did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Seconds that it took longer.
    pub seconds: f64,
    /// Operations of one iteration that are to blame.
    pub operations: f64,
    /// Iterations of the run.
    pub iterations: f64,
    /// Threads that ran side by side.
    pub threads: f64,
}

impl Spread {
    /// Nanoseconds by which the run as a whole took longer, for each operation.
    pub fn wall(&self) -> f64 {
        self.seconds * 1e9 / (self.operations * self.iterations)
    }

    /// Nanoseconds by which a thread took longer for each of its own operations.
    pub fn thread(&self) -> f64 {
        self.wall() * self.threads
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_share_the_operations_and_not_the_time() {
        let spread = Spread {
            seconds: 2.0,
            operations: 1e6,
            iterations: 10.0,
            threads: 4.0,
        };
        assert_eq!(spread.wall(), 200.0);
        assert_eq!(spread.thread(), 800.0);
    }
}
