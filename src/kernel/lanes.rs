//! Walks along several rings side by side: how many loads can be under way at a time.

// Calls assembly with cursors that the rings vouch for.
#![allow(unsafe_code)]

use super::x86_64::asm::lanes as asm;
use super::{Access, Kernel, Work};
use crate::pattern::Lanes;

/// Bytes of a word.
const WORD: u32 = 8;

/// Walks along the rings of [`Lanes`], a step of each in turn. An operation is a step of one of
/// them. Steps in different rings do not wait for each other.
#[derive(Debug)]
pub struct Abreast<'m> {
    lanes: Lanes<'m>,
    next: usize,
}

impl<'m> Abreast<'m> {
    /// Begins with the first ring.
    pub fn new(lanes: Lanes<'m>) -> Self {
        Abreast { lanes, next: 0 }
    }

    /// The rings, at the elements where the walks stopped.
    pub fn into_lanes(self) -> Lanes<'m> {
        self.lanes
    }

    /// Takes `lanes` walks from the next one on `rounds` steps further.
    fn step(&mut self, lanes: usize, rounds: u64) {
        if lanes > 0 && rounds > 0 {
            let cursors = self.lanes.region_mut().bytes_mut().as_mut_ptr();
            // SAFETY: as many cursors as there are walks stand at the start of the region, which
            // is borrowed mutably and begins on a line; only `Lanes` writes them and the rings.
            unsafe {
                let cursors = cursors.cast::<u64>().add(self.next);
                asm::linefill_lanes(cursors, lanes as u64, rounds);
            }
            self.next = (self.next + lanes) % self.lanes.lanes();
        }
    }

    fn stopped(&self) -> u64 {
        let count = self.lanes.lanes();
        self.lanes.cursor((self.next + count - 1) % count) as u64
    }
}

impl Kernel for Abreast<'_> {
    /// Returns the byte offset at which the walk stopped that took the last step.
    fn run(&mut self, operations: u64) -> u64 {
        let count = self.lanes.lanes();
        // The rest of a round that was begun, whole rounds, and the beginning of another.
        let rest = ((count - self.next) % count).min(operations as usize);
        self.step(rest, 1);
        let left = operations - rest as u64;
        self.step(count, left / count as u64);
        self.step((left % count as u64) as usize, 1);
        self.stopped()
    }

    fn work(&self) -> Work {
        Work {
            loads: 2,
            stores: 1,
            bytes_read: 2 * WORD,
            bytes_written: WORD,
            ..Work::default()
        }
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) {
        for _ in 0..operations {
            let cursor = Lanes::cursor_place(self.next);
            sink(Access::load(cursor, WORD));
            sink(Access::load(self.lanes.cursor(self.next), WORD));
            sink(Access::store(cursor, WORD));
            self.lanes.step(self.next);
            self.next = (self.next + 1) % self.lanes.lanes();
        }
    }
}
