//! Exceptions: say what happened and where, then leave with a failure.
//!
//! No handler returns, so the red zone of the ordinary target is no danger: what an exception
//! overwrites is never used again.

use core::arch::asm;
use core::cell::UnsafeCell;
use core::fmt::Write;

use crate::exit::{Status, exit};
use crate::serial::Serial;

const VECTORS: usize = 32;
const STUB_BYTES: usize = 16;
const CODE64: u16 = 0x08;
/// Present, ring 0, 64-bit interrupt gate (Intel SDM volume 3A, figure 7-8).
const INTERRUPT_GATE: u16 = 0x8e00;

#[derive(Clone, Copy)]
#[repr(C)]
struct Gate {
    offset_low: u16,
    selector: u16,
    flags: u16,
    offset_middle: u16,
    offset_high: u32,
    reserved: u32,
}

impl Gate {
    const ABSENT: Self = Self {
        offset_low: 0,
        selector: 0,
        flags: 0,
        offset_middle: 0,
        offset_high: 0,
        reserved: 0,
    };

    const fn to(handler: u64) -> Self {
        Self {
            offset_low: handler as u16,
            selector: CODE64,
            flags: INTERRUPT_GATE,
            offset_middle: (handler >> 16) as u16,
            offset_high: (handler >> 32) as u32,
            reserved: 0,
        }
    }
}

#[repr(C, align(16))]
struct Table(UnsafeCell<[Gate; VECTORS]>);

// SAFETY: written once, by `install`, on the only CPU that runs; afterwards only the CPU reads it.
unsafe impl Sync for Table {}

static TABLE: Table = Table(UnsafeCell::new([Gate::ABSENT; VECTORS]));

#[repr(C, packed)]
struct Pointer {
    limit: u16,
    base: u64,
}

unsafe extern "C" {
    static exception_stubs: [[u8; STUB_BYTES]; VECTORS];
}

/// Points every exception vector at its stub in `boot.S`.
pub fn install() {
    let stubs = &raw const exception_stubs as u64;
    // SAFETY: called once, before any exception can use the table, on the only CPU that runs.
    let gates = unsafe { &mut *TABLE.0.get() };
    for (vector, gate) in gates.iter_mut().enumerate() {
        *gate = Gate::to(stubs + (vector * STUB_BYTES) as u64);
    }
    let pointer = Pointer {
        limit: (size_of::<Table>() - 1) as u16,
        base: TABLE.0.get() as u64,
    };
    // SAFETY: the table is static and every gate in it points at code that never returns.
    unsafe {
        asm!("lidt [{}]", in(reg) &raw const pointer, options(readonly, nostack, preserves_flags))
    }
}

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
