//! The twin of [`TakeLines`](crate::kernel::TakeLines).

use crate::kernel::TakeWay;
use crate::mem::Region;

/// Writes `operations` of `lines` lines, 256 bytes apart, from number `first` on: every 37th.
/// Returns the byte offset of the next.
pub fn take(region: &mut Region<'_>, lines: u64, way: TakeWay, first: u64, operations: u64) -> u64 {
    let place = |turn: u64| turn * 37 % lines * 256;
    for turn in first..first + operations {
        let at = place(turn) as usize;
        let value = match way {
            TakeWay::Store => first + operations - turn,
            TakeWay::Add => region.word(at).wrapping_add(1),
        };
        region.set_word(at, value);
    }
    place(first + operations)
}
