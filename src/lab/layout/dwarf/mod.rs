//! Types read from DWARF 2 to 5: the units of all files of a binary with the references between their
//! entries, and the types of a unit with the scopes that determine their full names.

// gimli names its constants as the DWARF standard does.
#![allow(non_upper_case_globals)]

mod build;
mod find;
mod spell;
mod types;

pub(super) use types::Types;

use std::cell::OnceCell;
use std::collections::HashMap;

use gimli::constants::*;
use gimli::{
    AttributeValue, DebugInfoOffset, DebugTypeSignature, Dwarf, DwarfFileType, Result, SectionId,
    Unit, UnitHeader, UnitOffset, UnitType,
};

use super::file::{Opened, Slice, Work};

/// The place of a debugging information entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct At {
    pub unit: UnitAt,
    /// Offset in bytes from the start of the unit.
    pub offset: usize,
}

/// The place of a unit: the index of its source, and its index in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct UnitAt {
    source: usize,
    unit: usize,
}

/// Debug sections whose units refer to each other by offset.
#[derive(Debug)]
struct Source<'a> {
    dwarf: Dwarf<Slice<'a>>,
    headers: Vec<UnitHeader<Slice<'a>>>,
    units: Vec<OnceCell<Unit<Slice<'a>>>>,
}

/// All debug information of a binary.
#[derive(Debug)]
pub(super) struct Program<'a> {
    sources: Vec<Source<'a>>,
    /// Index of the source that the others refer to as the shared (supplementary) file.
    shared: Option<usize>,
    signatures: HashMap<DebugTypeSignature, At>,
    /// Largest alignment of a base type, in bytes.
    pub widest: u64,
    opened: &'a Opened,
}

impl<'a> Program<'a> {
    /// Reads the headers of the units of all files.
    pub fn new(opened: &'a Opened) -> Result<Self> {
        let mut program = Program {
            sources: Vec::new(),
            shared: None,
            signatures: HashMap::new(),
            // System V ABI, i386: double and long long are aligned to 4 in structures.
            widest: if opened.i386 { 4 } else { 16 },
            opened,
        };
        let (mut parent, mut own) = (Dwarf::default(), Dwarf::default());
        if let Some((sections, split)) = &opened.main {
            // There are two copies: one for the units of the main file, and one for the split files, which
            // need the main file's addresses.
            for copy in [&mut parent, &mut own] {
                *copy = opened.dwarf(sections);
                if let Some(shared) = &opened.shared {
                    copy.set_sup(opened.dwarf(shared));
                }
                if *split {
                    copy.file_type = DwarfFileType::Dwo;
                }
            }
            program.add(own)?;
        }
        if let Some(shared) = &opened.shared {
            program.shared = Some(program.sources.len());
            program.add(opened.dwarf(shared))?;
        }
        for sections in &opened.split {
            let mut dwarf = opened.dwarf(sections);
            dwarf.make_dwo(&parent);
            program.add(dwarf)?;
        }
        if let Some((sections, wanted)) = &opened.package {
            let package =
                sections.borrow(|bytes| Slice::new(bytes, opened.endian), opened.empty())?;
            match wanted {
                Some(wanted) => {
                    for id in wanted {
                        if let Some(dwarf) = package.find_cu(*id, &parent)? {
                            program.add(dwarf)?;
                        }
                    }
                }
                None => {
                    for row in 1..=package.cu_index.unit_count() {
                        program.add(package.cu_sections(row, &parent)?)?;
                    }
                }
            }
            for row in 1..=package.tu_index.unit_count() {
                program.add(package.tu_sections(row, &parent)?)?;
            }
        }
        Ok(program)
    }

    fn add(&mut self, mut dwarf: Dwarf<Slice<'a>>) -> Result<()> {
        let headers = self.opened.headers(&mut dwarf)?;
        let source = self.sources.len();
        for (unit, header) in headers.iter().enumerate() {
            let (UnitType::Type { type_signature, type_offset }
            | UnitType::SplitType { type_signature, type_offset }) = header.type_()
            else {
                continue;
            };
            let at = At { unit: UnitAt { source, unit }, offset: type_offset.0 };
            self.signatures.entry(type_signature).or_insert(at);
        }
        self.sources.push(Source {
            dwarf,
            units: headers.iter().map(|_| OnceCell::new()).collect(),
            headers,
        });
        Ok(())
    }

    /// Returns all units, in the order of the files.
    pub fn units(&self) -> impl Iterator<Item = UnitAt> {
        let sources = self.sources.iter().enumerate();
        sources
            .flat_map(|(source, of)| (0..of.units.len()).map(move |unit| UnitAt { source, unit }))
    }

    /// Returns a unit, which is read at the first call.
    pub fn unit(&self, at: UnitAt) -> Result<&Unit<Slice<'a>>> {
        let source = &self.sources[at.source];
        let cell = &source.units[at.unit];
        if let Some(unit) = cell.get() {
            return Ok(unit);
        }
        let unit = self.opened.unit(&source.dwarf, source.headers[at.unit])?;
        Ok(cell.get_or_init(|| unit))
    }

    /// Returns the remaining budget for reading.
    pub(super) fn work(&self) -> &'a Work {
        &self.opened.work
    }

    /// Returns the sections that contain a unit.
    pub fn dwarf(&self, at: UnitAt) -> &Dwarf<Slice<'a>> {
        &self.sources[at.source].dwarf
    }

    /// Returns the entry that an attribute of an entry of `unit` refers to; `None` if it is no reference or
    /// the target is missing.
    pub fn referred(&self, unit: UnitAt, value: &AttributeValue<Slice<'a>>) -> Option<At> {
        match *value {
            AttributeValue::UnitRef(UnitOffset(offset)) => Some(At { unit, offset }),
            AttributeValue::DebugInfoRef(offset) => self.at(unit.source, offset),
            AttributeValue::DebugInfoRefSup(offset) => self.at(self.shared?, offset),
            AttributeValue::DebugTypesRef(signature) => self.signatures.get(&signature).copied(),
            _ => None,
        }
    }

    /// Returns the place of the entry at an offset of `.debug_info`.
    fn at(&self, source: usize, offset: DebugInfoOffset) -> Option<At> {
        let headers = &self.sources[source].headers;
        let plain = headers.partition_point(|header| header.section() == SectionId::DebugInfo);
        let start = |header: &UnitHeader<Slice<'a>>| header.debug_info_offset().map(|at| at.0);
        let behind = headers[..plain].partition_point(|header| start(header) <= Some(offset.0));
        let unit = behind.checked_sub(1)?;
        Some(At {
            unit: UnitAt { source, unit },
            offset: offset.0.checked_sub(start(&headers[unit])?)?,
        })
    }
}

/// Maximum nesting depth of entries. Compilers produce a few hundred levels for inlined functions.
const DEEPEST_ENTRY: isize = 1000;

/// The scopes and types of a unit, in the order of their entries.
#[derive(Debug)]
pub(super) struct Scopes<'a> {
    unit: UnitAt,
    nodes: Vec<Node<'a>>,
}

/// A scope (namespace, module or function) or a type that can have a name.
#[derive(Clone, Debug)]
pub(super) struct Node<'a> {
    /// Offset in bytes from the start of the unit.
    pub offset: usize,
    pub tag: DwTag,
    /// Whether the entry is a type that is defined, and not only declared.
    pub defined: bool,
    /// Whether the entry has variants, as a Rust enum with data does.
    varied: bool,
    parent: Option<usize>,
    name: Option<Slice<'a>>,
    /// Reference to the entry that has the name, if this entry completes that one.
    origin: Option<AttributeValue<Slice<'a>>>,
}

impl<'a> Scopes<'a> {
    /// Reads all entries of a unit once.
    pub fn of(program: &Program<'a>, at: UnitAt) -> Result<Self> {
        let unit = program.unit(at)?;
        let dwarf = program.dwarf(at);
        let mut nodes: Vec<Node<'a>> = Vec::new();
        // Nodes that enclose the entry, each with its depth.
        let mut around: Vec<(isize, usize)> = Vec::new();
        let mut entries = unit.entries_raw(None)?;
        while !entries.is_empty() {
            let (depth, UnitOffset(offset)) = (entries.next_depth(), entries.next_offset());
            let Some(abbreviation) = entries.read_abbreviation()? else { continue };
            program.work().entry(abbreviation.attributes().len())?;
            if depth > DEEPEST_ENTRY {
                // Reading the members of an entry visits all entries below it, which takes too long if they
                // are nested this deep.
                program.work().spend(u64::MAX)?;
            }
            let tag = abbreviation.tag();
            while around.last().is_some_and(|(other, _)| *other >= depth) {
                around.pop();
            }
            if !noted(tag) {
                if tag == DW_TAG_variant_part
                    && let Some((_, around)) = around.last()
                {
                    nodes[*around].varied = true;
                }
                entries.skip_attributes(abbreviation.attributes())?;
                continue;
            }
            let mut node = Node {
                offset,
                tag,
                defined: false,
                varied: false,
                parent: around.last().map(|(_, node)| *node),
                name: None,
                origin: None,
            };
            let (mut declared, mut sized) = (false, tag == DW_TAG_typedef);
            for specification in abbreviation.attributes() {
                let attribute = entries.read_attribute(*specification)?;
                match attribute.name() {
                    DW_AT_name => {
                        let name = dwarf.attr_string(unit, attribute.value())?;
                        program.work().spend(name.len() as u64)?;
                        node.name = Some(name);
                    }
                    DW_AT_specification | DW_AT_abstract_origin => {
                        node.origin = Some(attribute.value());
                    }
                    DW_AT_declaration => {
                        declared = attribute.value() == AttributeValue::Flag(true);
                    }
                    DW_AT_byte_size => sized = true,
                    _ => {}
                }
            }
            let scope = [DW_TAG_namespace, DW_TAG_module, DW_TAG_subprogram].contains(&tag);
            node.defined = sized && !declared && !scope;
            around.push((depth, nodes.len()));
            nodes.push(node);
        }
        Ok(Scopes { unit: at, nodes })
    }

    /// Returns the types that are defined, or named by `typedef`.
    pub fn types(&self) -> impl Iterator<Item = &Node<'a>> {
        self.nodes.iter().filter(|node| node.defined)
    }

    /// Returns whether a type is a variant of the type around it. It has that type's size.
    pub fn is_variant(&self, node: &Node<'a>) -> bool {
        node.parent.is_some_and(|parent| self.nodes[parent].varied)
    }

    /// Returns the types with members or values, including declared ones.
    pub fn aggregates(&self) -> impl Iterator<Item = &Node<'a>> {
        self.nodes.iter().filter(|node| is_aggregate(node.tag))
    }

    pub fn node(&self, offset: usize) -> Option<&Node<'a>> {
        let index = self.nodes.binary_search_by_key(&offset, |node| node.offset);
        index.ok().map(|index| &self.nodes[index])
    }
}

/// Returns whether an entry is a scope or a type that can have a name.
fn noted(tag: DwTag) -> bool {
    is_aggregate(tag)
        || matches!(tag, DW_TAG_typedef | DW_TAG_namespace | DW_TAG_module | DW_TAG_subprogram)
}

/// Returns whether an entry is a type with members or values.
fn is_aggregate(tag: DwTag) -> bool {
    [DW_TAG_structure_type, DW_TAG_class_type, DW_TAG_union_type, DW_TAG_enumeration_type]
        .contains(&tag)
}
