//! Machine code that is executed for its own sake: the cost of fetching, decoding and following it.

mod branches;

pub use branches::{Behind, Blocks, Callers, Indirect, Nested};

use crate::mem::{LINE, Span};

/// The instructions of straight-line code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Filler {
    /// `nop` of one byte: the maximum number of instructions per line.
    Nop1,
    /// `nop` of eight bytes: few instructions per byte fetched.
    Nop8,
    /// `mov` between registers, three bytes.
    Move3,
    /// `mov` of a 16-bit immediate, five bytes. Its prefix changes the instruction's length, for which
    /// Intel's decoders need additional cycles; the cache of decoded instructions does not.
    Prefixed5,
}

impl Filler {
    /// All fillers.
    pub const ALL: [Filler; 4] = [Filler::Nop1, Filler::Nop8, Filler::Move3, Filler::Prefixed5];

    /// The instructions, which alternate. They use only r8 to r11.
    fn instructions(self) -> &'static [&'static [u8]] {
        match self {
            Filler::Nop1 => &[&[0x90]],
            Filler::Nop8 => &[&[0x0F, 0x1F, 0x84, 0, 0, 0, 0, 0]],
            Filler::Move3 => &[
                &[0x4D, 0x89, 0xC8], // mov r8, r9
                &[0x4D, 0x89, 0xDA], // mov r10, r11
            ],
            Filler::Prefixed5 => &[
                &[0x66, 0x41, 0xB8, 0x34, 0x12], // mov r8w, 0x1234
                &[0x66, 0x41, 0xB9, 0x34, 0x12],
                &[0x66, 0x41, 0xBA, 0x34, 0x12],
                &[0x66, 0x41, 0xBB, 0x34, 0x12],
            ],
        }
    }

    /// Bytes per instruction.
    pub fn bytes(self) -> usize {
        self.instructions()[0].len()
    }
}

/// A loop over code; the variants are bodies of the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Listing {
    /// `count` instructions in a row.
    Straight {
        /// The instructions.
        filler: Filler,
        /// Number of instructions.
        count: usize,
    },
    /// `count` jumps, each to the next jump, `spacing` bytes further.
    Jumps {
        /// Number of jumps.
        count: usize,
        /// Bytes from one jump to the next: 2 to 129.
        spacing: usize,
    },
    /// Calls of functions that share a piece of code.
    Callers(Callers),
    /// Code with a part that is never executed.
    Blocks(Blocks),
    /// Jumps through a register.
    Indirect(Indirect),
    /// Nested calls.
    Nested(Nested),
    /// Chains with instructions between them.
    Window(Window),
}

/// The number of instructions that repeat the body: `inc`, `cmp`, `jb`.
pub const LOOP: u64 = 3;

/// Bytes of `xor eax, eax` padded to a line, so that every body begins on a line.
const PROLOGUE: usize = LINE;

/// Bytes of `inc rax; cmp rax, rdi; jb body; ret`.
const EPILOGUE: usize = 3 + 3 + FAR_IF + RETURN;

impl Listing {
    /// Creates straight-line code of at most `bytes` bytes, with at least one instruction.
    pub fn straight(filler: Filler, bytes: usize) -> Self {
        Listing::Straight { filler, count: (bytes / filler.bytes()).max(1) }
    }

    /// Bytes of the body; `usize::MAX` if the number overflows.
    pub fn body(&self) -> usize {
        self.through().bytes()
    }

    fn through(&self) -> Span {
        match *self {
            Listing::Straight { filler, count } => Span::of(filler.bytes()).times(count),
            Listing::Jumps { count, spacing } => Span::of(spacing).times(count),
            Listing::Callers(callers) => callers.body(),
            Listing::Blocks(blocks) => blocks.body(),
            Listing::Indirect(jumps) => jumps.body(),
            Listing::Nested(calls) => calls.body(),
            Listing::Window(window) => window.body(),
        }
    }

    /// Bytes after the loop: functions that it calls, code that it never reaches.
    fn behind(&self) -> Span {
        match self {
            Listing::Nested(calls) => calls.called(),
            Listing::Callers(callers) => callers.called(),
            Listing::Blocks(blocks) => blocks.out_of_the_way(),
            Listing::Straight { .. }
            | Listing::Jumps { .. }
            | Listing::Indirect(_)
            | Listing::Window(_) => Span::of(0),
        }
    }

    /// Bytes of the whole function; `usize::MAX` if the number overflows.
    pub fn bytes(&self) -> usize {
        let around = Span::of(PROLOGUE + EPILOGUE);
        around.plus(self.through()).plus(self.behind()).bytes()
    }

    /// Instructions per round, including those of the loop; `u64::MAX` if the number overflows.
    pub fn instructions(&self) -> u64 {
        let body = match *self {
            Listing::Straight { count, .. } | Listing::Jumps { count, .. } => count,
            Listing::Callers(callers) => callers.instructions(),
            Listing::Blocks(blocks) => blocks.instructions(),
            Listing::Indirect(jumps) => jumps.instructions(),
            Listing::Nested(calls) => calls.instructions(),
            Listing::Window(window) => window.instructions(),
        };
        (body as u64).saturating_add(LOOP)
    }

    /// Writes the function to the start of `into`. System V calling convention: the number of rounds (not
    /// 0) in `rdi`, the number of rounds done in `rax`. The function touches no memory but the stack: for
    /// its calls, and at the top of the stack for the loads and stores of a [`Window`].
    ///
    /// # Panics
    /// If `into` is shorter than [`bytes`](Self::bytes), a short jump does not reach over the spacing, the
    /// number of indirect jumps is not a power of two, or a jump reaches over 2 GiB.
    pub fn write(&self, into: &mut [u8]) {
        let needed = Span::of(self.bytes());
        let room = into.len();
        assert!(needed.fits(room), "the code takes {needed}, there is room for {room}");
        let mut code = Writer { into, at: 0 };
        code.put(&[0x31, 0xC0]); // xor eax, eax
        code.fill(Filler::Nop1.instructions(), PROLOGUE - code.at);
        let behind = PROLOGUE + self.body() + EPILOGUE;
        match *self {
            Listing::Straight { filler, count } => code.fill(filler.instructions(), count),
            Listing::Jumps { count, spacing } => {
                let over = spacing.checked_sub(2).and_then(|over| i8::try_from(over).ok());
                let over = over.expect("a short jump reaches 2 to 129 bytes further");
                for _ in 0..count {
                    code.put(&[0xEB, over.cast_unsigned()]); // jmp
                    code.fill(&[&[0xCC]], spacing - 2); // int3: never reached
                }
            }
            Listing::Callers(callers) => callers.write_body(&mut code, behind),
            Listing::Blocks(blocks) => blocks.write_body(&mut code, behind),
            Listing::Indirect(jumps) => jumps.write_body(&mut code),
            Listing::Nested(calls) => calls.write_body(&mut code, behind),
            Listing::Window(window) => window.write_body(&mut code),
        }
        code.put(&[0x48, 0xFF, 0xC0]); // inc rax
        code.put(&[0x48, 0x39, 0xF8]); // cmp rax, rdi
        code.relative(&[0x0F, 0x82], PROLOGUE); // jb
        code.ret();
        debug_assert_eq!(code.at, behind);
        match self {
            Listing::Nested(calls) => calls.write_functions(&mut code),
            Listing::Callers(callers) => callers.write_functions(&mut code),
            Listing::Blocks(blocks) => blocks.write_out_of_the_way(&mut code, PROLOGUE),
            _ => {}
        }
        debug_assert_eq!(code.at, self.bytes());
    }
}

variants! {
    /// The instructions between two chains of a [`Window`].
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
}

impl Between {
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
    fn body(&self) -> Span {
        let around = bytes(BEGIN) + CHAIN * ROOT.len() + bytes(self.between.before());
        Span::of(self.between.bytes()).times(self.count).plus(Span::of(around))
    }

    /// Instructions per round.
    fn instructions(&self) -> usize {
        let around = BEGIN.len() + CHAIN + self.between.before().len();
        self.count.saturating_add(around)
    }

    /// Writes the code of a round.
    fn write_body(&self, code: &mut Writer<'_>) {
        code.fill(BEGIN, BEGIN.len());
        code.fill(&[ROOT], CHAIN);
        let before = self.between.before();
        code.fill(before, before.len());
        code.fill(self.between.instructions(), self.count);
    }
}

/// Bytes of instructions.
fn bytes(instructions: &[&[u8]]) -> usize {
    instructions.iter().map(|instruction| instruction.len()).sum()
}

/// Bytes of a jump or call with any target: an opcode and 32 bits.
const FAR: usize = 5;

/// Bytes of a conditional jump with any target.
const FAR_IF: usize = 6;

/// Bytes of `test rdi, rdi`.
const TEST: usize = 3;

/// Bytes of `ret`.
const RETURN: usize = 1;

/// Writes code to a slice, from its start on.
struct Writer<'a> {
    into: &'a mut [u8],
    at: usize,
}

impl Writer<'_> {
    fn put(&mut self, bytes: &[u8]) {
        self.into[self.at..][..bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }

    /// Writes `count` instructions, cycling through `instructions`.
    fn fill(&mut self, instructions: &[&[u8]], count: usize) {
        for instruction in instructions.iter().cycle().take(count) {
            self.put(instruction);
        }
    }

    /// Writes `opcode` and the distance from the end of the instruction to `target`.
    fn relative(&mut self, opcode: &[u8], target: usize) {
        self.put(opcode);
        let behind = self.at + 4;
        let distance = target as i64 - behind as i64;
        let distance = i32::try_from(distance).expect("a jump over less than 2 GiB");
        self.put(&distance.to_le_bytes());
    }

    fn call(&mut self, target: usize) {
        self.relative(&[0xE8], target);
    }

    fn ret(&mut self) {
        self.put(&[0xC3]);
    }
}
