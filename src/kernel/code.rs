//! Kernels about instructions: where they lie, how they are fetched, how they change.
//!
//! Code at a chosen byte of a line (Drepper, section 6.2.2, on `-falign-loops` and its like); code that
//! is timed for its own sake, its fetch, its decoding, its branches; code that changes while it runs; and
//! a number that goes from one core to another as part of code, or as data that code reads (Drepper,
//! section 3.4.1, on code that others modify).

// Calls assembly, and code that was made at run time and may change meanwhile.
#![allow(unsafe_code)]

use core::sync::atomic::{AtomicU32, Ordering};

use crate::cpu::Features;
use crate::kernel::verify::Oracle;
use crate::kernel::{Access, Assembled, Kernel, Work};
use crate::mem::LINE;
use crate::pattern::Listing;

/// Checks every kernel of this subject against its model.
pub(super) fn verify(oracle: &mut Oracle<'_, '_>, _: Features) {
    oracle.codealigns();
}

/// What is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Placed {
    /// A loop of 24 bytes, seven instructions.
    Loop24,
    /// A loop of 48 bytes, thirteen instructions.
    Loop48,
    /// Six instructions in 25 bytes that a loop jumps to; the loop itself stays on a line.
    Target,
}

impl Placed {
    /// All of them.
    pub const ALL: [Placed; 3] = [Placed::Loop24, Placed::Loop48, Placed::Target];

    /// Bytes of what is placed.
    pub const fn bytes(self) -> usize {
        match self {
            Placed::Loop24 => 24,
            Placed::Loop48 => 48,
            Placed::Target => 25,
        }
    }

    /// Instructions of a round.
    pub const fn instructions(self) -> u64 {
        match self {
            Placed::Loop24 => 7,
            Placed::Loop48 => 13,
            Placed::Target => 10,
        }
    }

    fn kernel(self) -> Assembled<Aligned> {
        assembled!(match self {
            Placed::Loop24 => linefill_codealign_loop24,
            Placed::Loop48 => linefill_codealign_loop48,
            Placed::Target => linefill_codealign_target,
        })
    }

    /// Whether it reaches over a boundary of `of` bytes if it starts at `offset`, or ends on one:
    /// a jump that does either costs some CPUs more (Intel, "Mitigations for IndexChase Conditional
    /// Code Erratum").
    pub const fn reaches_over(self, offset: usize, of: usize) -> bool {
        offset % of + self.bytes() >= of
    }
}

/// There is no such byte of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSuchOffset(pub usize);

messages! { NoSuchOffset:
    NoSuchOffset(offset) => ("code can be placed at byte 0 to 63 of a line, not {offset}");
}

/// A loop at some byte of a line, or code that it jumps to. An operation is a round.
#[derive(Clone, Copy, Debug)]
pub struct CodeAlign {
    placed: Placed,
    offset: u32,
}

impl CodeAlign {
    /// `placed` at byte `offset` of a line.
    ///
    /// # Errors
    /// If a line has no such byte.
    pub fn new(placed: Placed, offset: usize) -> Result<Self, NoSuchOffset> {
        if offset >= LINE {
            return Err(NoSuchOffset(offset));
        }
        Ok(CodeAlign {
            placed,
            offset: offset as u32,
        })
    }
}

impl Kernel for CodeAlign {
    /// Returns the rounds done, as the code counted them.
    fn run(&mut self, operations: u64) -> u64 {
        if operations == 0 {
            return 0;
        }
        // SAFETY: there is at least one round, and `new` has seen to the offset.
        unsafe { (self.placed.kernel().call)(operations, self.offset) }
    }

    fn work(&self) -> Work {
        Work {
            instructions: self.placed.instructions(),
            ..Work::default()
        }
    }

    /// Reports nothing: the code touches no data.
    fn trace(&mut self, operations: u64, _: &mut dyn FnMut(Access)) -> u64 {
        operations
    }
}

family! {
    /// The shape of the family: goes `rounds` times round a loop, with what is placed at byte `offset`
    /// of a line; returns the rounds.
    ///
    /// # Safety
    /// `rounds` is not 0, `offset` is less than 64.
    pub type Aligned = unsafe extern "sysv64" fn(rounds: u64, offset: u32) -> u64;

    /// A loop of 24 bytes.
    linefill_codealign_loop24
    /// A loop of 48 bytes.
    linefill_codealign_loop48
    /// 25 bytes, to which a loop at the start of another line jumps, and which jump back.
    linefill_codealign_target
}

/// Asks for a number, and calls a function until it returns that number. An operation is one
/// number.
#[doc(hidden)]
#[derive(Debug)]
pub struct Handover<M> {
    /// Keeps the function executable, and whoever changes what it returns alive.
    memory: M,
    asked: fn(&M) -> &AtomicU32,
    function: fn(&M) -> Function,
    /// The last number.
    number: u32,
}

impl<M> Handover<M> {
    /// Numbers that are asked for by storing them in `asked`, and returned by `function`. The
    /// last one was 0.
    ///
    /// # Safety
    /// For as long as `memory` lives, `function` returns a function that may be called at any
    /// time, whatever another thread does meanwhile, and which returns what was asked for some
    /// time after it was.
    pub unsafe fn new(
        memory: M,
        asked: fn(&M) -> &AtomicU32,
        function: fn(&M) -> Function,
    ) -> Self {
        Handover {
            memory,
            asked,
            function,
            number: 0,
        }
    }
}

impl<M> Kernel for Handover<M> {
    /// Returns the last number that arrived.
    fn run(&mut self, operations: u64) -> u64 {
        let asked = (self.asked)(&self.memory);
        let function = (self.function)(&self.memory);
        for _ in 0..operations {
            self.number = self.number.wrapping_add(1);
            asked.store(self.number, Ordering::Release);
            // SAFETY: `new`'s caller vouches for the function.
            while unsafe { function(0) } != u64::from(self.number) {}
        }
        u64::from(self.number)
    }

    /// The store that asks. How often the function is called until it answers is not known.
    fn work(&self) -> Work {
        Work::default().store(1, 4)
    }

    /// Reports the stores that ask, to the place 0, and runs.
    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        (0..operations).for_each(|_| sink(Access::store(0, 4)));
        self.run(operations)
    }
}

/// Stores a byte and calls a function, again and again. An operation is one of each.
///
/// What the store does to the function is the experiment: it may hit the function's own bytes,
/// its neighbours in the line or the page, or data far away.
#[doc(hidden)]
#[derive(Debug)]
pub struct Patch<M> {
    /// Keeps both addresses valid.
    memory: M,
    target: fn(&M) -> *mut u8,
    function: fn(&M) -> Function,
    /// The byte that is stored next.
    next: u8,
}

impl<M> Patch<M> {
    /// A store to `target`, and a call of `function` with 0.
    ///
    /// # Safety
    /// For as long as `memory` lives, `target` returns the address of a byte that may be written
    /// at any time, whatever its value, and `function` a function that may be called before and
    /// after each such write.
    pub unsafe fn new(memory: M, target: fn(&M) -> *mut u8, function: fn(&M) -> Function) -> Self {
        Patch {
            memory,
            target,
            function,
            next: 0,
        }
    }
}

impl<M> Kernel for Patch<M> {
    /// Returns the sum of what the calls returned.
    fn run(&mut self, operations: u64) -> u64 {
        let target = (self.target)(&self.memory);
        let function = (self.function)(&self.memory);
        let mut sum = 0_u64;
        for _ in 0..operations {
            // SAFETY: `new`'s caller vouches for the byte and the function.
            sum = sum.wrapping_add(unsafe {
                target.write_volatile(self.next);
                function(0)
            });
            self.next = self.next.wrapping_add(1);
        }
        sum
    }

    fn work(&self) -> Work {
        Work::default().store(1, 1)
    }

    /// Reports the stores, to the place 0, and runs.
    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        (0..operations).for_each(|_| sink(Access::store(0, 1)));
        self.run(operations)
    }
}

/// A function of the System V calling convention with one argument.
#[doc(hidden)]
pub type Function = unsafe extern "sysv64" fn(u64) -> u64;

/// A [`Listing`] in executable memory. An operation is a round through its body.
#[doc(hidden)]
#[derive(Debug)]
pub struct Routine<M> {
    /// Keeps the memory executable.
    memory: M,
    entry: fn(&M) -> Function,
    listing: Listing,
}

impl<M> Routine<M> {
    /// The listing that was written to `memory`, and where it begins.
    ///
    /// # Safety
    /// For as long as `memory` lives, `entry` returns the address of executable memory that
    /// holds what [`listing.write`](Listing::write) writes.
    pub unsafe fn new(memory: M, entry: fn(&M) -> Function, listing: Listing) -> Self {
        Routine {
            memory,
            entry,
            listing,
        }
    }
}

impl<M> Kernel for Routine<M> {
    /// Returns the rounds done, as the code counted them.
    fn run(&mut self, operations: u64) -> u64 {
        if operations == 0 {
            return 0;
        }
        let function = (self.entry)(&self.memory);
        // SAFETY: `new`'s caller vouches for the code, which takes a number of rounds other than
        // 0, touches no memory but its stack and keeps to the convention.
        unsafe { function(operations) }
    }

    fn work(&self) -> Work {
        Work {
            instructions: self.listing.instructions(),
            ..Work::default()
        }
    }

    /// Reports nothing: the code touches no data.
    fn trace(&mut self, operations: u64, _: &mut dyn FnMut(Access)) -> u64 {
        operations
    }
}

/// The patterns on which the kernels are checked against their model.
mod checks {
    use crate::kernel::verify::Oracle;
    use crate::kernel::{CodeAlign, Placed};
    use crate::mem::LINE;

    impl Oracle<'_, '_> {
        pub(crate) fn codealigns(&mut self) {
            for placed in Placed::ALL {
                self.check(placed.kernel().name, 0..LINE, |&offset, _, then| {
                    then(&mut CodeAlign::new(placed, offset).ok()?)
                });
            }
        }
    }
}
