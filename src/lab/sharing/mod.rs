//! What it costs that threads touch the same lines, and what padding would gain (Drepper 6.4.1,
//! Sestoft 4.2).
//!
//! A [`Scheme`] says which thread touches which field. From where the fields lie follows which
//! lines several threads need ([`sharers`]), from a model of MESI how often they ask for them
//! ([`requests`]), and from measurements what that takes here ([`Measured`]).

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
pub use measure::{Measured, Trip, VARIANTS, measure};
pub use model::{Requests, requests};
pub use place::{Layout, MOST_THREADS, Shared, Sharing, sharers, touches, worst};
pub use print::json;
pub use program::{How, traced};
pub(crate) use sampled::{events, run, watch};

/// A field, or a place that is given by its offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name: an offset's is the number.
    pub name: String,
    /// Its first byte in the structure.
    pub offset: u64,
    /// Its bytes, at least one.
    pub size: u64,
}

/// A thread that touches a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// The thread's number, as it was given.
    pub thread: usize,
    /// Which of the fields.
    pub field: usize,
    /// Whether it writes it, and does not only read it.
    pub write: bool,
}

/// Who touches what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheme {
    /// The name of the structure, if it has one.
    pub name: Option<String>,
    /// Its bytes, if they are known.
    pub size: Option<u64>,
    /// The alignment of the structure.
    pub align: u64,
    /// Bytes of a line.
    pub line: u64,
    /// The fields.
    pub fields: Vec<Field>,
    /// Who touches them.
    pub touches: Vec<Touch>,
}

impl Scheme {
    /// The numbers of the threads, in rising order.
    pub fn threads(&self) -> Vec<usize> {
        let mut threads: Vec<usize> = self.touches.iter().map(|touch| touch.thread).collect();
        threads.sort_unstable();
        threads.dedup();
        threads
    }

    /// The places in a line at which the structure may begin, as far as its alignment tells.
    pub fn starts(&self) -> Vec<u64> {
        let step = self.align.clamp(1, self.line);
        (0..self.line).step_by(step as usize).collect()
    }

    /// The same with these threads alone.
    pub fn of_threads(&self, threads: &[usize]) -> Self {
        let touches = self.touches.iter();
        let theirs = touches.filter(|touch| threads.contains(&touch.thread));
        Scheme {
            touches: theirs.copied().collect(),
            ..self.clone()
        }
    }
}

#[cfg(test)]
pub(crate) mod planted {
    use super::*;

    /// Two counters of 8 bytes side by side, each written by a thread of its own.
    pub fn counters() -> Scheme {
        scheme(&[(0, 8), (8, 8)], &[(0, 0, true), (1, 1, true)])
    }

    /// Fields by offset and size, and touches by thread, field, and whether it is written.
    pub fn scheme(fields: &[(u64, u64)], touches: &[(usize, usize, bool)]) -> Scheme {
        let field = |&(offset, size): &(u64, u64)| Field {
            name: format!("f{offset}"),
            offset,
            size,
        };
        let touch = |&(thread, field, write): &(usize, usize, bool)| Touch {
            thread,
            field,
            write,
        };
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
