//! The machine code of the assembled kernels, for inspection.

// Reads machine code between two symbols.
#![allow(unsafe_code)]

use core::arch::asm;

/// A kernel's symbol and its machine code.
#[derive(Clone, Copy, Debug)]
pub struct Code {
    /// The name of the symbol.
    pub name: &'static str,
    /// The machine code, from the symbol to the end of the function.
    pub bytes: &'static [u8],
}

/// Computes the address of the symbol `$name`. Only assembly names the symbol: a Rust static with the
/// name of a function declared elsewhere would become a different symbol if the compiler puts both into
/// one unit.
macro_rules! address {
    ($name:expr) => {{
        let address: *const u8;
        // SAFETY: computes an address without accessing memory.
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

// Without a C compiler the kernels are assembled as part of this crate.
#[cfg(feature = "rustc-asm")]
core::arch::global_asm!(include_str!(concat!(env!("OUT_DIR"), "/kernels.s")), options(raw));

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

/// Returns every kernel of `asm/`, sorted by name.
pub fn all() -> impl Iterator<Item = Code> {
    // build.rs generates this list from the sources.
    include!(concat!(env!("OUT_DIR"), "/symbols.rs")).into_iter()
}

#[cfg(all(test, feature = "rustc-asm"))]
mod tests {
    /// Link-time optimisation assembles the texts of all crates as one: another crate may define a macro with the
    /// same name.
    #[test]
    fn no_macro_of_the_text_stays_defined() {
        let text = include_str!(concat!(env!("OUT_DIR"), "/kernels.s"));
        let lines = |start| text.lines().filter(|line| line.starts_with(start)).count();
        let macros = lines(".macro ");
        assert!(macros > 2);
        assert_eq!(macros, lines(".purgem "));
    }
}
