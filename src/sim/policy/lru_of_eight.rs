//! Least recently used among eight ways, the most common number, without moving entries.
//!
//! A set keeps two words beside its entries. One has a byte of hash per way, so that a single word
//! comparison finds the only ways that can hold a line. The other has the ways in order of use.
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
    /// Eight way numbers of four bits each; the way used last is in the lowest bits.
    order: u32,
}

/// A word in which every byte is 1.
const BYTES: u64 = 0x0101_0101_0101_0101;

/// A word in which every group of four bits is 1.
const NIBBLES: u32 = 0x1111_1111;

impl LruOfEight {
    /// Number of ways.
    pub(crate) const WAYS: usize = 8;

    pub(crate) fn new(sets: usize) -> Self {
        let set = SetOfEight {
            hashes: 0,
            order: 0x7654_3210,
        };
        LruOfEight {
            sets: vec![set; sets].into_boxed_slice(),
        }
    }

    /// Returns the state of all sets.
    pub(crate) fn sets(&mut self) -> &mut [SetOfEight] {
        &mut self.sets
    }
}

/// Returns eight bits that depend on the whole key.
#[inline]
const fn hash(key: Entry) -> u64 {
    // The multiplier is 2^64 divided by the golden ratio: consecutive keys get hashes far apart.
    key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56
}

impl SetOfEight {
    /// Returns the way of the line of `key`.
    #[inline]
    pub(crate) fn find(&self, entries: &[Entry; LruOfEight::WAYS], key: Entry) -> Option<usize> {
        self.find_hashed(entries, key, hash(key))
    }

    /// Looks up a line and records its use; brings the line in on a miss, as [`Policy::reach`] does.
    #[inline(always)]
    pub(crate) fn reach(
        &mut self,
        entries: &mut [Entry; LruOfEight::WAYS],
        key: Entry,
    ) -> (usize, Option<Entry>) {
        let hash = hash(key);
        if let Some(way) = self.find_hashed(entries, key, hash) {
            self.used(way);
            return (way, None);
        }
        let way = self.renew_oldest();
        let byte = way as u32 * 8;
        self.hashes = self.hashes & !(0xFF << byte) | hash << byte;
        (way, Some(core::mem::replace(&mut entries[way], key)))
    }

    /// Returns the way of the line of `key`, whose hash is `hash`.
    #[inline]
    fn find_hashed(
        &self,
        entries: &[Entry; LruOfEight::WAYS],
        key: Entry,
        hash: u64,
    ) -> Option<usize> {
        let differs = self.hashes ^ (hash * BYTES);
        // The high bit of each zero byte, and possibly of some bytes above the lowest zero byte.
        let mut candidates = differs.wrapping_sub(BYTES) & !differs & BYTES << 7;
        while candidates != 0 {
            let way = (candidates.trailing_zeros() / 8) as usize;
            if is(entries[way], key) {
                return Some(way);
            }
            candidates &= candidates - 1;
        }
        None
    }

    /// Returns four times the position of `way` in the order.
    #[inline]
    fn place(&self, way: usize) -> u32 {
        let differs = self.order ^ (way as u32 * NIBBLES);
        let zero = differs.wrapping_sub(NIBBLES) & !differs & NIBBLES << 3;
        zero.trailing_zeros() & !3
    }

    /// Makes `way` the most recently used.
    #[inline]
    fn used(&mut self, way: usize) {
        // Mask of all bits up to the way's position: these ways move up by one, and the way goes below
        // them.
        let moved = (0x10_u64 << self.place(way)).wrapping_sub(1) as u32;
        self.order = self.order & !moved | self.order << 4 & moved | way as u32;
    }

    /// Makes the least recently used way the most recently used, and returns it.
    #[inline]
    fn renew_oldest(&mut self) -> usize {
        self.order = self.order.rotate_left(4);
        (self.order & 7) as usize
    }
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
        let set = &mut self.sets[set];
        let way = set.find(eight(entries), key)?;
        set.used(way);
        Some(way)
    }

    #[inline(always)]
    fn reach(&mut self, set: usize, entries: &mut [Entry], key: Entry) -> (usize, Option<Entry>) {
        self.sets[set].reach(eight(entries), key)
    }

    /// Puts the empty way last in the order, so that it is filled first.
    fn remove(&mut self, set: usize, entries: &mut [Entry], way: usize) {
        entries[way] = EMPTY;
        let set = &mut self.sets[set];
        let place = set.place(way);
        let nearer = (1_u64 << place).wrapping_sub(1) as u32;
        // All ways above its position move down by one.
        set.order =
            set.order & nearer | (set.order >> 4) & !nearer & (u32::MAX >> 4) | (way as u32) << 28;
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
    /// Serves a reference in this level and, as far as necessary, in the levels beyond.
    #[inline(never)]
    pub(in crate::sim) fn serve(&mut self, reference: &Reference, behind: &mut [Self]) {
        let line = reference.address >> self.line_bits;
        if line != reference.last() >> self.line_bits {
            self.serve_several(reference, behind);
        } else if let Some(old) = self.access(line, reference.op.writes()) {
            self.missed(old, reference, behind);
        } else {
            self.count(reference, true);
        }
    }

    /// Continues with a reference to one line, which missed and replaced `old`.
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

    /// Serves a reference to several lines. A level that lacks any of them passes the reference on as a
    /// whole.
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

    /// Looks up one line, and brings it in on a miss; returns the entry that it replaced then.
    #[inline(always)]
    fn access(&mut self, line: u64, write: bool) -> Option<Entry> {
        let place = self.place(line);
        let entries = &mut self.entries[place];
        let (way, old) = self.sets[place].reach(entries, line << FLAG_BITS);
        entries[way] |= Entry::from(write) * DIRTY;
        old
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
        (0..8)
            .map(|place| entries[(order >> (4 * place) & 0xF) as usize])
            .collect()
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
