//! A walk with work at every node and a software prefetch ahead (Drepper, section 6.3.2,
//! Figure 6.7).

// Calls kernels with addresses that the ring vouches for.
#![allow(unsafe_code)]

use crate::cpu::Hint;
use crate::kernel::chase::walk::padding_offsets;
use crate::kernel::intrinsics::walk as intrinsics;
use crate::kernel::verify::{Oracle, PADDED};
use crate::kernel::{Access, Form, Kernel, Work};
use crate::pattern::{LayoutError, Ring};

const WORD: u32 = 8;

/// The maximum number of multiplications per node.
pub const MOST_WORK: u32 = 256;

/// A prefetch ahead of the walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ahead {
    /// The prefetch instruction. `prefetchw` is a no-op on a CPU without it: check
    /// [`Features::prefetchw`](crate::cpu::Features::prefetchw) before measuring it.
    pub hint: Hint,
    /// The distance in elements ahead of the walk, modulo the ring's count.
    pub elements: usize,
}

/// Whether the work of a node can overlap the miss on the next node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dependence {
    /// The next node's address depends on the work. The next node is fetched only after the work, as on a
    /// CPU whose look-ahead is shorter than the work. Adds about 2 cycles per step.
    Serial,
    /// The next node's address does not depend on the work. An out-of-order CPU fetches the next node
    /// during the work if it looks far enough ahead. Multiplications that wait for each other fill a
    /// scheduler queue, and later instructions wait for a free entry: in the L1d of a Zen 4, 53
    /// multiplications per node take 98 cycles per step (165 if serial), more than the multiplier's
    /// throughput requires.
    Independent,
}

/// Why a ring cannot be walked with prefetches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PrefetchError {
    /// More than [`MOST_WORK`] multiplications.
    TooMuchWork(u32),
    /// The elements have no spare word for the address to prefetch.
    NoJumpPointer(LayoutError),
}

messages! { PrefetchError:
    PrefetchError::TooMuchWork(work) => (
        "{work} multiplications a node; at most {MOST_WORK} can be had"
    );
    PrefetchError::NoJumpPointer(error) => ("no room for the address to prefetch: {error}");
}

/// A walk along a ring with work at every node. An operation is a step to the next element.
///
/// The work is a chain of dependent multiplications, 3 core cycles each, that waits for the node.
/// With a prefetch, each node also holds a jump pointer: the address of the node some elements ahead.
/// The walk prefetches that node's first line (the line of its pointer word) as soon as the jump pointer
/// is loaded. Without a prefetch this is Drepper's plain walk, which loads no jump pointer: the cost of
/// finding the address belongs to the prefetch.
#[derive(Debug)]
pub struct PrefetchWalk<'m> {
    ring: Ring<'m>,
    ahead: Option<Ahead>,
    work: u32,
    pace: Dependence,
    form: Form,
}

impl<'m> PrefetchWalk<'m> {
    /// Creates a walk that begins at the ring's cursor, with `work` multiplications per node. With a
    /// prefetch, writes the jump pointers into the first word of padding.
    ///
    /// # Errors
    /// If `work` is more than [`MOST_WORK`], or there is no padding for a jump pointer.
    pub fn new(
        mut ring: Ring<'m>,
        ahead: Option<Ahead>,
        work: u32,
        pace: Dependence,
    ) -> Result<Self, PrefetchError> {
        if work > MOST_WORK {
            return Err(PrefetchError::TooMuchWork(work));
        }
        if let Some(ahead) = ahead {
            let word = usize::from(ring.layout().pointer_offset() == 0);
            ring.link_ahead(word, ahead.elements).map_err(PrefetchError::NoJumpPointer)?;
        }
        Ok(PrefetchWalk { ring, ahead, work, pace, form: Form::default() })
    }

    /// Returns the same walk in another form.
    ///
    /// With intrinsics the work is a loop, whereas the assembly jumps into an unrolled run of
    /// multiplications. The loop's counter and branch take resources beside the multiplications: 53
    /// overlapping multiplications per node take 5 % longer in the L1d of a Zen 5. If the walk waits for
    /// the product or for memory, both forms take the same time.
    pub fn by(self, form: Form) -> Self {
        PrefetchWalk { form, ..self }
    }

    fn walk(&self) -> Walks {
        let hint = self.ahead.map(|ahead| ahead.hint);
        match self.form {
            Form::Assembly => assembled(self.pace, hint).call,
            Form::Intrinsics => compiled(self.pace, hint),
        }
    }
}

/// Returns the kernel with intrinsics.
fn compiled(pace: Dependence, hint: Option<Hint>) -> Walks {
    match (pace, hint) {
        (Dependence::Independent, None) => intrinsics::none,
        (Dependence::Independent, Some(Hint::T0)) => intrinsics::t0,
        (Dependence::Independent, Some(Hint::T1)) => intrinsics::t1,
        (Dependence::Independent, Some(Hint::T2)) => intrinsics::t2,
        (Dependence::Independent, Some(Hint::Nta)) => intrinsics::nta,
        (Dependence::Independent, Some(Hint::Write)) => intrinsics::w,
        (Dependence::Serial, None) => intrinsics::none_serial,
        (Dependence::Serial, Some(Hint::T0)) => intrinsics::t0_serial,
        (Dependence::Serial, Some(Hint::T1)) => intrinsics::t1_serial,
        (Dependence::Serial, Some(Hint::T2)) => intrinsics::t2_serial,
        (Dependence::Serial, Some(Hint::Nta)) => intrinsics::nta_serial,
        (Dependence::Serial, Some(Hint::Write)) => intrinsics::w_serial,
    }
}

impl Kernel for PrefetchWalk<'_> {
    /// Returns the byte offset at which the walk stopped.
    fn run(&mut self, operations: u64) -> u64 {
        let at = self.ring.cursor();
        if operations == 0 {
            return self.ring.offset(at) as u64;
        }
        let (jump, _) = padding_offsets(self.ring.layout());
        // SAFETY: the cursor is a pointer word of the ring, which is borrowed, and every pointer
        // word holds the address of another; a kernel that prefetches was chosen only if `new`
        // found a word of padding at `jump`; `new` has checked that the work is not too much.
        let stopped = unsafe { self.walk()(at, operations, jump, u64::from(self.work)) };
        self.ring.set_cursor(stopped);
        self.ring.offset(stopped) as u64
    }

    fn work(&self) -> Work {
        Work::default().load(1 + u32::from(self.ahead.is_some()), WORD)
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        let (jump, _) = padding_offsets(self.ring.layout());
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
        self.ring.offset(self.ring.cursor()) as u64
    }
}

family! {
    /// The function type of the family: walks `steps` steps with `work` multiplications each. At each
    /// step, prefetches the address held in the word `jump` bytes from the pointer word. Returns the last
    /// address.
    ///
    /// # Safety
    /// `at` is the address of a readable word that holds the address of another such word, for `steps`
    /// steps; if the kernel prefetches, the words at `jump` are readable (they may hold any address);
    /// `steps` is not 0 and `work` is at most 256.
    pub type Walks =
        unsafe extern "sysv64" fn(at: usize, steps: u64, jump: isize, work: u64) -> usize;

    /// Returns the kernel of `asm/chase/prefetch.S`.
    fn assembled(pace: Dependence, hint: Option<Hint>) {
        (Dependence::Independent, None) => linefill_prefetch_none,
        (Dependence::Independent, Some(Hint::T0)) => linefill_prefetch_t0,
        (Dependence::Independent, Some(Hint::T1)) => linefill_prefetch_t1,
        (Dependence::Independent, Some(Hint::T2)) => linefill_prefetch_t2,
        (Dependence::Independent, Some(Hint::Nta)) => linefill_prefetch_nta,
        (Dependence::Independent, Some(Hint::Write)) => linefill_prefetch_w,
        (Dependence::Serial, None) => linefill_prefetch_none_serial,
        (Dependence::Serial, Some(Hint::T0)) => linefill_prefetch_t0_serial,
        (Dependence::Serial, Some(Hint::T1)) => linefill_prefetch_t1_serial,
        (Dependence::Serial, Some(Hint::T2)) => linefill_prefetch_t2_serial,
        (Dependence::Serial, Some(Hint::Nta)) => linefill_prefetch_nta_serial,
        (Dependence::Serial, Some(Hint::Write)) => linefill_prefetch_w_serial,
    }
}

impl Oracle<'_, '_> {
    pub(crate) fn prefetches(&mut self) {
        for hint in Hint::ALL.map(Some).into_iter().chain([None]) {
            for pace in [Dependence::Independent, Dependence::Serial] {
                let rings = PADDED.into_iter().enumerate();
                let cases = rings.flat_map(|case| Form::ALL.map(|form| (case, form)));
                let name = assembled(pace, hint).name;
                self.check(name, cases, |&((elements, ring), form), memory, then| {
                    let ahead = hint.map(|hint| Ahead { hint, elements });
                    // Both ends of the range, and values between.
                    let work = [0, 1, 53, 255, 256][elements % 5];
                    let walk = PrefetchWalk::new(ring.build(memory)?, ahead, work, pace);
                    then(&mut walk.ok()?.by(form))
                });
            }
        }
    }
}
