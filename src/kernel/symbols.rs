//! The bytes of the assembled kernels, for those who want to see what really runs.

// Reads machine code between two symbols.
#![allow(unsafe_code)]

use core::arch::asm;

/// A kernel's symbol and its machine code.
#[derive(Clone, Copy, Debug)]
pub struct Code {
    /// The symbol.
    pub name: &'static str,
    /// Its bytes, from the symbol to the end of the function.
    pub bytes: &'static [u8],
}

/// The address of a symbol, by its name. It is named in assembly alone: a static of the same name
/// as a function that is declared elsewhere would be another symbol where the compiler puts both
/// into one unit.
macro_rules! address {
    ($name:expr) => {{
        let address: *const u8;
        // SAFETY: computes an address, and touches nothing.
        unsafe {
            asm!(
                concat!("lea {}, [rip + ", $name, "]"),
                out(reg) address,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        address
    }};
}

// Without a C compiler the kernels are assembled as a part of this crate.
#[cfg(feature = "rustc-asm")]
core::arch::global_asm!(
    include_str!(concat!(env!("OUT_DIR"), "/kernels.s")),
    options(raw)
);

macro_rules! code {
    ($($name:ident)*) => {
        [$({
            let from = address!(stringify!($name));
            let to = address!(concat!(stringify!($name), "_end"));
            let len = to.addr() - from.addr();
            // SAFETY: both labels enclose one function of the text section, which is readable and
            // never written.
            let bytes = unsafe { core::slice::from_raw_parts(from, len) };
            Code { name: stringify!($name), bytes }
        }),*]
    };
}

/// Every kernel of `asm/`, in the order of their names.
pub fn all() -> impl Iterator<Item = Code> {
    // The list that build.rs reads from the sources.
    include!(concat!(env!("OUT_DIR"), "/symbols.rs")).into_iter()
}
