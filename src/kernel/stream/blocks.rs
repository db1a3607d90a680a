//! A motion over memory block by block, with its position.

// Calls assembly with blocks inside the memory for which the caller vouches.
#![allow(unsafe_code)]

use crate::cpu::sfence;
use crate::kernel::stream::bandwidth::*;
use crate::kernel::{Access, Vector, Work};
use crate::mem::LINE;

/// A motion over the blocks of some memory, round and round.
#[derive(Debug)]
pub(crate) struct Blocks {
    motion: Motion,
    vector: Vector,
    /// Bytes of each part, or of the whole if there is only one part.
    span: usize,
    /// Blocks since the first block of the memory.
    done: u64,
    /// Runs since the motion was created.
    runs: u64,
}

impl Blocks {
    /// Creates a motion over `bytes` bytes that begins at block number `first`, modulo the blocks of a round.
    pub(crate) fn new(
        bytes: usize,
        motion: Motion,
        vector: Vector,
        first: u64,
    ) -> Result<Self, BandwidthError> {
        let granularity = motion.granularity();
        if bytes == 0 || !bytes.is_multiple_of(granularity) {
            return Err(BandwidthError::PartOfBlock { bytes, granularity });
        }
        let span = bytes / motion.parts();
        Ok(Blocks { motion, vector, span, done: first % (span / BLOCK) as u64, runs: 0 })
    }

    /// Blocks per round.
    pub(crate) fn pass(&self) -> u64 {
        (self.span / BLOCK) as u64
    }

    /// Byte offset of the next block.
    fn place(&self) -> usize {
        (self.done % self.pass()) as usize * BLOCK
    }

    /// Returns how many of the next `left` blocks one call does. The vector kernels wrap around by
    /// themselves; a string instruction ends at the end of the memory.
    fn a_call(&self, left: u64) -> u64 {
        if self.motion.string() { left.min(self.pass() - self.done % self.pass()) } else { left }
    }

    /// The fifth argument of the kernels.
    fn value(&self) -> u64 {
        match self.motion {
            motion if motion.parts() > 1 => self.span as u64,
            Motion::Update => 1,
            _ => u64::from_ne_bytes([self.runs as u8; 8]),
        }
    }

    /// Does `operations` blocks. Returns the byte offset of the next block. Motions that only read return
    /// the wrapping sum of the words in the last 128 bytes read, 0 if none were read. Non-temporal stores
    /// have left the core on return.
    ///
    /// # Safety
    /// The number of bytes passed to [`new`](Self::new), from `memory` on, are valid for the accesses of
    /// the motion, and start on a line. Other threads access them meanwhile only by assembly, if at all.
    pub(crate) unsafe fn run(&mut self, memory: *mut u8, operations: u64) -> u64 {
        let blocks = kernel(self.motion, self.vector).call;
        self.runs += 1;
        let end = self.done + operations;
        let mut checksum = if self.motion.reads_alone() { 0 } else { self.place() as u64 };
        while self.done < end {
            let count = self.a_call(end - self.done);
            let (place, value) = (self.place(), self.value());
            let (first, behind) = (memory.wrapping_add(place), memory.wrapping_add(self.span));
            // SAFETY: the blocks from `memory` to `behind` are the memory or its first part, whose
            // size `span` is a multiple of a block; `first` is one of them, and a string of `count`
            // blocks does not end after `behind`; the partners in the next part are `span` bytes away;
            // the caller vouches for all of the memory; the vector's token proves that the CPU has the
            // width; `sfence` follows.
            let found = unsafe { blocks(first, count, memory, behind, value) };
            checksum = match self.motion.reads_alone() {
                true => found,
                false => (found - memory.addr() as u64) % self.span as u64,
            };
            self.done += count;
        }
        if self.motion.weakly_ordered() {
            sfence();
        }
        checksum
    }

    /// Counts a string instruction as one load or store per line: the CPU chooses how to split it.
    pub(crate) fn work(&self) -> Work {
        let width = self.width();
        let (count, bytes) = ((BLOCK / width) as u32, width as u32);
        let loads = Work::default().load(self.sources() as u32 * count, bytes);
        if self.motion.reads_alone() { loads } else { loads.store(count, bytes) }
    }

    /// The number of parts that are read.
    fn sources(&self) -> usize {
        match self.motion {
            Motion::Update => 1,
            motion if motion.reads_alone() => motion.parts(),
            motion => motion.parts() - 1,
        }
    }

    /// Bytes per access; a line for a string instruction.
    fn width(&self) -> usize {
        if self.motion.string() { LINE } else { self.vector.bytes() }
    }

    /// Reports the accesses of the next blocks.
    pub(crate) fn report(&self, operations: u64, sink: &mut dyn FnMut(Access)) {
        for number in self.done..self.done + operations {
            self.report_block((number % self.pass()) as usize * BLOCK, sink);
        }
    }

    /// Reports the accesses of the block at `place`, line by line.
    fn report_block(&self, place: usize, sink: &mut dyn FnMut(Access)) {
        let (sources, bytes) = (self.sources(), self.width() as u32);
        let load = |part, here| Access::load(here + part * self.span, bytes);
        let store =
            if self.motion.weakly_ordered() { Access::non_temporal_store } else { Access::store };
        for line in (place..place + BLOCK).step_by(LINE) {
            let line = (line..line + LINE).step_by(self.width());
            match self.motion {
                motion if motion.reads_alone() => {
                    for part in 0..sources {
                        line.clone().for_each(|here| sink(load(part, here)));
                    }
                }
                Motion::Update => {
                    for here in line {
                        sink(load(0, here));
                        sink(store(here, bytes));
                    }
                }
                // The loads of a line, then the stores.
                _ => {
                    for here in line.clone() {
                        (0..sources).for_each(|part| sink(load(part, here)));
                    }
                    line.for_each(|here| sink(store(here + sources * self.span, bytes)));
                }
            }
        }
    }
}

family! {
    /// The function type of the family: moves `blocks` blocks from the one at `first` on, and wraps around
    /// from `end` to `again`. Returns the address of the next block; the reads return the wrapping sum of
    /// the 8-byte words in the last 128 bytes they read. Writes store `value` (`rep stosb` its low byte), and
    /// updates add it to each word.
    ///
    /// # Safety
    /// The blocks of 512 bytes from `again` to `end`, `first` among them, are valid for the accesses of the
    /// kernel. If it works on several parts, so are the partners of each block, `value` bytes from one part
    /// to the next. All are addresses of lines. `blocks` is not 0. A string instruction does not wrap around:
    /// its blocks end at `end` or before. The CPU has the width. Non-temporal stores are followed by `sfence`
    /// before any code relies on them.
    pub type MoveBlocks = unsafe extern "sysv64" fn(
        first: *mut u8,
        blocks: u64,
        again: *mut u8,
        end: *mut u8,
        value: u64,
    ) -> u64;

    /// Returns the kernel of a motion with some vector register.
    fn kernel(motion: Motion, vector: Vector) {
        (Motion::Read, Vector::Sse2) => linefill_bandwidth_read16,
        (Motion::Read, Vector::Avx2(_)) => linefill_bandwidth_read32,
        (Motion::Read, Vector::Avx512(_)) => linefill_bandwidth_read64,
        (Motion::ReadHalves, Vector::Sse2) => linefill_bandwidth_read_halves16,
        (Motion::ReadHalves, Vector::Avx2(_)) => linefill_bandwidth_read_halves32,
        (Motion::ReadHalves, Vector::Avx512(_)) => linefill_bandwidth_read_halves64,
        (Motion::ReadQuarters, Vector::Sse2) => linefill_bandwidth_read_quarters16,
        (Motion::ReadQuarters, Vector::Avx2(_)) => linefill_bandwidth_read_quarters32,
        (Motion::ReadQuarters, Vector::Avx512(_)) => linefill_bandwidth_read_quarters64,
        (Motion::Write, Vector::Sse2) => linefill_bandwidth_write16,
        (Motion::Write, Vector::Avx2(_)) => linefill_bandwidth_write32,
        (Motion::Write, Vector::Avx512(_)) => linefill_bandwidth_write64,
        (Motion::WriteNonTemporal, Vector::Sse2) => linefill_bandwidth_stream16,
        (Motion::WriteNonTemporal, Vector::Avx2(_)) => linefill_bandwidth_stream32,
        (Motion::WriteNonTemporal, Vector::Avx512(_)) => linefill_bandwidth_stream64,
        (Motion::Update, Vector::Sse2) => linefill_bandwidth_update16,
        (Motion::Update, Vector::Avx2(_)) => linefill_bandwidth_update32,
        (Motion::Update, Vector::Avx512(_)) => linefill_bandwidth_update64,
        (Motion::Copy, Vector::Sse2) => linefill_bandwidth_copy16,
        (Motion::Copy, Vector::Avx2(_)) => linefill_bandwidth_copy32,
        (Motion::Copy, Vector::Avx512(_)) => linefill_bandwidth_copy64,
        (Motion::CopyNonTemporal, Vector::Sse2) => linefill_bandwidth_copy_stream16,
        (Motion::CopyNonTemporal, Vector::Avx2(_)) => linefill_bandwidth_copy_stream32,
        (Motion::CopyNonTemporal, Vector::Avx512(_)) => linefill_bandwidth_copy_stream64,
        (Motion::Add, Vector::Sse2) => linefill_bandwidth_add16,
        (Motion::Add, Vector::Avx2(_)) => linefill_bandwidth_add32,
        (Motion::Add, Vector::Avx512(_)) => linefill_bandwidth_add64,
        (Motion::AddThree, Vector::Sse2) => linefill_bandwidth_add_three16,
        (Motion::AddThree, Vector::Avx2(_)) => linefill_bandwidth_add_three32,
        (Motion::AddThree, Vector::Avx512(_)) => linefill_bandwidth_add_three64,
        (Motion::Triad, Vector::Sse2) => linefill_bandwidth_triad16,
        (Motion::Triad, Vector::Avx2(_)) => linefill_bandwidth_triad32,
        (Motion::Triad, Vector::Avx512(_)) => linefill_bandwidth_triad64,
        (Motion::TriadNonTemporal, Vector::Sse2) => linefill_bandwidth_triad_stream16,
        (Motion::TriadNonTemporal, Vector::Avx2(_)) => linefill_bandwidth_triad_stream32,
        (Motion::TriadNonTemporal, Vector::Avx512(_)) => linefill_bandwidth_triad_stream64,
        (Motion::RepStosb, _) => linefill_bandwidth_rep_stosb,
        (Motion::RepMovsb, _) => linefill_bandwidth_rep_movsb,
    }
}
