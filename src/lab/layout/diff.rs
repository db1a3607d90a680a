//! What became of the types of a binary in another one.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Serialize;

use super::name::Wanted;
use super::{Aggregate, Binary, Member, Summary};
use crate::order;

/// How a type lies in memory, as far as it is compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shape {
    /// Bytes.
    pub size: u64,
    /// Lines that it touches if it starts on one.
    pub lines: u64,
    /// Bytes of the holes between members.
    pub holes: u64,
    /// Bytes behind the last member.
    pub padding: u64,
    #[serde(skip)]
    members: Vec<Placed>,
}

/// A member: its name, the first bit and how many there are; nothing where the program decides it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Placed {
    name: String,
    place: Option<[u64; 2]>,
}

/// What became of a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Moved {
    /// Its name.
    pub member: String,
    /// First bit and number of bits before; `None` if it was not there, or has no place.
    pub before: Option<[u64; 2]>,
    /// The same afterwards.
    pub after: Option<[u64; 2]>,
}

/// A type that lies differently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Its name.
    #[serde(rename = "type")]
    pub path: String,
    /// How it lay; the definitions that changed, if there are several.
    pub before: Vec<Shape>,
    /// How it lies.
    pub after: Vec<Shape>,
    /// What became of its members, if either has one definition that changed.
    pub members: Vec<Moved>,
}

/// What became of all types.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Diff {
    /// The types that lie differently, the largest change of size first.
    pub changed: Vec<Change>,
    /// Types that the first binary alone has.
    pub removed: Vec<String>,
    /// Types that the second alone has.
    pub added: Vec<String>,
    /// How many types both have that did not change.
    pub same: usize,
}

impl Shape {
    fn of(aggregate: &Aggregate, line: u64) -> Shape {
        let summary = Summary::of(aggregate, line);
        let place = |member: &Member| member.span.map(|span| [span.start, span.bits()]);
        let mut members = Vec::new();
        let mut add = |prefix: &str, member: &Member| {
            members.push(Placed {
                name: format!("{prefix}{}", member.label()),
                place: place(member),
            });
        };
        aggregate.members.iter().for_each(|member| add("", member));
        for variant in &aggregate.variants {
            let prefix = format!("{}.", variant.name);
            variant
                .members
                .iter()
                .for_each(|member| add(&prefix, member));
        }
        Shape {
            size: summary.size,
            lines: summary.lines,
            holes: summary.hole_bytes,
            padding: summary.padding,
            members,
        }
    }

    /// The members whose place changed between this shape and `after`.
    fn moved(&self, after: &Shape) -> Vec<Moved> {
        let mut new: Vec<&Placed> = after.members.iter().collect();
        let mut moved = Vec::new();
        for old in &self.members {
            // The first of its name: members without one have the same.
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
    /// By how many bytes its size differs.
    fn growth(&self) -> u64 {
        match (&self.before[..], &self.after[..]) {
            ([before], [after]) => before.size.abs_diff(after.size),
            _ => 0,
        }
    }

    /// It in words: a line of numbers, and one a member.
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
        for Moved {
            member,
            before,
            after,
        } in &self.members
        {
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
    /// Compares the types of two binaries, or those of these names, on lines of `line` bytes.
    ///
    /// # Errors
    /// If a glob is broken, a name means no type in either, or debug information is damaged.
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
                let new = all.iter().filter(|shape| !of.contains(shape));
                new.cloned().collect()
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
            diff.changed.push(Change {
                path,
                before: gone,
                after: new,
                members,
            });
        }
        diff.removed = before.into_keys().collect();
        // Stable: types of the same change stay in the order of their names.
        order::by_key(&mut diff.changed, |change| {
            core::cmp::Reverse(change.growth())
        });
        Ok(diff)
    }

    /// The changed types, and how many others there are.
    pub fn text(&self) -> String {
        let mut text: String = self.changed.iter().map(Change::text).collect();
        if !text.is_empty() {
            text += "\n";
        }
        text += &format!(
            "{} types changed, {} did not; {} are new, {} are gone; sizes and offsets are bytes",
            self.changed.len(),
            self.same,
            self.added.len(),
            self.removed.len()
        );
        text
    }
}
