//! The overhead of timing: the start/stop pair, the yardstick, a query of context switches, a sample. And the
//! overhead of counting: a scope read by system call, and by `rdpmc` if that is allowed. If not, the number
//! of instructions that a scope with `rdpmc` executes.

use std::hint::black_box;

use crate::common::driver::{Driver, Timed, around};
use crate::common::path;
use linefill::counters;
use linefill::kernel::Kernel;
use linefill::measure::{Buffers, NoMonitor, Plan, Sample, steady};
use linefill::os::Switches;
use linefill::os::perf::{Counter, Event};
use linefill::time::{start, stop, yardstick};

pub fn main(driver: &mut Driver) {
    let own = driver.time("what a pair of start and stop reads", None, &mut |pairs| {
        (0..pairs).map(|_| empty()).sum()
    });
    let pair = driver.time("a pair of start and stop", None, &mut |pairs| around(pairs, empty));
    driver.time("yardstick", None, &mut |readings| around(readings, yardstick::ticks));
    driver.time("a look at context switches", None, &mut |looks| around(looks, Switches::now));
    driver.time("a steady sample of nothing", None, &mut sample_nothing);
    let by_read = scope_of(driver, "task-clock", false);
    let by_rdpmc = scope_of(driver, "instructions", true);
    let usual = driver.time("counters::scope of the usual events", None, &mut |scopes| {
        around(scopes, || counters::scope(|| ()))
    });

    report(driver, "an empty start/stop pair reads", own);
    report(driver, "a start/stop pair takes", pair);
    report(driver, "a scope of one event, by read(2), takes", by_read);
    report(driver, "a scope of one event, by rdpmc, takes", by_rdpmc);
    report(driver, "a scope of the usual events takes", usual);
    if cfg!(debug_assertions) {
        driver.say("the instructions of a scope: skipped: the code is not optimised");
        return;
    }
    let path = shortest_scope();
    driver
        .say(&format!("a scope of one event, by rdpmc, is {path} instructions, two of them rdpmc"));
    // A scope may take 100 cycles: at three instructions per cycle, 96 instructions take 32 cycles, which
    // leaves 34 cycles per `rdpmc`.
    assert!(path <= 96, "a scope has grown to {path} instructions");
}

fn report(driver: &Driver, what: &str, timed: Timed) {
    let Some(ticks) = timed.ticks else { return };
    let cycles = timed.cycles.map_or(String::new(), |cycles| format!(", {cycles:.1} core cycles"));
    let nanos = driver.rate().nanos(ticks);
    driver.say(&format!("{what} {ticks:.1} ticks{cycles}, {nanos:.1} ns"));
}

/// Times a scope of nothing that counts `event`: by `rdpmc` if `fast`, by `read` if not.
fn scope_of(driver: &mut Driver, event: &str, fast: bool) -> Timed {
    let way = if fast { "rdpmc" } else { "read(2)" };
    let name = format!("a scope of {event}, by {way}");
    let opened = Event::named(event).and_then(|event| Counter::open(&event));
    let skipped = match opened {
        Err(refusal) => refusal.to_string(),
        Ok(counter) => match (counter.fast(), fast) {
            (Err(unread), true) => unread.to_string(),
            (Ok(()), false) => "rdpmc reads it".to_owned(),
            _ => {
                return driver
                    .time(&name, None, &mut |scopes| around(scopes, || a_scope(&counter)));
            }
        },
    };
    driver.say(&format!("{name}: skipped: {skipped}"));
    Timed::default()
}

/// A scope around no code.
#[inline(never)]
fn a_scope(counter: &Counter) -> u64 {
    counter.scope(|| ()).map_or(0, |(_, reading)| reading.value)
}

/// The number of instructions on the shortest path through [`a_scope`] that executes `rdpmc` twice.
fn shortest_scope() -> usize {
    let address = a_scope as *const () as u64;
    // SAFETY: the function's code is mapped, readable and never written. At least a page of text follows its
    // start, because the main parts of the program are in the same section.
    let code = unsafe { std::slice::from_raw_parts(address as *const u8, 2048) };
    path::shortest(code, address, iced_x86::Mnemonic::Rdpmc, 2).expect("a scope reads twice")
}

/// The time that the pair reads with no code in between.
#[inline(always)]
fn empty() -> u64 {
    let began = start();
    stop() - began
}

/// Samples kept per measurement; the lab's points keep at most a few hundred.
const ROOM: usize = 64;

/// Measures a kernel that does nothing until `samples` samples were taken.
fn sample_nothing(samples: u64) -> u64 {
    let mut kept = [Sample::default(); ROOM];
    let mut scratch = [0.0; ROOM];
    // Every operation reaches the minimum time, so that the measurement does not look for a larger number of
    // operations.
    let mut plan = Plan::of_ticks(0, u64::MAX);
    // A precision that is never reached: the full buffer ends the measurement.
    plan.precision = 0.0;
    let mut left = samples;
    let began = start();
    while left > 0 {
        let now = left.min(ROOM as u64);
        let buffers = Buffers { samples: &mut kept[..now as usize], scratch: &mut scratch };
        black_box(steady(&mut Nothing, &plan, &mut NoMonitor, buffers));
        left -= now;
    }
    stop() - began
}

/// A kernel whose operations do nothing.
struct Nothing;

impl Kernel for Nothing {
    fn run(&mut self, operations: u64) -> u64 {
        operations
    }
}
