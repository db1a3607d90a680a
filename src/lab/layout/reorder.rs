//! Computes what a type would gain from another order of its members.

use crate::order;

use super::order::{Frame, Piece, Placed, best, place, straddling};
use super::{Aggregate, Kind, Language, Member, Role};

/// The result of the search for a better order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reorder {
    Better(Box<Better>),
    /// The reason why there is no better order, or why none was searched for.
    No(&'static str),
}

/// A better order of a type's members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Better {
    /// The type with its members in the better order.
    pub aggregate: Aggregate,
    /// Bytes saved.
    pub bytes: u64,
    /// Lines saved, if the type starts at a line boundary.
    pub lines: u64,
    /// Number of members that no longer cross a line boundary.
    pub unsplit: usize,
}

const BEST: &str = "no other order of the members is smaller";
const BEST_BITS: &str =
    "no other order of the members is smaller, with adjacent bit-fields kept together";
const BEST_RUST: &str =
    "no other order of the members is smaller: the compiler chooses it, but for #[repr(C)]";

/// Maximum number of members to reorder. The time for it grows with the square of this number.
const MOST_MEMBERS: usize = 2000;

impl Reorder {
    /// Searches for a better order of the members of `aggregate`, for lines of `line` bytes.
    pub fn of(aggregate: &Aggregate, line: u64) -> Self {
        match aggregate.kind {
            Kind::Union => return Reorder::No("the members of a union lie on each other"),
            Kind::Enum if aggregate.language == Language::Rust => {
                return Reorder::No("the compiler chooses the order inside a Rust enum");
            }
            Kind::Enum => return Reorder::No("an enumeration has no members"),
            Kind::Struct | Kind::Class => {}
        }
        if aggregate.vague {
            return Reorder::No("a type inside has a size that is not in this debug information");
        }
        if aggregate.packed {
            return Reorder::No("it is packed");
        }
        let movable = aggregate.members.iter().filter(|one| one.role == Role::Field).count();
        if movable < 2 {
            return Reorder::No("fewer than two members can move");
        }
        if movable > MOST_MEMBERS {
            return Reorder::No("it has so many members that no order was looked for");
        }
        let Some(plan) = Plan::of(aggregate) else {
            return Reorder::No("its members lie where no known rule puts them");
        };
        let given: Vec<usize> = (0..plan.pieces.len()).collect();
        let now = place(&plan.pieces, &given, plan.frame);
        let (order, placed) = best(&plan.pieces, plan.fixed, plan.frame, line);
        let fewer = straddling(&now, line).saturating_sub(straddling(&placed, line));
        if placed.size >= aggregate.size && fewer == 0 {
            return Reorder::No(match aggregate.language {
                Language::Rust => BEST_RUST,
                Language::C | Language::Cpp if plan.members.iter().any(|of| of.len() > 1) => {
                    BEST_BITS
                }
                Language::C | Language::Cpp => BEST,
            });
        }
        Reorder::Better(Box::new(Better {
            bytes: aggregate.size - placed.size,
            lines: aggregate.size.div_ceil(line) - placed.size.div_ceil(line),
            unsplit: fewer,
            aggregate: plan.rearranged(aggregate, &order, placed),
        }))
    }
}

/// The members of a type as pieces that can be reordered.
struct Plan {
    frame: Frame,
    pieces: Vec<Piece>,
    /// The members of each piece, by index in the definition.
    members: Vec<Vec<usize>>,
    /// Number of pieces at the end that must stay there.
    fixed: usize,
    /// Members at the front that cannot move.
    pinned: Vec<usize>,
}

impl Plan {
    /// Returns the plan of a type. `None` if the rules of [`place`] do not reproduce the compiler's layout.
    fn of(aggregate: &Aggregate) -> Option<Self> {
        // Members are ordered by address, because the Rust compiler may have reordered them.
        let mut places: Vec<usize> = (0..aggregate.members.len()).collect();
        order::by_key(&mut places, |&index| aggregate.members[index].span);
        let member = |index: &usize| &aggregate.members[*index];
        let (movable, pinned): (Vec<usize>, Vec<usize>) =
            places.into_iter().partition(|index| matches!(member(index).role, Role::Field));
        if pinned.iter().any(|index| member(index).role == Role::VirtualBase) {
            return None;
        }
        let first = movable.first().and_then(|index| member(index).span)?;
        let front = pinned.iter().filter_map(|index| member(index).span);
        // A member of a derived class may lie in the tail padding of the base class.
        let front = front.map(|span| span.end).max().unwrap_or(0).min(first.start);
        let mut plan = Plan {
            frame: Frame { front, align: aggregate.align },
            pieces: Vec::new(),
            members: Vec::new(),
            fixed: 0,
            pinned,
        };
        for index in movable {
            plan.add(index, member(&index))?;
        }
        let open = |members: &Vec<usize>| members.iter().any(|index| member(index).open_ended());
        plan.fixed = plan.members.iter().rev().take_while(|m| open(m)).count();
        plan.agrees(aggregate).then_some(plan)
    }

    fn add(&mut self, index: usize, member: &Member) -> Option<()> {
        let span = member.span?;
        match (member.unit, self.pieces.last_mut()) {
            (Some(unit), Some(Piece::Fields(fields))) => {
                fields.push((span.bits(), unit));
                self.members.last_mut()?.push(index);
            }
            (Some(unit), _) => {
                self.pieces.push(Piece::Fields(vec![(span.bits(), unit)]));
                self.members.push(vec![index]);
            }
            (None, _) => {
                self.pieces.push(Piece::Whole { size: span.bytes(), align: member.align.max(1) });
                self.members.push(vec![index]);
            }
        }
        Some(())
    }

    /// Returns whether the rules of [`place`] give the actual places of the members.
    fn agrees(&self, aggregate: &Aggregate) -> bool {
        let order: Vec<usize> = (0..self.pieces.len()).collect();
        let placed = place(&self.pieces, &order, self.frame);
        let found = self.members.iter().flatten().zip(placed.spans.iter().flatten());
        placed.size == aggregate.size
            && found.into_iter().all(|(&index, span)| aggregate.members[index].span == Some(*span))
    }

    fn rearranged(&self, from: &Aggregate, order: &[usize], placed: Placed) -> Aggregate {
        let front = self.pinned.iter().map(|&index| from.members[index].clone());
        let moved = order.iter().flat_map(|&piece| &self.members[piece]);
        let moved = moved.zip(placed.spans.into_iter().flatten());
        let moved =
            moved.map(|(&index, span)| Member { span: Some(span), ..from.members[index].clone() });
        Aggregate { size: placed.size, members: front.chain(moved).collect(), ..from.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::aggregate::planted::{bits, member, structure};
    use super::*;

    fn better(aggregate: &Aggregate) -> Better {
        match Reorder::of(aggregate, 64) {
            Reorder::Better(better) => *better,
            Reorder::No(why) => panic!("{why}"),
        }
    }

    fn refused(aggregate: &Aggregate) -> &'static str {
        match Reorder::of(aggregate, 64) {
            Reorder::Better(better) => panic!("{better:?}"),
            Reorder::No(why) => why,
        }
    }

    fn places(aggregate: &Aggregate) -> Vec<(&str, u64)> {
        let members = aggregate.members.iter();
        members.map(|member| (member.label(), member.span.unwrap().offset())).collect()
    }

    /// The structure of Figure 6.3.
    fn foo() -> Aggregate {
        let mut fill = member("fill", 8, 56);
        fill.elements = vec![7];
        structure("foo", 72, vec![member("a", 0, 4), fill, member("b", 64, 4)])
    }

    #[test]
    fn figure_6_3_saves_8_bytes_and_a_line() {
        let better = better(&foo());
        assert_eq!((better.bytes, better.lines), (8, 1));
        assert_eq!(better.aggregate.size, 64);
        assert_eq!(places(&better.aggregate), [("a", 0), ("b", 4), ("fill", 8)]);
    }

    #[test]
    fn the_better_order_is_as_good_as_it_gets() {
        let once = better(&foo()).aggregate;
        assert_eq!(refused(&once), BEST);
        let rust = Aggregate { language: Language::Rust, ..once };
        assert_eq!(refused(&rust), BEST_RUST);
    }

    #[test]
    fn base_classes_and_open_ends_stay() {
        let mut base = member("base", 0, 12);
        base.role = Role::Base;
        let mut tail = member("tail", 32, 0);
        tail.elements = vec![0];
        let members = vec![base, member("c", 12, 1), member("l", 16, 8), member("d", 24, 1), tail];
        let better = better(&structure("s", 32, members));
        let order = [("base", 0), ("c", 12), ("d", 13), ("l", 16), ("tail", 24)];
        assert_eq!(places(&better.aggregate), order);
        assert_eq!(better.bytes, 8);
    }

    #[test]
    fn bit_fields_move_together() {
        let members =
            vec![member("a", 0, 1), member("l", 8, 8), bits("x", 128, 3, 4), bits("y", 131, 5, 4)];
        let better = better(&structure("s", 24, members));
        let order = [("a", 0), ("x", 1), ("y", 1), ("l", 8)];
        assert_eq!(places(&better.aggregate), order);
        assert_eq!(better.aggregate.size, 16);
    }

    #[test]
    fn bit_fields_that_stay_together_are_told() {
        let members = vec![bits("x", 0, 31, 4), bits("y", 32, 2, 4), member("a", 5, 1)];
        let kept = structure("s", 8, members);
        assert_eq!(refused(&kept), BEST_BITS);
    }

    #[test]
    fn what_has_no_other_order_says_why() {
        let union = Aggregate { kind: Kind::Union, ..foo() };
        assert!(refused(&union).contains("union"));
        let packed = Aggregate { packed: true, ..foo() };
        assert!(refused(&packed).contains("packed"));
        let one = structure("s", 8, vec![member("a", 0, 8)]);
        assert!(refused(&one).contains("fewer than two members"));
        // A zero-width bit-field, `int :0`, is missing from debug information. It moves `b` further than any
        // rule.
        let odd = structure("s", 12, vec![member("a", 0, 1), member("b", 8, 4)]);
        assert!(refused(&odd).contains("no known rule"));
    }
}
