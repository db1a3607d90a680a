//! Memory references, which are the input of every simulation, and the counts of a simulation.

use core::ops::Add;

use crate::kernel::{Access, Kind};

/// The operation of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Op {
    /// Instruction fetch.
    Fetch,
    /// Load.
    Load,
    /// Store.
    Store,
    /// Load and store of the same bytes in one instruction. Counted as one read, as in cachegrind,
    /// because the store cannot miss.
    Modify,
    /// Non-temporal store, which bypasses the cache.
    NonTemporalStore,
    /// Software prefetch: requests a line without waiting for it.
    Prefetch,
}

impl Op {
    /// Every operation, in the order of their numbers, which traces in the compact form contain.
    pub(super) const ALL: [Op; 6] =
        [Op::Fetch, Op::Load, Op::Store, Op::Modify, Op::NonTemporalStore, Op::Prefetch];

    /// Number of operations.
    pub(crate) const COUNT: usize = Op::ALL.len();

    /// Returns whether the operation modifies the line in the cache.
    #[inline]
    pub(super) const fn writes(self) -> bool {
        matches!(self, Op::Store | Op::Modify)
    }
}

/// The side of the hierarchy that a reference enters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Instructions,
    Data,
}

/// One reference to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reference {
    /// Address of the first byte.
    pub address: u64,
    /// Number of bytes. With 0, one byte is looked up.
    pub bytes: u32,
    /// Operation.
    pub op: Op,
}

impl Reference {
    /// Returns an instruction fetch.
    pub const fn fetch(address: u64, bytes: u32) -> Self {
        Reference { address, bytes, op: Op::Fetch }
    }

    /// Returns a load.
    pub const fn load(address: u64, bytes: u32) -> Self {
        Reference { address, bytes, op: Op::Load }
    }

    /// Returns a store.
    pub const fn store(address: u64, bytes: u32) -> Self {
        Reference { address, bytes, op: Op::Store }
    }

    /// Returns the reference of a kernel's access, with the kernel's memory at `base`.
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

    /// Returns the address of the last byte; of the first byte if `bytes` is 0.
    #[inline]
    pub const fn last(&self) -> u64 {
        self.address.saturating_add(self.bytes.saturating_sub(1) as u64)
    }

    /// Returns the numbers of the first and the last line of `1 << line_bits` bytes that the reference touches.
    #[inline(always)]
    pub(super) const fn lines(&self, line_bits: u32) -> [u64; 2] {
        [self.address >> line_bits, self.last() >> line_bits]
    }
}

/// Hits and misses of references of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// References whose lines were all in the cache.
    pub hits: u64,
    /// References of which a line was not in the cache. A split reference counts once.
    pub misses: u64,
}

impl Outcomes {
    /// Returns the number of references.
    pub const fn total(&self) -> u64 {
        self.hits + self.misses
    }
}

impl From<[u64; 2]> for Outcomes {
    /// Takes misses first, because a miss is `false`.
    fn from([misses, hits]: [u64; 2]) -> Self {
        Outcomes { hits, misses }
    }
}

/// The counts of one level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Instruction fetches.
    pub fetches: Outcomes,
    /// Loads, including loads that also store to the same place in one instruction.
    pub reads: Outcomes,
    /// Stores, including non-temporal ones.
    pub writes: Outcomes,
    /// Software prefetches, and requests by prefetchers of nearer levels.
    pub prefetches: Outcomes,
    /// Lines brought in, for any reason.
    pub fills: u64,
    /// Lines evicted for others.
    pub evictions: u64,
    /// Dirty lines that were sent to the next level.
    pub write_backs: u64,
    /// Writes sent to the next level: write-backs, stores written through or around, and non-temporal
    /// stores.
    pub bus_writes: u64,
    /// Lines removed because a level beyond evicted them, or because of a non-temporal store.
    pub invalidations: u64,
    /// Lines that this level's own prefetchers brought in.
    pub prefetched: u64,
    /// Lines brought in by this level's own prefetchers that were used before their eviction.
    pub useful: u64,
}

impl Counters {
    /// Returns the fetches, reads and writes together.
    pub fn demand(&self) -> Outcomes {
        self.fetches + self.reads + self.writes
    }

    /// Returns the misses of fetches, reads and writes.
    pub fn misses(&self) -> u64 {
        self.demand().misses
    }

    /// Returns misses divided by references; 0 without references.
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
        Outcomes { hits: self.hits + other.hits, misses: self.misses + other.misses }
    }
}

/// References to one set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetCounters {
    /// Lines looked up.
    pub accesses: u64,
    /// Lookups that missed.
    pub misses: u64,
}
