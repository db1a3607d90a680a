//! Set-ups that experiments of several topics use.

pub mod arithmetic;
pub mod bandwidth;
#[cfg(feature = "std")]
pub(crate) mod compiler;
pub(crate) mod cores;
pub mod count;
pub mod hint;
pub mod lines;
pub mod pollution;
pub mod touch;
pub mod walk;
pub mod words;
