//! How types lie in memory: members, holes, lines, and a better order (Drepper 6.2.1,
//! Figure 6.3).
//!
//! The arithmetic ([`Span`], [`Holes`], [`Reorder`]) works on an [`Aggregate`] wherever it comes
//! from; [`Binary`] reads these from the debug information of a binary.

mod aggregate;
mod diff;
mod dwarf;
mod file;
mod holes;
mod json;
mod name;
mod order;
pub mod print;
mod reorder;

use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

use anyhow::{Result, bail};

pub use aggregate::{Aggregate, Contents, Kind, Language, Member, Role, Span, Variant};
pub use diff::Diff;
pub use file::Places;
pub use holes::{Hole, Holes};
pub use json::{Summary, TypeJson};
pub use reorder::{Better, Reorder};

use dwarf::{Program, Types};
use file::Opened;
use name::Wanted;

/// A binary with debug information.
#[derive(Debug)]
pub struct Binary {
    opened: Opened,
}

/// A type as some of a binary's units define it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The type.
    pub aggregate: Rc<Aggregate>,
    /// Where it is defined so, once a unit.
    pub origins: Vec<Origin>,
}

/// Where a definition comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The compilation unit, if it has a name.
    pub unit: Option<String>,
    /// The file and line of the definition, `order.h:12`, if they are told.
    pub declared: Option<String>,
}

impl Binary {
    /// Opens a binary and what else holds its debug information.
    ///
    /// # Errors
    /// If it is no ELF object, or there is no debug information.
    pub fn open(path: &Path, places: &Places<'_>) -> Result<Self> {
        Ok(Binary {
            opened: Opened::new(path, places)?,
        })
    }

    /// Files with a part of the debug information that could not be used, and why.
    pub fn missing(&self) -> &[String] {
        &self.opened.missing
    }

    /// The types of each of these names or globs, one after the other. A type that is defined in
    /// several ways is there as often.
    ///
    /// # Errors
    /// If a name means no type or several, or the debug information is damaged.
    pub fn types(&self, names: &[String]) -> Result<Vec<Definition>> {
        self.with(|types| {
            let mut found: Vec<Definition> = Vec::new();
            let mut known: HashMap<String, Vec<usize>> = HashMap::new();
            for name in names {
                for definition in types.find(&Wanted::new(name)?)? {
                    let alike = known.entry(definition.aggregate.path.clone()).or_default();
                    if alike.iter().all(|&index| found[index] != definition) {
                        alike.push(found.len());
                        found.push(definition);
                    }
                }
            }
            Ok(found)
        })
    }

    /// The only type of a name, for those who need one: where its fields lie tells
    /// [`Aggregate::field`].
    ///
    /// # Errors
    /// As for [`types`](Self::types), and if it is defined in several ways.
    pub fn only(&self, name: &str) -> Result<Rc<Aggregate>> {
        let found = self.types(&[name.to_owned()])?;
        match found.as_slice() {
            [one] => Ok(Rc::clone(&one.aggregate)),
            _ => bail!(
                "`{name}` is defined in {} ways; `linefill layout` shows them",
                found.len()
            ),
        }
    }

    /// All types by name, or those of these names, each with its numbers on lines of `line` bytes.
    ///
    /// # Errors
    /// If a glob is broken, or the debug information is damaged.
    pub fn list(&self, names: &[String], line: u64) -> Result<Vec<(String, Summary)>> {
        let wanted = Wanted::all(names)?;
        self.with(|types| types.all(&wanted, |aggregate| Summary::of(aggregate, line)))
    }

    /// What lies in the variables at these addresses of the binary, as far as it is told.
    ///
    /// # Errors
    /// If the debug information is damaged.
    pub fn variables(&self, addresses: &[u64]) -> Result<HashMap<u64, Contents>> {
        self.with(|types| types.variables(addresses))
    }

    fn with<T>(&self, read: impl FnOnce(&Types<'_, '_>) -> Result<T>) -> Result<T> {
        let path = self.opened.path.display();
        let damaged = || format!("{path}: damaged debug information");
        let work = &self.opened.work;
        let program = Program::new(&self.opened).map_err(anyhow::Error::from);
        let found = program.and_then(|program| read(&Types::new(&program)));
        if work.spent() {
            bail!(
                "{}: its entries refer to each other so often, or are nested so deep, that reading \
                 them takes far longer than a compiler's would: damaged, or made to",
                damaged()
            );
        }
        found.map_err(|error| match error.is::<gimli::Error>() {
            true => error.context(damaged()),
            false => error,
        })
    }
}
