//! Moving memory as fast as the load and store ports let it (Drepper, section 3.5.1, Figures 3.24
//! to 3.29).

// Hands memory that is borrowed to a motion over its blocks.
#![allow(unsafe_code)]

mod checks;
use crate::kernel::stream::blocks::Blocks;
use crate::kernel::{Access, Kernel, Vector, Work};
use crate::mem::{LINE, Region};
use core::sync::atomic::AtomicU64;

/// Bytes of a block, an operation of [`Bandwidth`].
pub const BLOCK: usize = 512;

/// The last bytes of what is read, which the checksum is the sum of.
pub(crate) const TAIL: usize = 2 * LINE;

/// What is done to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
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
    /// Sums of two thirds, stored to the last: two loads to a store, as STREAM's Add.
    Add,
    /// Sums of three quarters, stored to the last: three loads to a store.
    AddThree,
    /// The first third and twice the second, stored to the last: STREAM's Triad, in integers.
    Triad,
    /// The same by non-temporal stores.
    TriadNonTemporal,
    /// `rep stosb`, which takes no vectors.
    RepStosb,
    /// `rep movsb` of the first half to the second, which takes no vectors.
    RepMovsb,
}

impl Motion {
    /// All there are.
    pub const ALL: [Motion; 13] = [
        Motion::Read,
        Motion::ReadHalves,
        Motion::Write,
        Motion::WriteNonTemporal,
        Motion::Update,
        Motion::Copy,
        Motion::CopyNonTemporal,
        Motion::Add,
        Motion::AddThree,
        Motion::Triad,
        Motion::TriadNonTemporal,
        Motion::RepStosb,
        Motion::RepMovsb,
    ];

    /// The equal parts of the memory that it works on, a block of each at a time.
    pub const fn parts(self) -> usize {
        match self {
            Motion::Read
            | Motion::Write
            | Motion::WriteNonTemporal
            | Motion::Update
            | Motion::RepStosb => 1,
            Motion::ReadHalves | Motion::Copy | Motion::CopyNonTemporal | Motion::RepMovsb => 2,
            Motion::Add | Motion::Triad | Motion::TriadNonTemporal => 3,
            Motion::AddThree => 4,
        }
    }

    /// Whether it works on two halves of the memory.
    pub const fn halves(self) -> bool {
        self.parts() == 2
    }

    /// Whether it is one string instruction rather than vector loads and stores.
    pub const fn string(self) -> bool {
        matches!(self, Motion::RepStosb | Motion::RepMovsb)
    }

    /// Whether it stores nothing.
    pub const fn reads_alone(self) -> bool {
        matches!(self, Motion::Read | Motion::ReadHalves)
    }

    /// Whether it stores sums of other parts.
    pub(crate) const fn adds_up(self) -> bool {
        self.parts() > 2
    }

    /// Whether its stores need a fence before anybody relies on them.
    pub(crate) const fn weakly_ordered(self) -> bool {
        matches!(
            self,
            Motion::WriteNonTemporal | Motion::CopyNonTemporal | Motion::TriadNonTemporal
        )
    }

    /// The memory that it needs is a multiple of this.
    pub const fn granularity(self) -> usize {
        self.parts() * BLOCK
    }
}

/// Why memory cannot be moved in some way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
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

messages! { BandwidthError:
    BandwidthError::PartOfBlock { bytes, granularity } => (
        "{bytes} bytes are no whole number of blocks; a multiple of {granularity} bytes \
         would do"
    );
    BandwidthError::OffLine(address) => ("address {address:#x} is not the start of a line");
}

/// Reads, writes, updates, copies or adds up a region block by block, round and round. An operation is
/// a block of 512 bytes, and its partners where there are several parts: one copied is 512 bytes read
/// and 512 written.
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
    /// If the region is no whole number of blocks, in each part if there are several.
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

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        self.blocks.report(operations, sink);
        self.run(operations)
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
    /// If the words do not start on a line, or are no whole number of blocks, in each part if
    /// there are several.
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

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        self.blocks.report(operations, sink);
        self.run(operations)
    }
}

family! {
    /// The shape of the family. `first` is the address of the block to begin with, `blocks` how many
    /// there are to do, `again` the address of the block that follows on the last, `end` the address
    /// behind the last. Returns the address where the next block would begin; the reads return the
    /// wrapping sum of the 8-byte words in the last 128 bytes they read.
    ///
    /// # Safety
    /// MoveBlocks of 512 bytes from `again` to `end`, `first` among them, are valid for what the kernel
    /// does; where it works on several parts, so are their partners `value` bytes away from each to the
    /// next. All are addresses of lines. `blocks` is not 0. The CPU has the width.
    /// Non-temporal stores are followed by `sfence` before anybody relies on them.
    pub type MoveBlocks = unsafe extern "sysv64" fn(
        first: *mut u8,
        blocks: u64,
        again: *mut u8,
        end: *mut u8,
        value: u64,
    ) -> u64;

    /// Reads by `movdqa`.
    linefill_bandwidth_read16
    /// Reads by `vmovdqa`: needs AVX2.
    linefill_bandwidth_read32
    /// Reads by `vmovdqa64`: needs AVX-512.
    linefill_bandwidth_read64
    /// Reads two halves by `movdqa`, a line of each in turn.
    linefill_bandwidth_read_halves16
    /// Reads two halves by `vmovdqa`: needs AVX2.
    linefill_bandwidth_read_halves32
    /// Reads two halves by `vmovdqa64`: needs AVX-512.
    linefill_bandwidth_read_halves64
    /// Writes `value` by `movdqa`.
    linefill_bandwidth_write16
    /// Writes `value` by `vmovdqa`: needs AVX2.
    linefill_bandwidth_write32
    /// Writes `value` by `vmovdqa64`: needs AVX-512.
    linefill_bandwidth_write64
    /// Writes `value` past the cache by `movntdq`.
    linefill_bandwidth_stream16
    /// Writes `value` past the cache by `vmovntdq`: needs AVX2.
    linefill_bandwidth_stream32
    /// Writes `value` past the cache by `vmovntdq`: needs AVX-512.
    linefill_bandwidth_stream64
    /// Adds `value` to each word by `movdqa`, `paddq`, `movdqa`.
    linefill_bandwidth_update16
    /// Adds `value` to each word by `vmovdqa`, `vpaddq`, `vmovdqa`: needs AVX2.
    linefill_bandwidth_update32
    /// Adds `value` to each word by `vmovdqa64`, `vpaddq`, `vmovdqa64`: needs AVX-512.
    linefill_bandwidth_update64
    /// Copies the first half to the second by `movdqa`.
    linefill_bandwidth_copy16
    /// Copies the first half to the second by `vmovdqa`: needs AVX2.
    linefill_bandwidth_copy32
    /// Copies the first half to the second by `vmovdqa64`: needs AVX-512.
    linefill_bandwidth_copy64
    /// Copies the first half to the second by `movdqa` and `movntdq`.
    linefill_bandwidth_copy_stream16
    /// Copies the first half to the second by `vmovdqa` and `vmovntdq`: needs AVX2.
    linefill_bandwidth_copy_stream32
    /// Copies the first half to the second by `vmovdqa64` and `vmovntdq`: needs AVX-512.
    linefill_bandwidth_copy_stream64
    /// Adds the first third and the second, stored to the last, by `movdqa`.
    linefill_bandwidth_add16
    /// Adds the first third and the second, stored to the last, by `vmovdqa`: needs AVX2.
    linefill_bandwidth_add32
    /// Adds the first third and the second, stored to the last, by `vmovdqa64`: needs AVX-512.
    linefill_bandwidth_add64
    /// Adds three quarters, stored to the last, by `movdqa`.
    linefill_bandwidth_add_three16
    /// Adds three quarters, stored to the last, by `vmovdqa`: needs AVX2.
    linefill_bandwidth_add_three32
    /// Adds three quarters, stored to the last, by `vmovdqa64`: needs AVX-512.
    linefill_bandwidth_add_three64
    /// Adds the first third and twice the second, stored to the last, by `movdqa`.
    linefill_bandwidth_triad16
    /// Adds the first third and twice the second, stored to the last, by `vmovdqa`: needs AVX2.
    linefill_bandwidth_triad32
    /// Adds the first third and twice the second, stored to the last, by `vmovdqa64`: needs AVX-512.
    linefill_bandwidth_triad64
    /// Adds the first third and twice the second, stored to the last, by `movdqa` and `movntdq`.
    linefill_bandwidth_triad_stream16
    /// Adds the first third and twice the second, stored to the last, by `vmovdqa` and `vmovntdq`: needs AVX2.
    linefill_bandwidth_triad_stream32
    /// Adds the first third and twice the second, stored to the last, by `vmovdqa64` and `vmovntdq`: needs AVX-512.
    linefill_bandwidth_triad_stream64
    /// Writes the low byte of `value` by one `rep stosb`, all blocks before `end` at most: `again`
    /// is not read.
    linefill_bandwidth_rep_stosb
    /// Copies the first half to the second by one `rep movsb`, all blocks before `end` at most:
    /// `again` is not read.
    linefill_bandwidth_rep_movsb
}

/// The reference implementation.
pub(crate) mod reference {
    use super::{BLOCK, TAIL};
    use crate::kernel::Motion;
    use crate::mem::{LINE, Region};
    use core::ops::Range;

    /// Moves `blocks` blocks, of which the first is number `done` since the beginning, in run number
    /// `run`; returns what proves it. The order of the accesses inside a block shows nowhere.
    pub fn bandwidth(
        region: &mut Region<'_>,
        motion: Motion,
        run: u64,
        done: u64,
        blocks: u64,
    ) -> u64 {
        let span = region.len() / motion.parts();
        let round = (span / BLOCK) as u64;
        let mut sum = 0;
        for number in done..done + blocks {
            let place = (number % round) as usize * BLOCK;
            let block = place..place + BLOCK;
            match motion {
                Motion::Read => sum = words(region, block.end - TAIL, TAIL),
                Motion::ReadHalves => {
                    let last = block.end - LINE;
                    sum = words(region, last, LINE).wrapping_add(words(region, span + last, LINE));
                }
                Motion::Write | Motion::WriteNonTemporal | Motion::RepStosb => {
                    region.bytes_mut()[block].fill(run as u8);
                }
                Motion::Update => {
                    for word in block.step_by(8) {
                        region.set_word(word, region.word(word).wrapping_add(1));
                    }
                }
                Motion::Copy | Motion::CopyNonTemporal | Motion::RepMovsb => {
                    region.bytes_mut().copy_within(block, span + place);
                }
                Motion::Add => add_up(region, block, span, &[1, 1]),
                Motion::AddThree => add_up(region, block, span, &[1, 1, 1]),
                Motion::Triad | Motion::TriadNonTemporal => {
                    add_up(region, block, span, &[1, 2]);
                }
            }
        }
        match motion.reads_alone() {
            true => sum,
            false => (done + blocks) % round * BLOCK as u64,
        }
    }

    /// Writes the words of a block of the last part: the sum of the other parts, times `factors`.
    fn add_up(region: &mut Region<'_>, block: Range<usize>, span: usize, factors: &[u64]) {
        for word in block.step_by(8) {
            let parts = factors.iter().enumerate();
            let sum = parts.fold(0u64, |sum, (part, factor)| {
                sum.wrapping_add(region.word(part * span + word).wrapping_mul(*factor))
            });
            region.set_word(factors.len() * span + word, sum);
        }
    }

    /// The wrapping sum of the words in `bytes` bytes from `from` on.
    fn words(region: &Region<'_>, from: usize, bytes: usize) -> u64 {
        (from..from + bytes)
            .step_by(8)
            .fold(0, |sum, word| region.word(word).wrapping_add(sum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::stream::bandwidth::reference::bandwidth;

    #[repr(align(64))]
    struct Memory([u8; 12 * BLOCK]);

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
                    let checksum = bandwidth(&mut region, motion, run, done, blocks);
                    done += blocks;
                    checksum
                });
                assert_eq!(proofs[0], proofs[1], "{motion:?} from {first}");
                assert!(ours.0 == theirs.0, "{motion:?} from {first}");
            }
        }
    }

    #[test]
    fn memory_off_a_line_or_without_a_block_is_refused() {
        let mut memory = Memory([0; 12 * BLOCK]);
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
