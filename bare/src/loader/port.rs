//! I/O ports.

use core::arch::asm;

/// `out dx, al`: writes a byte to an I/O port.
///
/// # Safety
/// The write must not change anything that running Rust code depends on (an interrupt
/// controller, a DMA engine, a memory mapping).
pub unsafe fn write(port: u16, value: u8) {
    // SAFETY: `out` does not fault in ring 0, and in ring 3 `boot.S` allows the ports below 400h. The caller
    // guarantees that the device's reaction does no harm.
    unsafe {
        asm!("out dx, al", in("dx") port, in("al") value, options(nomem, nostack, preserves_flags))
    }
}

/// `in al, dx`: reads a byte from an I/O port.
///
/// # Safety
/// As for [`write`]: some devices act on a read.
pub unsafe fn read(port: u16) -> u8 {
    let value;
    // SAFETY: as in `write`.
    unsafe {
        asm!("in al, dx", out("al") value, in("dx") port, options(nomem, nostack, preserves_flags))
    }
    value
}
