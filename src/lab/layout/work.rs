//! How much reading a binary's debug information may take.
//!
//! Entries, names and tables refer to each other, so that a small file can ask for work without end:
//! a type that a type holds twice that a type holds twice, and so on, or a thousand units that each
//! begin with the same table. What real compilers leave takes a small multiple of its size.

use std::cell::Cell;

/// What reading may still take, in bytes looked at, about.
#[derive(Debug)]
pub(super) struct Work {
    left: Cell<u64>,
    spent: Cell<bool>,
}

/// What a small file may take, and how often a larger one its own size.
const ALWAYS: u64 = 1 << 28;
const TIMES: u64 = 512;

/// What an entry takes, and each of its attributes.
const ENTRY: u64 = 32;
const ATTRIBUTE: u64 = 16;

impl Work {
    /// That of sections of so many bytes.
    pub(super) fn of_bytes(bytes: usize) -> Self {
        let times = (bytes as u64).saturating_mul(TIMES);
        Work {
            left: Cell::new(times.saturating_add(ALWAYS)),
            spent: Cell::new(false),
        }
    }

    /// Takes so much from it.
    ///
    /// # Errors
    /// If there is not as much, now and from then on.
    pub(super) fn spend(&self, bytes: u64) -> gimli::Result<()> {
        match self.left.get().checked_sub(bytes) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => {
                self.left.set(0);
                self.spent.set(true);
                Err(gimli::Error::TooManyIterations)
            }
        }
    }

    /// The same for an entry with so many attributes.
    ///
    /// # Errors
    /// As of [`spend`](Self::spend).
    pub(super) fn entry(&self, attributes: usize) -> gimli::Result<()> {
        self.spend(ENTRY + ATTRIBUTE * attributes as u64)
    }

    /// Whether more was asked for than there was: what was read is then not all there is.
    pub(super) fn spent(&self) -> bool {
        self.spent.get()
    }
}
