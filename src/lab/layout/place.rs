//! Where a compiler puts members that come in a given order.

use super::Span;

/// One or more members that are moved together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A member of whole bytes.
    Whole {
        /// Its bytes.
        size: u64,
        /// Its alignment in bytes.
        align: u64,
    },
    /// Neighbouring bit-fields, each with its width in bits and the bytes of its storage unit.
    Fields(Vec<(u64, u64)>),
}

/// What is the same in every order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Bits at the front that stay as they are: base classes, the pointer to virtual functions.
    pub front: u64,
    /// The alignment of the type in bytes.
    pub align: u64,
}

/// Pieces in an order, each in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Where the members of each piece lie, in the order in which the pieces come.
    pub spans: Vec<Vec<Span>>,
    /// Bytes of the type.
    pub size: u64,
}

impl Piece {
    /// Puts it at the first place at or behind bit `at`.
    ///
    /// The rules are those of the System V ABI (AMD64 supplement 3.1.2): a member starts on a
    /// multiple of its alignment; a bit-field lies in one storage unit of its type, and shares it
    /// with what comes before if there is room.
    pub(super) fn put(&self, mut at: u64) -> Vec<Span> {
        match self {
            Piece::Whole { size, align } => {
                let start = at.next_multiple_of(8 * align);
                vec![Span::of_bytes(start / 8, *size)]
            }
            Piece::Fields(fields) => fields
                .iter()
                .map(|&(width, unit)| {
                    if at % (8 * unit) + width > 8 * unit {
                        at = at.next_multiple_of(8 * unit);
                    }
                    let span = Span {
                        start: at,
                        end: at + width,
                    };
                    at = span.end;
                    span
                })
                .collect(),
        }
    }

    /// Its alignment in bytes, by which orders are sorted.
    pub(super) fn align(&self) -> u64 {
        match self {
            Piece::Whole { align, .. } => *align,
            Piece::Fields(fields) => fields.iter().map(|(_, unit)| *unit).max().unwrap_or(1),
        }
    }

    /// Its bytes, whole ones.
    pub(super) fn size(&self) -> u64 {
        match self {
            Piece::Whole { size, .. } => *size,
            Piece::Fields(fields) => fields.iter().map(|(bits, _)| bits).sum::<u64>().div_ceil(8),
        }
    }
}

/// Lays `pieces` out in `order`.
pub fn place(pieces: &[Piece], order: &[usize], frame: Frame) -> Placed {
    let mut end = frame.front;
    let spans = order
        .iter()
        .map(|&index| {
            let spans = pieces[index].put(end);
            end = spans.last().map_or(end, |last| last.end.max(end));
            spans
        })
        .collect();
    Placed {
        spans,
        size: end.div_ceil(8).next_multiple_of(frame.align.max(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Frame = Frame { front: 0, align: 8 };

    fn whole(size: u64, align: u64) -> Piece {
        Piece::Whole { size, align }
    }

    #[test]
    fn figure_6_3_in_both_orders() {
        let pieces = [whole(4, 4), whole(56, 8), whole(4, 4)];
        let placed = place(&pieces, &[0, 1, 2], FRAME);
        let offsets: Vec<u64> = placed.spans.iter().map(|spans| spans[0].offset()).collect();
        assert_eq!((offsets, placed.size), (vec![0, 8, 64], 72));
        let placed = place(&pieces, &[0, 2, 1], FRAME);
        let offsets: Vec<u64> = placed.spans.iter().map(|spans| spans[0].offset()).collect();
        assert_eq!((offsets, placed.size), (vec![0, 4, 8], 64));
    }

    #[test]
    fn bit_fields_share_units_and_do_not_cross_them() {
        // unsigned a:3, b:30; unsigned char c:4; int d;
        let fields = Piece::Fields(vec![(3, 4), (30, 4), (4, 1)]);
        let placed = place(&[fields, whole(4, 4)], &[0, 1], FRAME);
        let starts: Vec<u64> = placed.spans[0].iter().map(|span| span.start).collect();
        assert_eq!(starts, [0, 32, 64]);
        assert_eq!(placed.spans[1][0].offset(), 12);
        assert_eq!(placed.size, 16);
    }

    #[test]
    fn bit_fields_move_into_the_unit_of_what_comes_before() {
        // char a; int b:5;
        let pieces = [whole(1, 1), Piece::Fields(vec![(5, 4)])];
        let placed = place(&pieces, &[0, 1], Frame { front: 0, align: 4 });
        assert_eq!(placed.spans[1][0].start, 8);
        assert_eq!(placed.size, 4);
    }

    #[test]
    fn what_is_at_the_front_stays_there() {
        let frame = Frame {
            front: 40,
            align: 8,
        };
        let placed = place(&[whole(1, 1), whole(8, 8)], &[0, 1], frame);
        assert_eq!(placed.spans[0][0].offset(), 5);
        assert_eq!((placed.spans[1][0].offset(), placed.size), (8, 16));
    }
}
