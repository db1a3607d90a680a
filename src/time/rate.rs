//! How many ticks a second has.

/// The constant rate of the time-stamp counter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    hz: f64,
}

/// Why two clock readings give no rate.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum RateError {
    /// The counter stood still or ran backwards over this many nanoseconds.
    NoTicks {
        /// Nanoseconds between the two readings.
        nanos: u64,
    },
    /// The reference clock stood still over this many ticks.
    NoTime {
        /// Ticks between the two readings.
        ticks: u64,
    },
}

messages! { RateError:
    RateError::NoTicks { nanos } => ("the time-stamp counter did not advance in {nanos} ns");
    RateError::NoTime { ticks } => ("the reference clock did not advance in {ticks} ticks");
}

impl Rate {
    /// The rate of a counter that advances `hz` times per second.
    pub const fn from_hz(hz: f64) -> Self {
        Rate { hz }
    }

    /// The rate seen between two readings of both clocks.
    ///
    /// CPUID leaves 15h and 16h may be zero, in virtual machines above all, so the rate is
    /// measured against a monotonic raw clock; 200 ms or more make the reading error negligible.
    ///
    /// # Errors
    /// If either clock stood still.
    pub fn between(ticks: u64, nanos: u64) -> Result<Self, RateError> {
        match (ticks, nanos) {
            (0, _) => Err(RateError::NoTicks { nanos }),
            (_, 0) => Err(RateError::NoTime { ticks }),
            _ => Ok(Rate {
                hz: ticks as f64 * 1e9 / nanos as f64,
            }),
        }
    }

    /// Ticks per second.
    pub const fn hz(self) -> f64 {
        self.hz
    }

    /// Nanoseconds that `ticks` take.
    pub fn nanos(self, ticks: f64) -> f64 {
        ticks * 1e9 / self.hz
    }

    /// Ticks in `nanos` nanoseconds, rounded down.
    pub fn ticks(self, nanos: f64) -> u64 {
        (nanos * self.hz / 1e9) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_and_nanoseconds_convert_both_ways() {
        let rate = Rate::between(460_000_000, 200_000_000).unwrap();
        assert_eq!(rate.hz(), 2.3e9);
        assert_eq!(rate.nanos(23.0), 10.0);
        assert_eq!(rate.ticks(10.0), 23);
    }

    #[test]
    fn a_clock_that_stands_still_gives_no_rate() {
        assert_eq!(Rate::between(0, 7), Err(RateError::NoTicks { nanos: 7 }));
        assert_eq!(Rate::between(7, 0), Err(RateError::NoTime { ticks: 7 }));
    }
}
