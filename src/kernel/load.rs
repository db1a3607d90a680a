//! Reading whole lines by plain and by non-temporal loads (Drepper, section 6.1, `movntdqa`).

// Calls assembly with lines inside the region.
#![allow(unsafe_code)]

use super::x86_64::asm::load as asm;
use super::{Access, Kernel, Work};
use crate::cpu::Sse41;
use crate::mem::{LINE, Region};

/// Bytes of a load, a quarter of a line.
const QUARTER: usize = LINE / 4;

/// Which load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadWay {
    /// `movdqa`.
    Cached,
    /// `movntdqa`, with proof that the CPU has it.
    NonTemporal(Sse41),
}

/// Reads a region line by line, again and again. An operation is a line of 64 bytes.
#[derive(Debug)]
pub struct LoadLines<'m> {
    region: Region<'m>,
    way: LoadWay,
    line: u64,
}

impl<'m> LoadLines<'m> {
    /// A read that begins at the region's first line. What the region holds is summed up, so the
    /// caller may want to write it first; untouched pages of a mapping all share one page.
    pub fn new(region: Region<'m>, way: LoadWay) -> Self {
        LoadLines {
            region,
            way,
            line: 0,
        }
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
        let mut sum = 0_u64;
        let mut left = operations;
        while left > 0 {
            let lines = left.min(self.pass() - self.line);
            let at = self.region.bytes()[self.line as usize * LINE..].as_ptr();
            // SAFETY: `lines` lines from `at` on lie in the region, which is borrowed and starts
            // on a line; the token proves `movntdqa`.
            let part = unsafe {
                match self.way {
                    LoadWay::Cached => asm::linefill_load_cached(at, lines),
                    LoadWay::NonTemporal(_) => asm::linefill_load_stream(at, lines),
                }
            };
            sum = sum.wrapping_add(part);
            self.advance(lines);
            left -= lines;
        }
        sum
    }

    fn work(&self) -> Work {
        Work {
            loads: 4,
            bytes_read: LINE as u32,
            ..Work::default()
        }
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) {
        for _ in 0..operations {
            for quarter in 0..LINE / QUARTER {
                let place = self.line as usize * LINE + quarter * QUARTER;
                sink(Access::load(place, QUARTER as u32));
            }
            self.advance(1);
        }
    }
}
