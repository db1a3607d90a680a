//! Kernels about instructions: their placement, their fetch and their modification.
//!
//! - Code at a chosen byte of a line (Drepper, section 6.2.2, on `-falign-loops` and similar options).
//! - Code timed for its own sake: fetch, decoding, branches.
//! - Code that changes while it runs.
//! - A number passed from one core to another as part of code, or as data that code reads (Drepper,
//!   section 3.4.1, on code that others modify).

// Calls assembly, and code that is generated at run time and may change while it runs.
#![allow(unsafe_code)]

use core::sync::atomic::{AtomicU32, Ordering};

use crate::kernel::verify::Oracle;
use crate::kernel::{Access, Assembled, Kernel, Work};
use crate::mem::LINE;
use crate::pattern::Listing;

/// The code that [`CodeAlign`] places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Placed {
    /// A loop of 24 bytes and 7 instructions.
    Loop24,
    /// A loop of 48 bytes and 13 instructions.
    Loop48,
    /// A block of six instructions in 25 bytes that a loop jumps to. The loop itself stays at the start of
    /// a line.
    Target,
}

impl Placed {
    /// All placed codes.
    pub const ALL: [Placed; 3] = [Placed::Loop24, Placed::Loop48, Placed::Target];

    /// Bytes of the placed code.
    pub const fn bytes(self) -> usize {
        match self {
            Placed::Loop24 => 24,
            Placed::Loop48 => 48,
            Placed::Target => 25,
        }
    }

    /// Instructions per round.
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

    /// Whether code that starts at `offset` crosses a boundary of `of` bytes or ends on it. A jump that
    /// does either is slower on some CPUs (Intel, "Mitigations for Jump Conditional Code Erratum").
    ///
    /// # Panics
    /// If `of` is 0.
    pub const fn reaches_over(self, offset: usize, of: usize) -> bool {
        offset % of + self.bytes() >= of
    }
}

/// A line has no byte with this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSuchOffset(pub usize);

messages! { NoSuchOffset:
    NoSuchOffset(offset) => ("code can be placed at byte 0 to 63 of a line, not {offset}");
}

/// A loop at a chosen byte of a line, or a block there that a loop jumps to. An operation is a round.
#[derive(Clone, Copy, Debug)]
pub struct CodeAlign {
    placed: Placed,
    offset: u32,
}

impl CodeAlign {
    /// Places `placed` at byte `offset` of a line.
    ///
    /// # Errors
    /// If `offset` is 64 or more.
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
    /// Returns the number of rounds, as counted by the code.
    fn run(&mut self, operations: u64) -> u64 {
        if operations == 0 {
            return 0;
        }
        // SAFETY: there is at least one round, and `new` has checked the offset.
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
    /// The function type of the family: runs `rounds` rounds of a loop, with the placed code at byte
    /// `offset` of a line; returns the number of rounds.
    ///
    /// # Safety
    /// `rounds` is not 0, `offset` is less than 64.
    pub type Aligned = unsafe extern "sysv64" fn(rounds: u64, offset: u32) -> u64;

    /// A loop of 24 bytes.
    linefill_codealign_loop24
    /// A loop of 48 bytes.
    linefill_codealign_loop48
    /// A block of 25 bytes. A loop at the start of another line jumps to it, and it jumps back.
    linefill_codealign_target
}

/// Requests a number and calls a function until the function returns it. An operation is one number.
#[doc(hidden)]
#[derive(Debug)]
pub struct Handover<M> {
    /// Keeps the function executable, and keeps the thread that changes its result alive.
    memory: M,
    asked: fn(&M) -> &AtomicU32,
    function: fn(&M) -> Function,
    /// The last number requested.
    number: u32,
}

impl<M> Handover<M> {
    /// Requests numbers by storing them in `asked`; `function` returns them. The first request is 1.
    ///
    /// # Safety
    /// For as long as `memory` lives, `function` returns a function that may be called at any time,
    /// whatever another thread does meanwhile, and that returns a requested number some time after the
    /// request.
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
    /// Returns the last number received.
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

    /// Declares the store that requests a number. The number of calls until the answer is unknown.
    fn work(&self) -> Work {
        Work::default().store(1, 4)
    }

    /// Reports the request stores, at offset 0, and runs.
    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        (0..operations).for_each(|_| sink(Access::store(0, 4)));
        self.run(operations)
    }
}

/// Stores a byte and calls a function, repeatedly. An operation is one store and one call.
///
/// The experiment chooses the target of the store: the function's own bytes, bytes near it in the line
/// or the page, or data far away.
#[doc(hidden)]
#[derive(Debug)]
pub struct Patch<M> {
    /// Keeps both addresses valid.
    memory: M,
    target: fn(&M) -> *mut u8,
    function: fn(&M) -> Function,
    /// The next byte to store.
    next: u8,
}

impl<M> Patch<M> {
    /// Stores to `target` and calls `function` with argument 0.
    ///
    /// # Safety
    /// For as long as `memory` lives, `target` returns the address of a byte that may be written
    /// at any time with any value, and `function` returns a function that may be called before and
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
    /// Returns the sum of the calls' results.
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

    /// Reports the stores, at offset 0, and runs.
    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        (0..operations).for_each(|_| sink(Access::store(0, 1)));
        self.run(operations)
    }
}

/// A function of the System V calling convention with one argument.
#[doc(hidden)]
pub type Function = unsafe extern "sysv64" fn(u64) -> u64;

/// A [`Listing`] in executable memory. An operation is one round through its body.
#[doc(hidden)]
#[derive(Debug)]
pub struct Routine<M> {
    /// Keeps the memory executable.
    memory: M,
    entry: fn(&M) -> Function,
    listing: Listing,
}

impl<M> Routine<M> {
    /// Runs `listing`, which was written to `memory`, from `entry`.
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
    /// Returns the number of rounds, as counted by the code.
    fn run(&mut self, operations: u64) -> u64 {
        if operations == 0 {
            return 0;
        }
        let function = (self.entry)(&self.memory);
        // SAFETY: `new`'s caller vouches for the code, which takes a number of rounds other than
        // 0, touches no memory but its stack and follows the calling convention.
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

impl Oracle<'_, '_> {
    pub(crate) fn codealigns(&mut self) {
        for placed in Placed::ALL {
            self.check(placed.kernel().name, 0..LINE, |&offset, _, then| {
                then(&mut CodeAlign::new(placed, offset).ok()?)
            });
        }
    }
}
