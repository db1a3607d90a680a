//! Drepper 6.3.2: lines that are fetched to be written.

// A slice of lines is viewed as a slice of words.
#![allow(unsafe_code)]

use crate::cpu::mfence;
use crate::experiment::prelude::*;
use crate::experiment::topics::coherence::remote::{Ask, Held, LINES, Line, Others, Table};
use crate::experiment::topics::coherence::series;
use crate::experiment::topics::coherence::transfer::{TRIP, WALK, two_cores, walks_and_trip};
use crate::host::{Host, Lack};
use crate::kernel::{AcquireLines, AcquireWay, Fetched, Kernel, Work};
use crate::measure::Shot;
use alloc::sync::Arc;
use core::sync::atomic::AtomicU64;

pub(crate) static ALL: &[Experiment] = &[PREFETCHW];

const WAYS: [(&str, AcquireWay); 3] =
    [(STORE, AcquireWay::Store), (ADD, AcquireWay::Add), (FENCED, AcquireWay::AddFenced)];

const STORE: &str = "store";
const ADD: &str = "locked addition";
const FENCED: &str = "fenced locked addition";

const FETCHED: [(&str, Fetched); 3] =
    [(NOT, Fetched::Not), (T0, Fetched::ToRead), (W, Fetched::ToWrite)];

const NOT: &str = "not fetched";
const T0: &str = "prefetcht0";
const W: &str = "prefetchw";

/// The states of the lines, in the order of the horizontal axis.
const HELD: [Held; 3] = [Held::Modified, Held::Shared, Held::Own];

const THERE: f64 = 0.0;
const SHARED: f64 = 1.0;
const HERE: f64 = 2.0;

fn cases(machine: &Machine) -> Vec<Case> {
    let Ok(cpus) = machine.cpu_order.two_cores() else { return Vec::new() };
    let mut cases = Vec::from(walks_and_trip(cpus, [THERE, HERE]));
    for (x, held) in (0..).map(f64::from).zip(HELD) {
        for (way_name, way) in WAYS {
            for (fetched_name, fetched) in FETCHED {
                let setup = TakeSetup { held, way, fetched, other: cpus[1] };
                cases.push(Case::new(series(way_name, fetched_name), x, setup).in_turn());
            }
        }
    }
    cases
}

/// Judges the time with `fetched` over the time with `instead`.
fn compare(
    e: &Evidence<'_>,
    way: &str,
    held: f64,
    [fetched, instead]: [&str; 2],
    judge: fn(&str, Interval, f64) -> Judged,
    bound: f64,
) -> Judged {
    let at = |way, fetched, held| e.at(&series(way, fetched), held);
    two_cores(e, [THERE, HERE])?;
    let value = ratio(at(way, fetched, held)?, at(way, instead, held))?;
    let held = if held == THERE { "modified there" } else { "shared" };
    judge(&format!("{way}, {held}: {fetched} over {instead}"), value, bound)
}

const PREFETCHW: Experiment = Experiment {
    id: "E38",
    name: "drepper-prefetchw",
    title: "Lines fetched to be written",
    question: "Does a prefetch save time if it announces that the line will be written?",
    source: "Drepper 6.3.2: `prefetchw` brings a line into L1d in a state in which it can be \
             written, on AMD's family 10h",
    seen: &[seen(
        "Zen 4",
        "A load of a line that another core has modified also brings the right to write the line, \
         so that prefetcht0 does as much as prefetchw for such lines. For lines that both cores \
         hold, prefetchw had no effect, with or without a fence.",
    )],
    about: "`prefetchw` fetches a line together with the right to write it. A core writes 64 lines \
            one after the other, each 8 iterations after its prefetch. Before that, either the \
            other core has written all lines, or both cores have read them, or the core itself has \
            written them. `prefetchw` should help most with lines that both cores hold: \
            `prefetcht0` finds such a line in L1d and does nothing. A plain store needs no \
            prefetch: it waits in the store queue, which requests its line early. Locked additions \
            in sequence show what a program sees, but they may overlap. With a fence after each, \
            they show how long it takes until a line is owned. The claims need two cores; loads \
            that depend on each other and a round trip of one word show whether the two CPUs are \
            threads of one core. Intel's CPUs have `prefetchw` since Broadwell.",
    plot: Some(Plot::bars(
        Axis::linear("modified there (0), shared (1), modified here (2)"),
        Axis::linear("time per line"),
        Unit::Nanoseconds,
    )),
    cases,
    curves: |e| e.curves_of(|label| label != WALK && label != TRIP),
    claims: &[
        // The document says that prefetchw puts the line into state M at once, so that later writes
        // need no change of state and are faster. Here: the throughput of plain stores.
        measured(
            "E38.1",
            drepper("6.3.2"),
            "in sequence, stores to lines that another core wrote take no longer after prefetchw \
             than after prefetcht0 (5 % allowed)",
            |e| compare(e, STORE, THERE, [W, T0], at_most, 1.05),
        ),
        // As E38.1, for the throughput of locked additions.
        measured(
            "E38.2",
            drepper("6.3.2"),
            "in sequence, locked additions to lines that another core wrote take no longer after \
             prefetchw than after prefetcht0 (5 % allowed)",
            |e| compare(e, ADD, THERE, [W, T0], at_most, 1.05),
        ),
        // As E38.2. The threshold is ours.
        measured(
            "E38.3",
            drepper("6.3.2"),
            "in sequence, locked additions to lines that another core wrote take less than 0.9 \
             times as long after prefetchw as without a prefetch",
            |e| compare(e, ADD, THERE, [W, NOT], at_most, 0.9),
        )
        .failing(
            "The additions do not wait for the ownership of the lines: something else asks for it \
             as early.",
        ),
        // As E38.2. The threshold is ours.
        measured(
            "E38.4",
            drepper("6.3.2"),
            "in sequence, locked additions to lines that both cores have read take less than 0.9 \
             times as long after prefetchw as after prefetcht0, and prefetcht0 saves less than 10 \
             % over no prefetch",
            |e| {
                all_of([
                    compare(e, ADD, SHARED, [W, T0], at_most, 0.9),
                    compare(e, ADD, SHARED, [T0, NOT], at_least, 0.9),
                ])
            },
        )
        .failing(
            "Either prefetchw does not acquire the right to write ahead of the addition, or the \
             core hides the cost of the upgrades.",
        ),
        // As E38.4. A fence after each addition exposes the latency of the upgrade. The threshold
        // is ours.
        measured(
            "E38.5",
            drepper("6.3.2"),
            "with a fence after each, locked additions to lines that both cores have read take \
             less than 0.9 times as long after prefetchw as after prefetcht0",
            |e| compare(e, FENCED, SHARED, [W, T0], at_most, 0.9),
        )
        .failing("The upgrade begins with the addition, not with the prefetch."),
    ],
    ..Experiment::PLAIN
};

/// Writes to 64 lines, which are brought into their state before each shot.
#[derive(Clone, Copy, Debug)]
struct TakeSetup {
    /// Who holds the lines: any state but [`Held::Nowhere`] and [`Held::Exclusive`], which this
    /// set-up does not bring about.
    held: Held,
    way: AcquireWay,
    fetched: Fetched,
    /// The CPU of the other thread.
    other: usize,
}

struct Take {
    setup: TakeSetup,
    table: Arc<Table>,
    others: Others,
}

fn words(lines: &[Line]) -> &[AtomicU64] {
    let words = size_of_val(lines) / size_of::<AtomicU64>();
    // SAFETY: a line is an array of this many atomic words and nothing else.
    unsafe { core::slice::from_raw_parts(lines.as_ptr().cast(), words) }
}

impl Take {
    fn new(host: &dyn Host, setup: TakeSetup) -> Result<Self, Lack> {
        // The addresses in the lines are not used here.
        let table = Arc::new(Table::new());
        let others = Others::start(host, &table, &[setup.other])?;
        Ok(Take { setup, table, others })
    }

    fn kernel(&self) -> Option<AcquireLines<'_>> {
        let words = words(self.table.lines());
        AcquireLines::new(words, LINES, self.setup.way, self.setup.fetched)
    }
}

impl Shot for Take {
    fn prepare(&mut self) {
        match self.setup.held {
            Held::Modified => self.others.ask(Ask::Write),
            Held::Shared => {
                core::hint::black_box(self.table.read());
                self.others.ask(Ask::Read);
                core::hint::black_box(self.table.read());
            }
            _ => self.table.write(),
        }
        mfence();
    }

    /// Returns the offset of the line after the last, which is the first.
    fn shoot(&mut self) -> u64 {
        let kernel = self.kernel();
        kernel.map_or(u64::MAX, |mut kernel| kernel.run(LINES as u64))
    }

    fn operations(&self) -> u64 {
        LINES as u64
    }
}

impl Setup for TakeSetup {
    // The region is not used: the lines lie in memory that the threads share.
    fn prepare<'m>(&self, _: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        // Two threads of one CPU would wait for the scheduler.
        if context.host.current_cpu() == Some(self.other) {
            return Err(Untestable("the test needs a CPU other than the measuring one".into()));
        }
        if self.fetched == Fetched::ToWrite && !context.features.prefetchw() {
            return Err(Untestable("this CPU has no prefetchw".into()));
        }
        let take = Take::new(context.host, *self)?;
        let work = take.kernel().map_or_else(Work::default, |kernel| kernel.work());
        Ok(Workload::shot(take, work))
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use crate::experiment::Linux;
    use crate::mem::LINE;
    use crate::os::allowed;

    /// A shot writes every line once, whichever core held it.
    #[test]
    fn a_shot_takes_every_line_once() {
        let cpus = allowed();
        for held in [Held::Own, Held::Modified, Held::Shared] {
            for fetched in [Fetched::Not, Fetched::ToRead, Fetched::ToWrite] {
                let setup = TakeSetup { held, way: AcquireWay::AddFenced, fetched, other: cpus[0] };
                let mut take = Take::new(&Linux, setup).unwrap();
                let before: u64 = take.table.read();
                for shots in 1..4 {
                    take.prepare();
                    assert_eq!(take.shoot(), 0);
                    assert_eq!(take.table.read(), before + shots * LINES as u64);
                }
            }
        }
        assert_eq!(words(&[Line::default(), Line::default()]).len(), 2 * LINE / 8);
    }
}
