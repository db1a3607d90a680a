//! The layout of types in memory: members, holes, lines, and a better order of the members (Drepper 6.2.1,
//! Figure 6.3).
//!
//! The arithmetic ([`Span`], [`Holes`], [`Reorder`]) works on any [`Aggregate`]. [`Binary`] reads aggregates
//! from the debug information of a binary.

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

/// A type, as one or more compilation units of a binary define it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    pub aggregate: Rc<Aggregate>,
    /// The places that define the type in this way, one per compilation unit.
    pub origins: Vec<Origin>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The compilation unit, if it has a name.
    pub unit: Option<String>,
    /// The file and line of the definition, such as `order.h:12`, if the debug information states them.
    pub declared: Option<String>,
}

impl Binary {
    /// Opens a binary and the other files that hold its debug information.
    ///
    /// # Errors
    /// If the file is not an ELF object, or has no debug information.
    pub fn open(path: &Path, places: &Places<'_>) -> Result<Self> {
        Ok(Binary { opened: Opened::new(path, places)? })
    }

    /// Returns the files with parts of the debug information that could not be used, each with the reason.
    pub fn missing(&self) -> &[String] {
        &self.opened.missing
    }

    /// Returns the types that these names or globs match, in the order of `names`. A type with several
    /// different definitions is returned once per definition.
    ///
    /// # Errors
    /// If a name matches no type or is ambiguous, or the debug information is damaged.
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

    /// Returns the only definition of a type. [`Aggregate::field`] finds the fields in it.
    ///
    /// # Errors
    /// As for [`types`](Self::types), and if the type has several different definitions.
    pub fn only(&self, name: &str) -> Result<Rc<Aggregate>> {
        let found = self.types(&[name.to_owned()])?;
        match found.as_slice() {
            [one] => Ok(Rc::clone(&one.aggregate)),
            _ => bail!("`{name}` is defined in {} ways; `linefill layout` shows them", found.len()),
        }
    }

    /// Returns all types, or the types that `names` match, by name. Each has its summary for lines of
    /// `line` bytes.
    ///
    /// # Errors
    /// If a glob is invalid, nothing matches, or the debug information is damaged.
    pub fn list(&self, names: &[String], line: u64) -> Result<Vec<(String, Summary)>> {
        let wanted = Wanted::all(names)?;
        self.with(|types| types.all(&wanted, |aggregate| Summary::of(aggregate, line)))
    }

    /// Returns the contents of the variables at these addresses of the binary. Addresses without debug
    /// information are absent.
    pub fn variables(&self, addresses: &[u64]) -> Result<HashMap<u64, Contents>> {
        self.with(|types| types.variables(addresses))
    }

    fn with<T>(&self, read: impl FnOnce(&Types<'_, '_>) -> Result<T>) -> Result<T> {
        let path = self.opened.path.display();
        let damaged = || format!("{path}: damaged debug information");
        let work = &self.opened.work;
        let program = Program::new(&self.opened).map_err(anyhow::Error::from);
        let found = program.and_then(|program| read(&Types::new(&program)));
        if work.spent.get() {
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
