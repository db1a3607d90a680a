//! Walks along several rings at once, which show how many loads can be outstanding at a time.

// Calls assembly with cursors that the rings vouch for.
#![allow(unsafe_code)]

use crate::kernel::verify::Oracle;
use crate::kernel::{Access, Kernel, Work};
use crate::pattern::Lanes;

const WORD: u32 = 8;

/// Interleaved walks along the rings of [`Lanes`]. An operation is a step of one walk. Steps in
/// different rings do not wait for each other.
#[derive(Debug)]
pub struct ParallelChase<'m> {
    lanes: Lanes<'m>,
    next: usize,
}

impl<'m> ParallelChase<'m> {
    /// Creates the walks; the first step is in the first ring.
    pub fn new(lanes: Lanes<'m>) -> Self {
        ParallelChase { lanes, next: 0 }
    }

    /// Advances `lanes` walks, from the next one on, by `rounds` steps each.
    fn step(&mut self, lanes: usize, rounds: u64) {
        if lanes > 0 && rounds > 0 {
            let cursors = self.lanes.region_mut().bytes_mut().as_mut_ptr();
            // SAFETY: the cursors, one per walk, are at the start of the region, which is borrowed
            // mutably and begins on a line; only `Lanes` writes them and the rings.
            unsafe {
                let cursors = cursors.cast::<u64>().add(self.next);
                linefill_lanes(cursors, lanes as u64, rounds);
            }
            self.next = (self.next + lanes) % self.lanes.lanes();
        }
    }

    fn stopped(&self) -> u64 {
        let count = self.lanes.lanes();
        self.lanes.cursor((self.next + count - 1) % count) as u64
    }
}

impl Kernel for ParallelChase<'_> {
    /// Returns the byte offset at which the last walk to take a step stopped.
    fn run(&mut self, operations: u64) -> u64 {
        let count = self.lanes.lanes();
        // The rest of the current round, whole rounds, and the beginning of another round.
        let rest = ((count - self.next) % count).min(operations as usize);
        self.step(rest, 1);
        let left = operations - rest as u64;
        self.step(count, left / count as u64);
        self.step((left % count as u64) as usize, 1);
        self.stopped()
    }

    fn work(&self) -> Work {
        Work::default().load(2, WORD).store(1, WORD)
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        for _ in 0..operations {
            let cursor = Lanes::cursor_place(self.next);
            sink(Access::load(cursor, WORD));
            sink(Access::load(self.lanes.cursor(self.next), WORD));
            sink(Access::store(cursor, WORD));
            self.lanes.step(self.next);
            self.next = (self.next + 1) % self.lanes.lanes();
        }
        self.stopped()
    }
}

unsafe extern "sysv64" {
    /// Advances each of `lanes` walks by `rounds` steps, interleaved.
    ///
    /// # Safety
    /// `cursors` points to `lanes` writable words, each the address of a readable word that holds the
    /// address of another such word, for `rounds` steps; neither number is 0.
    pub fn linefill_lanes(cursors: *mut u64, lanes: u64, rounds: u64);
}

impl Oracle<'_, '_> {
    pub(crate) fn lanes(&mut self) {
        let shapes = [(1, 100), (2, 2), (7, 1000), (32, 1000), (64, 1000)];
        self.check("linefill_lanes", shapes, |&(lanes, lines), memory, then| {
            then(&mut ParallelChase::new(Lanes::new(memory, lanes, lines, 13).ok()?))
        });
    }
}
