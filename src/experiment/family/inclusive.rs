//! Drepper 3.2, inclusive and exclusive caches.

use crate::cpu::CacheKind;
use crate::experiment::setup::RetainSetup;
use crate::experiment::{
    Case, Claim, Evidence, Experiment, Machine, Untestable, at_least, at_most, plain_curves,
};
use crate::stats::Interval;

/// The rows of this family.
pub(super) static ALL: &[Experiment] = &[INCLUSIVE];

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
    title: "Is the last level inclusive?",
    question: "Does a line that is used all the time leave L1d and L2 when the last level is turned over?",
    source: "Drepper 3.2: caches of Intel are inclusive, those of AMD exclusive",
    today: "A page of lines is walked again and again while four times the last level's size and \
            more streams past, and steps that miss to memory are counted. Hits in L1d and L2 do not \
            tell the last level that a line is in use: an inclusive one throws it out as if it \
            were old, and has it removed from the others as well, some times in the course of the stream. \
            Intel's last levels were inclusive from Nehalem on, and are not in servers since \
            Skylake; AMD's are filled by what L2 throws out since K10, and keep what other cores \
            share. Capacity tells little where other cores, or other guests, take their part of \
            the last level.",
    plot: None,
    cases,
    curves: plain_curves,
    events: &[],
    claims: &[
        Claim {
            text: "the last level is inclusive: a line that is used all the time is lost twice \
                   or more while four times the last level's size streams past",
            judge: |e| Ok(at_least("times a line is lost", losses(e)?, LOSSES)),
        },
        Claim {
            text: "the last level is as CPUID says: hot lines are lost if it is inclusive, and not \
                   if it is not",
            judge: |e| {
                let lost = losses(e)?;
                let stated = stated(e.machine)?;
                Ok(if stated {
                    at_least("CPUID says inclusive; times a line is lost", lost, LOSSES)
                } else {
                    at_most(
                        "CPUID says not inclusive; times a line is lost",
                        lost,
                        LOSSES,
                    )
                })
            },
        },
    ],
};

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
    cases
}
