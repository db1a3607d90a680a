//! Exchanges that wait for each other in one or several chains (Startin's explanation: chains overlap
//! their waits for memory).

// Calls assembly with indices that the deck vouches for.
#![allow(unsafe_code)]

use super::reference::on_deck;
use super::trace_exchange;
use crate::kernel::{Access, Kernel, Work};
use crate::pattern::{Deck, Indices};

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
        Ok(Chains { next: deck.count(), deck, chains })
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
        let last = if self.next == self.deck.count() { self.end() } else { self.next };
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

    /// Returns the kernel of 1, 2, 4 or 8 chains, which are interleaved.
    fn side_by_side(chains: u32) {
        1 => linefill_chains1,
        2 => linefill_chains2,
        4 => linefill_chains4,
        _ => linefill_chains8,
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
