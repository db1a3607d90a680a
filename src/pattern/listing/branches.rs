//! Functions and jumps.
//!
//! - [`Callers`]: functions that share a piece of code, inlined into each or called (Drepper, table 6.3).
//! - [`Nested`]: nested calls, which show how many return addresses a core remembers.
//! - [`Blocks`]: code with a part that is never executed, in source order or moved out of the way (Drepper
//!   6.2.2, block reordering).
//! - [`Indirect`]: jumps through a register, and the code after them (Drepper 6.3.1, `ud2`).

use super::{FAR, FAR_IF, Filler, RETURN, TEST, Writer};
use crate::mem::{LINE, Span};
use crate::pattern::common_divisor;

/// The instructions of all this code: 8-byte `nop`s, for many bytes per instruction.
const CODE: Filler = Filler::Nop8;

/// `count` functions, called one after the other in a round. Each executes the candidate for inlining once,
/// in its middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Callers {
    /// Number of functions.
    pub count: usize,
    /// Instructions per function, without the candidate.
    pub own: usize,
    /// Instructions of the candidate.
    pub candidate: usize,
    /// Whether each function contains the candidate; otherwise all call the same one.
    pub inlined: bool,
}

impl Callers {
    /// Bytes of a function, including its return; `usize::MAX` if the number overflows.
    pub fn function(&self) -> usize {
        let shared = if self.inlined { code(self.candidate) } else { Span::of(FAR) };
        code(self.own).plus(shared).plus(Span::of(RETURN)).bytes()
    }

    /// Bytes of the candidate if it is a function, otherwise 0; `usize::MAX` if the number overflows.
    pub fn shared(&self) -> usize {
        if self.inlined { 0 } else { code(self.candidate).plus(Span::of(RETURN)).bytes() }
    }

    /// Bytes of all functions, including the candidate; `usize::MAX` if the number overflows.
    pub fn functions(&self) -> usize {
        self.called().bytes()
    }

    pub(super) fn called(&self) -> Span {
        let functions = Span::of(self.function()).times(self.count);
        functions.plus(Span::of(self.shared()))
    }

    /// Bytes of the calls in a round.
    pub(super) fn body(&self) -> Span {
        Span::of(FAR).times(self.count)
    }

    /// Instructions per round.
    pub(super) fn instructions(&self) -> usize {
        let to_and_from = 2;
        let calls = if self.inlined { 1 } else { 2 };
        let each = self.own.saturating_add(self.candidate);
        let each = each.saturating_add(calls * to_and_from);
        self.count.saturating_mul(each)
    }

    /// Writes the calls; the functions begin at `functions`.
    pub(super) fn write_body(&self, code: &mut Writer<'_>, functions: usize) {
        let step = self.step();
        for call in 0..self.count {
            let place = call * step % self.count;
            code.call(functions + place * self.function());
        }
    }

    /// Writes the functions, and the candidate after them.
    pub(super) fn write_functions(&self, code: &mut Writer<'_>) {
        let candidate = code.at + self.count * self.function();
        for _ in 0..self.count {
            let first = self.own / 2;
            code.fill(CODE.instructions(), first);
            if self.inlined {
                code.fill(CODE.instructions(), self.candidate);
            } else {
                code.call(candidate);
            }
            code.fill(CODE.instructions(), self.own - first);
            code.ret();
        }
        if !self.inlined {
            code.fill(CODE.instructions(), self.candidate);
            code.ret();
        }
    }

    /// Places from a function to the one called next: near the golden section, so that neighbours in memory
    /// are not called one after the other, and without a common divisor with the number of functions, so
    /// that all are called.
    fn step(&self) -> usize {
        let golden = self.count * 5 / 8;
        (golden.max(1)..).find(|&step| common_divisor(step, self.count) == 1).unwrap_or(1)
    }
}

/// Bytes of `instructions` instructions.
fn code(instructions: usize) -> Span {
    Span::of(CODE.bytes()).times(instructions)
}

/// `depth` nested calls and as many returns; each function has a separate line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Nested {
    /// Depth of the calls.
    pub depth: usize,
}

impl Nested {
    /// Bytes of a round's code: the call of the first function, if there is one.
    pub(super) fn body(&self) -> Span {
        Span::of(FAR).times(self.depth.min(1))
    }

    /// Bytes of the functions.
    pub(super) fn called(&self) -> Span {
        Span::of(LINE).times(self.depth)
    }

    /// Instructions per round: calls and returns.
    pub(super) fn instructions(&self) -> usize {
        self.depth.saturating_mul(2)
    }

    /// Writes the call of the first function, which is at `functions`.
    pub(super) fn write_body(&self, code: &mut Writer<'_>, functions: usize) {
        if self.depth > 0 {
            code.call(functions);
        }
    }

    /// Writes the functions: each calls the next, and the last returns at once.
    pub(super) fn write_functions(&self, code: &mut Writer<'_>) {
        for left in (0..self.depth).rev() {
            let begin = code.at;
            let call = if left > 0 { FAR } else { 0 };
            if left > 0 {
                code.call(begin + LINE);
            }
            code.ret();
            code.fill(&[&[0xCC]], LINE - call - RETURN); // int3: never reached
        }
    }
}

/// `count` blocks: hot code, a condition that is never met, and the cold code that it guards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Blocks {
    /// Number of blocks.
    pub count: usize,
    /// Instructions of the hot code, without the test and the branch.
    pub hot: usize,
    /// Instructions of the cold code.
    pub cold: usize,
    /// Whether the cold code is after all hot code, so that the branch to it is not taken; otherwise the
    /// hot path jumps over it.
    pub moved: bool,
}

impl Blocks {
    /// Bytes executed per block; `usize::MAX` if the number overflows.
    pub fn hot_bytes(&self) -> usize {
        code(self.hot).plus(Span::of(TEST + FAR_IF)).bytes()
    }

    /// Bytes of moved cold code, including the jump back.
    fn moved_bytes(&self) -> usize {
        code(self.cold).plus(Span::of(FAR)).bytes()
    }

    /// Bytes from one piece of hot code to the next; `usize::MAX` if the number overflows.
    pub fn apart(&self) -> usize {
        let between = if self.moved { 0 } else { self.cold };
        Span::of(self.hot_bytes()).plus(code(between)).bytes()
    }

    /// Bytes of a round's code, including cold code that is jumped over.
    pub(super) fn body(&self) -> Span {
        Span::of(self.apart()).times(self.count)
    }

    /// Bytes of the code moved out of the way.
    pub(super) fn out_of_the_way(&self) -> Span {
        let moved = if self.moved { self.count } else { 0 };
        Span::of(self.moved_bytes()).times(moved)
    }

    /// Instructions per round.
    pub(super) fn instructions(&self) -> usize {
        let test_and_branch = 2;
        let each = self.hot.saturating_add(test_and_branch);
        self.count.saturating_mul(each)
    }

    /// Writes the code of a round; moved code begins at `cold`.
    pub(super) fn write_body(&self, code: &mut Writer<'_>, cold: usize) {
        for block in 0..self.count {
            code.fill(CODE.instructions(), self.hot);
            code.put(&[0x48, 0x85, 0xFF]); // test rdi, rdi: the rounds left, never zero
            if self.moved {
                code.relative(&[0x0F, 0x84], cold + block * self.moved_bytes()); // jz
            } else {
                let over = code.at + FAR_IF + self.cold * CODE.bytes();
                code.relative(&[0x0F, 0x85], over); // jnz
                code.fill(CODE.instructions(), self.cold);
            }
        }
    }

    /// Writes the code moved out of the way of a body that begins at `body`.
    pub(super) fn write_out_of_the_way(&self, code: &mut Writer<'_>, body: usize) {
        if self.moved {
            for block in 0..self.count {
                code.fill(CODE.instructions(), self.cold);
                code.relative(&[0xE9], body + (block + 1) * self.apart()); // jmp
            }
        }
    }
}

/// The code after a jump that is always taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Behind {
    /// `ud2`, which tells the CPU that nothing after the jump is ever executed.
    Undefined,
    /// [`Filler::Nop8`], which continues into the next line.
    Straight,
}

/// Jumps through a register, one per line, in scattered order: with more than two jumps, none is to the
/// next line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Indirect {
    /// Number of jumps, a power of two.
    pub count: usize,
    /// The code after each jump.
    pub behind: Behind,
}

impl Indirect {
    /// Bytes of a round's code.
    pub(super) fn body(&self) -> Span {
        Span::of(LINE).times(self.count)
    }

    /// Instructions per round: two per jump, one to compute the address and one to jump.
    pub(super) fn instructions(&self) -> usize {
        self.count.saturating_mul(2)
    }

    /// Writes the jumps. The path begins in line 0, continues 0.618 of all lines further, wrapping around,
    /// and ends at the end of the body.
    ///
    /// # Panics
    /// If the number of jumps is not a power of two.
    pub(super) fn write_body(&self, code: &mut Writer<'_>) {
        let count = self.count;
        assert!(count.is_power_of_two(), "{count} indirect jumps: not a power of two");
        let begin = code.at;
        // Odd, so that every line is visited once.
        let step = (count as f64 * 0.618) as usize | 1;
        for line in 0..count {
            let next = match (line + step) % count {
                0 => count,
                next => next,
            };
            let target = begin + next * LINE;
            let end = code.at + LINE;
            code.relative(&[0x4C, 0x8D, 0x05], target); // lea r8, [rip + ...]
            code.put(&[0x41, 0xFF, 0xE0]); // jmp r8
            match self.behind {
                Behind::Undefined => {
                    code.put(&[0x0F, 0x0B]); // ud2
                    code.fill(&[&[0xCC]], end - code.at); // int3
                }
                Behind::Straight => {
                    let nops = (end - code.at) / Filler::Nop8.bytes();
                    code.fill(Filler::Nop8.instructions(), nops);
                    code.fill(Filler::Nop1.instructions(), end - code.at);
                }
            }
        }
    }
}
