//! Drepper's list walks (section 3.3.2): follow the pointers of a ring, and do something to each
//! element.

// Calls kernels with addresses that the ring vouches for.
#![allow(unsafe_code)]

use crate::kernel::intrinsics::walk as intrinsics;
use crate::kernel::{Access, Form, Kernel, Work};
use crate::pattern::{Layout, Ring};

/// Bytes of a word.
const WORD: usize = 8;

/// What a walk does to each element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
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
#[non_exhaustive]
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
pub(crate) fn padding_offsets(ring: &Ring<'_>) -> (isize, isize) {
    padding_of(ring.layout())
}

/// The same of a layout's elements.
pub(crate) fn padding_of(layout: &Layout) -> (isize, isize) {
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
                (Form::Assembly, Step::Follow) => linefill_walk_follow(at, operations),
                (Form::Assembly, Step::Inc) => linefill_walk_inc(at, operations, first),
                (Form::Assembly, _) => linefill_walk_addnext(at, operations, first, other),
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
pub(crate) fn work_of(step: Step) -> Work {
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
pub(crate) fn trace_step(
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

unsafe extern "sysv64" {
    /// `at = *at`, `steps` times; returns the last address.
    ///
    /// # Safety
    /// `at` is the address of a readable word that holds such an address in turn, for `steps`
    /// steps; `steps` is not 0.
    pub fn linefill_walk_follow(at: usize, steps: u64) -> usize;

    /// Adds 1 to the word `pad` bytes from `at`, then `at = *at`, `steps` times.
    ///
    /// # Safety
    /// As for [`linefill_walk_follow`]; the words at `pad` are writable and no pointers.
    pub fn linefill_walk_inc(at: usize, steps: u64, pad: isize) -> usize;

    /// Adds the word `other` bytes from `*at` to the word `pad` bytes from `at`, then `at = *at`,
    /// `steps` times.
    ///
    /// # Safety
    /// As for [`linefill_walk_inc`]; the words at `other` are readable.
    pub fn linefill_walk_addnext(at: usize, steps: u64, pad: isize, other: isize) -> usize;

    /// Reads the word `other` bytes from `at`, then `at = *at`, `steps` times.
    ///
    /// # Safety
    /// As for [`linefill_walk_follow`]; the words at `other` are readable.
    pub fn linefill_walk_lines(at: usize, steps: u64, other: isize) -> usize;
}

/// The reference implementation.
pub(crate) mod reference {
    use super::{padding_of, padding_offsets};
    use crate::kernel::Step;
    use crate::pattern::{Layout, Ring, SharedRing};

    /// Sees to it that there is padding for a step that writes.
    fn check(layout: &Layout, step: Step) {
        assert!(
            step == Step::Follow || layout.padding() > 0,
            "{step:?} needs elements with padding"
        );
    }

    /// Walks `operations` steps along `ring` from its cursor and leaves the cursor there.
    ///
    /// # Panics
    /// If the ring's elements have no padding and the step is not `Follow`: it would write to a pointer
    /// word.
    pub fn walk(ring: &mut Ring<'_>, step: Step, operations: u64) {
        check(ring.layout(), step);
        let (first, last) = padding_offsets(ring);
        for _ in 0..operations {
            let at = ring.cursor();
            let next = ring.next(at);
            let added = match step {
                Step::Follow => None,
                Step::Inc => Some(1),
                Step::Addnext0 => Some(ring.word(next.wrapping_add_signed(first))),
                Step::Addnextlast => Some(ring.word(next.wrapping_add_signed(last))),
            };
            if let Some(added) = added {
                let counter = at.wrapping_add_signed(first);
                ring.set_word(counter, ring.word(counter).wrapping_add(added));
            }
            ring.set_cursor(next);
        }
    }

    /// Walks `operations` steps along `ring` from the pointer word at `at`, and returns the address of
    /// the one behind the last.
    ///
    /// # Panics
    /// If no pointer word of the ring lies at `at`, or its elements have no padding and the step is not
    /// `Follow`: it would write to a pointer word.
    pub fn shared(ring: &SharedRing<'_>, mut at: usize, step: Step, operations: u64) -> usize {
        check(ring.layout(), step);
        let pointer = ring.pointer_at(ring.offset(at));
        assert!(pointer == Some(at), "no pointer word at {at:#x}");
        let (first, last) = padding_of(ring.layout());
        for _ in 0..operations {
            let next = ring.next(at);
            let added = match step {
                Step::Follow => None,
                Step::Inc => Some(1),
                Step::Addnext0 => Some(ring.word(next.wrapping_add_signed(first))),
                Step::Addnextlast => Some(ring.word(next.wrapping_add_signed(last))),
            };
            if let Some(added) = added {
                ring.add(at.wrapping_add_signed(first), added);
            }
            at = next;
        }
        at
    }
}

/// The patterns on which the kernels are checked against the reference.
mod checks {
    use crate::kernel::verify::check::{Built, Case, WithKernel, WithTwin};
    use crate::kernel::verify::ring::{BARE, PADDED, RingCase};
    use crate::kernel::verify::run::Oracle;
    use crate::kernel::{Form, SharedWalk, Step, Visit, Walk};
    use crate::mem::{LINE, Region};

    struct WalkCase {
        ring: RingCase,
        step: Step,
        sharing: Sharing,
    }

    /// Who walks.
    #[derive(Clone, Copy, PartialEq)]
    enum Sharing {
        /// One thread, in this form.
        Alone(Form),
        /// Threads that share the ring.
        Shared,
    }

    impl Case for WalkCase {
        fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
            let ring = self.ring.build(memory)?;
            match self.sharing {
                Sharing::Shared => {
                    then(&mut SharedWalk::new(ring.share()?, Visit::Step(self.step)).ok()?);
                }
                Sharing::Alone(form) => then(&mut Walk::new(ring, self.step).ok()?.by(form)),
            }
            Some(())
        }

        fn twin(&self, memory: Region<'_>, then: WithTwin<'_>) -> Built {
            let mut ring = self.ring.build(memory)?;
            if self.sharing == Sharing::Shared {
                let ring = ring.share()?;
                let mut at = ring.first();
                then(&mut |operations| {
                    at = super::reference::shared(&ring, at, self.step, operations);
                    ring.offset(at) as u64
                });
                return Some(());
            }
            then(&mut |operations| {
                super::reference::walk(&mut ring, self.step, operations);
                ring.offset(ring.cursor()) as u64
            });
            Some(())
        }
    }

    /// A walk that reads both lines of each element, or works at it, and changes nothing.
    struct ReaderCase {
        ring: RingCase,
        visit: Visit,
    }

    impl Case for ReaderCase {
        fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
            let ring = self.ring.build(memory)?.share()?;
            then(&mut SharedWalk::new(ring, self.visit).ok()?);
            Some(())
        }

        fn twin(&self, memory: Region<'_>, then: WithTwin<'_>) -> Built {
            let ring = self.ring.build(memory)?.share()?;
            let mut at = ring.first();
            then(&mut |operations| {
                at = super::reference::shared(&ring, at, Step::Follow, operations);
                ring.offset(at) as u64
            });
            Some(())
        }
    }

    impl Oracle<'_, '_> {
        pub(crate) fn walks(&mut self) {
            let all = PADDED.into_iter().chain(BARE);
            let follow = alone(all, Step::Follow).chain(shared(Step::Follow));
            self.check("linefill_walk_follow", follow);
            let inc = alone(PADDED.into_iter(), Step::Inc);
            self.check("linefill_walk_inc", inc.chain(shared(Step::Inc)));
            let zero = alone(PADDED.into_iter(), Step::Addnext0);
            let last = alone(PADDED.into_iter(), Step::Addnextlast);
            let alone = zero.chain(last);
            let shared = shared(Step::Addnext0).chain(shared(Step::Addnextlast));
            self.check("linefill_walk_addnext", alone.chain(shared));
            let long = PADDED
                .into_iter()
                .filter(|ring| ring.layout.element() > LINE);
            let visits = [Visit::Lines, Visit::Work(53)].into_iter();
            let readers = visits.flat_map(|visit| {
                let reader = move |ring| ReaderCase { ring, visit };
                long.clone().map(reader)
            });
            self.check("linefill_walk_lines", readers);
        }
    }

    /// Walks along `rings` in both forms.
    fn alone(
        rings: impl Iterator<Item = RingCase> + Clone,
        step: Step,
    ) -> impl Iterator<Item = WalkCase> {
        Form::ALL.into_iter().flat_map(move |form| {
            let sharing = Sharing::Alone(form);
            rings.clone().map(move |ring| WalkCase {
                ring,
                step,
                sharing,
            })
        })
    }

    /// Rings whose words lie on multiples of 8 bytes, to be shared.
    fn shared(step: Step) -> impl Iterator<Item = WalkCase> {
        let rings = PADDED.into_iter().filter(|ring| ring.layout.place(0) == 0);
        rings.map(move |ring| WalkCase {
            ring,
            step,
            sharing: Sharing::Shared,
        })
    }
}
