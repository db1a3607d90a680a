//! The twin of [`FillLines`](crate::kernel::FillLines).

use crate::mem::{LINE, Region};

/// Fills the first `bytes` bytes (a line's at most) of `operations` lines, of which the first is
/// number `done` since the beginning; returns the number of the next. The order of the stores
/// inside a line, or among lines, shows nowhere.
pub fn fill(region: &mut Region<'_>, bytes: usize, done: u64, operations: u64) -> u64 {
    let lines = (region.len() / LINE) as u64;
    for number in done..done + operations {
        let pass = (number / lines + 1) as u8;
        let place = (number % lines) as usize * LINE;
        region.bytes_mut()[place..place + bytes].fill(pass);
    }
    done + operations
}
