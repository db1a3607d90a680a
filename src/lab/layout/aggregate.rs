//! A type with its members as it lies in memory: the spans of the members, the cache lines that a span
//! touches, and the field that contains a byte. This module is independent of debug information.

use crate::pattern::common_divisor;
use core::ops::RangeInclusive;
use std::rc::Rc;

/// A structure, class, union or enumeration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aggregate {
    /// Name with the enclosing scopes, such as `outer::Inner`; empty if the type has no name.
    pub path: String,
    pub kind: Kind,
    /// The language that the type is written in.
    pub language: Language,
    /// Size in bytes.
    pub size: u64,
    /// Alignment in bytes: as the compiler states it, or else derived from the members.
    pub align: u64,
    /// Whether the size of a member, here or in the type of a member, is not stated. The alignment is then a
    /// lower bound.
    pub vague: bool,
    /// Whether the type is packed: its size or the offset of a member violates the alignment.
    pub packed: bool,
    /// Members, in the order of the definition.
    pub members: Vec<Member>,
    /// Variants of a Rust enum, of which a value holds one at a time.
    pub variants: Vec<Variant>,
    /// Names and values of the enumerators, if the type is an enumeration without data.
    pub values: Vec<(String, i128)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `struct`, or a tuple.
    Struct,
    Class,
    Union,
    /// `enum`, with data or without.
    Enum,
}

impl Kind {
    /// Returns the keyword.
    pub const fn word(self) -> &'static str {
        match self {
            Kind::Struct => "struct",
            Kind::Class => "class",
            Kind::Union => "union",
            Kind::Enum => "enum",
        }
    }
}

/// The language of a compilation unit. Only languages that write types differently are distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// C, and every language that is not listed here.
    C,
    Cpp,
    Rust,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Name; `None` for an anonymous structure or union and for a base class.
    pub name: Option<String>,
    /// Type in the notation of the language, such as `long[7]` or `[u8; 4]`.
    pub type_name: String,
    /// Declaration in the notation of the language, such as `long fill[7]` or `fill: [u8; 4]`.
    pub declaration: String,
    pub role: Role,
    /// Place of the member. `None` for a virtual base, whose place is known only at run time.
    pub span: Option<Span>,
    /// Whether the debug information does not state the size, because it only declares the type. The span is
    /// then empty.
    pub size_unknown: bool,
    /// Size of a bit-field's storage unit in bytes; `None` for other members.
    pub unit: Option<u64>,
    /// Alignment that the member requires, in bytes.
    pub align: u64,
    /// Number of elements along each dimension of an array, outermost first; empty if the member is no
    /// array.
    pub elements: Vec<u64>,
    /// The member's type, or the element type of an array, if it has members.
    pub inner: Option<Rc<Aggregate>>,
}

/// The role of a member in its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    Field,
    Base,
    VirtualBase,
    /// A member that the compiler added, such as the pointer to the virtual function table.
    Hidden,
    /// The tag that distinguishes the variants of a Rust enum.
    Tag,
}

/// One variant of a Rust enum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    pub name: String,
    /// Value of the tag; `None` if no single value of the tag denotes this variant.
    pub value: Option<i128>,
    pub members: Vec<Member>,
}

impl Aggregate {
    /// Returns the members, including those of all variants.
    pub fn used(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().chain(self.variants.iter().flat_map(|variant| &variant.members))
    }

    /// Returns the virtual base classes, also those of base classes, each once. The places of all are known
    /// only when the program runs.
    pub fn virtual_bases(&self) -> Vec<&Member> {
        let mut found = Vec::new();
        self.add_virtual_bases(&mut found);
        found
    }

    fn add_virtual_bases<'a>(&'a self, found: &mut Vec<&'a Member>) {
        for member in &self.members {
            let known = |found: &[&Member]| found.iter().any(|of| of.type_name == member.type_name);
            match member.role {
                Role::Base => {}
                Role::VirtualBase if !known(found) => found.push(member),
                _ => continue,
            }
            if let Some(inner) = &member.inner {
                inner.add_virtual_bases(found);
            }
        }
    }

    /// Returns the number of bytes of a base class of this type. Its virtual base classes lie elsewhere in
    /// the derived class. An empty base class occupies no bytes, although an object of its class has a
    /// nonzero size.
    pub fn size_as_base(&self) -> u64 {
        let has_room = |member: &Member| member.span.is_none_or(|span| span.bits() > 0);
        if !self.used().any(has_room) {
            return 0;
        }
        if self.virtual_bases().is_empty() {
            return self.size;
        }
        let ends = self.used().filter_map(|member| member.span);
        ends.map(|span| span.end.div_ceil(8)).max().unwrap_or(0)
    }

    /// Returns whether both types have the same layout: size, values, and names and places of all members.
    /// The names of the members' types are not compared, because compilers and languages write them
    /// differently.
    pub fn lies_like(&self, other: &Self) -> bool {
        let alike = |ours: &[Member], theirs: &[Member]| {
            ours.len() == theirs.len()
                && ours.iter().zip(theirs).all(|(ours, theirs)| {
                    ours.name == theirs.name
                        && ours.span == theirs.span
                        && match (&ours.inner, &theirs.inner) {
                            (Some(ours), Some(theirs)) => ours.lies_like(theirs),
                            (ours, theirs) => ours.is_none() == theirs.is_none(),
                        }
                })
        };
        let variants = self.variants.iter().zip(&other.variants);
        self.size == other.size
            && self.values == other.values
            && alike(&self.members, &other.members)
            && self.variants.len() == other.variants.len()
            && variants.into_iter().all(|(ours, theirs)| alike(&ours.members, &theirs.members))
    }

    /// Returns the labels of the members that straddle a line of `line` bytes.
    pub fn straddling(&self, line: u64) -> Vec<&str> {
        self.used()
            .filter(|member| member.span.is_some_and(|span| span.straddles(line)))
            .map(Member::label)
            .collect()
    }
}

impl Member {
    /// Returns the name, or the type if the member has no name.
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.type_name)
    }

    /// Returns the member's type, or the element type of an array, if no other member can have it: it has no
    /// name, and none by `typedef`. Such a type is in no list of types.
    pub fn unnamed(&self) -> Option<&Aggregate> {
        let inner = self.inner.as_deref()?;
        (inner.path.is_empty() && self.type_name.contains("{...}")).then_some(inner)
    }

    /// Returns whether the member is a field with an array dimension of length 0 or of unstated length, such
    /// as a flexible array member.
    pub fn open_ended(&self) -> bool {
        self.elements.contains(&0) && self.role == Role::Field
    }
}

/// A range of bits, counted from the start of the type. Only bit-fields start or end inside a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The first bit.
    pub start: u64,
    /// The first bit after the range.
    pub end: u64,
}

impl Span {
    /// Returns the span of `size` bytes that starts at byte `offset`.
    pub const fn of_bytes(offset: u64, size: u64) -> Self {
        Span { start: offset * 8, end: (offset + size) * 8 }
    }

    /// Returns the number of bits.
    pub const fn bits(self) -> u64 {
        self.end - self.start
    }

    /// Returns the byte that contains the first bit.
    pub const fn offset(self) -> u64 {
        self.start / 8
    }

    /// Returns the number of bytes that contain a bit of the span.
    pub const fn bytes(self) -> u64 {
        if self.start == self.end { 0 } else { self.end.div_ceil(8) - self.start / 8 }
    }

    /// Returns the span moved up by `bytes` bytes.
    pub const fn moved(self, bytes: u64) -> Self {
        Span { start: self.start + bytes * 8, end: self.end + bytes * 8 }
    }

    /// Returns the indices of the lines of `line` bytes that the span touches, if the type starts at a line
    /// boundary. `None` if the span is empty.
    pub fn lines(self, line: u64) -> Option<RangeInclusive<u64>> {
        let last = self.end.checked_sub(1).filter(|_| self.bits() > 0)?;
        Some(self.start / 8 / line..=last / 8 / line)
    }

    /// Returns whether the span crosses a line boundary although it would fit in one line.
    pub fn straddles(self, line: u64) -> bool {
        let lines = self.lines(line);
        self.bytes() <= line && lines.is_some_and(|lines| lines.start() != lines.end())
    }
}

/// Returns the number of lines that an element of an array touches on average, if the array starts at a line
/// boundary.
///
/// Elements of `size` bytes start equally often at each multiple of g = gcd(size, line) within a line. The
/// average is therefore (size + line - g) / line.
pub fn lines_in_array(size: u64, line: u64) -> f64 {
    if size == 0 {
        return 0.0;
    }
    let divisor = common_divisor(size as usize, line as usize) as u64;
    (size + line - divisor) as f64 / line as f64
}

/// The name, dimensions and members of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// Name in the notation of the language.
    pub name: Option<String>,
    /// Number of elements along each dimension of an array, outermost first; empty if the variable is no
    /// array.
    pub elements: Vec<u64>,
    /// The variable's type, or the element type of an array, if it has members.
    pub inner: Option<Rc<Aggregate>>,
}

impl Contents {
    /// Returns the path from the variable to the field that contains byte `byte`, such as `[2].hits`. `size`
    /// is the size of the variable in bytes. `None` if the byte lies in a hole.
    pub fn words(&self, byte: u64, size: u64) -> Option<String> {
        words(&self.elements, self.inner.as_deref(), byte, size)
    }
}

/// Returns the path to byte `byte` of an object of `size` bytes with these array dimensions.
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
        // The fields of an anonymous member are named as fields of the enclosing type.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bytes_and_bits() {
        let span = Span::of_bytes(8, 56);
        assert_eq!((span.offset(), span.bytes(), span.bits()), (8, 56, 448));
        let field = Span { start: 6, end: 9 };
        assert_eq!((field.offset(), field.bytes()), (0, 2));
        assert_eq!(Span::of_bytes(8, 0).bytes(), 0);
        assert_eq!(span.moved(8), Span::of_bytes(16, 56));
    }

    #[test]
    fn only_what_has_room_in_a_line_straddles_one() {
        assert!(Span::of_bytes(60, 8).straddles(64));
        assert!(!Span::of_bytes(56, 8).straddles(64));
        assert!(!Span::of_bytes(0, 65).straddles(64));
        assert!(!Span::of_bytes(64, 0).straddles(64));
        assert!(!Span::of_bytes(60, 8).straddles(128));
        assert_eq!(Span::of_bytes(60, 8).lines(64), Some(0..=1));
        assert_eq!(Span::of_bytes(60, 0).lines(64), None);
    }

    #[test]
    fn figure_6_3_takes_two_lines_in_an_array_as_well() {
        assert_eq!(lines_in_array(72, 64), 2.0);
        assert_eq!(lines_in_array(64, 64), 1.0);
        assert_eq!(lines_in_array(40, 64), 1.5);
        assert_eq!(lines_in_array(0, 64), 0.0);
    }

    proptest! {
        #[test]
        fn the_average_is_what_counting_gives(size in 1_u64..300, shift in 3_u32..8) {
            let line = 1 << shift;
            let elements = line;
            let touched: u64 = (0..elements)
                .map(|index| Span::of_bytes(index * size, size).lines(line).unwrap())
                .map(|lines| lines.end() - lines.start() + 1)
                .sum();
            prop_assert_eq!(touched as f64 / elements as f64, lines_in_array(size, line));
        }
    }
}

/// Invented types for tests.
#[cfg(test)]
pub(super) mod planted {
    use std::rc::Rc;

    use super::{Aggregate, Kind, Language, Member, Role, Span};

    /// Creates a field of `size` bytes, aligned to the largest power of two that divides `size`, at most 8.
    pub fn member(name: &str, offset: u64, size: u64) -> Member {
        Member {
            name: Some(name.to_owned()),
            type_name: format!("t{size}"),
            declaration: format!("t{size} {name}"),
            role: Role::Field,
            span: Some(Span::of_bytes(offset, size)),
            size_unknown: false,
            unit: None,
            align: 1 << size.trailing_zeros().min(3),
            elements: Vec::new(),
            inner: None,
        }
    }

    /// Creates a bit-field in a storage unit of `unit` bytes.
    pub fn bits(name: &str, start: u64, width: u64, unit: u64) -> Member {
        Member {
            span: Some(Span { start, end: start + width }),
            unit: Some(unit),
            align: unit,
            ..member(name, 0, unit)
        }
    }

    pub fn inner(name: &str, offset: u64, size: u64, inner: Aggregate) -> Member {
        Member { align: inner.align, inner: Some(Rc::new(inner)), ..member(name, offset, size) }
    }

    pub fn structure(path: &str, size: u64, members: Vec<Member>) -> Aggregate {
        Aggregate {
            path: path.to_owned(),
            kind: Kind::Struct,
            language: Language::C,
            size,
            align: members.iter().map(|member| member.align).max().unwrap_or(1),
            vague: false,
            packed: false,
            members,
            variants: Vec::new(),
            values: Vec::new(),
        }
    }
}
