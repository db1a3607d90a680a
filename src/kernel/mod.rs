//! The timed work: a folder per subject, a file per kernel.
//!
//! A kernel allocates nothing, reads no clock and knows no experiment. It works on a pattern
//! that it owns, continues where it stopped, returns a value that proves its work, and declares
//! what one operation does. Its file holds the declaration of its assembly, the type with its
//! errors, the trace of its accesses, a plain reference implementation, and the patterns on which
//! [`verify`] checks one against the other.

mod chase;
mod code;
mod coherence;
mod compute;
mod form;
pub(crate) mod intrinsics;
mod stores;
mod stream;
#[doc(hidden)]
pub mod symbols;
mod vector;
pub mod verify;
mod width;
mod work;

pub use chase::*;
pub use code::*;
pub use coherence::*;
pub use compute::*;
pub use form::{Form, NoIntrinsics};
pub use stores::*;
pub use stream::*;
pub use vector::Vector;
pub use width::Width;
pub use work::{Access, Kind, Work};

/// Reference implementations that tests and experiments use beyond [`verify`].
#[doc(hidden)]
pub mod reference {
    pub use super::chase::addressing::reference::chase;
    pub use super::chase::walk::reference::{shared, walk};
    pub use super::compute::matmul::reference::matmul;
    pub use super::compute::tensor::reference::tensor;
}

/// A piece of work that can be repeated and goes on where it stopped.
pub trait Kernel {
    /// Does `operations` operations and returns a value that proves them: a sum, an index, an
    /// address.
    fn run(&mut self, operations: u64) -> u64;

    /// What one operation does.
    fn work(&self) -> Work;

    /// Reports the accesses of the next `operations` operations in program order, and advances
    /// past them as [`run`](Self::run) would. Offsets are bytes from the start of the memory the
    /// kernel works on.
    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access));
}
