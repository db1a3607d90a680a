//! Types read from DWARF 2 to 5.

// The constants of gimli are spelt as the standard spells them.
#![allow(non_upper_case_globals)]

mod build;
mod find;
mod program;
mod scopes;
mod spell;
mod types;
mod variables;

pub(super) use program::Program;
pub(super) use types::Types;
