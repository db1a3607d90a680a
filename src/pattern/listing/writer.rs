//! Instructions into memory, one after the other.

/// Bytes of a jump or call whose target may lie anywhere: an opcode and 32 bits.
pub(super) const FAR: usize = 5;

/// Bytes of a conditional jump whose target may lie anywhere.
pub(super) const FAR_IF: usize = 6;

/// Bytes of `test rdi, rdi`.
pub(super) const TEST: usize = 3;

/// Bytes of `ret`.
pub(super) const RETURN: usize = 1;

/// Writes from the start of a slice on.
pub(super) struct Writer<'a> {
    into: &'a mut [u8],
    pub(super) at: usize,
}

impl<'a> Writer<'a> {
    pub(super) fn new(into: &'a mut [u8]) -> Self {
        Writer { into, at: 0 }
    }

    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.into[self.at..][..bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }

    /// The first `count` of `instructions`, which repeat.
    pub(super) fn fill(&mut self, instructions: &[&[u8]], count: usize) {
        for instruction in instructions.iter().cycle().take(count) {
            self.put(instruction);
        }
    }

    /// `opcode` and the distance from behind it to `target`.
    fn relative(&mut self, opcode: &[u8], target: usize) {
        self.put(opcode);
        let behind = self.at + 4;
        let distance = target as i64 - behind as i64;
        let distance = i32::try_from(distance).expect("a jump over less than 2 GiB");
        self.put(&distance.to_le_bytes());
    }

    /// `lea r8, [rip + ...]`: the address of `target`.
    pub(super) fn address(&mut self, target: usize) {
        self.relative(&[0x4C, 0x8D, 0x05], target);
    }

    pub(super) fn call(&mut self, target: usize) {
        self.relative(&[0xE8], target);
    }

    pub(super) fn jump(&mut self, target: usize) {
        self.relative(&[0xE9], target);
    }

    pub(super) fn jump_if_below(&mut self, target: usize) {
        self.relative(&[0x0F, 0x82], target);
    }

    pub(super) fn jump_if_zero(&mut self, target: usize) {
        self.relative(&[0x0F, 0x84], target);
    }

    pub(super) fn jump_if_not_zero(&mut self, target: usize) {
        self.relative(&[0x0F, 0x85], target);
    }

    /// `test rdi, rdi`: never zero, since it holds the number of rounds.
    pub(super) fn test(&mut self) {
        self.put(&[0x48, 0x85, 0xFF]);
    }

    pub(super) fn ret(&mut self) {
        self.put(&[0xC3]);
    }
}
