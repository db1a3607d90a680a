//! What a host does not give, in words.

use alloc::string::{String, ToString};

/// Why a host does not give what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lack {
    /// It has no such thing, whatever it is asked.
    Absent {
        /// Its name.
        host: &'static str,
        /// What it does not have.
        what: &'static str,
    },
    /// It has such things, and refused: its answer.
    Refused(String),
}

messages! { Lack:
    Lack::Absent { host, what } => ("{host} has no {what}");
    Lack::Refused(answer) => ("{answer}");
}

impl Lack {
    /// What somebody answered who refused.
    pub fn refused(answer: impl core::fmt::Display) -> Self {
        Lack::Refused(answer.to_string())
    }

    /// Whether the host has no such thing at all.
    pub const fn is_absence(&self) -> bool {
        matches!(self, Lack::Absent { .. })
    }
}
