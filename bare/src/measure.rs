//! The part of the image that is the same on all platforms: checks, walks, and their record.

use core::arch::asm;

use linefill::cpu::{Features, Identity, tsc_hz};
use linefill::kernel::symbols;
use linefill::kernel::verify_all;
use linefill::mem::Region;
use linefill::pmu::Cpu;
use linefill::time::{FenceWaits, Rate, make_lfence_wait, start};

use crate::console::Console;
use crate::counters::{self, Programmed};
use crate::instructions;
use crate::options::{Options, Plant};
use crate::pages::{self, Pages};
use crate::record::{self, Run};
use crate::walk::{self, Walked};

/// What the platform reports about the machine.
pub struct Here {
    /// The rate of the time-stamp counter, if the platform has a working clock.
    pub rate: Option<Rate>,
    /// The ring that the kernels run in.
    pub ring: u16,
    /// Seconds since 1970, or 0 if the platform does not know the date.
    pub started: u64,
    /// Notes for the reader of the record.
    pub notes: &'static [&'static str],
}

/// Checks every instruction, every page size and, unless the options exclude them, every kernel. Then times
/// the walks in `memory`, and writes the record.
///
/// On this CPU nothing else runs except the output of `console`, and `memory` is in pages of 2 MiB.
pub fn everything(
    console: &mut Console<'_>,
    memory: &mut [u8],
    mut pages: Pages,
    options: &Options<'_>,
    here: &Here,
) {
    match options.plant {
        None => {}
        Some(Plant::Failure) => console.check("planted on purpose", false),
        Some(Plant::Panic) => panic!("planted on purpose"),
        // SAFETY: it raises #UD, whose handler does not return.
        Some(Plant::Exception) => unsafe { asm!("ud2", options(noreturn)) },
    }
    fence(console, here.ring);
    let mut region = Region::new(memory).expect("the memory is whole lines");
    instructions::check_all(&Features::detect(), &mut |what, ok| {
        console.check(format_args!("instructions: {what}"), ok);
    });
    pages::check(console, &mut pages);
    match options.verify {
        true => verify(console, &mut region),
        false => console.say(format_args!("verify=off: no kernel is checked")),
    }
    let Some(rate) = here.rate.or_else(|| Some(Rate::from_hz(tsc_hz()? as f64))) else {
        return console.check("the rate of the time-stamp counter is known", false);
    };
    match options.run {
        None => walks(console, &mut region, options, here, rate),
        Some(names) => experiments(console, pages, names, options, here, rate),
    }
}

/// Makes the fences of the clock wait, and says whether they do.
fn fence(console: &mut Console<'_>, ring: u16) {
    if ring != 0 {
        return console.say(format_args!("lfence: as found, since this is ring {ring}"));
    }
    // SAFETY: this is ring 0 of the one CPU, and no other code writes the register.
    let waits = unsafe { make_lfence_wait(&mut Cpu) };
    let said = match waits {
        FenceWaits::Always => "waits on every CPU of this kind",
        FenceWaits::AsFound => "waits, as the firmware has set it",
        FenceWaits::Now => "waits since DE_CFG was written",
        FenceWaits::Unknown => "left to the hypervisor",
        _ => {
            "does not wait: DE_CFG did not keep the bit, and older work may reach into single runs"
        }
    };
    console.say(format_args!("lfence: {said}"));
}

#[cfg(feature = "experiments")]
use crate::run::experiments;

/// Reports that this build has no experiments.
#[cfg(not(feature = "experiments"))]
fn experiments(
    console: &mut Console<'_>,
    _: Pages,
    names: &str,
    _: &Options<'_>,
    _: &Here,
    _: Rate,
) {
    console.check(
        format_args!("run={names}: experiments are there with the feature experiments alone"),
        false,
    );
}

/// Checks every kernel that this CPU supports against its reference implementation.
fn verify(console: &mut Console<'_>, region: &mut Region<'_>) {
    let mut agreed = 0;
    verify_all(region, &Features::detect(), &mut |kernel, result| {
        console.check(format_args!("kernel {kernel}"), result.is_ok());
        match result {
            Ok(()) => agreed += 1,
            Err(mismatch) => console.say(format_args!("{mismatch}")),
        }
    });
    let all = symbols::all().count();
    console
        .say(format_args!("{agreed} of {all} kernels agree with their reference implementations"));
}

/// Times the walk over every working set, counts events if there are counters, and writes the record.
fn walks(
    console: &mut Console<'_>,
    region: &mut Region<'_>,
    options: &Options<'_>,
    here: &Here,
    rate: Rate,
) {
    let began = start();
    let largest = options.largest_of(console, region.len());
    let identity = Identity::detect();
    let run = Run {
        tick_hz: rate.hz(),
        core_per_tick: walk::core_per_tick(),
        seed: options.seed,
        largest,
        started: here.started,
        notes: here.notes,
    };
    let mut cpu = Cpu;
    let (mut programmed, counting) = match counters::detect(options.plant_pmu, here.ring) {
        Ok(capabilities) => {
            let (general, fixed) = (capabilities.general, capabilities.fixed);
            console.say(format_args!("PMU: {general} general counters, {fixed} fixed"));
            let (programmed, counting) = Programmed::new(&mut cpu, capabilities);
            (Some(programmed), counting)
        }
        Err(reason) => {
            console.say(format_args!("{reason}"));
            (None, counters::refused(reason))
        }
    };
    console.record(&record::header(&identity, &run, counting));
    console.say(format_args!("A random walk:  working set   ns per step   core cycles per step"));
    let mut store = walk::Store::new();
    for bytes in walk::working_sets(largest) {
        let walked = walk::walk(
            region.reborrow(),
            bytes,
            options.seed,
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
        // A screen has room only for whole octaves.
        if bytes.is_power_of_two() {
            say(console, bytes, &walked, rate);
        }
    }
    let ticks = start() - began;
    console.record(&record::end(rate.nanos(ticks as f64) / 1e9));
}

/// Prints a line of the table of walks.
fn say(console: &mut Console<'_>, bytes: usize, walked: &Walked<'_>, rate: Rate) {
    let ticks = walked.outcome.ticks.median;
    let kib = bytes >> 10;
    let ns = rate.nanos(ticks);
    match walked.outcome.core_per_tick {
        Some(ratio) => {
            let cycles = ticks * ratio;
            console.say(format_args!("{kib:>23} KiB {ns:>13.2} {cycles:>22.2}"));
        }
        None => console.say(format_args!("{kib:>23} KiB {ns:>13.2}                unknown")),
    }
}
