//! Chains of loads side by side: exchanges that wait for each other, in one chain or several (Startin's
//! explanation: chains that share the wait for memory), and walks along several rings, which show how
//! many loads can be under way at a time.

// Calls assembly with indices that the deck vouches for, and with cursors that the rings vouch for.
#![allow(unsafe_code)]

use crate::kernel::compute::shuffle::reference::on_deck;
use crate::kernel::compute::shuffle::trace_exchange;
use crate::kernel::{Access, Assembled, Kernel, Work};
use crate::pattern::{Deck, Indices, Lanes};

/// Bytes of an integer.
const INT: usize = 4;

/// Why a deck's exchanges cannot be dealt out to some chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChainsError {
    /// Not 1, 2, 4 or 8.
    Chains(u32),
    /// The deck's indices are generated, not precomputed.
    NoTable,
    /// The array has fewer elements than a round takes, and one more.
    Count(usize),
}

messages! { ChainsError:
    ChainsError::Chains(chains) => ("{chains} chains are not possible, 1, 2, 4 and 8 are");
    ChainsError::NoTable => ("chains need precomputed indices");
    ChainsError::Count(count) => ("an array of {count} integers is too short for a round");
}

/// Shuffles the array of a [`Deck`] like [`Shuffle`](crate::kernel::Shuffle), but an exchange begins only
/// when the last one of its chain has loaded the integer from the place that its index names.
/// Chains take turns. An operation is an exchange.
///
/// Where a run does not end with a round, what is left of it goes down one chain. A pass ends when
/// fewer elements are left than a round takes, and one more.
#[derive(Debug)]
pub struct Chains<'m> {
    deck: Deck<'m>,
    chains: u32,
    /// The `i` of the next exchange.
    next: usize,
}

impl<'m> Chains<'m> {
    /// Begins at the end of the array.
    ///
    /// # Errors
    /// If there are no such chains, no table, or too few elements.
    pub fn new(deck: Deck<'m>, chains: u32) -> Result<Self, ChainsError> {
        if ![1, 2, 4, 8].contains(&chains) {
            return Err(ChainsError::Chains(chains));
        }
        if deck.indices() != Indices::Precomputed {
            return Err(ChainsError::NoTable);
        }
        if deck.count() <= chains as usize {
            return Err(ChainsError::Count(deck.count()));
        }
        Ok(Chains {
            next: deck.count(),
            deck,
            chains,
        })
    }

    /// Exchanges of a pass over the array.
    pub fn pass(&self) -> u64 {
        (self.deck.count() - self.end()) as u64
    }

    /// The array and its indices.
    pub fn into_deck(self) -> Deck<'m> {
        self.deck
    }

    /// The first `i` that a pass does not come to.
    fn end(&self) -> usize {
        let each = self.chains as usize;
        self.deck.count() - (self.deck.count() - 1) / each * each
    }

    fn advance(&mut self, exchanges: usize) {
        self.next -= exchanges;
        if self.next == self.end() {
            self.next = self.deck.count();
        }
    }

    /// Exchanges from `from` downwards in `chains` chains.
    fn exchange(&mut self, from: usize, chains: u32, rounds: u64) {
        if rounds == 0 {
            return;
        }
        let parts = self.deck.parts();
        let (data, table) = (parts.data.as_mut_ptr(), parts.table.as_ptr());
        let from = from as u64;
        // SAFETY: array and table have at least `from` elements, which are more than the
        // exchanges, and every entry of the table is the index of an element (`Deck` has seen to
        // that).
        unsafe { (side_by_side(chains).call)(data, table, from, rounds) }
    }

    /// The integer that the last exchange put into its place.
    fn checksum(&self) -> u64 {
        let last = if self.next == self.deck.count() {
            self.end()
        } else {
            self.next
        };
        self.deck.int(Deck::DATA + last * INT).into()
    }
}

impl Kernel for Chains<'_> {
    /// Returns the integer that the last exchange put into its place.
    fn run(&mut self, operations: u64) -> u64 {
        let mut left = operations;
        let each = self.chains as usize;
        while left > 0 {
            let exchanges = left.min((self.next - self.end()) as u64) as usize;
            let rest = exchanges % each;
            self.exchange(self.next, self.chains, (exchanges / each) as u64);
            self.exchange(self.next - (exchanges - rest), 1, rest as u64);
            self.advance(exchanges);
            left -= exchanges as u64;
        }
        self.checksum()
    }

    fn work(&self) -> Work {
        Work::default().load(5, INT as u32).store(3, INT as u32)
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        for _ in 0..operations {
            let entry = self.deck.table() + (self.next - 1) * INT;
            sink(Access::load(entry, INT as u32));
            let here = Deck::DATA + (self.next - 1) * INT;
            let there = Deck::DATA + self.deck.int(entry) as usize * INT;
            trace_exchange(here, there, sink);
            on_deck(&mut self.deck, self.next, 1, None);
            self.advance(1);
        }
        self.checksum()
    }
}

/// The kernel of 1, 2, 4 or 8 chains.
pub(crate) fn side_by_side(chains: u32) -> Assembled<Exchanges> {
    assembled!(match chains {
        1 => linefill_chains1,
        2 => linefill_chains2,
        4 => linefill_chains4,
        _ => linefill_chains8,
    })
}

family! {
    /// The shape of the family: exchanges elements `i - 1` and `table[i - 1]` of `data` for `i` from
    /// `from` downwards, a round being an exchange of each chain.
    ///
    /// # Safety
    /// `data` and `table` have at least `from` elements, those of `data` writable; `from` is no less
    /// than the exchanges, and `rounds` is not 0. Every entry of the table that is read is the index
    /// of an element.
    pub type Exchanges =
        unsafe extern "sysv64" fn(data: *mut u32, table: *const u32, from: u64, rounds: u64) -> ();

    /// Each exchange waits for the one before.
    linefill_chains1
    /// 2 chains in turn.
    linefill_chains2
    /// 4 chains.
    linefill_chains4
    /// 8 chains.
    linefill_chains8
}

/// Bytes of a word.
const WORD: u32 = 8;

/// Walks along the rings of [`Lanes`], a step of each in turn. An operation is a step of one of
/// them. Steps in different rings do not wait for each other.
#[derive(Debug)]
pub struct ParallelChase<'m> {
    lanes: Lanes<'m>,
    next: usize,
}

impl<'m> ParallelChase<'m> {
    /// Begins with the first ring.
    pub fn new(lanes: Lanes<'m>) -> Self {
        ParallelChase { lanes, next: 0 }
    }

    /// The rings, at the elements where the walks stopped.
    pub fn into_lanes(self) -> Lanes<'m> {
        self.lanes
    }

    /// Takes `lanes` walks from the next one on `rounds` steps further.
    fn step(&mut self, lanes: usize, rounds: u64) {
        if lanes > 0 && rounds > 0 {
            let cursors = self.lanes.region_mut().bytes_mut().as_mut_ptr();
            // SAFETY: as many cursors as there are walks stand at the start of the region, which
            // is borrowed mutably and begins on a line; only `Lanes` writes them and the rings.
            unsafe {
                let cursors = cursors.cast::<u64>().add(self.next);
                linefill_lanes(cursors, lanes as u64, rounds);
            }
            self.next = (self.next + lanes) % self.lanes.lanes();
        }
    }

    fn stopped(&self) -> u64 {
        let count = self.lanes.lanes();
        self.lanes.cursor((self.next + count - 1) % count) as u64
    }
}

impl Kernel for ParallelChase<'_> {
    /// Returns the byte offset at which the walk stopped that took the last step.
    fn run(&mut self, operations: u64) -> u64 {
        let count = self.lanes.lanes();
        // The rest of a round that was begun, whole rounds, and the beginning of another.
        let rest = ((count - self.next) % count).min(operations as usize);
        self.step(rest, 1);
        let left = operations - rest as u64;
        self.step(count, left / count as u64);
        self.step((left % count as u64) as usize, 1);
        self.stopped()
    }

    fn work(&self) -> Work {
        Work::default().load(2, WORD).store(1, WORD)
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        for _ in 0..operations {
            let cursor = Lanes::cursor_place(self.next);
            sink(Access::load(cursor, WORD));
            sink(Access::load(self.lanes.cursor(self.next), WORD));
            sink(Access::store(cursor, WORD));
            self.lanes.step(self.next);
            self.next = (self.next + 1) % self.lanes.lanes();
        }
        self.stopped()
    }
}

unsafe extern "sysv64" {
    /// Takes each of `lanes` walks `rounds` steps further, a step of each in turn.
    ///
    /// # Safety
    /// `cursors` points to `lanes` writable words, each the address of a word that holds an
    /// address of such a word, and so on for `rounds` steps; neither number is 0.
    pub fn linefill_lanes(cursors: *mut u64, lanes: u64, rounds: u64);
}

/// The patterns on which the kernels are checked against their model.
mod checks {
    use crate::kernel::ParallelChase;
    use crate::kernel::verify::Oracle;
    use crate::pattern::Lanes;

    impl Oracle<'_, '_> {
        pub(crate) fn lanes(&mut self) {
            let shapes = [(1, 100), (2, 2), (7, 1000), (32, 1000), (64, 1000)];
            self.check("linefill_lanes", shapes, |&(lanes, lines), memory, then| {
                then(&mut ParallelChase::new(
                    Lanes::new(memory, lanes, lines, 13).ok()?,
                ))
            });
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec;

    use super::*;
    use crate::mem::Region;

    #[test]
    fn what_cannot_be_chained_is_refused_by_value() {
        let mut bytes = vec![0; 8192];
        let mut region = Region::new(&mut bytes).unwrap();
        let mut refused = |count, indices, chains| {
            let deck = Deck::new(region.reborrow(), count, indices, 1).unwrap();
            Chains::new(deck, chains).err()
        };
        let table = Indices::Precomputed;
        assert_eq!(refused(100, table, 3), Some(ChainsError::Chains(3)));
        assert_eq!(refused(8, table, 8), Some(ChainsError::Count(8)));
        assert_eq!(refused(9, table, 8), None);
        let generated = refused(100, Indices::Generated, 1);
        assert_eq!(generated, Some(ChainsError::NoTable));
    }
}
