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
use crate::kernel::{Access, Kernel, Work, symbols};
use crate::mem::{LINE, PAGE};
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

    /// Returns the machine code of the kernel, all 64 places of it. It calls nothing and refers to nothing
    /// outside itself.
    fn code(self) -> &'static [u8] {
        let name = kernel(self).name;
        let code = symbols::all().find(|code| code.name == name);
        code.expect("every kernel is in the list of symbols").bytes
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
        Ok(CodeAlign { placed, offset: offset as u32 })
    }
}

impl Kernel for CodeAlign {
    /// Returns the number of rounds, as counted by the code.
    fn run(&mut self, operations: u64) -> u64 {
        if operations == 0 {
            return 0;
        }
        // SAFETY: there is at least one round, and `new` has checked the offset.
        unsafe { (kernel(self.placed).call)(operations, self.offset) }
    }

    fn work(&self) -> Work {
        Work { instructions: self.placed.instructions(), ..Work::default() }
    }

    /// Reports nothing: the code touches no data.
    fn trace(&mut self, operations: u64, _: &mut dyn FnMut(Access)) -> u64 {
        operations
    }
}

/// Copies of a [`CodeAlign`]'s code that run in turn, at the same byte of many pages. An operation is a
/// visit to each copy.
///
/// How long a round takes may depend on how the code ran before: branch predictors and decoded caches keep
/// what they met first. So each visit has many rounds, and the copies evict each other, being more than
/// such a cache has ways.
#[derive(Debug)]
pub struct AlignCopies<M> {
    /// Keeps the copies executable.
    memory: M,
    function: fn(&M, usize) -> Function,
    align: CodeAlign,
}

impl AlignCopies<()> {
    /// The number of copies. L1i and decoded caches have at most 16 ways.
    pub const COUNT: usize = 64;

    /// Rounds of a copy per visit: so many that the fetch and the decoding at its start do not show.
    pub const ROUNDS: u64 = 2048;

    /// Returns the bytes from a copy to the next: whole pages, so that all copies lie in one set.
    fn stride(placed: Placed) -> usize {
        (AlignCopies::first(placed) + placed.code().len()).next_multiple_of(PAGE)
    }

    /// Returns the byte of a page at which the copies start, which is that of the original: the code is
    /// aligned in itself.
    fn first(placed: Placed) -> usize {
        placed.code().as_ptr().addr() % PAGE
    }

    /// Returns the bytes of all copies.
    pub fn bytes(placed: Placed) -> usize {
        AlignCopies::COUNT * AlignCopies::stride(placed)
    }

    /// Writes the copies to memory that starts at a page.
    ///
    /// # Panics
    /// If the memory is shorter than [`bytes`](Self::bytes).
    pub fn write(placed: Placed, memory: &mut [u8]) {
        let code = placed.code();
        for copy in 0..AlignCopies::COUNT {
            let at = copy * AlignCopies::stride(placed) + AlignCopies::first(placed);
            memory[at..at + code.len()].copy_from_slice(code);
        }
    }
}

impl<M> AlignCopies<M> {
    /// Visits the copies that [`write`](AlignCopies::write) wrote for the code of `align`.
    ///
    /// # Safety
    /// For as long as `memory` lives, `function` returns the function at a byte of executable memory that
    /// starts at a page and holds what `write` wrote.
    pub unsafe fn new(memory: M, function: fn(&M, usize) -> Function, align: CodeAlign) -> Self {
        AlignCopies { memory, function, align }
    }
}

impl<M> Kernel for AlignCopies<M> {
    /// Returns the number of rounds, as counted by the code.
    fn run(&mut self, operations: u64) -> u64 {
        let CodeAlign { placed, offset } = self.align;
        let (first, stride) = (AlignCopies::first(placed), AlignCopies::stride(placed));
        let mut done = 0;
        for _ in 0..operations {
            for copy in 0..AlignCopies::COUNT {
                let function = (self.function)(&self.memory, copy * stride + first);
                // SAFETY: `new`'s caller vouches for the copy, which is a function of this type. There is
                // at least one round, and `CodeAlign::new` has checked the offset.
                done += unsafe {
                    let function = core::mem::transmute::<Function, Aligned>(function);
                    function(AlignCopies::ROUNDS, offset)
                };
            }
        }
        done
    }

    fn work(&self) -> Work {
        let rounds = AlignCopies::COUNT as u64 * AlignCopies::ROUNDS;
        Work { instructions: rounds * self.align.work().instructions, ..Work::default() }
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

    fn kernel(placed: Placed) {
        Placed::Loop24 => linefill_codealign_loop24,
        Placed::Loop48 => linefill_codealign_loop48,
        Placed::Target => linefill_codealign_target,
    }
}

/// Requests a number and calls a function until the function returns it. An operation is one number.
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
        Handover { memory, asked, function, number: 0 }
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
        Patch { memory, target, function, next: 0 }
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
pub type Function = unsafe extern "sysv64" fn(u64) -> u64;

/// A [`Listing`] in executable memory. An operation is one round through its body.
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
        Routine { memory, entry, listing }
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
        Work { instructions: self.listing.instructions(), ..Work::default() }
    }

    /// Reports nothing: the code touches no data.
    fn trace(&mut self, operations: u64, _: &mut dyn FnMut(Access)) -> u64 {
        operations
    }
}

impl Oracle<'_, '_> {
    pub(crate) fn codealigns(&mut self) {
        for placed in Placed::ALL {
            self.check(kernel(placed).name, 0..LINE, |&offset, _, then| {
                then(&mut CodeAlign::new(placed, offset).ok()?)
            });
        }
    }
}
