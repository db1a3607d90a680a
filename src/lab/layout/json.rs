//! Numbers about a type, and a type as JSON.

use core::ops::RangeInclusive;

use serde::Serialize;

use super::aggregate::lines_in_array;
use super::{Aggregate, Definition, Holes, Kind, Member, Reorder, Role};
use crate::order::unique;

/// The numbers that `pahole` prints below a type, and the bytes that another order would save.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Size in bytes.
    pub size: u64,
    /// Number of lines that the type touches if it starts at a line boundary.
    pub lines: u64,
    /// Average number of lines that an element of an array touches, if the array starts at a line boundary.
    pub lines_in_array: f64,
    /// Number of members, without those of variants. Definitions that differ in it are different.
    #[serde(skip)]
    pub members: usize,
    /// Bytes that members use; bits of bit-fields are added up and rounded up to bytes.
    #[serde(rename = "sum_members")]
    pub used: u64,
    /// Number of whole-byte holes between members.
    #[serde(skip)]
    pub holes: usize,
    /// Total size of these holes in bytes.
    #[serde(rename = "sum_holes")]
    pub hole_bytes: u64,
    /// Number of holes between members that are counted in bits.
    #[serde(skip)]
    pub bit_holes: usize,
    /// Total size of these holes in bits.
    #[serde(rename = "sum_bit_holes")]
    pub bit_hole_bits: u64,
    /// Bytes after the last member.
    pub padding: u64,
    /// Bits after the last bit-field.
    pub bit_padding: u64,
    /// Bytes used of the last line, if the type does not fill it.
    pub last_line: Option<u64>,
    /// Bytes that no member uses inside members whose types have no names.
    #[serde(skip)]
    pub inside: u64,
    /// Bytes that a better order of the members saves.
    pub saves: u64,
}

/// Returns the bytes that no member uses inside members whose types have no names, in all elements of arrays.
/// In a union, another member may use them.
fn inside(aggregate: &Aggregate) -> u64 {
    if aggregate.kind == Kind::Union {
        return 0;
    }
    let unused = |member: &Member| {
        let inner = member.unnamed()?;
        let holes = Holes::of(inner);
        let bits = (holes.bits() + holes.bit_padding()).div_ceil(8);
        let each = holes.bytes() + holes.padding() + bits + inside(inner);
        Some(member.elements.iter().fold(each, |all, n| all.saturating_mul(*n)))
    };
    aggregate.members.iter().filter_map(unused).sum()
}

impl Summary {
    /// Returns the number of bytes that no member uses, also inside members whose types have no names, with
    /// unused bits rounded up.
    pub fn wasted(&self) -> u64 {
        let bits = self.bit_hole_bits + self.bit_padding;
        self.hole_bytes + self.padding + bits.div_ceil(8) + self.inside
    }

    /// Computes the numbers of a type, for lines of `line` bytes.
    pub fn of(aggregate: &Aggregate, line: u64) -> Self {
        let holes = Holes::of(aggregate);
        let (count, bit_holes) = holes.counts();
        let size = aggregate.size;
        Summary {
            size,
            lines: size.div_ceil(line),
            lines_in_array: lines_in_array(size, line),
            members: aggregate.members.len(),
            used: holes.used.div_ceil(8),
            holes: count,
            hole_bytes: holes.bytes(),
            bit_holes,
            bit_hole_bits: holes.bits(),
            padding: holes.padding(),
            bit_padding: holes.bit_padding(),
            last_line: Some(size % line).filter(|rest| *rest > 0),
            inside: inside(aggregate),
            saves: match Reorder::of(aggregate, line) {
                Reorder::Better(better) => better.bytes,
                Reorder::No(_) => 0,
            },
        }
    }
}

#[derive(Debug, Serialize)]
pub struct TypeJson<'a> {
    #[serde(rename = "type")]
    path: &'a str,
    kind: &'static str,
    units: Vec<&'a str>,
    declared: Vec<&'a str>,
    align: u64,
    packed: bool,
    line: u64,
    #[serde(flatten)]
    numbers: Summary,
    holes: Vec<HoleJson>,
    members: Vec<MemberJson<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    variants: Vec<VariantJson<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    values: Vec<ValueJson<'a>>,
    /// A better order of the members; `None` if there is none.
    reorganised: Option<BetterJson>,
}

#[derive(Debug, Serialize)]
struct HoleJson {
    offset: u64,
    bits: u64,
}

#[derive(Debug, Serialize)]
struct MemberJson<'a> {
    name: Option<&'a str>,
    #[serde(rename = "type")]
    type_name: &'a str,
    role: &'static str,
    offset: Option<u64>,
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_bit: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bits: Option<u64>,
    align: u64,
    lines: Vec<u64>,
    straddles: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    elements: Vec<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    members: Vec<MemberJson<'a>>,
}

#[derive(Debug, Serialize)]
struct VariantJson<'a> {
    name: &'a str,
    value: Option<i128>,
    members: Vec<MemberJson<'a>>,
}

#[derive(Debug, Serialize)]
struct ValueJson<'a> {
    name: &'a str,
    value: i128,
}

#[derive(Debug, Serialize)]
struct BetterJson {
    order: Vec<String>,
    size: u64,
    lines: u64,
    saves_bytes: u64,
    saves_lines: u64,
}

impl<'a> TypeJson<'a> {
    /// Converts a definition, for lines of `line` bytes.
    pub fn of(definition: &'a Definition, line: u64) -> Self {
        let aggregate = &*definition.aggregate;
        let origins = &definition.origins;
        let holes = Holes::of(aggregate);
        let holes = holes.between.iter().chain(&holes.behind);
        let variants = aggregate.variants.iter().map(|variant| VariantJson {
            name: &variant.name,
            value: variant.value,
            members: variant.members.iter().map(|one| member(one, 0, line)).collect(),
        });
        let values = aggregate.values.iter();
        let label = |member: &Member| member.label().to_owned();
        TypeJson {
            path: &aggregate.path,
            kind: aggregate.kind.word(),
            units: unique(origins.iter().filter_map(|origin| origin.unit.as_deref())),
            declared: unique(origins.iter().filter_map(|origin| origin.declared.as_deref())),
            align: aggregate.align,
            packed: aggregate.packed,
            line,
            numbers: Summary::of(aggregate, line),
            holes: holes
                .map(|hole| HoleJson { offset: hole.span.offset(), bits: hole.span.bits() })
                .collect(),
            members: aggregate.members.iter().map(|one| member(one, 0, line)).collect(),
            variants: variants.collect(),
            values: values.map(|&(ref name, value)| ValueJson { name, value }).collect(),
            reorganised: match Reorder::of(aggregate, line) {
                Reorder::No(_) => None,
                Reorder::Better(better) => Some(BetterJson {
                    order: better.aggregate.members.iter().map(label).collect(),
                    size: better.aggregate.size,
                    lines: better.aggregate.size.div_ceil(line),
                    saves_bytes: better.bytes,
                    saves_lines: better.lines,
                }),
            },
        }
    }
}

/// Converts a member of a type that starts at byte `base` of the outermost type.
fn member(member: &Member, base: u64, line: u64) -> MemberJson<'_> {
    let span = member.span.map(|span| span.moved(base));
    let in_bits = span.filter(|_| member.unit.is_some());
    let inner = member.inner.as_deref();
    MemberJson {
        name: member.name.as_deref(),
        type_name: &member.type_name,
        role: match member.role {
            Role::Field => "field",
            Role::Base => "base",
            Role::VirtualBase => "virtual base",
            Role::Hidden => "hidden",
            Role::Tag => "tag",
        },
        offset: span.map(|span| span.offset()),
        size: span.filter(|_| !member.size_unknown).map(|span| span.bytes()),
        first_bit: in_bits.map(|span| span.start % 8),
        bits: in_bits.map(|span| span.bits()),
        align: member.align,
        lines: span.and_then(|span| span.lines(line)).map_or_else(Vec::new, listed),
        straddles: span.is_some_and(|span| span.straddles(line)),
        elements: member.elements.clone(),
        // For an array, these are the members of its first element.
        members: match (inner, span) {
            (Some(inner), Some(span)) => {
                inner.used().map(|one| self::member(one, span.offset(), line)).collect()
            }
            _ => Vec::new(),
        },
    }
}

/// Returns the lines of a member, or only the first and the last if there are more than 4,096.
fn listed(lines: RangeInclusive<u64>) -> Vec<u64> {
    const MOST: u64 = 4096;
    match lines.end() - lines.start() {
        0..MOST => lines.collect(),
        _ => vec![*lines.start(), *lines.end()],
    }
}
