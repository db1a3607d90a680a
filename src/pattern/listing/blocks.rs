//! Code of which a part is never executed: left where it stands in the source, or moved out of
//! the way (Drepper 6.2.2, block reordering).

use super::Filler;
use super::writer::{FAR, FAR_IF, TEST, Writer};
use crate::mem::Span;

/// What all of it is made of: 8-byte `nop`s, so that bytes outrun instructions.
const CODE: Filler = Filler::Nop8;

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

/// Bytes of so many instructions.
fn code(instructions: usize) -> Span {
    Span::of(CODE.bytes()).times(instructions)
}
