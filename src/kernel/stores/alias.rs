//! A store, and a load of another place whose low address bits may be the same: 4 KiB aliasing.

// Calls assembly with places inside the region.
#![allow(unsafe_code)]

use crate::kernel::{Access, Kernel, Work};
use crate::mem::Region;

/// Bytes of a word.
const WORD: usize = 8;

/// Why two places cannot be stored to and loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Alias4KError {
    /// Their words have bytes in common.
    Overlap {
        /// Byte offset of the store.
        store: usize,
        /// Byte offset of the load.
        load: usize,
    },
    /// A word at this byte offset does not lie in the region.
    Outside(usize),
}

impl core::fmt::Display for Alias4KError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Alias4KError::Overlap { store, load } => write!(
                f,
                "words at bytes {store} and {load} overlap; they must be {WORD} apart"
            ),
            Alias4KError::Outside(offset) => {
                write!(f, "no word at byte {offset} lies in the region")
            }
        }
    }
}

impl core::error::Error for Alias4KError {}

/// A store of a word, then a load of another, again and again, each load waiting for the one
/// before. An operation is one of each.
#[derive(Debug)]
pub struct Alias4K<'m> {
    region: Region<'m>,
    store: usize,
    load: usize,
}

impl<'m> Alias4K<'m> {
    /// Stores to byte `store` of the region and loads from byte `load`, where it first puts the
    /// address of that word.
    ///
    /// # Errors
    /// If the words overlap, or one does not lie in the region.
    pub fn new(mut region: Region<'m>, store: usize, load: usize) -> Result<Self, Alias4KError> {
        let fits = |offset: usize| offset <= region.len() - WORD;
        if let Some(outside) = [store, load].into_iter().find(|offset| !fits(*offset)) {
            return Err(Alias4KError::Outside(outside));
        }
        if store.abs_diff(load) < WORD {
            return Err(Alias4KError::Overlap { store, load });
        }
        region.set_word(load, (region.address() + load) as u64);
        Ok(Alias4K {
            region,
            store,
            load,
        })
    }
}

impl Kernel for Alias4K<'_> {
    /// Returns the byte offset that the word loaded last points to.
    fn run(&mut self, operations: u64) -> u64 {
        if operations == 0 {
            return self.load as u64;
        }
        let region = self.region.bytes_mut();
        let store = region[self.store..].as_mut_ptr();
        let load = region[self.load..].as_ptr();
        // SAFETY: `new` has seen to it that both words lie in the region, which is borrowed
        // mutably, that they do not overlap, and that the second holds its own address.
        let last = unsafe { linefill_alias(store, load, operations) };
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

unsafe extern "sysv64" {
    /// Stores what is left of `iterations` to `store`, then loads `load`, `iterations` times;
    /// returns the word loaded last.
    ///
    /// # Safety
    /// `store` is valid for writes of 8 bytes, `load` for reads of 8 bytes that hold `load` itself;
    /// they have no byte in common; `iterations` is not 0.
    pub fn linefill_alias(store: *mut u8, load: *const u8, iterations: u64) -> usize;
}

/// The patterns on which the kernels are checked against their model.
mod checks {
    use crate::kernel::Alias4K;
    use crate::kernel::verify::Oracle;

    impl Oracle<'_, '_> {
        pub(crate) fn aliases(&mut self) {
            let places = [(0, 4096), (4096, 0), (64, 72), (72, 64), (4099, 8195)];
            self.check("linefill_alias", places, |&(store, load), memory, then| {
                then(&mut Alias4K::new(memory, store, load).ok()?)
            });
        }
    }
}
