//! Page sizes.

use core::fmt::{Display, Formatter, Result};

/// The size of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// 4 KiB.
    Base,
    /// 2 MiB.
    Large,
    /// 1 GiB. Not every CPU supports it.
    Giant,
}

impl Size {
    /// All sizes, the smallest first.
    pub const ALL: [Size; 3] = [Size::Base, Size::Large, Size::Giant];

    /// Returns the bytes of a page.
    pub const fn bytes(self) -> u64 {
        1 << self.shift()
    }

    /// Returns the level of the tables whose entries map pages of this size. The last level of a walk is 1.
    pub(crate) const fn level(self) -> u32 {
        match self {
            Size::Base => 1,
            Size::Large => 2,
            Size::Giant => 3,
        }
    }

    /// Returns the size of the pages that entries of this level map, or `None` if they map none.
    pub(crate) const fn of_level(level: u32) -> Option<Self> {
        match level {
            1 => Some(Size::Base),
            2 => Some(Size::Large),
            3 => Some(Size::Giant),
            _ => None,
        }
    }

    const fn shift(self) -> u32 {
        match self {
            Size::Base => 12,
            Size::Large => 21,
            Size::Giant => 30,
        }
    }
}

impl Display for Size {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Size::Base => "4 KiB",
            Size::Large => "2 MiB",
            Size::Giant => "1 GiB",
        })
    }
}
