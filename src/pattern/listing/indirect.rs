//! Jumps by way of a register, and what stands behind them (Drepper 6.3.1, `ud2`).

use super::Filler;
use super::writer::Writer;
use crate::mem::{LINE, Span};

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
