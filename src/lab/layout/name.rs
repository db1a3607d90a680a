//! Matches names that a user typed with types, and field paths such as `stats[2].hits` with the fields of a
//! type.

use anyhow::{Context as _, Result, bail};
use glob::{MatchOptions, Pattern};

use super::{Aggregate, Member, Span, Variant};
use crate::spelling::distance;

/// The name of a type as the user typed it, or a glob.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// The name without the keyword.
    pub(super) text: String,
    glob: Option<Pattern>,
}

/// How well a type's path matches a name. A greater value is a better match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answer {
    /// The name is the path, or its end, without the generic arguments: `Vec` matches `alloc::vec::Vec<u8>`.
    Generic,
    /// The name is the end of the path: `Inner` matches `outer::Inner`.
    End,
    /// The name is the whole path, or is a glob that matches.
    Whole,
}

impl Wanted {
    /// Parses names or globs.
    pub fn all(names: &[String]) -> Result<Vec<Self>> {
        names.iter().map(|name| Wanted::new(name)).collect()
    }

    /// Parses a glob or a name. A leading C keyword such as `struct` is ignored.
    pub fn new(text: &str) -> Result<Self> {
        let name = text.trim();
        let name = ["struct ", "union ", "class ", "enum "]
            .iter()
            .find_map(|word| name.strip_prefix(word))
            .unwrap_or(name);
        // In the name of a type, `[` usually begins a slice such as `&[u8]`, and not a set of characters.
        let is_glob = name.contains(['*', '?']) && !pointer(name);
        let glob = is_glob.then(|| Pattern::new(&name.replace('[', "[[]"))).transpose();
        let glob = glob.with_context(|| format!("`{text}` is not a valid glob"))?;
        Ok(Wanted { text: name.to_owned(), glob })
    }

    /// Returns whether the name is a glob, which may match several types.
    pub fn is_glob(&self) -> bool {
        self.glob.is_some()
    }

    /// Returns how well `path` matches; `None` if it does not match.
    pub fn answer(&self, path: &str) -> Option<Answer> {
        if let Some(glob) = &self.glob {
            let options = MatchOptions::new();
            let whole = glob.matches_with(path, options);
            return (whole || glob.matches_with(last(path), options)).then_some(Answer::Whole);
        }
        if path == self.text {
            return Some(Answer::Whole);
        }
        if ends(path).any(|end| end == self.text) {
            return Some(Answer::End);
        }
        let bare = bare(path);
        let generic = bare != path && ends(bare).any(|end| end == self.text);
        generic.then_some(Answer::Generic)
    }

    /// Returns the edit distance between the last parts of the name and of `path`, for suggestions.
    pub fn distance(&self, path: &str) -> usize {
        let wanted = last(bare(&self.text)).to_lowercase();
        let name = last(bare(path)).to_lowercase();
        let (length, other) = (wanted.chars().count(), name.chars().count());
        // Names can be of any length, and the time for an edit distance is proportional to the product of
        // both lengths.
        let edits = if other > 2 * length + 64 { other - length } else { distance(&wanted, &name) };
        // A path that contains the name is close, but no closer than two typing errors.
        if name.contains(&wanted) && !wanted.is_empty() { edits.min(2) } else { edits }
    }
}

/// Returns whether the name is a Rust pointer, `*const T` or `*mut T`, and not a glob.
fn pointer(name: &str) -> bool {
    name.starts_with("*const ") || name.starts_with("*mut ")
}

/// Returns `path` and its suffixes after each `::` that is not inside brackets.
fn ends(path: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    let bytes = path.as_bytes();
    let starts = bytes.iter().enumerate().filter_map(move |(at, byte)| {
        match byte {
            b'<' | b'(' | b'[' | b'{' => depth += 1,
            // This `>` is part of `->`.
            b'>' if at > 0 && bytes[at - 1] == b'-' => {}
            b'>' | b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b':' if depth == 0 && at > 0 && bytes[at - 1] == b':' => return Some(at + 1),
            _ => {}
        }
        None
    });
    [0].into_iter().chain(starts).map(|start| &path[start..])
}

/// Returns the last part of a path: `Inner<a::B>` of `outer::Inner<a::B>`.
fn last(path: &str) -> &str {
    ends(path).last().unwrap_or(path)
}

/// Returns a path without the generic arguments at its end.
fn bare(path: &str) -> &str {
    let name = last(path);
    match name.find('<') {
        Some(at) if at > 0 => &path[..path.len() - name.len() + at],
        _ => path,
    }
}

impl Aggregate {
    /// Returns the place of the field that the path `words` names. The path consists of members joined by
    /// `.`, each followed by at most as many `[index]` as it has dimensions. As in the source language,
    /// members of anonymous structures and of base classes are named without their parent. Members of a Rust
    /// enum's variant follow the name of the variant.
    ///
    /// # Errors
    /// If there is no such field. If a member is not found, the message lists the members that exist.
    pub fn field(&self, words: &str) -> Result<Span> {
        let mut at = Span::of_bytes(0, self.size);
        let mut within = Some(Inside::of(self));
        let mut variant = None;
        for step in words.split('.') {
            let (name, indices) = split(step)?;
            let Some(inside) = within else {
                bail!("`{words}`: what is before `.{step}` has no members");
            };
            let (found, base) = find(inside, name).ok_or_else(|| {
                let there = names(inside).join("`, `");
                anyhow::anyhow!("`{words}`: no member `{name}`; there are `{there}`")
            })?;
            let member = match found {
                Found::Member(member) => member,
                // A variant has no place of its own. Its members lie in the enum.
                Found::Variant(of) => {
                    at = at.moved(base);
                    within = Some(Inside { members: &of.members, variants: &[] });
                    variant = Some(name);
                    if !indices.is_empty() {
                        break;
                    }
                    continue;
                }
            };
            variant = None;
            let Some(span) = member.span else {
                bail!("`{words}`: the place of `{name}` is known only when the program runs");
            };
            if member.size_unknown {
                bail!("`{words}`: the size of `{name}` is not in this debug information");
            }
            at = element(member, span.moved(base), &indices, words)?.moved(at.offset());
            let whole = indices.len() == member.elements.len();
            within = member.inner.as_deref().filter(|_| whole).map(Inside::of);
        }
        if let Some(name) = variant {
            bail!("`{words}`: `{name}` is a variant; name a field of it, `{name}.FIELD`");
        }
        Ok(at)
    }
}

/// The members and variants of a type, or the members of a variant.
#[derive(Clone, Copy)]
struct Inside<'a> {
    members: &'a [Member],
    variants: &'a [Variant],
}

impl<'a> Inside<'a> {
    fn of(aggregate: &'a Aggregate) -> Self {
        Inside { members: &aggregate.members, variants: &aggregate.variants }
    }
}

enum Found<'a> {
    Member(&'a Member),
    Variant(&'a Variant),
}

/// Finds a member or variant by name, also inside members without a name. Returns it with the offset of its
/// parent in bytes.
fn find<'a>(inside: Inside<'a>, name: &str) -> Option<(Found<'a>, u64)> {
    let mut members = inside.members.iter();
    if let Some(member) = members.clone().find(|member| member.name.as_deref() == Some(name)) {
        return Some((Found::Member(member), 0));
    }
    let below = members.find_map(|member| {
        let inner = member.inner.as_deref().filter(|_| member.name.is_none())?;
        let (found, base) = find(Inside::of(inner), name)?;
        Some((found, base + member.span?.offset()))
    });
    below.or_else(|| {
        let variant = inside.variants.iter().find(|variant| variant.name == name)?;
        Some((Found::Variant(variant), 0))
    })
}

/// Returns the names that [`find`] accepts.
fn names(inside: Inside<'_>) -> Vec<&str> {
    let members = inside.members.iter().flat_map(|member| {
        match (member.name.as_deref(), member.inner.as_deref()) {
            (Some(name), _) => vec![name],
            (None, Some(inner)) => names(Inside::of(inner)),
            (None, None) => Vec::new(),
        }
    });
    let variants = inside.variants.iter().map(|variant| &*variant.name);
    members.chain(variants).collect()
}

/// Splits `stats[2][3]` into its name and its indices.
fn split(step: &str) -> Result<(&str, Vec<u64>)> {
    let (name, rest) = step.split_at(step.find('[').unwrap_or(step.len()));
    let mut indices = Vec::new();
    for part in rest.split_terminator(']') {
        match part.strip_prefix('[').map(str::parse) {
            Some(Ok(index)) => indices.push(index),
            _ => {
                bail!("`{step}` is not a field; write fields as `name`, `name[2]` or `outer.inner`")
            }
        }
    }
    Ok((name, indices))
}

/// Returns the place of the element of `member` at these indices.
fn element(member: &Member, mut span: Span, indices: &[u64], words: &str) -> Result<Span> {
    if indices.len() > member.elements.len() {
        bail!(
            "`{words}`: `{}` has {} dimensions, not {}",
            member.label(),
            member.elements.len(),
            indices.len()
        );
    }
    for (index, count) in indices.iter().zip(&member.elements) {
        if index >= count {
            bail!("`{words}`: `{}` has no element {index}: {count} there", member.label());
        }
        let bits = span.bits() / count;
        span.start += index * bits;
        span.end = span.start + bits;
    }
    Ok(span)
}

#[cfg(test)]
mod tests {
    use super::super::aggregate::planted::{inner, member, structure};
    use super::*;

    fn answer(wanted: &str, path: &str) -> Option<Answer> {
        Wanted::new(wanted).unwrap().answer(path)
    }

    #[test]
    fn a_name_is_a_path_or_the_end_of_one() {
        assert_eq!(answer("foo", "foo"), Some(Answer::Whole));
        assert_eq!(answer("struct foo", "foo"), Some(Answer::Whole));
        assert_eq!(answer("Inner", "a::b::Inner"), Some(Answer::End));
        assert_eq!(answer("b::Inner", "a::b::Inner"), Some(Answer::End));
        assert_eq!(answer("nner", "a::b::Inner"), None);
        assert_eq!(answer("Vec", "alloc::vec::Vec<u8>"), Some(Answer::Generic));
        assert_eq!(answer("Vec<u8>", "alloc::vec::Vec<u8>"), Some(Answer::End));
        assert_eq!(answer("String", "Option<alloc::string::String>"), None);
        assert_eq!(answer("(u8, u32)", "(u8, u32)"), Some(Answer::Whole));
        assert_eq!(answer("F", "a::Call<fn(u8) -> b::C>::F"), Some(Answer::End));
    }

    #[test]
    fn a_glob_matches_the_whole_path_or_its_last_part() {
        assert_eq!(answer("fo*", "foo"), Some(Answer::Whole));
        assert_eq!(answer("Vec<*>", "alloc::vec::Vec<u8>"), Some(Answer::Whole));
        assert_eq!(answer("alloc::*", "alloc::vec::Vec<u8>"), Some(Answer::Whole));
        assert_eq!(answer("fo*", "x::bar"), None);
        assert_eq!(answer("*[u8]", "&[u8]"), Some(Answer::Whole));
        assert_eq!(answer("*const u8", "xconst u8"), None);
    }

    #[test]
    fn the_nearest_spelling_is_the_one_that_was_meant() {
        let nearest = |wanted: &str, paths: [&'static str; 3]| {
            let wanted = Wanted::new(wanted).unwrap();
            paths.into_iter().min_by_key(|path| wanted.distance(path)).unwrap()
        };
        assert_eq!(nearest("ordr", ["foo", "order", "node"]), "order");
        assert_eq!(nearest("Strng", ["a::Node", "b::String", "c::Str<u8>"]), "b::String");
        assert_eq!(
            nearest("order", ["ordinal", "x", "purchase_order_line"]),
            "purchase_order_line"
        );
    }

    /// `struct { long head; struct { int x; int y[3]; } at[2]; struct { char tag; }; }`.
    fn sample() -> Aggregate {
        let point = structure("point", 16, vec![member("x", 0, 4), array("y", 4, 12, 3)]);
        let anonymous = structure("", 1, vec![member("tag", 0, 1)]);
        let mut at = inner("at", 8, 32, point);
        at.elements = vec![2];
        let mut tail = inner("", 40, 1, anonymous);
        tail.name = None;
        structure("sample", 48, vec![member("head", 0, 8), at, tail])
    }

    fn array(name: &str, offset: u64, size: u64, count: u64) -> Member {
        Member { elements: vec![count], ..member(name, offset, size) }
    }

    #[test]
    fn fields_are_found_where_they_lie() {
        let sample = sample();
        for (words, offset, size) in [
            ("head", 0, 8),
            ("at", 8, 32),
            ("at[1]", 24, 16),
            ("at[1].x", 24, 4),
            ("at[0].y[2]", 20, 4),
            ("tag", 40, 1),
        ] {
            assert_eq!(sample.field(words).unwrap(), Span::of_bytes(offset, size), "{words}");
        }
    }

    /// `struct { long id; Shape shape[2]; union { Shape; } }` with the enum `Shape { Circle { x, y } }`.
    #[test]
    fn fields_of_a_variant_are_found_inside_members() {
        let mut shape = structure("Shape", 16, Vec::new());
        shape.variants = vec![Variant {
            name: "Circle".to_owned(),
            value: None,
            members: vec![member("x", 4, 4), array("y", 8, 8, 2)],
        }];
        let mut shapes = inner("shape", 8, 32, shape.clone());
        shapes.elements = vec![2];
        let mut nameless = inner("", 40, 16, shape);
        nameless.name = None;
        let all = structure("all", 56, vec![member("id", 0, 8), shapes, nameless]);
        for (words, offset) in
            [("shape[0].Circle.x", 12), ("shape[1].Circle.y[1]", 36), ("Circle.x", 44)]
        {
            assert_eq!(all.field(words).unwrap(), Span::of_bytes(offset, 4), "{words}");
        }
        let error = all.field("shape[0].Circle").unwrap_err().to_string();
        assert!(error.contains("`Circle` is a variant"), "{error}");
    }

    #[test]
    fn what_is_no_field_is_named_with_what_there_is() {
        let sample = sample();
        for (words, says) in [
            ("tail", "`head`, `at`, `tag`"),
            ("at[2]", "no element 2: 2 there"),
            ("at[0][1]", "1 dimensions, not 2"),
            ("at.x", "has no members"),
            ("head.x", "has no members"),
            ("at[one]", "`name[2]`"),
        ] {
            let error = sample.field(words).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
