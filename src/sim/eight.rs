//! The commonest caches, LRU of eight ways, with nothing around them that costs time.
//!
//! An [`Eight`] works on the sets of a level for a while, and leaves them as the level itself would
//! have: the lines, their order, and what was counted.

use super::counters::Counters;
use super::policy::{DIRTY, EMPTY, Entry, FLAG_BITS, LruOfEight, SetOfEight};
use super::reference::{Op, Reference};
use super::run::Newest;

/// The sets of a level, of which there are a power of two. Stores wait in their line, which a miss
/// brings in, and no prefetcher brings any.
pub(super) struct Eight<'a> {
    pub(super) line_bits: u32,
    /// The entry of each set that was used last; none behind the first level, where nobody asks.
    pub(super) newest: &'a mut [Entry],
    pub(super) entries: &'a mut [[Entry; LruOfEight::WAYS]],
    pub(super) sets: &'a mut [SetOfEight],
    pub(super) outcomes: &'a mut [[u64; 2]; Op::COUNT],
    pub(super) lines: &'a mut Counters,
}

impl Eight<'_> {
    #[inline]
    pub(super) fn newest(&self) -> Newest<'_> {
        Newest {
            entries: self.newest,
            line_bits: self.line_bits,
        }
    }

    /// Serves a reference here and, as far as it has to, in the levels behind.
    #[inline(never)]
    pub(super) fn serve(&mut self, reference: &Reference, behind: &mut [Self]) {
        let line = reference.address >> self.line_bits;
        let write = reference.op.writes();
        if line != reference.last() >> self.line_bits {
            let hit = self.look_up(reference, write, behind);
            serve_behind(hit, reference, behind);
        } else if let Some(old) = self.access(line, write) {
            self.missed(old, reference, behind);
        } else {
            self.count(reference, true);
        }
    }

    /// Goes on with a reference to one line, which was not there and came in where `old` lay.
    #[inline(never)]
    fn missed(&mut self, old: Entry, reference: &Reference, behind: &mut [Self]) {
        self.filled(old, behind);
        self.count(reference, false);
        serve_behind(false, reference, behind);
    }

    /// Looks at the lines of a reference, and counts it. Says whether all of them were there.
    #[inline]
    fn look_up(&mut self, reference: &Reference, write: bool, behind: &mut [Self]) -> bool {
        let mut line = reference.address >> self.line_bits;
        let last = reference.last() >> self.line_bits;
        let mut hit = true;
        loop {
            if let Some(old) = self.access(line, write) {
                hit = false;
                self.filled(old, behind);
            }
            if line == last {
                break;
            }
            line += 1;
        }
        self.count(reference, hit);
        hit
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
        let entry = entries[way] | Entry::from(write) * DIRTY;
        entries[way] = entry;
        if let Some(newest) = self.newest.get_mut(place) {
            *newest = entry;
        }
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

/// Serves a reference in one level after the other until one has it all, as `hit` says of the first.
#[inline(always)]
fn serve_behind(mut hit: bool, reference: &Reference, mut levels: &mut [Eight<'_>]) {
    while let (false, Some((level, behind))) = (hit, levels.split_first_mut()) {
        hit = level.look_up(reference, false, behind);
        levels = behind;
    }
}
