//! Page sizes.

use core::fmt::{Display, Formatter, Result};

/// The size of a page, in the order of the levels of tables, from 1 on.
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
        // 4 KiB, times 512 entries per level.
        1 << (12 + 9 * self as u32)
    }

    /// Returns the level of the tables whose entries map pages of this size. The last level of a walk is 1.
    pub(crate) const fn level(self) -> u32 {
        self as u32 + 1
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
