//! `asm/chains.S`.

// Declares assembly.
#![allow(unsafe_code)]

macro_rules! chains {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        unsafe extern "sysv64" {$(
            $(#[$doc])*
            ///
            /// # Safety
            /// `data` and `table` have at least `from` elements, those of `data` writable; `from`
            /// is no less than the exchanges, and `rounds` is not 0. Every entry of the table that
            /// is read is the index of an element.
            pub fn $name(data: *mut u32, table: *const u32, from: u64, rounds: u64);
        )*}
    };
}

chains! {
    /// Exchanges elements `i - 1` and `table[i - 1]` of `data` for `i` from `from` downwards,
    /// each exchange waiting for the one before.
    linefill_chains1,
    /// The same in 2 chains in turn, a round being an exchange of each.
    linefill_chains2,
    /// The same in 4 chains.
    linefill_chains4,
    /// The same in 8 chains.
    linefill_chains8,
}
