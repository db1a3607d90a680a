//! Arguments from raw bytes.

/// Bytes that are read from the start; 0 after the end.
pub struct Source<'s> {
    left: &'s [u8],
}

impl<'s> Source<'s> {
    pub fn new(data: &'s [u8]) -> Self {
        Source { left: data }
    }

    pub fn byte(&mut self) -> u8 {
        let (first, rest) = self.left.split_first().unwrap_or((&0, &[]));
        self.left = rest;
        *first
    }

    /// Any 64 bits.
    pub fn word(&mut self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }

    pub fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    /// A number below `bound`, which is less than 2^16.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::from(u16::from_le_bytes([self.byte(), self.byte()])) % bound
    }

    /// One of `choices`.
    pub fn among<'c, T>(&mut self, choices: &'c [T]) -> &'c T {
        &choices[usize::from(self.byte()) % choices.len()]
    }

    /// A size, a count, an offset or a distance. Often a reasonable one for `room` bytes, otherwise one with
    /// which sums and products wrap.
    pub fn size(&mut self, room: usize) -> usize {
        let kind = self.byte() % 16;
        let small = usize::from(self.byte());
        match kind {
            0..=3 => small % 16,
            4 | 5 => small,
            6 | 7 => small * 8,
            8 => small * 64,
            9 => 1 << (small % 13),
            10 => (room / 256).wrapping_mul(small) / 8,
            11 => room.wrapping_add(8).wrapping_sub(small),
            // Near a power of two.
            12 => (1_usize << (small % 64)).wrapping_add(self.near()),
            // A little below 2^64, which wraps to a little below 0.
            13 => 0_usize.wrapping_sub(small),
            // Its product with a small number is near 2^64.
            14 => (usize::MAX / (1 + small)).wrapping_add(self.near()),
            _ => self.word() as usize,
        }
    }

    /// A number near 0, possibly wrapped.
    fn near(&mut self) -> usize {
        usize::from(self.byte() % 16).wrapping_sub(8)
    }

    /// The same in 32 bits, where it may also wrap.
    pub fn number(&mut self) -> u32 {
        self.size(300) as u32
    }
}
