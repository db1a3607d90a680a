//! Whole passes of a shuffle, the unit in which its source counts.

use crate::kernel::{Access, Kernel, Shuffle, Work};

/// A [`Shuffle`] in which an operation is a pass over the array.
///
/// In a small array the exchanges of one stretch may take twice as long as those of the next. A sample
/// shorter than a pass would show one stretch or the other.
#[derive(Debug)]
pub struct Passes<'m> {
    shuffle: Shuffle<'m>,
}

/// A pass reads more bytes than [`Work`] can declare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TooLong {
    /// Exchanges per pass.
    pub exchanges: u64,
}

messages! { TooLong:
    TooLong { exchanges } => (
        "a pass of {exchanges} exchanges moves more bytes than 32 bits count"
    );
}

impl<'m> Passes<'m> {
    /// Creates passes of a shuffle. The shuffle's position counts as the beginning of a pass.
    ///
    /// # Errors
    /// If a pass reads more than 2^32 - 1 bytes.
    pub fn new(shuffle: Shuffle<'m>) -> Result<Self, TooLong> {
        let exchanges = shuffle.pass();
        let bytes = u64::from(shuffle.work().bytes_read).saturating_mul(exchanges);
        if bytes > u64::from(u32::MAX) {
            return Err(TooLong { exchanges });
        }
        Ok(Passes { shuffle })
    }
}

impl Kernel for Passes<'_> {
    /// Returns the integer that the last exchange put into its place.
    fn run(&mut self, operations: u64) -> u64 {
        let exchanges = self.shuffle.pass().saturating_mul(operations);
        self.shuffle.run(exchanges)
    }

    fn work(&self) -> Work {
        self.shuffle.work().times(self.shuffle.pass() as u32)
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        let exchanges = self.shuffle.pass().saturating_mul(operations);
        self.shuffle.trace(exchanges, sink)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::mem::Region;
    use crate::pattern::{Deck, Indices};
    use std::vec;

    #[test]
    fn a_pass_does_what_its_exchanges_do() {
        let mut bytes = vec![0; 8192];
        let mut region = Region::new(&mut bytes).unwrap();
        let mut shuffle = || {
            let deck = Deck::new(region.reborrow(), 100, Indices::Precomputed, 1).unwrap();
            let mut shuffle = Shuffle::new(deck).staged(8).unwrap();
            (shuffle.work(), shuffle.run(2 * 96))
        };
        let (each, checksum) = shuffle();
        let deck = Deck::new(region.reborrow(), 100, Indices::Precomputed, 1).unwrap();
        let mut passes = Passes::new(Shuffle::new(deck).staged(8).unwrap()).unwrap();
        assert_eq!(passes.work().loads, 96 * each.loads);
        let mut traced = 0;
        assert_eq!(passes.run(2), checksum);
        passes.trace(1, &mut |_| traced += 1);
        assert_eq!(traced, 96 * (each.loads + each.stores));
    }
}
