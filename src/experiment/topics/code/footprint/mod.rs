//! Drepper 3.4 and 6.2.2, instruction fetch: footprints of code, short loops, taken branches.

// Calls code that was written at run time.
#![allow(unsafe_code)]

use crate::cpu::CacheKind;
use crate::experiment::claim::verdict::Extreme;
use crate::experiment::prelude::*;
use crate::experiment::shared::count::CountSetup;
use crate::host::Pages;
use crate::kernel::Routine;
use crate::order;
use crate::pattern::{Behind, Filler, Indirect, Listing};
use crate::stats::Side;

pub(crate) mod branches;

pub(crate) static ALL: &[Experiment] = &[FOOTPRINT, branches::BRANCHES, branches::LOOPS];

const fn name(filler: Filler) -> &'static str {
    match filler {
        Filler::Nop1 => "nop, 1 byte",
        Filler::Nop8 => "nop, 8 bytes",
        Filler::Move3 => "mov, 3 bytes",
        Filler::Prefixed5 => "mov, 5 bytes with a length-changing prefix",
    }
}

/// The least ratio of the times per instruction after and before a step.
const STEP: f64 = 1.2;

const FOOTPRINT: Experiment = Experiment {
    id: "D33",
    name: "drepper-3.4-icache",
    title: "The footprint of straight-line code",
    question: "What does code cost that outgrows the decoded cache, L1i or L2?",
    source: "Drepper 3.4: small code, and caches of decoded instructions. Published sizes of \
             the decoded cache, in micro-operations: Sandy Bridge 1536 (Real World Technologies), \
             Haswell and Skylake 1536, Sunny Cove 2304 (AnandTech), Willow Cove 2304 and Golden \
             Cove 4096 (Hardware Times, from Intel's Architecture Day 2021), Raptor Cove as Golden \
             Cove (Chips and Cheese), Redwood Cove 4096 and Lion Cove 5250 (Wikipedia, from \
             Intel); in instructions: Zen 2048 and Zen 2 4096 (AnandTech), Zen 3 4096 and Zen 4 \
             6912 (WikiChip), Zen 5 6144 (Chips and Cheese)",
    about: "Straight-line code of one kind of instruction runs in a loop. The axis is its size in \
            bytes, the height the time per instruction. A cache of decoded micro-operations \
            bypasses the decoders for code that fits it. Code of short instructions has many per \
            byte and outgrows that cache first; code of long instructions outgrows L1i first. \
            Beyond each cache the time rises, less so if prefetching feeds the straight-line code \
            from the next level. Code that jumps has less help from prefetching.",
    plot: Some(Plot::lines(Axis::bytes("code"), Axis::log("time"), Unit::CyclesPerInstruction)),
    cases: |machine| {
        let mut cases = Vec::new();
        for filler in Filler::ALL {
            for bytes in footprints(machine, filler) {
                cases.push(code(name(filler), bytes, Listing::straight(filler, bytes)));
            }
        }
        let missing = "this core has no decoded cache, or no size of it is published";
        let published = CountSetup::published(PUBLISHED, |core| core.decoded_cache, missing);
        cases.push(published.at(1));
        cases
    },
    curves: |e| e.curves_of(|label| label != PUBLISHED),
    events: events::CODE,
    claims: &[
        // Decoding takes time, above all on x86. Decoded instructions are therefore cached, which
        // lets the processor skip the first steps of the pipeline.
        measured(
            "D33.1",
            drepper("3.4"),
            "at least one of four kinds of straight-line code takes 1.2 times as long per \
             instruction, or longer, in the upper half of L1i as in 2 KiB",
            |e| {
                let l1i = l1i(e.machine)?;
                let range = Range { lo: 0.45 * l1i, hi: 0.8 * l1i };
                let slower = Extreme::most(Filler::ALL.into_iter().map(|filler| {
                    let slower = ratio(e.level(name(filler), range), small(e, filler))?;
                    Ok((filler, slower))
                }))?;
                let what = format!("{} in the upper half of L1i over 2 KiB", name(slower.at));
                at_least(&what, slower.value, STEP)
            },
        )
        .holding("Code that does not fit the decoded cache waits for the decoders."),
        measured(
            "D33.2",
            ours("the document gives no size of a decoded cache; other sources publish sizes"),
            "the decoded cache holds the published number of 3-byte instructions for its core, \
             within a quarter",
            |e| {
                let published = e.at(PUBLISHED, 1.0)?.middle();
                let (fits, left) = step(e, Filler::Move3, 2048.0)?;
                let bytes = Filler::Move3.bytes() as f64;
                let held = Interval::new(fits / bytes, left / bytes).scaled(1.0 / published);
                let what = format!(
                    "between {:.0} and {:.0} instructions fit; over the published {published:.0}",
                    fits / bytes,
                    left / bytes
                );
                between(&what, held, 0.75, 1.25)
            },
        ),
        measured(
            "D33.3",
            ours("a step at the size of L1i shows that the footprint of code determines the time"),
            "the step out of L1i lies at 0.6 to 1.6 times the size of L1i that CPUID reports",
            |e| {
                let l1i = l1i(e.machine)?;
                // Half of it lies beyond the decoded cache of most cores, whose end is a step too.
                let (fits, left) = step(e, Filler::Nop8, l1i / 2.0)?;
                let step = Interval::new(fits / l1i, left / l1i);
                let what = format!(
                    "between {:.0} and {:.0} KiB fit; over {:.0} KiB by CPUID",
                    fits / 1024.0,
                    left / 1024.0,
                    l1i / 1024.0
                );
                between(&what, step, 0.6, 1.6)
            },
        ),
        // Larger code means higher pressure on L1i, which can lead to less performance, though
        // linear code can be prefetched.
        measured(
            "D33.4",
            drepper("6.2.2"),
            "straight-line code of 8-byte instructions takes at least 1.2 times as long per \
             instruction in L2 as in 2 KiB of code",
            |e| {
                let slower = ratio(in_l2(e), small(e, Filler::Nop8))?;
                at_least("8-byte nop in L2 over 2 KiB", slower, STEP)
            },
        ),
        // Larger code also means higher pressure on L2 and higher levels.
        measured(
            "D33.5",
            drepper("6.2.2"),
            "straight-line code of two to four times the size of L2 takes at least 1.2 times as \
             long per instruction as code in L2",
            |e| {
                let l2 = l2(e.machine)?;
                let beyond = e.level(name(Filler::Nop8), Range { lo: 1.9 * l2, hi: 4.1 * l2 })?;
                at_least("8-byte nop beyond L2 over in L2", ratio(beyond, in_l2(e)), STEP)
            },
        ),
    ],
    ..Experiment::PLAIN
};

/// The series of the published capacity, with which the measured capacity is compared.
const PUBLISHED: &str = "published micro-operations of the decoded cache";

fn footprints(machine: &Machine, filler: Filler) -> Vec<usize> {
    let l1i = l1i(machine).map_or(32 << 10, |bytes| bytes as usize);
    let l2 = l2(machine).map_or(1 << 20, |bytes| bytes as usize);
    let mut sizes = if machine.full {
        let mut sizes = vec![l1i / 8, l1i * 5 / 8, l1i * 3 / 4, l1i * 7 / 8, l1i * 5 / 4];
        sizes.extend((10..24).flat_map(|k| [1 << k, (1 << k) * 3 / 2]));
        sizes
    } else if filler == Filler::Nop8 {
        vec![1 << 10, 2 << 10, l1i / 2, l1i, l1i * 3 / 2, l1i * 4, l2 / 2, l2 * 2, l2 * 4, 8 << 20]
    } else {
        let mut sizes = vec![2 << 10, l1i / 8, l1i / 4];
        sizes.extend((6..=13).map(|sixteenth| l1i * sixteenth / 16));
        sizes
    };
    // Only code of the longest instructions is written quickly enough at large sizes.
    if filler != Filler::Nop8 {
        sizes.retain(|&bytes| bytes <= l1i);
    }
    order::distinct(sizes)
}

pub(crate) fn l1i(machine: &Machine) -> Testable<f64> {
    let found = machine
        .caches
        .iter()
        .find(|cache| cache.level == 1 && cache.kind == CacheKind::Instruction);
    found
        .map(|cache| cache.size as f64)
        .ok_or_else(|| Untestable("CPUID reports no instruction cache".to_owned()))
}

fn l2(machine: &Machine) -> Testable<f64> {
    machine
        .data_cache(2)
        .map(|cache| cache.size as f64)
        .ok_or_else(|| Untestable("CPUID reports no L2 cache".to_owned()))
}

/// Returns the time per instruction of 2 KiB of code, which every level holds.
fn small(e: &Evidence<'_>, filler: Filler) -> Testable<Reading> {
    e.at(name(filler), 2048.0)
}

/// Returns the time per instruction of code that L2 holds and L1i does not.
fn in_l2(e: &Evidence<'_>) -> Testable<Reading> {
    e.level(name(Filler::Nop8), Range { lo: 1.9 * l1i(e.machine)?, hi: 0.55 * l2(e.machine)? })
}

/// Returns the largest footprint before the first step of a kind of code over the footprint of `base`
/// bytes, and the smallest after it.
fn step(e: &Evidence<'_>, filler: Filler, base: f64) -> Testable<(f64, f64)> {
    let time = e.at(name(filler), base)?;
    let mut fits = base;
    for (x, value) in e.series(name(filler))? {
        match ratio(value, &time)?.side_of(STEP) {
            _ if x <= base => {}
            Side::Below => fits = x,
            Side::Across => {}
            Side::Above => return Ok((fits, x)),
        }
    }
    Err(Untestable(format!(
        "no footprint of `{}` took {STEP} times as long per instruction as {:.0} KiB",
        name(filler),
        base / 1024.0
    )))
}

/// Returns the case of this code.
pub(super) fn code(series: &str, x: usize, listing: Listing) -> Case {
    Case::new(series, x as f64, RoutineSetup { listing })
}

/// Code that runs again and again. An operation is a round through the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RoutineSetup {
    pub listing: Listing,
}

impl Setup for RoutineSetup {
    /// One line, which is not used: the code has its own executable memory.
    fn bytes(&self) -> usize {
        LINE
    }

    fn prepare<'m>(&self, _: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        let listing = self.listing;
        let mut write = |bytes: &mut [u8]| listing.write(bytes);
        let code = context.host.code(listing.bytes(), Pages::Base, &mut write)?;
        // SAFETY: the listing was written to the start of the code, which stays executable and
        // unchanged for as long as it lives.
        let routine = unsafe { Routine::new(code, |code| code.function(0), listing) };
        Ok(Workload::steady(routine, 1))
    }
}

pub(crate) static BEHIND_JUMPS: &[Experiment] = &[UNDEFINED];

const UD2: &str = "ud2 behind each jump";
const CODE: &str = "code behind each jump";

/// A number of jumps that every predictor remembers, and a number that most predictors do not: on Zen 4
/// each of so many costs about 40 core cycles. Zen 5 remembers them.
const FEW: usize = 16;
const MANY: usize = 16384;

/// The least cost of a jump that is not remembered, in core cycles: a front end finds it by decoding.
const FORGOTTEN: f64 = 10.0;

/// Instructions per jump of a [`Listing::Indirect`].
const PER_JUMP: f64 = 2.0;

const UNDEFINED: Experiment = Experiment {
    id: "E34",
    name: "drepper-ud2",
    title: "ud2 behind an indirect jump",
    question: "Does it help to tell the fetcher that the code behind a jump will not be executed?",
    source: "Drepper 6.3.1: ud2, an undefined instruction, after an indirect jump keeps the \
             processor from decoding what follows; \"a very special situation\"",
    about: "Indirect jumps, one per line, run in a scattered order, with ordinary code or with \
            ud2 behind each. The axis is their number. If the CPU remembers a jump's target, it \
            follows the jump at once and does not fetch behind it. Otherwise decoding finds the \
            jump; fetch then continues behind it, or stops until the target is computed. What is \
            fetched behind it is discarded, and ud2 ends that fetching early. Compilers put ud2 \
            or int3 behind indirect jumps for another reason: it keeps a CPU from executing the \
            code there speculatively and leaving traces (straight-line speculation).",
    plot: Some(Plot::lines(
        Axis::log("indirect jumps, one per line, in scattered order"),
        Axis::log("time"),
        Unit::CyclesPerInstruction,
    )),
    cases: |machine| {
        let counts: &[usize] = if machine.full {
            &[FEW, 64, 256, 1024, 4096, MANY, 4 * MANY]
        } else {
            &[FEW, 1024, MANY]
        };
        let mut cases = Vec::new();
        for &count in counts {
            for (series, behind) in [(UD2, Behind::Undefined), (CODE, Behind::Straight)] {
                let listing = Listing::Indirect(Indirect { count, behind });
                cases.push(code(series, count, listing).in_turn());
            }
        }
        cases
    },
    events: events::CODE,
    claims: &[
        // After an indirect jump, ud2 tells the fetcher not to waste effort on decoding what
        // follows.
        measured(
            "E34.1",
            drepper("6.3.1"),
            "if there are more indirect jumps than the CPU remembers, ud2 behind each makes them \
             at least 5 % faster",
            |e| {
                let ratio = ud2_over_code(e, MANY)?;
                let cost = e.at(CODE, MANY as f64)?.scaled(PER_JUMP);
                if cost.side_of(FORGOTTEN) != Side::Above {
                    return Err(Untestable(format!(
                        "the predictor still remembers {MANY} jumps: each costs {cost} core \
                         cycles, and one that is not remembered {FORGOTTEN} or more"
                    )));
                }
                at_most("ud2 over code, many jumps", ratio, 0.95)
            },
        )
        .failing("The time shows no gain from fetching less behind a jump."),
        measured(
            "E34.2",
            ours(
                "with remembered targets the CPU does not fetch behind the jumps, so ud2 should \
                 make no difference",
            ),
            "if the CPU remembers all indirect jumps, ud2 behind each changes their time by less \
             than 3 %",
            |e| between("ud2 over code, few jumps", ud2_over_code(e, FEW), 0.97, 1.03),
        ),
    ],
    ..Experiment::PLAIN
};

fn ud2_over_code(e: &Evidence<'_>, jumps: usize) -> Testable<Interval> {
    paired(e, UD2, CODE, Range::at(jumps as f64))
}
