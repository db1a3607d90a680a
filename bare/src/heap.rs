//! The allocator of a run of experiments: a share of the free memory.

use core::alloc::{GlobalAlloc, Layout};

use linefill_bare_memory::Size;
use talc::DefaultBinning;
use talc::cell::TalcCell;
use talc::source::Manual;

use crate::pages::Pages;

#[global_allocator]
static HEAP: Heap = Heap(TalcCell::new(Manual));

/// An allocator for one CPU.
struct Heap(TalcCell<Manual, DefaultBinning>);

// SAFETY: one CPU runs the program, and no interrupt comes into its functions.
unsafe impl Sync for Heap {}

// SAFETY: all of it is the inner allocator's.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's.
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's.
        unsafe { self.0.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: the caller's.
        unsafe { self.0.realloc(at, layout, bytes) }
    }
}

/// Which share of the free memory it gets, and how many bytes at most.
const SHARE: u64 = 4;
const MOST: u64 = 1 << 30;

/// Gives the allocator its memory, and says how many bytes; 0 if there are none. Until then every
/// allocation fails.
pub fn begin(pages: &mut Pages) -> u64 {
    let large = Size::Large.bytes();
    let wanted = (pages.free() / SHARE).min(MOST) / large * large;
    let Some(memory) = pages.take_accessible(wanted) else {
        return 0;
    };
    let at = core::ptr::with_exposed_provenance_mut(memory.start as usize);
    // SAFETY: the memory is mapped onto itself, and from now on the allocator's alone.
    match unsafe { HEAP.0.claim(at, memory.bytes() as usize) } {
        Some(_) => memory.bytes(),
        None => 0,
    }
}
