//! A field of a type by the words of a program: `stats[2].hits`.

use anyhow::{Result, bail};

use super::{Aggregate, Member, Span};

impl Aggregate {
    /// Where the field lies that `words` name: members joined by `.`, each with as many `[index]`
    /// as it has dimensions or fewer. Members of anonymous structures and of base classes are
    /// named as the program names them, without what surrounds them; members of a Rust enum's
    /// variant behind the variant's name.
    ///
    /// # Errors
    /// If there is no such field: with those that there are.
    pub fn field(&self, words: &str) -> Result<Span> {
        let mut at = Span::of_bytes(0, self.size);
        let mut within = Some(self);
        for step in words.split('.') {
            let (name, indices) = split(step)?;
            let Some(aggregate) = within else {
                bail!("`{words}`: what is before `.{step}` has no members");
            };
            let (member, base) = find(aggregate, name).ok_or_else(|| {
                let there = names(aggregate).join("`, `");
                anyhow::anyhow!("`{words}`: no member `{name}`; there are `{there}`")
            })?;
            let Found::Member(member) = member else {
                // A variant has no place of its own: its members lie in the enum.
                return variant(aggregate, words, name);
            };
            let Some(span) = member.span else {
                bail!("`{words}`: the place of `{name}` is known only when the program runs");
            };
            at = element(member, span.moved(base), &indices, words)?.moved(at.offset());
            let whole = indices.len() == member.elements.len();
            within = member.inner.as_deref().filter(|_| whole);
        }
        Ok(at)
    }
}

enum Found<'a> {
    Member(&'a Member),
    Variant,
}

/// The member of this name and the bytes before its parent, through parents without a name.
fn find<'a>(aggregate: &'a Aggregate, name: &str) -> Option<(Found<'a>, u64)> {
    for member in &aggregate.members {
        if member.name.as_deref() == Some(name) {
            return Some((Found::Member(member), 0));
        }
    }
    for member in aggregate
        .members
        .iter()
        .filter(|member| member.name.is_none())
    {
        let (Some(inner), Some(span)) = (member.inner.as_deref(), member.span) else {
            continue;
        };
        if let Some((found, base)) = find(inner, name) {
            return Some((found, base + span.offset()));
        }
    }
    let variants = &aggregate.variants;
    let variant = variants.iter().find(|variant| variant.name == name);
    variant.map(|_| (Found::Variant, 0))
}

/// A field inside a variant: `Circle.radius`.
fn variant(aggregate: &Aggregate, words: &str, name: &str) -> Result<Span> {
    let found = aggregate
        .variants
        .iter()
        .find(|variant| variant.name == name);
    let rest = words.split_once('.').filter(|(first, _)| *first == name);
    let (Some(found), Some((_, rest))) = (found, rest) else {
        bail!("`{words}`: `{name}` is a variant; name a field of it, `{name}.FIELD`");
    };
    let inside = Aggregate {
        members: found.members.clone(),
        variants: Vec::new(),
        ..aggregate.clone()
    };
    inside.field(rest)
}

/// The names that [`find`] knows.
fn names(aggregate: &Aggregate) -> Vec<&str> {
    let members = aggregate.members.iter().flat_map(|member| {
        match (member.name.as_deref(), member.inner.as_deref()) {
            (Some(name), _) => vec![name],
            (None, Some(inner)) => names(inner),
            (None, None) => Vec::new(),
        }
    });
    let variants = aggregate.variants.iter().map(|variant| &*variant.name);
    members.chain(variants).collect()
}

/// `stats[2][3]` as its name and indices.
fn split(step: &str) -> Result<(&str, Vec<u64>)> {
    let (name, rest) = step.split_at(step.find('[').unwrap_or(step.len()));
    let mut indices = Vec::new();
    for part in rest.split_terminator(']') {
        match part.strip_prefix('[').map(str::parse) {
            Some(Ok(index)) => indices.push(index),
            _ => bail!("`{step}` is no field; write fields as `name`, `name[2]` or `outer.inner`"),
        }
    }
    Ok((name, indices))
}

/// The element of a member that indices lead to.
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
            bail!(
                "`{words}`: `{}` has no element {index}: {count} there",
                member.label()
            );
        }
        let bits = span.bits() / count;
        span.start += index * bits;
        span.end = span.start + bits;
    }
    Ok(span)
}

#[cfg(test)]
mod tests {
    use super::super::planted::{inner, member, structure};
    use super::*;

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
        Member {
            elements: vec![count],
            ..member(name, offset, size)
        }
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
            let span = sample.field(words).unwrap();
            assert_eq!(span, Span::of_bytes(offset, size), "{words}");
        }
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
