//! One level of cache.

use super::counters::{Counters, SetCounters};
use super::design::Design;
use super::geometry::Geometry;
use super::level::{Evicted, Level, Outcome};
use super::policy::{
    Ages, Bits, EMPTY, FLAG_BITS, Lru, LruOfEight, Random, Replacement, RoundRobin, Trees,
};
use super::reference::{Op, Reference};

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
pub struct Cache(Inner);

/// A level for each policy, so that the policy is known where lines are looked up.
#[derive(Clone, Debug)]
enum Inner {
    Lru(Level<Lru>),
    LruOfEight(Level<LruOfEight>),
    RoundRobin(Level<RoundRobin>),
    TreePlru(Level<Trees>),
    BitPlru(Level<Bits>),
    Random(Level<Random>),
    Qlru(Level<Ages>),
}

/// Does something with the level, whatever its policy.
macro_rules! with {
    ($cache:expr, $level:ident => $body:expr) => {
        match $cache {
            Inner::Lru($level) => $body,
            Inner::LruOfEight($level) => $body,
            Inner::RoundRobin($level) => $body,
            Inner::TreePlru($level) => $body,
            Inner::BitPlru($level) => $body,
            Inner::Random($level) => $body,
            Inner::Qlru($level) => $body,
        }
    };
}

impl Cache {
    /// An empty cache.
    pub fn new(design: Design) -> Self {
        let geometry = design.geometry;
        let (sets, ways) = (geometry.sets() as usize, geometry.ways() as usize);
        Cache(match design.replacement {
            Replacement::Lru if ways == LruOfEight::WAYS => {
                Inner::LruOfEight(Level::new(design, LruOfEight::new(sets)))
            }
            Replacement::Lru => Inner::Lru(Level::new(design, Lru)),
            Replacement::RoundRobin => Inner::RoundRobin(Level::new(design, RoundRobin::new(sets))),
            Replacement::TreePlru => Inner::TreePlru(Level::new(design, Trees::new(sets, ways))),
            Replacement::BitPlru => Inner::BitPlru(Level::new(design, Bits::new(sets, ways))),
            Replacement::Random { seed } => Inner::Random(Level::new(design, Random::new(seed))),
            Replacement::Qlru(qlru) => Inner::Qlru(Level::new(design, Ages::new(qlru, sets, ways))),
        })
    }

    /// The same, counting set by set as well.
    pub fn with_heat(mut self) -> Self {
        with!(&mut self.0, level => level.warm());
        self
    }

    /// What the cache is.
    pub fn design(&self) -> &Design {
        with!(&self.0, level => &level.design)
    }

    /// Size, ways and line.
    pub fn geometry(&self) -> Geometry {
        self.design().geometry
    }

    /// What was counted so far.
    pub fn counters(&self) -> Counters {
        with!(&self.0, level => level.counters())
    }

    /// Begins to count anew. The lines stay: what follows finds a warm cache.
    pub fn forget_counts(&mut self) {
        with!(&mut self.0, level => level.forget_counts());
    }

    /// What was counted set by set; nothing without [`with_heat`](Self::with_heat).
    pub fn heat(&self) -> &[SetCounters] {
        with!(&self.0, level => level.heat())
    }

    /// The lines that are there, in no order.
    pub fn lines(&self) -> impl Iterator<Item = u64> + '_ {
        let entries = with!(&self.0, level => level.entries());
        let held = entries.iter().filter(|&&entry| entry != EMPTY);
        held.map(|entry| entry >> FLAG_BITS)
    }

    /// Whether a line is there. Nothing changes.
    pub fn holds(&self, line: u64) -> bool {
        with!(&self.0, level => level.holds(line))
    }

    /// Serves one reference, which may touch several lines, and counts it. Says whether it hit:
    /// whether every line was there.
    ///
    /// What makes way is dropped, or counted as a write-back.
    #[inline]
    pub fn reference(&mut self, reference: Reference) -> bool {
        with!(&mut self.0, level => level.reference(reference))
    }

    /// Serves many references in turn: quicker than one by one.
    pub fn references(&mut self, references: &[Reference]) {
        with!(&mut self.0, level => level.references(references));
    }

    /// Writes back every line that differs from what lies behind, as at the end of a program, and
    /// says how many there were. They stay.
    pub fn clean(&mut self) -> u64 {
        let mut written = 0;
        self.clean_each(|_| written += 1);
        with!(&mut self.0, level => level.lines.write_backs += written);
        written
    }

    /// Makes every dirty line clean, and calls `each` with it.
    pub(super) fn clean_each(&mut self, each: impl FnMut(u64)) {
        with!(&mut self.0, level => level.clean_each(each));
    }

    #[inline]
    pub(super) fn access(&mut self, line: u64, write: bool) -> Outcome {
        with!(&mut self.0, level => level.access(line, write))
    }

    /// Whether the reference touches alone the line used last, and changes nothing.
    #[inline]
    pub(super) fn again(&self, reference: Reference) -> bool {
        with!(&self.0, level => level.again(reference))
    }

    /// The line of a reference that touches but one.
    #[inline]
    pub(super) fn only_line(&self, reference: Reference) -> Option<u64> {
        let geometry = self.geometry();
        let line = geometry.line_of(reference.address);
        (line == geometry.line_of(reference.last())).then_some(line)
    }

    #[inline]
    pub(super) fn count(&mut self, op: Op, hit: bool) {
        with!(&mut self.0, level => level.count(op, hit))
    }

    #[inline]
    pub(super) fn count_hits(&mut self, op: Op, hits: u64) {
        with!(&mut self.0, level => level.count_hits(op, hits))
    }

    pub(super) fn take(&mut self, line: u64) -> Option<Evicted> {
        with!(&mut self.0, level => level.take(line))
    }

    pub(super) fn remove(&mut self, line: u64) -> Option<Evicted> {
        with!(&mut self.0, level => level.remove(line))
    }

    pub(super) fn insert(&mut self, line: u64, dirty: bool, prefetched: bool) -> Option<Evicted> {
        with!(&mut self.0, level => level.insert(line, dirty, prefetched))
    }

    pub(super) fn write_back(&mut self, line: u64) -> bool {
        with!(&mut self.0, level => level.write_back(line))
    }

    pub(super) fn mark(&mut self, line: u64) {
        with!(&mut self.0, level => level.mark(line))
    }

    /// Counts a line that a level before held changed, when it had to give it up together with
    /// this level's clean copy.
    pub(super) fn count_write_back(&mut self) {
        with!(&mut self.0, level => level.lines.write_backs += 1);
    }
}
