//! A bootable image: linefill's kernels in ring 0, with nothing beneath them.
//!
//! `boot.S` enters [`kernel_main`] in 64-bit mode with 4 GiB identity mapped and interrupts off.
//! Everything the image has to say goes out on the first serial port; it leaves through QEMU's
//! `isa-debug-exit` device, or halts where there is none.
#![no_std]
#![no_main]
#![warn(missing_docs)]

#[cfg(not(target_os = "none"))]
compile_error!("the image is for x86_64-unknown-none: build it in `bare`, or by `bare/run`");

mod arena;
mod command_line;
mod console;
mod counters;
mod exception;
mod exit;
mod instructions;
mod pit;
mod port;
mod record;
mod serial;
mod walk;

use core::arch::asm;
use core::panic::PanicInfo;

use linefill::cpu::{Features, Identity, tsc_hz};
use linefill::kernel::symbols;
use linefill::kernel::verify::check_all;
use linefill::mem::Region;
use linefill::pmu::{Capabilities, Cpu};
use linefill::time::{Rate, start};

use console::Console;
use counters::Programmed;
use exit::{Status, exit};
use record::Run;

core::arch::global_asm!(include_str!("../boot.S"), options(att_syntax));

/// Decides every ring.
const SEED: u64 = 1;

/// The first Rust that runs; called once by `boot.S` with what the loader left in EBX.
#[unsafe(no_mangle)]
extern "C" fn kernel_main(start_info: u32) -> ! {
    let mut console = Console::open();
    // SAFETY: `boot.S` passes the loader's own address, and maps memory as it lies.
    let command_line = unsafe { command_line::read(start_info) };
    let version = env!("CARGO_PKG_VERSION");
    let ring = exit::ring();
    console.say(format_args!("linefill bare image {version} in ring {ring}"));
    console.say(format_args!("command line: {command_line}"));
    let mut planted = None;
    let mut largest = usize::MAX;
    for word in command_line.split_ascii_whitespace() {
        match word {
            // `boot.S` has seen to it.
            "ring=0" | "ring=3" => {}
            "plant=failure" => console.check("planted by the command line", false),
            "plant=pmu" => planted = Some(counters::PLANTED),
            "plant=panic" => panic!("planted by the command line"),
            // SAFETY: it raises #UD, whose handler does not return.
            "plant=exception" => unsafe { asm!("ud2", options(noreturn)) },
            _ => match word.strip_prefix("largest=").map(str::parse) {
                Some(Ok(bytes)) => largest = bytes,
                _ => console.say(format_args!("not understood: {word}")),
            },
        }
    }
    let arena = arena::take().expect("nobody took the arena before");
    let mut region = Region::new(arena).expect("the arena is whole lines");
    instructions::check_all(&Features::detect(), &mut |what, ok| {
        console.check(format_args!("instructions: {what}"), ok);
    });
    verify(&mut console, &mut region);
    let largest = largest.min(region.len());
    walks(&mut console, &mut region, largest, planted);
    console.finish()
}

/// Checks every kernel that this CPU can run against its reference implementation.
fn verify(console: &mut Console, region: &mut Region<'_>) {
    let mut agreed = 0;
    check_all(region, &Features::detect(), &mut |kernel, result| {
        console.check(format_args!("kernel {kernel}"), result.is_ok());
        match result {
            Ok(()) => agreed += 1,
            Err(mismatch) => console.say(format_args!("{mismatch}")),
        }
    });
    let all = symbols::all().count();
    console.say(format_args!(
        "{agreed} of {all} kernels agree with their reference implementations"
    ));
}

/// Times the walk over every working set up to `largest`, counts it if there are counters, and writes
/// the record.
fn walks(
    console: &mut Console,
    region: &mut Region<'_>,
    largest: usize,
    planted: Option<Capabilities>,
) {
    let began = start();
    let Some(rate) = pit::tsc_rate().or_else(|| Some(Rate::from_hz(tsc_hz()? as f64))) else {
        console.check("the rate of the time-stamp counter is known", false);
        return;
    };
    let identity = Identity::detect();
    let run = Run {
        tick_hz: rate.hz(),
        core_per_tick: walk::core_per_tick(),
        seed: SEED,
        largest,
        ring: exit::ring(),
    };
    let mut cpu = Cpu;
    let (mut programmed, counting) = match counters::detect(planted) {
        Ok(capabilities) => {
            let (general, fixed) = (capabilities.general, capabilities.fixed);
            console.say(format_args!(
                "PMU: {general} general counters, {fixed} fixed"
            ));
            let (programmed, counting) = Programmed::new(&mut cpu, capabilities);
            (Some(programmed), counting)
        }
        Err(reason) => {
            console.say(format_args!("{reason}"));
            (None, counters::refused(reason))
        }
    };
    console.record(&record::header(&identity, &run, counting));
    let mut store = walk::Store::new();
    for bytes in walk::working_sets(largest) {
        let walked = walk::walk(
            region.reborrow(),
            bytes,
            SEED,
            rate.hz(),
            &mut store,
            programmed.as_mut(),
        );
        let Some(walked) = walked else {
            console.check(format_args!("walk {bytes}"), false);
            continue;
        };
        let (visited, elements) = (walked.visited, walked.elements);
        console.check(
            format_args!("walk {bytes} visits {visited} of {elements}"),
            visited == elements,
        );
        console.record(&record::point(bytes, &walked));
    }
    let ticks = start() - began;
    console.record(&record::end(rate.nanos(ticks as f64) / 1e9));
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    Console::open().say(format_args!("panic: {info}"));
    exit(Status::Panicked)
}
