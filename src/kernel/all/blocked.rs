//! The twin of [`Blocked`](crate::kernel::Blocked).

use crate::mem::{LINE, Region};

/// Reads `operations` blocks of `lines` lines, each `times` times, of which the first is number
/// `done` since the beginning; returns the wrapping sum of their 8-byte words.
pub fn blocked(region: &Region<'_>, lines: usize, times: u32, done: u64, operations: u64) -> u64 {
    let bytes = lines * LINE;
    let blocks = (region.len() / bytes) as u64;
    let mut sum = 0_u64;
    for number in done..done + operations {
        let block = (number % blocks) as usize * bytes;
        for place in (block..block + bytes).step_by(8) {
            let word = region.word(place);
            sum = sum.wrapping_add(word.wrapping_mul(u64::from(times)));
        }
    }
    sum
}
