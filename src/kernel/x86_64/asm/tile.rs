//! `asm/tile.S`.

// Declares assembly.
#![allow(unsafe_code)]

/// The shape of the family: adds to a tile of the result at `res` the product of packed elements.
///
/// # Safety
/// `mul1` is the address of `depth` times as many doubles as the tile has rows, `mul2` that of
/// `depth` times as many as it has columns and a multiple of 64; the tile's rows, `row_bytes`
/// apart, are valid for reads and writes; the CPU has the instructions; `depth` is not 0.
pub type Tiles = unsafe extern "sysv64" fn(
    mul1: *const f64,
    mul2: *const f64,
    depth: u64,
    res: *mut f64,
    row_bytes: usize,
);

macro_rules! tiles {
    ($($doc:literal $name:ident)*) => {
        unsafe extern "sysv64" {$(
            #[doc = $doc]
            ///
            /// # Safety
            /// See [`Tiles`].
            pub fn $name(
                mul1: *const f64,
                mul2: *const f64,
                depth: u64,
                res: *mut f64,
                row_bytes: usize,
            );
        )*}
    };
}

tiles! {
    "A tile of 4 x 12 by AVX2 and FMA." linefill_tile_avx2
    "A tile of 8 x 24 by AVX-512." linefill_tile_avx512
}
