//! `asm/matmul.S`.

// Declares assembly.
#![allow(unsafe_code)]

unsafe extern "sysv64" {
    /// Copies `count` doubles that are `from_bytes` apart to where they are `to_bytes` apart.
    ///
    /// # Safety
    /// The doubles are valid for reads and their places for writes; `count` is not 0.
    pub fn linefill_matmul_copy(
        to: *mut f64,
        from: *const f64,
        to_bytes: usize,
        from_bytes: usize,
        count: u64,
    );

    /// One element of a product: `element` plus `count` products, added one after the other. Both
    /// `element` and the result are the bits of an `f64`.
    ///
    /// # Safety
    /// `row` is the address of `count` doubles valid for reads, `column` that of as many that are
    /// `column_bytes` apart; `count` is not 0.
    pub fn linefill_matmul_dot(
        row: *const f64,
        column: *const f64,
        column_bytes: usize,
        count: u64,
        element: u64,
    ) -> u64;
}

/// The shape of the kernels that multiply sub-matrices of 8 x 8: adds to the one at `res` the
/// products of `count` of them in the rows at `mul1` and `count` in the columns at `mul2`.
///
/// # Safety
/// The sub-matrices are valid for reads and, that of `res`, for writes, and their rows are
/// `row_bytes` apart; all three addresses are multiples of 64, and so is `row_bytes`; `count` is
/// not 0.
pub type SubMatrices = unsafe extern "sysv64" fn(
    res: *mut f64,
    mul1: *const f64,
    mul2: *const f64,
    row_bytes: usize,
    count: u64,
);

macro_rules! sub_matrices {
    ($($doc:literal $name:ident)*) => {
        unsafe extern "sysv64" {$(
            #[doc = $doc]
            ///
            /// # Safety
            /// See [`SubMatrices`].
            pub fn $name(
                res: *mut f64,
                mul1: *const f64,
                mul2: *const f64,
                row_bytes: usize,
                count: u64,
            );
        )*}
    };
}

sub_matrices! {
    "An element at a time." linefill_matmul_submatrix
    "Two elements at a time by SSE2, with prefetches of mul1." linefill_matmul_submatrix_sse2
}
