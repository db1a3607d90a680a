//! What a program asks of memory: the input of every simulation.

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
