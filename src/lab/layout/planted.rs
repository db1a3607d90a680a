//! Types made up for tests.

use std::rc::Rc;

use super::{Aggregate, Kind, Language, Member, Role, Span};

/// A field of whole bytes, aligned to its size where that is a power of two.
pub fn member(name: &str, offset: u64, size: u64) -> Member {
    Member {
        name: Some(name.to_owned()),
        type_name: format!("t{size}"),
        declaration: format!("t{size} {name}"),
        role: Role::Field,
        span: Some(Span::of_bytes(offset, size)),
        unit: None,
        align: 1 << size.trailing_zeros().min(3),
        elements: Vec::new(),
        inner: None,
    }
}

/// A bit-field in a storage unit of `unit` bytes.
pub fn bits(name: &str, start: u64, width: u64, unit: u64) -> Member {
    Member {
        span: Some(Span {
            start,
            end: start + width,
        }),
        unit: Some(unit),
        align: unit,
        ..member(name, 0, unit)
    }
}

/// A field that has members of its own.
pub fn inner(name: &str, offset: u64, size: u64, inner: Aggregate) -> Member {
    Member {
        align: inner.align,
        inner: Some(Rc::new(inner)),
        ..member(name, offset, size)
    }
}

/// A C structure.
pub fn structure(path: &str, size: u64, members: Vec<Member>) -> Aggregate {
    Aggregate {
        path: path.to_owned(),
        kind: Kind::Struct,
        language: Language::C,
        size,
        align: members.iter().map(|member| member.align).max().unwrap_or(1),
        packed: false,
        members,
        variants: Vec::new(),
        values: Vec::new(),
    }
}
