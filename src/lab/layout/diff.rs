//! Compares the types of two binaries.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Serialize;

use super::name::Wanted;
use super::{Aggregate, Binary, Member, Summary};
use crate::lab::size::counted;
use crate::order;

/// The part of a type's layout that is compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shape {
    /// Size in bytes.
    pub size: u64,
    /// Number of lines that the type touches if it starts at a line boundary.
    pub lines: u64,
    /// Bytes of the holes between members.
    pub holes: u64,
    /// Bytes after the last member.
    pub padding: u64,
    #[serde(skip)]
    members: Vec<Placed>,
}

/// A member's name and place: its first bit and its number of bits. The place of a virtual base is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Placed {
    name: String,
    place: Option<[u64; 2]>,
}

/// A member whose place changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Moved {
    pub member: String,
    /// First bit and number of bits before; `None` if the member did not exist or has no fixed place.
    pub before: Option<[u64; 2]>,
    /// First bit and number of bits after; `None` if the member no longer exists or has no fixed place.
    pub after: Option<[u64; 2]>,
}

/// A type whose layout changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    #[serde(rename = "type")]
    pub path: String,
    /// The layouts before that do not occur after. A type may have several definitions.
    pub before: Vec<Shape>,
    /// The layouts after that did not occur before.
    pub after: Vec<Shape>,
    /// The members that changed, if there is exactly one such layout on each side.
    pub members: Vec<Moved>,
}

/// The differences between the types of two binaries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Diff {
    /// Types whose layout changed, the largest change of size first.
    pub changed: Vec<Change>,
    /// Types that only the first binary has.
    pub removed: Vec<String>,
    /// Types that only the second binary has.
    pub added: Vec<String>,
    /// Number of types that both binaries have with the same layouts.
    pub same: usize,
}

/// Adds the place of a member of a type at byte `base`, and those of the members of its type if that has no
/// name and thus no entry of its own. For an array, these are the members of its first element.
fn member_places(places: &mut Vec<Placed>, prefix: &str, base: u64, member: &Member) {
    let span = member.span.map(|span| span.moved(base));
    places.push(Placed {
        name: format!("{prefix}{}", member.label()),
        place: span.map(|span| [span.start, span.bits()]),
    });
    if let (Some(inner), Some(span)) = (member.unnamed(), span) {
        let prefix = match &member.name {
            Some(name) => format!("{prefix}{name}."),
            None => prefix.to_owned(),
        };
        for one in inner.used() {
            member_places(places, &prefix, span.offset(), one);
        }
    }
}

impl Shape {
    fn of(aggregate: &Aggregate, line: u64) -> Shape {
        let summary = Summary::of(aggregate, line);
        let mut members = Vec::new();
        let mut add = |prefix: &str, of: &[Member]| {
            of.iter().for_each(|member| member_places(&mut members, prefix, 0, member));
        };
        add("", &aggregate.members);
        for variant in &aggregate.variants {
            add(&format!("{}.", variant.name), &variant.members);
        }
        Shape {
            size: summary.size,
            lines: summary.lines,
            holes: summary.hole_bytes,
            padding: summary.padding,
            members,
        }
    }

    /// Returns the members whose place differs between this shape and `after`.
    fn moved(&self, after: &Shape) -> Vec<Moved> {
        let mut new: Vec<&Placed> = after.members.iter().collect();
        let mut moved = Vec::new();
        for old in &self.members {
            // Members without a name may share a label, so each match is used once.
            let found = new.iter().position(|placed| placed.name == old.name);
            let found = found.map(|place| new.remove(place));
            if found.is_none_or(|found| found.place != old.place) {
                moved.push(Moved {
                    member: old.name.clone(),
                    before: old.place,
                    after: found.and_then(|found| found.place),
                });
            }
        }
        moved.extend(new.into_iter().map(|placed| Moved {
            member: placed.name.clone(),
            before: None,
            after: placed.place,
        }));
        moved
    }
}

impl Change {
    /// Returns the absolute change of size in bytes; 0 if there are several layouts on a side.
    fn growth(&self) -> u64 {
        match (&self.before[..], &self.after[..]) {
            ([before], [after]) => before.size.abs_diff(after.size),
            _ => 0,
        }
    }

    /// Formats the change: a line with the numbers of the type, then a line per member.
    pub fn text(&self) -> String {
        let (before, after) = match (&self.before[..], &self.after[..]) {
            ([before], [after]) => (before, after),
            (before, after) => {
                return format!(
                    "{}: {} definitions became {}, so that they cannot be told apart\n",
                    self.path,
                    before.len(),
                    after.len()
                );
            }
        };
        let number = |what: &str, before: u64, after: u64| match before == after {
            true => format!("{what} {after}"),
            false => format!("{what} {before} -> {after}"),
        };
        let mut text = format!(
            "{}: {}, {}, {}, {}\n",
            self.path,
            number("size", before.size, after.size),
            number("lines", before.lines, after.lines),
            number("holes", before.holes, after.holes),
            number("padding", before.padding, after.padding)
        );
        for Moved { member, before, after } in &self.members {
            let place = |[first, bits]: [u64; 2]| {
                let at = match first % 8 {
                    0 => format!("{}", first / 8),
                    bit => format!("{}.{bit}", first / 8),
                };
                match bits % 8 {
                    0 => (at, format!("{} bytes", bits / 8)),
                    _ => (at, format!("{bits} bits")),
                }
            };
            let words = match (before.map(place), after.map(place)) {
                (Some((from, size)), Some((to, same))) if size == same => {
                    format!("offset {from} -> {to}, {size}")
                }
                (Some((from, old)), Some((to, new))) if from == to => {
                    format!("{old} -> {new}, at offset {to}")
                }
                (Some((from, old)), Some((to, new))) => {
                    format!("offset {from} -> {to}, {old} -> {new}")
                }
                (Some((from, size)), None) => format!("gone from offset {from}, {size}"),
                (None, Some((to, size))) => format!("new at offset {to}, {size}"),
                (None, None) => "without a place of its own".to_owned(),
            };
            text += &format!("    {member}: {words}\n");
        }
        text
    }
}

impl Diff {
    /// Compares all types of two binaries, or the types that `names` match, for lines of `line` bytes.
    ///
    /// # Errors
    /// If a glob is invalid, one of the binaries has no matching type, or debug information is damaged.
    pub fn of(first: &Binary, second: &Binary, names: &[String], line: u64) -> Result<Diff> {
        let wanted = Wanted::all(names)?;
        let shapes = |binary: &Binary| -> Result<BTreeMap<String, Vec<Shape>>> {
            let all = binary.with(|types| types.all(&wanted, |of| Shape::of(of, line)))?;
            let mut shapes: BTreeMap<String, Vec<Shape>> = BTreeMap::new();
            for (path, shape) in all {
                shapes.entry(path).or_default().push(shape);
            }
            Ok(shapes)
        };
        let (mut before, after) = (shapes(first)?, shapes(second)?);
        let mut diff = Diff::default();
        for (path, after) in after {
            let Some(before) = before.remove(&path) else {
                diff.added.push(path);
                continue;
            };
            let lacks = |all: &[Shape], of: &[Shape]| -> Vec<Shape> {
                all.iter().filter(|shape| !of.contains(shape)).cloned().collect()
            };
            let (gone, new) = (lacks(&before, &after), lacks(&after, &before));
            if gone.is_empty() && new.is_empty() {
                diff.same += 1;
                continue;
            }
            let members = match (&gone[..], &new[..]) {
                ([gone], [new]) => gone.moved(new),
                _ => Vec::new(),
            };
            diff.changed.push(Change { path, before: gone, after: new, members });
        }
        diff.removed = before.into_keys().collect();
        // The sort is stable, so types with the same change remain in the order of their names.
        order::by_key(&mut diff.changed, |change| core::cmp::Reverse(change.growth()));
        Ok(diff)
    }

    /// Formats the changed types, followed by the number of other types.
    pub fn text(&self) -> String {
        let mut text: String = self.changed.iter().map(Change::text).collect();
        if !text.is_empty() {
            text += "\n";
        }
        text += &format!(
            "{} changed, {} did not; {} new, {} gone; sizes and offsets are bytes",
            counted(self.changed.len(), "type"),
            self.same,
            self.added.len(),
            self.removed.len()
        );
        text
    }
}
