//! A type with its members, as it lies in memory. Knows nothing of debug information.

use std::rc::Rc;

use super::Span;

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
