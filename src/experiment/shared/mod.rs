//! Set-ups that experiments of several topics use.

pub mod arithmetic;
pub(crate) mod bandwidth;
#[cfg(feature = "std")]
pub(crate) mod compiler;
pub(crate) mod cores;
pub mod count;
pub(crate) mod hint;
pub(crate) mod lines;
pub(crate) mod pollution;
pub mod touch;
pub mod walk;
pub mod words;
