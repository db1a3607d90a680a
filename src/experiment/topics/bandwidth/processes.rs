//! Figure 3.31: the bandwidth of a process that shares a cache with another process.

use crate::experiment::claim::verdict::unless_strangers;
use crate::experiment::prelude::*;
use crate::experiment::shared::bandwidth::{Background, BesideSetup};
use crate::experiment::topics::bandwidth::{BYTES_A_CYCLE, by_16_bytes};
use crate::host::Nearness;
use crate::kernel::{BLOCK, Motion};
use crate::order;
use BackgroundKind::{AsLarge, Nothing, Reader, Writer};

/// Motions of the measured process, and the names of its series.
const MEASURED: [(&str, Motion); 2] = [(READ, Motion::Read), (WRITE, Motion::Write)];

const READ: &str = "read";
const WRITE: &str = "write";

/// What the second process does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BackgroundKind {
    Nothing,
    Reader,
    Writer,
    /// A writer whose working set is always as large as that of the measured process.
    AsLarge,
}

impl BackgroundKind {
    const ALL: [BackgroundKind; 4] = [Nothing, Reader, Writer, AsLarge];

    const fn name(self) -> &'static str {
        match self {
            Nothing => "alone",
            Reader => "beside a reader",
            Writer => "beside a writer",
            AsLarge => "beside a writer as large",
        }
    }

    const fn motion(self) -> Option<Motion> {
        match self {
            Nothing => None,
            Reader => Some(Motion::Read),
            Writer | AsLarge => Some(Motion::Write),
        }
    }
}

fn series(what: &str, kind: BackgroundKind) -> String {
    format!("{what}, {}", kind.name())
}

/// A CPU that shares a cache with the measuring CPU.
struct Shared {
    cpu: usize,
    /// Whether both CPUs are threads of one core.
    one_core: bool,
    /// The level of the cache, and its bytes.
    level: u8,
    bytes: usize,
    /// The least working set that the levels before it cannot hold.
    beyond: f64,
}

/// The largest last level whose reported size is trusted: of a larger one, a guest may get only a part.
const AFFORDABLE: f64 = (64 << 20) as f64;

fn shared(machine: &Machine) -> Testable<Shared> {
    let pair = |near| machine.cpu_order.pair(near).map(|[_, other]| (near, other));
    // Cores are preferred to hyper-threads, which share their ports as well.
    let (near, cpu) = pair(Nearness::Level2)
        .or_else(|_| pair(Nearness::LastLevel))
        .or_else(|_| pair(Nearness::Core))
        .map_err(|_| Untestable("no two CPUs share a cache".to_owned()))?;
    let level = if near == Nearness::LastLevel { 3 } else { 2 };
    let capacity = machine.ranges.capacities.get(usize::from(level) - 1);
    let bytes = capacity.and_then(|capacity| {
        let reported = capacity.reported.filter(|bytes| *bytes <= AFFORDABLE);
        reported.or(Some(capacity.usable()))
    });
    let bytes = bytes.unwrap_or(0.0) as usize;
    if bytes < 16 * BLOCK {
        return Err(Untestable(format!("the size of L{level} is not known")));
    }
    let ranges = &machine.ranges;
    Ok(Shared {
        cpu,
        one_core: near == Nearness::Core,
        level,
        bytes,
        beyond: [ranges.l2, ranges.llc][usize::from(level) - 2].lo,
    })
}

/// The smallest working set.
fn first_size(cache: usize) -> usize {
    cache / 8 / BLOCK * BLOCK
}

/// The working set that takes half of the cache, one of [`sizes`].
fn half(cache: usize) -> usize {
    first_size(cache) << 2
}

/// The working sets: octaves from an eighth of the cache to twice its size, and in a full run also
/// half octaves from 16 KiB to eight times its size.
fn sizes(machine: &Machine, cache: usize) -> Vec<usize> {
    let mut sizes: Vec<usize> = (0..5).map(|octave| first_size(cache) << octave).collect();
    if machine.full {
        let all = machine.working_sets().into_iter();
        sizes.extend(all.filter(|&size| size >= 16 << 10 && size <= 8 * cache));
    }
    let whole = sizes.into_iter().map(|size| size / BLOCK * BLOCK);
    order::distinct(whole.filter(|&size| size > 0 && size <= machine.largest))
}

fn cases(machine: &Machine) -> Vec<Case> {
    let found = shared(machine);
    let cache = found.as_ref().map_or(8 << 20, |shared| shared.bytes);
    let case = |bytes: usize, (what, motion): (&str, Motion), kind: BackgroundKind| {
        let measured = by_16_bytes(bytes, motion);
        let (label, x) = (series(what, kind), bytes as f64);
        let Some(beside) = kind.motion() else { return Some(Case::new(label, x, measured)) };
        let &Shared { cpu, bytes: cache, .. } = found.as_ref().ok()?;
        let own = if kind == AsLarge { bytes } else { half(cache) };
        let background = Background { bytes: own, motion: beside, cpu };
        let room = own <= machine.largest;
        room.then(|| Case::new(label, x, BesideSetup { measured, background }))
    };
    let mut cases = Vec::new();
    for bytes in sizes(machine, cache) {
        for of @ (what, _) in MEASURED {
            let large = what == READ && machine.full;
            let wanted = |kind: &BackgroundKind| *kind != AsLarge || large;
            let kinds = BackgroundKind::ALL.into_iter().filter(wanted);
            cases.extend(kinds.filter_map(|kind| case(bytes, of, kind)).map(Case::in_turn));
        }
    }
    cases
}

/// Returns the shared cache, or the reason why no cache is shared, its half is too large a working set, or nothing
/// was measured.
fn measured_shared_cache(e: &Evidence<'_>) -> Testable<Shared> {
    let shared = shared(e.machine)?;
    let [own, largest] = [half(shared.bytes), e.machine.largest].map(|bytes| bytes >> 20);
    if own > largest {
        return Err(Untestable(format!(
            "half of L{} is {own} MiB, and `--memory` allows working sets of {largest} MiB",
            shared.level
        )));
    }
    e.series(&series(READ, Nothing))?;
    Ok(shared)
}

/// The test needs half of the cache to be read this many times as fast as the largest working set.
/// Otherwise other guests have left no part of the cache to share.
const WORTH: f64 = 1.1;

/// The share of its plateau below which a series counts as fallen.
const FALLEN: f64 = 0.8;

/// Where a series falls off its plateau.
enum Fall {
    /// Between these working sets.
    Between(Interval),
    /// Beyond the last working set.
    Later,
    /// The points are too uncertain to tell.
    Unclear,
}

/// Finds where a series falls below [`FALLEN`] of its plateau, its bandwidth at an eighth of the
/// cache, or at the first working set that lies beyond the levels before it. Interpolates between two
/// working sets; the result is as uncertain as the points.
fn fall(e: &Evidence<'_>, label: &str, shared: &Shared) -> Testable<Fall> {
    let mut points = e.series(label)?;
    let least = shared.beyond.max(first_size(shared.bytes) as f64);
    points.retain(|(x, _)| *x >= least);
    let Some(&(first, plateau)) = points.first() else {
        return Err(Untestable(format!("no point of `{label}` was measured")));
    };
    // The ratio of the plateau to itself is exact.
    let mut slower = vec![(first, Interval::exact(1.0))];
    for (x, value) in points.into_iter().skip(1) {
        slower.push((x, ratio(plateau, value)?));
    }
    let level = 1.0 / FALLEN;
    let between = |end: fn(&Interval) -> f64, pair: &[(f64, Interval)]| {
        let [from, to] = [end(&pair[0].1), end(&pair[1].1)].map(f64::ln);
        let share = (level.ln() - from) / (to - from);
        // Without a slope to interpolate along, the first of the two sizes counts.
        let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
        pair[0].0 * (pair[1].0 / pair[0].0).powf(share)
    };
    let (lo, hi) = (|of: &Interval| of.lo, |of: &Interval| of.hi);
    let pairs = || slower.windows(2);
    let soonest = pairs().find(|pair| hi(&pair[1].1) >= level);
    let Some(soonest) = soonest else { return Ok(Fall::Later) };
    if slower.last().is_none_or(|(_, last)| last.lo < level) {
        return Ok(Fall::Unclear);
    }
    let latest = pairs().rev().find(|pair| lo(&pair[0].1) < level);
    Ok(latest.map_or(Fall::Unclear, |latest| {
        Fall::Between(Interval::new(between(hi, soonest), between(lo, latest)))
    }))
}

/// Checks that the levels before the shared cache are small enough for a working set of `bytes` to lie beyond
/// them.
///
/// # Errors
/// If they are not: such a working set says little about the shared cache.
fn room_beyond(shared: &Shared, bytes: f64) -> Testable<()> {
    if bytes >= shared.beyond {
        return Ok(());
    }
    let [cache, bytes, beyond] = [shared.bytes as f64, bytes, shared.beyond].map(|of| of / 1024.0);
    Err(Untestable(format!(
        "L{} of {cache:.0} KiB is too small: {bytes:.0} KiB may lie in the level before it, which \
         only a working set of {beyond:.0} KiB surely outgrows",
        shared.level
    )))
}

/// Judges whether a series falls off its plateau sooner beside a writer than alone.
fn falls_sooner(e: &Evidence<'_>, what: &str) -> Judged {
    let shared = measured_shared_cache(e)?;
    // Two octaves must be left between the plateau and the size of the cache.
    room_beyond(&shared, (first_size(shared.bytes) << 1) as f64)?;
    e.no_chance(shared.bytes as f64)?;
    let (alone, beside) = (series(what, Nothing), series(what, Writer));
    let (last, _) = e.last(&beside)?;
    let Fall::Between(fallen) = fall(e, &alone, &shared)? else {
        return Err(Untestable(format!(
            "`{alone}` does not clearly fall below {FALLEN} of its plateau"
        )));
    };
    let sooner = match fall(e, &beside, &shared)? {
        Fall::Between(between) => between,
        Fall::Later => Interval::new(last, 2.0 * last),
        Fall::Unclear => Interval::new(fallen.lo.min(last) / 2.0, 2.0 * last),
    };
    let what =
        format!("working set where {what}s fall beside a writer over that where they fall alone");
    unless_strangers(e, at_most(&what, ratio(sooner, fallen), LESS))
}

/// Judges whether a process that uses half of the cache is slower beside one background process than beside
/// the other.
fn slower(e: &Evidence<'_>, what: &str, beside: BackgroundKind, than: BackgroundKind) -> Judged {
    let shared = measured_shared_cache(e)?;
    if shared.one_core {
        return Err(Untestable::because(
            "the two CPUs are threads of one core, which share its ports and fill buffers as well \
             as its caches",
        ));
    }
    let half = half(shared.bytes) as f64;
    room_beyond(&shared, half)?;
    e.no_chance(half)?;
    let at = |kind| e.at(&series(what, kind), half);
    let (_, memory) = e.last(&series(what, Nothing))?;
    let worth = ratio(at(Nothing)?, memory)?;
    if worth.hi < WORTH {
        return Err(Untestable(format!(
            "{what}s of half of the {} KiB of L{} are only {worth} times as fast as {what}s of the \
             largest working set: the process has no part of this cache to share",
            shared.bytes >> 10,
            shared.level
        )));
    }
    let what = format!("{what}s of half of the cache {} over {}", beside.name(), than.name());
    unless_strangers(e, at_most(&what, ratio(at(beside)?, at(than)?), LESS))
}

/// Why a process does not show what the background process takes.
const TAKES_LITTLE: &str = "The background process takes little of the cache away, or the \
                            bandwidth beyond the cache is too high to show it.";

/// Why a process is as fast beside a writer as beside a reader.
const TAKE_ALIKE: &str = "A reader takes as much of this cache as a writer, or the background \
                          process takes little of it.";

pub(crate) const FIG_3_31: Experiment = Experiment {
    id: "D44",
    name: "drepper-fig-3.31",
    title: "Bandwidth of a process beside another process",
    question: "How much of a shared cache is left to a process if another process constantly reads \
               or writes half of the cache?",
    source: "Drepper 3.5.3, Figure 3.31: two processes on two cores of a Core 2 that share 4 MiB \
             of L2; the background process reads or writes 2 MiB forever. The labels of the figure \
             mean measured/background",
    about: "One process reads or writes buffers of different sizes; on another core that shares a \
            cache, a background process constantly reads or writes half the size of this cache. \
            The chart shows the bandwidth of the first process. With a smaller share of the cache, \
            its bandwidth should fall at a smaller working set. The system tells which cache two \
            cores share. Two threads of one core share its ports and fill buffers, too, so that \
            they can only show where a curve leaves its own plateau (D44.1 and D44.2). An L3 that \
            is filled by evictions from L2 receives lines that are read as well as lines that are \
            written, so that a reader may take as much of the cache as a writer. In a guest, other \
            guests may also use the cache.",
    seen: &[seen(
        "Zen 4",
        "Two processes on an L3 of 32 MiB: a buffer of 16 MiB is read half as fast beside a reader \
         or writer of 16 MiB as alone, and a buffer of 8 MiB as fast as alone.",
    )],
    plot: Some(Plot {
        reference: &[Reference {
            file: "drepper-fig-3.31.csv",
            machine: "Core 2, two cores on 4 MiB L2 (2007)",
            x: "working_set_bytes_approx",
            columns: &[
                ("Read/Read", "read, beside a reader"),
                ("Write/Read", "write, beside a reader"),
                ("Read/Write", "read, beside a writer"),
                ("Write/Write", "write, beside a writer"),
            ],
        }],
        ..BYTES_A_CYCLE
    }),
    cases,
    events: events::BANDWIDTH,
    claims: &[
        // Beside a process that writes half of the cache, the bandwidth falls before 1 MB instead
        // of between 2 and 4 MB.
        measured(
            "D44.1",
            drepper("3.5.3, Figure 3.31"),
            "beside a process that writes, the bandwidth of reads falls below 0.8 of its plateau \
             at a working set at least 10 % smaller than alone",
            |e| falls_sooner(e, READ),
        )
        .failing(TAKES_LITTLE),
        // The same for a process that writes: write/write falls first of all.
        measured(
            "D44.2",
            drepper("3.5.3, Figure 3.31"),
            "beside a process that writes, the bandwidth of writes falls below 0.8 of its plateau \
             at a working set at least 10 % smaller than alone",
            |e| falls_sooner(e, WRITE),
        )
        .failing(TAKES_LITTLE),
        // The fall is most visible where the background process writes: at 2 MB, 2.8 bytes per
        // cycle instead of 7.9 beside a reader.
        measured(
            "D44.3",
            drepper("3.5.3, Figure 3.31"),
            "half of a shared cache is read at least 10 % more slowly beside a process that writes \
             than beside a process that reads",
            |e| slower(e, READ, Writer, Reader),
        )
        .then(0.35, "Core 2")
        .failing(TAKE_ALIKE),
        // The same for writes: at 2 MB, 1.3 bytes per cycle beside a writer, 6.4 beside a reader.
        measured(
            "D44.4",
            drepper("3.5.3, Figure 3.31"),
            "half of a shared cache is written at least 10 % more slowly beside a process that \
             writes than beside a process that reads",
            |e| slower(e, WRITE, Writer, Reader),
        )
        .then(0.21, "Core 2")
        .failing(TAKE_ALIKE),
        measured(
            "D44.5",
            ours(
                "the figure has no curve of a process alone: does a process that only reads take a \
                 part of the cache?",
            ),
            "half of a shared cache is read at least 10 % more slowly beside a process that reads \
             than alone",
            |e| slower(e, READ, Reader, Nothing),
        )
        .failing(TAKES_LITTLE),
        measured(
            "D44.6",
            ours(
                "the figure has no curve of a process alone: does a process that only reads take a \
                 part of the cache?",
            ),
            "half of a shared cache is written at least 10 % more slowly beside a process that \
             reads than alone",
            |e| slower(e, WRITE, Reader, Nothing),
        )
        .failing(TAKES_LITTLE),
    ],
    ..Experiment::PLAIN
};
