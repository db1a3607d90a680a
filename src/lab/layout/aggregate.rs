//! A type with its members, as it lies in memory: stretches of it, the cache lines that they touch, and
//! which field has a byte. Knows nothing of debug information.

use core::ops::RangeInclusive;
use std::rc::Rc;

/// A structure, class, union or enumeration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aggregate {
    /// Its name with what surrounds it, `outer::Inner`; empty if it has none.
    pub path: String,
    /// What it is.
    pub kind: Kind,
    /// The language it was written in.
    pub language: Language,
    /// Bytes.
    pub size: u64,
    /// Its alignment in bytes: what the compiler states, or what its members ask for.
    pub align: u64,
    /// Whether members lie where their alignment would not let them: it was packed.
    pub packed: bool,
    /// Its members, in the order of the definition.
    pub members: Vec<Member>,
    /// What else it may hold, one of these at a time: the variants of a Rust enum.
    pub variants: Vec<Variant>,
    /// The names of its values, if it is an enumeration without data.
    pub values: Vec<(String, i128)>,
}

/// What a type is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `struct`, or a tuple.
    Struct,
    /// `class` in C++.
    Class,
    /// `union`.
    Union,
    /// `enum`, with data or without.
    Enum,
}

impl Kind {
    /// The keyword.
    pub const fn word(self) -> &'static str {
        match self {
            Kind::Struct => "struct",
            Kind::Class => "class",
            Kind::Union => "union",
            Kind::Enum => "enum",
        }
    }
}

/// The language of a compilation unit, as far as types are written differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// C, and whatever is not one of the others.
    C,
    /// C++.
    Cpp,
    /// Rust.
    Rust,
}

/// A member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name; `None` for an anonymous structure or union and for a base class.
    pub name: Option<String>,
    /// Its type, as its language writes it: `long[7]`, `[u8; 4]`.
    pub type_name: String,
    /// Its declaration as its language writes it: `long fill[7]`, `fill: [u8; 4]`.
    pub declaration: String,
    /// What it is to the type.
    pub role: Role,
    /// Where it lies. Virtual bases have no place that is known before the program runs.
    pub span: Option<Span>,
    /// The storage unit of a bit-field, in bytes.
    pub unit: Option<u64>,
    /// The alignment it asks for, in bytes.
    pub align: u64,
    /// Elements along each dimension if it is an array, outermost first.
    pub elements: Vec<u64>,
    /// The members of its type, or of its element's if it is an array.
    pub inner: Option<Rc<Aggregate>>,
}

/// What a member is to its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// A field of its own.
    Field,
    /// A base class.
    Base,
    /// A virtual base class.
    VirtualBase,
    /// Something that the compiler added: a pointer to a table of functions.
    Hidden,
    /// What tells the variants of a Rust enum apart.
    Tag,
}

/// One variant of a Rust enum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Its name.
    pub name: String,
    /// The value of the tag, if there is one of its own.
    pub value: Option<i128>,
    /// Its members.
    pub members: Vec<Member>,
}

impl Aggregate {
    /// Every stretch that some member uses, those of all variants included.
    pub fn used(&self) -> impl Iterator<Item = &Member> {
        let variants = self.variants.iter().flat_map(|variant| &variant.members);
        self.members.iter().chain(variants)
    }

    /// Whether all members lie alike, under the same names: two compilers, or two languages, may
    /// write their types differently.
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
            && variants
                .into_iter()
                .all(|(ours, theirs)| alike(&ours.members, &theirs.members))
    }

    /// Members that straddle a line, by name.
    pub fn straddling(&self, line: u64) -> Vec<&str> {
        self.used()
            .filter(|member| member.span.is_some_and(|span| span.straddles(line)))
            .map(Member::label)
            .collect()
    }
}

impl Member {
    /// Its name, or its type if it has none.
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.type_name)
    }

    /// Whether its end is open: an array of no stated length, as the last member of a structure.
    pub fn open_ended(&self) -> bool {
        self.elements.contains(&0) && self.role == Role::Field
    }
}

/// A stretch of bits, counted from the start of the type. Members are whole bytes but for
/// bit-fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The first bit.
    pub start: u64,
    /// The first bit behind it.
    pub end: u64,
}

impl Span {
    /// `size` bytes from byte `offset` on.
    pub const fn of_bytes(offset: u64, size: u64) -> Self {
        Span {
            start: offset * 8,
            end: (offset + size) * 8,
        }
    }

    /// Bits in it.
    pub const fn bits(self) -> u64 {
        self.end - self.start
    }

    /// The byte in which it starts.
    pub const fn offset(self) -> u64 {
        self.start / 8
    }

    /// Bytes in which some bit of it lies.
    pub const fn bytes(self) -> u64 {
        if self.start == self.end {
            0
        } else {
            self.end.div_ceil(8) - self.start / 8
        }
    }

    /// The same, `bytes` further on.
    pub const fn moved(self, bytes: u64) -> Self {
        Span {
            start: self.start + bytes * 8,
            end: self.end + bytes * 8,
        }
    }

    /// The lines of `line` bytes that it touches, if the type starts on a line. Nothing touches
    /// nothing.
    pub fn lines(self, line: u64) -> Option<RangeInclusive<u64>> {
        let last = self.end.checked_sub(1).filter(|_| self.bits() > 0)?;
        Some(self.start / 8 / line..=last / 8 / line)
    }

    /// Whether it lies across two lines although it has room in one.
    pub fn straddles(self, line: u64) -> bool {
        let lines = self.lines(line);
        self.bytes() <= line && lines.is_some_and(|lines| lines.start() != lines.end())
    }
}

/// Lines that a type of `size` bytes touches if it starts on a line.
pub const fn lines(size: u64, line: u64) -> u64 {
    size.div_ceil(line)
}

/// Lines that an element of an array touches, on average over an array that starts on a line.
///
/// Elements of `size` bytes start at all multiples of g = gcd(size, line) inside a line equally
/// often, which makes the average (size + line - g) / line.
pub fn lines_in_array(size: u64, line: u64) -> f64 {
    if size == 0 {
        return 0.0;
    }
    (size + line - gcd(size, line)) as f64 / line as f64
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

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
        assert_eq!(lines(72, 64), 2);
        assert_eq!(lines_in_array(72, 64), 2.0);
        assert_eq!(lines(64, 64), 1);
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

/// Types made up for tests.
#[cfg(test)]
pub(super) mod planted {
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
}
