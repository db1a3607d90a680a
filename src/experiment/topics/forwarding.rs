//! Store-to-load forwarding, beyond the papers: a value that is stored and loaded again before it reaches L1d.

use crate::experiment::claim::verdict::{Extreme, none};
use crate::experiment::prelude::*;
use crate::kernel::{Forward, Passing, Trip};

families![
    store_to_load in self::STORES_AND_LOADS,
    forwardat in self::OFFSETS_OF_LOADS,
];

static STORES_AND_LOADS: &[Experiment] = &[STORE_FORWARDING];

/// Byte offset of the line in which most values are passed.
const HOME: usize = PAGE / 2;

/// Sizes of loads that span two stores of half the size, and of values that are passed across lines
/// and pages.
const DOUBLED: [usize; 4] = [8, 16, 32, 64];

/// Sizes that every x86-64 CPU has. Larger sizes are judged only where the CPU has them.
const ALWAYS: usize = 16;

/// A value that takes at least this many times as long does not come from the store queue.
const BLOCKED: f64 = 1.5;

macro_rules! pairs {
    (
        $first:literal $store:literal $load:literal
        $(, $index:literal $stores:literal $loads:literal)*
    ) => {
        /// Bytes stored and bytes loaded: up to 8 by a general register, then by a vector register.
        const PAIRS: &[(usize, usize)] = &[($store, $load) $(, ($stores, $loads))*];

        /// The label of the axis, which names the pairs.
        const PLACES: &str = concat!(
            $store, " to ", $load, " (", $first, ")"
            $(, ", ", $stores, " to ", $loads, " (", $index, ")")*
        );
    };
}

pairs![
    0 1 1, 1 1 2, 2 1 4, 3 1 8,
    4 2 1, 5 2 2, 6 2 4, 7 2 8,
    8 4 1, 9 4 2, 10 4 4, 11 4 8,
    12 8 1, 13 8 2, 14 8 4, 15 8 8,
    16 8 16, 17 8 32, 18 8 64,
    19 16 8, 20 16 16, 21 16 32, 22 16 64,
    23 32 8, 24 32 16, 25 32 32, 26 32 64,
    27 64 8, 28 64 16, 29 64 32, 30 64 64
];

const START: &str = "load at the store's start";
const END: &str = "load at its end";
const BEHIND: &str = "load half behind it";
const TWO: &str = "of two stores";
const ONE_OPERAND: &str = "by one operand";
const GENERAL: &str = "into a general register";
const LINES: &str = "across two lines";
const PAGES: &str = "across two pages";

macro_rules! published {
    ($($name:literal $machine:literal)*) => {
        &[$(Reference {
            file: "store-forwarding.csv",
            machine: $machine,
            x: "place",
            columns: &[
                (concat!($name, " start"), START),
                (concat!($name, " two"), TWO),
                (concat!($name, " operand"), ONE_OPERAND),
                (concat!($name, " general"), GENERAL),
            ],
        }),*]
    };
}

const STORE_FORWARDING: Experiment = Experiment {
    id: "X1",
    name: "store-forwarding",
    title: "Store-to-load forwarding by size",
    question: "How long does a value take from a store to a load that follows at once, and when \
               must the load wait until the store has reached L1d?",
    source: "Beyond the papers. Intel's Optimization Reference Manual, \"Store Forwarding\", and \
             AMD's Software Optimization Guides, load-store unit, say when forwarding works; the \
             published cycles are from Travis Downs, 2019",
    seen: &[seen("Zen 4", "A store that crosses the end of a page does not forward to any load.")],
    about: "A round trip is a store and a load of the stored value; each waits for the one before. \
            The chart shows the core cycles of a round trip for pairs of sizes, stored and loaded. \
            In the series \"into a general register\", the store is of a vector register, and a \
            move back follows the load. The load gets its value from the store queue if one store \
            wrote all its bytes. Otherwise it waits until the store has left for L1d. Some newer \
            cores differ. They pass 4 and 8 bytes at the same address to the next instruction \
            before either access is made, in one cycle or less (memory renaming). If a core splits \
            64-byte accesses into halves, it can forward two 32-byte stores to one 64-byte load.",
    plot: Some(
        Plot::bars(Axis::linear(PLACES), Axis::linear("round trip"), Unit::CoreCycles).beside(
            published![
                "SNB" "Sandy Bridge, Xeon E5-1620 (Downs 2019)"
                "HSW" "Haswell, i7-4770 (Downs 2019)"
                "SKL" "Skylake, i7-6700HQ (Downs 2019)"
                "ICL" "Ice Lake, i5-1035 (Downs 2019)"
                "Zen 2" "Zen 2, EPYC 7262 (Downs 2019)"
            ],
        ),
    ),
    cases: |_| {
        let mut cases = Vec::new();
        for &(store, load) in PAIRS {
            let trip = Trip::new(store, load);
            let half = (load / 2) as isize;
            let end = store as isize - load as isize;
            let mut add =
                |series, load: isize| cases.push(case(series, trip, home(trip, load), load));
            if end < 0 {
                add("load wider than it", 0);
                continue;
            }
            add(START, 0);
            if end > 0 {
                add(END, end);
            }
            if half > 0 {
                add("load half before it", -half);
                add(BEHIND, end + half);
            }
        }
        for size in DOUBLED {
            let trip = Trip::new(size, size);
            let two = Trip::new(size / 2, size).by(Passing::Two);
            cases.push(Case { x: place(size, size), ..case(TWO, two, HOME, 0) });
            cases.push(case(LINES, trip, HOME + LINE - size / 2, 0));
            cases.push(case(PAGES, trip, PAGE - size / 2, 0));
        }
        cases.push(case(ONE_OPERAND, Trip::new(8, 8).by(Passing::Renamed), HOME, 0));
        let general = Trip::new(16, 8).by(Passing::General);
        cases.push(case(GENERAL, general, HOME, 0));
        cases.push(case("into a general register, load at its end", general, HOME, 8));
        cases
    },
    events: events::FORWARDING,
    claims: &[
        measured(
            "X1.1",
            ours("the rule of the manuals: one store must have written all bytes of the load"),
            "a load that needs older bytes beside the bytes of the last store takes more than 1.5 \
             times as long as a load whose bytes the last store wrote",
            |e| {
                let older = of_sizes(e, &[4, 8, 16, 32, 64], [BEHIND, START], 1);
                let what = "half of the bytes older over none, at least, with";
                judged(Extreme::least(older), what, at_least, BLOCKED)
            },
        )
        .failing(
            "For some size, the core combines bytes of the store queue and of L1d, or it splits \
             the load and forwards each half.",
        ),
        measured(
            "X1.2",
            ours("the manuals' rule for a load that spans two stores"),
            "a load of up to 32 bytes that spans two stores takes more than 1.5 times as long as a \
             load whose bytes one store wrote",
            |e| {
                let two = of_sizes(e, &[8, 16, 32], [TWO, START], 1);
                let what = "of two stores over one, at least, with";
                judged(Extreme::least(two), what, at_least, BLOCKED)
            },
        ),
        measured(
            "X1.3",
            ours("older CPUs forwarded only from the start of a store"),
            "a load of the upper half of a stored vector register takes at most 1.5 times as long \
             as a load of the lower half",
            |e| {
                let upper = of_sizes(e, &[16, 32, 64], [END, START], 2);
                judged(Extreme::most(upper), "upper half over lower, at most, of", at_most, BLOCKED)
            },
        ),
        measured(
            "X1.4",
            ours("the claim asks whether the store queue is nearer than L1d"),
            "a store and a load of the same 8 bytes take at least as long as a load from L1d",
            |e| {
                let trip = at(e, START, 8, 8)?;
                let published = e.machine.published_latency(*trip)?;
                at_least("core cycles per round trip", trip, published - 0.5)
            },
        )
        .failing(
            "The core passes the value to the next instruction before either access is made: \
             memory renaming.",
        ),
        measured(
            "X1.5",
            ours("a value across two pages needs a second translation"),
            "a value of up to 32 bytes takes more than 10 % longer across two pages than across \
             two lines",
            |e| {
                let pages = of_sizes(e, &[8, 16, 32], [PAGES, LINES], 1);
                let what = "across pages over across lines, at least, with";
                judged(Extreme::least(pages), what, at_least, 1.1)
            },
        ),
    ],
    ..Experiment::PLAIN
};

/// Returns a case at the place of the pair of sizes that its trip stores and loads.
fn case(series: &str, trip: Trip, store: usize, load: isize) -> Case {
    Case::new(series, place(trip.store, trip.load), ForwardSetup { trip, store, load })
}

/// Returns the place of a pair of sizes on the axis.
fn place(store: usize, load: usize) -> f64 {
    let index = PAIRS.iter().position(|pair| *pair == (store, load));
    index.expect("every pair that is measured is listed") as f64
}

/// Returns the byte offset of the store: a multiple of its size that leaves room in the line for a
/// load that begins before the store.
pub(crate) fn home(trip: Trip, load: isize) -> usize {
    HOME + if load < 0 { LINE - trip.store } else { 0 }
}

fn at(e: &Evidence<'_>, series: &str, store: usize, load: usize) -> Testable<Reading> {
    e.at(series, place(store, load))
}

/// Returns the ratio of two series for each of `sizes` that the CPU has, with the size in words. A load is
/// one of `parts` of the store.
fn of_sizes(
    e: &Evidence<'_>,
    sizes: &[usize],
    [of, to]: [&str; 2],
    parts: usize,
) -> impl Iterator<Item = Testable<(String, Interval)>> {
    let there = move |size: &&usize| **size <= ALWAYS || at(e, START, **size, **size).is_ok();
    sizes.iter().filter(there).map(move |&size| {
        let at = |series| at(e, series, size, size / parts);
        Ok((format!("{size} bytes"), ratio(at(of), at(to))?))
    })
}

/// Judges an extreme; `what` says of what, up to the name of its place.
fn judged(
    extreme: Testable<Extreme<String>>,
    what: &str,
    judge: fn(&str, Interval, f64) -> Judged,
    bound: f64,
) -> Judged {
    let Extreme { at, value } = extreme?;
    judge(&format!("{what} {at}"), value, bound)
}

/// A store, and a load of the stored value. An operation is a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ForwardSetup {
    /// The sizes of the store and the load, and how the value is passed.
    pub trip: Trip,
    /// Byte offset of the store.
    pub store: usize,
    /// Bytes from the store to the load.
    pub load: isize,
}

impl Setup for ForwardSetup {
    fn bytes(&self) -> usize {
        let load = self.store.saturating_add_signed(self.load) + self.trip.load;
        load.max(self.store + self.trip.written())
    }

    fn prepare<'m>(&self, region: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        let forward = Forward::new(region, self.trip, self.store, self.load, context.features)?;
        Ok(Workload::steady(forward, 1))
    }
}

static OFFSETS_OF_LOADS: &[Experiment] = &[OFFSETS];

/// Pairs of sizes, stored and loaded, whose offsets are swept.
const SWEPT: [(usize, usize); 6] = [(8, 1), (8, 4), (16, 8), (32, 8), (64, 8), (64, 32)];

const OFFSETS: Experiment = Experiment {
    id: "X8",
    name: "forwarding-offsets",
    title: "Store-to-load forwarding by offset",
    question: "From which offsets inside a store is a load forwarded?",
    source: "Beyond the papers; the sources are those of X1",
    about: "The test stores a value and loads bytes at a given offset from the start of the store. \
            The chart shows the time of this round trip (see X1) over the offset. The first CPUs \
            that forwarded did so only from the start of a store, later CPUs from aligned parts, \
            then from any part. A store of 64 bytes may be split into two of 32, and then nothing \
            is forwarded across the middle. A load with even one byte outside the store needs \
            older data and may have to wait until the store has left for L1d.",
    plot: Some(Plot::cycles(
        Axis::linear("offset of the load from the start of the store, in bytes"),
        Axis::linear("round trip"),
    )),
    cases: |machine| {
        let mut cases = Vec::new();
        for (store, load) in SWEPT {
            let trip = Trip::new(store, load);
            for offset in offsets(machine, trip) {
                let setup = ForwardSetup { trip, store: home(trip, offset), load: offset };
                cases.push(Case::new(swept(store, load), offset as f64, setup));
            }
        }
        cases
    },
    events: events::FORWARDING,
    claims: &[
        measured(
            "X8.1",
            ours("older CPUs forwarded only from aligned parts of a store"),
            "a narrower load is forwarded from every offset inside a store of up to 32 bytes: the \
             slowest offset takes at most 1.5 times as long as the fastest, or as a load from L1d \
             if that takes longer",
            |e| {
                // Memory renaming passes a value on faster than any load, at some offsets only. The
                // others are forwarded all the same.
                let near = e.machine.access_in(e.machine.ranges.l1)?;
                let spread = |(inside, _): (Ends, Ends)| ratio(inside.1, inside.0.most(near));
                let most = Extreme::most(of_sweeps(e, [(8, 1), (16, 8), (32, 8)], spread));
                let what = "slowest offset over fastest or over a load from L1d, at most, with";
                judged(most, what, at_most, BLOCKED)
            },
        )
        .failing("At some offset nothing is forwarded: the load waits until L1d has the store."),
        measured(
            "X8.2",
            ours("a core may split a store of 64 bytes into two of 32"),
            "a load of 8 bytes is forwarded from every offset inside a store of 64 bytes: the \
             slowest offset takes at most 1.5 times as long as the fastest",
            |e| {
                let (inside, _) = sides(e, 64, 8)?;
                at_most("slowest offset over fastest", ratio(inside.1, inside.0), BLOCKED)
            },
        )
        .failing("At some offset nothing is forwarded, as across the middle of two halves."),
        measured(
            "X8.3",
            ours("one older byte in the load may prevent forwarding"),
            "a load that extends beyond a store by one byte or more takes more than 1.5 times as \
             long as any load inside the store",
            |e| {
                let blocked = |(inside, outside): (Ends, Ends)| ratio(outside.0, inside.1);
                let least = Extreme::least(of_sweeps(e, [(8, 4), (16, 8), (32, 8)], blocked));
                let what = "fastest outside over slowest inside, at least, with";
                judged(least, what, at_least, BLOCKED)
            },
        )
        .failing(
            "Some load inside a store waits as long as one that extends beyond it, or the core \
             joins the store and L1d.",
        ),
    ],
    ..Experiment::PLAIN
};

/// Returns the offsets of a swept load from the start of the store: all offsets at which load and
/// store overlap or, in a quick run, offsets that are a sixteenth of the wider access apart.
fn offsets(machine: &Machine, trip: Trip) -> Vec<isize> {
    let (store, load) = (trip.store as isize, trip.load as isize);
    let step = if machine.full { 1 } else { (store.max(load) / 16).max(1) };
    // Rounds towards zero, to a multiple of the step.
    let first = (1 - load) / step * step;
    (first..store).step_by(step as usize).collect()
}

fn swept(store: usize, load: usize) -> String {
    format!("{store} to {load} bytes")
}

/// The times at the quickest and the slowest offset.
type Ends = (Interval, Interval);

/// Returns the ends of a swept pair: of the loads inside the store, and of the loads that extend
/// beyond it.
fn sides(e: &Evidence<'_>, store: usize, load: usize) -> Testable<(Ends, Ends)> {
    let last = (store - load) as isize;
    let ends = |inside: bool| -> Testable<_> {
        let mut ends: Option<Ends> = None;
        let all = offsets(e.machine, Trip::new(store, load)).into_iter();
        for offset in all.filter(|offset| (0..=last).contains(offset) == inside) {
            let value = *e.at(&swept(store, load), offset as f64)?;
            ends =
                Some(ends.map_or((value, value), |(least, most)| {
                    (least.least(value), most.most(value))
                }));
        }
        Ok(ends)
    };
    let inside = ends(true)?.ok_or_else(none)?;
    // A load of one byte cannot extend beyond the store.
    Ok((inside, ends(false)?.unwrap_or(inside)))
}

/// Returns the value of `of` for the [`sides`] of each sweep that the CPU has, with the name of the
/// sweep.
fn of_sweeps(
    e: &Evidence<'_>,
    sweeps: [(usize, usize); 3],
    of: impl Fn((Ends, Ends)) -> Testable<Interval>,
) -> impl Iterator<Item = Testable<(String, Interval)>> {
    let there = move |(store, load): &(usize, usize)| {
        *store <= ALWAYS || e.series(&swept(*store, *load)).is_ok()
    };
    let each = sweeps.into_iter().filter(there);
    each.map(move |(store, load)| Ok((swept(store, load), of(sides(e, store, load)?)?)))
}
