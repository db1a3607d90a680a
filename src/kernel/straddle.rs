//! A walk that loads its pointers by instructions of any width (Drepper, section 6.2.1, Figure
//! 6.4: what a misaligned access waits for).

// Calls assembly with addresses that the ring vouches for.
#![allow(unsafe_code)]

use super::x86_64::asm::straddle as asm;
use super::x86_64::asm::walk::linefill_walk_follow;
use super::{Access, Kernel, Width, Work};
use crate::pattern::Ring;

/// Why a ring cannot be walked by loads of some width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StraddleError {
    /// An element has too few bytes from its pointer on.
    Narrow {
        /// Bytes from the pointer to the end of the element.
        bytes: usize,
        /// Bytes of a load.
        width: usize,
    },
    /// A 4-byte load reaches over 4 GiB, and the ring spans this many bytes.
    Far(usize),
}

impl core::fmt::Display for StraddleError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            StraddleError::Narrow { bytes, width } => write!(
                f,
                "elements have {bytes} bytes from their pointer on; a load needs {width}"
            ),
            StraddleError::Far(span) => {
                write!(f, "the ring spans {span} bytes; 4-byte loads reach 4 GiB")
            }
        }
    }
}

impl core::error::Error for StraddleError {}

/// A walk along a ring by loads of one width. An operation is a step.
#[derive(Debug)]
pub struct Straddle<'m> {
    ring: Ring<'m>,
    width: Width,
}

impl<'m> Straddle<'m> {
    /// A walk that begins at the ring's cursor.
    ///
    /// # Errors
    /// If a load would read beyond an element, or a 4-byte load cannot reach all of the ring.
    pub fn new(ring: Ring<'m>, width: Width) -> Result<Self, StraddleError> {
        let layout = ring.layout();
        let bytes = layout.element() - layout.pointer_offset();
        if bytes < width.bytes() {
            return Err(StraddleError::Narrow {
                bytes,
                width: width.bytes(),
            });
        }
        let span = layout.span(ring.count());
        if width == Width::W4 && u32::try_from(span).is_err() {
            return Err(StraddleError::Far(span));
        }
        Ok(Straddle { ring, width })
    }
}

impl Kernel for Straddle<'_> {
    /// Returns the byte offset of the pointer word that the walk came to.
    fn run(&mut self, operations: u64) -> u64 {
        let at = self.ring.cursor();
        if operations > 0 {
            let start = at - self.ring.offset(at);
            // SAFETY: the cursor is a pointer word of the ring, which is borrowed, and every
            // pointer word holds the address of another; `new` has seen to it that a load stays in
            // its element, and within 4 GiB of the region's start where it has 4 bytes; the token
            // proves the instruction.
            let stop = unsafe {
                match self.width {
                    Width::W4 => asm::linefill_straddle4(at, operations, start),
                    Width::W8 => linefill_walk_follow(at, operations),
                    Width::W16 => asm::linefill_straddle16(at, operations, start),
                    Width::W32(_) => asm::linefill_straddle32(at, operations, start),
                    Width::W64(_) => asm::linefill_straddle64(at, operations, start),
                }
            };
            self.ring.set_cursor(stop);
        }
        self.ring.offset(self.ring.cursor()) as u64
    }

    fn work(&self) -> Work {
        Work {
            loads: 1,
            bytes_read: self.width.bytes() as u32,
            ..Work::default()
        }
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) {
        for _ in 0..operations {
            let at = self.ring.cursor();
            sink(Access::load(
                self.ring.offset(at),
                self.width.bytes() as u32,
            ));
            self.ring.set_cursor(self.ring.next(at));
        }
    }
}
