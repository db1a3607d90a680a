//! Reads a region in blocks, each several times before the next: a job that needs its data repeatedly,
//! cut to the size of a cache (Drepper, section 6.2.3).

// Calls assembly with addresses of lines inside the region.
#![allow(unsafe_code)]

use crate::kernel::stream::load as asm;
use crate::kernel::{Access, Kernel, Work};
use crate::mem::{LINE, Region};

/// Bytes of a load, a quarter of a line.
const QUARTER: usize = LINE / 4;

/// Why a region cannot be read in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlockedError {
    /// The block has no lines, or more lines than the region.
    Lines {
        /// Lines per block.
        lines: usize,
        /// Lines of the region.
        region: usize,
    },
    /// The number of readings per block, if it is 0 or an operation would read 4 GiB or more.
    Times(u32),
}

messages! { BlockedError:
    BlockedError::Lines { lines, region } => (
        "a block of {lines} lines in a region of {region}; 1 to {region} are possible"
    );
    BlockedError::Times(times) => (
        "{times} times a block is not 1 or more times less than 4 GiB in all"
    );
}

/// Reads a region block by block with `movdqa`, each block several times, round and round. An operation is
/// a block with all its readings.
#[derive(Debug)]
pub struct Blocked<'m> {
    region: Region<'m>,
    lines: usize,
    times: u32,
    block: u64,
}

impl<'m> Blocked<'m> {
    /// Creates a read in blocks of `lines` lines, each read `times` times. Lines after the last whole
    /// block are not read.
    ///
    /// # Errors
    /// If the region has no such block, `times` is 0, or an operation would read 4 GiB or more.
    pub fn new(region: Region<'m>, lines: usize, times: u32) -> Result<Self, BlockedError> {
        let room = region.len() / LINE;
        if lines == 0 || lines > room {
            return Err(BlockedError::Lines { lines, region: room });
        }
        let bytes = ((lines * LINE) as u64).checked_mul(u64::from(times));
        if times == 0 || bytes.is_none_or(|bytes| bytes > u64::from(u32::MAX)) {
            return Err(BlockedError::Times(times));
        }
        Ok(Blocked { region, lines, times, block: 0 })
    }

    /// Blocks per pass over the region.
    pub fn pass(&self) -> u64 {
        (self.region.len() / LINE / self.lines) as u64
    }

    /// Returns the byte offset of the next block, and advances to the block after it.
    fn take(&mut self) -> usize {
        let at = self.block as usize * self.lines * LINE;
        self.block = (self.block + 1) % self.pass();
        at
    }
}

impl Kernel for Blocked<'_> {
    /// Returns the wrapping sum of the 8-byte words read, each counted as often as it was read.
    fn run(&mut self, operations: u64) -> u64 {
        let mut sum = 0_u64;
        for _ in 0..operations {
            let place = self.take();
            let at = self.region.bytes()[place..].as_ptr();
            for _ in 0..self.times {
                // SAFETY: `new` has checked that a block has lines, and `take` returns a block that
                // lies in the region, which is borrowed and starts on a line.
                let part = unsafe { asm::linefill_load_cached(at, self.lines as u64) };
                sum = sum.wrapping_add(part);
            }
        }
        sum
    }

    fn work(&self) -> Work {
        let quarters = (self.lines * LINE / QUARTER) as u32;
        Work::default().load(quarters * self.times, QUARTER as u32)
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        let mut sum = 0_u64;
        for _ in 0..operations {
            let block = self.take();
            for _ in 0..self.times {
                for place in (block..block + self.lines * LINE).step_by(QUARTER) {
                    sink(Access::load(place, QUARTER as u32));
                    sum = sum.wrapping_add(self.region.sum(place, QUARTER));
                }
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec;

    #[test]
    fn a_block_that_is_none_is_refused_by_value() {
        let mut bytes = vec![0u8; 65 * 64];
        let mut region = Region::new(&mut bytes).unwrap();
        let room = region.len() / LINE;
        for lines in [0, room + 1] {
            let refused = Blocked::new(region.reborrow(), lines, 2).unwrap_err();
            let expected = BlockedError::Lines { lines, region: room };
            assert_eq!(refused, expected);
        }
        let refused = Blocked::new(region.reborrow(), 64, 0).unwrap_err();
        assert_eq!(refused, BlockedError::Times(0));
        assert!(Blocked::new(region, 64, 2_000_000).is_err());
    }
}
