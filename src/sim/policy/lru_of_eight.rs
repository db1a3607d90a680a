//! Least recently used among eight ways, the most common number, without moving entries.
//!
//! A set keeps two words beside its entries. One has a byte of hash per way, so that a single word
//! comparison finds the only ways that can hold a line. The other has a bit for each pair of ways: which
//! of the two was used later.
//!
//! An [`Eight`] is such a cache without the features that other caches need. It borrows the sets of a
//! level and leaves them as the level itself would: the lines, their order and the counts.

use alloc::boxed::Box;
use alloc::vec;

use super::{DIRTY, EMPTY, Entry, FLAG_BITS, Policy, is};
use crate::sim::reference::{Counters, Op, Reference};

/// The state of all sets.
#[derive(Clone, Debug)]
pub(crate) struct LruOfEight {
    sets: Box<[SetOfEight]>,
}

/// Hashes and order of one set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SetOfEight {
    /// The byte at `way` is a hash of the line in that way; the byte of an empty way is meaningless.
    hashes: u64,
    /// The byte at `way` has a bit for each way that was used longer ago.
    order: u64,
}

/// A word in which every byte is 1.
const BYTES: u64 = 0x0101_0101_0101_0101;

/// Masks of one way.
#[derive(Clone, Copy)]
struct Masks {
    /// The byte of the way.
    own: u64,
    /// Everything but the bit of the way in each byte.
    of_others: u64,
}

/// The masks of all ways.
const MASKS: [Masks; LruOfEight::WAYS] = {
    let mut masks = [Masks { own: 0, of_others: 0 }; LruOfEight::WAYS];
    let mut way = 0;
    while way < LruOfEight::WAYS {
        masks[way] = Masks { own: 0xFF << (8 * way), of_others: !(BYTES << way) };
        way += 1;
    }
    masks
};

impl LruOfEight {
    /// Number of ways.
    pub(crate) const WAYS: usize = 8;

    pub(crate) fn new(sets: usize) -> Self {
        let set = SetOfEight {
            hashes: 0,
            // The last way is the oldest.
            order: 0x0080_C0E0_F0F8_FCFE,
        };
        LruOfEight { sets: vec![set; sets].into_boxed_slice() }
    }

    /// Returns the state of all sets.
    pub(crate) fn sets(&mut self) -> &mut [SetOfEight] {
        &mut self.sets
    }
}

/// Returns a word in which every byte is the same hash of the whole key.
#[inline]
const fn hashes(key: Entry) -> u64 {
    // The multiplier is 2^64 divided by the golden ratio: consecutive keys get hashes far apart.
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) * BYTES
}

impl SetOfEight {
    /// Returns the way of the line of `key`.
    #[inline]
    pub(crate) fn find(&self, entries: &[Entry; LruOfEight::WAYS], key: Entry) -> Option<usize> {
        let mut candidates = zeros(self.hashes ^ hashes(key));
        while candidates != 0 {
            let way = (candidates.trailing_zeros() / 8) as usize;
            if is(entries[way], key) {
                return Some(way);
            }
            candidates &= candidates - 1;
        }
        None
    }

    /// Looks up a line, and records its use on a hit.
    #[inline(always)]
    fn hit(&mut self, entries: &[Entry; LruOfEight::WAYS], key: Entry) -> Option<usize> {
        let way = self.find(entries, key)?;
        self.used(way);
        Some(way)
    }

    /// Brings in a line that is in no way. Returns its way and the entry that it replaced.
    #[inline(always)]
    fn bring(&mut self, entries: &mut [Entry; LruOfEight::WAYS], key: Entry) -> (usize, Entry) {
        let way = self.renew_oldest();
        let differs = self.hashes ^ hashes(key);
        self.hashes ^= differs & MASKS[way].own;
        (way, core::mem::replace(&mut entries[way], key))
    }

    /// Makes `way` the most recently used.
    #[inline]
    fn used(&mut self, way: usize) {
        let masks = &MASKS[way % LruOfEight::WAYS];
        self.order = (self.order | masks.own) & masks.of_others;
    }

    /// Makes `way` the least recently used.
    fn forgotten(&mut self, way: usize) {
        let masks = &MASKS[way];
        self.order = (self.order | !masks.of_others) & !masks.own;
    }

    /// Makes the least recently used way the most recently used, and returns it.
    #[inline]
    fn renew_oldest(&mut self) -> usize {
        let oldest = (zeros(self.order).trailing_zeros() / 8) as usize % LruOfEight::WAYS;
        self.used(oldest);
        oldest
    }
}

/// Returns a word with the high bit of each zero byte of `word`, and possibly of some bytes above the lowest
/// zero byte.
#[inline]
const fn zeros(word: u64) -> u64 {
    word.wrapping_sub(BYTES) & !word & BYTES << 7
}

/// Returns the entries of a set, which are eight: [`super::super::cache::Cache::new`] chooses this
/// policy only for eight ways.
#[inline]
fn eight(entries: &mut [Entry]) -> &mut [Entry; LruOfEight::WAYS] {
    entries.first_chunk_mut().expect("a set of eight ways")
}

impl Policy for LruOfEight {
    #[inline]
    fn entries(entries: &mut [Entry], _ways: usize, set: usize) -> &mut [Entry] {
        &mut entries.as_chunks_mut::<{ LruOfEight::WAYS }>().0[set]
    }

    #[inline]
    fn used(&mut self, set: usize, way: usize) {
        self.sets[set].used(way);
    }

    #[inline]
    fn victim(&mut self, set: usize, _: &[Entry]) -> usize {
        self.sets[set].renew_oldest()
    }

    #[inline]
    fn find(&self, set: usize, entries: &[Entry], key: Entry) -> Option<usize> {
        let entries = entries.first_chunk().expect("a set of eight ways");
        self.sets[set].find(entries, key)
    }

    #[inline]
    fn hit(&mut self, set: usize, entries: &mut [Entry], key: Entry) -> Option<usize> {
        self.sets[set].hit(eight(entries), key)
    }

    #[inline(always)]
    fn reach(&mut self, set: usize, entries: &mut [Entry], key: Entry) -> (usize, Option<Entry>) {
        let (set, entries) = (&mut self.sets[set], eight(entries));
        if let Some(way) = set.hit(entries, key) {
            return (way, None);
        }
        let (way, old) = set.bring(entries, key);
        (way, Some(old))
    }

    /// Puts the empty way last in the order, so that it is filled first.
    fn remove(&mut self, set: usize, entries: &mut [Entry], way: usize) {
        entries[way] = EMPTY;
        self.sets[set].forgotten(way);
    }
}

/// The sets of a write-back, write-allocate level without prefetchers. Their number is a power of two.
pub(in crate::sim) struct Eight<'a> {
    pub(in crate::sim) line_bits: u32,
    pub(in crate::sim) entries: &'a mut [[Entry; LruOfEight::WAYS]],
    pub(in crate::sim) sets: &'a mut [SetOfEight],
    pub(in crate::sim) outcomes: &'a mut [[u64; 2]; Op::COUNT],
    pub(in crate::sim) lines: &'a mut Counters,
}

impl Eight<'_> {
    /// Serves a reference to one line in this level and, as far as necessary, in the levels beyond.
    #[inline(always)]
    pub(in crate::sim) fn serve(&mut self, line: u64, op: Op, behind: &mut [Self]) {
        if self.hit(line, op.writes()) {
            self.count(op, true);
        } else {
            self.missed(line, op, behind);
        }
    }

    /// Continues with a reference to one line, which missed. Not inlined, because a hit needs fewer
    /// registers.
    #[inline(never)]
    fn missed(&mut self, line: u64, op: Op, behind: &mut [Self]) {
        let address = line << self.line_bits;
        self.bring(line, op.writes(), behind);
        self.count(op, false);
        let mut rest = behind;
        while let Some((level, behind)) = rest.split_first_mut() {
            let line = address >> level.line_bits;
            let hit = level.hit(line, false);
            level.count(op, hit);
            if hit {
                return;
            }
            level.bring(line, false, behind);
            rest = behind;
        }
    }

    /// Serves a reference to two lines that changes nothing in this level but at the last one.
    #[inline(never)]
    pub(in crate::sim) fn serve_last(
        &mut self,
        last: u64,
        reference: &Reference,
        behind: &mut [Self],
    ) {
        let hit = self.hit(last, reference.op.writes());
        self.count(reference.op, hit);
        if !hit {
            self.bring(last, reference.op.writes(), behind);
            if let Some((level, behind)) = behind.split_first_mut() {
                level.serve_several(reference, false, behind);
            }
        }
    }

    /// Serves a reference to several lines, which become dirty in this level with `write`. A level that lacks any
    /// of them passes the reference on as a whole.
    #[inline(never)]
    pub(in crate::sim) fn serve_several(
        &mut self,
        reference: &Reference,
        mut write: bool,
        mut behind: &mut [Self],
    ) {
        let mut level = self;
        loop {
            let [mut line, last] = reference.lines(level.line_bits);
            let mut hit = true;
            loop {
                if !level.hit(line, write) {
                    hit = false;
                    level.bring(line, write, behind);
                }
                if line == last {
                    break;
                }
                line += 1;
            }
            level.count(reference.op, hit);
            write = false;
            match behind.split_first_mut() {
                Some((next, others)) if !hit => (level, behind) = (next, others),
                _ => return,
            }
        }
    }

    #[inline(always)]
    fn count(&mut self, op: Op, hit: bool) {
        self.outcomes[op as usize][usize::from(hit)] += 1;
    }

    /// Looks up one line, and records its use on a hit.
    #[inline(always)]
    fn hit(&mut self, line: u64, write: bool) -> bool {
        let place = self.place(line);
        let entries = &mut self.entries[place];
        let way = self.sets[place].hit(entries, line << FLAG_BITS);
        if let Some(way) = way {
            entries[way] |= Entry::from(write) * DIRTY;
        }
        way.is_some()
    }

    /// Brings in a line that this level lacks.
    #[inline(always)]
    fn bring(&mut self, line: u64, write: bool, behind: &mut [Self]) {
        let place = self.place(line);
        let entries = &mut self.entries[place];
        let (way, old) = self.sets[place].bring(entries, line << FLAG_BITS);
        entries[way] |= Entry::from(write) * DIRTY;
        self.filled(old, behind);
    }

    /// Counts a fill that replaced `old`, and passes `old` on if it is dirty.
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

    /// Takes the data that a level before wrote back, if the line is here; returns whether it is. This
    /// does not count as a use of the line.
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

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::super::{Lru, find};
    use super::*;
    use crate::pattern::Rng;

    /// Returns the entries with their flags, in order of use.
    fn in_order(policy: &LruOfEight, entries: &[Entry]) -> Vec<Entry> {
        let order = policy.sets[0].order;
        let mut ways: Vec<usize> = (0..8).collect();
        ways.sort_by_key(|way| core::cmp::Reverse(order.to_le_bytes()[*way].count_ones()));
        ways.into_iter().map(|way| entries[way]).collect()
    }

    #[test]
    fn it_is_lru_by_order_of_entries_whatever_happens() {
        for lines in [4, 9, 20, 1000] {
            let mut rng = Rng::new(lines as u64);
            let mut policy = LruOfEight::new(1);
            let mut entries = [EMPTY; 8];
            let mut list = [EMPTY; 8];
            for _ in 0..4000 {
                let key = (rng.below(lines) as u64) << FLAG_BITS;
                match rng.below(4) {
                    0 => {
                        if let Some(way) = find(&entries, key) {
                            policy.remove(0, &mut entries, way);
                            let way = find(&list, key).unwrap();
                            Lru.remove(0, &mut list, way);
                        }
                    }
                    1 => {
                        let hit = policy.hit(0, &mut entries, key);
                        assert_eq!(hit.is_some(), Lru.hit(0, &mut list, key).is_some());
                    }
                    _ => {
                        let (way, old) = policy.reach(0, &mut entries, key);
                        let (front, gone) = Lru.reach(0, &mut list, key);
                        assert_eq!((entries[way], old), (list[front], gone));
                        let dirty = rng.below(2) as u64;
                        entries[way] |= dirty;
                        list[front] |= dirty;
                    }
                }
                assert_eq!(in_order(&policy, &entries), list);
            }
        }
    }
}
