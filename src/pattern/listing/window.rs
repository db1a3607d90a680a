//! Chains of square roots with instructions between them: shows how many instructions a core has in flight.

use super::Writer;
use crate::mem::Span;

/// The instructions between two chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Between {
    /// `fnop`: an operation that needs no register, uses an execution unit and changes nothing.
    Operations,
    /// `nop` of four bytes, which uses no execution unit.
    Nops,
    /// `mov` between registers, alternating between two destinations.
    Moves,
    /// `lea` of a sum into a general register.
    Sums,
    /// `pshufd` into a vector register. It only writes its target, as [`Between::Sums`] do. A `paddd` also
    /// reads it: such a chain can take longer than the square roots, with two cycles per link if its other
    /// operand comes from a floating-point instruction.
    Shuffles,
    /// Loads of one word on the stack, after a load whose address waits for the chain.
    Loads,
    /// Stores to one word on the stack.
    Stores,
}

impl Between {
    /// All kinds of instructions.
    pub const ALL: [Between; 7] = [
        Between::Operations,
        Between::Nops,
        Between::Moves,
        Between::Sums,
        Between::Shuffles,
        Between::Loads,
        Between::Stores,
    ];

    /// The instructions, which alternate and have the same length. They use only r10, r11, xmm2 and the
    /// stack's line.
    fn instructions(self) -> &'static [&'static [u8]] {
        match self {
            Between::Operations => &[&[0xD9, 0xD0]],
            Between::Nops => &[&[0x0F, 0x1F, 0x40, 0]],
            Between::Moves => &[
                &[0x4D, 0x89, 0xCA], // mov r10, r9
                &[0x49, 0x89, 0xC3], // mov r11, rax
            ],
            Between::Sums => &[&[0x4D, 0x8D, 0x14, 0x01]], // lea r10, [r9 + rax]
            Between::Shuffles => &[&[0x66, 0x0F, 0x70, 0xD1, 0x1B]], // pshufd xmm2, xmm1, 0x1B
            Between::Loads => &[&[0x4C, 0x8B, 0x14, 0x24]], // mov r10, [rsp]
            Between::Stores => &[&[0x4C, 0x89, 0x4C, 0x24, 0xF8]], // mov [rsp - 8], r9
        }
    }

    /// Bytes per instruction.
    fn bytes(self) -> usize {
        self.instructions()[0].len()
    }

    /// The instructions between the chain and the repeated instructions.
    fn before(self) -> &'static [&'static [u8]] {
        match self {
            Between::Loads => WAITING_LOAD,
            _ => &[],
        }
    }
}

/// Square roots per chain: each takes some 13 to 20 cycles, and one entry of a reorder buffer.
const CHAIN: usize = 24;

/// `sqrtsd xmm0, xmm0`.
const ROOT: &[u8] = &[0xF2, 0x0F, 0x51, 0xC0];

/// The beginning of a chain: sets its value to 1, and waits for nothing before it.
const BEGIN: &[&[u8]] = &[
    &[0x41, 0xB8, 1, 0, 0, 0],       // mov r8d, 1
    &[0x66, 0x0F, 0xEF, 0xC0],       // pxor xmm0, xmm0
    &[0xF2, 0x41, 0x0F, 0x2A, 0xC0], // cvtsi2sd xmm0, r8d
];

/// A load of the word at `rsp` whose address waits for the chain.
const WAITING_LOAD: &[&[u8]] = &[
    &[0xF2, 0x44, 0x0F, 0x2C, 0xC0], // cvttsd2si r8d, xmm0
    &[0x4E, 0x8B, 0x44, 0xC4, 0xF8], // mov r8, [rsp + 8 * r8 - 8]
];

/// Rounds of a chain of square roots, followed by `count` instructions.
///
/// No chain waits for the one before. Two chains overlap until the instructions between them no longer fit
/// into the core: nothing leaves the reorder buffer before the chain has left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    /// The kind of instructions.
    pub between: Between,
    /// Number of instructions.
    pub count: usize,
}

impl Window {
    /// Square roots of half a chain.
    pub const HALF: usize = CHAIN / 2;

    /// Operations in a reorder buffer in addition to the instructions, when two chains overlap for half of
    /// their time: half a chain, its beginning, and the loop.
    pub const BESIDE: usize = Window::HALF + 6;

    /// Bytes of a round's code.
    pub(super) fn body(&self) -> Span {
        let around = bytes(BEGIN) + CHAIN * ROOT.len() + bytes(self.between.before());
        Span::of(self.between.bytes())
            .times(self.count)
            .plus(Span::of(around))
    }

    /// Instructions per round.
    pub(super) fn instructions(&self) -> usize {
        let around = BEGIN.len() + CHAIN + self.between.before().len();
        self.count.saturating_add(around)
    }

    /// Writes the code of a round.
    pub(super) fn write_body(&self, code: &mut Writer<'_>) {
        code.fill(BEGIN, BEGIN.len());
        code.fill(&[ROOT], CHAIN);
        let before = self.between.before();
        code.fill(before, before.len());
        code.fill(self.between.instructions(), self.count);
    }
}

/// Bytes of instructions.
fn bytes(instructions: &[&[u8]]) -> usize {
    instructions
        .iter()
        .map(|instruction| instruction.len())
        .sum()
}
