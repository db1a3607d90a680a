//! Why an event gets no counter.

use core::fmt;

use super::Encoding;

/// Why an event got no counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProgramError {
    /// This CPU has none of the general counters that can count it.
    Absent {
        /// The counters that can, a bit each.
        able: u32,
        /// How many general counters there are.
        present: u8,
    },
    /// All general counters that can count it are taken.
    Full {
        /// The counters that can, a bit each.
        able: u32,
        /// The first of them.
        first: u8,
        /// What that one counts.
        holder: Encoding,
    },
    /// An off-core event wants the register that another one needs otherwise.
    Offcore {
        /// The value that it wants.
        wanted: u64,
        /// The value that the other needs.
        held: u64,
    },
    /// There is no such fixed counter.
    NoFixed {
        /// The counter that was asked for.
        asked: u8,
        /// How many there are.
        present: u8,
    },
    /// The fixed counter is taken already.
    Taken {
        /// The counter.
        fixed: u8,
    },
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProgramError::Absent { able: 0, .. } => {
                f.write_str("no general counter can count the event")
            }
            ProgramError::Absent { able, present } => {
                f.write_str("the event can be counted by ")?;
                counters(f, *able)?;
                write!(f, " alone; this CPU has {present}, from 0 on")
            }
            ProgramError::Full {
                able,
                first,
                holder: Encoding { event, umask, .. },
            } => {
                f.write_str("the event can be counted by ")?;
                counters(f, *able)?;
                write!(
                    f,
                    ", and none is free: counter {first} counts event {event:02X}h, umask {umask:02X}h"
                )
            }
            ProgramError::Offcore { wanted, held } => write!(
                f,
                "the event wants {wanted:#x} in the off-core response register, where another \
                 needs {held:#x}"
            ),
            ProgramError::NoFixed { asked, present } => write!(
                f,
                "there is no fixed counter {asked}; this CPU has {present}"
            ),
            ProgramError::Taken { fixed } => write!(f, "fixed counter {fixed} counts already"),
        }
    }
}

/// The counters of a mask, by their numbers.
fn counters(f: &mut fmt::Formatter<'_>, able: u32) -> fmt::Result {
    if able == u32::MAX {
        return f.write_str("any general counter");
    }
    f.write_str("counter")?;
    for (place, n) in (0..u32::BITS).filter(|n| able >> n & 1 == 1).enumerate() {
        let before = if place == 0 { " " } else { ", " };
        write!(f, "{before}{n}")?;
    }
    Ok(())
}

impl core::error::Error for ProgramError {}
