//! The allocator for a run of experiments. It gets a fraction of the free memory.

use core::alloc::{GlobalAlloc, Layout};

use talc::DefaultBinning;
use talc::cell::TalcCell;
use talc::source::Manual;

use crate::pages::Pages;

#[global_allocator]
static HEAP: Heap = Heap(TalcCell::new(Manual));

/// An allocator for one CPU.
struct Heap(TalcCell<Manual, DefaultBinning>);

// SAFETY: one CPU runs the program, and no interrupt handler uses the heap.
unsafe impl Sync for Heap {}

// SAFETY: every call goes to the inner allocator.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller guarantees the same.
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller guarantees the same.
        unsafe { self.0.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: the caller guarantees the same.
        unsafe { self.0.realloc(at, layout, bytes) }
    }
}

/// The divisor for the fraction of the free memory, and the maximum number of bytes.
const SHARE: u64 = 4;
const MOST: u64 = 1 << 30;

/// Gives the allocator its memory. Returns the number of bytes, or 0 if none are available. Before this call
/// every allocation fails.
pub fn begin(pages: &mut Pages) -> u64 {
    let wanted = (pages.free() / SHARE).min(MOST);
    let Some(memory) = pages.take_accessible_up_to(wanted) else {
        return 0;
    };
    let at = core::ptr::with_exposed_provenance_mut(memory.start as usize);
    // SAFETY: the memory is mapped onto itself, and only the allocator uses it from now on.
    match unsafe { HEAP.0.claim(at, memory.bytes() as usize) } {
        Some(_) => memory.bytes(),
        None => 0,
    }
}
