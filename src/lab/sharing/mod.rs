//! The cost of several threads touching the same lines, and the gain of padding (Drepper 6.4.1, Sestoft
//! 4.2).
//!
//! A [`Scheme`] says which thread touches which field. The places of the fields determine which lines
//! several threads need ([`sharers`]). A model of MESI determines how often the threads request these lines
//! ([`requests`]), and measurements show what that costs on this machine ([`Measured`]).

mod advice;
mod found;
mod measure;
mod model;
mod place;
pub mod print;
mod program;
mod sampled;
mod trace;

pub use advice::advice;
pub use found::FalselyShared;
pub use measure::{Measured, VARIANTS, measure};
pub use model::{Requests, requests};
pub use place::{Layout, MOST_THREADS, Shared, sharers, touches, worst};
pub use print::json;
pub use program::{How, traced};
pub(crate) use sampled::{events, run, watch};

use crate::order;

/// A field of a structure, or a place given by its offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The field's name. For an offset it is the number.
    pub name: String,
    /// Offset of the first byte in the structure.
    pub offset: u64,
    /// Size in bytes, at least 1.
    pub size: u64,
}

/// An access pattern: a thread touches a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// The thread's number, as given.
    pub thread: usize,
    /// Index of the field.
    pub field: usize,
    /// Whether the thread writes the field; otherwise it only reads it.
    pub write: bool,
}

/// The fields of a structure, and which threads touch them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheme {
    /// The name of the structure, if it has one.
    pub name: Option<String>,
    /// Size of the structure in bytes, if known.
    pub size: Option<u64>,
    /// Alignment of the structure in bytes.
    pub align: u64,
    /// Size of a line in bytes.
    pub line: u64,
    pub fields: Vec<Field>,
    pub touches: Vec<Touch>,
}

impl Scheme {
    /// Returns the numbers of the threads in ascending order.
    pub fn threads(&self) -> Vec<usize> {
        order::distinct(self.touches.iter().map(|touch| touch.thread))
    }

    /// Returns the offsets in a line at which the structure may begin, according to its alignment.
    pub fn starts(&self) -> Vec<u64> {
        let step = self.align.clamp(1, self.line);
        (0..self.line).step_by(step as usize).collect()
    }

    pub fn of_threads(&self, threads: &[usize]) -> Self {
        let theirs = self.touches.iter().filter(|touch| threads.contains(&touch.thread));
        Scheme { touches: theirs.copied().collect(), ..self.clone() }
    }
}

#[cfg(test)]
pub(crate) mod planted {
    use super::*;

    /// Two adjacent counters of 8 bytes, each written by its own thread.
    pub fn counters() -> Scheme {
        scheme(&[(0, 8), (8, 8)], &[(0, 0, true), (1, 1, true)])
    }

    /// Creates a scheme from fields (offset, size) and touches (thread, field, whether it writes).
    pub fn scheme(fields: &[(u64, u64)], touches: &[(usize, usize, bool)]) -> Scheme {
        let field =
            |&(offset, size): &(u64, u64)| Field { name: format!("f{offset}"), offset, size };
        let touch = |&(thread, field, write): &(usize, usize, bool)| Touch { thread, field, write };
        Scheme {
            name: None,
            size: None,
            align: 8,
            line: 64,
            fields: fields.iter().map(field).collect(),
            touches: touches.iter().map(touch).collect(),
        }
    }
}
