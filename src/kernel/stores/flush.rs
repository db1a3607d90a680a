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
                    (Form::Assembly, way) => (flushes(way).call)(at, lines),
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

family! {
    /// The function type of the family: flushes `lines` lines; returns the address after the last line.
    ///
    /// # Safety
    /// `at` is the address of `lines` lines that are valid for reads; `lines` is not 0; the CPU has the
    /// instruction.
    pub type Flushes = unsafe extern "sysv64" fn(at: *const u8, lines: u64) -> usize;

    fn flushes(way: FlushWay) {
        FlushWay::Ordered => linefill_flush,
        FlushWay::Unordered(_) => linefill_flush_opt,
        FlushWay::Back(_) => linefill_flush_back,
    }
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
                (Form::Assembly, way) => (rewrites(way).call)(at, operations, first),
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

family! {
    /// The function type of the family: stores `value`, `value + 1`, ... to the word at `at`, `stores` times;
    /// returns the value that would come next.
    ///
    /// # Safety
    /// `at` is a multiple of 8 and valid for a write of 8 bytes; `stores` is not 0; the CPU has the
    /// instructions. Non-temporal stores are followed by `sfence` before any code relies on the word.
    pub type Rewrites = unsafe extern "sysv64" fn(at: *mut u64, stores: u64, value: u64) -> u64;

    fn rewrites(way: RewriteWay) {
        RewriteWay::Back => linefill_rewrite,
        RewriteWay::Through(_) => linefill_rewrite_through,
        RewriteWay::NonTemporal => linefill_rewrite_stream,
    }
}

impl Oracle<'_, '_> {
    pub(crate) fn flushes(&mut self, features: Features) {
        let unordered = features.clflushopt().map(FlushWay::Unordered);
        let back = features.clwb().map(FlushWay::Back);
        for way in [Some(FlushWay::Ordered), unordered, back].into_iter().flatten() {
            let forms = Form::ALL.into_iter();
            let cases = forms.flat_map(|form| [1, 2, 100].map(|lines| (form, lines)));
            self.check(flushes(way).name, cases, |&(form, lines), memory, then| {
                let (region, _) = memory.split(lines * LINE)?;
                then(&mut FlushLines::new(region, way).by(form))
            });
        }
    }

    pub(crate) fn rewrites(&mut self, features: Features) {
        let through = features.clwb().map(RewriteWay::Through);
        let ways = [Some(RewriteWay::Back), through, Some(RewriteWay::NonTemporal)];
        for way in ways.into_iter().flatten() {
            self.check(rewrites(way).name, Form::ALL, |form, memory, then| {
                then(&mut Rewrite::new(memory, way).by(*form))
            });
        }
    }
}
