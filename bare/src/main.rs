//! A bootable image: linefill's kernels in ring 0, with nothing beneath them.
//!
//! `boot.S` enters [`kernel_main`] in 64-bit mode with 4 GiB identity mapped and interrupts off.
//! Everything the image has to say goes out on the first serial port; it leaves through QEMU's
//! `isa-debug-exit` device, or halts where there is none.
#![no_std]
#![no_main]
#![warn(missing_docs)]

mod command_line;
mod exception;
mod exit;
mod port;
mod runtime;
mod serial;

use core::arch::asm;
use core::fmt::Write;
use core::panic::PanicInfo;

use exit::{Status, exit};
use serial::Serial;

core::arch::global_asm!(include_str!("../boot.S"), options(att_syntax));

/// The first Rust that runs; called once by `boot.S` with what the loader left in EBX.
#[unsafe(no_mangle)]
extern "C" fn kernel_main(start_info: u32) -> ! {
    exception::install();
    let mut serial = Serial::first();
    // SAFETY: `boot.S` passes the loader's own address, and maps memory as it lies.
    let command_line = unsafe { command_line::read(start_info) };
    say(
        &mut serial,
        format_args!("linefill bare image {}", env!("CARGO_PKG_VERSION")),
    );
    say(&mut serial, format_args!("command line: {command_line}"));
    for word in command_line.split_ascii_whitespace() {
        match word {
            "plant=panic" => panic!("planted by the command line"),
            // SAFETY: it raises #UD, whose handler does not return.
            "plant=exception" => unsafe { asm!("ud2", options(noreturn)) },
            "plant=failure" => exit(Status::Failed),
            _ => say(&mut serial, format_args!("unknown word: {word}")),
        }
    }
    exit(Status::Passed)
}

/// A line for people: anything that is no record line starts with `# `.
fn say(serial: &mut Serial, text: core::fmt::Arguments<'_>) {
    // The port never fails.
    let _ = writeln!(serial, "# {text}");
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    say(&mut Serial::first(), format_args!("panic: {info}"));
    exit(Status::Panicked)
}
