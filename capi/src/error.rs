//! Errors as codes, and the reason of the last error.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::fmt::Display;

/// The codes of the header.
#[derive(Clone, Copy)]
pub enum Code {
    Null = 1,
    Choice,
    Memory,
    Layout,
    Unsupported,
    Time,
    Internal,
}

impl Code {
    /// The text for the number of a code.
    pub const fn text(code: i32) -> &'static CStr {
        match code {
            0 => c"no error",
            1 => c"a pointer is null",
            2 => c"a number names no order, step or motion",
            3 => c"the memory is too small, or not a multiple of the block size",
            4 => c"no list fits, or the step needs padding",
            5 => c"the CPU lacks the vector registers",
            6 => c"the time budget is invalid, or a clock does not advance",
            7 => c"a bug in the library",
            _ => c"no such code",
        }
    }
}

/// A code and the reason.
pub struct Error {
    code: Code,
    why: String,
}

impl Error {
    pub fn new(code: Code, why: impl Display) -> Self {
        let why = why.to_string();
        Error { code, why }
    }
}

thread_local! {
    static WHY: RefCell<CString> = RefCell::default();
}

/// Stores the reason of an error, or an empty reason after success, and returns the code.
pub fn failed(done: Result<(), Error>) -> i32 {
    let (code, why) = match done {
        Ok(()) => (0, String::new()),
        Err(error) => (error.code as i32, error.why),
    };
    // A reason contains no byte 0.
    let why = CString::new(why).unwrap_or_default();
    // The variable is gone while the thread ends: nothing can read the reason any more.
    let _ = WHY.try_with(|last| last.replace(why));
    code
}

/// Why the thread's last call failed; empty if it did not.
pub fn detail() -> *const c_char {
    WHY.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}
