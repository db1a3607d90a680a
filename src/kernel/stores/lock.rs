//! Locked additions, within a line and across two lines (Drepper, section 6.2.1, on alignment; Intel SDM
//! volume 3, "Bus Locking").

// Calls assembly with an address inside the region.
#![allow(unsafe_code)]

use crate::cpu::SplitLocks;
use crate::kernel::verify::Oracle;
use crate::kernel::{Access, Kernel, Work};
use crate::mem::{LINE, Region, WORD};

/// Why the additions to a word are rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LockError {
    /// The word at this byte offset does not lie in the region.
    Outside(usize),
    /// The word at this byte offset crosses two lines, and there is no proof that this is allowed.
    Split(usize),
}

messages! { LockError:
    LockError::Outside(offset) => ("no word at byte {offset} lies in the region");
    LockError::Split(offset) => (
        "the word at byte {offset} lies across two lines, where a locked addition may be trapped"
    );
}

/// Locked additions of 1 to a word. An operation is an addition.
#[derive(Debug)]
pub struct LockAdd<'m> {
    region: Region<'m>,
    at: usize,
}

impl<'m> LockAdd<'m> {
    /// Adds to the word at byte `at`, which may cross two lines only with `allowed`.
    ///
    /// # Errors
    /// If the word does not lie in the region, or crosses two lines without the proof.
    pub fn new(
        region: Region<'m>,
        at: usize,
        allowed: Option<SplitLocks>,
    ) -> Result<Self, LockError> {
        if at > region.len() - WORD {
            return Err(LockError::Outside(at));
        }
        if at % LINE > LINE - WORD && allowed.is_none() {
            return Err(LockError::Split(at));
        }
        Ok(LockAdd { region, at })
    }
}

impl Kernel for LockAdd<'_> {
    /// Returns the word before the last addition; for 0 operations, its present value.
    fn run(&mut self, operations: u64) -> u64 {
        if operations == 0 {
            return self.region.word(self.at);
        }
        let at = self.region.bytes_mut()[self.at..].as_mut_ptr();
        // SAFETY: `new` has checked that the word lies in the region, which is borrowed mutably, and
        // that it lies in one line or the token proves that it may cross two.
        unsafe { linefill_lock_add(at, operations) }
    }

    fn work(&self) -> Work {
        Work::default().load(1, WORD as u32).store(1, WORD as u32)
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        let mut before = self.region.word(self.at);
        for _ in 0..operations {
            sink(Access::load(self.at, WORD as u32));
            before = self.region.word(self.at);
            sink(Access::store(self.at, WORD as u32));
            self.region.set_word(self.at, before.wrapping_add(1));
        }
        before
    }
}

unsafe extern "sysv64" {
    /// Adds 1 to the word at `at` with `lock xadd`, `additions` times; returns the word before the last
    /// addition.
    ///
    /// # Safety
    /// `at` is valid for reads and writes of 8 bytes; `additions` is not 0. If the 8 bytes cross two
    /// lines, split locks are not trapped.
    pub fn linefill_lock_add(at: *mut u8, additions: u64) -> u64;
}

impl Oracle<'_, '_> {
    pub(crate) fn locks(&mut self) {
        self.check("linefill_lock_add", [0, 3, 56, 4096 + 17], |&at, memory, then| {
            then(&mut LockAdd::new(memory, at, None).ok()?)
        });
    }
}
