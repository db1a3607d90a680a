//! Round robin: a pointer a set.

use alloc::boxed::Box;
use alloc::vec;

use super::{Entry, Policy};

/// The ways filled last, set by set.
#[derive(Clone, Debug)]
pub(crate) struct RoundRobin {
    filled: Box<[u16]>,
}

impl RoundRobin {
    pub(crate) fn new(sets: usize) -> Self {
        RoundRobin {
            filled: vec![0; sets].into_boxed_slice(),
        }
    }
}

impl Policy for RoundRobin {
    fn used(&mut self, _: usize, _: usize) {}

    #[inline]
    fn victim(&mut self, set: usize, entries: &[Entry]) -> usize {
        let next = usize::from(self.filled[set]) + 1;
        let way = if next < entries.len() { next } else { 0 };
        self.filled[set] = way as u16;
        way
    }
}

#[cfg(test)]
mod tests {
    use super::super::EMPTY;
    use super::*;

    #[test]
    fn the_first_line_comes_into_way_1_and_hits_move_nothing() {
        let mut policy = RoundRobin::new(1);
        let mut entries = [EMPTY; 3];
        let mut ways = |line: u64| policy.reach(0, &mut entries, line << 2).0;
        assert_eq!([1, 2, 1, 1, 3].map(&mut ways), [1, 2, 1, 1, 0]);
        // Line 1 goes before line 2, whatever was used since.
        assert_eq!([4, 2, 1].map(&mut ways), [1, 2, 2]);
    }
}
