//! `asm/forward.S`.

// Declares assembly.
#![allow(unsafe_code)]

/// The shape of all round trips.
///
/// # Safety
/// With S and L the two numbers of the name: S bytes from `store` on are valid for writes, and L
/// bytes (2 S where the name ends in `_two`) from `load` bytes behind it for reads; in the kernels
/// of two stores, so are S bytes from `second` bytes behind it for writes; `trips` is not 0; the
/// CPU has AVX2 if one of the numbers is 32, and AVX-512 if one is 64.
pub type Trips = unsafe extern "sysv64" fn(
    store: *mut u8,
    load: isize,
    trips: u64,
    value: u64,
    second: isize,
) -> u64;

macro_rules! trips {
    ($($name:ident)*) => {
        unsafe extern "sysv64" {$(
            /// Round trips of the number of bytes stored and the number loaded.
            ///
            /// Returns the low 8 bytes of the value after the last.
            ///
            /// # Safety
            /// See [`Trips`].
            pub fn $name(
                store: *mut u8,
                load: isize,
                trips: u64,
                value: u64,
                second: isize,
            ) -> u64;
        )*}
    };
}

trips! {
    linefill_forward1_1
    linefill_forward1_2
    linefill_forward1_4
    linefill_forward1_8
    linefill_forward2_1
    linefill_forward2_2
    linefill_forward2_4
    linefill_forward2_8
    linefill_forward4_1
    linefill_forward4_2
    linefill_forward4_4
    linefill_forward4_8
    linefill_forward8_1
    linefill_forward8_2
    linefill_forward8_4
    linefill_forward8_8
    linefill_forward8_16
    linefill_forward8_32
    linefill_forward8_64
    linefill_forward16_8
    linefill_forward16_16
    linefill_forward16_32
    linefill_forward16_64
    linefill_forward32_8
    linefill_forward32_16
    linefill_forward32_32
    linefill_forward32_64
    linefill_forward64_8
    linefill_forward64_16
    linefill_forward64_32
    linefill_forward64_64
    linefill_forward4_8_two
    linefill_forward8_16_two
    linefill_forward16_32_two
    linefill_forward32_64_two
    linefill_forward8_8_renamed
    linefill_forward16_8_general
}
