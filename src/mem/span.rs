//! Bytes that are counted without wrapping.

/// A number of bytes, made by sums and products that do not wrap.
///
/// Release builds wrap: a product of huge arguments can come out small and seem to fit a region.
/// Here a number beyond `usize` is no number, stays none whatever is added to it, and fits nowhere.
/// Public functions return it as `usize::MAX`, which no memory has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span(Option<usize>);

impl Span {
    /// So many bytes; `usize::MAX` is too many to be counted.
    pub(crate) const fn of(bytes: usize) -> Self {
        Span(if bytes == usize::MAX {
            None
        } else {
            Some(bytes)
        })
    }

    /// Both, one behind the other.
    pub(crate) const fn plus(self, other: Span) -> Self {
        match (self.0, other.0) {
            (Some(one), Some(two)) => Span(one.checked_add(two)),
            _ => Span(None),
        }
    }

    /// The same number of bytes, `count` times.
    pub(crate) const fn times(self, count: usize) -> Self {
        match self.0 {
            Some(bytes) => Span(bytes.checked_mul(count)),
            None => self,
        }
    }

    /// Rounded up to a multiple of `unit`; nothing is a multiple of 0.
    pub(crate) const fn whole(self, unit: usize) -> Self {
        match self.0 {
            Some(bytes) if unit > 0 => Span(bytes.checked_next_multiple_of(unit)),
            _ => Span(None),
        }
    }

    /// Whether there are so many bytes in `room`.
    pub(crate) const fn fits(self, room: usize) -> bool {
        match self.0 {
            Some(bytes) => bytes <= room,
            None => false,
        }
    }

    /// The number; `usize::MAX` if there are too many to be counted.
    pub(crate) const fn bytes(self) -> usize {
        match self.0 {
            Some(bytes) => bytes,
            None => usize::MAX,
        }
    }
}

impl core::fmt::Display for Span {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.0 {
            Some(bytes) => write!(f, "{bytes} bytes"),
            None => f.write_str("more bytes than can be counted"),
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    const HUGE: usize = usize::MAX / 2 + 1;

    #[test]
    fn what_can_be_counted_is_a_number() {
        let span = Span::of(10).times(6).plus(Span::of(1));
        assert_eq!(span.bytes(), 61);
        assert_eq!(span.whole(64).bytes(), 64);
        assert_eq!(span.to_string(), "61 bytes");
        assert!(span.fits(61) && !span.fits(60));
    }

    #[test]
    fn what_cannot_be_counted_fits_nowhere() {
        let uncounted = [
            Span::of(usize::MAX),
            Span::of(HUGE).times(2),
            Span::of(HUGE).plus(Span::of(HUGE)),
            Span::of(usize::MAX - 1).whole(64),
            Span::of(1).whole(0),
            Span::of(usize::MAX).times(0),
            Span::of(usize::MAX).plus(Span::of(0)),
        ];
        for span in uncounted {
            assert_eq!(span.bytes(), usize::MAX);
            assert!(!span.fits(usize::MAX));
            assert_eq!(span.to_string(), "more bytes than can be counted");
        }
    }
}
