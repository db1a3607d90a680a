//! Code made at run time, and pages at two addresses.

use core::fmt::Debug;
use core::sync::atomic::AtomicU32;

use crate::kernel::Function;

/// Code that was written once, and is executable ever after.
pub trait Code: Debug + Send {
    /// The function at `offset`. To call it is the caller's risk.
    ///
    /// # Panics
    /// If `offset` lies outside.
    fn function(&self, offset: usize) -> Function;
}

/// What the second view of an [`Alias`] may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// Be read and written, like the first.
    Data,
    /// Be read and executed.
    Code,
}

/// The same physical pages at two addresses, the first of which is writable.
pub trait Alias: Debug + Send + Sync {
    /// The first view: readable and writable.
    fn first(&self) -> *mut u8;

    /// The second view: writable, or executable.
    fn second(&self) -> *mut u8;

    /// Writes `bytes` at `offset` through the first view.
    ///
    /// # Panics
    /// If they do not fit.
    fn write(&mut self, offset: usize, bytes: &[u8]);

    /// The four bytes at `offset` of the first view, to be stored whole, by any thread and while the
    /// second view is read or executed.
    ///
    /// # Panics
    /// If `offset` is no multiple of 4, or lies outside.
    fn word(&self, offset: usize) -> &AtomicU32;

    /// The function at `offset` of the second view. To call it is the caller's risk.
    ///
    /// # Panics
    /// If the second view is not executable or `offset` lies outside.
    fn function(&self, offset: usize) -> Function;
}
