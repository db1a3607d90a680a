//! Drepper 3.2, inclusive and exclusive caches.

// Flushes a line of a ring by address.
#![allow(unsafe_code)]

use crate::cpu::{CacheKind, Vendor, clflush, mfence};
use crate::experiment::prelude::*;
use crate::experiment::shared::walk::WalkSetup;
use crate::kernel::{Kernel, Walk};
use crate::pattern::Layout;
use crate::time::{start, stop};
use core::hint::black_box;

pub(crate) static ALL: &[Experiment] = &[INCLUSIVE];

const LOST: &str = "times a hot line is lost";
const NEAR: &str = "the same while lines of L1d pass";

/// How often each of the two counts is repeated.
const REPEATS: u64 = 5;

/// The least losses per line that show an inclusive last level: half as many as a stream of four
/// times its size causes. A few lines are lost by chance wherever age alone does not decide
/// replacement.
const LOSSES: f64 = 2.0;

/// Losses per line in the control from which something else may cause all losses. On an idle core the control
/// counts 0.2 and less, beside a busy hyper-thread 1.7.
const OTHERS: f64 = 0.5;

/// Bytes of the control's stream, which stays in L1d beside the hot lines.
const IN_L1: usize = 8 << 10;

const INCLUSIVE: Experiment = Experiment {
    id: "D5",
    name: "drepper-inclusive-exclusive",
    title: "Inclusive and exclusive caches",
    question: "Does a line in constant use leave L1d and L2 when other data stream through the \
               last level, and how many lines do L1d and L2 hold together?",
    source: "Drepper 3.2: Intel's caches are inclusive, AMD's caches are exclusive",
    about: "The first test walks 64 lines again and again while at least four times the size of \
            the last level streams past, and counts steps that miss to memory. A control streams \
            the same amount from a small buffer in L1d, and its count is subtracted. Hits in L1d \
            and L2 do not tell the last level that a line is in use. An inclusive last level \
            therefore evicts the line as if it were old, and removes it from L1d and L2 as well. \
            Intel's last levels were inclusive from Nehalem on; in servers they are not since \
            Skylake. AMD's last levels since K10 take the lines that L2 evicts, and keep lines \
            that several cores share. The second test walks lines that all fall in one set of L2, \
            and so in one set of L1d. The last level takes no part, so other guests do not disturb \
            this test. An exclusive pair of L1d and L2 keeps as many of these lines as both sets \
            have ways. Any other pair keeps most of them twice, and altogether hardly more than \
            the larger set has ways. The test does not tell whether each line of L1d is also in \
            L2, as in an inclusive pair: an L2 that is neither exclusive nor inclusive looks the \
            same.",
    cases,
    claims: &[
        measured(
            "D5.1",
            ours(
                "the document says it of L1d and L2, which was the last level of Intel's CPUs \
                 then: Intel implements inclusive caches, AMD prefers exclusive ones",
            ),
            "the last level is inclusive on Intel's CPUs and not on AMD's: while four times its \
             size streams past, a line in constant use is lost twice or more on Intel's CPUs, and \
             less often on AMD's",
            |e| {
                let lost = losses(e)?;
                lost.judged(match vendor(e.machine)? {
                    Vendor::Intel => at_least("on Intel, times a line is lost", lost.range, LOSSES),
                    _ => at_most("on AMD, times a line is lost", lost.range, LOSSES),
                })
            },
        )
        .failing("The last level is not what the document says that this vendor's L2 is."),
        measured(
            "D5.2",
            ours(
                "CPUID states whether the last level is inclusive; the lost lines are a second \
                 kind of evidence",
            ),
            "a stream through the last level evicts lines in constant use if CPUID reports the \
             last level as inclusive, and does not if CPUID reports it as not inclusive",
            |e| {
                let lost = losses(e)?;
                lost.judged(if stated(e.machine)? {
                    at_least("CPUID says inclusive; times a line is lost", lost.range, LOSSES)
                } else {
                    at_most("CPUID says not inclusive; times a line is lost", lost.range, LOSSES)
                })
            },
        ),
        // Exclusive caches push a line that L1d evicts down to L2, and AMD prefers them. With Intel's
        // inclusive caches each line of L1d is also in L2, so that these are not exclusive.
        measured(
            "D5.3",
            drepper("3.2"),
            "L1d and L2 are exclusive on AMD's CPUs and not on Intel's: of one set of L2, the two \
             levels together keep more lines than either has ways on AMD's CPUs, and do not on \
             Intel's",
            held_together,
        )
        .failing("L1d and L2 do not divide the lines as the document describes for this vendor."),
    ],
    ..Experiment::PLAIN
};

/// Returns the vendor of the CPU, if it is Intel or AMD, whose CPUs the document describes.
fn vendor(machine: &Machine) -> Testable<Vendor> {
    match machine.vendor {
        vendor @ (Vendor::Intel | Vendor::Amd) => Ok(vendor),
        _ => Err(Untestable::because(
            "the claim is about the CPUs of Intel and AMD, and CPUID reports neither as the vendor",
        )),
    }
}

/// The series of lines that all fall into one set of L2, by their number.
const ONE_SET: &str = "lines of one set of L2";

/// The largest share of a miss beyond L2 that a step costs if the two levels together hold the
/// lines. If they do not, LRU always misses, and no known policy keeps enough lines for a smaller
/// share.
const HELD: f64 = 0.25;

/// Numbers of lines of one set of L2, and bytes after which L2's sets repeat.
struct SetOverfill {
    /// More lines than either L1d or L2 has ways, but fewer than both together.
    between: usize,
    /// Twice as many lines as both together have ways.
    beyond: usize,
    apart: usize,
}

fn overfill(machine: &Machine) -> Option<SetOverfill> {
    let ways = |level| machine.data_cache(level)?.ways.map(|ways| ways as usize);
    let (l1, l2) = (ways(1)?, ways(2)?);
    let bytes = machine.data_cache(2)?.size as usize;
    (l1 > 1 && l2 > 1).then(|| SetOverfill {
        between: l1.max(l2) + l1.min(l2) / 2,
        beyond: 2 * (l1 + l2),
        apart: bytes / l2,
    })
}

/// Judges whether L1d and L2 together hold `between` lines: the time of a step beyond a hit in L2,
/// over the same time with `beyond` lines, which the two levels cannot hold.
fn held_together(e: &Evidence<'_>) -> Judged {
    let Some(SetOverfill { between, beyond, .. }) = overfill(e.machine) else {
        return Err(Untestable::because("CPUID does not report the ways of L1d and L2"));
    };
    let hit = e.machine.access_in(e.machine.ranges.l2)?;
    let (some, all) = (e.at(ONE_SET, between as f64)?, e.at(ONE_SET, beyond as f64)?);
    if ratio(&all, hit)?.hi < 1.5 {
        return Err(Untestable(format!(
            "{beyond} lines that should share one set of L2 take {all} core cycles per step, and a \
             hit in L2 takes {hit}: the pages are scattered over the sets, or L2 hashes addresses"
        )));
    }
    let more = |of| minus(of, hit);
    let share = signed_ratio(more(some), more(all))?;
    let what = format!("{between} lines, time beyond an L2 hit as a share of a miss");
    match vendor(e.machine)? {
        Vendor::Amd => at_most(&what, share, HELD),
        _ => at_least(&what, share, HELD),
    }
}

/// Returns whether the last level is inclusive, as CPUID reports it.
fn stated(machine: &Machine) -> Testable<bool> {
    let caches = machine.caches.iter();
    let last =
        caches.filter(|cache| cache.kind != CacheKind::Instruction).max_by_key(|cache| cache.level);
    last.and_then(|cache| cache.inclusive).ok_or_else(|| {
        Untestable::because("CPUID does not say whether the last level is inclusive")
    })
}

/// How often a stream evicts a line.
#[derive(Clone, Copy, Debug)]
struct Losses {
    /// The losses beside the stream, less those in the control.
    range: Interval,
    /// The losses in the control, if something else evicts lines.
    others: Option<Interval>,
}

impl Losses {
    /// Adds to a judgement what else evicts lines.
    fn judged(self, judged: Judged) -> Judged {
        let Some(others) = self.others else { return judged };
        let note = format!(
            "something else evicts lines, such as a busy hyper-thread: each is lost {others} times \
             while nothing streams past"
        );
        noted(judged, note)
    }
}

/// Returns how often the stream evicted a line, less the count of the control: the range of all
/// repetitions but the lowest and the highest. Interrupts slow as many steps in the control, which
/// evicts nothing. Where [others](OTHERS) evict lines during the control, the range begins at 0: the control takes
/// less time than the stream, so that they evict fewer lines meanwhile.
fn losses(e: &Evidence<'_>) -> Testable<Losses> {
    e.machine.memory_size()?;
    let most = |series| {
        let counts = e.series(series)?.into_iter().map(|(_, count)| count.middle());
        let mut counts: Vec<f64> = counts.collect();
        counts.sort_by(f64::total_cmp);
        match counts[..] {
            [_, lo, .., hi, _] => Ok(Interval::new(lo, hi)),
            _ => Err(Untestable(format!("`{series}` has too few counts"))),
        }
    };
    let (far, near) = (most(LOST)?, most(NEAR)?);
    let others = near.hi > OTHERS;
    // A line is not lost less than never.
    let lost = minus(far, near).most(Interval::exact(0.0));
    let lo = if others { 0.0 } else { lost.lo };
    Ok(Losses { range: Interval::new(lo, lost.hi), others: others.then_some(near) })
}

fn cases(machine: &Machine) -> Vec<Case> {
    let total = machine.in_memory();
    let mut cases = Vec::new();
    for repeat in 1..=REPEATS {
        for (series, stream) in [(LOST, total), (NEAR, IN_L1)] {
            let setup = RetainSetup { stream, total, seed: machine.seed.wrapping_add(repeat) };
            cases.push(Case::new(series, repeat as f64, setup));
        }
    }
    if let Some(overfill) = overfill(machine) {
        for count in [overfill.between, overfill.beyond] {
            let layout = Layout::npad(7).spaced(overfill.apart);
            let setup = WalkSetup::random(layout, count * LINE, machine.seed);
            cases.push(Case::new(ONE_SET, count as f64, setup).in_huge_pages());
        }
    }
    cases
}

/// A hot ring in L1d or L2, whose steps alternate with other lines that stream past. The count is
/// the number of steps that take longer than a hit by more than half of a miss to memory, divided
/// by the lines of the ring: how often each line was lost. Steps are timed one by one, because
/// several hits in the last level together look like a miss to memory. There are few steps, because
/// each may be interrupted.
#[derive(Clone, Copy, Debug)]
struct RetainSetup {
    /// Bytes of the stream, which passes again and again.
    stream: usize,
    /// Bytes that stream past in total.
    total: usize,
    /// Decides the order of the ring, and tells repetitions apart.
    seed: u64,
}

/// Lines of the ring: one page, an eighth of the smallest L1d.
const HOT: usize = 64;

/// Lines that stream past between two steps: 64 KiB per lap of the ring, one line or less in each
/// set of any L2.
const BETWEEN: usize = 16;

/// Number of steps from which the times of a hit and of a miss are found.
const TRIALS: usize = 51;

impl Setup for RetainSetup {
    fn bytes(&self) -> usize {
        HOT * LINE + self.stream
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Testable<Workload<'m>> {
        let parts = region.split(HOT * LINE);
        let (hot, mut stream) = parts.ok_or_else(|| {
            Untestable("the region has no room for the lines that stream past".to_owned())
        })?;
        let mut walk = WalkSetup::random(Layout::npad(7), HOT * LINE, self.seed).walk(hot)?;
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
                "a step to a cached line takes {undisturbed} ticks, and a step to a flushed line \
                 only {missing}"
            )));
        }
        let slow = undisturbed + (missing - undisturbed) / 2;

        let mut lost = 0_u32;
        for _ in 0..self.total.div_ceil(stream.len()) {
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

/// Returns the ticks of one step.
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
