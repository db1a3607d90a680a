//! Finds types by name, and the types of variables by address.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use anyhow::{Result, anyhow, bail};
use gimli::constants::*;
use gimli::{AttributeValue, DwarfFileType, Expression, Operation, UnitOffset};

use super::super::file::Slice;
use super::super::name::{Answer, Wanted};
use super::super::print::first_of;
use super::super::{Aggregate, Contents, Definition, Origin};
use super::types::{Types, is_declaration, number};
use super::{At, Node, Scopes, UnitAt, is_aggregate};
use crate::lab::plain;
use crate::order;

/// Maximum number of names that an error message lists.
const SUGGESTIONS: usize = 5;

/// A type that matches a name.
struct Candidate {
    answer: Answer,
    path: String,
    at: At,
}

impl<'a> Types<'_, 'a> {
    /// Returns the types that `wanted` matches best, in the order of their names. Each different definition
    /// is returned once.
    ///
    /// # Errors
    /// If there is no such type, with suggestions of similar names. If a name that is not a glob matches
    /// several types.
    pub fn find(&self, wanted: &Wanted) -> Result<Vec<Definition>> {
        let mut candidates = Vec::new();
        for unit in self.program.units() {
            let scopes = Scopes::of(self.program, unit)?;
            for node in scopes.types() {
                candidates.extend(self.candidate(unit, &scopes, node, wanted)?);
            }
        }
        let best = candidates.iter().map(|candidate| candidate.answer).max();
        candidates.retain(|candidate| Some(candidate.answer) == best);
        let mut by_path: BTreeMap<String, Vec<At>> = BTreeMap::new();
        for candidate in candidates {
            by_path.entry(candidate.path).or_default().push(candidate.at);
        }
        if by_path.is_empty() {
            return Err(self.unknown(wanted)?);
        }
        if by_path.len() > 1 && !wanted.is_glob() {
            bail!(
                "`{}` is ambiguous: {}. Say more of the name, or use a glob to see them all",
                wanted.text,
                some(by_path.keys())
            );
        }
        let mut found = Vec::new();
        for (path, places) in by_path {
            found.extend(self.definitions_at(&path, places)?);
        }
        Ok(found)
    }

    fn candidate(
        &self,
        unit: UnitAt,
        scopes: &Scopes<'a>,
        node: &Node<'a>,
        wanted: &Wanted,
    ) -> Result<Option<Candidate>> {
        let Some(path) = self.path_in(scopes, node, 0) else { return Ok(None) };
        let Some(answer) = wanted.answer(&path) else { return Ok(None) };
        let mut candidate = Candidate { answer, path, at: At { unit, offset: node.offset } };
        if node.tag == DW_TAG_typedef {
            let Some(at) = self.behind(candidate.at)? else { return Ok(None) };
            candidate.at = at;
            if let Some(path) = self.path(at) {
                // A glob finds a named type by its own name, not by its typedefs.
                if wanted.is_glob() {
                    return Ok(None);
                }
                candidate.path = path;
            }
        }
        Ok(Some(candidate))
    }

    /// Returns the type behind a typedef, if it has members or values and is defined.
    fn behind(&self, at: At) -> Result<Option<At>> {
        let (at, entry) = self.bare(at)?;
        let is_it = is_aggregate(entry.tag()) && !is_declaration(&entry);
        Ok(is_it.then_some(at))
    }

    /// Returns the different definitions among the types at `places`, which all have the name `path`.
    fn definitions_at(&self, path: &str, mut places: Vec<At>) -> Result<Vec<Definition>> {
        places.sort_unstable();
        places.dedup();
        let mut found: Vec<Definition> = Vec::new();
        for at in places {
            let mut aggregate = self.aggregate(at, 0)?;
            if aggregate.path.is_empty() {
                Rc::make_mut(&mut aggregate).path = path.to_owned();
            }
            let origin = self.origin(at);
            let each = self.members_within(&aggregate) as u64;
            self.program.work().spend(8 * each * found.len() as u64)?;
            match found.iter_mut().find(|other| other.aggregate.lies_like(&aggregate)) {
                Some(other) => other.origins.push(origin),
                None => found.push(Definition { aggregate, origins: vec![origin] }),
            }
        }
        Ok(found)
    }

    /// Returns the place of a type's definition, as far as the debug information states it.
    fn origin(&self, at: At) -> Origin {
        let read = || -> gimli::Result<Origin> {
            let unit = self.program.unit(at.unit)?;
            let root = unit.entry(unit.header.root_offset())?;
            let name = root.attr_value(DW_AT_name);
            let entry = self.entry(at)?;
            let file = entry.attr(DW_AT_decl_file).and_then(|file| file.udata_value());
            let line = number(entry.attr(DW_AT_decl_line));
            let file = file.and_then(|file| self.file(at.unit, file));
            Ok(Origin {
                unit: name.and_then(|name| self.text(at.unit, name)),
                declared: file.zip(line).map(|(file, line)| format!("{file}:{line}")),
            })
        };
        read().unwrap_or_default()
    }

    /// Returns the name of a file of a unit's line table, without its directory.
    fn file(&self, at: UnitAt, index: u64) -> Option<String> {
        let unit = self.program.unit(at).ok()?;
        let header = unit.line_program.as_ref()?.header();
        let name = header.file(index)?.path_name();
        let name = self.program.dwarf(at).attr_string(unit, name).ok()?;
        self.program.work().spend(name.len() as u64).ok()?;
        let name = plain::word(&name.to_string_lossy()).into_owned();
        Some(name.rsplit('/').next().unwrap_or(&name).to_owned())
    }

    /// Calls `visit` with every type with members or values that `wanted` matches, or with every such type
    /// if `wanted` is empty. The variants of a type are part of it, and are left out unless a name is theirs.
    /// Returns the results in the order of the types' names, and equal results for one name only once.
    pub fn all<T: PartialEq>(
        &self,
        wanted: &[Wanted],
        visit: impl Fn(&Aggregate) -> T,
    ) -> Result<Vec<(String, T)>> {
        let mut all: BTreeMap<String, Vec<T>> = BTreeMap::new();
        for unit in self.program.units() {
            let scopes = self.scopes(unit)?;
            for node in scopes.types() {
                let Some(path) = self.path_in(&scopes, node, 0) else { continue };
                let mut at = At { unit, offset: node.offset };
                if node.tag == DW_TAG_typedef {
                    match self.behind(at)? {
                        Some(target) if self.path(target).is_none() => at = target,
                        _ => continue,
                    }
                }
                let variant = scopes.is_variant(node);
                let asked =
                    |name: &Wanted| name.answer(&path).is_some() && !(variant && name.is_glob());
                if !wanted.iter().any(asked) && (variant || !wanted.is_empty()) {
                    continue;
                }
                let kept = visit(&*self.aggregate(at, 0)?);
                let known = all.entry(path).or_default();
                self.program.work().spend(8 * known.len() as u64)?;
                if !known.contains(&kept) {
                    known.push(kept);
                }
            }
            self.forget(unit);
        }
        if all.is_empty() {
            let first = wanted.first().cloned().unwrap_or_default();
            return Err(self.unknown(&first)?);
        }
        let named =
            |(path, kept): (String, Vec<T>)| kept.into_iter().map(move |kept| (path.clone(), kept));
        Ok(all.into_iter().flat_map(named).collect())
    }

    /// Returns the error for a name that matches no type.
    fn unknown(&self, wanted: &Wanted) -> Result<anyhow::Error> {
        let mut near: BTreeMap<String, usize> = BTreeMap::new();
        let mut declared = false;
        for unit in self.program.units() {
            let scopes = Scopes::of(self.program, unit)?;
            for node in scopes.aggregates() {
                let Some(path) = self.path_in(&scopes, node, 0) else { continue };
                if node.defined {
                    let distance = wanted.distance(&path);
                    near.insert(path, distance);
                } else {
                    declared |= wanted.answer(&path).is_some();
                }
            }
        }
        let text = &wanted.text;
        if near.is_empty() {
            return Ok(anyhow!(
                "the debug information has no types; it may have only line numbers (-g1, `debug = \
                 \"line-tables-only\"`). Compile with -g, or with `debug = true` in the Cargo \
                 profile"
            ));
        }
        if declared {
            return Ok(anyhow!(
                "`{text}` is declared, but not defined in what this binary was compiled from"
            ));
        }
        if wanted.is_glob() {
            return Ok(anyhow!("no type matches `{text}`; --list shows all {}", near.len()));
        }
        let count = near.len();
        let mut near: Vec<(String, usize)> = near.into_iter().collect();
        order::by_key(&mut near, |(_, distance)| *distance);
        let close = 1 + text.chars().count() / 3;
        near.retain(|(_, distance)| *distance <= close);
        let meant = match near.is_empty() {
            true => String::new(),
            false => format!(" did you mean {}?", some(near.iter().map(|(path, _)| path))),
        };
        Ok(anyhow!("no type `{text}`;{meant} --list shows all {count}"))
    }

    /// Returns the contents of the variables at `addresses`. Addresses without debug information are absent.
    pub fn variables(&self, addresses: &[u64]) -> Result<HashMap<u64, Contents>> {
        let mut found = HashMap::new();
        for unit_at in self.program.units() {
            let mut entries = self.program.unit(unit_at)?.entries_raw(None)?;
            let mut places: Vec<(u64, usize)> = Vec::new();
            while !entries.is_empty() {
                let UnitOffset(offset) = entries.next_offset();
                let Some(abbreviation) = entries.read_abbreviation()? else { continue };
                self.program.work().entry(abbreviation.attributes().len())?;
                if abbreviation.tag() != DW_TAG_variable {
                    entries.skip_attributes(abbreviation.attributes())?;
                    continue;
                }
                for specification in abbreviation.attributes() {
                    let attribute = entries.read_attribute(*specification)?;
                    if attribute.name() == DW_AT_location
                        && let AttributeValue::Exprloc(expression) = attribute.value()
                        && let Some(address) = self.address(unit_at, expression)?
                        && addresses.contains(&address)
                    {
                        places.push((address, offset));
                    }
                }
            }
            for (address, offset) in places {
                if let Some(contents) = self.contents(At { unit: unit_at, offset })? {
                    found.insert(address, contents);
                }
            }
        }
        Ok(found)
    }

    /// Returns the contents of a variable; `None` if it has no type.
    fn contents(&self, at: At) -> Result<Option<Contents>> {
        let entry = self.entry(at)?;
        // A variable that was declared before its definition has its name and type in the declaration.
        let declared = self.reference(at.unit, &entry, DW_AT_specification);
        let mut name = self.name(at.unit, &entry);
        if let (None, Some(declared)) = (&name, declared) {
            name = self.name(declared.unit, &self.entry(declared)?);
        }
        let of = match (self.reference(at.unit, &entry, DW_AT_type), declared) {
            (None, Some(declared)) => self.type_of(declared.unit, &self.entry(declared)?),
            (of, _) => of,
        };
        if of.is_none() {
            return Ok(None);
        }
        let (elements, inner) = self.inside(of, 0)?;
        Ok(Some(Contents { name, elements, inner }))
    }

    /// Returns the address in an expression that consists of one address and nothing else.
    fn address(&self, at: UnitAt, expression: Expression<Slice<'_>>) -> Result<Option<u64>> {
        let (dwarf, unit) = (self.program.dwarf(at), self.program.unit(at)?);
        let mut operations = expression.operations(unit.encoding());
        let Ok(Some(first)) = operations.next() else { return Ok(None) };
        let address = match first {
            Operation::Address { address } => Some(address),
            // A split unit does not say where its part of the table begins.
            Operation::AddressIndex { index } if dwarf.file_type == DwarfFileType::Main => {
                Some(dwarf.address(unit, index)?)
            }
            _ => None,
        };
        Ok(address.filter(|_| matches!(operations.next(), Ok(None))))
    }
}

/// Formats the first of several names, and the number of the others.
fn some<'n>(names: impl Iterator<Item = &'n String>) -> String {
    let quoted: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    first_of(&quoted, SUGGESTIONS)
}
