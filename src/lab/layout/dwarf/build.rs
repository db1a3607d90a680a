//! Converts an entry with its members to an [`Aggregate`].

use std::rc::Rc;

use anyhow::{Context as _, Result};
use gimli::constants::*;
use gimli::{AttributeValue, EntriesTreeNode, RunTimeEndian, UnitOffset};

use super::super::file::Slice;
use super::super::{Aggregate, Kind, Language, Member, Role, Span, Variant};
use super::types::{Entry, Types, alignment, bounded, deeper, elements, is_declaration, number};
use super::{At, UnitAt, is_aggregate};

/// Maximum number of members of a type, including nested members. If each of forty types contains the next
/// one twice, the first has more nested members than any memory holds.
const MOST_MEMBERS: usize = 1 << 17;

impl<'a> Types<'_, 'a> {
    /// Returns the type at `at` with its members.
    pub(super) fn aggregate(&self, at: At, depth: u32) -> Result<Rc<Aggregate>> {
        if let Some(known) = self.aggregates.borrow().get(&at) {
            return Ok(Rc::clone(known));
        }
        let built = self.build(at, deeper(depth)?);
        let name = || self.path(at).unwrap_or_else(|| "a type without a name".to_owned());
        let built = Rc::new(if depth == 0 { built.with_context(name)? } else { built? });
        let inner = built.used().map(|member| self.within(member)).sum::<usize>();
        let members = 1 + built.values.len() + inner;
        self.members.borrow_mut().insert(Rc::as_ptr(&built), members);
        self.aggregates.borrow_mut().insert(at, Rc::clone(&built));
        Ok(built)
    }

    /// Returns the number of members of a type, including nested members, as they are printed.
    pub(super) fn members_within(&self, aggregate: &Rc<Aggregate>) -> usize {
        *self.members.borrow().get(&Rc::as_ptr(aggregate)).unwrap_or(&1)
    }

    /// Returns 1 for the member itself, plus the number of members of its type.
    fn within(&self, member: &Member) -> usize {
        1 + member.inner.as_ref().map_or(0, |inner| self.members_within(inner))
    }

    fn build(&self, at: At, depth: u32) -> Result<Aggregate> {
        let entry = self.entry(at)?;
        let mut built = Aggregate {
            path: self.path(at).unwrap_or_default(),
            kind: match entry.tag() {
                DW_TAG_class_type => Kind::Class,
                DW_TAG_union_type => Kind::Union,
                DW_TAG_enumeration_type => Kind::Enum,
                _ => Kind::Struct,
            },
            language: self.language(at.unit),
            size: self.size(at, depth)?.unwrap_or(0),
            align: 1,
            vague: false,
            packed: false,
            members: Vec::new(),
            variants: Vec::new(),
            values: Vec::new(),
        };
        let mut tree = self.program.unit(at.unit)?.entries_tree(Some(UnitOffset(at.offset)))?;
        let mut children = tree.root()?.children();
        while let Some(child) = children.next()? {
            self.note(child.entry())?;
            match child.entry().tag() {
                DW_TAG_member => {
                    built.members.extend(self.member(at.unit, child.entry(), &built, depth)?);
                }
                DW_TAG_inheritance => {
                    built.members.push(self.base(at.unit, child.entry(), &built, depth)?);
                }
                DW_TAG_enumerator => built.values.extend(self.enumerator(at.unit, child.entry())),
                DW_TAG_variant_part => {
                    built.kind = Kind::Enum;
                    self.variants(at.unit, child, &mut built, depth)?;
                }
                _ => {}
            }
        }
        self.without_too_many(&mut built);
        if built.kind == Kind::Enum && built.used().next().is_none() {
            built.align = alignment(&entry).unwrap_or(built.size).max(1);
        } else {
            settle(&mut built, alignment(&entry));
        }
        Ok(built)
    }

    /// Removes the nested members of each member with which the type would exceed [`MOST_MEMBERS`].
    fn without_too_many(&self, built: &mut Aggregate) {
        let mut members = 0;
        let variants = built.variants.iter_mut().flat_map(|variant| &mut variant.members);
        for member in built.members.iter_mut().chain(variants) {
            if members + self.within(member) > MOST_MEMBERS {
                member.inner = None;
            }
            members += self.within(member);
        }
    }

    /// Converts a data member; `None` if it is static.
    fn member(
        &self,
        unit: UnitAt,
        entry: &Entry<'a>,
        of: &Aggregate,
        depth: u32,
    ) -> Result<Option<Member>> {
        if is_declaration(entry) || entry.attr(DW_AT_external).is_some() {
            return Ok(None);
        }
        let target = self.type_of(unit, entry);
        let name = self.name(unit, entry);
        let stated_size = target.map_or(Ok(Some(0)), |target| self.size(target, depth))?;
        let size = stated_size.unwrap_or(0);
        let stated = alignment(entry).unwrap_or(1);
        let natural = target.map_or(Ok(1), |target| self.align(target, depth))?;
        let artificial = entry.attr_value(DW_AT_artificial).is_some();
        let table = name.as_deref().is_some_and(|name| name.starts_with("_vptr"));
        let bits = number(entry.attr(DW_AT_bit_size)).map(bounded).transpose()?;
        let (elements, inner) = self.inside(target, depth)?;
        Ok(Some(Member {
            type_name: self.spell(target, "", of.language),
            declaration: self.spell(target, name.as_deref().unwrap_or(""), of.language),
            name,
            role: if artificial || table { Role::Hidden } else { Role::Field },
            span: self.span(unit, entry, size, bits)?,
            size_unknown: stated_size.is_none(),
            unit: bits.map(|_| size.max(1)),
            align: natural.max(stated),
            elements,
            inner,
        }))
    }

    /// Returns the dimensions of a type if it is an array, and the element type if that has members.
    pub(super) fn inside(
        &self,
        mut of: Option<At>,
        mut depth: u32,
    ) -> Result<(Vec<u64>, Option<Rc<Aggregate>>)> {
        let mut lengths = Vec::new();
        while let Some(at) = of {
            let (at, entry) = self.bare(at)?;
            if entry.tag() != DW_TAG_array_type {
                let nested = is_aggregate(entry.tag())
                    && entry.tag() != DW_TAG_enumeration_type
                    && !is_declaration(&entry);
                let inner = nested.then(|| self.aggregate(at, deeper(depth)?)).transpose()?;
                return Ok((lengths, inner));
            }
            depth = deeper(depth)?;
            lengths.extend(self.dimensions(at)?);
            elements(&lengths)?;
            of = self.type_of(at.unit, &entry);
        }
        Ok((lengths, None))
    }

    /// Converts a base class.
    fn base(&self, unit: UnitAt, entry: &Entry<'a>, of: &Aggregate, depth: u32) -> Result<Member> {
        let target = self.type_of(unit, entry);
        let (_, inner) = self.inside(target, depth)?;
        let is_virtual = !matches!(
            entry.attr_value(DW_AT_virtuality),
            None | Some(AttributeValue::Virtuality(DW_VIRTUALITY_none))
        );
        let size = inner.as_deref().map_or(0, Aggregate::size_as_base);
        let stated_size = target.map_or(Ok(Some(0)), |target| self.size(target, depth))?;
        let spelt = self.spell(target, "", of.language);
        Ok(Member {
            name: None,
            declaration: if is_virtual { format!("virtual {spelt}") } else { spelt.clone() },
            type_name: spelt,
            role: if is_virtual { Role::VirtualBase } else { Role::Base },
            span: self.span(unit, entry, size, None)?.filter(|_| !is_virtual),
            size_unknown: stated_size.is_none(),
            unit: None,
            align: inner.as_deref().map_or(1, |inner| inner.align),
            elements: Vec::new(),
            inner,
        })
    }

    /// Returns the place of a member; `None` if it is not a constant. Versions 3, 4 and 5 of DWARF describe
    /// bit-fields in different ways (5.7.6 of version 5).
    fn span(
        &self,
        unit: UnitAt,
        entry: &Entry<'a>,
        size: u64,
        bits: Option<u64>,
    ) -> Result<Option<Span>> {
        let offset = match entry.attr(DW_AT_data_member_location) {
            None => 0,
            Some(location) => match (location.udata_value(), location.exprloc_value()) {
                (Some(offset), _) => offset,
                // DWARF 2 states an offset only as an expression, `DW_OP_plus_uconst`.
                (None, Some(expression)) => {
                    let mut operations = expression.operations(self.program.unit(unit)?.encoding());
                    match operations.next() {
                        Ok(Some(gimli::Operation::PlusConstant { value })) => value,
                        _ => return Ok(None),
                    }
                }
                (None, None) => return Ok(None),
            },
        };
        let offset = bounded(offset)?;
        let Some(width) = bits else { return Ok(Some(Span::of_bytes(offset, size))) };
        let start = if let Some(start) = number(entry.attr(DW_AT_data_bit_offset)) {
            Some(offset * 8 + bounded(start)?)
        } else {
            let unit_bytes = bounded(number(entry.attr(DW_AT_byte_size)).unwrap_or(size))?;
            let from_top = entry.attr(DW_AT_bit_offset);
            let bit = match from_top.and_then(|attribute| attribute.sdata_value()) {
                // The attribute counts from the most significant bit of the storage unit. In little-endian
                // order, that bit is the last one of the unit.
                Some(from_top) if self.program.opened.endian == RunTimeEndian::Little => {
                    ((unit_bytes * 8) as i64 - width as i64).checked_sub(from_top)
                }
                from_top => Some(from_top.unwrap_or(0)),
            };
            bit.and_then(|bit| (offset * 8).checked_add_signed(bit))
        };
        let start = start.map(bounded).transpose()?;
        Ok(start.map(|start| Span { start, end: start + width }))
    }

    fn enumerator(&self, unit: UnitAt, entry: &Entry<'a>) -> Option<(String, i128)> {
        let value = entry.attr(DW_AT_const_value).and_then(value_of)?;
        Some((self.text(unit, entry.attr_value(DW_AT_name)?)?, value))
    }

    /// Adds the tag and the variants of a Rust enum. Each variant is described as a structure.
    fn variants(
        &self,
        unit: UnitAt,
        part: EntriesTreeNode<'_, '_, Slice<'a>>,
        built: &mut Aggregate,
        depth: u32,
    ) -> Result<()> {
        let mut children = part.children();
        while let Some(child) = children.next()? {
            self.note(child.entry())?;
            if child.entry().tag() == DW_TAG_member {
                let tag = self.member(unit, child.entry(), built, depth)?;
                built.members.extend(tag.map(|tag| Member {
                    role: Role::Tag,
                    declaration: format!("(tag): {}", tag.type_name),
                    ..tag
                }));
                continue;
            }
            if child.entry().tag() != DW_TAG_variant {
                continue;
            }
            let value = child.entry().attr(DW_AT_discr_value).and_then(value_of);
            let mut inner = child.children();
            while let Some(child) = inner.next()? {
                let entry = child.entry();
                self.note(entry)?;
                if entry.tag() != DW_TAG_member {
                    continue;
                }
                let offset = number(entry.attr(DW_AT_data_member_location)).unwrap_or(0);
                let offset = bounded(offset)?;
                let (_, inner) = self.inside(self.type_of(unit, entry), depth)?;
                let members = inner.iter().flat_map(|inner| &inner.members);
                let moved = |member: &Member| Member {
                    span: member.span.map(|span| span.moved(offset)),
                    ..member.clone()
                };
                built.variants.push(Variant {
                    name: self.name(unit, entry).unwrap_or_default(),
                    value,
                    members: members.map(moved).collect(),
                });
            }
        }
        Ok(())
    }
}

/// Returns a constant as a signed number if its form is signed, else as an unsigned number.
fn value_of(attribute: &gimli::Attribute<Slice<'_>>) -> Option<i128> {
    match attribute.value() {
        AttributeValue::Sdata(value) => Some(value.into()),
        value => value.udata_value().map(i128::from),
    }
}

/// Sets the alignment of a type, whether that is a lower bound, and whether the type is packed. The alignment
/// is the stated one, or else the one that the members require. It is lowered if the size or the place of a
/// member contradicts it.
fn settle(built: &mut Aggregate, stated: Option<u64>) {
    let wanted = built.used().map(|member| member.align).max().unwrap_or(1);
    let vague = |member: &Member| {
        member.size_unknown || member.inner.as_ref().is_some_and(|inner| inner.vague)
    };
    let is_vague = built.used().any(vague);
    let whole = built.used().filter(|member| member.unit.is_none());
    let offsets = whole.filter_map(|member| Some((member.span?.offset(), member.align)));
    let crooked_offsets = offsets.filter(|(offset, align)| offset % align != 0);
    let mut crooked = crooked_offsets.fold(0, |all, (offset, _)| all | offset);
    let align = stated.unwrap_or(wanted);
    if !built.size.is_multiple_of(align.max(1)) {
        crooked |= built.size;
    }
    built.vague = is_vague;
    built.packed = crooked != 0;
    built.align = match crooked {
        0 => align.max(1),
        crooked => align.min(1 << crooked.trailing_zeros()).max(1),
    };
    // Rust states the alignment of every type, and the stated alignment holds even for packed types.
    if built.language == Language::Rust && stated.is_some() {
        built.align = align.max(1);
    }
}
