//! Reading whole lines by plain and by non-temporal loads (Drepper, section 6.1, `movntdqa`).

// Calls kernels with lines inside the region.
#![allow(unsafe_code)]

use crate::cpu::Sse41;
#[cfg(target_feature = "sse2")]
use crate::kernel::intrinsics::load as intrinsics;
use crate::kernel::{Access, Assembled, Form, Kernel, NoIntrinsics, Vector, Work};
use crate::mem::{LINE, Region};

/// Which load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoadWay {
    /// `movdqa` and its wider forms.
    Cached(Vector),
    /// `movntdqa` and its wider forms, with proof that the CPU has it.
    NonTemporal(Sse41, Vector),
}

impl LoadWay {
    const fn vector(self) -> Vector {
        match self {
            LoadWay::Cached(vector) | LoadWay::NonTemporal(_, vector) => vector,
        }
    }

    /// The kernel of `asm/load.S`.
    fn assembled(self) -> Assembled<Loads> {
        assembled!(match self {
            LoadWay::Cached(Vector::Sse2) => linefill_load_cached,
            LoadWay::Cached(Vector::Avx2(_)) => linefill_load_cached32,
            LoadWay::Cached(Vector::Avx512(_)) => linefill_load_cached64,
            LoadWay::NonTemporal(_, Vector::Sse2) => linefill_load_stream,
            LoadWay::NonTemporal(_, Vector::Avx2(_)) => linefill_load_stream32,
            LoadWay::NonTemporal(_, Vector::Avx512(_)) => linefill_load_stream64,
        })
    }

    /// The kernel of `asm/load.S` that reads blocks.
    fn in_blocks(self) -> Assembled<Blocks> {
        assembled!(match self {
            LoadWay::Cached(Vector::Sse2) => linefill_load_blocks_cached,
            LoadWay::Cached(Vector::Avx2(_)) => linefill_load_blocks_cached32,
            LoadWay::Cached(Vector::Avx512(_)) => linefill_load_blocks_cached64,
            LoadWay::NonTemporal(_, Vector::Sse2) => linefill_load_blocks_stream,
            LoadWay::NonTemporal(_, Vector::Avx2(_)) => linefill_load_blocks_stream32,
            LoadWay::NonTemporal(_, Vector::Avx512(_)) => linefill_load_blocks_stream64,
        })
    }

    /// The kernel by intrinsics, if the target has it.
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

    /// All loads are vectors, which a soft-float target does not have.
    #[cfg(not(target_feature = "sse2"))]
    fn compiled(self) -> Option<Loads> {
        None
    }
}

/// Lines of a block.
const BLOCK: u64 = 8;

/// Reads a region line by line, again and again. An operation is a line of 64 bytes.
///
/// A region of whole blocks of 8 lines is read a block at a time, so that not the loop decides how
/// fast, but the loads.
#[derive(Debug)]
pub struct LoadLines<'m> {
    region: Region<'m>,
    way: LoadWay,
    loads: Loads,
    /// What reads blocks, if something does and the region consists of blocks.
    blocks: Option<Blocks>,
    line: u64,
}

impl<'m> LoadLines<'m> {
    /// A read that begins at the region's first line. What the region holds is summed up, so the
    /// caller may want to write it first; untouched pages of a mapping all share one page.
    pub fn new(region: Region<'m>, way: LoadWay) -> Self {
        let whole = (region.len() / LINE).is_multiple_of(BLOCK as usize);
        LoadLines {
            region,
            way,
            loads: way.assembled().call,
            blocks: whole.then(|| way.in_blocks().call),
            line: 0,
        }
    }

    /// The same read in another form. By intrinsics there are no blocks: it goes line by line.
    ///
    /// Line by line they differ in the L1d, where the count of instructions decides, most with 4
    /// loads per line. By intrinsics a cached load is an operand of its addition, so that there are
    /// fewer: 9 % less time on a Zen 5. A non-temporal load by its intrinsic takes a bare register for
    /// an address, and each but the first of a line a `lea` before it: 11 % more.
    ///
    /// # Errors
    /// If it is by intrinsics, and the target is soft-float.
    pub fn by(mut self, form: Form) -> Result<Self, NoIntrinsics> {
        match form {
            Form::Assembly => {
                return Ok(LoadLines {
                    line: self.line,
                    ..Self::new(self.region, self.way)
                });
            }
            Form::Intrinsics => self.loads = self.way.compiled().ok_or(NoIntrinsics)?,
        }
        self.blocks = None;
        Ok(self)
    }

    /// Lines of one pass over the region.
    pub fn pass(&self) -> u64 {
        (self.region.len() / LINE) as u64
    }

    /// The region.
    pub fn into_region(self) -> Region<'m> {
        self.region
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
                    // which `at` is one; the tokens prove the load.
                    let part = unsafe { blocks(at, count, all.start, all.end) };
                    (count * BLOCK, part)
                }
                blocks => {
                    let end = blocks.map_or(self.pass() - self.line, |_| BLOCK - into_block);
                    let lines = left.min(end);
                    // SAFETY: `lines` lines from `at` on lie in the region, which is borrowed and
                    // starts on a line; the tokens prove the load.
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
    /// The shape of the family: reads `lines` lines and returns the wrapping sum of their 8-byte words.
    ///
    /// # Safety
    /// `at` is the address of `lines` lines that are valid for reads; `lines` is not 0; the CPU has
    /// the load.
    pub type Loads = unsafe extern "sysv64" fn(at: *const u8, lines: u64) -> u64;

    /// By four `movdqa` each.
    linefill_load_cached
    /// By four `movntdqa` each: the CPU has SSE4.1.
    linefill_load_stream
    /// By two `vmovdqa` of 32 bytes each: the CPU has AVX2.
    linefill_load_cached32
    /// By two `vmovntdqa` of 32 bytes each: the CPU has AVX2.
    linefill_load_stream32
    /// By one `vmovdqa64` of 64 bytes each: the CPU has AVX-512.
    linefill_load_cached64
    /// By one `vmovntdqa` of 64 bytes each: the CPU has AVX-512.
    linefill_load_stream64
}

family! {
    /// The shape of kernels that read blocks: reads `blocks` blocks of 8 lines from the one at `at` on,
    /// the one at `first` behind the one that ends at `end`, and returns the wrapping sum of their 8-byte
    /// words.
    ///
    /// # Safety
    /// Blocks that are valid for reads lie from `first` to `end`, `at` among them; `blocks` is not 0; the
    /// CPU has the load.
    pub type Blocks = unsafe extern "sysv64" fn(
        at: *const u8,
        blocks: u64,
        first: *const u8,
        end: *const u8,
    ) -> u64;

    /// By `movdqa`.
    linefill_load_blocks_cached
    /// By `movntdqa`: the CPU has SSE4.1.
    linefill_load_blocks_stream
    /// By `vmovdqa` of 32 bytes: the CPU has AVX2.
    linefill_load_blocks_cached32
    /// By `vmovntdqa` of 32 bytes: the CPU has AVX2.
    linefill_load_blocks_stream32
    /// By `vmovdqa64`: the CPU has AVX-512.
    linefill_load_blocks_cached64
    /// By `vmovntdqa` of 64 bytes: the CPU has AVX-512.
    linefill_load_blocks_stream64
}

/// The patterns on which the kernels are checked against their model.
mod checks {
    use crate::cpu::Features;
    use crate::kernel::verify::Oracle;
    use crate::kernel::{Blocked, Form, LoadLines, LoadWay, Vector};
    use crate::mem::LINE;

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

        /// Lines one after the other; and `in_blocks`: one that is all, blocks that leave lines
        /// over, and blocks of a line.
        fn load(&mut self, way: LoadWay, in_blocks: bool) {
            let blocks = way.in_blocks().name;
            self.check(blocks, [8, 24, 64], |&lines, memory, then| {
                let (region, _) = memory.split(lines * LINE)?;
                then(&mut LoadLines::new(region, way))
            });
            let forms = Form::on_vectors().iter();
            let lines = forms.flat_map(|form| [1, 2, 100].map(|lines| (lines, Ok(*form))));
            let parts = [(100, 2), (7, 3), (1, 1)].map(|part| (100, Err(part)));
            let parts = parts.into_iter().filter(|_| in_blocks);
            self.check(
                way.assembled().name,
                lines.chain(parts),
                |&(lines, reading), memory, then| {
                    let (region, _) = memory.split(lines * LINE)?;
                    match reading {
                        Ok(form) => then(&mut LoadLines::new(region, way).by(form).ok()?),
                        Err((lines, times)) => then(&mut Blocked::new(region, lines, times).ok()?),
                    }
                },
            );
        }
    }
}
