//! Startin's shuffles: shuffle an array in place, one exchange after the other or in stages.

// Calls assembly with an array whose indices the deck guarantees.
#![allow(unsafe_code)]

pub(crate) mod chains;
pub(crate) mod reference;
use crate::kernel::{Access, Kernel, Work};
use crate::pattern::{Deck, Indices};

/// Bytes of an integer.
const INT: usize = 4;

/// The code that yields an index, and its place in the shuffle's loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Op {
    /// Assembled into the loop: the same instructions with every compiler.
    Assembled,
    /// Like [`Assembled`](Op::Assembled), with four exchanges per iteration when indices are looked up one
    /// by one, as compilers unroll the loop.
    Unrolled,
    /// A closure that the compiler of this crate compiles into the loop as it chooses.
    Closure,
    /// A closure called through a pointer, `dyn FnMut`.
    Called,
}

/// Why a shuffle cannot be done in stages of some length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShuffleError {
    /// A stage has no index, or is longer than the buffer or the array allows.
    Stage {
        /// The requested number of indices per stage.
        length: usize,
        /// The maximum number.
        most: usize,
    },
}

messages! { ShuffleError:
    ShuffleError::Stage { length, most } => (
        "stages of {length} indices are not possible here, 1 to {most} are"
    );
}

/// Shuffles the array of a [`Deck`] from its end downwards, round and round. An operation is an exchange.
///
/// The end of a run cuts a stage short, which changes neither indices nor exchanges. As in the post, a pass
/// in stages of `length` ends when `length + 1` or fewer elements are left, and these are not exchanged.
#[derive(Debug)]
pub struct Shuffle<'m> {
    deck: Deck<'m>,
    stage: Option<usize>,
    op: Op,
    /// The `i` of the next exchange.
    next: usize,
}

impl<'m> Shuffle<'m> {
    /// Creates a shuffle with single exchanges, from the end of the array.
    pub fn new(deck: Deck<'m>) -> Self {
        Shuffle { next: deck.count(), stage: None, op: Op::Assembled, deck }
    }

    /// Returns the shuffle in stages of `length` indices, again from the end of the array, because the end
    /// of a pass depends on the stages.
    ///
    /// # Errors
    /// If `length` is 0, or more than the buffer or the array allows.
    pub fn staged(self, length: usize) -> Result<Self, ShuffleError> {
        let most = Deck::LONGEST_STAGE.min(self.deck.count() - 2);
        if length == 0 || length > most {
            return Err(ShuffleError::Stage { length, most });
        }
        Ok(Shuffle { next: self.deck.count(), stage: Some(length), ..self })
    }

    /// Returns the shuffle with another code for the index.
    pub fn with_op(self, op: Op) -> Self {
        Shuffle { op, ..self }
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
        match self.stage {
            None => 1,
            Some(length) => {
                let count = self.deck.count();
                count - (count - length - 1).div_ceil(length) * length
            }
        }
    }

    fn advance(&mut self, exchanges: usize) {
        self.next -= exchanges;
        if self.next == self.end() {
            self.next = self.deck.count();
        }
    }

    /// Makes `exchanges` exchanges, at most to the end of the pass.
    fn exchange(&mut self, exchanges: usize) {
        let from = self.next;
        match (self.op, self.stage) {
            (Op::Unrolled, None) if self.deck.indices() == Indices::Precomputed => {
                let rest = exchanges % 4;
                self.unrolled(exchanges / 4);
                self.assembled(from - (exchanges - rest), rest, None);
            }
            (Op::Assembled | Op::Unrolled, None) => self.assembled(from, exchanges, None),
            (Op::Assembled | Op::Unrolled, Some(length)) => {
                let rest = exchanges % length;
                self.assembled(from, exchanges / length, Some(length));
                self.assembled(from - (exchanges - rest), rest.min(1), Some(rest));
            }
            (Op::Closure, stage) => reference::on_deck(&mut self.deck, from, exchanges, stage),
            (Op::Called, stage) => {
                reference::on_deck_called(&mut self.deck, from, exchanges, stage);
            }
        }
    }

    fn unrolled(&mut self, fours: usize) {
        if fours == 0 {
            return;
        }
        let from = self.next as u64;
        let parts = self.deck.parts();
        let (data, table) = (parts.data.as_mut_ptr(), parts.table.as_ptr());
        // SAFETY: as in `assembled`.
        unsafe { linefill_shuffle_unrolled(data, table, from, fours as u64) };
    }

    /// Makes `count` exchanges, or stages of `length` exchanges.
    fn assembled(&mut self, from: usize, count: usize, length: Option<usize>) {
        if count == 0 {
            return;
        }
        let (from, count, length) = (from as u64, count as u64, length.map(|length| length as u64));
        let indices = self.deck.indices();
        let parts = self.deck.parts();
        let (data, table) = (parts.data.as_mut_ptr(), parts.table.as_ptr());
        let generator = parts.generator.as_mut_ptr().cast();
        let buffer = parts.buffer.as_mut_ptr();
        // SAFETY: the array has at least `from` elements and so has the table, whose entry i - 1
        // is below i (`Deck` has checked that); `count` is not 0 (checked above), and `from` is more than the
        // number of exchanges (`run` has checked that). The generator is a line of the region and has a
        // probe. The buffer has room for the longest stage; `staged` has checked that no stage is longer, and
        // its `length` is not 0: a rest of 0 is 0 stages.
        unsafe {
            match (indices, length) {
                (Indices::Precomputed, None) => linefill_shuffle_table(data, table, from, count),
                (Indices::Generated, None) => linefill_shuffle_random(data, generator, from, count),
                (Indices::Precomputed, Some(length)) => {
                    linefill_staged_table(data, table, from, count, buffer, length);
                }
                (Indices::Generated, Some(length)) => {
                    linefill_staged_random(data, generator, from, count, buffer, length);
                }
            }
        }
    }

    /// Returns the integer that the last exchange put into its place.
    fn checksum(&self) -> u64 {
        let last = if self.next == self.deck.count() { self.end() } else { self.next };
        self.deck.int(Deck::DATA + last * INT).into()
    }
}

impl Kernel for Shuffle<'_> {
    /// Returns the integer that the last exchange put into its place.
    fn run(&mut self, operations: u64) -> u64 {
        let mut left = operations;
        while left > 0 {
            let exchanges = left.min((self.next - self.end()) as u64);
            self.exchange(exchanges as usize);
            self.advance(exchanges as usize);
            left -= exchanges;
        }
        self.checksum()
    }

    /// Returns the work of an exchange, including its index and, in stages, the buffer. A draw that has to
    /// be repeated counts once.
    fn work(&self) -> Work {
        let drawn = match self.deck.indices() {
            Indices::Precomputed => Work::default().load(1, 4),
            Indices::Generated => Work::default().load(1, 4).load(1, 8).store(1, 8),
        };
        let staged = u32::from(self.stage.is_some());
        drawn.load(4 + staged, 4).store(3 + staged, 4)
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        let mut left = operations;
        while left > 0 {
            let room = (self.next - self.end()) as u64;
            let stage = self.stage.unwrap_or(1) as u64;
            let exchanges = left.min(room).min(stage) as usize;
            self.trace_stage(exchanges, sink);
            self.advance(exchanges);
            left -= exchanges as u64;
        }
        self.checksum()
    }
}

impl Shuffle<'_> {
    /// Traces and makes the exchanges of a stage, or a single exchange.
    fn trace_stage(&mut self, exchanges: usize, sink: &mut dyn FnMut(Access)) {
        let int = INT as u32;
        let buffered = self.stage.is_some();
        let mut random = self.deck.generator();
        let mut indices = [0; Deck::LONGEST_STAGE];
        for (j, index) in indices[..exchanges].iter_mut().enumerate() {
            let i = self.next - j;
            *index = match self.deck.indices() {
                Indices::Precomputed => {
                    let entry = self.deck.table() + (i - 1) * INT;
                    sink(Access::load(entry, int));
                    self.deck.int(entry)
                }
                Indices::Generated => {
                    sink(Access::load(Deck::PROBE, int));
                    sink(Access::load(Deck::SEED, 8));
                    sink(Access::store(Deck::SEED, 8));
                    random.next_int_below(i as u32)
                }
            };
            if buffered {
                sink(Access::store(Deck::BUFFER + j * INT, int));
            }
        }
        for (j, &index) in indices[..exchanges].iter().enumerate() {
            if buffered {
                sink(Access::load(Deck::BUFFER + j * INT, int));
            }
            let here = Deck::DATA + (self.next - j - 1) * INT;
            trace_exchange(here, Deck::DATA + index as usize * INT, sink);
        }
        reference::on_deck(&mut self.deck, self.next, exchanges, self.stage);
    }
}

/// Reports the accesses of an exchange of the integers at bytes `here` and `there`.
pub(crate) fn trace_exchange(here: usize, there: usize, sink: &mut dyn FnMut(Access)) {
    let int = INT as u32;
    sink(Access::load(there, int));
    sink(Access::load(here, int));
    sink(Access::store(here, int));
    for place in [there, here] {
        sink(Access::load(place, int));
        sink(Access::store(place, int));
    }
}

unsafe extern "sysv64" {
    /// Exchanges elements `i - 1` and `table[i - 1]` of `data`, for `exchanges` numbers `i` from
    /// `from` downwards.
    ///
    /// # Safety
    /// `data` and `table` have at least `from` elements, and `data` is writable; `from` is more
    /// than `exchanges`, which is not 0. An index of `i` or more ends in `ud2`.
    pub fn linefill_shuffle_table(data: *mut u32, table: *const u32, from: u64, exchanges: u64);

    /// Like [`linefill_shuffle_table`], with four exchanges per iteration and `fours` iterations.
    ///
    /// # Safety
    /// As for [`linefill_shuffle_table`] with `4 * fours` exchanges.
    pub fn linefill_shuffle_unrolled(data: *mut u32, table: *const u32, from: u64, fours: u64);

    /// Like [`linefill_shuffle_table`], with indices drawn by the generator whose seed and probe are at
    /// `generator`.
    ///
    /// # Safety
    /// As for [`linefill_shuffle_table`], and `from` is no more than 2^31 - 1; `generator` points
    /// to 16 writable bytes, and is aligned to 8. A probe of 0 ends in `ud2`.
    pub fn linefill_shuffle_random(data: *mut u32, generator: *mut u64, from: u64, exchanges: u64);

    /// Like [`linefill_shuffle_table`], in `stages` stages: copies `length` indices to `buffer`, then uses
    /// them.
    ///
    /// # Safety
    /// As for [`linefill_shuffle_table`] with `stages * length` exchanges; `length` is not 0; `buffer` has
    /// `length` writable elements that overlap nothing else.
    pub fn linefill_staged_table(
        data: *mut u32,
        table: *const u32,
        from: u64,
        stages: u64,
        buffer: *mut u32,
        length: u64,
    );

    /// Like [`linefill_shuffle_random`], in stages as [`linefill_staged_table`].
    ///
    /// # Safety
    /// As for [`linefill_shuffle_random`] and [`linefill_staged_table`].
    pub fn linefill_staged_random(
        data: *mut u32,
        generator: *mut u64,
        from: u64,
        stages: u64,
        buffer: *mut u32,
        length: u64,
    );
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::mem::Region;
    use std::vec;
    use std::vec::Vec;

    const COUNT: usize = 1000;

    fn with<R>(indices: Indices, then: impl FnOnce(Shuffle<'_>) -> R) -> R {
        let mut bytes = vec![0; Deck::span(COUNT, indices) + 64];
        let region = Region::new(&mut bytes).unwrap();
        then(Shuffle::new(Deck::new(region, COUNT, indices, 9).unwrap()))
    }

    fn ints(deck: &Deck<'_>) -> Vec<u32> {
        (0..COUNT).map(|at| deck.int(Deck::DATA + at * INT)).collect()
    }

    #[test]
    fn a_pass_is_a_permutation_but_for_the_integers_exchanged_with_themselves() {
        for indices in [Indices::Precomputed, Indices::Generated] {
            let (mut before, mut after) = with(indices, |mut shuffle| {
                let before = ints(&shuffle.deck);
                shuffle.run(shuffle.pass());
                (before, ints(&shuffle.into_deck()))
            });
            assert_ne!(before, after);
            let zeros = after.iter().filter(|int| **int == 0).count();
            assert!((1..40).contains(&zeros), "about ln 1000 are: {zeros}");
            before.sort_unstable();
            after.sort_unstable();
            // All other integers are there once more.
            let mut left = before.iter();
            for int in after.iter().filter(|int| **int != 0) {
                assert!(left.any(|other| other == int), "{int} came from nowhere");
            }
        }
    }

    #[test]
    fn stages_change_nothing_but_leave_a_tail() {
        for indices in [Indices::Precomputed, Indices::Generated] {
            let simple = |exchanges| {
                with(indices, |mut shuffle| {
                    shuffle.run(exchanges);
                    ints(&shuffle.into_deck())
                })
            };
            for length in [1, 8, 64, 256] {
                let (pass, staged) = with(indices, |shuffle| {
                    let mut shuffle = shuffle.staged(length).unwrap();
                    let pass = shuffle.pass();
                    shuffle.run(pass);
                    (pass, ints(&shuffle.into_deck()))
                });
                let left = COUNT - pass as usize;
                assert!((2..=length + 1).contains(&left), "{length}: {left}");
                assert_eq!(staged, simple(pass), "{length}");
            }
        }
    }

    #[test]
    fn every_way_to_the_index_does_the_same() {
        for indices in [Indices::Precomputed, Indices::Generated] {
            for length in [None, Some(16)] {
                let shuffled = |op| {
                    with(indices, |shuffle| {
                        let shuffle = shuffle.with_op(op);
                        let mut shuffle = match length {
                            None => shuffle,
                            Some(length) => shuffle.staged(length).unwrap(),
                        };
                        let proofs = [7, 30, 1500].map(|exchanges| shuffle.run(exchanges));
                        (proofs, ints(&shuffle.into_deck()))
                    })
                };
                let assembled = shuffled(Op::Assembled);
                assert_eq!(shuffled(Op::Closure), assembled);
                assert_eq!(shuffled(Op::Called), assembled);
            }
        }
    }

    #[test]
    fn impossible_stages_are_refused_by_value() {
        for length in [0, 257] {
            let refused = with(Indices::Generated, |shuffle| shuffle.staged(length).err());
            assert_eq!(refused, Some(ShuffleError::Stage { length, most: 256 }));
        }
    }
}
