//! Storing to one line again and again (Drepper, section 3.3.3): what a write-back cache saves.

// Calls kernels with an address inside the region.
#![allow(unsafe_code)]

use crate::cpu::{Clwb, sfence};
use crate::kernel::intrinsics::rewrite as intrinsics;
use crate::kernel::{Access, Form, Kernel, Work};
use crate::mem::Region;

/// What becomes of each store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RewriteWay {
    /// It stays in the cache: write-back.
    Back,
    /// It stays in the cache and is written to memory by `clwb` as well, with proof that the CPU
    /// has it: as near to write-through as a program comes.
    Through(Clwb),
    /// It bypasses the cache by `movnti`: write-combining.
    NonTemporal,
}

/// Counts in the region's first word. An operation is one store.
#[derive(Debug)]
pub struct Rewrite<'m> {
    region: Region<'m>,
    way: RewriteWay,
    form: Form,
    count: u64,
}

impl<'m> Rewrite<'m> {
    /// A count from 0.
    pub fn new(region: Region<'m>, way: RewriteWay) -> Self {
        Rewrite {
            region,
            way,
            form: Form::default(),
            count: 0,
        }
    }

    /// The same kernel in another form.
    pub fn by(self, form: Form) -> Self {
        Rewrite { form, ..self }
    }
}

impl Kernel for Rewrite<'_> {
    /// Returns the count, which is the word's value. Non-temporal stores have left the core when
    /// it returns.
    fn run(&mut self, operations: u64) -> u64 {
        if operations == 0 {
            return self.count;
        }
        let at = self.region.bytes_mut().as_mut_ptr().cast::<u64>();
        // SAFETY: the region holds at least a line and starts on one, and is borrowed mutably; the
        // token proves `clwb`; there is at least one store.
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
    /// Stores `value`, `value + 1`, ... to the word at `at`, `stores` of them, by `mov`; returns
    /// the value behind the last.
    ///
    /// # Safety
    /// `at` is a multiple of 8 and valid for a write of 8 bytes; `stores` is not 0.
    pub fn linefill_rewrite(at: *mut u64, stores: u64, value: u64) -> u64;

    /// The same, each store followed by `clwb`.
    ///
    /// # Safety
    /// As for [`linefill_rewrite`]; the CPU has `clwb`.
    pub fn linefill_rewrite_through(at: *mut u64, stores: u64, value: u64) -> u64;

    /// The same by `movnti`.
    ///
    /// # Safety
    /// As for [`linefill_rewrite`]; `sfence` follows before anybody relies on the word.
    pub fn linefill_rewrite_stream(at: *mut u64, stores: u64, value: u64) -> u64;
}

/// The patterns on which the kernels are checked against their model.
mod checks {
    use crate::cpu::Features;
    use crate::kernel::verify::Oracle;
    use crate::kernel::{Form, Rewrite, RewriteWay};

    impl Oracle<'_, '_> {
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
}
