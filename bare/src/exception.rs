//! Exceptions: say what happened and where, then leave with a failure.
//!
//! `boot.S` has a stub for every vector. Each switches to a stack of its own, so that a wild
//! stack pointer is reported like anything else, and none returns.

use core::fmt::Write;

use crate::exit::{Status, exit};
use crate::serial::Serial;

/// What the stub and the CPU leave on the stack (Intel SDM volume 3A, section 7.14.2).
#[repr(C)]
struct Frame {
    vector: u64,
    error: u64,
    rip: u64,
    cs: u64,
    rflags: u64,
    rsp: u64,
    ss: u64,
}

/// Called by the stubs with the frame and CR2, the address of a page fault.
#[unsafe(no_mangle)]
extern "C" fn exception_entry(frame: &Frame, cr2: u64) -> ! {
    let mut serial = Serial::first();
    // The port never fails.
    let _ = writeln!(
        serial,
        "# exception: vector {} ({}) error {:#x} rip {:#x} cs {:#x} rflags {:#x} rsp {:#x} ss {:#x} cr2 {cr2:#x}",
        frame.vector,
        name(frame.vector),
        frame.error,
        frame.rip,
        frame.cs,
        frame.rflags,
        frame.rsp,
        frame.ss,
    );
    exit(Status::Exception)
}

/// The mnemonic of a vector (Intel SDM volume 3A, table 7-1).
fn name(vector: u64) -> &'static str {
    match vector {
        0 => "#DE divide error",
        1 => "#DB debug",
        2 => "NMI",
        3 => "#BP breakpoint",
        4 => "#OF overflow",
        5 => "#BR bound range",
        6 => "#UD invalid opcode",
        7 => "#NM device not available",
        8 => "#DF double fault",
        10 => "#TS invalid TSS",
        11 => "#NP segment not present",
        12 => "#SS stack fault",
        13 => "#GP general protection",
        14 => "#PF page fault",
        16 => "#MF x87 error",
        17 => "#AC alignment check",
        18 => "#MC machine check",
        19 => "#XM SIMD error",
        _ => "reserved",
    }
}
