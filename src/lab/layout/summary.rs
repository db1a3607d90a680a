//! A type in numbers.

use super::span::{lines, lines_in_array};
use super::{Aggregate, Holes, Reorder};

/// What `pahole` prints below a type, and what another order would save.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Bytes of the type.
    pub size: u64,
    /// Lines that it touches if it starts on one.
    pub lines: u64,
    /// Lines that an element of an array touches on average, if the array starts on one.
    pub lines_in_array: f64,
    /// Members, without those of variants.
    pub members: usize,
    /// Bytes that members use; what is used in part counts as a whole.
    pub used: u64,
    /// Holes between members, in whole bytes.
    pub holes: usize,
    /// Bytes of these holes.
    pub hole_bytes: u64,
    /// Holes between bit-fields.
    pub bit_holes: usize,
    /// Bits of these holes.
    pub bit_hole_bits: u64,
    /// Bytes behind the last member.
    pub padding: u64,
    /// Bits behind the last bit-field.
    pub bit_padding: u64,
    /// Bytes of the last line, if it is not full.
    pub last_line: Option<u64>,
    /// Bytes that another order of the members saves.
    pub saves: u64,
}

impl Summary {
    /// Bytes that no member uses, those of bits rounded up.
    pub fn wasted(&self) -> u64 {
        let bits = self.bit_hole_bits + self.bit_padding;
        self.hole_bytes + self.padding + bits.div_ceil(8)
    }

    /// The numbers of a type, on lines of `line` bytes.
    pub fn of(aggregate: &Aggregate, line: u64) -> Self {
        let holes = Holes::of(aggregate);
        let (count, in_bits) = holes.counts();
        let size = aggregate.size;
        let rest = size % line;
        Summary {
            size,
            lines: lines(size, line),
            lines_in_array: lines_in_array(size, line),
            members: aggregate.members.len(),
            used: holes.used.div_ceil(8),
            holes: count,
            hole_bytes: holes.bytes(),
            bit_holes: in_bits,
            bit_hole_bits: holes.bits(),
            padding: holes.padding(),
            bit_padding: holes.bit_padding(),
            last_line: (rest > 0).then_some(rest),
            saves: match Reorder::of(aggregate, line) {
                Reorder::Better(better) => better.bytes,
                Reorder::No(_) => 0,
            },
        }
    }
}
