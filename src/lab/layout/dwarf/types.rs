//! Properties of types as their entries state them: references to other types, sizes and alignments.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use anyhow::{Result, bail};
use gimli::constants::*;
use gimli::{Attribute, AttributeValue, DebuggingInformationEntry, UnitOffset};

use super::super::file::Slice;
use super::super::{Aggregate, Language};
use super::spell::{is_indirect, qualifier};
use super::{At, Node, Program, Scopes, UnitAt, is_aggregate};
use crate::lab::plain;

/// Maximum nesting depth of types. Deeper nesting is taken for a cycle.
const DEEPEST: u32 = 100;

pub(super) type Entry<'a> = DebuggingInformationEntry<Slice<'a>>;

/// Maximum size of a type in bytes, number of elements of an array, and offset. A 48-bit address space holds
/// no more, and sums of such numbers fit in 64 bits.
const MOST: u64 = 1 << 48;

/// Returns `number`, which is a size, a number of elements or an offset.
///
/// # Errors
/// If the number exceeds every address space.
pub(super) fn bounded(number: u64) -> Result<u64> {
    if number > MOST {
        bail!("damaged debug information: {number} exceeds the limit of {MOST} bytes or elements");
    }
    Ok(number)
}

/// Reads types from debug information, and caches them.
pub struct Types<'p, 'a> {
    pub(super) program: &'p Program<'a>,
    scopes: RefCell<HashMap<UnitAt, Rc<Scopes<'a>>>>,
    pub(super) aggregates: RefCell<HashMap<At, Rc<Aggregate>>>,
    /// Number of members of each aggregate, including nested members.
    pub(super) members: RefCell<HashMap<*const Aggregate, usize>>,
    /// The type behind typedefs and qualifiers, the sizes, and the alignments, as far as they have been
    /// read.
    behind: RefCell<HashMap<At, At>>,
    sizes: RefCell<HashMap<At, Option<u64>>>,
    aligns: RefCell<HashMap<At, u64>>,
    /// Places of type definitions by full name. They are collected when a declaration is first resolved.
    defined: OnceCell<HashMap<String, At>>,
    /// Number of parts of a type that may still be written out.
    pub(super) parts: Cell<u32>,
    /// The language assumed for units that do not state one.
    usual: OnceCell<Language>,
}

impl<'p, 'a> Types<'p, 'a> {
    pub fn new(program: &'p Program<'a>) -> Self {
        Types {
            program,
            scopes: RefCell::default(),
            aggregates: RefCell::default(),
            members: RefCell::default(),
            behind: RefCell::default(),
            sizes: RefCell::default(),
            aligns: RefCell::default(),
            defined: OnceCell::new(),
            parts: Cell::new(0),
            usual: OnceCell::new(),
        }
    }

    pub fn scopes(&self, unit: UnitAt) -> gimli::Result<Rc<Scopes<'a>>> {
        if let Some(scopes) = self.scopes.borrow().get(&unit) {
            return Ok(Rc::clone(scopes));
        }
        let scopes = Rc::new(Scopes::of(self.program, unit)?);
        self.scopes.borrow_mut().insert(unit, Rc::clone(&scopes));
        Ok(scopes)
    }

    /// Drops what was read of a unit. This limits the memory that a list of all types needs.
    pub fn forget(&self, unit: UnitAt) {
        self.scopes.borrow_mut().remove(&unit);
        let mut aggregates = self.aggregates.borrow_mut();
        aggregates.retain(|at, _| at.unit != unit);
        // A later aggregate may get the address of one that is dropped here.
        let kept: HashSet<*const Aggregate> = aggregates.values().map(Rc::as_ptr).collect();
        self.members.borrow_mut().retain(|of, _| kept.contains(of));
        self.behind.borrow_mut().retain(|at, _| at.unit != unit);
        self.sizes.borrow_mut().retain(|at, _| at.unit != unit);
        self.aligns.borrow_mut().retain(|at, _| at.unit != unit);
    }

    pub fn path(&self, at: At) -> Option<String> {
        self.path_below(at, 0)
    }

    fn path_below(&self, at: At, depth: u32) -> Option<String> {
        let scopes = self.scopes(at.unit).ok()?;
        self.path_in(&scopes, scopes.node(at.offset)?, depth)
    }

    /// Returns the full name of a node; `None` if it has no name of its own, or is nested too deep. `depth` is
    /// the depth of the recursion.
    pub(super) fn path_in(
        &self,
        scopes: &Scopes<'a>,
        node: &Node<'a>,
        depth: u32,
    ) -> Option<String> {
        // Damaged entries could form a cycle, even across units.
        let depth = deeper(depth).ok()?;
        // An entry that completes a declaration has the full name of the declaration.
        let referred = |value| self.program.referred(scopes.unit, value);
        if let Some(origin) = node.origin.as_ref().and_then(referred) {
            if origin.unit != scopes.unit {
                return self.path_below(origin, depth);
            }
            if let Some(other) = scopes.node(origin.offset).filter(|of| of.origin.is_none()) {
                return self.path_in(scopes, other, depth);
            }
        }
        let name = plain::word(&node.name?.to_string_lossy()).into_owned();
        self.program.work().spend(name.len() as u64).ok()?;
        let Some(parent) = node.parent.map(|parent| &scopes.nodes[parent]) else {
            return Some(name);
        };
        let around = self.path_in(scopes, parent, depth).unwrap_or_else(|| match parent.tag {
            DW_TAG_namespace => "(anonymous namespace)".to_owned(),
            _ => "(anonymous)".to_owned(),
        });
        self.program.work().spend(around.len() as u64).ok()?;
        Some(format!("{around}::{name}"))
    }

    /// Reads an entry with its attributes.
    pub(super) fn entry(&self, at: At) -> gimli::Result<Entry<'a>> {
        let entry = self.program.unit(at.unit)?.entry(UnitOffset(at.offset))?;
        self.note(&entry)?;
        Ok(entry)
    }

    /// Charges the cost of an entry that was read.
    pub(super) fn note(&self, entry: &Entry<'a>) -> gimli::Result<()> {
        self.program.work().entry(entry.attrs().len())
    }

    /// Returns an attribute's text.
    pub(super) fn text(&self, unit: UnitAt, value: AttributeValue<Slice<'a>>) -> Option<String> {
        let text =
            self.program.dwarf(unit).attr_string(self.program.unit(unit).ok()?, value).ok()?;
        self.program.work().spend(text.len() as u64).ok()?;
        Some(plain::word(&text.to_string_lossy()).into_owned())
    }

    /// Returns the name in the entry itself, without enclosing scopes.
    pub(super) fn name(&self, unit: UnitAt, entry: &Entry<'a>) -> Option<String> {
        self.text(unit, entry.attr_value(DW_AT_name)?)
    }

    /// Returns the entry that the attribute `by` refers to.
    pub(super) fn reference(&self, unit: UnitAt, entry: &Entry<'a>, by: DwAt) -> Option<At> {
        self.program.referred(unit, &entry.attr_value(by)?)
    }

    /// Returns the type of an entry (`DW_AT_type`), which may be a declaration.
    pub(super) fn type_of(&self, unit: UnitAt, entry: &Entry<'a>) -> Option<At> {
        self.reference(unit, entry, DW_AT_type)
    }

    /// Returns the language of a unit. A unit with the shared parts of other units may not state its
    /// language. Such a unit gets the language of the first unit that states one.
    pub(super) fn language(&self, unit: UnitAt) -> Language {
        self.stated_language(unit).unwrap_or_else(|| {
            *self.usual.get_or_init(|| {
                let mut stated = self.program.units().filter_map(|unit| self.stated_language(unit));
                stated.next().unwrap_or(Language::C)
            })
        })
    }

    fn stated_language(&self, unit: UnitAt) -> Option<Language> {
        let unit = self.program.unit(unit).ok()?;
        let root = unit.entry(unit.header.root_offset()).ok()?;
        let Some(AttributeValue::Language(language)) = root.attr_value(DW_AT_language) else {
            return None;
        };
        Some(match language {
            DW_LANG_Rust => Language::Rust,
            DW_LANG_C_plus_plus
            | DW_LANG_C_plus_plus_03
            | DW_LANG_C_plus_plus_11
            | DW_LANG_C_plus_plus_14
            | DW_LANG_C_plus_plus_17
            | DW_LANG_C_plus_plus_20 => Language::Cpp,
            _ => Language::C,
        })
    }

    /// Returns the type behind typedefs and qualifiers. A declaration is replaced by its definition, if
    /// there is one.
    pub(super) fn bare(&self, from: At) -> Result<(At, Entry<'a>)> {
        if let Some(&at) = self.behind.borrow().get(&from) {
            return Ok((at, self.entry(at)?));
        }
        let mut at = from;
        for _ in 0..DEEPEST {
            let entry = self.entry(at)?;
            let next = match qualifier(entry.tag()).is_some() || entry.tag() == DW_TAG_typedef {
                true => self.type_of(at.unit, &entry),
                false if is_declaration(&entry) => self.definition(at, &entry)?,
                false => None,
            };
            match next.filter(|next| *next != at) {
                Some(next) => at = next,
                None => {
                    self.behind.borrow_mut().insert(from, at);
                    return Ok((at, entry));
                }
            }
        }
        bail!("damaged debug information: a type refers to itself")
    }

    /// Returns the definition of the type that is declared at `at`.
    fn definition(&self, at: At, entry: &Entry<'a>) -> gimli::Result<Option<At>> {
        if let Some(signed) = self.reference(at.unit, entry, DW_AT_signature) {
            return Ok(Some(signed));
        }
        let Some(path) = self.path(at) else { return Ok(None) };
        Ok(self.definitions()?.get(&path).copied())
    }

    /// Returns the places of all defined types with members or values, by full name.
    fn definitions(&self) -> gimli::Result<&HashMap<String, At>> {
        if let Some(defined) = self.defined.get() {
            return Ok(defined);
        }
        let mut defined = HashMap::new();
        for unit in self.program.units() {
            let scopes = Scopes::of(self.program, unit)?;
            for node in scopes.types().filter(|node| is_aggregate(node.tag)) {
                if let Some(path) = self.path_in(&scopes, node, 0) {
                    defined.entry(path).or_insert(At { unit, offset: node.offset });
                }
            }
        }
        Ok(self.defined.get_or_init(|| defined))
    }

    /// Returns the size of a type in bytes; `None` if the debug information does not state it.
    pub(super) fn size(&self, at: At, depth: u32) -> Result<Option<u64>> {
        if let Some(&size) = self.sizes.borrow().get(&at) {
            return Ok(size);
        }
        let size = self.read_size(at, depth)?.map(bounded).transpose()?;
        self.sizes.borrow_mut().insert(at, size);
        Ok(size)
    }

    fn read_size(&self, at: At, depth: u32) -> Result<Option<u64>> {
        let (at, entry) = self.bare(at)?;
        if let Some(size) = number(entry.attr(DW_AT_byte_size)) {
            return Ok(Some(size));
        }
        let tag = entry.tag();
        if tag == DW_TAG_ptr_to_member_type {
            // Itanium C++ ABI 2.3: a pointer to a member function consists of a pointer and an adjustment.
            let target = self.type_of(at.unit, &entry).map(|target| self.bare(target));
            let target = target.transpose()?.map(|(_, target)| target.tag());
            let words = if target == Some(DW_TAG_subroutine_type) { 2 } else { 1 };
            return Ok(Some(words * self.pointer(at.unit)?));
        }
        if is_indirect(tag) {
            return Ok(Some(self.pointer(at.unit)?));
        }
        if tag != DW_TAG_array_type {
            return Ok(None);
        }
        let element = match self.type_of(at.unit, &entry) {
            Some(element) => self.size(element, deeper(depth)?)?,
            None => None,
        };
        let count = elements(&self.dimensions(at)?)?;
        Ok(element.map(|element| element.saturating_mul(count)))
    }

    /// Returns the alignment that a type requires, in bytes.
    pub(super) fn align(&self, at: At, depth: u32) -> Result<u64> {
        if let Some(&align) = self.aligns.borrow().get(&at) {
            return Ok(align);
        }
        let align = self.read_align(at, depth)?;
        self.aligns.borrow_mut().insert(at, align);
        Ok(align)
    }

    fn read_align(&self, at: At, depth: u32) -> Result<u64> {
        let (inner, entry) = self.bare(at)?;
        // A typedef or qualifier between `at` and `inner` may state an alignment.
        let mut stated = 1;
        let mut outer = at;
        while outer != inner {
            let entry = self.entry(outer)?;
            stated = stated.max(alignment(&entry).unwrap_or(1));
            let next = self.type_of(outer.unit, &entry).filter(|_| !is_declaration(&entry));
            outer = next.unwrap_or(inner);
        }
        let tag = entry.tag();
        let own = if tag == DW_TAG_array_type && entry.attr(DW_AT_GNU_vector).is_none() {
            match self.type_of(inner.unit, &entry) {
                Some(element) => self.align(element, deeper(depth)?)?,
                None => 1,
            }
        } else if is_aggregate(tag) && tag != DW_TAG_enumeration_type {
            self.aggregate(inner, deeper(depth)?)?.align
        } else if tag == DW_TAG_ptr_to_member_type {
            self.pointer(inner.unit)?
        } else {
            let size = self.size(inner, depth)?.unwrap_or(1).max(1);
            let parts = match entry.attr_value(DW_AT_encoding) {
                // A complex number has the alignment of its real and imaginary parts.
                Some(AttributeValue::Encoding(DW_ATE_complex_float)) => 2,
                _ => 1,
            };
            let widest = match tag == DW_TAG_base_type {
                true => self.program.widest,
                // Vector types may require up to 64 bytes.
                false => 64,
            };
            let natural = size / parts;
            (1 << natural.trailing_zeros().min(6)).min(widest)
        };
        let atomic = match self.entry(at)?.tag() == DW_TAG_atomic_type {
            true => self.size(at, depth)?.filter(|size| size.is_power_of_two() && *size <= 16),
            false => None,
        };
        let entry = alignment(&entry).unwrap_or(1);
        Ok(own.max(stated).max(entry).max(atomic.unwrap_or(1)))
    }

    /// Returns the lengths of an array's dimensions, outermost first. A dimension of unstated length has
    /// length 0.
    pub(super) fn dimensions(&self, at: At) -> gimli::Result<Vec<u64>> {
        let mut tree = self.program.unit(at.unit)?.entries_tree(Some(UnitOffset(at.offset)))?;
        let mut children = tree.root()?.children();
        let mut lengths = Vec::new();
        while let Some(child) = children.next()? {
            let entry = child.entry();
            self.note(entry)?;
            if entry.tag() != DW_TAG_subrange_type || lengths.len() >= DEEPEST as usize {
                continue;
            }
            let count = number(entry.attr(DW_AT_count));
            let upper = entry.attr(DW_AT_upper_bound).and_then(|bound| match bound.value() {
                AttributeValue::Exprloc(_) => None,
                // An upper bound of -1, whatever its width, means an array without elements.
                _ => bound.sdata_value().map(|last| last.saturating_add(1).max(0) as u64),
            });
            lengths.push(count.or(upper).unwrap_or(0));
        }
        Ok(lengths)
    }

    /// Returns the size of a pointer in bytes.
    pub(super) fn pointer(&self, unit: UnitAt) -> gimli::Result<u64> {
        Ok(u64::from(self.program.unit(unit)?.encoding().address_size))
    }
}

/// Returns the next nesting depth.
///
/// # Errors
/// If the nesting is too deep, which means that the types form a cycle.
pub(super) fn deeper(depth: u32) -> Result<u32> {
    if depth >= DEEPEST {
        bail!("damaged debug information: a type holds itself");
    }
    Ok(depth + 1)
}

/// Returns the number of elements of an array with these dimensions.
///
/// # Errors
/// If the number exceeds every address space.
pub(super) fn elements(dimensions: &[u64]) -> Result<u64> {
    let product = |product: u64, length: &u64| bounded(product.saturating_mul(*length));
    dimensions.iter().try_fold(1, product)
}

/// Returns the alignment that an entry states, if it is a valid alignment.
pub(super) fn alignment(entry: &Entry<'_>) -> Option<u64> {
    let stated = number(entry.attr(DW_AT_alignment))?;
    (stated.is_power_of_two() && stated <= 1 << 32).then_some(stated)
}

/// Returns the value of an attribute that is a constant.
pub(super) fn number(attribute: Option<&Attribute<Slice<'_>>>) -> Option<u64> {
    attribute?.udata_value()
}

/// Returns whether an entry only declares a type that is defined elsewhere.
pub(super) fn is_declaration(entry: &Entry<'_>) -> bool {
    entry.attr(DW_AT_signature).is_some()
        || entry.attr_value(DW_AT_declaration) == Some(AttributeValue::Flag(true))
}
