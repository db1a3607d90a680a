//! Physical memory and page tables for a program without an operating system: which memory is
//! free, and mappings of it in pages of a given size.
//!
//! Nothing here executes a privileged instruction, so the tests run on any host. Physical addresses are used
//! as pointers: the caller of [`Tables::new`] must have mapped the memory of the tables onto itself.
#![cfg_attr(not(test), no_std)]
#![warn(missing_docs)]

mod map;
mod physical;
mod pool;
mod size;
mod tables;
mod window;

#[cfg(test)]
mod tests;

pub use map::{Map, is_ordinary, multiboot, pvh};
pub use physical::Physical;
pub use pool::{Area, Pool};
pub use size::Size;
pub use tables::{Access, Error, Lend, Tables, Translation};
pub use window::{Mapped, Window};
