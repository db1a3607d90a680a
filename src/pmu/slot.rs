//! A counter that an event was given, and what it came to.

/// The most general counters that are used of a CPU.
pub(super) const MOST: usize = 8;

/// The fixed counters that are used: instructions, core cycles, reference cycles.
pub(super) const FIXED: usize = 3;

/// A counter that was given to an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Slot {
    /// General counter of this number.
    General(u8),
    /// Fixed counter of this number: 0 retired instructions, 1 core cycles, 2 reference cycles.
    Fixed(u8),
}

impl Slot {
    /// The number by which `rdpmc` knows the counter: that of fixed counters has bit 30 set.
    pub const fn number(self) -> u32 {
        match self {
            Slot::General(n) => n as u32,
            Slot::Fixed(n) => 1 << 30 | n as u32,
        }
    }

    /// The counter's bit in the global registers.
    pub(super) const fn place(self) -> u64 {
        match self {
            Slot::General(n) => 1 << n,
            Slot::Fixed(n) => 1 << (32 + n),
        }
    }
}

/// What a counter came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// Its value. Counters start at 0.
    pub value: u64,
    /// Whether it went past its width, so that the value is too small by a multiple of
    /// 2^width. `None` if this CPU does not tell.
    pub overflowed: Option<bool>,
}
