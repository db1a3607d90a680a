//! Reading a region in blocks, each several times before the next: how a job that needs its data
//! more than once is cut to the size of a cache (Drepper, section 6.2.3).

// Calls assembly with lines inside the region.
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
    /// A block of no lines, or of more than the region has.
    Lines {
        /// Lines asked for.
        lines: usize,
        /// Lines of the region.
        region: usize,
    },
    /// A block is to be read less than once, or moves more bytes than 32 bits count.
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

/// Reads a region block by block by `movdqa`, each block several times, and begins again behind
/// the last. An operation is a block, with all its readings.
#[derive(Debug)]
pub struct Blocked<'m> {
    region: Region<'m>,
    lines: usize,
    times: u32,
    block: u64,
}

impl<'m> Blocked<'m> {
    /// A read in blocks of `lines` lines, each `times` times. Lines behind the last whole block
    /// stay unread.
    ///
    /// # Errors
    /// If there is no such block, or an operation's bytes cannot be counted.
    pub fn new(region: Region<'m>, lines: usize, times: u32) -> Result<Self, BlockedError> {
        let room = region.len() / LINE;
        if lines == 0 || lines > room {
            return Err(BlockedError::Lines {
                lines,
                region: room,
            });
        }
        let bytes = ((lines * LINE) as u64).checked_mul(u64::from(times));
        if times == 0 || bytes.is_none_or(|bytes| bytes > u64::from(u32::MAX)) {
            return Err(BlockedError::Times(times));
        }
        Ok(Blocked {
            region,
            lines,
            times,
            block: 0,
        })
    }

    /// Blocks of one pass over the region.
    pub fn pass(&self) -> u64 {
        (self.region.len() / LINE / self.lines) as u64
    }

    /// The region.
    pub fn into_region(self) -> Region<'m> {
        self.region
    }

    /// Byte offset of the next block, which is thereby taken.
    fn take(&mut self) -> usize {
        let at = self.block as usize * self.lines * LINE;
        self.block = (self.block + 1) % self.pass();
        at
    }
}

impl Kernel for Blocked<'_> {
    /// Returns the wrapping sum of the 8-byte words read, each as often as it was read.
    fn run(&mut self, operations: u64) -> u64 {
        let mut sum = 0_u64;
        for _ in 0..operations {
            let place = self.take();
            let at = self.region.bytes()[place..].as_ptr();
            for _ in 0..self.times {
                // SAFETY: `new` has seen to it that there are lines in a block, and `take` that
                // the block lies in the region, which is borrowed and starts on a line.
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
            let expected = BlockedError::Lines {
                lines,
                region: room,
            };
            assert_eq!(refused, expected);
        }
        let refused = Blocked::new(region.reborrow(), 64, 0).unwrap_err();
        assert_eq!(refused, BlockedError::Times(0));
        assert!(Blocked::new(region, 64, 2_000_000).is_err());
    }
}
