//! Rings that kernels are checked on.

use crate::mem::Region;
use crate::pattern::{Layout, Order, Ring};

/// A ring to be built.
#[derive(Clone, Copy)]
pub(crate) struct RingCase {
    pub layout: Layout,
    pub count: usize,
    pub order: Order,
}

pub(crate) const fn ring(layout: Layout, count: usize, order: Order) -> RingCase {
    RingCase {
        layout,
        count,
        order,
    }
}

pub(crate) const RANDOM: Order = Order::Random { seed: 3 };

/// In blocks of `pages` pages.
const fn blocks(pages: usize) -> Order {
    Order::RandomInBlocks { pages, seed: 5 }
}

/// Rings whose elements have padding: every layout and order.
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
pub(crate) const BARE: [RingCase; 2] = [
    ring(Layout::npad(0), 777, RANDOM),
    ring(Layout::npad(0), 64, Order::Sequential),
];

/// Rings of line-sized elements with the pointer in word `word`.
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
