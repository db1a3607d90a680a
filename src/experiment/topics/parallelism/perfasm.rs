//! Startin's A5 and A6: the time of a shuffle by instruction, and events given as a list.

use crate::experiment::prelude::*;
use crate::experiment::shared::count::CountSetup;
use crate::experiment::topics::parallelism::ShuffleSetup;
use crate::experiment::topics::parallelism::shuffle::{buffered, in_memory, shuffle};
use crate::host::Host;
use crate::kernel::{Op, symbols};
use crate::pattern::Indices;
use alloc::collections::BTreeMap;
use core::time::Duration;

pub(crate) static ALL: &[Experiment] = &[PERFASM];

/// Series of the share of time at the hottest instruction, in percent.
const SIMPLE: &str = "% at the hottest instruction, index drawn";
const UNROLLED: &str = "% at the hottest instruction, index looked up, four exchanges in a row";
const STAGED: &str = "% at the hottest instruction, index drawn, in stages of 64";

const PERFASM: Experiment = Experiment {
    id: "A5",
    name: "startin-perfasm",
    title: "The hottest instruction of three loops",
    question: "Does one instruction take most of the time of the simple shuffle, and do several \
               share the time if exchanges are unrolled or staged?",
    source: "Startin, \"Observing memory level parallelism with JMH\": perfasm shows 73.97 % at \
             one store of the simple shuffle, and 10.33 and 10.40 % at two instructions of the \
             loop with precomputed indices, which the compiler unrolled four times",
    about: "A timer interrupts three shuffles and notes the instruction at which each was \
            interrupted. An interrupt waits until the oldest instruction retires, so the samples \
            gather at the instruction behind a load that misses. Four loads in a row share the \
            samples that a single load has alone, whether or not their misses overlap. The \
            system's timer samples, not a counter. With 1,000 samples, a share of one half is \
            accurate to 3 percentage points either way.",
    cases: |machine| {
        let case = |series, of, symbol| Case::new(series, 0, HottestSetup { of, symbol });
        let simple = shuffle(machine, Indices::Generated, 8);
        let unrolled =
            ShuffleSetup { op: Op::Unrolled, ..shuffle(machine, Indices::Precomputed, 8) };
        vec![
            case(STAGED, buffered(machine, 64), "linefill_staged_random"),
            case(SIMPLE, simple, "linefill_shuffle_random"),
            case(UNROLLED, unrolled, "linefill_shuffle_unrolled"),
        ]
    },
    claims: &[
        // One store has 73.97 % of the time in the simple shuffle. Two have 10.33 and 10.40 % in the
        // second listing, which shows the loop with precomputed indices that the compiler unrolled
        // four times.
        measured(
            "A5.1",
            startin("listings of perfasm"),
            "the hottest instruction of the simple shuffle has more than twice the share of time \
             of the hottest instruction of the loop with four exchanges in a row",
            |e| at_least("simple over unrolled", ratio(share(e, SIMPLE), share(e, UNROLLED)), 2.0),
        )
        .then(7.11, ""),
        // The text says that several smaller bottlenecks share the time of the staged shuffle.
        measured(
            "A5.2",
            startin("listings of perfasm"),
            "the hottest instruction of the simple shuffle has more than twice the share of time \
             of the hottest instruction of the shuffle in stages of 64",
            |e| at_least("simple over stages", ratio(share(e, SIMPLE), share(e, STAGED)), 2.0),
        )
        .failing(
            "The loop in stages has one load that misses. The timer finds the CPU at this load, \
             however many of its misses are in flight.",
        ),
    ],
    ..Experiment::PLAIN
};

/// Returns a share with its sampling error: two standard deviations of the binomial distribution. Fails if the
/// array does not lie in memory.
fn share(e: &Evidence<'_>, series: &str) -> Testable<Interval> {
    in_memory(e)?;
    let percent = e.at(series, 0.0)?.middle();
    let part = (percent / 100.0).clamp(0.0, 1.0);
    let deviation = (part * (1.0 - part) / HottestSetup::SAMPLES as f64).sqrt();
    let reach = 200.0 * deviation;
    Ok(Interval::new(percent - reach, percent + reach))
}

/// The time between two samples.
const PERIOD: Duration = Duration::from_micros(150);

/// The longest time that sampling may take.
const LONGEST: Duration = Duration::from_secs(2);

/// Exchanges between two readings of the clock.
const EXCHANGES: u64 = 4096;

/// Set-up that reports the percentage of time that a shuffle spends at its hottest instruction,
/// sampled by a timer that interrupts the shuffle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HottestSetup {
    pub of: ShuffleSetup,
    /// The symbol of the code that runs the shuffle.
    pub symbol: &'static str,
}

impl HottestSetup {
    /// Number of samples that must fall into the kernel.
    pub const SAMPLES: usize = 1000;
}

impl Setup for HottestSetup {
    fn bytes(&self) -> usize {
        self.of.bytes()
    }

    fn prepare<'m>(&self, region: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        let (mut kernel, period) = self.of.prepare(region, context)?.kernel()?;
        kernel.run(period);
        let code = symbols::all().find(|code| code.name == self.symbol);
        let inside = code
            .ok_or_else(|| Untestable(format!("the kernel {} is missing", self.symbol)))?
            .bytes
            .as_ptr_range();
        let inside = inside.start.addr()..inside.end.addr();
        let mut addresses: BTreeMap<usize, usize> = BTreeMap::new();
        let mut samples = 0;
        let host = context.host;
        // Read before the first sample: a host has both clock and timer, or neither.
        let began = host.now()?;
        while samples < Self::SAMPLES {
            if host.now()?.saturating_sub(began) > LONGEST {
                return Err(Untestable(format!(
                    "the timer interrupted {} {samples} times in {LONGEST:?}, and {} samples are \
                     needed",
                    self.symbol,
                    Self::SAMPLES
                )));
            }
            let stretch = host.now()?;
            let found = host.sample(PERIOD, &mut || {
                let over = |now: Duration| now.saturating_sub(stretch) >= LONGEST / 40;
                while !host.now().is_ok_and(over) {
                    kernel.run(EXCHANGES);
                }
            });
            let found = found?.into_iter();
            for address in found.filter(|at| inside.contains(at)) {
                *addresses.entry(address).or_default() += 1;
                samples += 1;
            }
        }
        let most = addresses.values().max().copied().unwrap_or(0);
        Ok(Workload::Count(100.0 * most as f64 / samples as f64))
    }
}

pub(crate) static EVENT_LIST: &[Experiment] = &[OPTION];

/// Two software events of the operating system, which need no hardware counter.
const ASKED: &str = "page-faults,minor-faults";

/// The post's events, as its author passed them to JMH.
const OF_POST: &str = "L1D_PEND_MISS.PENDING,L1D_PEND_MISS.PENDING_CYCLES";

const USUAL: &str = "events counted if nobody says which";
const OURS: &str = "events asked for and counted";
const OTHERS: &str = "events counted besides those asked for";
const POST: &str = "the post's events, counted";

const OPTION: Experiment = Experiment {
    id: "A6",
    name: "startin-perfnorm-option",
    title: "Events given as a list",
    question: "Does a list of events replace the default events?",
    source: "Startin, \"Observing memory level parallelism with JMH\": `-prof \
             perfnorm:events=...` overrides the standard events",
    about: "`linefill counters -e LIST` and `counters::Counters` count only the events of the \
            list, so that no other event takes a share of a counter. Without a list they count \
            default events. The experiment counts the events of both cases. The post's two events \
            exist on Intel only.",
    cases: |_| {
        let case = |series, ask| CountSetup::asked(series, 0, ask).at(0);
        vec![
            case(USUAL, |host, _| Ok(host.counted(None)?.len() as f64)),
            case(OURS, |host, _| Ok(among(host, ASKED, true)? as f64)),
            case(OTHERS, |host, _| Ok(among(host, ASKED, false)? as f64)),
            case(POST, |host, _| Ok(among(host, OF_POST, true)? as f64)),
        ]
    },
    claims: &[
        // The argument overrides the standard events of JMH. To have CPI and cycles as well, name
        // them in the list.
        reported(
            "A6.1",
            ours("the post's option of JMH replaces the default events: so must linefill's"),
            "a list that names two events of the kernel has both counted and no other event, \
             while a run without a list counts at least one event",
            |e| {
                all_of([
                    at_least("events counted without a list", e.at(USUAL, 0.0), 1.0),
                    between("events of the list", e.at(OURS, 0.0), 2.0, 2.0),
                    between("others", e.at(OTHERS, 0.0), 0.0, 0.0),
                ])
            },
        ),
        // The post shows the option with these two events.
        counted(
            "A6.2",
            startin("option perfnorm:events"),
            "a list that names L1D_PEND_MISS.PENDING and L1D_PEND_MISS.PENDING_CYCLES has both \
             counted",
            |e| between("events of the list", e.at(POST, 0.0), 2.0, 2.0),
        ),
    ],
    ..Experiment::PLAIN
};

/// Returns how many counted events are in the list, or, if `in_it` is false, are not.
fn among(host: &dyn Host, list: &str, in_it: bool) -> Testable<usize> {
    let names = host.counted(Some(list))?;
    let is_in_it = |name: &&String| list.split(',').any(|asked| asked == *name);
    Ok(names.iter().filter(|name| is_in_it(name) == in_it).count())
}
