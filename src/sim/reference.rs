//! What a program asks of memory, the input of every simulation, and what a simulation counts.

use core::ops::{Add, AddAssign};

use crate::kernel::{Access, Kind};

/// What a reference does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Op {
    /// Fetches an instruction.
    Fetch,
    /// Loads.
    Load,
    /// Stores.
    Store,
    /// Loads and stores the same bytes in one instruction. Counted as one read, as cachegrind
    /// does: the store cannot miss.
    Modify,
    /// Stores past the cache.
    NonTemporalStore,
    /// Asks for a line and waits for nothing.
    Prefetch,
}

impl Op {
    /// Every kind, as they are numbered.
    pub(super) const ALL: [Op; 6] = [
        Op::Fetch,
        Op::Load,
        Op::Store,
        Op::Modify,
        Op::NonTemporalStore,
        Op::Prefetch,
    ];

    /// How many kinds there are.
    pub(crate) const COUNT: usize = Op::ALL.len();

    /// Whether a line must come in, and is changed there.
    #[inline]
    pub(super) const fn writes(self) -> bool {
        matches!(self, Op::Store | Op::Modify)
    }
}

/// Where a reference enters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Instructions,
    Data,
}

/// One reference to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reference {
    /// The first byte.
    pub address: u64,
    /// Bytes; at least one is looked up.
    pub bytes: u32,
    /// What is done.
    pub op: Op,
}

impl Reference {
    /// An instruction fetch.
    pub const fn fetch(address: u64, bytes: u32) -> Self {
        Reference {
            address,
            bytes,
            op: Op::Fetch,
        }
    }

    /// A load.
    pub const fn load(address: u64, bytes: u32) -> Self {
        Reference {
            address,
            bytes,
            op: Op::Load,
        }
    }

    /// A store.
    pub const fn store(address: u64, bytes: u32) -> Self {
        Reference {
            address,
            bytes,
            op: Op::Store,
        }
    }

    /// An access of a kernel whose memory begins at `base`.
    pub const fn of(access: Access, base: u64) -> Self {
        Reference {
            address: base.wrapping_add(access.offset as u64),
            bytes: access.bytes,
            op: match access.kind {
                Kind::Load => Op::Load,
                Kind::Store => Op::Store,
                Kind::NonTemporalStore => Op::NonTemporalStore,
                Kind::Prefetch => Op::Prefetch,
            },
        }
    }

    /// The last byte; the first if there is but one, or none.
    #[inline]
    pub const fn last(&self) -> u64 {
        let more = self.bytes.saturating_sub(1);
        self.address.saturating_add(more as u64)
    }
}

/// How references of one kind came out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// Every line was there.
    pub hits: u64,
    /// A line, or both of a split reference, was not there. Counted once a reference.
    pub misses: u64,
}

impl Outcomes {
    /// References.
    pub const fn total(&self) -> u64 {
        self.hits + self.misses
    }
}

impl From<[u64; 2]> for Outcomes {
    /// Misses come first: they are `false`.
    fn from([misses, hits]: [u64; 2]) -> Self {
        Outcomes { hits, misses }
    }
}

/// What one level counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Instruction fetches.
    pub fetches: Outcomes,
    /// Loads, and loads that store to the same place in one instruction.
    pub reads: Outcomes,
    /// Stores.
    pub writes: Outcomes,
    /// Software prefetches, and what prefetchers of nearer levels asked for.
    pub prefetches: Outcomes,
    /// Lines brought in, for whatever reason.
    pub fills: u64,
    /// Lines that made way for others.
    pub evictions: u64,
    /// Lines that differed from what lies behind and were sent there.
    pub write_backs: u64,
    /// Stores sent on: write-backs, stores written through or around, and write-combined lines.
    pub bus_writes: u64,
    /// Lines removed because a level behind dropped them, or a store went past.
    pub invalidations: u64,
    /// Lines that this level's own prefetchers brought in.
    pub prefetched: u64,
    /// Those of them that were used before they made way.
    pub useful: u64,
}

impl Counters {
    /// Fetches, reads and writes.
    pub fn demand(&self) -> Outcomes {
        self.fetches + self.reads + self.writes
    }

    /// Misses of fetches, reads and writes.
    pub fn misses(&self) -> u64 {
        self.demand().misses
    }

    /// Hits of fetches, reads and writes.
    pub fn hits(&self) -> u64 {
        self.demand().hits
    }

    /// Misses over references; 0 without references.
    pub fn miss_ratio(&self) -> f64 {
        let demand = self.demand();
        match demand.total() {
            0 => 0.0,
            total => demand.misses as f64 / total as f64,
        }
    }
}

impl Add for Outcomes {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Outcomes {
            hits: self.hits + other.hits,
            misses: self.misses + other.misses,
        }
    }
}

impl AddAssign for Outcomes {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// References to one set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetCounters {
    /// Lines looked up.
    pub accesses: u64,
    /// Those that were not there.
    pub misses: u64,
}
