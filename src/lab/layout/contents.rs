//! Which field of a variable has a byte.

use std::rc::Rc;

use super::{Aggregate, Member};

/// What lies in a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// Its name, as its language has it.
    pub name: Option<String>,
    /// Elements along each dimension if it is an array, outermost first.
    pub elements: Vec<u64>,
    /// The members of its type, or of its element's; `None` if that has none.
    pub inner: Option<Rc<Aggregate>>,
}

impl Contents {
    /// The words behind the variable's name that lead to the field with byte `byte` of `size`: `[2].hits`. `None` for
    /// a hole.
    pub fn words(&self, byte: u64, size: u64) -> Option<String> {
        words(&self.elements, self.inner.as_deref(), byte, size)
    }
}

/// The words to a byte of `size` bytes, which are an array where there are `elements`.
fn words(elements: &[u64], inner: Option<&Aggregate>, byte: u64, size: u64) -> Option<String> {
    let (mut text, mut byte, mut size) = (String::new(), byte, size);
    for count in elements {
        size = size.checked_div(*count).filter(|size| *size > 0)?;
        text += &format!("[{}]", byte / size);
        byte %= size;
    }
    match inner {
        Some(aggregate) => Some(text + &within(aggregate, byte)?),
        None => Some(text),
    }
}

fn within(aggregate: &Aggregate, byte: u64) -> Option<String> {
    if !aggregate.values.is_empty() {
        return Some(String::new());
    }
    let field = |member: &Member| {
        let span = member.span?;
        let (first, size) = (span.offset(), span.bytes());
        let inside = byte.checked_sub(first).filter(|byte| *byte < size)?;
        let rest = words(&member.elements, member.inner.as_deref(), inside, size)?;
        // A member without a name has its members named by the type around it.
        let name = member.name.as_ref().map(|name| format!(".{name}"));
        Some(name.unwrap_or_default() + &rest)
    };
    if let Some(words) = aggregate.members.iter().find_map(field) {
        return Some(words);
    }
    aggregate.variants.iter().find_map(|variant| {
        let words = variant.members.iter().find_map(field)?;
        Some(format!(".{}{words}", variant.name))
    })
}
