//! `asm/tensor.S`.

// Declares assembly.
#![allow(unsafe_code)]

/// The shape of the family: adds the elements of the reads from `first` to `end`, `end` left out,
/// to `sum`, one after the other, and returns it: both are the bits of an `f32`. `dimensions` are the tensor's, 16 bits each, the
/// first one lowest.
///
/// # Safety
/// `first` is less than `end`, and `end` is at most 2^20. `tensor` is the address of the first
/// element of a tensor of these dimensions, or of the array or the vector's elements that lead to
/// its arrays, whichever the name says; every read's indices are inside it, and it is readable.
pub type Reads = unsafe extern "sysv64" fn(
    tensor: usize,
    first: u32,
    end: u32,
    dimensions: u64,
    sum: u32,
) -> u32;

macro_rules! reads {
    ($($(#[$doc:meta])* $name:ident)*) => {
        unsafe extern "sysv64" {$(
            $(#[$doc])*
            ///
            /// # Safety
            /// See [`Reads`].
            pub fn $name(tensor: usize, first: u32, end: u32, dimensions: u64, sum: u32) -> u32;
        )*}
    };
}

reads! {
    /// One run; remainders by 64, 16, 28 and 32, strides by multiplication, the sum checked.
    linefill_tensor_strides
    /// The same with masks in place of remainders by powers of two.
    linefill_tensor_masks
    /// The same with remainders by 61, 17, 29 and 31.
    linefill_tensor_primes
    /// One run of 64 x 16 x 28 x 32 elements, all of them constants.
    linefill_tensor_array
    /// One run; remainders by its dimensions, whatever they are.
    linefill_tensor_divided
    /// One run; the element comes from a function, and its place from another one.
    linefill_tensor_called
    /// Arrays of references to arrays; every index is checked.
    linefill_tensor_boxes
    /// The same; no index is checked.
    linefill_tensor_boxes_unchecked
    /// Vectors of vectors; every index is checked.
    linefill_tensor_vectors
}
