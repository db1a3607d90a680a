//! One level of cache, and the TLBs for data: a dTLB and an STLB, which are caches of pages.

use alloc::vec;

use super::geometry::{Design, Geometry, GeometryError};
use super::level::{Evicted, Level, Outcome};
use super::policy::{
    Ages, Bits, EMPTY, Eight, FLAG_BITS, Lru, LruOfEight, Random, Replacement, RoundRobin, Trees,
};
use super::reference::{Counters, Op, Outcomes, Reference, SetCounters};
use crate::pattern::Rng;

/// One level of cache.
///
/// Its memory is proportional to the number of lines, and independent of the length of the trace.
///
/// ```
/// use linefill::sim::{Cache, Design, Geometry, Reference};
///
/// let geometry = Geometry::new(32 << 10, 8, 64)?;
/// let mut cache = Cache::new(Design::lru(geometry));
/// for address in (0..64 << 10).step_by(8) {
///     cache.reference(Reference::load(address, 8));
/// }
/// // One load of eight comes to a line for the first time.
/// assert_eq!(cache.counters().reads.misses, 1024);
/// assert_eq!(cache.counters().evictions, 512);
/// # Ok::<(), linefill::sim::GeometryError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Cache {
    pub(super) level: Level,
    kept: Kept,
}

/// The state that the replacement policy keeps for every set.
#[derive(Clone, Debug)]
enum Kept {
    Lru(Lru),
    LruOfEight(LruOfEight),
    RoundRobin(RoundRobin),
    TreePlru(Trees),
    BitPlru(Bits),
    Random(Random),
    Qlru(Ages),
}

/// Evaluates an expression with the policy as its concrete type, so that each policy gets specialised
/// code.
macro_rules! with {
    ($kept:expr, $policy:ident => $body:expr) => {
        match $kept {
            Kept::Lru($policy) => $body,
            Kept::LruOfEight($policy) => $body,
            Kept::RoundRobin($policy) => $body,
            Kept::TreePlru($policy) => $body,
            Kept::BitPlru($policy) => $body,
            Kept::Random($policy) => $body,
            Kept::Qlru($policy) => $body,
        }
    };
}

impl Cache {
    /// Returns an empty cache.
    pub fn new(design: Design) -> Self {
        let geometry = design.geometry;
        let (sets, ways) = (geometry.sets() as usize, geometry.ways() as usize);
        let kept = match design.replacement {
            Replacement::Lru if ways == LruOfEight::WAYS => Kept::LruOfEight(LruOfEight::new(sets)),
            Replacement::Lru => Kept::Lru(Lru),
            Replacement::RoundRobin => Kept::RoundRobin(RoundRobin(vec![0; sets].into())),
            Replacement::TreePlru => Kept::TreePlru(Trees::new(sets, ways)),
            Replacement::BitPlru => Kept::BitPlru(Bits::new(sets, ways)),
            Replacement::Random { seed } => Kept::Random(Random(Rng::new(seed))),
            Replacement::Qlru(qlru) => Kept::Qlru(Ages::new(qlru, sets, ways)),
        };
        Cache { level: Level::new(design), kept }
    }

    /// Also counts per set.
    pub fn with_heat(mut self) -> Self {
        self.level.warm();
        self
    }

    /// Returns the design of the cache.
    pub fn design(&self) -> &Design {
        &self.level.design
    }

    /// Returns size, ways and line.
    pub fn geometry(&self) -> Geometry {
        self.design().geometry
    }

    /// Returns the counts so far.
    pub fn counters(&self) -> Counters {
        self.level.counters()
    }

    /// Resets the counts. The lines stay, so that the cache is warm for the references that follow.
    pub fn forget_counts(&mut self) {
        self.level.forget_counts();
    }

    /// Returns the counts per set; empty without [`with_heat`](Self::with_heat).
    pub fn heat(&self) -> &[SetCounters] {
        &self.level.heat
    }

    /// Returns the lines in the cache, in no particular order.
    pub fn lines(&self) -> impl Iterator<Item = u64> + '_ {
        let held = self.level.entries.iter().filter(|&&entry| entry != EMPTY);
        held.map(|entry| entry >> FLAG_BITS)
    }

    /// Returns whether the cache holds a line. Changes nothing.
    pub fn holds(&self, line: u64) -> bool {
        self.level.holds(line)
    }

    /// Serves one reference, which may touch several lines, and counts it. Returns whether it hit:
    /// whether every line was in the cache.
    ///
    /// A victim is dropped; if it is dirty, it is also counted as a write-back.
    #[inline]
    pub fn reference(&mut self, reference: Reference) -> bool {
        with!(&mut self.kept, policy => self.level.reference(policy, reference))
    }

    /// Serves many references in order: faster than one call per reference.
    pub fn references(&mut self, references: &[Reference]) {
        with!(&mut self.kept, policy => self.level.references(policy, references));
    }

    #[inline]
    pub(super) fn access(&mut self, line: u64, write: bool) -> Outcome {
        match &mut self.kept {
            Kept::LruOfEight(policy) => self.level.access(policy, line, write),
            _ => self.access_by_others(line, write),
        }
    }

    /// Does the same with any policy. Not inlined, because it would take registers from the path of the
    /// most common policy.
    #[inline(never)]
    fn access_by_others(&mut self, line: u64, write: bool) -> Outcome {
        with!(&mut self.kept, policy => self.level.access(policy, line, write))
    }

    /// Returns this cache as an [`Eight`] for a first level, if it is plain and LRU with eight ways.
    pub(super) fn first_eight(&mut self) -> Option<Eight<'_>> {
        self.level.forget_newest();
        self.eight()
    }

    /// Does the same for a level beyond L1, which does not use the record of the line used last.
    pub(super) fn eight(&mut self) -> Option<Eight<'_>> {
        match &mut self.kept {
            Kept::LruOfEight(policy) => self.level.eight(policy),
            _ => None,
        }
    }

    /// Returns the first and the last line of a reference.
    #[inline]
    pub(super) fn lines_of(&self, reference: Reference) -> [u64; 2] {
        reference.lines(self.geometry().offset_bits())
    }

    pub(super) fn take(&mut self, line: u64) -> Option<Evicted> {
        with!(&mut self.kept, policy => self.level.take(policy, line))
    }

    pub(super) fn remove(&mut self, line: u64) -> Option<Evicted> {
        with!(&mut self.kept, policy => self.level.remove(policy, line))
    }

    pub(super) fn insert(&mut self, line: u64, dirty: bool, prefetched: bool) -> Option<Evicted> {
        with!(&mut self.kept, policy => self.level.insert(policy, line, dirty, prefetched))
    }

    pub(super) fn write_back(&mut self, line: u64) -> bool {
        match &self.kept {
            Kept::LruOfEight(policy) => self.level.write_back(policy, line),
            kept => with!(kept, policy => self.level.write_back(policy, line)),
        }
    }
}

/// The design of the TLBs for data, which are LRU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TlbDesign {
    first: Geometry,
    second: Option<Geometry>,
}

impl TlbDesign {
    /// Returns a dTLB with `entries` and `ways`, for pages of `page` bytes.
    ///
    /// # Errors
    /// If no cache of pages has these parameters.
    pub fn new(entries: u64, ways: u64, page: u64) -> Result<Self, GeometryError> {
        Ok(TlbDesign {
            first: Geometry::new(entries.saturating_mul(page), ways, page)?,
            second: None,
        })
    }

    /// Adds an STLB behind the dTLB.
    ///
    /// # Errors
    /// If no cache of pages has these parameters.
    pub fn behind(self, entries: u64, ways: u64) -> Result<Self, GeometryError> {
        let page = self.first.line();
        Ok(TlbDesign {
            second: Some(Geometry::new(entries.saturating_mul(page), ways, page)?),
            ..self
        })
    }

    /// Returns the dTLB and the STLB as caches of pages.
    pub(super) const fn levels(&self) -> (Geometry, Option<Geometry>) {
        (self.first, self.second)
    }
}

/// The TLBs for data.
#[derive(Clone, Debug)]
pub struct Tlb {
    first: Cache,
    second: Option<Cache>,
}

impl Tlb {
    /// Returns empty TLBs.
    pub fn new(design: TlbDesign) -> Self {
        let cache = |geometry| Cache::new(Design::lru(geometry));
        Tlb { first: cache(design.first), second: design.second.map(cache) }
    }

    /// Translates the pages of a reference.
    #[inline]
    pub fn reference(&mut self, reference: Reference) {
        let load = Reference { op: Op::Load, ..reference };
        if !self.first.reference(load)
            && let Some(second) = &mut self.second
        {
            second.reference(load);
        }
    }

    /// Resets the counts. The pages stay.
    pub fn forget_counts(&mut self) {
        self.first.forget_counts();
        if let Some(second) = &mut self.second {
            second.forget_counts();
        }
    }

    /// Returns the dTLB's hits and misses.
    pub fn first(&self) -> Outcomes {
        self.first.counters().reads
    }

    /// Returns the STLB's hits and misses, of references that missed the dTLB; zeros without an STLB.
    pub fn second(&self) -> Outcomes {
        self.second.as_ref().map(|second| second.counters().reads).unwrap_or_default()
    }

    /// Returns the number of page walks: references that missed every TLB.
    pub fn walks(&self) -> u64 {
        self.second.as_ref().unwrap_or(&self.first).counters().reads.misses
    }
}
