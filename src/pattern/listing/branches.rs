//! Functions and jumps. Functions that share a piece of code, inlined into each of them, or called
//! (Drepper, table 6.3); functions that call each other, one inside the other, which shows how many
//! addresses of return a core remembers; code of which a part is never executed, left where it stands in
//! the source, or moved out of the way (Drepper 6.2.2, block reordering); and jumps by way of a register,
//! with what stands behind them (Drepper 6.3.1, `ud2`).

use super::{FAR, FAR_IF, Filler, RETURN, TEST, Writer};
use crate::mem::{LINE, Span};
use crate::pattern::common_divisor;

/// What all of it is made of: 8-byte `nop`s, so that bytes outrun instructions.
const CODE: Filler = Filler::Nop8;

/// `count` functions, called one after the other in a round, and the candidate for inlining that
/// each of them executes once in its middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Callers {
    /// Functions.
    pub count: usize,
    /// Instructions of each, less the candidate's.
    pub own: usize,
    /// Instructions of the candidate.
    pub candidate: usize,
    /// Whether each function has a candidate of its own, or all call the same.
    pub inlined: bool,
}

impl Callers {
    /// Bytes of one of the functions, its return included; `usize::MAX` if they cannot be counted.
    pub fn function(&self) -> usize {
        let shared = if self.inlined {
            code(self.candidate)
        } else {
            Span::of(FAR)
        };
        code(self.own).plus(shared).plus(Span::of(RETURN)).bytes()
    }

    /// Bytes of the candidate where it is a function; `usize::MAX` if they cannot be counted.
    pub fn shared(&self) -> usize {
        if self.inlined {
            0
        } else {
            code(self.candidate).plus(Span::of(RETURN)).bytes()
        }
    }

    /// Bytes of all functions, the candidate among them; `usize::MAX` if they cannot be counted.
    pub fn functions(&self) -> usize {
        self.called().bytes()
    }

    pub(super) fn called(&self) -> Span {
        let functions = Span::of(self.function()).times(self.count);
        functions.plus(Span::of(self.shared()))
    }

    /// Bytes of the calls that a round begins with.
    pub(super) fn body(&self) -> Span {
        Span::of(FAR).times(self.count)
    }

    /// Instructions that a round executes.
    pub(super) fn instructions(&self) -> usize {
        let to_and_from = 2;
        let calls = if self.inlined { 1 } else { 2 };
        let each = self.own.saturating_add(self.candidate);
        let each = each.saturating_add(calls * to_and_from);
        self.count.saturating_mul(each)
    }

    /// Writes the calls to functions that begin at `functions`.
    pub(super) fn write_body(&self, code: &mut Writer<'_>, functions: usize) {
        let step = self.step();
        for call in 0..self.count {
            let place = call * step % self.count;
            code.call(functions + place * self.function());
        }
    }

    /// Writes the functions, and the candidate behind them.
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

    /// Places from a function to the one called next: near the golden section, so that the
    /// neighbours in memory are called at other times, and without a divisor in common with
    /// their number, so that all are called.
    fn step(&self) -> usize {
        let golden = self.count * 5 / 8;
        (golden.max(1)..)
            .find(|&step| common_divisor(step, self.count) == 1)
            .unwrap_or(1)
    }
}

/// Bytes of so many instructions.
fn code(instructions: usize) -> Span {
    Span::of(CODE.bytes()).times(instructions)
}

/// Calls inside each other, `depth` of them, and as many returns: each function has a line of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Nested {
    /// How deep.
    pub depth: usize,
}

impl Nested {
    /// Bytes of what a round begins with: the call of the first function, if there is one.
    pub(super) fn body(&self) -> Span {
        Span::of(FAR).times(self.depth.min(1))
    }

    /// Bytes of the functions.
    pub(super) fn called(&self) -> Span {
        Span::of(LINE).times(self.depth)
    }

    /// Instructions that a round executes: calls and returns.
    pub(super) fn instructions(&self) -> usize {
        self.depth.saturating_mul(2)
    }

    /// Writes the call of the first function, which begins at `functions`.
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

/// `count` times: hot code, a condition that is never met, and the cold code which it guards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Blocks {
    /// How often.
    pub count: usize,
    /// Instructions of the hot code, less the test and the branch.
    pub hot: usize,
    /// Instructions of the cold code.
    pub cold: usize,
    /// Whether the cold code lies behind everything hot, so that the branch to it is not taken;
    /// else the hot path jumps over it.
    pub moved: bool,
}

impl Blocks {
    /// Bytes that a round executes, each time; `usize::MAX` if they cannot be counted.
    pub fn hot_bytes(&self) -> usize {
        code(self.hot).plus(Span::of(TEST + FAR_IF)).bytes()
    }

    /// Bytes of the cold code where it was moved: it must find back.
    fn moved_bytes(&self) -> usize {
        code(self.cold).plus(Span::of(FAR)).bytes()
    }

    /// Bytes from one piece of hot code to the next; `usize::MAX` if they cannot be counted.
    pub fn apart(&self) -> usize {
        let between = if self.moved { 0 } else { self.cold };
        Span::of(self.hot_bytes()).plus(code(between)).bytes()
    }

    /// Bytes of what a round goes through, jumped over or not.
    pub(super) fn body(&self) -> Span {
        Span::of(self.apart()).times(self.count)
    }

    /// Bytes of what lies out of the way.
    pub(super) fn out_of_the_way(&self) -> Span {
        let moved = if self.moved { self.count } else { 0 };
        Span::of(self.moved_bytes()).times(moved)
    }

    /// Instructions that a round executes.
    pub(super) fn instructions(&self) -> usize {
        let test_and_branch = 2;
        let each = self.hot.saturating_add(test_and_branch);
        self.count.saturating_mul(each)
    }

    /// Writes what a round goes through; what lies out of the way begins at `cold`.
    pub(super) fn write_body(&self, code: &mut Writer<'_>, cold: usize) {
        for block in 0..self.count {
            code.fill(CODE.instructions(), self.hot);
            code.test();
            if self.moved {
                code.jump_if_zero(cold + block * self.moved_bytes());
            } else {
                code.jump_if_not_zero(code.at + FAR_IF + self.cold * CODE.bytes());
                code.fill(CODE.instructions(), self.cold);
            }
        }
    }

    /// Writes what lies out of the way of a body that begins at `body`.
    pub(super) fn write_out_of_the_way(&self, code: &mut Writer<'_>, body: usize) {
        if self.moved {
            for block in 0..self.count {
                code.fill(CODE.instructions(), self.cold);
                code.jump(body + (block + 1) * self.apart());
            }
        }
    }
}

/// What stands behind a jump that is always taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Behind {
    /// `ud2`, which tells that nothing there will ever be executed.
    Undefined,
    /// [`Filler::Nop8`], which runs on into whatever stands next.
    Straight,
}

/// Jumps by way of a register, one a line, which go all over the place: none to the line that
/// stands next, if there are more than two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Indirect {
    /// How many, a power of two.
    pub count: usize,
    /// What stands behind each.
    pub behind: Behind,
}

impl Indirect {
    /// Bytes of what a round goes through.
    pub(super) fn body(&self) -> Span {
        Span::of(LINE).times(self.count)
    }

    /// Instructions that a round executes: the address is formed, then jumped to.
    pub(super) fn instructions(&self) -> usize {
        self.count.saturating_mul(2)
    }

    /// Line 0 first, then the line 0.618 of all lines further, round and round, and from the last
    /// to the end of the body.
    ///
    /// # Panics
    /// If the number of jumps is no power of two.
    pub(super) fn write_body(&self, code: &mut Writer<'_>) {
        let count = self.count;
        assert!(
            count.is_power_of_two(),
            "{count} indirect jumps are no power of two"
        );
        let begin = code.at;
        // Odd, so that every line is come to once.
        let step = (count as f64 * 0.618) as usize | 1;
        for line in 0..count {
            let target = match (line + step) % count {
                0 => begin + count * LINE,
                next => begin + next * LINE,
            };
            let end = code.at + LINE;
            code.address(target);
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
