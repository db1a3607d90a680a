//! One level of cache, and the translation of addresses: a dTLB and an STLB, which are caches of pages.

use super::geometry::{Design, Geometry, GeometryError};
use super::level::{Evicted, Level, Outcome};
use super::policy::{
    Ages, Bits, EMPTY, Eight, FLAG_BITS, Lru, LruOfEight, Random, Replacement, RoundRobin, Trees,
};
use super::reference::{Counters, Op, Outcomes, Reference, SetCounters};

/// One level of cache.
///
/// Its memory is proportional to its lines, whatever the length of the trace.
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
    level: Level,
    kept: Kept,
}

/// What the policy keeps of every set.
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

/// Does something with the policy, which is known there: each has code of its own.
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
    /// An empty cache.
    pub fn new(design: Design) -> Self {
        let geometry = design.geometry;
        let (sets, ways) = (geometry.sets() as usize, geometry.ways() as usize);
        let kept = match design.replacement {
            Replacement::Lru if ways == LruOfEight::WAYS => Kept::LruOfEight(LruOfEight::new(sets)),
            Replacement::Lru => Kept::Lru(Lru),
            Replacement::RoundRobin => Kept::RoundRobin(RoundRobin::new(sets)),
            Replacement::TreePlru => Kept::TreePlru(Trees::new(sets, ways)),
            Replacement::BitPlru => Kept::BitPlru(Bits::new(sets, ways)),
            Replacement::Random { seed } => Kept::Random(Random::new(seed)),
            Replacement::Qlru(qlru) => Kept::Qlru(Ages::new(qlru, sets, ways)),
        };
        Cache {
            level: Level::new(design),
            kept,
        }
    }

    /// The same, counting set by set as well.
    pub fn with_heat(mut self) -> Self {
        self.level.warm();
        self
    }

    /// What the cache is.
    pub fn design(&self) -> &Design {
        &self.level.design
    }

    /// Size, ways and line.
    pub fn geometry(&self) -> Geometry {
        self.design().geometry
    }

    /// What was counted so far.
    pub fn counters(&self) -> Counters {
        self.level.counters()
    }

    /// Begins to count anew. The lines stay: what follows finds a warm cache.
    pub fn forget_counts(&mut self) {
        self.level.forget_counts();
    }

    /// What was counted set by set; nothing without [`with_heat`](Self::with_heat).
    pub fn heat(&self) -> &[SetCounters] {
        self.level.heat()
    }

    /// The lines that are there, in no order.
    pub fn lines(&self) -> impl Iterator<Item = u64> + '_ {
        let entries = self.level.entries();
        let held = entries.iter().filter(|&&entry| entry != EMPTY);
        held.map(|entry| entry >> FLAG_BITS)
    }

    /// Whether a line is there. Nothing changes.
    pub fn holds(&self, line: u64) -> bool {
        self.level.holds(line)
    }

    /// Serves one reference, which may touch several lines, and counts it. Says whether it hit:
    /// whether every line was there.
    ///
    /// What makes way is dropped, or counted as a write-back.
    #[inline]
    pub fn reference(&mut self, reference: Reference) -> bool {
        with!(&mut self.kept, policy => self.level.reference(policy, reference))
    }

    /// Serves many references in turn: quicker than one by one.
    pub fn references(&mut self, references: &[Reference]) {
        with!(&mut self.kept, policy => self.level.references(policy, references));
    }

    /// Writes back every line that differs from what lies behind, as at the end of a program, and
    /// says how many there were. They stay.
    pub fn clean(&mut self) -> u64 {
        let mut written = 0;
        self.clean_each(|_| written += 1);
        self.level.lines.write_backs += written;
        written
    }

    /// Makes every dirty line clean, and calls `each` with it.
    pub(super) fn clean_each(&mut self, each: impl FnMut(u64)) {
        self.level.clean_each(each);
    }

    #[inline]
    pub(super) fn access(&mut self, line: u64, write: bool) -> Outcome {
        match &mut self.kept {
            Kept::LruOfEight(policy) => self.level.access(policy, line, write),
            _ => self.access_by_others(line, write),
        }
    }

    /// The same by any policy. Inlined, it would take registers from the path of the commonest policy.
    #[inline(never)]
    fn access_by_others(&mut self, line: u64, write: bool) -> Outcome {
        with!(&mut self.kept, policy => self.level.access(policy, line, write))
    }

    /// Whether the reference touches alone the line of its set that was used last, and changes
    /// nothing.
    #[inline]
    pub(super) fn again(&self, reference: Reference) -> bool {
        self.level.again(reference)
    }

    /// Whether a reference changes nothing if each of its lines was used last in its set, unless it stores to
    /// a line that is not dirty.
    pub(super) fn is_steady(&self) -> bool {
        self.level.is_steady()
    }

    /// This cache as an [`Eight`], if it is LRU of eight ways and plain: that of a first level.
    pub(super) fn first_eight(&mut self) -> Option<Eight<'_>> {
        self.level.forget_newest();
        self.eight()
    }

    /// The same of a level behind it, where the line used last is not looked up.
    pub(super) fn eight(&mut self) -> Option<Eight<'_>> {
        match &mut self.kept {
            Kept::LruOfEight(policy) => self.level.eight(policy),
            _ => None,
        }
    }

    /// The first line of a reference and the last.
    #[inline]
    pub(super) fn lines_of(&self, reference: Reference) -> [u64; 2] {
        let geometry = self.geometry();
        [reference.address, reference.last()].map(|address| geometry.line_of(address))
    }

    #[inline]
    pub(super) fn count(&mut self, op: Op, hit: bool) {
        self.level.count(op, hit)
    }

    #[inline]
    pub(super) fn count_hits(&mut self, op: Op, hits: u64) {
        self.level.count_hits(op, hits)
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

    pub(super) fn mark(&mut self, line: u64) {
        self.level.mark(line)
    }

    /// Counts a line that a level before held changed, when it had to give it up together with
    /// this level's clean copy.
    pub(super) fn count_write_back(&mut self) {
        self.level.lines.write_backs += 1;
    }
}

/// What the TLBs of data are to be: both are LRU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TlbDesign {
    first: Geometry,
    second: Option<Geometry>,
}

impl TlbDesign {
    /// A dTLB of `entries` with `ways`, for pages of `page` bytes.
    ///
    /// # Errors
    /// If there is no such cache of pages.
    pub fn new(entries: u64, ways: u64, page: u64) -> Result<Self, GeometryError> {
        Ok(TlbDesign {
            first: Geometry::new(entries.saturating_mul(page), ways, page)?,
            second: None,
        })
    }

    /// The same with an STLB behind it.
    ///
    /// # Errors
    /// If there is no such cache of pages.
    pub fn behind(self, entries: u64, ways: u64) -> Result<Self, GeometryError> {
        let page = self.first.line();
        Ok(TlbDesign {
            second: Some(Geometry::new(entries.saturating_mul(page), ways, page)?),
            ..self
        })
    }

    /// The dTLB and the STLB as caches of pages.
    pub(super) const fn levels(&self) -> (Geometry, Option<Geometry>) {
        (self.first, self.second)
    }

    /// Bytes of a page.
    pub const fn page(&self) -> u64 {
        self.first.line()
    }
}

/// The TLBs of data.
#[derive(Clone, Debug)]
pub struct Tlb {
    first: Cache,
    second: Option<Cache>,
}

impl Tlb {
    /// Empty TLBs.
    pub fn new(design: TlbDesign) -> Self {
        let cache = |geometry| Cache::new(Design::lru(geometry));
        Tlb {
            first: cache(design.first),
            second: design.second.map(cache),
        }
    }

    /// Translates the pages of a reference.
    #[inline]
    pub fn reference(&mut self, reference: Reference) {
        let load = Reference {
            op: Op::Load,
            ..reference
        };
        if !self.first.reference(load)
            && let Some(second) = &mut self.second
        {
            second.reference(load);
        }
    }

    /// Begins to count anew. The pages stay.
    pub fn forget_counts(&mut self) {
        self.first.forget_counts();
        if let Some(second) = &mut self.second {
            second.forget_counts();
        }
    }

    /// References whose pages the dTLB had, and had not.
    pub fn first(&self) -> Outcomes {
        self.first.counters().reads
    }

    /// Those of the rest whose pages the STLB had, and had not; nothing without one.
    pub fn second(&self) -> Outcomes {
        let counters = self.second.as_ref().map(Cache::counters);
        counters.map_or_else(Outcomes::default, |counters| counters.reads)
    }

    /// Page walks: what neither had.
    pub fn walks(&self) -> u64 {
        match &self.second {
            Some(second) => second.counters().reads.misses,
            None => self.first().misses,
        }
    }
}
