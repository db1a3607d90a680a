//! A stretch of a type, and the cache lines it touches.

use core::ops::RangeInclusive;

/// A stretch of bits, counted from the start of the type. Members are whole bytes but for
/// bit-fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The first bit.
    pub start: u64,
    /// The first bit behind it.
    pub end: u64,
}

impl Span {
    /// `size` bytes from byte `offset` on.
    pub const fn of_bytes(offset: u64, size: u64) -> Self {
        Span {
            start: offset * 8,
            end: (offset + size) * 8,
        }
    }

    /// Bits in it.
    pub const fn bits(self) -> u64 {
        self.end - self.start
    }

    /// The byte in which it starts.
    pub const fn offset(self) -> u64 {
        self.start / 8
    }

    /// Bytes in which some bit of it lies.
    pub const fn bytes(self) -> u64 {
        if self.start == self.end {
            0
        } else {
            self.end.div_ceil(8) - self.start / 8
        }
    }

    /// The same, `bytes` further on.
    pub const fn moved(self, bytes: u64) -> Self {
        Span {
            start: self.start + bytes * 8,
            end: self.end + bytes * 8,
        }
    }

    /// The lines of `line` bytes that it touches, if the type starts on a line. Nothing touches
    /// nothing.
    pub fn lines(self, line: u64) -> Option<RangeInclusive<u64>> {
        let last = self.end.checked_sub(1).filter(|_| self.bits() > 0)?;
        Some(self.start / 8 / line..=last / 8 / line)
    }

    /// Whether it lies across two lines although it has room in one.
    pub fn straddles(self, line: u64) -> bool {
        let lines = self.lines(line);
        self.bytes() <= line && lines.is_some_and(|lines| lines.start() != lines.end())
    }
}

/// Lines that a type of `size` bytes touches if it starts on a line.
pub const fn lines(size: u64, line: u64) -> u64 {
    size.div_ceil(line)
}

/// Lines that an element of an array touches, on average over an array that starts on a line.
///
/// Elements of `size` bytes start at all multiples of g = gcd(size, line) inside a line equally
/// often, which makes the average (size + line - g) / line.
pub fn lines_in_array(size: u64, line: u64) -> f64 {
    if size == 0 {
        return 0.0;
    }
    (size + line - gcd(size, line)) as f64 / line as f64
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bytes_and_bits() {
        let span = Span::of_bytes(8, 56);
        assert_eq!((span.offset(), span.bytes(), span.bits()), (8, 56, 448));
        let field = Span { start: 6, end: 9 };
        assert_eq!((field.offset(), field.bytes()), (0, 2));
        assert_eq!(Span::of_bytes(8, 0).bytes(), 0);
        assert_eq!(span.moved(8), Span::of_bytes(16, 56));
    }

    #[test]
    fn only_what_has_room_in_a_line_straddles_one() {
        assert!(Span::of_bytes(60, 8).straddles(64));
        assert!(!Span::of_bytes(56, 8).straddles(64));
        assert!(!Span::of_bytes(0, 65).straddles(64));
        assert!(!Span::of_bytes(64, 0).straddles(64));
        assert!(!Span::of_bytes(60, 8).straddles(128));
        assert_eq!(Span::of_bytes(60, 8).lines(64), Some(0..=1));
        assert_eq!(Span::of_bytes(60, 0).lines(64), None);
    }

    #[test]
    fn figure_6_3_takes_two_lines_in_an_array_as_well() {
        assert_eq!(lines(72, 64), 2);
        assert_eq!(lines_in_array(72, 64), 2.0);
        assert_eq!(lines(64, 64), 1);
        assert_eq!(lines_in_array(64, 64), 1.0);
        assert_eq!(lines_in_array(40, 64), 1.5);
        assert_eq!(lines_in_array(0, 64), 0.0);
    }

    proptest! {
        #[test]
        fn the_average_is_what_counting_gives(size in 1_u64..300, shift in 3_u32..8) {
            let line = 1 << shift;
            let elements = line;
            let touched: u64 = (0..elements)
                .map(|index| Span::of_bytes(index * size, size).lines(line).unwrap())
                .map(|lines| lines.end() - lines.start() + 1)
                .sum();
            prop_assert_eq!(touched as f64 / elements as f64, lines_in_array(size, line));
        }
    }
}
