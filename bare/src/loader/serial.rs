//! The first serial port: a 16550 at 3F8h, 115200 baud, 8N1, polled.

use core::fmt;
use core::hint::spin_loop;

use super::port;

const BASE: u16 = 0x3f8;
const DATA: u16 = BASE;
const INTERRUPT_ENABLE: u16 = BASE + 1;
const FIFO_CONTROL: u16 = BASE + 2;
const LINE_CONTROL: u16 = BASE + 3;
const MODEM_CONTROL: u16 = BASE + 4;
const LINE_STATUS: u16 = BASE + 5;
/// The transmitter takes another byte.
const TRANSMITTER_READY: u8 = 0x20;
/// The transmitter has sent all bytes.
const TRANSMITTER_IDLE: u8 = 0x40;

/// Polls until a port that never gets ready is given up: the program must also finish on a machine without a
/// port.
const PATIENCE: u32 = 1_000_000;

/// The first serial port, as a [`fmt::Write`].
pub struct Serial(());

impl Serial {
    /// Initialises the port. A panic handler can open it again: the bytes of the line before are sent first, as
    /// this would lose them.
    pub fn first() -> Self {
        wait(TRANSMITTER_IDLE);
        for (register, value) in [
            (INTERRUPT_ENABLE, 0), // polled
            (LINE_CONTROL, 0x80),  // the next two registers hold the divisor
            (DATA, 1),             // 115200 baud
            (INTERRUPT_ENABLE, 0), // divisor, high byte
            (LINE_CONTROL, 0x03),  // 8 bits, no parity, 1 stop bit
            (FIFO_CONTROL, 0x07),  // FIFOs on and emptied
            (MODEM_CONTROL, 0x03), // DTR, RTS
        ] {
            // SAFETY: these are the serial port's own registers; nothing else uses them.
            unsafe { port::write(register, value) }
        }
        Self(())
    }

    fn send(&mut self, byte: u8) {
        wait(TRANSMITTER_READY);
        // SAFETY: the data register belongs to the serial port.
        unsafe { port::write(DATA, byte) }
    }
}

/// Waits until a bit of the line status is set. Without a port, all bits are.
fn wait(bit: u8) {
    for _ in 0..PATIENCE {
        // SAFETY: reading the line status only clears error bits.
        if unsafe { port::read(LINE_STATUS) } & bit != 0 {
            break;
        }
        spin_loop();
    }
}

impl fmt::Write for Serial {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            self.send(byte);
        }
        Ok(())
    }
}
