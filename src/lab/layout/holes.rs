//! Bytes and bits of a type that no member uses.

use super::{Aggregate, Kind, Member, Span};

/// A range of bits that no member uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hole {
    pub span: Span,
    /// Whether the hole is the rest of a bit-field's storage unit, and is counted in bits.
    pub in_bits: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holes {
    /// Holes between members.
    pub between: Vec<Hole>,
    /// Holes after the last member.
    pub behind: Vec<Hole>,
    /// Bits that members use. Bits that several members share count once.
    pub used: u64,
}

impl Holes {
    /// Returns the holes of a type: the bits that no member of any variant uses.
    pub fn of(aggregate: &Aggregate) -> Self {
        let empty = aggregate.members.is_empty() && aggregate.variants.is_empty();
        if aggregate.kind == Kind::Enum && empty {
            // An enumeration without data has no members, and perhaps no enumerators (`std::byte`). Its value
            // fills the type.
            return Holes { used: aggregate.size * 8, ..Holes::default() };
        }
        let mut holes = Self::between(aggregate.used(), aggregate.size);
        holes.fill(&aggregate.virtual_bases());
        holes
    }

    /// Counts virtual base classes as used. They lie behind the members, but for one that has only a pointer
    /// to virtual functions, which may lie at the start (Itanium C++ ABI 2.4).
    fn fill(&mut self, bases: &[&Member]) {
        if bases.is_empty() {
            return;
        }
        let sizes: Option<u64> =
            bases.iter().map(|base| base.inner.as_ref().map(|inner| inner.size_as_base())).sum();
        let Some(bytes) = sizes.filter(|_| bases.iter().all(|base| !base.size_unknown)) else {
            self.behind.clear();
            return;
        };
        let mut left = bytes * 8;
        let first = self.between.iter_mut().filter(|hole| hole.span.start == 0);
        let behind = self.behind.iter_mut().filter(|hole| !hole.in_bits);
        for hole in first.chain(behind) {
            let filled = left.min(hole.span.bits());
            hole.span.start += filled;
            self.used += filled;
            left -= filled;
        }
        let is_left = |hole: &Hole| hole.span.bits() > 0;
        self.between.retain(is_left);
        self.behind.retain(is_left);
    }

    /// Returns the holes that `members` leave in `size` bytes. What lies between a member of unknown size and
    /// the next member is neither used nor a hole.
    pub fn between<'m>(members: impl IntoIterator<Item = &'m Member>, size: u64) -> Self {
        let (mut places, mut unknown) = (Vec::new(), Vec::new());
        for member in members {
            let Some(span) = member.span else { continue };
            // A member of unstated length or size occupies no bytes, but the gap before it is a hole.
            if span.bits() > 0 || member.open_ended() || member.size_unknown {
                places.push((span, member.unit.map(|bytes| bytes * 8)));
            }
            if member.size_unknown {
                unknown.push(span.start);
            }
        }
        let mut starts: Vec<u64> = places.iter().map(|(span, _)| span.start).collect();
        starts.sort_unstable();
        let mut holes = Self::around(places, size);
        let known = |hole: &Hole| {
            let before = starts.partition_point(|start| *start <= hole.span.start);
            before == 0 || !unknown.contains(&starts[before - 1])
        };
        if !unknown.is_empty() {
            holes.between.retain(known);
            holes.behind.retain(known);
        }
        holes
    }

    /// Returns the holes that `places` leave in `size` bytes. A bit-field's place includes the size of its
    /// storage unit in bits.
    fn around(mut places: Vec<(Span, Option<u64>)>, size: u64) -> Self {
        places.sort_unstable_by_key(|(span, _)| *span);
        let mut holes = Holes::default();
        let mut at = 0;
        // End of the previous bit-field's storage unit; 0 if the previous member is no bit-field.
        let mut unit_end = 0;
        for (span, unit) in places {
            split(at, span.start, unit_end, &mut holes.between);
            if span.end > at {
                holes.used += span.bits().min(span.end - at);
                at = span.end;
                unit_end = unit.map_or(0, |bits| span.start / bits * bits + bits);
            }
        }
        split(at, size * 8, unit_end, &mut holes.behind);
        holes
    }

    /// Returns the total size in bytes of the whole-byte holes between members.
    pub fn bytes(&self) -> u64 {
        bytes(&self.between)
    }

    /// Returns the total size in bits of the holes between members that are counted in bits.
    pub fn bits(&self) -> u64 {
        bits(&self.between)
    }

    /// Returns the whole bytes after the last member.
    pub fn padding(&self) -> u64 {
        bytes(&self.behind)
    }

    /// Returns the bits after the last bit-field.
    pub fn bit_padding(&self) -> u64 {
        bits(&self.behind)
    }

    /// Returns the number of whole-byte holes between members, and of holes counted in bits.
    pub fn counts(&self) -> (usize, usize) {
        let in_bits = self.between.iter().filter(|hole| hole.in_bits).count();
        (self.between.len() - in_bits, in_bits)
    }
}

/// Adds the gap between two members: the rest of a bit-field's storage unit as bits, and what follows as
/// bytes.
fn split(start: u64, end: u64, unit_end: u64, holes: &mut Vec<Hole>) {
    // Bits up to the next byte boundary count as bits even without a storage unit.
    let border = unit_end.max(start.next_multiple_of(8)).clamp(start, end.max(start));
    for (start, end, in_bits) in [(start, border, true), (border, end, false)] {
        if start < end {
            let span = Span { start, end };
            holes.push(Hole { span, in_bits });
        }
    }
}

fn bytes(holes: &[Hole]) -> u64 {
    holes.iter().filter(|hole| !hole.in_bits).map(|hole| hole.span.bytes()).sum()
}

fn bits(holes: &[Hole]) -> u64 {
    holes.iter().filter(|hole| hole.in_bits).map(|hole| hole.span.bits()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(places: &[(u64, u64)], size: u64) -> Holes {
        let spans = places.iter().map(|&(at, bytes)| Span::of_bytes(at, bytes));
        Holes::around(spans.map(|span| (span, None)).collect(), size)
    }

    #[test]
    fn figure_6_3() {
        let holes = whole(&[(0, 4), (8, 56), (64, 4)], 72);
        assert_eq!((holes.counts(), holes.bytes()), ((1, 0), 4));
        assert_eq!(holes.between[0].span, Span::of_bytes(4, 4));
        assert_eq!((holes.padding(), holes.used), (4, 64 * 8));
    }

    #[test]
    fn an_order_has_57_bytes_of_members_and_a_hole_of_7() {
        let holes = whole(&[(0, 8), (8, 1), (16, 40), (56, 8)], 64);
        assert_eq!((holes.used / 8, holes.bytes(), holes.padding()), (57, 7, 0));
    }

    #[test]
    fn a_union_has_no_holes_and_what_its_largest_member_leaves_is_padding() {
        let holes = whole(&[(0, 4), (0, 9), (0, 1)], 12);
        assert_eq!((holes.used, holes.bytes(), holes.padding()), (72, 0, 3));
    }

    #[test]
    fn the_rest_of_a_storage_unit_is_counted_in_bits() {
        // unsigned a:3; int b;
        let field = (Span { start: 0, end: 3 }, Some(32));
        let holes = Holes::around(vec![field, (Span::of_bytes(4, 4), None)], 8);
        assert_eq!((holes.counts(), holes.bits()), ((0, 1), 29));
        // unsigned char a:3; int b;
        let field = (Span { start: 0, end: 3 }, Some(8));
        let holes = Holes::around(vec![field, (Span::of_bytes(4, 4), None)], 8);
        assert_eq!((holes.counts(), holes.bits(), holes.bytes()), ((1, 1), 5, 3));
        // unsigned a:3; as the last member.
        let field = (Span { start: 0, end: 3 }, Some(32));
        let holes = Holes::around(vec![field], 4);
        assert_eq!((holes.bit_padding(), holes.padding()), (29, 0));
    }

    #[test]
    fn what_lies_inside_another_member_ends_no_hole() {
        // A base class of 8 bytes. One of its last 3 bytes holds a member of the derived class.
        let holes = whole(&[(0, 8), (5, 1)], 12);
        assert_eq!((holes.used, holes.bytes(), holes.padding()), (64, 0, 4));
    }

    #[test]
    fn an_enumeration_without_enumerators_is_used_whole() {
        use super::super::aggregate::planted::structure;
        let id = Aggregate { kind: Kind::Enum, ..structure("Id", 8, Vec::new()) };
        let holes = Holes::of(&id);
        assert_eq!((holes.used / 8, holes.padding()), (8, 0));
    }

    #[test]
    fn what_lies_behind_a_member_of_unknown_size_is_no_hole() {
        use super::super::aggregate::planted::member;
        let mut file = member("file", 8, 0);
        file.size_unknown = true;
        let members = [member("c", 0, 1), file.clone(), member("n", 520, 4)];
        let holes = Holes::between(&members, 528);
        assert_eq!((holes.used / 8, holes.bytes(), holes.padding()), (5, 7, 4));
        let holes = Holes::between(&members[..2], 528);
        assert_eq!((holes.bytes(), holes.padding()), (7, 0));
        // A union with such a member.
        file.span = Some(Span::of_bytes(0, 0));
        let holes = Holes::between(&[member("n", 0, 4), file], 512);
        assert_eq!((holes.bytes(), holes.padding()), (0, 0));
    }

    proptest! {
        #[test]
        fn members_and_holes_add_up_to_the_size(
            places in proptest::collection::vec((0_u64..60, 0_u64..20, 0_usize..4), 0..12),
            size in 80_u64..100,
        ) {
            const UNITS: [Option<u64>; 4] = [None, Some(8), Some(16), Some(32)];
            let places: Vec<(Span, Option<u64>)> = places
                .into_iter()
                .map(|(at, length, unit)| match UNITS[unit] {
                    None => (Span::of_bytes(at, length), None),
                    unit => (Span { start: at * 8, end: at * 8 + length % 9 }, unit),
                })
                .collect();
            let holes = Holes::around(places.clone(), size);
            let unused = 8 * (holes.bytes() + holes.padding()) + holes.bits() + holes.bit_padding();
            prop_assert_eq!(holes.used + unused, size * 8);
            for hole in holes.between.iter().chain(&holes.behind) {
                prop_assert!(hole.in_bits || hole.span.start % 8 == 0);
                for (span, _) in &places {
                    let overlap = span.start.max(hole.span.start) < span.end.min(hole.span.end);
                    prop_assert!(!overlap, "{:?} in {:?}", span, hole);
                }
            }
        }
    }
}
