//! Chains of square roots with instructions between them: how many of these a core has under way.

use super::Writer;
use crate::mem::Span;

/// What stands between two chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Between {
    /// `fnop`: an operation that needs no register, goes through an execution unit and changes nothing.
    Operations,
    /// `nop` of four bytes, which no unit executes.
    Nops,
    /// `mov` from a register to another, in turn to two of them.
    Moves,
    /// `lea` of a sum, into a general register.
    Sums,
    /// `paddd`, into a vector register.
    VectorSums,
    /// Loads of one word of the stack, behind a load whose address waits for the chain.
    Loads,
    /// Stores to one word of the stack.
    Stores,
}

impl Between {
    /// All of them.
    pub const ALL: [Between; 7] = [
        Between::Operations,
        Between::Nops,
        Between::Moves,
        Between::Sums,
        Between::VectorSums,
        Between::Loads,
        Between::Stores,
    ];

    /// The instructions, in turn, all of one length. They use r10, r11 and xmm2 alone, and the line of
    /// the stack.
    fn instructions(self) -> &'static [&'static [u8]] {
        match self {
            Between::Operations => &[&[0xD9, 0xD0]],
            Between::Nops => &[&[0x0F, 0x1F, 0x40, 0]],
            Between::Moves => &[
                &[0x4D, 0x89, 0xCA], // mov r10, r9
                &[0x49, 0x89, 0xC3], // mov r11, rax
            ],
            Between::Sums => &[&[0x4D, 0x8D, 0x14, 0x01]], // lea r10, [r9 + rax]
            Between::VectorSums => &[&[0x66, 0x0F, 0xFE, 0xD1]], // paddd xmm2, xmm1
            Between::Loads => &[&[0x4C, 0x8B, 0x14, 0x24]], // mov r10, [rsp]
            Between::Stores => &[&[0x4C, 0x89, 0x4C, 0x24, 0xF8]], // mov [rsp - 8], r9
        }
    }

    /// Bytes of an instruction.
    fn bytes(self) -> usize {
        self.instructions()[0].len()
    }

    /// What stands before them in each round.
    fn before(self) -> &'static [&'static [u8]] {
        match self {
            Between::Loads => WAITING_LOAD,
            _ => &[],
        }
    }
}

/// Square roots of a chain: each takes some 13 to 20 cycles, and one entry of a reorder buffer.
const CHAIN: usize = 24;

/// `sqrtsd xmm0, xmm0`.
const ROOT: &[u8] = &[0xF2, 0x0F, 0x51, 0xC0];

/// The chain begins with 1, and waits for nothing before it.
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

/// Rounds of a chain of square roots, and `count` instructions behind it.
///
/// No chain waits for the one before, so that two run side by side until what stands between them no
/// longer finds room in a core: nothing leaves a reorder buffer before the chain has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    /// Which instructions.
    pub between: Between,
    /// How many.
    pub count: usize,
}

impl Window {
    /// Operations that a reorder buffer holds beside the instructions when two chains run side by side
    /// for half of their time: the half of a chain, what begins it, and the loop.
    pub const BESIDE: usize = CHAIN / 2 + 6;

    /// Bytes of what a round goes through.
    pub(super) fn body(&self) -> Span {
        let around = bytes(BEGIN) + CHAIN * ROOT.len() + bytes(self.between.before());
        Span::of(self.between.bytes())
            .times(self.count)
            .plus(Span::of(around))
    }

    /// Instructions that a round executes.
    pub(super) fn instructions(&self) -> usize {
        let around = BEGIN.len() + CHAIN + self.between.before().len();
        self.count.saturating_add(around)
    }

    /// Writes what a round goes through.
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
