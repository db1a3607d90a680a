//! A walk with work at every node and a software prefetch ahead (Drepper, section 6.3.2,
//! Figure 6.7).

// Calls kernels with addresses that the ring vouches for.
#![allow(unsafe_code)]

use super::walk::padding_offsets;
use super::x86_64::{asm::prefetch as asm, intrinsics::prefetch as intrinsics};
use super::{Access, Form, Kernel, Work};
use crate::cpu::Hint;
use crate::pattern::{LayoutError, Ring};

/// Bytes of a word.
const WORD: u32 = 8;

/// The most multiplications a node can have.
pub const MOST_WORK: u32 = 256;

/// A prefetch ahead of the walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ahead {
    /// Which prefetch. `prefetchw` is a no-op on a CPU without it: ask
    /// [`Features::prefetchw`](crate::cpu::Features::prefetchw) before measuring it.
    pub hint: Hint,
    /// How many elements ahead of the walk; modulo the ring's count.
    pub elements: usize,
}

/// Whether the work of a node can overlap the next node's miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pace {
    /// The next node's address depends on the work, so that it is fetched only after it, as on a
    /// CPU that looks ahead less than the work is long. About 2 cycles a step beyond the work.
    Serial,
    /// It does not: a CPU that runs out of order fetches the next node while it works, if it
    /// looks that far ahead. Multiplications that wait for each other fill a scheduler queue, and
    /// what comes after them waits for a place: 53 a node in the L1d take 98 cycles a step on
    /// Zen 4, where they take 165 serially, and not as many as their throughput would allow.
    Overlapped,
}

/// Why a ring cannot be walked with prefetches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrefetchError {
    /// More than [`MOST_WORK`] multiplications.
    TooMuchWork(u32),
    /// The elements have no word for the address to prefetch.
    NoJumpPointer(LayoutError),
}

impl core::fmt::Display for PrefetchError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            PrefetchError::TooMuchWork(work) => write!(
                f,
                "{work} multiplications a node; at most {MOST_WORK} can be had"
            ),
            PrefetchError::NoJumpPointer(error) => {
                write!(f, "no room for the address to prefetch: {error}")
            }
        }
    }
}

impl core::error::Error for PrefetchError {}

/// A walk along a ring that works at every node. An operation is a step to the next element.
///
/// The work is a chain of dependent multiplications, 3 core cycles each, that waits for the node.
/// With a prefetch, each node also holds a jump pointer: the address of the node some elements
/// ahead, whose first line (that of its pointer word) is prefetched as soon as the jump pointer
/// is there. Without one the walk is Drepper's plain one and loads no jump pointer: the cost of
/// finding the address belongs to the prefetch.
#[derive(Debug)]
pub struct PrefetchWalk<'m> {
    ring: Ring<'m>,
    ahead: Option<Ahead>,
    work: u32,
    pace: Pace,
    form: Form,
}

impl<'m> PrefetchWalk<'m> {
    /// A walk that begins at the ring's cursor, with `work` multiplications a node. Writes the
    /// jump pointers, if there is a prefetch, into the first word of padding.
    ///
    /// # Errors
    /// If there is too much work, or no padding for a jump pointer.
    pub fn new(
        mut ring: Ring<'m>,
        ahead: Option<Ahead>,
        work: u32,
        pace: Pace,
    ) -> Result<Self, PrefetchError> {
        if work > MOST_WORK {
            return Err(PrefetchError::TooMuchWork(work));
        }
        if let Some(ahead) = ahead {
            let word = usize::from(ring.layout().pointer_offset() == 0);
            ring.link_ahead(word, ahead.elements)
                .map_err(PrefetchError::NoJumpPointer)?;
        }
        Ok(PrefetchWalk {
            ring,
            ahead,
            work,
            pace,
            form: Form::default(),
        })
    }

    /// The same walk in another form.
    ///
    /// By intrinsics the work is a loop, where the assembly jumps into a run of multiplications. Its
    /// counter and its branch take places beside the multiplications: 53 a node that overlap take 5 %
    /// longer in the L1d of a Zen 5. Where the walk waits for the product or for memory, both forms
    /// take the same time.
    pub fn by(self, form: Form) -> Self {
        PrefetchWalk { form, ..self }
    }

    /// The ring, at the element where the walk stopped.
    pub fn into_ring(self) -> Ring<'m> {
        self.ring
    }

    fn walk(&self) -> asm::Walks {
        let hint = self.ahead.map(|ahead| ahead.hint);
        match self.form {
            Form::Assembly => assembled(self.pace, hint),
            Form::Intrinsics => compiled(self.pace, hint),
        }
    }
}

/// The kernel of `asm/prefetch.S`.
fn assembled(pace: Pace, hint: Option<Hint>) -> asm::Walks {
    match (pace, hint) {
        (Pace::Overlapped, None) => asm::linefill_prefetch_none,
        (Pace::Overlapped, Some(Hint::T0)) => asm::linefill_prefetch_t0,
        (Pace::Overlapped, Some(Hint::T1)) => asm::linefill_prefetch_t1,
        (Pace::Overlapped, Some(Hint::T2)) => asm::linefill_prefetch_t2,
        (Pace::Overlapped, Some(Hint::Nta)) => asm::linefill_prefetch_nta,
        (Pace::Overlapped, Some(Hint::Write)) => asm::linefill_prefetch_w,
        (Pace::Serial, None) => asm::linefill_prefetch_none_serial,
        (Pace::Serial, Some(Hint::T0)) => asm::linefill_prefetch_t0_serial,
        (Pace::Serial, Some(Hint::T1)) => asm::linefill_prefetch_t1_serial,
        (Pace::Serial, Some(Hint::T2)) => asm::linefill_prefetch_t2_serial,
        (Pace::Serial, Some(Hint::Nta)) => asm::linefill_prefetch_nta_serial,
        (Pace::Serial, Some(Hint::Write)) => asm::linefill_prefetch_w_serial,
    }
}

/// The kernel by intrinsics.
fn compiled(pace: Pace, hint: Option<Hint>) -> asm::Walks {
    match (pace, hint) {
        (Pace::Overlapped, None) => intrinsics::none,
        (Pace::Overlapped, Some(Hint::T0)) => intrinsics::t0,
        (Pace::Overlapped, Some(Hint::T1)) => intrinsics::t1,
        (Pace::Overlapped, Some(Hint::T2)) => intrinsics::t2,
        (Pace::Overlapped, Some(Hint::Nta)) => intrinsics::nta,
        (Pace::Overlapped, Some(Hint::Write)) => intrinsics::w,
        (Pace::Serial, None) => intrinsics::none_serial,
        (Pace::Serial, Some(Hint::T0)) => intrinsics::t0_serial,
        (Pace::Serial, Some(Hint::T1)) => intrinsics::t1_serial,
        (Pace::Serial, Some(Hint::T2)) => intrinsics::t2_serial,
        (Pace::Serial, Some(Hint::Nta)) => intrinsics::nta_serial,
        (Pace::Serial, Some(Hint::Write)) => intrinsics::w_serial,
    }
}

impl Kernel for PrefetchWalk<'_> {
    /// Returns the byte offset at which the walk stopped.
    fn run(&mut self, operations: u64) -> u64 {
        let at = self.ring.cursor();
        if operations == 0 {
            return self.ring.offset(at) as u64;
        }
        let (jump, _) = padding_offsets(&self.ring);
        // SAFETY: the cursor is a pointer word of the ring, which is borrowed, and every pointer
        // word holds the address of another; a kernel that prefetches was chosen only if `new`
        // found a word of padding at `jump`; `new` has seen to it that the work is not too much.
        let stopped = unsafe { self.walk()(at, operations, jump, u64::from(self.work)) };
        self.ring.set_cursor(stopped);
        self.ring.offset(stopped) as u64
    }

    fn work(&self) -> Work {
        let loads = 1 + u32::from(self.ahead.is_some());
        Work {
            loads,
            bytes_read: loads * WORD,
            ..Work::default()
        }
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) {
        let (jump, _) = padding_offsets(&self.ring);
        for _ in 0..operations {
            let at = self.ring.cursor();
            if self.ahead.is_some() {
                let jump = at.wrapping_add_signed(jump);
                sink(Access::load(self.ring.offset(jump), WORD));
                let target = self.ring.word(jump) as usize;
                sink(Access::prefetch(self.ring.offset(target)));
            }
            sink(Access::load(self.ring.offset(at), WORD));
            self.ring.set_cursor(self.ring.next(at));
        }
    }
}
