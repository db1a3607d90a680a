//! Flushing lines out of the caches: what an eviction costs, and a write-back.

// Calls assembly with lines inside the region.
#![allow(unsafe_code)]

use crate::cpu::{Clflushopt, Clwb, mfence};
use crate::kernel::intrinsics::flush as intrinsics;
use crate::kernel::{Access, Form, Kernel};
use crate::mem::{LINE, Region};

/// The flush instruction. Instructions that not every CPU has carry a token as proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FlushWay {
    /// `clflush`: evicts lines one after the other.
    Ordered,
    /// `clflushopt`: evicts lines without waiting for each other.
    Unordered(Clflushopt),
    /// `clwb`: writes modified lines back, and may keep them.
    Back(Clwb),
}

/// Flushes a region line by line, again and again. An operation is a line of 64 bytes.
///
/// What a flush costs depends on where the line is and whether it is modified: whoever times the
/// flush of present lines writes or reads them before. The region keeps its contents.
#[derive(Debug)]
pub struct FlushLines<'m> {
    region: Region<'m>,
    way: FlushWay,
    form: Form,
    done: u64,
}

impl<'m> FlushLines<'m> {
    /// Flushes that begin at the region's first line.
    pub fn new(region: Region<'m>, way: FlushWay) -> Self {
        FlushLines {
            region,
            way,
            form: Form::default(),
            done: 0,
        }
    }

    /// The same kernel in another form.
    pub fn by(self, form: Form) -> Self {
        FlushLines { form, ..self }
    }

    /// Lines of one pass over the region.
    pub fn pass(&self) -> u64 {
        (self.region.len() / LINE) as u64
    }

    /// The region.
    pub fn into_region(self) -> Region<'m> {
        self.region
    }
}

impl Kernel for FlushLines<'_> {
    /// Returns the number of lines flushed since the kernel was made, by the address at which each
    /// run of them ended. All flushes have completed when it returns.
    fn run(&mut self, operations: u64) -> u64 {
        let end = self.done + operations;
        while self.done < end {
            let line = self.done % self.pass();
            let lines = (end - self.done).min(self.pass() - line);
            let at = self.region.bytes()[line as usize * LINE..].as_ptr();
            // SAFETY: `lines` lines from `at` on lie in the region, which is borrowed; the tokens
            // prove the instructions; `lines` is not 0.
            let behind = unsafe {
                match (self.form, self.way) {
                    (Form::Assembly, FlushWay::Ordered) => linefill_flush(at, lines),
                    (Form::Assembly, FlushWay::Unordered(_)) => linefill_flush_opt(at, lines),
                    (Form::Assembly, FlushWay::Back(_)) => linefill_flush_back(at, lines),
                    (Form::Intrinsics, FlushWay::Ordered) => intrinsics::clflush(at, lines),
                    (Form::Intrinsics, FlushWay::Unordered(has)) => {
                        intrinsics::clflushopt(has, at, lines)
                    }
                    (Form::Intrinsics, FlushWay::Back(has)) => intrinsics::clwb(has, at, lines),
                }
            };
            self.done += ((behind - at.addr()) / LINE) as u64;
        }
        mfence();
        self.done
    }

    /// Reports nothing: a flush neither loads nor stores, and memory does not change.
    fn trace(&mut self, operations: u64, _: &mut dyn FnMut(Access)) -> u64 {
        self.done += operations;
        self.done
    }
}

unsafe extern "sysv64" {
    /// Evicts `lines` lines by one `clflush` each; returns the address behind them.
    ///
    /// # Safety
    /// `at` is the address of `lines` lines that are valid for reads; `lines` is not 0.
    pub fn linefill_flush(at: *const u8, lines: u64) -> usize;

    /// The same by `clflushopt`.
    ///
    /// # Safety
    /// As for [`linefill_flush`]; the CPU has `clflushopt`.
    pub fn linefill_flush_opt(at: *const u8, lines: u64) -> usize;

    /// Writes `lines` lines back by one `clwb` each; returns the address behind them.
    ///
    /// # Safety
    /// As for [`linefill_flush`]; the CPU has `clwb`.
    pub fn linefill_flush_back(at: *const u8, lines: u64) -> usize;
}

/// The patterns on which the kernels are checked against their model.
mod checks {
    use crate::cpu::Features;
    use crate::kernel::verify::Oracle;
    use crate::kernel::{FlushLines, FlushWay, Form};
    use crate::mem::LINE;

    impl Oracle<'_, '_> {
        pub(crate) fn flushes(&mut self, features: Features) {
            let unordered = features.clflushopt().map(FlushWay::Unordered);
            for (name, way) in [
                ("linefill_flush", Some(FlushWay::Ordered)),
                ("linefill_flush_opt", unordered),
                ("linefill_flush_back", features.clwb().map(FlushWay::Back)),
            ] {
                let Some(way) = way else {
                    continue;
                };
                let forms = Form::ALL.into_iter();
                let cases = forms.flat_map(|form| [1, 2, 100].map(|lines| (form, lines)));
                self.check(name, cases, |&(form, lines), memory, then| {
                    let (region, _) = memory.split(lines * LINE)?;
                    then(&mut FlushLines::new(region, way).by(form))
                });
            }
        }
    }
}
