//! Walks along a ring that other threads walk as well (Drepper, Figures 3.19 to 3.22).

// Calls assembly with addresses that the ring vouches for.
#![allow(unsafe_code)]

use super::walk::{padding_of, trace_step, work_of};
use super::x86_64::asm::walk as asm;
use super::{Access, Kernel, Step, WalkError, Work};
use crate::pattern::SharedRing;

/// A thread's walk along a ring that it shares. An operation is a step to the next element.
///
/// It is the walk of [`Walk`](super::Walk), by the same instructions. Where the step writes, the
/// additions of several threads to one element get lost now and then, as those of a program
/// without locks would.
#[derive(Clone, Debug)]
pub struct SharedWalk<'m> {
    ring: SharedRing<'m>,
    at: usize,
    step: Step,
}

impl<'m> SharedWalk<'m> {
    /// A walk that begins at the ring's first element.
    ///
    /// # Errors
    /// If the step touches padding and the elements have none.
    pub fn new(ring: SharedRing<'m>, step: Step) -> Result<Self, WalkError> {
        if step != Step::Follow && ring.layout().padding() == 0 {
            return Err(WalkError::NoPadding(step));
        }
        Ok(SharedWalk {
            at: ring.first(),
            ring,
            step,
        })
    }
}

impl Kernel for SharedWalk<'_> {
    /// Returns the byte offset at which the walk stopped.
    fn run(&mut self, operations: u64) -> u64 {
        if operations > 0 {
            let (first, last) = padding_of(self.ring.layout());
            let at = self.at;
            // SAFETY: `at` is a pointer word of the ring, whose memory is borrowed for as long as
            // this walk; every pointer word holds the address of another and is never written;
            // `first` and `last` reach words of padding inside each element (`new` has seen to it
            // that there is padding, if used). All words are atomic and accessed by whole aligned
            // instructions, so other threads may write to the padding meanwhile.
            self.at = unsafe {
                match self.step {
                    Step::Follow => asm::linefill_walk_follow(at, operations),
                    Step::Inc => asm::linefill_walk_inc(at, operations, first),
                    Step::Addnext0 => asm::linefill_walk_addnext(at, operations, first, first),
                    Step::Addnextlast => asm::linefill_walk_addnext(at, operations, first, last),
                }
            };
            assert!(self.ring.holds(self.at), "a walk left its ring");
        }
        self.ring.offset(self.at) as u64
    }

    fn work(&self) -> Work {
        work_of(self.step)
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) {
        let padding = padding_of(self.ring.layout());
        for _ in 0..operations {
            let next = self.ring.next(self.at);
            let here = self.ring.offset(self.at);
            trace_step(self.step, padding, here, self.ring.offset(next), sink);
            self.at = next;
        }
    }
}
