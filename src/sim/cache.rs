//! One level: sets of lines, a replacement policy, a write policy.

use alloc::boxed::Box;
use alloc::vec;

use super::counters::{Counters, Outcomes, SetCounters};
use super::geometry::Geometry;
use super::policy::{DIRTY, EMPTY, Entry, FLAG_BITS, PREFETCHED, Replacement, State};
use super::reference::{Op, Reference};

/// What a store does to a line that is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WriteHit {
    /// Changes the line; it is written back when it makes way.
    #[default]
    Back,
    /// Changes the line and what lies behind it.
    Through,
}

/// What a store does whose line is not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WriteMiss {
    /// Brings the line in first.
    #[default]
    Allocate,
    /// Goes past the level.
    Around,
}

/// What a cache is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Design {
    /// Size, ways and line.
    pub geometry: Geometry,
    /// Which line makes way.
    pub replacement: Replacement,
    /// What a store to a line does that is there.
    pub write_hit: WriteHit,
    /// What a store to a line does that is not there.
    pub write_miss: WriteMiss,
}

impl Design {
    /// LRU, write-back, write-allocate: what most documents mean by a cache.
    pub const fn lru(geometry: Geometry) -> Self {
        Design {
            geometry,
            replacement: Replacement::Lru,
            write_hit: WriteHit::Back,
            write_miss: WriteMiss::Allocate,
        }
    }

    /// The same with another replacement policy.
    pub const fn replacing(self, replacement: Replacement) -> Self {
        Design {
            replacement,
            ..self
        }
    }

    /// The same with another write policy.
    pub const fn writing(self, write_hit: WriteHit, write_miss: WriteMiss) -> Self {
        Design {
            write_hit,
            write_miss,
            ..self
        }
    }
}

/// A line that made way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evicted {
    /// Its number: address over line size.
    pub line: u64,
    /// Whether it differs from what lies behind.
    pub dirty: bool,
}

impl Evicted {
    fn from(entry: Entry) -> Option<Self> {
        (entry != EMPTY).then_some(Evicted {
            line: entry >> FLAG_BITS,
            dirty: entry & DIRTY != 0,
        })
    }
}

/// What became of a look at one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// It was there.
    pub hit: bool,
    /// A prefetcher had brought it, and this is its first use.
    pub by_prefetch: bool,
    /// What made way for it.
    pub evicted: Option<Evicted>,
    /// The store goes on to what lies behind.
    pub writes_on: bool,
}

/// A line and where it lies.
#[derive(Clone, Copy, Debug)]
struct Place {
    line: u64,
    slot: usize,
}

impl Place {
    const NONE: Place = Place {
        line: u64::MAX,
        slot: 0,
    };
}

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
    design: Design,
    ways: usize,
    /// Sets less one, if they are a power of two.
    mask: Option<u64>,
    entries: Box<[Entry]>,
    state: State,
    /// The line used last: to use it again changes nothing.
    last: Place,
    counters: Counters,
    heat: Option<Box<[SetCounters]>>,
}

impl Cache {
    /// An empty cache.
    pub fn new(design: Design) -> Self {
        let geometry = design.geometry;
        let (sets, ways) = (geometry.sets() as usize, geometry.ways() as usize);
        Cache {
            design,
            ways,
            mask: geometry.set_bits().map(|_| geometry.sets() - 1),
            entries: vec![EMPTY; sets * ways].into_boxed_slice(),
            state: State::new(design.replacement, sets, ways),
            last: Place::NONE,
            counters: Counters::default(),
            heat: None,
        }
    }

    /// The same, counting set by set as well.
    pub fn with_heat(self) -> Self {
        let sets = self.design.geometry.sets() as usize;
        Cache {
            heat: Some(vec![SetCounters::default(); sets].into_boxed_slice()),
            ..self
        }
    }

    /// What the cache is.
    pub fn design(&self) -> &Design {
        &self.design
    }

    /// Size, ways and line.
    pub fn geometry(&self) -> Geometry {
        self.design.geometry
    }

    /// What was counted so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What was counted set by set; nothing without [`with_heat`](Self::with_heat).
    pub fn heat(&self) -> &[SetCounters] {
        self.heat.as_deref().unwrap_or_default()
    }

    /// The lines that are there, in no order.
    pub fn lines(&self) -> impl Iterator<Item = u64> + '_ {
        let held = self.entries.iter().filter(|&&entry| entry != EMPTY);
        held.map(|entry| entry >> FLAG_BITS)
    }

    /// Whether a line is there. Nothing changes.
    pub fn holds(&self, line: u64) -> bool {
        let set = self.set_of(line) * self.ways;
        super::policy::find(&self.entries[set..][..self.ways], line << FLAG_BITS).is_some()
    }

    /// Serves one reference, which may touch several lines, and counts it. Says whether it hit:
    /// whether every line was there.
    ///
    /// What makes way is dropped, or counted as a write-back. A [`super::Hierarchy`] sends it on.
    #[inline]
    pub fn reference(&mut self, reference: Reference) -> bool {
        let geometry = self.design.geometry;
        let write = match reference.op {
            Op::Fetch | Op::Load | Op::Prefetch => false,
            Op::Store | Op::Modify => true,
            Op::NonTemporalStore => {
                self.pass(reference);
                return false;
            }
        };
        let first = geometry.line_of(reference.address);
        let last = geometry.line_of(reference.last());
        let mut hit = self.access(first, write).hit;
        for line in first + 1..=last {
            hit &= self.access(line, write).hit;
        }
        self.count(reference.op, hit);
        hit
    }

    /// Counts a reference.
    #[inline]
    pub(super) fn count(&mut self, op: Op, hit: bool) {
        self.outcomes(op).count(hit);
    }

    #[inline]
    fn outcomes(&mut self, op: Op) -> &mut Outcomes {
        match op {
            Op::Fetch => &mut self.counters.fetches,
            Op::Load | Op::Modify => &mut self.counters.reads,
            Op::Store | Op::NonTemporalStore => &mut self.counters.writes,
            Op::Prefetch => &mut self.counters.prefetches,
        }
    }

    /// A store past the cache: the lines go, and the store goes on.
    fn pass(&mut self, reference: Reference) {
        let geometry = self.design.geometry;
        for line in geometry.line_of(reference.address)..=geometry.line_of(reference.last()) {
            if let Some(Evicted { dirty: true, .. }) = self.remove(line) {
                self.counters.write_backs += 1;
                self.counters.bus_writes += 1;
            }
        }
        self.counters.bus_writes += 1;
    }

    #[inline]
    fn set_of(&self, line: u64) -> usize {
        match self.mask {
            Some(mask) => (line & mask) as usize,
            None => (line % self.design.geometry.sets()) as usize,
        }
    }

    /// Looks at one line for a program, and brings it in if that is what a miss does. Counts what
    /// happens to lines; hits and misses are for the caller to count.
    #[inline]
    pub(super) fn access(&mut self, line: u64, write: bool) -> Outcome {
        if line == self.last.line {
            // What was used last is neither first used now nor the prefetcher's any more.
            if let Some(heat) = &mut self.heat {
                let set = self.last.slot / self.ways;
                heat[set].accesses += 1;
            }
            let writes_on = write && self.store(self.last.slot);
            return Outcome {
                hit: true,
                by_prefetch: false,
                evicted: None,
                writes_on,
            };
        }
        self.look_up(line, write)
    }

    fn look_up(&mut self, line: u64, write: bool) -> Outcome {
        let set = self.set_of(line);
        let first = set * self.ways;
        let entries = &mut self.entries[first..][..self.ways];
        let key = line << FLAG_BITS;
        let way = self.state.hit(set, entries, key);
        if let Some(heat) = &mut self.heat {
            heat[set].accesses += 1;
            heat[set].misses += u64::from(way.is_none());
        }
        if let Some(way) = way {
            let by_prefetch = entries[way] & PREFETCHED != 0;
            if by_prefetch {
                entries[way] &= !PREFETCHED;
                self.counters.useful += 1;
            }
            let slot = first + way;
            if self.state.idempotent() {
                self.last = Place { line, slot };
            }
            return Outcome {
                hit: true,
                by_prefetch,
                evicted: None,
                writes_on: write && self.store(slot),
            };
        }
        if write && self.design.write_miss == WriteMiss::Around {
            self.counters.bus_writes += 1;
            return Outcome {
                hit: false,
                by_prefetch: false,
                evicted: None,
                writes_on: true,
            };
        }
        let (slot, evicted) = self.put(set, key);
        if self.state.idempotent() {
            self.last = Place { line, slot };
        }
        Outcome {
            hit: false,
            by_prefetch: false,
            evicted,
            writes_on: write && self.store(slot),
        }
    }

    /// Stores to a line that is there. Says whether the store goes on.
    #[inline]
    fn store(&mut self, slot: usize) -> bool {
        match self.design.write_hit {
            WriteHit::Back => {
                self.entries[slot] |= DIRTY;
                false
            }
            WriteHit::Through => {
                self.counters.bus_writes += 1;
                true
            }
        }
    }

    /// Puts an entry into its set, and says where it lies and what made way.
    fn put(&mut self, set: usize, entry: Entry) -> (usize, Option<Evicted>) {
        let first = set * self.ways;
        let entries = &mut self.entries[first..][..self.ways];
        let (way, old) = self.state.fill(set, entries, entry);
        let evicted = Evicted::from(old);
        self.last = Place::NONE;
        self.counters.fills += 1;
        self.counters.evictions += u64::from(evicted.is_some());
        let dirty = evicted.is_some_and(|evicted| evicted.dirty);
        self.counters.write_backs += u64::from(dirty);
        self.counters.bus_writes += u64::from(dirty);
        (first + way, evicted)
    }

    /// Takes a line out.
    pub(super) fn remove(&mut self, line: u64) -> Option<Evicted> {
        let set = self.set_of(line);
        let entries = &mut self.entries[set * self.ways..][..self.ways];
        let entry = self.state.remove(entries, line << FLAG_BITS)?;
        self.last = Place::NONE;
        self.counters.invalidations += 1;
        Evicted::from(entry)
    }

    /// Writes back every line that differs from what lies behind, as at the end of a program, and
    /// says how many there were. They stay.
    pub fn clean(&mut self) -> u64 {
        let mut written = 0;
        for entry in &mut self.entries {
            if *entry != EMPTY && *entry & DIRTY != 0 {
                *entry &= !DIRTY;
                written += 1;
            }
        }
        self.counters.write_backs += written;
        self.counters.bus_writes += written;
        written
    }
}
