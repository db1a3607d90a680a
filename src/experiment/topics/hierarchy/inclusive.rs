//! Drepper 3.2, inclusive and exclusive caches.

// Flushes a line of a ring by address.
#![allow(unsafe_code)]

use crate::cpu::{CacheKind, Vendor, clflush, mfence};
use crate::experiment::prelude::*;
use crate::experiment::shared::walk::WalkSetup;
use crate::kernel::{Kernel, Step, Walk};
use crate::mem::{LINE, Region};
use crate::pattern::{Layout, Order, Ring};
use crate::stats::Interval;
use crate::time::{start, stop};
use core::hint::black_box;

/// The rows of this family.
pub(crate) static ALL: &[Experiment] = &[INCLUSIVE];

const LOST: &str = "times a hot line is lost";
const NEAR: &str = "the same while lines of L1d pass";

/// How often either is counted.
const REPEATS: u64 = 5;

/// Losses of a line that tell an inclusive last level: half as many as four times its size makes. A
/// few lines are lost by chance wherever replacement is not by age alone.
const LOSSES: f64 = 2.0;

/// Bytes that stay in L1d beside the hot lines.
const IN_L1: usize = 8 << 10;

const INCLUSIVE: Experiment = Experiment {
    id: "D5",
    name: "drepper-inclusive-exclusive",
    title: "Inclusive and exclusive caches",
    question: "Does a line that is used all the time leave L1d and L2 when the last level is turned \
               over, and what do L1d and L2 hold together?",
    source: "Drepper 3.2: caches of Intel are inclusive, those of AMD exclusive",
    about: "A page of lines is walked again and again while four times the last level's size and \
            more streams past, and steps that miss to memory are counted. Hits in L1d and L2 do \
            not tell the last level that a line is in use: an inclusive one throws it out as if \
            it were old, and has it removed from the others as well, some times in the course of \
            the stream. Intel's last levels were inclusive from Nehalem on, and are not in \
            servers since Skylake; AMD's are filled by what L2 throws out since K10, and keep \
            what other cores share. What two levels hold together is tried where no stranger \
            takes part: lines that all fall into one set of L2 fall into one set of L1d as well, \
            and an exclusive pair keeps as many as both sets have ways, any other pair as many \
            as the set of L2 has.",
    seen: &[],
    plot: None,
    cases,
    curves: plain_curves,
    events: &[],
    claims: &[
        // The model of an eviction that is pushed down a level is that of exclusive caches, which AMD
        // prefers; Intel implements inclusive ones.
        measured(
            "D5.1",
            drepper("3.2"),
            "the last level of Intel's CPUs is inclusive and that of AMD's is not: a line that is \
             used all the time is lost twice or more, on AMD's more seldom, while four times the \
             last level's size streams past",
            |e| {
                let lost = losses(e)?;
                match vendor(e.machine)? {
                    Vendor::Intel => at_least("on Intel's, times a line is lost", lost, LOSSES),
                    _ => at_most("on AMD's, times a line is lost", lost, LOSSES),
                }
            },
        )
        .failing("The last level is not what the document has for this vendor."),
        measured(
            "D5.2",
            ours("CPUID states what the losses of a hot line show: two kinds of evidence"),
            "hot lines are lost to a stream through the last level where CPUID calls it \
             inclusive, and are not where CPUID calls it not inclusive",
            |e| {
                let lost = losses(e)?;
                let stated = stated(e.machine)?;
                if stated {
                    at_least("CPUID says inclusive; times a line is lost", lost, LOSSES)
                } else {
                    at_most(
                        "CPUID says not inclusive; times a line is lost",
                        lost,
                        LOSSES,
                    )
                }
            },
        ),
        // Exclusive, a line of L1d is not in L2; inclusive, each line of L1d is also in L2, which wastes
        // memory for what lies in two places.
        measured(
            "D5.3",
            drepper("3.2"),
            "L1d and L2 are exclusive on AMD's CPUs and inclusive on Intel's: lines of one set of \
             L2, more than either level has ways but fewer than both together, stay in the two on \
             AMD's, and do not on Intel's",
            held_together,
        )
        .failing("The two vendors' first and second levels are not what they were in 2007."),
    ],
};

/// Who makes the CPU: one of the two that the document names.
fn vendor(machine: &Machine) -> Result<Vendor, Untestable> {
    let core = machine.calibration.core();
    let vendor = core.map(|core| core.vendor);
    match vendor {
        Some(vendor @ (Vendor::Intel | Vendor::Amd)) => Ok(vendor),
        _ => Err(Untestable::because(
            "this core is not known as one of Intel or of AMD, which the claim is about",
        )),
    }
}

/// The series of lines that all fall into one set of L2, by their number.
const ONE_SET: &str = "lines of one set of L2";

/// The share of a miss beyond L2 that a line costs at most if both levels hold it. Where they do not,
/// LRU misses always, and no policy that is known keeps so many of the lines that loads come below.
const HELD: f64 = 0.25;

/// Numbers of lines of one set of L2, and bytes after which L2's sets repeat.
struct Crowd {
    /// More than either of L1d and L2 has ways, fewer than both.
    between: usize,
    /// Twice as many as both have.
    beyond: usize,
    apart: usize,
}

fn crowd(machine: &Machine) -> Option<Crowd> {
    let ways = |level| machine.data_cache(level)?.ways.map(|ways| ways as usize);
    let (l1, l2) = (ways(1)?, ways(2)?);
    let bytes = machine.data_cache(2)?.size as usize;
    (l1 > 1 && l2 > 1).then(|| Crowd {
        between: l1.max(l2) + l1.min(l2) / 2,
        beyond: 2 * (l1 + l2),
        apart: bytes / l2,
    })
}

/// Judges whether the lines between stay, by what a step costs more than one that hits L2, over what
/// it costs more where no two levels can hold the lines.
fn held_together(e: &Evidence<'_>) -> Judged {
    let Some(Crowd {
        between, beyond, ..
    }) = crowd(e.machine)
    else {
        return Err(Untestable::because("CPUID reports no ways of L1d and L2"));
    };
    let l2 = e.machine.ranges.l2;
    let rungs = e.machine.ladder.iter();
    let inside: Vec<Interval> = rungs
        .filter(|rung| l2.holds(rung.working_set))
        .map(|rung| rung.cost)
        .collect();
    let hit = Interval::median_of(&inside)
        .ok_or_else(|| Untestable(format!("the ladder has no rung in the {l2}")))?;
    let (some, all) = (
        e.at(ONE_SET, between as f64)?,
        e.at(ONE_SET, beyond as f64)?,
    );
    if ratio(all, hit)?.hi < 1.5 {
        return Err(Untestable(format!(
            "{beyond} lines of what should be one set of L2 cost {all} core cycles, and a hit in \
             L2 {hit}: pages are scattered over its sets, or addresses hashed"
        )));
    }
    let more = |of: Interval| Interval::new(of.lo - hit.hi, of.hi - hit.lo);
    let share = share_of_miss(more(some), more(all))?;
    let what = format!("{between} lines, the share of a miss beyond L2");
    match vendor(e.machine)? {
        Vendor::Amd => at_most(&what, share, HELD),
        _ => at_least(&what, share, HELD),
    }
}

/// What CPUID says of the last level.
fn stated(machine: &Machine) -> Result<bool, Untestable> {
    let caches = machine.caches.iter();
    let last = caches
        .filter(|cache| cache.kind != CacheKind::Instruction)
        .max_by_key(|cache| cache.level);
    last.and_then(|cache| cache.inclusive).ok_or_else(|| {
        Untestable::because("CPUID does not say whether the last level is inclusive")
    })
}

/// How often a line was lost because of the stream, in most repetitions: all but the least and the
/// most. Other slow steps, those interrupted, are as many where nothing is displaced.
fn losses(e: &Evidence<'_>) -> Result<Interval, Untestable> {
    e.machine.place_in_memory(e.machine.in_memory())?;
    let most = |series| {
        let points = e.series(series)?;
        let mut counts: Vec<f64> = points.iter().map(|point| point.1.middle()).collect();
        counts.sort_by(f64::total_cmp);
        match counts[..] {
            [_, lo, .., hi, _] => Ok(Interval::new(lo, hi)),
            _ => Err(Untestable(format!("`{series}` was counted too seldom"))),
        }
    };
    let (far, near) = (most(LOST)?, most(NEAR)?);
    Ok(Interval::new(far.lo - near.hi, far.hi - near.lo))
}

fn cases(machine: &Machine) -> Vec<Case> {
    let total = machine.in_memory();
    let mut cases = Vec::new();
    for repeat in 1..=REPEATS {
        for (series, stream) in [(LOST, total), (NEAR, IN_L1)] {
            let setup = RetainSetup {
                stream,
                total,
                seed: machine.seed + repeat,
            };
            cases.push(Case::new(series, repeat as f64, setup));
        }
    }
    if let Some(crowd) = crowd(machine) {
        for count in [crowd.between, crowd.beyond] {
            let layout = Layout::npad(7).spaced(crowd.apart);
            let order = Order::Random { seed: machine.seed };
            let setup = WalkSetup::follow(layout, count * LINE, order);
            cases.push(Case::new(ONE_SET, count as f64, setup).in_huge_pages());
        }
    }
    cases
}

/// A hot ring in L1d or L2, steps along which alternate with other lines that stream past. What is counted
/// is steps that take longer by more than half of a miss to memory, over the lines of the ring: how
/// often each line was lost. Steps are timed one by one: several hits in the last level together look
/// like a miss to memory. They are few, since each may be interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RetainSetup {
    /// Bytes that stream past, round and round.
    pub stream: usize,
    /// Bytes that stream past in all.
    pub total: usize,
    /// Decides the order of the ring, and tells repetitions apart.
    pub seed: u64,
}

/// Lines of the ring: a page of them, an eighth of the smallest L1d.
const HOT: usize = 64;

/// Lines that stream past between two steps: in a lap of the ring 64 KiB, one or less in each set of
/// any L2.
const BETWEEN: usize = 16;

/// Steps by which the time of a miss is found.
const TRIALS: usize = 51;

impl Setup for RetainSetup {
    fn bytes(&self) -> usize {
        HOT * LINE + self.stream
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Result<Workload<'m>, Untestable> {
        let parts = region.split(HOT * LINE);
        let (hot, mut stream) =
            parts.ok_or_else(|| Untestable("no room for lines that stream past".to_owned()))?;
        let order = Order::Random { seed: self.seed };
        let ring = Ring::new(hot, Layout::npad(7), HOT, order)?;
        let mut walk = Walk::new(ring, Step::Follow)?;
        // Pages that were never written may all be one page of zeroes.
        stream.bytes_mut().fill(1);

        black_box(walk.run(HOT as u64));
        let undisturbed = median(|| step(&mut walk));
        let missing = median(|| {
            black_box(walk.run(HOT as u64));
            let next = walk.ring().cursor();
            // SAFETY: the cursor is an address in the ring, which is mapped.
            unsafe { clflush(core::ptr::with_exposed_provenance(next)) };
            mfence();
            step(&mut walk)
        });
        if missing <= undisturbed {
            return Err(Untestable(format!(
                "a step takes {undisturbed} ticks, and {missing} to a flushed line"
            )));
        }
        let slow = undisturbed + (missing - undisturbed) / 2;

        let mut lost = 0_u32;
        let rounds = self.total.div_ceil(stream.len());
        for _ in 0..rounds {
            for lines in stream.bytes().chunks(BETWEEN * LINE) {
                for line in lines.iter().step_by(LINE) {
                    black_box(*line);
                }
                lost += u32::from(step(&mut walk) > slow);
            }
        }
        Ok(Workload::Count(f64::from(lost) / HOT as f64))
    }
}

/// Ticks of a step.
fn step(walk: &mut Walk<'_>) -> u64 {
    let begin = start();
    black_box(walk.run(1));
    stop() - begin
}

fn median(mut ticks: impl FnMut() -> u64) -> u64 {
    let mut all = [0; TRIALS];
    all.fill_with(&mut ticks);
    all.sort_unstable();
    all[TRIALS / 2]
}
