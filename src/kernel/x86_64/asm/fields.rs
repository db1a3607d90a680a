//! `asm/fields.S`.

// Declares assembly.
#![allow(unsafe_code)]

/// What the kernels of this family return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Stop {
    /// Address of the pointer word after the last step.
    pub at: usize,
    /// Wrapping sum of all words read.
    pub sum: u64,
}

/// The shape of the family: walks `steps` steps and reads the 8 words of every element.
///
/// # Safety
/// `at` is the address of a pointer word of a 64-byte element, at its end that the name says; all
/// of the element is readable, and the pointer word holds such an address in turn, for `steps`
/// steps; `steps` is not 0.
pub type Walks = unsafe extern "sysv64" fn(at: usize, steps: u64) -> Stop;

macro_rules! walks {
    ($($(#[$doc:meta])* $name:ident)*) => {
        unsafe extern "sysv64" {$(
            $(#[$doc])*
            ///
            /// # Safety
            /// See [`Walks`].
            pub fn $name(at: usize, steps: u64) -> Stop;
        )*}
    };
}

walks! {
    /// Pointer in word 0, words read from 0 to 7.
    linefill_fields_first_ascending
    /// Pointer in word 0, words read from 7 to 0.
    linefill_fields_first_descending
    /// Pointer in word 7, words read from 0 to 7.
    linefill_fields_last_ascending
    /// Pointer in word 7, words read from 7 to 0.
    linefill_fields_last_descending
}
