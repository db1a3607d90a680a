//! Code at a chosen byte of a line (Drepper, section 6.2.2, on `-falign-loops` and its like).

// Calls assembly.
#![allow(unsafe_code)]

use crate::kernel::{Access, Kernel, Work};
use crate::mem::LINE;

/// What is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Placed {
    /// A loop of 24 bytes, seven instructions.
    Loop24,
    /// A loop of 48 bytes, thirteen instructions.
    Loop48,
    /// Six instructions in 25 bytes that a loop jumps to; the loop itself stays on a line.
    Target,
}

impl Placed {
    /// All of them.
    pub const ALL: [Placed; 3] = [Placed::Loop24, Placed::Loop48, Placed::Target];

    /// Bytes of what is placed.
    pub const fn bytes(self) -> usize {
        match self {
            Placed::Loop24 => 24,
            Placed::Loop48 => 48,
            Placed::Target => 25,
        }
    }

    /// Instructions of a round.
    pub const fn instructions(self) -> u64 {
        match self {
            Placed::Loop24 => 7,
            Placed::Loop48 => 13,
            Placed::Target => 10,
        }
    }

    /// Whether it reaches over a boundary of `of` bytes if it starts at `offset`, or ends on one:
    /// a jump that does either costs some CPUs more (Intel, "Mitigations for IndexChase Conditional
    /// Code Erratum").
    pub const fn reaches_over(self, offset: usize, of: usize) -> bool {
        offset % of + self.bytes() >= of
    }
}

/// There is no such byte of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSuchOffset(pub usize);

impl core::fmt::Display for NoSuchOffset {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "code can be placed at byte 0 to 63 of a line, not {}",
            self.0
        )
    }
}

impl core::error::Error for NoSuchOffset {}

/// A loop at some byte of a line, or code that it jumps to. An operation is a round.
#[derive(Clone, Copy, Debug)]
pub struct CodeAlign {
    placed: Placed,
    offset: u32,
}

impl CodeAlign {
    /// `placed` at byte `offset` of a line.
    ///
    /// # Errors
    /// If a line has no such byte.
    pub fn new(placed: Placed, offset: usize) -> Result<Self, NoSuchOffset> {
        if offset >= LINE {
            return Err(NoSuchOffset(offset));
        }
        Ok(CodeAlign {
            placed,
            offset: offset as u32,
        })
    }
}

impl Kernel for CodeAlign {
    /// Returns the rounds done, as the code counted them.
    fn run(&mut self, operations: u64) -> u64 {
        if operations == 0 {
            return 0;
        }
        // SAFETY: there is at least one round, and `new` has seen to the offset.
        unsafe {
            match self.placed {
                Placed::Loop24 => linefill_codealign_loop24(operations, self.offset),
                Placed::Loop48 => linefill_codealign_loop48(operations, self.offset),
                Placed::Target => linefill_codealign_target(operations, self.offset),
            }
        }
    }

    fn work(&self) -> Work {
        Work {
            instructions: self.placed.instructions(),
            ..Work::default()
        }
    }

    /// Reports nothing: the code touches no data.
    fn trace(&mut self, operations: u64, _: &mut dyn FnMut(Access)) -> u64 {
        operations
    }
}

unsafe extern "sysv64" {
    /// Goes `rounds` times round a loop of 24 bytes that starts at byte `offset` of a line;
    /// returns the rounds.
    ///
    /// # Safety
    /// `rounds` is not 0, `offset` is less than 64.
    pub fn linefill_codealign_loop24(rounds: u64, offset: u32) -> u64;

    /// The same with 48 bytes.
    ///
    /// # Safety
    /// As for [`linefill_codealign_loop24`].
    pub fn linefill_codealign_loop48(rounds: u64, offset: u32) -> u64;

    /// Goes `rounds` times round a loop at the start of a line that jumps to 25 bytes at byte
    /// `offset` of another line and back; returns the rounds.
    ///
    /// # Safety
    /// As for [`linefill_codealign_loop24`].
    pub fn linefill_codealign_target(rounds: u64, offset: u32) -> u64;
}

/// The patterns on which the kernels are checked against their model.
mod checks {
    use crate::kernel::verify::Oracle;
    use crate::kernel::{CodeAlign, Placed};
    use crate::mem::LINE;

    impl Oracle<'_, '_> {
        pub(crate) fn codealigns(&mut self) {
            for placed in Placed::ALL {
                let name = match placed {
                    Placed::Loop24 => "linefill_codealign_loop24",
                    Placed::Loop48 => "linefill_codealign_loop48",
                    Placed::Target => "linefill_codealign_target",
                };
                self.check(name, 0..LINE, |&offset, _, then| {
                    then(&mut CodeAlign::new(placed, offset).ok()?)
                });
            }
        }
    }
}
