//! Exceptions, as the stubs of `exceptions.S` report them.

use core::fmt::{Display, Formatter, Result};

/// What the stub and the CPU leave on the stack (Intel SDM volume 3A, section 7.14.2).
#[repr(C)]
pub struct Frame {
    vector: u64,
    error: u64,
    rip: u64,
    cs: u64,
    rflags: u64,
    rsp: u64,
    ss: u64,
}

impl Display for Frame {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(
            f,
            "exception: vector {} ({}) error {:#x} rip {:#x} cs {:#x} rflags {:#x} rsp {:#x} ss \
             {:#x}",
            self.vector,
            name(self.vector),
            self.error,
            self.rip,
            self.cs,
            self.rflags,
            self.rsp,
            self.ss,
        )
    }
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
