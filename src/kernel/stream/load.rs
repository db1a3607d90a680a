//! Reads whole lines with plain and with non-temporal loads (Drepper, section 6.1, `movntdqa`).

// Calls kernels with addresses of lines inside the region.
#![allow(unsafe_code)]

use crate::cpu::Features;
use crate::cpu::Sse41;
#[cfg(target_feature = "sse2")]
use crate::kernel::intrinsics::load as intrinsics;
use crate::kernel::verify::Oracle;
use crate::kernel::{Access, Blocked, Form, Kernel, NoIntrinsics, Vector, Work};
use crate::mem::{LINE, Region};

/// The load instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoadWay {
    /// `movdqa` and its wider forms.
    Cached(Vector),
    /// `movntdqa` and its wider forms, with proof that the CPU has SSE4.1.
    NonTemporal(Sse41, Vector),
}

impl LoadWay {
    const fn vector(self) -> Vector {
        match self {
            LoadWay::Cached(vector) | LoadWay::NonTemporal(_, vector) => vector,
        }
    }

    /// Returns the kernel with intrinsics, if the target has it.
    #[cfg(target_feature = "sse2")]
    fn compiled(self) -> Option<Loads> {
        Some(match self {
            LoadWay::Cached(Vector::Sse2) => intrinsics::cached,
            LoadWay::Cached(Vector::Avx2(_)) => intrinsics::cached32,
            LoadWay::Cached(Vector::Avx512(_)) => intrinsics::cached64,
            LoadWay::NonTemporal(_, Vector::Sse2) => intrinsics::stream,
            LoadWay::NonTemporal(_, Vector::Avx2(_)) => intrinsics::stream32,
            LoadWay::NonTemporal(_, Vector::Avx512(_)) => intrinsics::stream64,
        })
    }

    /// Returns `None`: all kernels use vectors, which a soft-float target lacks.
    #[cfg(not(target_feature = "sse2"))]
    fn compiled(self) -> Option<Loads> {
        None
    }
}

/// Lines per block.
const BLOCK: u64 = 8;

/// Reads a region line by line, round and round. An operation is a line of 64 bytes.
///
/// A region that is a whole number of blocks of 8 lines is read block by block, so that the loads and not
/// the loop limit the speed.
#[derive(Debug)]
pub struct LoadLines<'m> {
    region: Region<'m>,
    way: LoadWay,
    loads: Loads,
    /// The kernel that reads blocks, if the form has one and the region is a whole number of blocks.
    blocks: Option<Blocks>,
    line: u64,
}

impl<'m> LoadLines<'m> {
    /// Creates a read that begins at the region's first line. Write the region before timing: untouched
    /// pages of a mapping all share one page.
    pub fn new(region: Region<'m>, way: LoadWay) -> Self {
        let whole = (region.len() / LINE).is_multiple_of(BLOCK as usize);
        LoadLines {
            region,
            way,
            loads: assembled(way).call,
            blocks: whole.then(|| in_blocks(way).call),
            line: 0,
        }
    }

    /// Returns the same read in another form. With intrinsics there are no blocks: lines are read one by
    /// one.
    ///
    /// Line by line, the forms differ in the L1d, where the number of instructions sets the speed, most
    /// with 4 loads per line. With intrinsics a cached load is the memory operand of its addition, which
    /// saves instructions: 9 % less time on a Zen 5. The intrinsic of a non-temporal load takes its address
    /// from a bare register, so a `lea` precedes each load of a line but the first: 11 % more time.
    ///
    /// # Errors
    /// If `form` is intrinsics and the target is soft-float.
    pub fn by(mut self, form: Form) -> Result<Self, NoIntrinsics> {
        match form {
            Form::Assembly => {
                return Ok(LoadLines { line: self.line, ..Self::new(self.region, self.way) });
            }
            Form::Intrinsics => self.loads = self.way.compiled().ok_or(NoIntrinsics)?,
        }
        self.blocks = None;
        Ok(self)
    }

    /// Lines per pass over the region.
    pub fn pass(&self) -> u64 {
        (self.region.len() / LINE) as u64
    }

    fn advance(&mut self, lines: u64) {
        self.line = (self.line + lines) % self.pass();
    }
}

impl Kernel for LoadLines<'_> {
    /// Returns the wrapping sum of the 8-byte words read.
    fn run(&mut self, operations: u64) -> u64 {
        let loads = self.loads;
        let mut sum = 0_u64;
        let mut left = operations;
        while left > 0 {
            let at = self.region.bytes()[self.line as usize * LINE..].as_ptr();
            let into_block = self.line % BLOCK;
            let (lines, part) = match self.blocks {
                Some(blocks) if into_block == 0 && left >= BLOCK => {
                    let all = self.region.bytes().as_ptr_range();
                    let count = left / BLOCK;
                    // SAFETY: the region is borrowed, starts on a line and consists of blocks, of
                    // which `at` is one; the tokens prove that the CPU has the load.
                    let part = unsafe { blocks(at, count, all.start, all.end) };
                    (count * BLOCK, part)
                }
                blocks => {
                    let end = blocks.map_or(self.pass() - self.line, |_| BLOCK - into_block);
                    let lines = left.min(end);
                    // SAFETY: `lines` lines from `at` on lie in the region, which is borrowed and
                    // starts on a line; the tokens prove that the CPU has the load.
                    (lines, unsafe { loads(at, lines) })
                }
            };
            sum = sum.wrapping_add(part);
            self.advance(lines);
            left -= lines;
        }
        sum
    }

    fn work(&self) -> Work {
        let bytes = self.way.vector().bytes();
        Work::default().load((LINE / bytes) as u32, bytes as u32)
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        let bytes = self.way.vector().bytes();
        let mut sum = 0_u64;
        for _ in 0..operations {
            let line = self.line as usize * LINE;
            for place in (line..line + LINE).step_by(bytes) {
                sink(Access::load(place, bytes as u32));
                sum = sum.wrapping_add(self.region.sum(place, bytes));
            }
            self.advance(1);
        }
        sum
    }
}

family! {
    /// The function type of the family: reads `lines` lines and returns the wrapping sum of their 8-byte
    /// words.
    ///
    /// # Safety
    /// `at` is the address of `lines` lines that are valid for reads; `lines` is not 0; the CPU has
    /// the load.
    pub type Loads = unsafe extern "sysv64" fn(at: *const u8, lines: u64) -> u64;

    /// Returns the kernel of `asm/stream/load.S` that reads lines.
    fn assembled(way: LoadWay) {
        LoadWay::Cached(Vector::Sse2) => linefill_load_cached,
        LoadWay::Cached(Vector::Avx2(_)) => linefill_load_cached32,
        LoadWay::Cached(Vector::Avx512(_)) => linefill_load_cached64,
        LoadWay::NonTemporal(_, Vector::Sse2) => linefill_load_stream,
        LoadWay::NonTemporal(_, Vector::Avx2(_)) => linefill_load_stream32,
        LoadWay::NonTemporal(_, Vector::Avx512(_)) => linefill_load_stream64,
    }
}

family! {
    /// The function type of the kernels that read blocks: reads `blocks` blocks of 8 lines from `at` on, and
    /// wraps around from `end` to `first`. Returns the wrapping sum of the blocks' 8-byte words.
    ///
    /// # Safety
    /// The memory from `first` to `end` consists of blocks that are valid for reads, and `at` is the
    /// address of one of them; `blocks` is not 0; the CPU has the load.
    pub type Blocks = unsafe extern "sysv64" fn(
        at: *const u8,
        blocks: u64,
        first: *const u8,
        end: *const u8,
    ) -> u64;

    /// Returns the kernel of `asm/stream/load.S` that reads blocks.
    fn in_blocks(way: LoadWay) {
        LoadWay::Cached(Vector::Sse2) => linefill_load_blocks_cached,
        LoadWay::Cached(Vector::Avx2(_)) => linefill_load_blocks_cached32,
        LoadWay::Cached(Vector::Avx512(_)) => linefill_load_blocks_cached64,
        LoadWay::NonTemporal(_, Vector::Sse2) => linefill_load_blocks_stream,
        LoadWay::NonTemporal(_, Vector::Avx2(_)) => linefill_load_blocks_stream32,
        LoadWay::NonTemporal(_, Vector::Avx512(_)) => linefill_load_blocks_stream64,
    }
}

impl Oracle<'_, '_> {
    pub(crate) fn loads(&mut self, features: Features) {
        let vectors = Vector::BYTES.into_iter();
        for vector in vectors.filter_map(|bytes| Vector::of(bytes, features)) {
            self.load(LoadWay::Cached(vector), vector == Vector::Sse2);
            if let Some(sse41) = features.sse41() {
                self.load(LoadWay::NonTemporal(sse41, vector), false);
            }
        }
    }

    /// Checks lines read one after the other. With `blocked` also [`Blocked`] reads: blocks that
    /// divide the region, blocks that leave lines over, and blocks of one line.
    fn load(&mut self, way: LoadWay, blocked: bool) {
        self.check(in_blocks(way).name, [8, 24, 64], |&lines, memory, then| {
            let (region, _) = memory.split(lines * LINE)?;
            then(&mut LoadLines::new(region, way))
        });
        let forms = Form::on_vectors().iter();
        let lines = forms.flat_map(|form| [1, 2, 100].map(|lines| (lines, Ok(*form))));
        let parts = [(100, 2), (7, 3), (1, 1)].map(|part| (100, Err(part)));
        let parts = parts.into_iter().filter(|_| blocked);
        self.check(assembled(way).name, lines.chain(parts), |&(lines, reading), memory, then| {
            let (region, _) = memory.split(lines * LINE)?;
            match reading {
                Ok(form) => then(&mut LoadLines::new(region, way).by(form).ok()?),
                Err((lines, times)) => then(&mut Blocked::new(region, lines, times).ok()?),
            }
        });
    }
}
