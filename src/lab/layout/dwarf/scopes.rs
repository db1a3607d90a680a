//! The types of a unit and the scopes around them: their full names.

use gimli::{AttributeValue, DwTag, Result, UnitOffset};
use gimli::{
    DW_AT_abstract_origin, DW_AT_byte_size, DW_AT_declaration, DW_AT_name, DW_AT_specification,
    DW_TAG_class_type, DW_TAG_enumeration_type, DW_TAG_module, DW_TAG_namespace,
    DW_TAG_structure_type, DW_TAG_subprogram, DW_TAG_typedef, DW_TAG_union_type,
};

use super::super::file::Slice;
use super::program::{At, Program, UnitAt};
use super::types::deeper;
use crate::lab::plain;

/// How deep entries may be nested: compilers leave a few hundred, for what they put in line.
const DEEPEST_ENTRY: isize = 1000;

/// The scopes and types of a unit, in the order of their entries.
#[derive(Debug)]
pub struct Scopes<'a> {
    unit: UnitAt,
    nodes: Vec<Node<'a>>,
}

/// A namespace, a function, or a type with a name to it.
#[derive(Clone, Debug)]
pub struct Node<'a> {
    /// Bytes from the start of the unit.
    pub offset: usize,
    /// What it is.
    pub tag: DwTag,
    /// Whether it is a type that is defined, and not just declared.
    pub defined: bool,
    parent: Option<usize>,
    name: Option<Slice<'a>>,
    /// The entry that has the name, if this one completes it.
    origin: Option<AttributeValue<Slice<'a>>>,
}

impl<'a> Scopes<'a> {
    /// Reads through a unit once.
    ///
    /// # Errors
    /// If it is damaged.
    pub fn of(program: &Program<'a>, at: UnitAt) -> Result<Self> {
        let unit = program.unit(at)?;
        let dwarf = program.dwarf(at);
        let mut nodes: Vec<Node<'a>> = Vec::new();
        // The nodes around the entry, each with its depth.
        let mut around: Vec<(isize, usize)> = Vec::new();
        let mut entries = unit.entries_raw(None)?;
        while !entries.is_empty() {
            let (depth, UnitOffset(offset)) = (entries.next_depth(), entries.next_offset());
            let Some(abbreviation) = entries.read_abbreviation()? else {
                continue;
            };
            program.work().entry(abbreviation.attributes().len())?;
            if depth > DEEPEST_ENTRY {
                // Who asks for the members of an entry goes through all below it.
                program.work().spend(u64::MAX)?;
            }
            let tag = abbreviation.tag();
            if !noted(tag) {
                entries.skip_attributes(abbreviation.attributes())?;
                continue;
            }
            while around.last().is_some_and(|(other, _)| *other >= depth) {
                around.pop();
            }
            let mut node = Node {
                offset,
                tag,
                defined: false,
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

    /// The types that are defined, or named by `typedef`.
    pub fn types(&self) -> impl Iterator<Item = &Node<'a>> {
        self.nodes.iter().filter(|node| node.defined)
    }

    /// The types with members or values, declared ones too.
    pub fn aggregates(&self) -> impl Iterator<Item = &Node<'a>> {
        self.nodes.iter().filter(|node| is_aggregate(node.tag))
    }

    /// The node at an offset.
    pub fn node(&self, offset: usize) -> Option<&Node<'a>> {
        let index = self.nodes.binary_search_by_key(&offset, |node| node.offset);
        index.ok().map(|index| &self.nodes[index])
    }

    /// The full name of a node, `depth` nodes below the one that was asked for; `None` if it has no
    /// name of its own, or is nested too deep. `elsewhere` knows the full names of entries of other
    /// units.
    pub fn path(
        &self,
        program: &Program<'a>,
        node: &Node<'a>,
        elsewhere: &dyn Fn(At, u32) -> Option<String>,
        depth: u32,
    ) -> Option<String> {
        // Damaged entries could lead in circles, through several units too.
        let depth = deeper(depth).ok()?;
        // What completes a declaration elsewhere is called as that is, with what is around it.
        let origin = node
            .origin
            .as_ref()
            .and_then(|value| program.referred(self.unit, value));
        match origin {
            Some(origin) if origin.unit != self.unit => return elsewhere(origin, depth),
            Some(origin) => {
                let other = self
                    .node(origin.offset)
                    .filter(|other| other.origin.is_none());
                if let Some(other) = other {
                    return self.path(program, other, elsewhere, depth);
                }
            }
            None => {}
        }
        let name = node.name?.to_string_lossy();
        let name = plain::word(&name).into_owned();
        program.work().spend(name.len() as u64).ok()?;
        let parent = node.parent.map(|parent| &self.nodes[parent]);
        let Some(parent) = parent else {
            return Some(name);
        };
        let around = self
            .path(program, parent, elsewhere, depth)
            .unwrap_or_else(|| match parent.tag == DW_TAG_namespace {
                true => "(anonymous namespace)".to_owned(),
                false => "(anonymous)".to_owned(),
            });
        program.work().spend(around.len() as u64).ok()?;
        Some(format!("{around}::{name}"))
    }
}

/// Whether an entry is a scope or a type with a name.
fn noted(tag: DwTag) -> bool {
    tag == DW_TAG_typedef
        || tag == DW_TAG_namespace
        || tag == DW_TAG_module
        || tag == DW_TAG_subprogram
        || is_aggregate(tag)
}

/// Whether an entry is a type with members or values.
pub fn is_aggregate(tag: DwTag) -> bool {
    [
        DW_TAG_structure_type,
        DW_TAG_class_type,
        DW_TAG_union_type,
        DW_TAG_enumeration_type,
    ]
    .contains(&tag)
}
