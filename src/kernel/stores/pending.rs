//! Waiting stores: stores behind a long latency, where their number shows how many a core can hold, and
//! stores before a load from an address that may have the same low bits (4 KiB aliasing).

// Calls assembly with addresses inside the region.
#![allow(unsafe_code)]

use crate::kernel::verify::Oracle;
use crate::kernel::{Access, Kernel, Work};
use crate::mem::{Region, WORD};

/// The maximum number of stores per round.
pub const MOST_PENDING: u32 = 128;

/// The number of stores per round is more than [`MOST_PENDING`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyStores(pub u32);

messages! { TooManyStores:
    TooManyStores(stores) => ("{stores} stores per round; {MOST_PENDING} are the most");
}

/// Rounds of a chain of divisions followed by stores to the region's first word. An operation is a
/// round.
///
/// No round waits for the one before. Rounds overlap until the stores between two chains no longer fit
/// into the store buffer.
#[derive(Debug)]
pub struct StoreBufferFill<'m> {
    region: Region<'m>,
    stores: u32,
    count: u64,
}

impl<'m> StoreBufferFill<'m> {
    /// Creates a kernel with `stores` stores per round.
    ///
    /// # Errors
    /// If `stores` is more than [`MOST_PENDING`].
    pub fn new(region: Region<'m>, stores: u32) -> Result<Self, TooManyStores> {
        if stores > MOST_PENDING {
            return Err(TooManyStores(stores));
        }
        Ok(StoreBufferFill { region, stores, count: 0 })
    }
}

impl Kernel for StoreBufferFill<'_> {
    /// Returns the number of rounds so far, which is also the word's value if there are stores.
    fn run(&mut self, operations: u64) -> u64 {
        if operations > 0 {
            let at = self.region.bytes_mut().as_mut_ptr().cast::<u64>();
            let (stores, count) = (self.stores.into(), self.count);
            // SAFETY: the region holds at least a line and starts on one, and is borrowed mutably;
            // there is at least one round, and `new` has checked the number of stores.
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
    /// Increments a count from `before` once per round. In each round, after twelve dependent divisions,
    /// stores the count `stores` times to the word at `at`. Returns the last count.
    ///
    /// # Safety
    /// `at` is a multiple of 8 and valid for a write of 8 bytes; `rounds` is not 0; `stores` is at
    /// most 128.
    pub fn linefill_pending(at: *mut u64, rounds: u64, stores: u64, before: u64) -> u64;
}

/// Why two words cannot be stored to and loaded from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Alias4KError {
    /// The words overlap.
    Overlap {
        /// Byte offset of the store.
        store: usize,
        /// Byte offset of the load.
        load: usize,
    },
    /// The word at this byte offset does not lie in the region.
    Outside(usize),
}

messages! { Alias4KError:
    Alias4KError::Overlap { store, load } => (
        "words at bytes {store} and {load} overlap; they must be {WORD} apart"
    );
    Alias4KError::Outside(offset) => ("no word at byte {offset} lies in the region");
}

/// When the core knows the address of a store, compared with that of the load behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreAddress {
    /// Long before: the address is the same in all iterations.
    Early,
    /// At the same time: both addresses derive from the word loaded last.
    Late,
}

/// Repeatedly stores a word, then loads another. Each load waits for the load before. An operation is
/// one store and one load.
#[derive(Debug)]
pub struct Alias4K<'m> {
    region: Region<'m>,
    store: usize,
    load: usize,
    known: StoreAddress,
}

impl<'m> Alias4K<'m> {
    /// Stores to byte `store` of the region and loads from byte `load`. The address of the store is `known`
    /// early or late. First writes to byte `load` the address of that word.
    ///
    /// # Errors
    /// If the words overlap, or one of them does not lie in the region.
    pub fn new(
        mut region: Region<'m>,
        store: usize,
        load: usize,
        known: StoreAddress,
    ) -> Result<Self, Alias4KError> {
        let fits = |offset: usize| offset <= region.len() - WORD;
        if let Some(outside) = [store, load].into_iter().find(|offset| !fits(*offset)) {
            return Err(Alias4KError::Outside(outside));
        }
        if store.abs_diff(load) < WORD {
            return Err(Alias4KError::Overlap { store, load });
        }
        region.set_word(load, (region.address() + load) as u64);
        Ok(Alias4K { region, store, load, known })
    }
}

impl Kernel for Alias4K<'_> {
    /// Returns the byte offset to which the word loaded last points.
    fn run(&mut self, operations: u64) -> u64 {
        if operations == 0 {
            return self.load as u64;
        }
        let region = self.region.bytes_mut();
        let store = region[self.store..].as_mut_ptr();
        let load = region[self.load..].as_ptr();
        // SAFETY: `new` has checked that both words lie in the region, which is borrowed mutably,
        // and that they do not overlap, and has stored in the second its own address.
        let last = unsafe { (aliases(self.known).call)(store, load, operations) };
        (last - self.region.address()) as u64
    }

    fn work(&self) -> Work {
        Work::default().load(1, WORD as u32).store(1, WORD as u32)
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        let mut last = (self.region.address() + self.load) as u64;
        for left in (1..=operations).rev() {
            sink(Access::store(self.store, WORD as u32));
            self.region.set_word(self.store, left);
            sink(Access::load(self.load, WORD as u32));
            last = self.region.word(self.load);
        }
        last - self.region.address() as u64
    }
}

family! {
    /// The function type of the family: stores the number of iterations left to `store`, then loads from
    /// `load`, `iterations` times; returns the word loaded last. If the store's address is known late, it is
    /// taken from the word loaded last, as that of the load.
    ///
    /// # Safety
    /// `store` is valid for writes of 8 bytes, `load` for reads of 8 bytes, which hold the address `load`;
    /// the two words do not overlap; `iterations` is not 0.
    pub type Aliases =
        unsafe extern "sysv64" fn(store: *mut u8, load: *const u8, iterations: u64) -> usize;

    fn aliases(known: StoreAddress) {
        StoreAddress::Early => linefill_alias,
        StoreAddress::Late => linefill_alias_late,
    }
}

impl Oracle<'_, '_> {
    pub(crate) fn pendings(&mut self) {
        let stores = [0, 1, 63, MOST_PENDING];
        self.check("linefill_pending", stores, |&stores, memory, then| {
            then(&mut StoreBufferFill::new(memory, stores).ok()?)
        });
    }

    pub(crate) fn aliases(&mut self) {
        let places = [(0, 4096), (4096, 0), (64, 72), (72, 64), (4099, 8195)];
        for known in [StoreAddress::Early, StoreAddress::Late] {
            self.check(aliases(known).name, places, |&(store, load), memory, then| {
                then(&mut Alias4K::new(memory, store, load, known).ok()?)
            });
        }
    }
}
