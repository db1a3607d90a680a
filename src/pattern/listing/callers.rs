//! Functions that share a piece of code: inlined into each of them, or called (Drepper, table
//! 6.3).

use super::Filler;
use super::writer::{FAR, RETURN, Writer};
use crate::mem::Span;

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
            .find(|&step| divisor(step, self.count) == 1)
            .unwrap_or(1)
    }
}

/// Bytes of so many instructions.
fn code(instructions: usize) -> Span {
    Span::of(CODE.bytes()).times(instructions)
}

/// The greatest common divisor.
fn divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { divisor(b, a % b) }
}
