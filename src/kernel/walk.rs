//! Drepper's list walks (section 3.3.2): follow the pointers of a ring, and do something to each
//! element.

// Calls kernels with addresses that the ring vouches for.
#![allow(unsafe_code)]

use super::x86_64::{asm::walk as asm, intrinsics::walk as intrinsics};
use super::{Access, Form, Kernel, Work};
use crate::pattern::{Layout, Ring};

/// Bytes of a word.
const WORD: usize = 8;

/// What a walk does to each element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// `p = p->n`.
    Follow,
    /// `p->pad[0]++; p = p->n`.
    Inc,
    /// `p->pad[0] += p->n->pad[0]; p = p->n`.
    Addnext0,
    /// `p->pad[0] += p->n->pad[NPAD-1]; p = p->n`. The paper names it and does not define it;
    /// this is the reading that its name suggests.
    Addnextlast,
}

/// Why a ring cannot be walked in some way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkError {
    /// The step needs a word besides the pointer.
    NoPadding(Step),
}

impl core::fmt::Display for WalkError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let WalkError::NoPadding(step) = self;
        write!(
            f,
            "{step:?} needs elements with at least 1 word of padding, these have 0"
        )
    }
}

impl core::error::Error for WalkError {}

impl Step {
    /// The steps, for those who try them all.
    pub const ALL: [Step; 4] = [Step::Follow, Step::Inc, Step::Addnext0, Step::Addnextlast];
}

/// A walk along a ring. An operation is a step to the next element.
#[derive(Debug)]
pub struct Walk<'m> {
    ring: Ring<'m>,
    step: Step,
    form: Form,
}

impl<'m> Walk<'m> {
    /// A walk that begins at the ring's cursor.
    ///
    /// # Errors
    /// If the step touches padding and the elements have none.
    pub fn new(ring: Ring<'m>, step: Step) -> Result<Self, WalkError> {
        if step != Step::Follow && ring.layout().padding() == 0 {
            return Err(WalkError::NoPadding(step));
        }
        Ok(Walk {
            ring,
            step,
            form: Form::default(),
        })
    }

    /// The same walk in another form. Both take the same time: the loop waits for its loads.
    pub fn by(self, form: Form) -> Self {
        Walk { form, ..self }
    }

    /// The ring, at the element where the walk stopped.
    pub fn ring(&self) -> &Ring<'m> {
        &self.ring
    }

    /// The ring itself, likewise.
    pub fn into_ring(self) -> Ring<'m> {
        self.ring
    }
}

/// Distances in bytes from an element's pointer word to its first and last word of padding.
pub(super) fn padding_offsets(ring: &Ring<'_>) -> (isize, isize) {
    padding_of(ring.layout())
}

/// The same of a layout's elements.
pub(super) fn padding_of(layout: &Layout) -> (isize, isize) {
    let pointer = layout.pointer_offset() as isize;
    let last_word = (layout.element() - WORD) as isize;
    let first = if pointer == 0 { WORD as isize } else { 0 };
    let last = if pointer == last_word {
        last_word - WORD as isize
    } else {
        last_word
    };
    (first - pointer, last - pointer)
}

impl Kernel for Walk<'_> {
    /// Returns the byte offset at which the walk stopped.
    fn run(&mut self, operations: u64) -> u64 {
        if operations == 0 {
            return self.ring.offset(self.ring.cursor()) as u64;
        }
        let at = self.ring.cursor();
        let (first, last) = padding_offsets(&self.ring);
        // SAFETY: the cursor is a pointer word of the ring, which is borrowed mutably; every
        // pointer word holds the address of another, and `first` and `last` reach words of
        // padding inside each element (`new` has seen to it that there is padding, if used).
        let stopped = unsafe {
            let other = match self.step {
                Step::Addnextlast => last,
                _ => first,
            };
            match (self.form, self.step) {
                (Form::Assembly, Step::Follow) => asm::linefill_walk_follow(at, operations),
                (Form::Assembly, Step::Inc) => asm::linefill_walk_inc(at, operations, first),
                (Form::Assembly, _) => asm::linefill_walk_addnext(at, operations, first, other),
                (Form::Intrinsics, Step::Follow) => intrinsics::follow(at, operations),
                (Form::Intrinsics, Step::Inc) => intrinsics::inc(at, operations, first),
                (Form::Intrinsics, _) => intrinsics::addnext(at, operations, first, other),
            }
        };
        self.ring.set_cursor(stopped);
        self.ring.offset(stopped) as u64
    }

    fn work(&self) -> Work {
        work_of(self.step)
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) {
        let padding = padding_offsets(&self.ring);
        for _ in 0..operations {
            let at = self.ring.cursor();
            let next = self.ring.next(at);
            let there = self.ring.offset(next);
            trace_step(self.step, padding, self.ring.offset(at), there, sink);
            self.ring.set_cursor(next);
        }
    }
}

/// What a step does.
pub(super) fn work_of(step: Step) -> Work {
    let (loads, stores) = match step {
        Step::Follow => (1, 0),
        Step::Inc => (2, 1),
        Step::Addnext0 | Step::Addnextlast => (3, 1),
    };
    Work {
        loads,
        stores,
        bytes_read: loads * WORD as u32,
        bytes_written: stores * WORD as u32,
        ..Work::default()
    }
}

/// The accesses of a step from the element whose pointer word lies at offset `here` to the one at
/// `there`; `padding` is the distances to the first and the last word of padding.
pub(super) fn trace_step(
    step: Step,
    padding: (isize, isize),
    here: usize,
    there: usize,
    sink: &mut dyn FnMut(Access),
) {
    let word = WORD as u32;
    let (first, last) = padding;
    sink(Access::load(here, word));
    let from_next = match step {
        Step::Follow => return,
        Step::Inc => None,
        Step::Addnext0 => Some(first),
        Step::Addnextlast => Some(last),
    };
    if let Some(from_next) = from_next {
        sink(Access::load(there.wrapping_add_signed(from_next), word));
    }
    let counter = here.wrapping_add_signed(first);
    sink(Access::load(counter, word));
    sink(Access::store(counter, word));
}
