//! Prefetches and loads across many pages, and prefetches of unmapped pages.

// Calls kernels with addresses inside the region, or with prefetches of any address.
#![allow(unsafe_code)]

use crate::kernel::intrinsics::walk as intrinsics;
use crate::kernel::verify::Oracle;
use crate::kernel::{Access, Form, Kernel, Work};
use crate::mem::{LINE, PAGE, Region, WORD};

/// Bytes from one place to the next: the next page, and another set of every cache.
const STRIDE: usize = PAGE + LINE;

/// The access made at each place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reach {
    /// `prefetcht0`.
    Prefetch,
    /// A load.
    Load,
    /// `prefetcht0` of the same places counted from address 0, the null pointer first. By default Linux
    /// maps nothing in the first 64 KiB.
    PrefetchNull,
}

/// Why the places cannot be accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TranslateError {
    /// The number of pages, if it is not a power of two.
    Pages(usize),
    /// The region has fewer than this many pages.
    RegionTooSmall(usize),
}

messages! { TranslateError:
    TranslateError::Pages(pages) => ("the number of pages, {pages}, is not a power of two");
    TranslateError::RegionTooSmall(pages) => ("the region holds fewer than {pages} pages");
}

/// Accesses one line per page, round and round, each access one line further into its page. No access
/// waits for another. An operation is an access.
#[derive(Debug)]
pub struct Translate<'m> {
    region: Region<'m>,
    reach: Reach,
    form: Form,
    span: usize,
    place: usize,
}

impl<'m> Translate<'m> {
    /// Accesses the first `pages` pages of the region.
    ///
    /// # Errors
    /// If `pages` is not a power of two, or more than the region has.
    pub fn new(region: Region<'m>, reach: Reach, pages: usize) -> Result<Self, TranslateError> {
        if !pages.is_power_of_two() {
            return Err(TranslateError::Pages(pages));
        }
        if region.len() / PAGE < pages {
            return Err(TranslateError::RegionTooSmall(pages));
        }
        Ok(Translate { region, reach, form: Form::default(), span: pages * PAGE, place: 0 })
    }

    /// Returns the same kernel in another form.
    pub fn by(self, form: Form) -> Self {
        Translate { form, ..self }
    }
}

impl Kernel for Translate<'_> {
    /// Returns the byte offset of the next place.
    fn run(&mut self, operations: u64) -> u64 {
        if operations > 0 {
            let kernel: Accesses = match (self.form, self.reach) {
                (Form::Assembly, Reach::Load) => linefill_translate_load,
                (Form::Assembly, _) => linefill_translate_prefetch,
                (Form::Intrinsics, Reach::Load) => intrinsics::load,
                (Form::Intrinsics, _) => intrinsics::prefetch,
            };
            let base = match self.reach {
                Reach::PrefetchNull => 0,
                Reach::Prefetch | Reach::Load => self.region.address(),
            };
            // SAFETY: places are multiples of a line below `span`, a power of two that `new`
            // checked against the borrowed region's size, so that the word at each place is in the
            // region; a prefetch may be of any address.
            self.place = unsafe { kernel(base, operations, STRIDE, self.span - 1, self.place) };
        }
        self.place as u64
    }

    fn work(&self) -> Work {
        Work::default().load(u32::from(self.reach == Reach::Load), WORD as u32)
    }

    /// Reports accesses inside the region. Prefetches of unmapped pages are not reported.
    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        for _ in 0..operations {
            match self.reach {
                Reach::Prefetch => sink(Access::prefetch(self.place)),
                Reach::Load => sink(Access::load(self.place, WORD as u32)),
                Reach::PrefetchNull => {}
            }
            self.place = (self.place + STRIDE) % self.span;
        }
        self.place as u64
    }
}

family! {
    /// The function type of both kernels: makes `accesses` accesses `stride` bytes apart, wrapping around
    /// in the `mask` + 1 bytes from `base` on, the first one `first` bytes after `base`. Returns the
    /// distance from `base` of the next access.
    ///
    /// # Safety
    /// `accesses` is not 0. For the load, 8 bytes at each place are valid for reads. A prefetch may be
    /// of any address.
    pub type Accesses = unsafe extern "sysv64" fn(
        base: usize,
        accesses: u64,
        stride: usize,
        mask: usize,
        first: usize,
    ) -> usize;

    linefill_translate_load
    linefill_translate_prefetch
}

impl Oracle<'_, '_> {
    pub(crate) fn translations(&mut self) {
        self.translation("linefill_translate_load", &[Reach::Load]);
        let prefetches = [Reach::Prefetch, Reach::PrefetchNull];
        self.translation("linefill_translate_prefetch", &prefetches);
    }

    fn translation(&mut self, name: &'static str, reaches: &[Reach]) {
        let of = |&reach| [1, 2, 16].map(|pages| (reach, pages));
        let cases = reaches.iter().flat_map(of);
        let cases = cases.flat_map(|case| Form::ALL.map(|form| (case, form)));
        self.check(name, cases, |&((reach, pages), form), memory, then| {
            then(&mut Translate::new(memory, reach, pages).ok()?.by(form))
        });
    }
}
