//! Elements of an array that are picked by indices, and two words of each (Drepper, section
//! 6.2.1, Figure 6.3).

// Calls assembly with elements that the indices lead to.
#![allow(unsafe_code)]

use crate::kernel::{Access, Kernel, Work};
use crate::pattern::Picks;

/// Bytes of a word, and of an index.
const WORD: usize = 8;
const INDEX: usize = 4;

/// Adds up the first and the last word of every element that is picked, again and again. An
/// operation is a pick: an index and both words are loaded, nothing is stored, and no pick waits
/// for another.
#[derive(Debug)]
pub struct Gather<'m> {
    picks: Picks<'m>,
    next: usize,
}

impl<'m> Gather<'m> {
    /// Begins with the first index.
    pub fn new(picks: Picks<'m>) -> Self {
        Gather { picks, next: 0 }
    }

    /// The elements and their indices.
    pub fn into_picks(self) -> Picks<'m> {
        self.picks
    }

    fn advance(&mut self, picks: usize) {
        self.next = (self.next + picks) % self.picks.count();
    }
}

impl Kernel for Gather<'_> {
    /// Returns the wrapping sum of the words added up.
    fn run(&mut self, operations: u64) -> u64 {
        let mut sum = 0_u64;
        let mut left = operations;
        while left > 0 {
            let picks = left.min((self.picks.count() - self.next) as u64);
            let bytes = self.picks.region().bytes();
            let first = bytes[self.picks.first()..].as_ptr();
            let indices = bytes[self.next * INDEX..].as_ptr();
            let second = self.picks.element() - WORD;
            // SAFETY: as many indices as are left in the borrowed region, each of which leads to
            // an element inside it (`Picks` has seen to that); `second` is its last word.
            let part = unsafe { linefill_pick(first, indices, picks, second) };
            sum = sum.wrapping_add(part);
            self.advance(picks as usize);
            left -= picks;
        }
        sum
    }

    fn work(&self) -> Work {
        Work::default().load(2, WORD as u32).load(1, INDEX as u32)
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        let mut sum = 0_u64;
        for _ in 0..operations {
            let element = self.picks.place(self.next);
            let last = element + self.picks.element() - WORD;
            sink(Access::load(self.next * INDEX, INDEX as u32));
            for place in [element, last] {
                sink(Access::load(place, WORD as u32));
                sum = sum.wrapping_add(self.picks.region().word(place));
            }
            self.advance(1);
        }
        sum
    }
}

unsafe extern "sysv64" {
    /// Adds up the first word and the one `second` bytes behind it of `picks` elements.
    ///
    /// # Safety
    /// `indices` is the address of `picks` indices; as many words behind `first` as each says
    /// there is a readable word, and another `second` bytes behind it; `picks` is not 0.
    pub fn linefill_pick(first: *const u8, indices: *const u8, picks: u64, second: usize) -> u64;
}

/// The patterns on which the kernels are checked against their model.
mod checks {
    use crate::kernel::Gather;
    use crate::kernel::verify::Oracle;
    use crate::pattern::{Order, Picks};

    impl Oracle<'_, '_> {
        pub(crate) fn picks(&mut self) {
            let shapes = [(8, 1), (16, 7), (64, 300), (72, 300)];
            let orders = [Order::Sequential, Order::Random { seed: 9 }];
            let cases = shapes
                .into_iter()
                .flat_map(|shape| orders.map(|order| (shape, order)));
            self.check(
                "linefill_pick",
                cases,
                |&((element, count), order), memory, then| {
                    then(&mut Gather::new(
                        Picks::new(memory, element, count, order).ok()?,
                    ))
                },
            );
        }
    }
}
