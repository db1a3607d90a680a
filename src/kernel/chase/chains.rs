//! Interleaved chains of loads. [`Chains`]: exchanges that wait for each other in one or several chains
//! (Startin's explanation: chains overlap their waits for memory). [`ParallelChase`]: walks along several
//! rings, which show how many loads can be outstanding at a time.

// Calls assembly with indices that the deck vouches for, and with cursors that the rings vouch for.
#![allow(unsafe_code)]

use crate::kernel::compute::shuffle::reference::on_deck;
use crate::kernel::compute::shuffle::trace_exchange;
use crate::kernel::verify::Oracle;
use crate::kernel::{Access, Assembled, Kernel, Work};
use crate::pattern::{Deck, Indices, Lanes};

/// Bytes of an integer.
const INT: usize = 4;

/// Why a deck's exchanges cannot be distributed over chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChainsError {
    /// The number of chains, if it is not 1, 2, 4 or 8.
    Chains(u32),
    /// The deck's indices are generated, not precomputed.
    NoTable,
    /// The array has this many elements, which is not more than the number of chains.
    Count(usize),
}

messages! { ChainsError:
    ChainsError::Chains(chains) => ("{chains} chains are not possible, 1, 2, 4 and 8 are");
    ChainsError::NoTable => ("chains need precomputed indices");
    ChainsError::Count(count) => ("an array of {count} integers is too short for a round");
}

/// Shuffles the array of a [`Deck`] like [`Shuffle`](crate::kernel::Shuffle), in one or several chains.
/// An exchange begins only when the previous exchange of its chain has loaded the integer at its table
/// index. The chains are interleaved; a round is one exchange per chain. An operation is an exchange.
///
/// If a run ends within a round, the exchanges of the incomplete round form a single chain. A pass ends
/// when no more elements are left than there are chains.
#[derive(Debug)]
pub struct Chains<'m> {
    deck: Deck<'m>,
    chains: u32,
    /// The `i` of the next exchange.
    next: usize,
}

impl<'m> Chains<'m> {
    /// Creates the kernel; the first exchange is at the end of the array.
    ///
    /// # Errors
    /// If `chains` is not 1, 2, 4 or 8, if there is no index table, or if there are too few elements.
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

    /// Exchanges per pass over the array.
    pub fn pass(&self) -> u64 {
        (self.deck.count() - self.end()) as u64
    }

    /// Returns the array and its indices.
    pub fn into_deck(self) -> Deck<'m> {
        self.deck
    }

    /// The first `i` that a pass does not reach.
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

    /// Does `rounds` rounds of exchanges in `chains` chains, from `from` downwards.
    fn exchange(&mut self, from: usize, chains: u32, rounds: u64) {
        if rounds == 0 {
            return;
        }
        let parts = self.deck.parts();
        let (data, table) = (parts.data.as_mut_ptr(), parts.table.as_ptr());
        let from = from as u64;
        // SAFETY: array and table have at least `from` elements, which is more than the number of
        // exchanges, and every entry of the table is the index of an element (`Deck` has checked
        // that).
        unsafe { (side_by_side(chains).call)(data, table, from, rounds) }
    }

    /// Returns the integer that the last exchange put into its place.
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

/// Returns the kernel of 1, 2, 4 or 8 chains.
pub(crate) fn side_by_side(chains: u32) -> Assembled<Exchanges> {
    assembled!(match chains {
        1 => linefill_chains1,
        2 => linefill_chains2,
        4 => linefill_chains4,
        _ => linefill_chains8,
    })
}

family! {
    /// The function type of the family: exchanges elements `i - 1` and `table[i - 1]` of `data` for `i`
    /// from `from` downwards. A round is one exchange per chain.
    ///
    /// # Safety
    /// `data` and `table` have at least `from` elements, and `data` is writable; `from` is at least the
    /// number of exchanges, and `rounds` is not 0. Every entry of the table that is read is the index of
    /// an element.
    pub type Exchanges =
        unsafe extern "sysv64" fn(data: *mut u32, table: *const u32, from: u64, rounds: u64) -> ();

    /// Each exchange waits for the one before.
    linefill_chains1
    /// 2 interleaved chains.
    linefill_chains2
    /// 4 interleaved chains.
    linefill_chains4
    /// 8 interleaved chains.
    linefill_chains8
}

/// Bytes of a word.
const WORD: u32 = 8;

/// Interleaved walks along the rings of [`Lanes`]. An operation is a step of one walk. Steps in
/// different rings do not wait for each other.
#[derive(Debug)]
pub struct ParallelChase<'m> {
    lanes: Lanes<'m>,
    next: usize,
}

impl<'m> ParallelChase<'m> {
    /// Creates the walks; the first step is in the first ring.
    pub fn new(lanes: Lanes<'m>) -> Self {
        ParallelChase { lanes, next: 0 }
    }

    /// Advances `lanes` walks, from the next one on, by `rounds` steps each.
    fn step(&mut self, lanes: usize, rounds: u64) {
        if lanes > 0 && rounds > 0 {
            let cursors = self.lanes.region_mut().bytes_mut().as_mut_ptr();
            // SAFETY: the cursors, one per walk, are at the start of the region, which is borrowed
            // mutably and begins on a line; only `Lanes` writes them and the rings.
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
    /// Returns the byte offset at which the last walk to take a step stopped.
    fn run(&mut self, operations: u64) -> u64 {
        let count = self.lanes.lanes();
        // The rest of the current round, whole rounds, and the beginning of another round.
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
    /// Advances each of `lanes` walks by `rounds` steps, interleaved.
    ///
    /// # Safety
    /// `cursors` points to `lanes` writable words, each the address of a readable word that holds the
    /// address of another such word, for `rounds` steps; neither number is 0.
    pub fn linefill_lanes(cursors: *mut u64, lanes: u64, rounds: u64);
}

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
