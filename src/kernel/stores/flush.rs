//! Lines written back: flushed out of the caches, which shows the cost of evictions and write-backs,
//! and stored to repeatedly (Drepper, section 3.3.3), which shows the savings of a write-back cache.

// Calls kernels with addresses of lines inside the region.
#![allow(unsafe_code)]

use crate::cpu::Features;
use crate::cpu::{Clflushopt, Clwb, mfence, sfence};
use crate::kernel::intrinsics::flush as intrinsics;
use crate::kernel::verify::Oracle;
use crate::kernel::{Access, Form, Kernel, Work};
use crate::mem::{LINE, Region};

/// The flush instruction. Instructions that some CPUs lack carry a token as proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FlushWay {
    /// `clflush`: evicts lines in order, one after the other.
    Ordered,
    /// `clflushopt`: evicts lines without ordering them.
    Unordered(Clflushopt),
    /// `clwb`: writes modified lines back and may keep them in the cache.
    Back(Clwb),
}

/// Flushes a region line by line, round and round. An operation is a line of 64 bytes.
///
/// The cost of a flush depends on the line's place and state. To time the flush of cached lines, read or
/// write them before. The region keeps its contents.
#[derive(Debug)]
pub struct FlushLines<'m> {
    region: Region<'m>,
    way: FlushWay,
    form: Form,
    done: u64,
}

impl<'m> FlushLines<'m> {
    /// Creates the kernel; the flushes begin at the region's first line.
    pub fn new(region: Region<'m>, way: FlushWay) -> Self {
        FlushLines { region, way, form: Form::default(), done: 0 }
    }

    /// Returns the same kernel in another form.
    pub fn by(self, form: Form) -> Self {
        FlushLines { form, ..self }
    }

    /// Lines per pass over the region.
    pub fn pass(&self) -> u64 {
        (self.region.len() / LINE) as u64
    }

    /// Returns the region.
    pub fn into_region(self) -> Region<'m> {
        self.region
    }
}

impl Kernel for FlushLines<'_> {
    /// Returns the number of lines flushed since the kernel was created, computed from the addresses at
    /// which the assembly stopped. All flushes are complete on return.
    fn run(&mut self, operations: u64) -> u64 {
        let end = self.done + operations;
        while self.done < end {
            let line = self.done % self.pass();
            let lines = (end - self.done).min(self.pass() - line);
            let at = self.region.bytes()[line as usize * LINE..].as_ptr();
            // SAFETY: `lines` lines from `at` on lie in the region, which is borrowed; the tokens
            // prove that the CPU has the instructions; `lines` is not 0.
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
    /// Evicts `lines` lines with one `clflush` each; returns the address after the last line.
    ///
    /// # Safety
    /// `at` is the address of `lines` lines that are valid for reads; `lines` is not 0.
    pub fn linefill_flush(at: *const u8, lines: u64) -> usize;

    /// Like [`linefill_flush`], with `clflushopt`.
    ///
    /// # Safety
    /// As for [`linefill_flush`]; the CPU has `clflushopt`.
    pub fn linefill_flush_opt(at: *const u8, lines: u64) -> usize;

    /// Writes back `lines` lines with one `clwb` each; returns the address after the last line.
    ///
    /// # Safety
    /// As for [`linefill_flush`]; the CPU has `clwb`.
    pub fn linefill_flush_back(at: *const u8, lines: u64) -> usize;
}

/// The write policy of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RewriteWay {
    /// Write-back: the value stays in the cache.
    Back,
    /// The value stays in the cache and `clwb` also writes it to memory: the closest that a program comes
    /// to write-through. Holds the proof that the CPU has `clwb`.
    Through(Clwb),
    /// Write-combining: the value bypasses the cache with `movnti`.
    NonTemporal,
}

/// Stores increasing numbers to the region's first word. An operation is one store.
#[derive(Debug)]
pub struct Rewrite<'m> {
    region: Region<'m>,
    way: RewriteWay,
    form: Form,
    count: u64,
}

impl<'m> Rewrite<'m> {
    /// Creates the kernel with a count of 0.
    pub fn new(region: Region<'m>, way: RewriteWay) -> Self {
        Rewrite { region, way, form: Form::default(), count: 0 }
    }

    /// Returns the same kernel in another form.
    pub fn by(self, form: Form) -> Self {
        Rewrite { form, ..self }
    }
}

impl Kernel for Rewrite<'_> {
    /// Returns the count, which is the word's value. Non-temporal stores have left the core on return.
    fn run(&mut self, operations: u64) -> u64 {
        if operations == 0 {
            return self.count;
        }
        let at = self.region.bytes_mut().as_mut_ptr().cast::<u64>();
        // SAFETY: the region holds at least a line and starts on one, and is borrowed mutably; the
        // token proves that the CPU has `clwb`; there is at least one store.
        let behind = unsafe {
            let first = self.count + 1;
            match (self.form, self.way) {
                (Form::Assembly, RewriteWay::Back) => linefill_rewrite(at, operations, first),
                (Form::Assembly, RewriteWay::Through(_)) => {
                    linefill_rewrite_through(at, operations, first)
                }
                (Form::Assembly, RewriteWay::NonTemporal) => {
                    linefill_rewrite_stream(at, operations, first)
                }
                (Form::Intrinsics, RewriteWay::Back) => intrinsics::back(at, operations, first),
                (Form::Intrinsics, RewriteWay::Through(has)) => {
                    intrinsics::through(has, at, operations, first)
                }
                (Form::Intrinsics, RewriteWay::NonTemporal) => {
                    intrinsics::stream(at, operations, first)
                }
            }
        };
        sfence();
        self.count = behind - 1;
        self.count
    }

    fn work(&self) -> Work {
        Work::default().store(1, 8)
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        for _ in 0..operations {
            sink(match self.way {
                RewriteWay::NonTemporal => Access::non_temporal_store(0, 8),
                _ => Access::store(0, 8),
            });
            self.count += 1;
            self.region.set_word(0, self.count);
        }
        self.count
    }
}

unsafe extern "sysv64" {
    /// Stores `value`, `value + 1`, ... to the word at `at` with `mov`, `stores` times; returns the value
    /// that would come next.
    ///
    /// # Safety
    /// `at` is a multiple of 8 and valid for a write of 8 bytes; `stores` is not 0.
    pub fn linefill_rewrite(at: *mut u64, stores: u64, value: u64) -> u64;

    /// Like [`linefill_rewrite`], with a `clwb` after each store.
    ///
    /// # Safety
    /// As for [`linefill_rewrite`]; the CPU has `clwb`.
    pub fn linefill_rewrite_through(at: *mut u64, stores: u64, value: u64) -> u64;

    /// Like [`linefill_rewrite`], with `movnti`.
    ///
    /// # Safety
    /// As for [`linefill_rewrite`]; `sfence` follows before any code relies on the word.
    pub fn linefill_rewrite_stream(at: *mut u64, stores: u64, value: u64) -> u64;
}

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

    pub(crate) fn rewrites(&mut self, features: Features) {
        let through = features.clwb().map(RewriteWay::Through);
        for (name, way) in [
            ("linefill_rewrite", Some(RewriteWay::Back)),
            ("linefill_rewrite_through", through),
            ("linefill_rewrite_stream", Some(RewriteWay::NonTemporal)),
        ] {
            if let Some(way) = way {
                self.check(name, Form::ALL, |form, memory, then| {
                    then(&mut Rewrite::new(memory, way).by(*form))
                });
            }
        }
    }
}
