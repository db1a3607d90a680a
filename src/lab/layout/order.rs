//! Finds an order of members that makes a type smaller, and computes the offsets that a compiler assigns to
//! members in a given order.

use crate::order;

use core::cmp::Reverse;

use super::Span;

/// Returns the best order found and the resulting layout: the smallest type, then the fewest members that
/// cross a line boundary, then the fewest members out of their original order. The last `fixed` pieces stay
/// last.
///
/// The size of a type is a multiple of its alignment. Members in descending order of alignment therefore
/// leave no holes except the padding at the end. Drepper's second rule (6.2.1) is to keep members together
/// that are used together. The first candidate is therefore the original order with its holes filled from
/// the end, and it wins ties.
pub fn best(pieces: &[Piece], fixed: usize, frame: Frame, line: u64) -> (Vec<usize>, Placed) {
    let free = pieces.len() - fixed;
    let given: Vec<usize> = (0..pieces.len()).collect();
    let mut by_align = given.clone();
    order::by_key(&mut by_align[..free], |&index| Reverse(pieces[index].align()));
    let filled =
        [filled(pieces, given.clone(), free, frame), filled(pieces, by_align.clone(), free, frame)];
    let unsplit = filled.clone().map(|order| unsplit(pieces, order, free, frame, line));
    let candidates = filled.into_iter().chain(unsplit).chain([by_align, given]);
    candidates
        .map(|order| {
            let placed = place(pieces, &order, frame);
            (order, placed)
        })
        .min_by_key(|(order, placed)| (placed.size, straddling(placed, line), moved(order)))
        .expect("there are candidates")
}

/// Counts the members that cross a line boundary although they would fit in one line.
pub fn straddling(placed: &Placed, line: u64) -> usize {
    placed.spans.iter().flatten().filter(|span| span.straddles(line)).count()
}

/// Counts the pairs of pieces whose relative order changed.
fn moved(order: &[usize]) -> usize {
    let pairs = order.iter().enumerate();
    pairs.map(|(at, index)| order[at..].iter().filter(|later| *later < index).count()).sum()
}

/// Returns the order with its holes filled, front to back, by later pieces. Each hole takes the largest
/// piece that fits, and the last of several equal ones.
fn filled(pieces: &[Piece], order: Vec<usize>, free: usize, frame: Frame) -> Vec<usize> {
    with_moved_up(pieces, order, free, frame, |order, at, end| {
        let start = pieces[order[at]].put(end).first().map_or(end, |span| span.start);
        let fits = |place: &usize| {
            let spans = pieces[order[*place]].put(end);
            spans.last().is_some_and(|span| span.end <= start && span.bits() > 0)
        };
        (at + 1..free).filter(fits).max_by_key(|&place| pieces[order[place]].size())
    })
}

/// Returns the order with a later piece moved before each piece that would cross a line boundary. The moved
/// piece is the largest that starts at the same bit and does not cross a line boundary.
fn unsplit(
    pieces: &[Piece],
    order: Vec<usize>,
    free: usize,
    frame: Frame,
    line: u64,
) -> Vec<usize> {
    with_moved_up(pieces, order, free, frame, |order, at, end| {
        let spans = |place: usize| pieces[order[place]].put(end);
        let splits = |place: usize| spans(place).iter().any(|span| span.straddles(line));
        let start = |place: usize| spans(place).first().map(|span| span.start);
        let suits = |place: &usize| !splits(*place) && start(*place) == start(at);
        let later = if splits(at) { at + 1..free } else { 0..0 };
        later.filter(suits).max_by_key(|&place| pieces[order[place]].size())
    })
}

/// Returns the order with a later piece moved to each place, front to back, if `later` returns its place in
/// the order. `later` takes the order, the place, and the end of the pieces before it.
fn with_moved_up(
    pieces: &[Piece],
    mut order: Vec<usize>,
    free: usize,
    frame: Frame,
    later: impl Fn(&[usize], usize, u64) -> Option<usize>,
) -> Vec<usize> {
    let mut end = frame.front;
    for at in 0..free {
        if let Some(place) = later(&order, at, end) {
            order[at..=place].rotate_right(1);
        }
        end = end_of(&pieces[order[at]].put(end), end);
    }
    order
}

/// Returns the end of a piece at these places, or `before`, the end of the pieces before it, if that is greater.
fn end_of(spans: &[Span], before: u64) -> u64 {
    spans.last().map_or(before, |last| last.end.max(before))
}

/// One or more members that move together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A member of whole bytes, with its size and alignment in bytes.
    Whole { size: u64, align: u64 },
    /// Adjacent bit-fields, each with its width in bits and the size of its storage unit in bytes.
    Fields(Vec<(u64, u64)>),
}

/// The part of a layout that is the same in every order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Bits at the front that stay as they are: base classes and the pointer to the virtual function table.
    pub front: u64,
    /// The alignment of the type in bytes.
    pub align: u64,
}

/// Pieces in a given order, with their places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The places of the members of each piece, in the order of the pieces.
    pub spans: Vec<Vec<Span>>,
    /// Size of the type in bytes.
    pub size: u64,
}

impl Piece {
    /// Returns the places of the piece's members at the first possible position at or after bit `at`.
    ///
    /// The rules are those of the System V ABI (AMD64 supplement 3.1.2). A member starts at a multiple of
    /// its alignment. A bit-field lies within one storage unit of its type. It shares the unit with
    /// preceding members if there is room.
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
                    let span = Span { start: at, end: at + width };
                    at = span.end;
                    span
                })
                .collect(),
        }
    }

    /// Returns the alignment in bytes, the key by which orders are sorted.
    pub(super) fn align(&self) -> u64 {
        match self {
            Piece::Whole { align, .. } => *align,
            Piece::Fields(fields) => fields.iter().map(|(_, unit)| *unit).max().unwrap_or(1),
        }
    }

    /// Returns the size in bytes, rounded up.
    pub(super) fn size(&self) -> u64 {
        match self {
            Piece::Whole { size, .. } => *size,
            Piece::Fields(fields) => fields.iter().map(|(bits, _)| bits).sum::<u64>().div_ceil(8),
        }
    }
}

/// Computes the layout of `pieces` in `order`.
pub fn place(pieces: &[Piece], order: &[usize], frame: Frame) -> Placed {
    let mut end = frame.front;
    let spans = order
        .iter()
        .map(|&index| {
            let spans = pieces[index].put(end);
            end = end_of(&spans, end);
            spans
        })
        .collect();
    Placed { spans, size: end.div_ceil(8).next_multiple_of(frame.align.max(1)) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn whole(size: u64, align: u64) -> Piece {
        Piece::Whole { size, align }
    }

    #[test]
    fn of_orders_of_one_size_the_one_that_splits_no_member_wins() {
        // In this order the member of 16 bytes crosses the end of the first line: it occupies bytes 56 to 71
        // of 80.
        let pieces = [whole(56, 8), whole(16, 8), whole(8, 8)];
        let (order, placed) = best(&pieces, 0, Frame { front: 0, align: 8 }, 64);
        assert_eq!(straddling(&placed, 64), 0, "{order:?}");
    }

    fn pieces(most: usize) -> impl Strategy<Value = Vec<Piece>> {
        let piece = (0_u32..5, 1_u64..5).prop_map(|(shift, times)| {
            let align = 1 << shift;
            whole(align * times, align)
        });
        proptest::collection::vec(piece, 1..most)
    }

    fn frame_of(pieces: &[Piece], front: u64) -> Frame {
        Frame { front: front * 8, align: pieces.iter().map(Piece::align).max().unwrap() }
    }

    /// Returns the smallest size that any order of the pieces gives.
    fn smallest(pieces: &[Piece], order: &mut Vec<usize>, frame: Frame) -> u64 {
        if order.len() == pieces.len() {
            return place(pieces, order, frame).size;
        }
        let mut least = u64::MAX;
        for index in 0..pieces.len() {
            if !order.contains(&index) {
                order.push(index);
                least = least.min(smallest(pieces, order, frame));
                order.pop();
            }
        }
        least
    }

    proptest! {
        #[test]
        fn an_order_holds_every_piece_once_in_an_aligned_place_of_its_own(
            pieces in pieces(12),
            front in 0_u64..20,
        ) {
            let frame = frame_of(&pieces, front);
            let (order, placed) = best(&pieces, 0, frame, 64);
            let mut seen = order.clone();
            seen.sort_unstable();
            prop_assert!(seen.into_iter().eq(0..pieces.len()));
            let mut end = frame.front;
            for (index, spans) in order.iter().zip(&placed.spans) {
                prop_assert!(spans[0].start >= end);
                prop_assert_eq!(spans[0].offset() % pieces[*index].align(), 0);
                prop_assert_eq!(spans[0].bytes(), pieces[*index].size());
                end = spans[0].end;
            }
            prop_assert!(end <= placed.size * 8);
            let given: Vec<usize> = (0..pieces.len()).collect();
            prop_assert!(placed.size <= place(&pieces, &given, frame).size);
        }

        #[test]
        fn without_a_front_no_order_is_smaller(pieces in pieces(7)) {
            let frame = frame_of(&pieces, 0);
            let (_, placed) = best(&pieces, 0, frame, 64);
            prop_assert_eq!(placed.size, smallest(&pieces, &mut Vec::new(), frame));
        }
    }

    const FRAME: Frame = Frame { front: 0, align: 8 };

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
        let placed = place(&[whole(1, 1), whole(8, 8)], &[0, 1], Frame { front: 40, align: 8 });
        assert_eq!(placed.spans[0][0].offset(), 5);
        assert_eq!((placed.spans[1][0].offset(), placed.size), (8, 16));
    }
}
