//! Moving memory as fast as the load and store ports let it (Drepper, section 3.5.1, Figures 3.24
//! to 3.29).

// Calls assembly with blocks inside the region.
#![allow(unsafe_code)]

use super::x86_64::asm::bandwidth as asm;
use super::{Access, Kernel, Vector, Work};
use crate::cpu::sfence;
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
    const fn weakly_ordered(self) -> bool {
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
}

impl core::fmt::Display for BandwidthError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let BandwidthError::PartOfBlock { bytes, granularity } = self;
        write!(
            f,
            "{bytes} bytes are no whole number of blocks; a multiple of {granularity} bytes would do"
        )
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
    motion: Motion,
    vector: Vector,
    /// Blocks since the kernel was made.
    done: u64,
    /// Runs since the kernel was made.
    runs: u64,
}

impl<'m> Bandwidth<'m> {
    /// A motion that begins at the region's first block. What the region holds is read, so the
    /// caller may want to write it first: untouched pages of a mapping all share one page. String
    /// instructions ignore `vector`.
    ///
    /// # Errors
    /// If the region is no whole number of blocks, in each half if there are two.
    pub fn new(region: Region<'m>, motion: Motion, vector: Vector) -> Result<Self, BandwidthError> {
        let (bytes, granularity) = (region.len(), motion.granularity());
        if !bytes.is_multiple_of(granularity) {
            return Err(BandwidthError::PartOfBlock { bytes, granularity });
        }
        Ok(Bandwidth {
            region,
            motion,
            vector,
            done: 0,
            runs: 0,
        })
    }

    /// Blocks of one round over the region.
    pub fn pass(&self) -> u64 {
        (self.span() / BLOCK) as u64
    }

    /// The region.
    pub fn into_region(self) -> Region<'m> {
        self.region
    }

    /// Bytes that the first half, or the whole, has.
    fn span(&self) -> usize {
        match self.motion.halves() {
            true => self.region.len() / 2,
            false => self.region.len(),
        }
    }

    /// Byte offset of the next block.
    fn place(&self) -> usize {
        (self.done % self.pass()) as usize * BLOCK
    }

    fn blocks(&self) -> asm::Blocks {
        use Motion as M;
        use Vector as V;
        match (self.motion, self.vector) {
            (M::Read, V::Sse2) => asm::linefill_bandwidth_read16,
            (M::Read, V::Avx2(_)) => asm::linefill_bandwidth_read32,
            (M::Read, V::Avx512(_)) => asm::linefill_bandwidth_read64,
            (M::ReadHalves, V::Sse2) => asm::linefill_bandwidth_read_halves16,
            (M::ReadHalves, V::Avx2(_)) => asm::linefill_bandwidth_read_halves32,
            (M::ReadHalves, V::Avx512(_)) => asm::linefill_bandwidth_read_halves64,
            (M::Write, V::Sse2) => asm::linefill_bandwidth_write16,
            (M::Write, V::Avx2(_)) => asm::linefill_bandwidth_write32,
            (M::Write, V::Avx512(_)) => asm::linefill_bandwidth_write64,
            (M::WriteNonTemporal, V::Sse2) => asm::linefill_bandwidth_stream16,
            (M::WriteNonTemporal, V::Avx2(_)) => asm::linefill_bandwidth_stream32,
            (M::WriteNonTemporal, V::Avx512(_)) => asm::linefill_bandwidth_stream64,
            (M::Update, V::Sse2) => asm::linefill_bandwidth_update16,
            (M::Update, V::Avx2(_)) => asm::linefill_bandwidth_update32,
            (M::Update, V::Avx512(_)) => asm::linefill_bandwidth_update64,
            (M::Copy, V::Sse2) => asm::linefill_bandwidth_copy16,
            (M::Copy, V::Avx2(_)) => asm::linefill_bandwidth_copy32,
            (M::Copy, V::Avx512(_)) => asm::linefill_bandwidth_copy64,
            (M::CopyNonTemporal, V::Sse2) => asm::linefill_bandwidth_copy_stream16,
            (M::CopyNonTemporal, V::Avx2(_)) => asm::linefill_bandwidth_copy_stream32,
            (M::CopyNonTemporal, V::Avx512(_)) => asm::linefill_bandwidth_copy_stream64,
            (M::RepStosb, _) => asm::linefill_bandwidth_rep_stosb,
            (M::RepMovsb, _) => asm::linefill_bandwidth_rep_movsb,
        }
    }

    /// How many of the next `left` blocks one call does: the vector kernels go round by
    /// themselves, a string ends with the memory.
    fn a_call(&self, left: u64) -> u64 {
        match self.motion.string() {
            true => left.min(self.pass() - self.done % self.pass()),
            false => left,
        }
    }

    /// The fifth argument of the kernels.
    fn value(&self) -> u64 {
        match self.motion {
            motion if motion.halves() => self.span() as u64,
            Motion::Update => 1,
            _ => u64::from_ne_bytes([self.runs as u8; 8]),
        }
    }
}

impl Kernel for Bandwidth<'_> {
    /// Returns the byte offset of the next block; of reads, the wrapping sum of the words in the
    /// last 128 bytes read, 0 if there were none. Non-temporal stores have left the core when it returns.
    fn run(&mut self, operations: u64) -> u64 {
        let blocks = self.blocks();
        let span = self.span();
        self.runs += 1;
        let end = self.done + operations;
        let mut proof = match self.motion.reads_alone() {
            true => 0,
            false => self.place() as u64,
        };
        while self.done < end {
            let count = self.a_call(end - self.done);
            let (place, value) = (self.place(), self.value());
            let again = self.region.bytes_mut().as_mut_ptr();
            let (first, behind) = (again.wrapping_add(place), again.wrapping_add(span));
            // SAFETY: the blocks from `again` to `behind` are the region or its first
            // half, of which `span` is a multiple; `first` is one of them, and a string of `count`
            // ends with them; partners in the second half lie `span` bytes away; the region is
            // borrowed mutably and starts on a line; the vector's token proves the width; `sfence`
            // follows.
            let found = unsafe { blocks(first, count, again, behind, value) };
            proof = match self.motion.reads_alone() {
                true => found,
                false => (found - again.addr() as u64) % span as u64,
            };
            self.done += count;
        }
        if self.motion.weakly_ordered() {
            sfence();
        }
        proof
    }

    /// A string instruction counts as one load or store a line: how it parts them is the CPU's
    /// affair.
    fn work(&self) -> Work {
        let width = match self.motion.string() {
            true => LINE,
            false => self.vector.bytes(),
        };
        let (accesses, bytes) = ((BLOCK / width) as u32, BLOCK as u32);
        let (reads, writes) = match self.motion {
            Motion::ReadHalves => (2, 0),
            motion if motion.reads_alone() => (1, 0),
            Motion::Write | Motion::WriteNonTemporal | Motion::RepStosb => (0, 1),
            _ => (1, 1),
        };
        Work {
            loads: reads * accesses,
            stores: writes * accesses,
            bytes_read: reads * bytes,
            bytes_written: writes * bytes,
            ..Work::default()
        }
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) {
        self.runs += 1;
        for _ in 0..operations {
            self.trace_block(self.place(), sink);
            self.done += 1;
        }
    }
}

impl Bandwidth<'_> {
    /// The accesses of the block at `place`.
    fn trace_block(&self, place: usize, sink: &mut dyn FnMut(Access)) {
        let half = self.span();
        let width = match self.motion.string() {
            true => LINE,
            false => self.vector.bytes(),
        };
        let bytes = width as u32;
        let both = match self.motion {
            Motion::ReadHalves => 2 * BLOCK,
            _ => BLOCK,
        };
        for at in (0..both).step_by(width) {
            let here = place + at;
            match self.motion {
                Motion::Read => sink(Access::load(here, bytes)),
                Motion::ReadHalves => {
                    let line = at / LINE;
                    let here = place + line / 2 * LINE + at % LINE;
                    sink(Access::load(here + line % 2 * half, bytes));
                }
                Motion::Write | Motion::RepStosb => sink(Access::store(here, bytes)),
                Motion::WriteNonTemporal => sink(Access::non_temporal_store(here, bytes)),
                Motion::Update => {
                    sink(Access::load(here, bytes));
                    sink(Access::store(here, bytes));
                }
                Motion::RepMovsb => {
                    sink(Access::load(here, bytes));
                    sink(Access::store(here + half, bytes));
                }
                Motion::Copy | Motion::CopyNonTemporal => {
                    // The loads of a line, then its stores.
                    if at % LINE == 0 {
                        let line = (here..here + LINE).step_by(width);
                        line.clone()
                            .for_each(|here| sink(Access::load(here, bytes)));
                        line.for_each(|here| {
                            sink(match self.motion {
                                Motion::Copy => Access::store(here + half, bytes),
                                _ => Access::non_temporal_store(here + half, bytes),
                            });
                        });
                    }
                }
            }
        }
    }
}
