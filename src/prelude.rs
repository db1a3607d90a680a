//! The names that the standard library's prelude has and the core library's prelude lacks.

pub(crate) use alloc::borrow::ToOwned;
pub(crate) use alloc::boxed::Box;
pub(crate) use alloc::string::{String, ToString};
pub(crate) use alloc::vec::Vec;

#[cfg(not(feature = "std"))]
pub(crate) use crate::float::Float;
