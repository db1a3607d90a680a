//! The twin of [`LoadLines`](crate::kernel::LoadLines).

use crate::mem::{LINE, Region};

/// Reads `operations` lines, of which the first is number `done` since the beginning; returns the
/// wrapping sum of their 8-byte words.
pub fn load(region: &Region<'_>, done: u64, operations: u64) -> u64 {
    let lines = (region.len() / LINE) as u64;
    let mut sum = 0_u64;
    for number in done..done + operations {
        let line = (number % lines) as usize * LINE;
        for place in (line..line + LINE).step_by(8) {
            sum = sum.wrapping_add(region.word(place));
        }
    }
    sum
}
