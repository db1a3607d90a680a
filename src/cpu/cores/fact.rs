//! A fact about a core: its value and the document that states it, or why there is no value.

use core::fmt;

/// The place in a document that states a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// The document, with its publisher.
    pub document: &'static str,
    /// The chapter, section, table or file in it.
    pub section: &'static str,
}

impl Source {
    pub(super) const fn new(document: &'static str, section: &'static str) -> Self {
        Source { document, section }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.document, self.section)
    }
}

/// A value that was published, or the reason why none is known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact<T> {
    /// The value is published.
    Known {
        /// The value.
        value: T,
        /// Where it is published.
        source: Source,
    },
    /// No value is known here.
    Unknown {
        /// Why not.
        reason: &'static str,
    },
}

impl<T: Copy> Fact<T> {
    /// The value; `None` if it is not known.
    pub const fn value(&self) -> Option<T> {
        match *self {
            Fact::Known { value, .. } => Some(value),
            Fact::Unknown { .. } => None,
        }
    }

    /// Where the value is published.
    ///
    /// # Errors
    /// If the value is not known: the reason.
    pub const fn source(&self) -> Result<Source, &'static str> {
        match *self {
            Fact::Known { source, .. } => Ok(source),
            Fact::Unknown { reason } => Err(reason),
        }
    }
}

/// A fact with its source.
pub(super) const fn known<T: Copy>(value: T, source: Source) -> Fact<T> {
    Fact::Known { value, source }
}

/// A fact that is not known, with the reason.
pub(super) const fn unknown<T>(reason: &'static str) -> Fact<T> {
    Fact::Unknown { reason }
}
