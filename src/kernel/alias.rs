//! A store, and a load of another place whose low address bits may be the same: 4 KiB aliasing.

// Calls assembly with places inside the region.
#![allow(unsafe_code)]

use super::x86_64::asm::alias as asm;
use super::{Access, Kernel, Work};
use crate::mem::Region;

/// Bytes of a word.
const WORD: usize = 8;

/// Why two places cannot be stored to and loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AliasError {
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

impl core::fmt::Display for AliasError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            AliasError::Overlap { store, load } => write!(
                f,
                "words at bytes {store} and {load} overlap; they must be {WORD} apart"
            ),
            AliasError::Outside(offset) => {
                write!(f, "no word at byte {offset} lies in the region")
            }
        }
    }
}

impl core::error::Error for AliasError {}

/// A store of a word, then a load of another, again and again, each load waiting for the one
/// before. An operation is one of each.
#[derive(Debug)]
pub struct Alias<'m> {
    region: Region<'m>,
    store: usize,
    load: usize,
}

impl<'m> Alias<'m> {
    /// Stores to byte `store` of the region and loads from byte `load`, where it first puts the
    /// address of that word.
    ///
    /// # Errors
    /// If the words overlap, or one does not lie in the region.
    pub fn new(mut region: Region<'m>, store: usize, load: usize) -> Result<Self, AliasError> {
        let fits = |offset: usize| offset <= region.len() - WORD;
        if let Some(outside) = [store, load].into_iter().find(|offset| !fits(*offset)) {
            return Err(AliasError::Outside(outside));
        }
        if store.abs_diff(load) < WORD {
            return Err(AliasError::Overlap { store, load });
        }
        region.set_word(load, (region.address() + load) as u64);
        Ok(Alias {
            region,
            store,
            load,
        })
    }
}

impl Kernel for Alias<'_> {
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
        let last = unsafe { asm::linefill_alias(store, load, operations) };
        (last - self.region.address()) as u64
    }

    fn work(&self) -> Work {
        Work {
            loads: 1,
            stores: 1,
            bytes_read: WORD as u32,
            bytes_written: WORD as u32,
            ..Work::default()
        }
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) {
        for _ in 0..operations {
            sink(Access::store(self.store, WORD as u32));
            sink(Access::load(self.load, WORD as u32));
        }
    }
}
