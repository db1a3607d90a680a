//! The program for UEFI firmware. It prints on the screen, and writes a file.
//!
//! It does not exit boot services, because only they can write to the stick. Between two lines of output it
//! has the CPU to itself ([`takeover`]): no interrupts, pages of 2 MiB, all vector registers enabled.

mod clock;
mod folder;
mod pages;
mod screen;
mod takeover;
mod words;

use core::panic::PanicInfo;
use core::sync::atomic::{AtomicBool, Ordering};

use uefi::prelude::*;
use uefi::runtime::{self, ResetType};

use crate::console::{Console, Output};
use crate::exception::Frame;
use crate::measure::{self, Here};
use crate::options::Options;
use folder::Folder;
use pages::{Arena, Tables};
use screen::Screen;

core::arch::global_asm!(include_str!("../../exceptions.S"), options(att_syntax));

/// The words that only this platform understands.
const OWN: &str = "end=off end=key";
/// Switches the machine off at the end. Without this word, a key press returns to the firmware, or restarts
/// the machine after a panic or an exception.
const END_OFF: &str = "end=off";

/// The notes of every record, and one more if memory was left out.
const NOTES: &[&str] = &[
    "no operating system: a UEFI program, ring 0, interrupts off",
    "the date is that of the firmware's clock",
    "memory for special purposes (HBM, CXL), or that cannot be cached write-back, is not used",
];

/// Whether the words ask for [`END_OFF`].
static SWITCH_OFF: AtomicBool = AtomicBool::new(false);

#[entry]
fn begin() -> Status {
    // Firmware resets the machine after five minutes unless the watchdog is disabled.
    let _ = boot::set_watchdog_timer(0, 0x1_0000, None);
    let mut screen = Screen::open();
    let passed = run(&mut screen);
    finish(&mut screen, "go back to the firmware");
    match passed {
        true => Status::SUCCESS,
        false => Status::ABORTED,
    }
}

/// Measures. Returns whether all checks passed.
fn run(screen: &mut Screen) -> bool {
    let mut folder = Folder::of_program();
    let mut room = [0; folder::WORDS_ROOM];
    let words = match &mut folder {
        Ok(folder) => folder.words(&mut room),
        Err(_) => Ok(""),
    };
    let asked = words.as_ref().map_or("", |words| words);
    if asked.split_ascii_whitespace().any(|word| word == END_OFF) {
        SWITCH_OFF.store(true, Ordering::Relaxed);
    }
    match folder.as_mut().map_err(|status| *status).and_then(Folder::new_record) {
        Ok((file, name)) => screen.keep(file, name),
        Err(status) => screen.say(format_args!(
            "The record is not kept: no file beside the program can be written ({status})"
        )),
    }
    screen.say(format_args!("linefill {} on UEFI firmware", env!("CARGO_PKG_VERSION")));
    let mut console = Console::new(screen);
    match words {
        Ok(words) => measure(&mut console, words),
        Err(reason) => console.check(format_args!("{reason}: nothing is measured"), false),
    }
    let passed = console.finish();
    screen.tell_record();
    passed
}

/// Measures what `words` ask for.
fn measure(console: &mut Console<'_>, words: &str) {
    console.say(format_args!("words: {words}"));
    let options = Options::parse(words, OWN, |word| console.check(word, false));
    let mut arena = match Arena::of(options.largest) {
        Ok(arena) => arena,
        Err(status) => {
            let why = format_args!("the firmware lends no memory ({status})");
            return console.check(why, false);
        }
    };
    let mut tables = match Tables::identity() {
        Ok(tables) => tables,
        Err(status) => {
            let why = format_args!("page tables of our own cannot be made here ({status})");
            return console.check(why, false);
        }
    };
    // SAFETY: this function runs once, and the tables live until it ends.
    let (pages, left_out) = unsafe { tables.pages() };
    let mut notes = &NOTES[..NOTES.len() - 1];
    if left_out > 0 {
        notes = NOTES;
        let mib = left_out.div_ceil(1 << 20);
        console.say(format_args!(
            "{mib} MiB of memory are for special purposes, or cannot be cached write-back: they \
             are not used"
        ));
    }
    let here = Here { rate: clock::tsc_rate(), ring: 0, started: clock::date(), notes };
    takeover::begin(tables.root());
    measure::everything(console, arena.bytes(), pages, &options, &here);
    // The CPU must not use the tables any more when they are dropped.
    takeover::end();
}

/// Closes the record. Then switches the machine off, or waits so that people can read the screen.
fn finish(screen: &mut Screen, next: &str) {
    if SWITCH_OFF.load(Ordering::Relaxed) {
        screen.close();
        runtime::reset(ResetType::SHUTDOWN, Status::SUCCESS, None);
    }
    screen.say(format_args!("Press a key to {next}."));
    screen.close();
    screen.wait_for_key();
}

/// Ends the program from any call depth. It restarts the machine, because nothing on the way here has given back
/// the firmware's memory, or undone what a run changed, such as the prefetchers' register.
fn abort(what: core::fmt::Arguments<'_>) -> ! {
    takeover::end();
    let mut screen = Screen::again();
    screen.say(what);
    finish(&mut screen, "restart the machine");
    runtime::reset(ResetType::COLD, Status::ABORTED, None)
}

/// The stubs call this; `cr2` is the address of a page fault.
#[unsafe(no_mangle)]
extern "sysv64" fn exception_entry(frame: &Frame, cr2: u64) -> ! {
    abort(format_args!("{frame} cr2 {cr2:#x}"))
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    abort(format_args!("panic: {info}"))
}
