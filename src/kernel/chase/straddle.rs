//! A walk that loads its pointers with instructions of any width (Drepper, section 6.2.1, Figure 6.4:
//! the latency of misaligned accesses).

// Calls assembly with addresses that the ring vouches for.
#![allow(unsafe_code)]

use crate::cpu::Features;
use crate::kernel::chase::walk::linefill_walk_follow;
use crate::kernel::verify::{Oracle, RANDOM, RingCase, ring};
use crate::kernel::{Access, Kernel, Width, Work};
use crate::pattern::{Layout, Order, Ring};

/// Why a ring cannot be walked with loads of some width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WideChaseError {
    /// The load would extend beyond the end of the element.
    Narrow {
        /// Bytes from the pointer to the end of the element.
        bytes: usize,
        /// Bytes of the load.
        width: usize,
    },
    /// The ring spans this many bytes, more than the 4 GiB that a 4-byte load can address.
    Far(usize),
}

messages! { WideChaseError:
    WideChaseError::Narrow { bytes, width } => (
        "elements have {bytes} bytes from their pointer on; a load needs {width}"
    );
    WideChaseError::Far(span) => ("the ring spans {span} bytes; 4-byte loads reach 4 GiB");
}

/// A walk along a ring with loads of one width. An operation is a step.
#[derive(Debug)]
pub struct WideChase<'m> {
    ring: Ring<'m>,
    width: Width,
}

impl<'m> WideChase<'m> {
    /// Creates a walk that begins at the ring's cursor.
    ///
    /// # Errors
    /// If a load would read beyond an element, or 4 bytes cannot address all of the ring.
    pub fn new(ring: Ring<'m>, width: Width) -> Result<Self, WideChaseError> {
        let layout = ring.layout();
        let bytes = layout.element() - layout.pointer_offset();
        if bytes < width.bytes() {
            return Err(WideChaseError::Narrow { bytes, width: width.bytes() });
        }
        let span = layout.span(ring.count());
        if width == Width::W4 && u32::try_from(span).is_err() {
            return Err(WideChaseError::Far(span));
        }
        Ok(WideChase { ring, width })
    }
}

impl Kernel for WideChase<'_> {
    /// Returns the byte offset of the pointer word at which the walk stopped.
    fn run(&mut self, operations: u64) -> u64 {
        let at = self.ring.cursor();
        if operations > 0 {
            let start = at - self.ring.offset(at);
            // SAFETY: the cursor is a pointer word of the ring, which is borrowed, and every
            // pointer word holds the address of another; `new` has checked that a load stays in
            // its element, and that a 4-byte load stays within 4 GiB of the region's start; the token
            // proves that the CPU has the instruction.
            let stop = unsafe {
                match self.width {
                    Width::W4 => linefill_straddle4(at, operations, start),
                    Width::W8 => linefill_walk_follow(at, operations),
                    Width::W16 => linefill_straddle16(at, operations, start),
                    Width::W32(_) => linefill_straddle32(at, operations, start),
                    Width::W64(_) => linefill_straddle64(at, operations, start),
                }
            };
            self.ring.set_cursor(stop);
        }
        self.ring.offset(self.ring.cursor()) as u64
    }

    fn work(&self) -> Work {
        Work::default().load(1, self.width.bytes() as u32)
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        for _ in 0..operations {
            let at = self.ring.cursor();
            let bytes = self.width.bytes() as u32;
            sink(Access::load(self.ring.offset(at), bytes));
            self.ring.set_cursor(self.ring.next(at));
        }
        self.ring.offset(self.ring.cursor()) as u64
    }
}

unsafe extern "sysv64" {
    /// Walks `steps` steps with 4-byte loads; returns the address of the pointer word where the walk stops.
    ///
    /// # Safety
    /// `at` is the address of a pointer word, and every pointer word on the walk holds the address of
    /// another; all lie less than 4 GiB above `base` and none below it; `steps` is not 0.
    pub fn linefill_straddle4(at: usize, steps: u64, base: usize) -> usize;

    /// Like [`linefill_straddle4`], with 16-byte loads.
    ///
    /// # Safety
    /// As for [`linefill_straddle4`], but `base` may be any value; the 16 bytes from each pointer word
    /// on are readable.
    pub fn linefill_straddle16(at: usize, steps: u64, base: usize) -> usize;

    /// Like [`linefill_straddle16`], with 32-byte loads.
    ///
    /// # Safety
    /// As for [`linefill_straddle16`] with 32 bytes, and the CPU has AVX2.
    pub fn linefill_straddle32(at: usize, steps: u64, base: usize) -> usize;

    /// Like [`linefill_straddle16`], with 64-byte loads.
    ///
    /// # Safety
    /// As for [`linefill_straddle16`] with 64 bytes, and the CPU has AVX-512.
    pub fn linefill_straddle64(at: usize, steps: u64, base: usize) -> usize;
}

/// Elements of at least a line, placed so that loads of every width straddle lines and pages.
const RINGS: [RingCase; 5] = [
    ring(Layout::npad(7), 100, Order::Sequential),
    ring(Layout::npad(7), 1, RANDOM),
    ring(Layout::npad(7).spaced(128).skewed(61), 300, RANDOM),
    ring(Layout::npad(15).pointer_in_word(8), 300, RANDOM),
    ring(Layout::npad(7).one_a_page().skewed(4093), 30, Order::Sequential),
];

impl Oracle<'_, '_> {
    pub(crate) fn straddles(&mut self, features: Features) {
        for (bytes, name) in [
            (4, "linefill_straddle4"),
            (16, "linefill_straddle16"),
            (32, "linefill_straddle32"),
            (64, "linefill_straddle64"),
        ] {
            if let Some(width) = Width::of(bytes, features) {
                self.check(name, RINGS, |ring, memory, then| {
                    then(&mut WideChase::new(ring.build(memory)?, width).ok()?)
                });
            }
        }
    }
}
