//! The commonest caches, LRU of eight ways, without what other caches need.
//!
//! An [`Eight`] works on the sets of a level for a while, and leaves them as the level itself would
//! have: the lines, their order, and what was counted.

use super::counters::Counters;
use super::policy::{DIRTY, EMPTY, Entry, FLAG_BITS, LruOfEight, SetOfEight};
use super::reference::{Op, Reference};

/// The sets of a level, of which there are a power of two. Stores wait in their line, which a miss
/// brings in, and no prefetcher brings any.
pub(super) struct Eight<'a> {
    pub(super) line_bits: u32,
    pub(super) entries: &'a mut [[Entry; LruOfEight::WAYS]],
    pub(super) sets: &'a mut [SetOfEight],
    pub(super) outcomes: &'a mut [[u64; 2]; Op::COUNT],
    pub(super) lines: &'a mut Counters,
}

impl Eight<'_> {
    /// Serves a reference here and, as far as it has to, in the levels behind.
    #[inline(never)]
    pub(super) fn serve(&mut self, reference: &Reference, behind: &mut [Self]) {
        let line = reference.address >> self.line_bits;
        if line != reference.last() >> self.line_bits {
            self.serve_several(reference, behind);
        } else if let Some(old) = self.access(line, reference.op.writes()) {
            self.missed(old, reference, behind);
        } else {
            self.count(reference, true);
        }
    }

    /// Goes on with a reference to one line, which was not there and came in where `old` lay.
    #[inline(never)]
    fn missed(&mut self, mut old: Entry, reference: &Reference, mut behind: &mut [Self]) {
        let mut level = self;
        loop {
            level.filled(old, behind);
            level.count(reference, false);
            let Some((next, others)) = behind.split_first_mut() else {
                return;
            };
            (level, behind) = (next, others);
            match level.access(reference.address >> level.line_bits, false) {
                Some(left) => old = left,
                None => return level.count(reference, true),
            }
        }
    }

    /// Serves a reference to several lines: a level that has not all of them sends it on as a whole.
    #[inline(never)]
    fn serve_several(&mut self, reference: &Reference, mut behind: &mut [Self]) {
        let mut level = self;
        let mut write = reference.op.writes();
        loop {
            let first = reference.address >> level.line_bits;
            let last = reference.last() >> level.line_bits;
            let mut hit = true;
            for line in first..=last {
                if let Some(old) = level.access(line, write) {
                    hit = false;
                    level.filled(old, behind);
                }
            }
            level.count(reference, hit);
            write = false;
            match behind.split_first_mut() {
                Some((next, others)) if !hit => (level, behind) = (next, others),
                _ => return,
            }
        }
    }

    #[inline(always)]
    fn count(&mut self, reference: &Reference, hit: bool) {
        self.outcomes[reference.op as usize][usize::from(hit)] += 1;
    }

    /// Looks at one line, and brings it in if it is not there: says what lay in its place then.
    #[inline(always)]
    fn access(&mut self, line: u64, write: bool) -> Option<Entry> {
        let place = self.place(line);
        let entries = &mut self.entries[place];
        let (way, old) = self.sets[place].reach(entries, line << FLAG_BITS);
        entries[way] |= Entry::from(write) * DIRTY;
        old
    }

    /// Counts that a line came in where `old` lay, which is sent on if it was changed.
    #[inline(always)]
    fn filled(&mut self, old: Entry, behind: &mut [Self]) {
        self.lines.fills += 1;
        if old == EMPTY {
            return;
        }
        self.lines.evictions += 1;
        if old & DIRTY != 0 {
            self.lines.write_backs += 1;
            let address = old >> FLAG_BITS << self.line_bits;
            for level in behind {
                if level.takes_back(address) {
                    return;
                }
            }
        }
    }

    /// Takes in what a level before wrote back, if the line is there. That is no use of the line.
    #[inline(always)]
    fn takes_back(&mut self, address: u64) -> bool {
        let line = address >> self.line_bits;
        let place = self.place(line);
        let entries = &mut self.entries[place];
        let way = self.sets[place].find(entries, line << FLAG_BITS);
        match way {
            Some(way) => entries[way] |= DIRTY,
            None => self.lines.bus_writes += 1,
        }
        way.is_some()
    }

    #[inline(always)]
    fn place(&self, line: u64) -> usize {
        line as usize & (self.sets.len() - 1)
    }
}
