//! Leaving the machine.

use core::arch::asm;
use core::hint::spin_loop;

use super::port;

/// The port of QEMU's `isa-debug-exit` device, as the runner configures it.
const DEBUG_EXIT: u16 = 0xf4;

/// How a run ended. QEMU's own status is twice the value plus one.
#[derive(Clone, Copy)]
#[repr(u8)]
pub enum Status {
    /// Every check passed: status 33.
    Passed = 0x10,
    /// A kernel disagreed with its reference implementation, or a walk went wrong: status 35.
    Failed = 0x11,
    /// The CPU raised an exception: status 37.
    Exception = 0x12,
    /// Rust panicked: status 39.
    Panicked = 0x13,
}

/// Leaves QEMU with `status`. Stops forever on a machine without the exit device.
pub fn exit(status: Status) -> ! {
    // SAFETY: the port belongs to the exit device, or to no device.
    unsafe { port::write(DEBUG_EXIT, status as u8) }
    loop {
        if ring() == 0 {
            // SAFETY: interrupts are off and stay off: the CPU stops here.
            unsafe { asm!("cli", "hlt", options(nomem, nostack)) }
        }
        spin_loop();
    }
}

/// The ring that this code runs in.
pub fn ring() -> u16 {
    let selector: u16;
    // SAFETY: this only reads a segment register.
    unsafe { asm!("mov {0:x}, cs", out(reg) selector, options(nomem, nostack, preserves_flags)) }
    selector & 3
}
