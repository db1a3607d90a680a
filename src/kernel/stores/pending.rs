//! Stores that wait behind a long latency: how many of them a core holds.

// Calls assembly with an address inside the region.
#![allow(unsafe_code)]

use crate::kernel::{Access, Kernel, Work};
use crate::mem::Region;

/// The most stores of a round.
pub const MOST_PENDING: u32 = 128;

/// More stores than a round has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyStores(pub u32);

impl core::fmt::Display for TooManyStores {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "{} stores per round; {MOST_PENDING} are the most",
            self.0
        )
    }
}

impl core::error::Error for TooManyStores {}

/// Rounds of a chain of divisions and stores behind it, to the region's first word. An operation is
/// a round.
///
/// No round waits for the one before, so that several run side by side until the stores between two
/// chains no longer find room in the store buffer.
#[derive(Debug)]
pub struct StoreBufferFill<'m> {
    region: Region<'m>,
    stores: u32,
    count: u64,
}

impl<'m> StoreBufferFill<'m> {
    /// Rounds of `stores` stores.
    ///
    /// # Errors
    /// If there are more than [`MOST_PENDING`].
    pub fn new(region: Region<'m>, stores: u32) -> Result<Self, TooManyStores> {
        if stores > MOST_PENDING {
            return Err(TooManyStores(stores));
        }
        Ok(StoreBufferFill {
            region,
            stores,
            count: 0,
        })
    }
}

impl Kernel for StoreBufferFill<'_> {
    /// Returns the rounds so far, which is what the word holds if there are stores.
    fn run(&mut self, operations: u64) -> u64 {
        if operations > 0 {
            let at = self.region.bytes_mut().as_mut_ptr().cast::<u64>();
            let (stores, count) = (self.stores.into(), self.count);
            // SAFETY: the region holds at least a line and starts on one, and is borrowed mutably;
            // there is at least one round, and `new` has seen to it that the stores are not too many.
            self.count = unsafe { linefill_pending(at, operations, stores, count) };
        }
        self.count
    }

    fn work(&self) -> Work {
        Work::default().store(self.stores, 8)
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        for _ in 0..operations {
            self.count += 1;
            for _ in 0..self.stores {
                sink(Access::store(0, 8));
                self.region.set_word(0, self.count);
            }
        }
        self.count
    }
}

unsafe extern "sysv64" {
    /// Counts up from `before`, once a round, behind twelve dependent divisions, and stores the
    /// count `stores` times to the word at `at`; returns the last count.
    ///
    /// # Safety
    /// `at` is a multiple of 8 and valid for a write of 8 bytes; `rounds` is not 0, and `stores` at
    /// most 128.
    pub fn linefill_pending(at: *mut u64, rounds: u64, stores: u64, before: u64) -> u64;
}

/// The patterns on which the kernels are checked against their model.
mod checks {
    use crate::kernel::verify::Oracle;
    use crate::kernel::{MOST_PENDING, StoreBufferFill};

    impl Oracle<'_, '_> {
        pub(crate) fn pendings(&mut self) {
            let stores = [0, 1, 63, MOST_PENDING];
            self.check("linefill_pending", stores, |&stores, memory, then| {
                then(&mut StoreBufferFill::new(memory, stores).ok()?)
            });
        }
    }
}
