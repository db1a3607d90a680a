//! Compares every kernel with its plain model, its [trace](crate::kernel::Kernel::trace).
//!
//! Runs wherever the kernels run, including the bare image: it does not allocate and needs no operating
//! system. A kernel and its model start from the same bytes at the same addresses and do the same
//! operations in the same portions. They must return the same checksums and leave the same bytes, also
//! outside the pattern. The model must report as many accesses as the work declares. Where a plain model
//! would take too long, the trace runs the kernel itself, and a separate reference implementation replaces the model in the
//! comparison; the bytes that the kernel packs beside its pattern may then differ. A kernel's file says
//! on which patterns it is checked. A kernel that also has a form with intrinsics is checked in both
//! forms under one name, if the target has both.

pub(super) mod check;

use crate::kernel::verify::check::{Built, Case, Parts, Pattern, WithKernel};
use crate::mem::Region;
use crate::pattern::{Layout, Order, Ring};
pub use check::{Difference, Mismatch};

/// Bytes of region that [`verify_all`](crate::kernel::verify_all) needs.
pub const ROOM: usize = check::Parts::COUNT * check::LARGEST;

/// Passes the cases to the check and the results to the caller.
pub(crate) struct Oracle<'m, 'r> {
    parts: Option<Parts<'m>>,
    report: &'r mut dyn FnMut(&'static str, Result<(), Mismatch>),
}

impl<'m, 'r> Oracle<'m, 'r> {
    pub(crate) fn new(
        region: Region<'m>,
        report: &'r mut dyn FnMut(&'static str, Result<(), Mismatch>),
    ) -> Self {
        Oracle { parts: Parts::new(region), report }
    }

    /// Checks one kernel on `cases`. `build` makes a kernel from each case and passes it on. Stops at
    /// the first case that fails, and reports.
    pub(crate) fn check<C>(
        &mut self,
        name: &'static str,
        cases: impl IntoIterator<Item = C>,
        build: impl Fn(&C, Region<'_>, WithKernel<'_>) -> Built,
    ) {
        self.check_cases(name, cases.into_iter().map(|case| Pattern(case, &build)));
    }

    /// Like [`check`](Self::check), for cases with their own [`Case`] implementation.
    pub(crate) fn check_cases<C: Case>(
        &mut self,
        name: &'static str,
        cases: impl IntoIterator<Item = C>,
    ) {
        let result = cases.into_iter().enumerate().try_for_each(|(number, case)| {
            let found = match &mut self.parts {
                Some(parts) => parts.check(&case),
                None => Err(Difference::NotBuilt),
            };
            found.map_err(|difference| Mismatch { case: number, difference })
        });
        (self.report)(name, result);
    }
}

#[derive(Clone, Copy)]
pub(crate) struct RingCase {
    pub layout: Layout,
    pub count: usize,
    pub order: Order,
}

pub(crate) const fn ring(layout: Layout, count: usize, order: Order) -> RingCase {
    RingCase { layout, count, order }
}

pub(crate) const RANDOM: Order = Order::Random { seed: 3 };

/// A random order within blocks of `pages` pages.
const fn blocks(pages: usize) -> Order {
    Order::RandomInBlocks { pages, seed: 5 }
}

/// Rings whose elements have padding, in every layout and order.
pub(crate) const PADDED: [RingCase; 10] = [
    ring(Layout::npad(7), 100, Order::Sequential),
    ring(Layout::npad(7), 1000, RANDOM),
    ring(Layout::npad(1), 1, RANDOM),
    ring(Layout::npad(2), 2, Order::Sequential),
    ring(Layout::npad(15), 500, blocks(2)),
    ring(Layout::npad(31).pointer_in_word(31), 300, RANDOM),
    ring(Layout::npad(7).pointer_in_word(3), 300, blocks(1)),
    ring(Layout::npad(7).one_a_page(), 31, RANDOM),
    ring(Layout::npad(7).one_a_page().rotating(), 31, RANDOM),
    ring(Layout::npad(7).spaced(192).skewed(60), 400, RANDOM),
];

/// Rings of bare pointers.
pub(crate) const BARE: [RingCase; 2] =
    [ring(Layout::npad(0), 777, RANDOM), ring(Layout::npad(0), 64, Order::Sequential)];

/// Rings of line-sized elements with the pointer in word number `word`.
pub(crate) const fn lines(word: usize) -> [RingCase; 3] {
    let layout = Layout::npad(7).pointer_in_word(word);
    [
        ring(layout, 100, Order::Sequential),
        ring(layout, 1, RANDOM),
        ring(layout.spaced(128), 700, RANDOM),
    ]
}

impl RingCase {
    pub(crate) fn build<'m>(&self, memory: Region<'m>) -> Option<Ring<'m>> {
        Ring::new(memory, self.layout, self.count, self.order).ok()
    }
}
