//! The image for a PVH or Multiboot2 loader. It uses no services, only the CPU and a few ports.
//!
//! `boot.S` enters [`kernel_main`] in 64-bit mode with 4 GiB identity mapped and interrupts off. All output
//! goes to the first serial port. The image exits through QEMU's `isa-debug-exit` device, or halts if there
//! is none.

mod arena;
mod exit;
mod memory;
mod pit;
mod port;
mod serial;

use core::fmt::{Arguments, Write};
use core::panic::PanicInfo;

use crate::console::{Console, Output};
use crate::exception::Frame;
use crate::measure::{self, Here};
use crate::options::Options;
use exit::{Status, exit};
use memory::Loader;
use serial::Serial;

core::arch::global_asm!(
    include_str!("../../exceptions.S"),
    include_str!("../../boot.S"),
    options(att_syntax)
);

/// Words that `boot.S` handles.
const OWN: &str = "ring=0 ring=3";
const RING_3: &str = "ring=3";

const NOTES_RING_0: &[&str] =
    &["no operating system: ring 0, interrupts off", "the date of the run is not known"];
const NOTES_RING_3: &[&str] =
    &["no operating system: ring 3, interrupts off", "the date of the run is not known"];

/// The first Rust code that runs. `boot.S` calls it once with the loader's value of EBX.
#[unsafe(no_mangle)]
extern "C" fn kernel_main(start_info: u32) -> ! {
    let mut serial = Serial::first();
    let mut console = Console::new(&mut serial);
    // SAFETY: `boot.S` passes the loader's address, and maps memory onto itself.
    let loader = unsafe { Loader::read(start_info) };
    let command_line = loader.command_line();
    let version = env!("CARGO_PKG_VERSION");
    let ring = exit::ring();
    console.say(format_args!("linefill bare image {version} in ring {ring}"));
    console.say(format_args!("command line: {command_line}"));
    let options = Options::parse(command_line, OWN, |word| console.check(word, false));
    let mut words = command_line.split_ascii_whitespace();
    if ring != 3 && words.any(|word| word == RING_3) {
        console.check(
            format_args!("{RING_3} works with a PVH loader alone, such as QEMU's -kernel"),
            false,
        );
    }
    let here = Here {
        rate: pit::tsc_rate(),
        ring,
        started: 0,
        notes: match ring {
            0 => NOTES_RING_0,
            _ => NOTES_RING_3,
        },
    };
    let arena = arena::take().expect("the arena is taken once");
    // SAFETY: this function runs once.
    let pages = unsafe { loader.pages() };
    measure::everything(&mut console, arena, pages, &options, &here);
    exit(match console.finish() {
        true => Status::Passed,
        false => Status::Failed,
    })
}

/// Lines for people begin with `# `; all other lines belong to the record. Writing to the port never fails.
impl Output for Serial {
    fn say(&mut self, text: Arguments<'_>) {
        let _ = writeln!(self, "# {text}");
    }

    fn check(&mut self, name: Arguments<'_>, ok: bool) {
        let result = if ok { "ok" } else { "FAILED" };
        self.say(format_args!("check {name}: {result}"));
    }

    fn record(&mut self, line: &str) -> bool {
        writeln!(self, "{line}").is_ok()
    }
}

/// The stubs call this on a separate stack, so that an invalid stack pointer is also reported. `cr2` is the
/// address of a page fault.
#[unsafe(no_mangle)]
extern "sysv64" fn exception_entry(frame: &Frame, cr2: u64) -> ! {
    Serial::first().say(format_args!("{frame} cr2 {cr2:#x}"));
    exit(Status::Exception)
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    Serial::first().say(format_args!("panic: {info}"));
    exit(Status::Panicked)
}
