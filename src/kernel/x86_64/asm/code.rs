//! The bytes of the assembled kernels, for those who want to see what really runs.

// Reads machine code between two symbols.
#![allow(unsafe_code)]

use core::ffi::c_void;

/// A kernel's symbol and its machine code.
#[derive(Clone, Copy, Debug)]
pub struct Code {
    /// The symbol.
    pub name: &'static str,
    /// Its bytes, from the symbol to the end of the function.
    pub bytes: &'static [u8],
}

macro_rules! code {
    ($($name:ident)*) => {{
        unsafe extern "sysv64" {
            $(static $name: c_void;)*
        }
        mod end {
            use core::ffi::c_void;
            unsafe extern "sysv64" {
                $(#[link_name = concat!(stringify!($name), "_end")] pub static $name: c_void;)*
            }
        }
        [$({
            let from = (&raw const $name).cast::<u8>();
            let to = (&raw const end::$name).cast::<u8>();
            let len = to.addr() - from.addr();
            // SAFETY: both labels enclose one function of the text section, which is readable and
            // never written.
            let bytes = unsafe { core::slice::from_raw_parts(from, len) };
            Code { name: stringify!($name), bytes }
        }),*]
    }};
}

/// Every kernel of `asm/`.
pub fn all() -> impl Iterator<Item = Code> {
    code! {
        linefill_jump
        linefill_jump_checked
        linefill_walk_addnext
        linefill_walk_follow
        linefill_walk_inc
    }
    .into_iter()
}
