//! The declared memory accesses and arithmetic of an operation.

/// Loads, stores, bytes and arithmetic of one operation, as the program sees them. RFOs, write-backs and
/// prefetches do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Loads.
    pub loads: u32,
    /// Stores.
    pub stores: u32,
    /// Bytes loaded.
    pub bytes_read: u32,
    /// Bytes stored.
    pub bytes_written: u32,
    /// Floating-point operations, a multiply-add counting as two; 0 if arithmetic is not measured.
    pub flops: u64,
    /// Instructions, if code is measured; 0 otherwise.
    pub instructions: u64,
}

impl Work {
    /// No work.
    pub const NONE: Work =
        Work { loads: 0, stores: 0, bytes_read: 0, bytes_written: 0, flops: 0, instructions: 0 };

    /// Adds `count` loads of `bytes` bytes. Saturates.
    #[must_use]
    pub const fn load(self, count: u32, bytes: u32) -> Self {
        Work {
            loads: self.loads.saturating_add(count),
            bytes_read: self.bytes_read.saturating_add(count.saturating_mul(bytes)),
            ..self
        }
    }

    /// Adds `count` stores of `bytes` bytes. Saturates.
    #[must_use]
    pub const fn store(self, count: u32, bytes: u32) -> Self {
        Work {
            stores: self.stores.saturating_add(count),
            bytes_written: (self.bytes_written).saturating_add(count.saturating_mul(bytes)),
            ..self
        }
    }

    /// Returns `count` times this work.
    pub(crate) const fn times(self, count: u32) -> Self {
        Work {
            loads: self.loads * count,
            stores: self.stores * count,
            bytes_read: self.bytes_read * count,
            bytes_written: self.bytes_written * count,
            flops: self.flops * count as u64,
            instructions: self.instructions * count as u64,
        }
    }
}

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A load.
    Load,
    /// A store through the cache.
    Store,
    /// A non-temporal store.
    NonTemporalStore,
    /// A software prefetch.
    Prefetch,
}

/// One access of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Bytes from the start of the kernel's memory.
    pub offset: usize,
    /// Bytes accessed; 0 for a prefetch, which returns no data to the program.
    pub bytes: u32,
    /// The kind of the access.
    pub kind: Kind,
}

impl Access {
    const fn new(kind: Kind, offset: usize, bytes: u32) -> Self {
        Access { offset, bytes, kind }
    }

    pub(crate) const fn load(offset: usize, bytes: u32) -> Self {
        Access::new(Kind::Load, offset, bytes)
    }

    pub(crate) const fn store(offset: usize, bytes: u32) -> Self {
        Access::new(Kind::Store, offset, bytes)
    }

    pub(crate) const fn non_temporal_store(offset: usize, bytes: u32) -> Self {
        Access::new(Kind::NonTemporalStore, offset, bytes)
    }

    /// A software prefetch of the line that holds `offset`.
    pub(crate) const fn prefetch(offset: usize) -> Self {
        Access::new(Kind::Prefetch, offset, 0)
    }
}
