//! Moving memory as fast as the load and store ports let it (Drepper, section 3.5.1, Figures 3.24
//! to 3.29).

// Hands memory that is borrowed to a motion over its blocks.
#![allow(unsafe_code)]

use core::sync::atomic::AtomicU64;

use super::blocks::Blocks;
use super::{Access, Kernel, Vector, Work};
use crate::mem::{LINE, Region};

/// Bytes of a block, an operation of [`Bandwidth`].
pub const BLOCK: usize = 512;

/// The last bytes of what is read, which the proof is the sum of.
pub(super) const TAIL: usize = 2 * LINE;

/// What is done to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Motion {
    /// Loads.
    Read,
    /// Loads of two halves, a line of each in turn.
    ReadHalves,
    /// Stores.
    Write,
    /// Non-temporal stores.
    WriteNonTemporal,
    /// Loads and stores in place: each 8-byte word becomes one more.
    Update,
    /// Loads of the first half, stores to the second.
    Copy,
    /// Loads of the first half, non-temporal stores to the second.
    CopyNonTemporal,
    /// `rep stosb`, which takes no vectors.
    RepStosb,
    /// `rep movsb` of the first half to the second, which takes no vectors.
    RepMovsb,
}

impl Motion {
    /// All there are.
    pub const ALL: [Motion; 9] = [
        Motion::Read,
        Motion::ReadHalves,
        Motion::Write,
        Motion::WriteNonTemporal,
        Motion::Update,
        Motion::Copy,
        Motion::CopyNonTemporal,
        Motion::RepStosb,
        Motion::RepMovsb,
    ];

    /// Whether it works on two halves of the memory.
    pub const fn halves(self) -> bool {
        matches!(
            self,
            Motion::ReadHalves | Motion::Copy | Motion::CopyNonTemporal | Motion::RepMovsb
        )
    }

    /// Whether it is one string instruction rather than vector loads and stores.
    pub const fn string(self) -> bool {
        matches!(self, Motion::RepStosb | Motion::RepMovsb)
    }

    /// Whether it stores nothing.
    pub const fn reads_alone(self) -> bool {
        matches!(self, Motion::Read | Motion::ReadHalves)
    }

    /// Whether its stores need a fence before anybody relies on them.
    pub(super) const fn weakly_ordered(self) -> bool {
        matches!(self, Motion::WriteNonTemporal | Motion::CopyNonTemporal)
    }

    /// The memory that it needs is a multiple of this.
    pub const fn granularity(self) -> usize {
        match self.halves() {
            true => 2 * BLOCK,
            false => BLOCK,
        }
    }
}

/// Why memory cannot be moved in some way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BandwidthError {
    /// The memory is no whole number of blocks.
    PartOfBlock {
        /// Bytes of the memory.
        bytes: usize,
        /// What they have to be a multiple of.
        granularity: usize,
    },
    /// The memory that threads share does not start on a line; holds its address.
    OffLine(usize),
}

impl core::fmt::Display for BandwidthError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            BandwidthError::PartOfBlock { bytes, granularity } => write!(
                f,
                "{bytes} bytes are no whole number of blocks; a multiple of {granularity} bytes \
                 would do"
            ),
            BandwidthError::OffLine(address) => {
                write!(f, "address {address:#x} is not the start of a line")
            }
        }
    }
}

impl core::error::Error for BandwidthError {}

/// Reads, writes, updates or copies a region block by block, round and round. An operation is a
/// block of 512 bytes, and its partner where there are two halves: one copied is 512 bytes read and
/// 512 written.
///
/// What is written is the number of the run (the call of [`run`](Kernel::run)) from 1 on, modulo
/// 256, in every byte.
#[derive(Debug)]
pub struct Bandwidth<'m> {
    region: Region<'m>,
    blocks: Blocks,
}

impl<'m> Bandwidth<'m> {
    /// A motion that begins at the region's first block. What the region holds is read, so the
    /// caller may want to write it first: untouched pages of a mapping all share one page. String
    /// instructions ignore `vector`.
    ///
    /// # Errors
    /// If the region is no whole number of blocks, in each half if there are two.
    pub fn new(region: Region<'m>, motion: Motion, vector: Vector) -> Result<Self, BandwidthError> {
        let blocks = Blocks::new(region.len(), motion, vector, 0)?;
        Ok(Bandwidth { region, blocks })
    }

    /// Blocks of one round over the region.
    pub fn pass(&self) -> u64 {
        self.blocks.pass()
    }

    /// The region.
    pub fn into_region(self) -> Region<'m> {
        self.region
    }
}

impl Kernel for Bandwidth<'_> {
    /// Returns the byte offset of the next block; of reads, the wrapping sum of the words in the
    /// last 128 bytes read, 0 if there were none. Non-temporal stores have left the core when it returns.
    fn run(&mut self, operations: u64) -> u64 {
        let memory = self.region.bytes_mut().as_mut_ptr();
        // SAFETY: the region is borrowed mutably, starts on a line and has the bytes that the
        // blocks were made of.
        unsafe { self.blocks.run(memory, operations) }
    }

    /// A string instruction counts as one load or store a line: how it parts them is the CPU's
    /// affair.
    fn work(&self) -> Work {
        self.blocks.work()
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) {
        self.blocks.trace(operations, sink);
    }
}

/// The same in memory that other threads read and write at the same time (Figures 3.25, 3.27 and
/// 3.29). What comes of a word that several write is what one of them wrote.
#[derive(Debug)]
pub struct SharedBandwidth<'m> {
    words: &'m [AtomicU64],
    blocks: Blocks,
}

impl<'m> SharedBandwidth<'m> {
    /// A motion over `words` that begins at block number `first`, counted round and round: threads
    /// that begin at the same block and keep step are in each other's way all the time.
    ///
    /// # Errors
    /// If the words do not start on a line, or are no whole number of blocks, in each half if there
    /// are two.
    pub fn new(
        words: &'m [AtomicU64],
        motion: Motion,
        vector: Vector,
        first: u64,
    ) -> Result<Self, BandwidthError> {
        let address = words.as_ptr().addr();
        if !address.is_multiple_of(LINE) {
            return Err(BandwidthError::OffLine(address));
        }
        let blocks = Blocks::new(size_of_val(words), motion, vector, first)?;
        Ok(SharedBandwidth { words, blocks })
    }

    /// Blocks of one round over the words.
    pub fn pass(&self) -> u64 {
        self.blocks.pass()
    }
}

impl Kernel for SharedBandwidth<'_> {
    /// As [`Bandwidth`]'s. The sum that reads return depends on what other threads write.
    fn run(&mut self, operations: u64) -> u64 {
        let memory = self.words.as_ptr().cast_mut().cast();
        // SAFETY: atomic words may be written through a shared reference; they are borrowed, start
        // on a line and are the bytes that the blocks were made of. They are only reachable as
        // atomic words, and by kernels that access them by assembly.
        unsafe { self.blocks.run(memory, operations) }
    }

    fn work(&self) -> Work {
        self.blocks.work()
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) {
        self.blocks.trace(operations, sink);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::all::bandwidth::bandwidth;

    #[repr(align(64))]
    struct Memory([u8; 8 * BLOCK]);

    /// A shared motion does what its twin does, from any block on.
    #[test]
    fn what_threads_share_is_moved_as_what_one_has() {
        for motion in Motion::ALL {
            for first in [0, 1, 3, 8, 13] {
                let mut ours = Memory(core::array::from_fn(|at| (at / 8 * 7 + at) as u8));
                let mut theirs = Memory(ours.0);
                let mut proofs = [[0; 4]; 2];
                let portions = [1, 0, 5, 20];
                {
                    let words = Region::new(&mut ours.0).unwrap().into_atomics();
                    let mut kernel =
                        SharedBandwidth::new(words, motion, Vector::Sse2, first).unwrap();
                    proofs[0] = portions.map(|blocks| kernel.run(blocks));
                }
                let mut region = Region::new(&mut theirs.0).unwrap();
                let (mut run, mut done) = (0, first);
                proofs[1] = portions.map(|blocks| {
                    run += 1;
                    let proof = bandwidth(&mut region, motion, run, done, blocks);
                    done += blocks;
                    proof
                });
                assert_eq!(proofs[0], proofs[1], "{motion:?} from {first}");
                assert!(ours.0 == theirs.0, "{motion:?} from {first}");
            }
        }
    }

    #[test]
    fn memory_off_a_line_or_without_a_block_is_refused() {
        let mut memory = Memory([0; 8 * BLOCK]);
        let words = Region::new(&mut memory.0).unwrap().into_atomics();
        let refused = |words| SharedBandwidth::new(words, Motion::Copy, Vector::Sse2, 0).err();
        assert_eq!(refused(words), None);
        let address = words[1..].as_ptr().addr();
        assert_eq!(refused(&words[1..]), Some(BandwidthError::OffLine(address)));
        for bytes in [0, BLOCK] {
            let part = BandwidthError::PartOfBlock {
                bytes,
                granularity: 2 * BLOCK,
            };
            assert_eq!(refused(&words[..bytes / 8]), Some(part));
        }
    }
}
