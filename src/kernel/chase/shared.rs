//! Walks along a ring that several threads walk at a time (Drepper, Figures 3.19 to 3.22 and 6.8).

// Calls assembly with addresses that the ring vouches for.
#![allow(unsafe_code)]

use crate::kernel::chase::prefetch::MOST_WORK;
use crate::kernel::chase::walk::padding_offsets;
use crate::kernel::chase::{prefetch, walk as asm};
use crate::kernel::{Access, Kernel, Step, Work};
use crate::mem::{LINE, WORD};
use crate::pattern::{Layout, SharedRing};

/// The accesses and the work of a walk at each element of a shared ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Visit {
    /// The step of [`Walk`](crate::kernel::Walk).
    Step(Step),
    /// This many dependent multiplications, 3 core cycles each, before the next step: the walk of
    /// [`PrefetchWalk`](crate::kernel::PrefetchWalk) without a prefetch at
    /// [`Dependence::Serial`](crate::kernel::Dependence::Serial).
    Work(u32),
    /// A load of the pointer and of a word in the element's other line, as a helper thread does.
    Lines,
}

/// Why a shared ring cannot be walked with some [`Visit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum VisitError {
    /// The step needs a word in addition to the pointer.
    NoPadding(Step),
    /// More than [`MOST_WORK`] multiplications.
    TooMuchWork(u32),
    /// The elements, of this many bytes, have no word a line away from their pointer.
    OneLine(usize),
}

messages! { VisitError:
    VisitError::NoPadding(step) => (
        "{step:?} needs elements with at least 1 word of padding, these have 0"
    );
    VisitError::TooMuchWork(work) => (
        "{work} multiplications a node; at most {MOST_WORK} can be had"
    );
    VisitError::OneLine(bytes) => (
        "elements of {bytes} bytes have no second line; it takes {} bytes", 2 * LINE
    );
}

/// A thread's walk along a ring that it shares. An operation is a step to the next element.
///
/// If the step writes, some concurrent additions of several threads to one element are lost, as in a
/// program without locks.
#[derive(Clone, Debug)]
pub struct SharedWalk<'m> {
    ring: SharedRing<'m>,
    at: usize,
    visit: Visit,
}

/// Returns the distance in bytes from an element's pointer word to a word of its other line, if any.
fn other_line(layout: &Layout) -> Option<isize> {
    let (pointer, line) = (layout.pointer_offset(), LINE as isize);
    if pointer + LINE + WORD <= layout.element() {
        return Some(line);
    }
    (pointer >= LINE).then_some(-line)
}

impl<'m> SharedWalk<'m> {
    /// Creates a walk that begins at the ring's first element.
    ///
    /// # Errors
    /// If the elements lack a word that the visit needs, or the visit is more than [`MOST_WORK`]
    /// multiplications.
    pub fn new(ring: SharedRing<'m>, visit: Visit) -> Result<Self, VisitError> {
        let layout = ring.layout();
        match visit {
            Visit::Step(step) if step != Step::Follow && layout.padding() == 0 => {
                Err(VisitError::NoPadding(step))
            }
            Visit::Work(work) if work > MOST_WORK => Err(VisitError::TooMuchWork(work)),
            Visit::Lines if other_line(layout).is_none() => {
                Err(VisitError::OneLine(layout.element()))
            }
            _ => Ok(SharedWalk { at: ring.first(), ring, visit }),
        }
    }

    /// Address of the next pointer word of the walk.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Moves to the element whose pointer word is `offset` bytes into the ring's memory, where another
    /// walk is. Does not move if there is no such element.
    pub fn go_to(&mut self, offset: usize) {
        self.at = self.ring.pointer_at(offset).unwrap_or(self.at);
    }
}

impl Kernel for SharedWalk<'_> {
    /// Returns the byte offset at which the walk stopped.
    fn run(&mut self, operations: u64) -> u64 {
        if operations > 0 {
            let (first, last) = padding_offsets(self.ring.layout());
            let other = other_line(self.ring.layout()).unwrap_or(0);
            let at = self.at;
            // SAFETY: `at` is a pointer word of the ring, whose memory is borrowed for as long as
            // this walk; every pointer word holds the address of another and is never written;
            // `first` and `last` are distances to words of padding inside each element, and `other`
            // to a word of its other line, if they are used: `new` has checked this, and that the
            // work is not too much. All words are atomic and accessed by whole aligned instructions,
            // so other threads may write to the padding meanwhile.
            self.at = unsafe {
                match self.visit {
                    Visit::Step(Step::Follow) => asm::linefill_walk_follow(at, operations),
                    Visit::Step(Step::Inc) => asm::linefill_walk_inc(at, operations, first),
                    Visit::Step(Step::Addnext0) => {
                        asm::linefill_walk_addnext(at, operations, first, first)
                    }
                    Visit::Step(Step::Addnextlast) => {
                        asm::linefill_walk_addnext(at, operations, first, last)
                    }
                    Visit::Work(work) => {
                        prefetch::linefill_prefetch_none_serial(at, operations, 0, work.into())
                    }
                    Visit::Lines => asm::linefill_walk_lines(at, operations, other),
                }
            };
            assert!(self.ring.holds(self.at), "a walk left its ring");
        }
        self.ring.offset(self.at) as u64
    }

    fn work(&self) -> Work {
        match self.visit {
            Visit::Step(step) => step.work(),
            Visit::Work(_) => Step::Follow.work(),
            Visit::Lines => Work::default().load(2, WORD as u32),
        }
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        let padding = padding_offsets(self.ring.layout());
        let other = other_line(self.ring.layout()).unwrap_or(0);
        for _ in 0..operations {
            let (at, next) = (self.at, self.ring.next(self.at));
            let here = self.ring.offset(at);
            let step = match self.visit {
                Visit::Step(step) => step,
                Visit::Work(_) => Step::Follow,
                Visit::Lines => {
                    sink(Access::load(here.wrapping_add_signed(other), WORD as u32));
                    Step::Follow
                }
            };
            let word = |address| self.ring.word(address);
            if let Some((counter, sum)) = step.trace([at, next], padding, at - here, word, sink) {
                self.ring.set_word(counter, sum);
            }
            self.at = next;
        }
        self.ring.offset(self.at) as u64
    }
}
