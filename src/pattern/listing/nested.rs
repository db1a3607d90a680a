//! Functions that call each other, one inside the other: how many addresses of return a core remembers.

use super::writer::{FAR, RETURN, Writer};
use crate::mem::{LINE, Span};

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
