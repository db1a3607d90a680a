//! Sets of lines: the implementation of a [`super::Cache`]. The replacement policy is passed to each
//! function, so that code that does not use the policy does not depend on its type.

use alloc::boxed::Box;
use alloc::vec;

use super::geometry::{Design, WriteHit, WriteMiss};
use super::policy::{DIRTY, EMPTY, Eight, Entry, FLAG_BITS, LruOfEight, PREFETCHED, Policy, find};
use super::reference::{Counters, Op, Outcomes, Reference, SetCounters};

/// A line that was evicted or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Evicted {
    /// Line number: the address divided by the line size.
    pub(super) line: u64,
    /// Whether the line differs from its copy in the next level.
    pub(super) dirty: bool,
}

impl Evicted {
    fn from(entry: Entry) -> Option<Self> {
        (entry != EMPTY).then_some(Evicted { line: entry >> FLAG_BITS, dirty: entry & DIRTY != 0 })
    }
}

/// The result of looking up one line. It fits two registers, because it is made millions of times per
/// second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    /// The entry of the victim.
    evicted: Entry,
    flags: u8,
}

impl Outcome {
    const HIT: u8 = 1;
    const BY_PREFETCH: u8 = 2;
    const WRITES_ON: u8 = 4;

    #[inline]
    const fn new(hit: bool, by_prefetch: bool, writes_on: bool, evicted: Entry) -> Self {
        let flags = hit as u8 * Self::HIT
            + by_prefetch as u8 * Self::BY_PREFETCH
            + writes_on as u8 * Self::WRITES_ON;
        Outcome { evicted, flags }
    }

    /// Returns whether the line was in the cache.
    #[inline]
    pub(super) const fn hit(self) -> bool {
        self.flags & Self::HIT != 0
    }

    /// Returns whether a prefetcher had brought the line in and this was its first use.
    pub(super) const fn by_prefetch(self) -> bool {
        self.flags & Self::BY_PREFETCH != 0
    }

    /// Returns whether the store goes on to the next level.
    #[inline]
    pub(super) const fn writes_on(self) -> bool {
        self.flags & Self::WRITES_ON != 0
    }

    /// Returns the victim, if there was one.
    #[inline]
    pub(super) fn evicted(self) -> Option<Evicted> {
        Evicted::from(self.evicted)
    }
}

/// The sets, and the counts.
#[derive(Clone, Debug)]
pub(super) struct Level {
    pub(super) design: Design,
    pub(super) entries: Box<[Entry]>,
    /// For each set, the entry of the line that the program used last, if using this line again changes
    /// nothing; otherwise [`EMPTY`].
    newest: Box<[Entry]>,
    ways: usize,
    line_bits: u32,
    /// Number of sets minus one, or 0 if it is not a power of two.
    mask: u64,
    write_back: bool,
    allocate: bool,
    /// Whether the level is write-back and write-allocate, and nothing is counted per set.
    plain: bool,
    /// Misses and hits of each [`Op`].
    outcomes: [[u64; 2]; Op::COUNT],
    /// The counts of lines. Its outcomes are not used, and its bus writes exclude the write-backs.
    pub(super) lines: Counters,
    /// The counts per set; empty unless [`warm`](Self::warm) asked for them.
    pub(super) heat: Box<[SetCounters]>,
}

impl Level {
    pub(super) fn new(design: Design) -> Self {
        let geometry = design.geometry;
        let ways = geometry.ways() as usize;
        let lines = geometry.sets() as usize * ways;
        let write_back = design.write_hit == WriteHit::Back;
        let allocate = design.write_miss == WriteMiss::Allocate;
        Level {
            design,
            entries: vec![EMPTY; lines].into_boxed_slice(),
            newest: vec![EMPTY; geometry.sets() as usize].into_boxed_slice(),
            ways,
            line_bits: geometry.offset_bits(),
            mask: match geometry.set_bits() {
                Some(_) => geometry.sets() - 1,
                None => 0,
            },
            write_back,
            allocate,
            plain: write_back && allocate,
            outcomes: [[0; 2]; Op::COUNT],
            lines: Counters::default(),
            heat: Box::default(),
        }
    }

    pub(super) fn warm(&mut self) {
        self.heat = vec![SetCounters::default(); self.newest.len()].into_boxed_slice();
        self.plain = false;
        // A repeated reference would not be counted per set.
        self.forget_newest();
    }

    pub(super) fn counters(&self) -> Counters {
        let of = |op: Op| Outcomes::from(self.outcomes[op as usize]);
        Counters {
            fetches: of(Op::Fetch),
            reads: of(Op::Load) + of(Op::Modify),
            writes: of(Op::Store) + of(Op::NonTemporalStore),
            prefetches: of(Op::Prefetch),
            bus_writes: self.lines.bus_writes + self.lines.write_backs,
            ..self.lines
        }
    }

    pub(super) fn forget_counts(&mut self) {
        self.outcomes = [[0; 2]; Op::COUNT];
        self.lines = Counters::default();
        self.heat.fill(SetCounters::default());
    }

    pub(super) fn holds(&self, line: u64) -> bool {
        let first = self.set_of(line) * self.ways;
        find(&self.entries[first..][..self.ways], line << FLAG_BITS).is_some()
    }

    #[inline]
    fn set_of(&self, line: u64) -> usize {
        // A single set has a mask of 0 as well, and the remainder is right for it.
        if self.mask != 0 {
            (line & self.mask) as usize
        } else {
            (line % self.design.geometry.sets()) as usize
        }
    }

    /// Serves one reference and counts it.
    #[inline]
    pub(super) fn reference<P: Policy>(&mut self, policy: &mut P, reference: Reference) -> bool {
        let hit = self.again(reference) || self.look_up(policy, reference);
        self.count(reference.op, hit);
        hit
    }

    /// Returns whether the reference touches only the line that was used last in its set, and changes
    /// nothing. This is by far the most common case in the traces of programs.
    #[inline]
    pub(super) fn again(&self, reference: Reference) -> bool {
        let [line, last] = reference.lines(self.line_bits);
        // A load may find the line dirty or clean; a store must find it dirty.
        let either = if reference.op.writes() { 0 } else { DIRTY };
        self.newest[self.set_of(line)] | either == line << FLAG_BITS | DIRTY
            && last == line
            && reference.op != Op::NonTemporalStore
    }

    /// Returns whether a repeated reference changes nothing: one whose lines were each used last in
    /// their sets, except a store to a line that is not dirty.
    pub(super) fn is_steady(&self) -> bool {
        self.plain && self.design.replacement.again_is_nothing()
    }

    /// Forgets which lines were used last, because an [`Eight`] is about to use others.
    pub(super) fn forget_newest(&mut self) {
        self.newest.fill(EMPTY);
    }

    /// Returns the level as an [`Eight`], if it is plain and its number of sets is a power of two.
    pub(super) fn eight<'a>(&'a mut self, policy: &'a mut LruOfEight) -> Option<Eight<'a>> {
        let geometry = self.design.geometry;
        if !self.plain || geometry.set_bits().is_none() {
            return None;
        }
        Some(Eight {
            line_bits: self.line_bits,
            entries: self.entries.as_chunks_mut().0,
            sets: policy.sets(),
            outcomes: &mut self.outcomes,
            lines: &mut self.lines,
        })
    }

    /// Serves references in order. Compiled separately for each policy.
    #[inline(never)]
    pub(super) fn references<P: Policy>(&mut self, policy: &mut P, references: &[Reference]) {
        let mut before = u64::MAX;
        for &reference in references {
            // Checked first, because this branch is predictable in any trace, even in a random one.
            let line = reference.address >> self.line_bits;
            let again = line == before && self.again(reference);
            let hit = again || self.look_up(policy, reference);
            self.count(reference.op, hit);
            before = line;
        }
    }

    #[inline]
    fn look_up<P: Policy>(&mut self, policy: &mut P, reference: Reference) -> bool {
        if reference.op == Op::NonTemporalStore {
            self.pass(policy, reference);
            return false;
        }
        let [first, last] = reference.lines(self.line_bits);
        let write = reference.op.writes();
        let hit = self.access(policy, first, write).hit();
        hit & (first == last || self.split(policy, first + 1, last, write))
    }

    /// Looks up several lines; the reference hits if every line is in the cache.
    #[inline(never)]
    fn split<P: Policy>(&mut self, policy: &mut P, first: u64, last: u64, write: bool) -> bool {
        (first..=last).fold(true, |hit, line| hit & self.access_any(policy, line, write).hit())
    }

    /// Counts a reference.
    #[inline]
    pub(super) fn count(&mut self, op: Op, hit: bool) {
        self.outcomes[op as usize][usize::from(hit)] += 1;
    }

    /// Counts this many hits.
    #[inline]
    pub(super) fn count_hits(&mut self, op: Op, hits: u64) {
        self.outcomes[op as usize][1] += hits;
    }

    /// Serves a non-temporal store: its lines are removed, and it goes on to the next level.
    #[cold]
    fn pass<P: Policy>(&mut self, policy: &mut P, reference: Reference) {
        let [first, last] = reference.lines(self.line_bits);
        for line in first..=last {
            if let Some(Evicted { dirty: true, .. }) = self.remove(policy, line) {
                self.lines.write_backs += 1;
            }
        }
        self.lines.bus_writes += 1;
    }

    /// Looks up one line for the program, and brings it in on a miss if the write policy allocates.
    /// Counts the effects on lines; the caller counts hits and misses.
    #[inline(always)]
    pub(super) fn access<P: Policy>(&mut self, policy: &mut P, line: u64, write: bool) -> Outcome {
        if !self.plain {
            return self.access_any(policy, line, write);
        }
        let set = self.set_of(line);
        let entries = P::entries(&mut self.entries, self.ways, set);
        let (way, replaced) = policy.reach(set, entries, line << FLAG_BITS);
        let entry = &mut entries[way];
        let by_prefetch = *entry & PREFETCHED != 0;
        *entry = *entry & !PREFETCHED | (Entry::from(write) * DIRTY);
        self.newest[set] = if P::AGAIN_IS_NOTHING { *entry } else { EMPTY };
        let Some(old) = replaced else {
            self.lines.useful += u64::from(by_prefetch);
            return Outcome::new(true, by_prefetch, false, EMPTY);
        };
        self.filled(old);
        Outcome::new(false, false, false, old)
    }

    /// Does the same for any write policy, and counts per set.
    #[inline(never)]
    fn access_any<P: Policy>(&mut self, policy: &mut P, line: u64, write: bool) -> Outcome {
        let set = self.set_of(line);
        self.newest[set] = EMPTY;
        let first = set * self.ways;
        let entries = &mut self.entries[first..][..self.ways];
        let key = line << FLAG_BITS;
        if let Some(heat) = self.heat.get_mut(set) {
            heat.accesses += 1;
            heat.misses += u64::from(find(entries, key).is_none());
        }
        let (way, replaced) = if write && !self.allocate {
            match policy.hit(set, entries, key) {
                Some(way) => (way, None),
                None => {
                    self.lines.bus_writes += 1;
                    return Outcome::new(false, false, true, EMPTY);
                }
            }
        } else {
            policy.reach(set, entries, key)
        };
        let entry = &mut entries[way];
        let Some(old) = replaced else {
            let by_prefetch = *entry & PREFETCHED != 0;
            if by_prefetch {
                *entry &= !PREFETCHED;
                self.lines.useful += 1;
            }
            let on = write && self.store(first + way);
            return Outcome::new(true, by_prefetch, on, EMPTY);
        };
        self.filled(old);
        let on = write && self.store(first + way);
        Outcome::new(false, false, on, old)
    }

    /// Stores to a line in the cache. Returns whether the store goes on to the next level.
    #[inline]
    fn store(&mut self, slot: usize) -> bool {
        if self.write_back {
            self.entries[slot] |= DIRTY;
        } else {
            self.lines.bus_writes += 1;
        }
        !self.write_back
    }

    /// Counts a fill that replaced `old`.
    #[inline]
    fn filled(&mut self, old: Entry) {
        let evicted = old != EMPTY;
        let dirty = evicted && old & DIRTY != 0;
        self.lines.fills += 1;
        self.lines.evictions += u64::from(evicted);
        self.lines.write_backs += u64::from(dirty);
    }

    /// Takes a line out.
    pub(super) fn take<P: Policy>(&mut self, policy: &mut P, line: u64) -> Option<Evicted> {
        let set = self.set_of(line);
        self.newest[set] = EMPTY;
        let entries = P::entries(&mut self.entries, self.ways, set);
        let way = find(entries, line << FLAG_BITS)?;
        let entry = entries[way];
        policy.remove(set, entries, way);
        Evicted::from(entry)
    }

    /// Takes a line out and counts an invalidation.
    pub(super) fn remove<P: Policy>(&mut self, policy: &mut P, line: u64) -> Option<Evicted> {
        let removed = self.take(policy, line)?;
        self.lines.invalidations += 1;
        Some(removed)
    }

    /// Brings in a line that the program did not request: a victim of the level before, or a prefetched
    /// line. Returns the line evicted for it. A line that is present already becomes dirty if `dirty` is
    /// set.
    pub(super) fn insert<P: Policy>(
        &mut self,
        policy: &mut P,
        line: u64,
        dirty: bool,
        prefetched: bool,
    ) -> Option<Evicted> {
        let set = self.set_of(line);
        self.newest[set] = EMPTY;
        let entries = P::entries(&mut self.entries, self.ways, set);
        let (way, replaced) = policy.reach(set, entries, line << FLAG_BITS);
        if dirty {
            entries[way] |= DIRTY;
        }
        let old = replaced?;
        if prefetched {
            entries[way] |= PREFETCHED;
            self.lines.prefetched += 1;
        }
        self.filled(old);
        Evicted::from(old)
    }

    /// Takes the data that a level before wrote back, if the line is here. This does not count as a use
    /// of the line. Returns whether the write goes on to the next level.
    pub(super) fn write_back<P: Policy>(&mut self, policy: &P, line: u64) -> bool {
        let set = self.set_of(line);
        self.newest[set] = EMPTY;
        let entries = P::entries(&mut self.entries, self.ways, set);
        let on = match policy.find(set, entries, line << FLAG_BITS) {
            Some(way) if self.write_back => {
                entries[way] |= DIRTY;
                false
            }
            _ => true,
        };
        self.lines.bus_writes += u64::from(on);
        on
    }

    /// Marks a line dirty that has just come in from a level beyond, where it was dirty.
    pub(super) fn mark(&mut self, line: u64) {
        let set = self.set_of(line);
        self.newest[set] = EMPTY;
        let first = set * self.ways;
        let entries = &mut self.entries[first..][..self.ways];
        if let Some(way) = find(entries, line << FLAG_BITS) {
            entries[way] |= DIRTY;
        }
    }

    /// Marks every dirty line clean, and calls `each` with it.
    pub(super) fn clean_each(&mut self, mut each: impl FnMut(u64)) {
        self.newest.fill(EMPTY);
        for entry in &mut self.entries {
            if *entry != EMPTY && *entry & DIRTY != 0 {
                *entry &= !DIRTY;
                each(*entry >> FLAG_BITS);
            }
        }
    }
}
