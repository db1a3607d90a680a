//! Walks along addresses held in memory. [`Walk`]: Drepper's list walks (section 3.3.2), which follow the
//! pointers of a ring and do something to each element. [`Revisit`]: lines visited in a given order, some
//! of them repeatedly, so that the time of a round shows which line a full set evicts. [`PageAlias`]: one
//! line that is read at two addresses.

// Calls kernels with addresses that a ring, visits or two linked words guarantee.
#![allow(unsafe_code)]

use crate::kernel::intrinsics::walk as intrinsics;
use crate::kernel::verify::{BARE, Oracle, PADDED, RingCase};
use crate::kernel::{Access, Form, Kernel, SharedWalk, Visit, Work};
use crate::mem::LINE;
use crate::pattern::{Layout, Ring, Visits};

const WORD: u32 = 8;

/// The step of a walk: its accesses to each element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Step {
    /// `p = p->n`.
    Follow,
    /// `p->pad[0]++; p = p->n`.
    Inc,
    /// `p->pad[0] += p->n->pad[0]; p = p->n`.
    Addnext0,
    /// `p->pad[0] += p->n->pad[NPAD-1]; p = p->n`. The paper names this step without defining it; this
    /// is the reading that its name suggests.
    Addnextlast,
}

/// Why a ring cannot be walked with some step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WalkError {
    /// The step needs a word in addition to the pointer.
    NoPadding(Step),
}

messages! { WalkError:
    WalkError::NoPadding(step) => (
        "{step:?} needs elements with at least 1 word of padding, these have 0"
    );
}

impl Step {
    /// All steps.
    pub const ALL: [Step; 4] = [Step::Follow, Step::Inc, Step::Addnext0, Step::Addnextlast];

    pub(crate) fn work(self) -> Work {
        let follow = Work::default().load(1, WORD);
        match self {
            Step::Follow => follow,
            Step::Inc => follow.load(1, WORD).store(1, WORD),
            Step::Addnext0 | Step::Addnextlast => follow.load(2, WORD).store(1, WORD),
        }
    }

    /// The model of a step from the pointer word at `at` to the one at `next`, in memory that starts
    /// at `base`; `padding` holds the distances to the first and the last word of padding. Returns the
    /// address of the word that the step changes, and the stored value.
    #[inline]
    pub(crate) fn trace(
        self,
        [at, next]: [usize; 2],
        padding: (isize, isize),
        base: usize,
        word: impl Fn(usize) -> u64,
        sink: &mut dyn FnMut(Access),
    ) -> Option<(usize, u64)> {
        let (first, last) = padding;
        let mut load = |address| {
            sink(Access::load(address - base, WORD));
            word(address)
        };
        // The kernel of `Inc` loads the pointer after the increment, the other kernels load it first.
        if self != Step::Inc {
            load(at);
        }
        let added = match self {
            Step::Follow => return None,
            Step::Inc => 1,
            Step::Addnext0 => load(next.wrapping_add_signed(first)),
            Step::Addnextlast => load(next.wrapping_add_signed(last)),
        };
        let counter = at.wrapping_add_signed(first);
        let sum = load(counter).wrapping_add(added);
        sink(Access::store(counter - base, WORD));
        if self == Step::Inc {
            sink(Access::load(at - base, WORD));
        }
        Some((counter, sum))
    }
}

/// A walk along a ring. An operation is a step to the next element.
///
/// ```
/// use linefill::kernel::{Kernel, Step, Walk};
/// use linefill::mem::Region;
/// use linefill::pattern::{Layout, Order, Ring};
///
/// let mut memory = [0; 64 * 9];
/// let region = Region::new(&mut memory)?;
/// let ring = Ring::new(region, Layout::npad(7), 8, Order::Sequential)?;
/// let mut walk = Walk::new(ring, Step::Follow)?;
/// let after_a_lap = walk.run(8);
/// assert_eq!(walk.run(8), after_a_lap);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Walk<'m> {
    ring: Ring<'m>,
    step: Step,
    form: Form,
}

impl<'m> Walk<'m> {
    /// Creates a walk that begins at the ring's cursor.
    ///
    /// # Errors
    /// If the step touches padding and the elements have none.
    pub fn new(ring: Ring<'m>, step: Step) -> Result<Self, WalkError> {
        if step != Step::Follow && ring.layout().padding() == 0 {
            return Err(WalkError::NoPadding(step));
        }
        Ok(Walk { ring, step, form: Form::default() })
    }

    /// Returns the same walk in another form. Both take the same time: the loop waits for its loads.
    pub fn by(self, form: Form) -> Self {
        Walk { form, ..self }
    }

    /// The ring, at the element where the walk stopped.
    pub fn ring(&self) -> &Ring<'m> {
        &self.ring
    }
}

/// Distances in bytes from an element's pointer word to its first and last word of padding.
pub(crate) fn padding_offsets(layout: &Layout) -> (isize, isize) {
    let pointer = layout.pointer_offset() as isize;
    let word = WORD as isize;
    let last_word = layout.element() as isize - word;
    let first = if pointer == 0 { word } else { 0 };
    let last = if pointer == last_word { last_word - word } else { last_word };
    (first - pointer, last - pointer)
}

impl Kernel for Walk<'_> {
    /// Returns the byte offset at which the walk stopped.
    fn run(&mut self, operations: u64) -> u64 {
        if operations == 0 {
            return self.ring.offset(self.ring.cursor()) as u64;
        }
        let at = self.ring.cursor();
        let (first, last) = padding_offsets(self.ring.layout());
        // SAFETY: the cursor is a pointer word of the ring, which is borrowed mutably; every
        // pointer word holds the address of another, and `first` and `last` are distances to words
        // of padding inside each element (`new` has checked that there is padding, if used).
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
        self.step.work()
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        let padding = padding_offsets(self.ring.layout());
        for _ in 0..operations {
            let ring = &self.ring;
            let at = ring.cursor();
            let next = ring.next(at);
            let base = at - ring.offset(at);
            let word = |address| ring.word(address);
            if let Some((counter, sum)) = self.step.trace([at, next], padding, base, word, sink) {
                self.ring.set_word(counter, sum);
            }
            self.ring.set_cursor(next);
        }
        self.ring.offset(self.ring.cursor()) as u64
    }
}

unsafe extern "sysv64" {
    /// `at = *at`, `steps` times; returns the last address.
    ///
    /// # Safety
    /// `at` is the address of a readable word that holds the address of another such word, for `steps`
    /// steps; `steps` is not 0.
    pub fn linefill_walk_follow(at: usize, steps: u64) -> usize;

    /// Adds 1 to the word `pad` bytes from `at`, then `at = *at`, `steps` times.
    ///
    /// # Safety
    /// As for [`linefill_walk_follow`]; the words at `pad` are writable and are not pointers.
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

/// Dependent loads along [`Visits`]. An operation is a load.
#[derive(Debug)]
pub struct Revisit<'m> {
    visits: Visits<'m>,
}

impl<'m> Revisit<'m> {
    /// Creates the kernel; the loads begin at the cursor.
    pub fn new(visits: Visits<'m>) -> Self {
        Revisit { visits }
    }
}

impl Kernel for Revisit<'_> {
    /// Returns the byte offset at which the walk stopped.
    fn run(&mut self, operations: u64) -> u64 {
        let at = self.visits.cursor();
        if operations > 0 {
            // SAFETY: the cursor is a word of the visits, whose region is borrowed, and every such
            // word holds the address of another.
            let stopped = unsafe { linefill_walk_follow(at, operations) };
            self.visits.set_cursor(stopped);
        }
        self.visits.offset(self.visits.cursor()) as u64
    }

    fn work(&self) -> Work {
        Work::default().load(1, WORD)
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        for _ in 0..operations {
            let at = self.visits.cursor();
            sink(Access::load(self.visits.offset(at), WORD));
            let next = self.visits.next(at);
            self.visits.set_cursor(next);
        }
        self.visits.offset(self.visits.cursor()) as u64
    }
}

/// Two words of one line, each of which holds an address of the other. An operation is a step from one
/// word to the other.
///
/// If the two addresses lie in different views of the same page, consecutive steps reach the line
/// through alternating addresses.
#[derive(Debug)]
pub struct PageAlias<M> {
    /// Keeps the addresses valid.
    _memory: M,
    at: usize,
    /// Whether the next step loads the second word.
    second: bool,
}

/// Bytes from the first word to the second.
const SECOND: usize = 8;

impl<M> PageAlias<M> {
    /// Writes the two words to the line at `first`. `second` is another address of the same line, or the
    /// same address.
    ///
    /// # Safety
    /// For as long as `memory` lives, `first` and `second` are addresses of the same readable and
    /// writable line, which nothing else touches, in one view or two.
    pub unsafe fn new(memory: M, first: *mut u8, second: *mut u8) -> Self {
        // SAFETY: the caller vouches for the line; words at 0 and 8 are aligned within it.
        unsafe {
            first.cast::<usize>().write_volatile(second.addr() + SECOND);
            first.add(SECOND).cast::<usize>().write_volatile(first.addr());
        }
        // The walk follows addresses that it finds in memory.
        first.expose_provenance();
        second.expose_provenance();
        PageAlias { _memory: memory, at: first.addr(), second: false }
    }
}

impl<M> Kernel for PageAlias<M> {
    /// Returns 1 if the walk stopped at the second word, 0 if at the first.
    fn run(&mut self, operations: u64) -> u64 {
        if operations > 0 {
            // SAFETY: `new` linked the two words with each other, and nothing has written to them
            // since.
            self.at = unsafe { linefill_walk_follow(self.at, operations) };
        }
        self.second ^= operations % 2 == 1;
        u64::from(self.at % 64 == SECOND)
    }

    fn work(&self) -> Work {
        Work::default().load(1, 8)
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        for _ in 0..operations {
            sink(Access::load(if self.second { SECOND } else { 0 }, 8));
            self.second = !self.second;
            // SAFETY: as in `run`.
            self.at = unsafe { linefill_walk_follow(self.at, 1) };
        }
        u64::from(self.at % 64 == SECOND)
    }
}

impl Oracle<'_, '_> {
    pub(crate) fn walks(&mut self) {
        let all = PADDED.into_iter().chain(BARE);
        self.walk("linefill_walk_follow", all, &[Step::Follow]);
        self.walk("linefill_walk_inc", PADDED.into_iter(), &[Step::Inc]);
        let addnext = [Step::Addnext0, Step::Addnextlast];
        self.walk("linefill_walk_addnext", PADDED.into_iter(), &addnext);
        let long = PADDED.into_iter().filter(|ring| ring.layout.element() > LINE);
        let visits = [Visit::Lines, Visit::Work(53)];
        let cases = long.flat_map(|ring| visits.map(|visit| (ring, visit)));
        self.check("linefill_walk_lines", cases, |(ring, visit), memory, then| {
            then(&mut SharedWalk::new(ring.build(memory)?.share()?, *visit).ok()?)
        });
    }

    /// Checks walks in both forms, and walks along a shared ring if the ring's words lie at multiples
    /// of 8 bytes.
    fn walk(&mut self, name: &'static str, rings: impl Iterator<Item = RingCase>, steps: &[Step]) {
        let forms = Form::ALL.map(Some).into_iter().chain([None]);
        let cases = rings.flat_map(|ring| {
            let of = move |form| steps.iter().map(move |step| (ring, *step, form));
            let aligned = ring.layout.place(0) == 0;
            let forms = forms.clone().filter(move |form| form.is_some() || aligned);
            forms.flat_map(of)
        });
        self.check(name, cases, |&(ring, step, form), memory, then| {
            let ring = ring.build(memory)?;
            match form {
                Some(form) => then(&mut Walk::new(ring, step).ok()?.by(form)),
                None => then(&mut SharedWalk::new(ring.share()?, Visit::Step(step)).ok()?),
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mem::Region;
    use crate::pattern::Order;

    /// The order of the instructions in `asm/chase/walk.S`, from the first element to the second of 64 bytes.
    #[test]
    fn a_trace_has_the_accesses_in_the_order_of_the_kernel() {
        let load = |address| Access::load(address, WORD);
        let store = |address| Access::store(address, WORD);
        for (step, wanted) in [
            (Step::Inc, &[load(8), store(8), load(0)][..]),
            (Step::Addnext0, &[load(0), load(72), load(8), store(8)]),
        ] {
            let mut memory = [0; 64 * 5];
            let region = Region::new(&mut memory).unwrap();
            let ring = Ring::new(region, Layout::npad(7), 4, Order::Sequential).unwrap();
            let mut walk = Walk::new(ring, step).unwrap();
            let mut seen = std::vec::Vec::new();
            walk.trace(1, &mut |access| seen.push(access));
            assert_eq!(seen, wanted, "{step:?}");
        }
    }
}
