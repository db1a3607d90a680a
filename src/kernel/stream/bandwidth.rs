//! Moves memory at the limit of the load and store ports (Drepper, section 3.5.1, Figures 3.24 to 3.29).

// Passes borrowed memory to a motion over its blocks.
#![allow(unsafe_code)]

use crate::cpu::Features;
use crate::kernel::stream::blocks::{Blocks, kernel};
use crate::kernel::verify::Oracle;
use crate::kernel::verify::check::{Built, Case, WithKernel, WithReference};
use crate::kernel::{Access, Kernel, Vector, Work};
use crate::mem::{LINE, Region};
use core::sync::atomic::AtomicU64;

/// Bytes per block, which is an operation of [`Bandwidth`].
pub const BLOCK: usize = 512;

/// The last bytes of a block read, whose words the checksum sums up.
pub(crate) const TAIL: usize = 2 * LINE;

variants! {
    /// The access pattern of a [`Bandwidth`] kernel.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum Motion {
        /// Loads.
        Read,
        /// Loads of two halves, one line of each half at a time.
        ReadHalves,
        /// Loads of four quarters, one line of each quarter at a time.
        ReadQuarters,
        /// Stores.
        Write,
        /// Non-temporal stores.
        WriteNonTemporal,
        /// Loads and stores in place: adds 1 to each 8-byte word.
        Update,
        /// Loads from the first half, stores to the second.
        Copy,
        /// Loads from the first half, non-temporal stores to the second.
        CopyNonTemporal,
        /// Sums of two thirds, stored to the last third: two loads per store, as STREAM's Add.
        Add,
        /// Sums of three quarters, stored to the last quarter: three loads per store.
        AddThree,
        /// The first third plus twice the second, stored to the last third: STREAM's Triad, in integers.
        Triad,
        /// The sums of [`Triad`](Motion::Triad) with non-temporal stores.
        TriadNonTemporal,
        /// `rep stosb`, which uses no vector register.
        RepStosb,
        /// `rep movsb` from the first half to the second, which uses no vector register.
        RepMovsb,
    }
}

impl Motion {
    /// The number of equal parts of the memory; a block of each part is moved at a time.
    pub const fn parts(self) -> usize {
        match self {
            Motion::Read
            | Motion::Write
            | Motion::WriteNonTemporal
            | Motion::Update
            | Motion::RepStosb => 1,
            Motion::ReadHalves | Motion::Copy | Motion::CopyNonTemporal | Motion::RepMovsb => 2,
            Motion::Add | Motion::Triad | Motion::TriadNonTemporal => 3,
            Motion::ReadQuarters | Motion::AddThree => 4,
        }
    }

    /// Whether the motion is one string instruction rather than vector loads and stores.
    pub const fn string(self) -> bool {
        matches!(self, Motion::RepStosb | Motion::RepMovsb)
    }

    /// Whether the motion stores nothing.
    pub const fn reads_alone(self) -> bool {
        matches!(self, Motion::Read | Motion::ReadHalves | Motion::ReadQuarters)
    }

    /// Whether the stores need a fence before any code relies on them.
    pub(crate) const fn weakly_ordered(self) -> bool {
        matches!(
            self,
            Motion::WriteNonTemporal | Motion::CopyNonTemporal | Motion::TriadNonTemporal
        )
    }

    /// Bytes of which the memory must be a multiple.
    pub const fn granularity(self) -> usize {
        self.parts() * BLOCK
    }
}

/// Why memory cannot be moved with some [`Motion`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BandwidthError {
    /// The memory is not a whole number of blocks.
    PartOfBlock {
        /// Bytes of the memory.
        bytes: usize,
        /// The number of which the bytes must be a multiple.
        granularity: usize,
    },
    /// The address of the shared memory, if it is not the start of a line.
    OffLine(usize),
}

messages! { BandwidthError:
    BandwidthError::PartOfBlock { bytes, granularity } => (
        "{bytes} bytes are not a multiple of {granularity}"
    );
    BandwidthError::OffLine(address) => ("address {address:#x} is not the start of a line");
}

/// Reads, writes, updates, copies or adds up a region block by block, round and round. An operation is
/// a block of 512 bytes, with its partners if there are several parts: a copied block is 512 bytes read
/// and 512 written.
///
/// Every byte written is the number of the run (the call of [`run`](Kernel::run)), from 1 on, modulo 256.
#[derive(Debug)]
pub struct Bandwidth<'m> {
    region: Region<'m>,
    blocks: Blocks,
}

impl<'m> Bandwidth<'m> {
    /// Creates a motion that begins at the region's first block. Write the region before timing a motion
    /// that reads: untouched pages of a mapping all share one page. String instructions ignore `vector`.
    ///
    /// # Errors
    /// If the region, or each of its parts, is not a whole number of blocks.
    pub fn new(region: Region<'m>, motion: Motion, vector: Vector) -> Result<Self, BandwidthError> {
        let blocks = Blocks::new(region.len(), motion, vector, 0)?;
        Ok(Bandwidth { region, blocks })
    }

    /// Blocks per round over the region.
    pub fn pass(&self) -> u64 {
        self.blocks.pass()
    }
}

impl Kernel for Bandwidth<'_> {
    /// Returns the byte offset of the next block. Motions that only read return the wrapping sum of the
    /// words in the last 128 bytes read, 0 if none were read. Non-temporal stores have left the core on
    /// return.
    fn run(&mut self, operations: u64) -> u64 {
        let memory = self.region.bytes_mut().as_mut_ptr();
        // SAFETY: the region is borrowed mutably, starts on a line and has as many bytes as the
        // blocks were created for.
        unsafe { self.blocks.run(memory, operations) }
    }

    /// Counts a string instruction as one load or store per line: the CPU chooses how to split it.
    fn work(&self) -> Work {
        self.blocks.work()
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        self.blocks.report(operations, sink);
        self.run(operations)
    }
}

/// The motions of [`Bandwidth`] in memory that other threads read and write at the same time (Figures
/// 3.25, 3.27 and 3.29). A word that several threads write holds the value of one of them.
#[derive(Debug)]
pub struct SharedBandwidth<'m> {
    words: &'m [AtomicU64],
    blocks: Blocks,
}

impl<'m> SharedBandwidth<'m> {
    /// Creates a motion over `words` that begins at block number `first`, modulo the blocks of a round.
    /// Threads that begin at the same block and run at the same speed conflict all the time.
    ///
    /// # Errors
    /// If the words do not start on a line, or if the words, or each of their parts, are not a whole number
    /// of blocks.
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

    /// Blocks per round over the words.
    pub fn pass(&self) -> u64 {
        self.blocks.pass()
    }
}

impl Kernel for SharedBandwidth<'_> {
    /// Returns the value that [`Bandwidth`] returns. The sum that reads return depends on the writes of
    /// other threads.
    fn run(&mut self, operations: u64) -> u64 {
        let memory = self.words.as_ptr().cast_mut().cast();
        // SAFETY: atomic words may be written through a shared reference; they are borrowed, start
        // on a line and are the bytes for which the blocks were created. They are only reachable as
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

pub(crate) mod reference {
    use super::{BLOCK, TAIL};
    use crate::kernel::Motion;
    use crate::mem::{LINE, Region};
    use core::ops::Range;

    /// Moves `blocks` blocks in run number `run`; `done` blocks were moved before. Returns the checksum.
    /// The result does not depend on the order of the accesses inside a block.
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
                Motion::Read => sum = region.sum(block.end - TAIL, TAIL),
                Motion::ReadHalves | Motion::ReadQuarters => {
                    // The last lines read are those of the last two parts.
                    let last = (motion.parts() - 1) * span + block.end - LINE;
                    sum = region.sum(last - span, LINE).wrapping_add(region.sum(last, LINE));
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
        if motion.reads_alone() { sum } else { (done + blocks) % round * BLOCK as u64 }
    }

    /// Writes the words of a block of the last part: the sum of the other parts' words times `factors`.
    fn add_up(region: &mut Region<'_>, block: Range<usize>, span: usize, factors: &[u64]) {
        for word in block.step_by(8) {
            let parts = factors.iter().enumerate();
            let sum = parts.fold(0u64, |sum, (part, factor)| {
                sum.wrapping_add(region.word(part * span + word).wrapping_mul(*factor))
            });
            region.set_word(factors.len() * span + word, sum);
        }
    }
}

struct BandwidthCase {
    /// Kilobytes of the region, rounded to whole blocks of every part.
    kib: usize,
    motion: Motion,
    vector: Vector,
}

impl BandwidthCase {
    fn part<'m>(&self, memory: Region<'m>) -> Option<Region<'m>> {
        let whole = self.motion.granularity();
        let bytes = (self.kib * 2 * BLOCK / whole).max(1) * whole;
        Some(memory.split(bytes)?.0)
    }
}

impl Case for BandwidthCase {
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        let part = self.part(memory)?;
        then(&mut Bandwidth::new(part, self.motion, self.vector).ok()?)
    }

    fn reference(&self, memory: Region<'_>, then: WithReference<'_>) -> Built {
        let mut part = self.part(memory)?;
        let (mut run, mut done) = (0, 0);
        then(&mut |blocks| {
            run += 1;
            let checksum = reference::bandwidth(&mut part, self.motion, run, done, blocks);
            done += blocks;
            checksum
        })
    }
}

impl Oracle<'_, '_> {
    pub(crate) fn bandwidths(&mut self, features: Features) {
        for motion in Motion::ALL {
            for bytes in Vector::BYTES {
                // String instructions take no vectors, so one width is enough.
                if let Some(vector) = Vector::of(bytes, features)
                    && (bytes == 16 || !motion.string())
                {
                    self.bandwidth(motion, vector);
                }
            }
        }
    }

    fn bandwidth(&mut self, motion: Motion, vector: Vector) {
        let case = |kib| BandwidthCase { kib, motion, vector };
        self.check_cases(kernel(motion, vector).name, [1, 2, 3, 64, 127].map(case));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::stream::bandwidth::reference::bandwidth;

    #[repr(align(64))]
    struct Memory([u8; 12 * BLOCK]);

    /// A shared motion does the same as the reference implementation, from any first block.
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
            let part = BandwidthError::PartOfBlock { bytes, granularity: 2 * BLOCK };
            assert_eq!(refused(&words[..bytes / 8]), Some(part));
        }
    }
}
