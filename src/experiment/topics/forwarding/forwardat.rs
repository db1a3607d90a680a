//! Beyond the papers: from which places inside a store a load is forwarded.

use crate::experiment::claim::extreme::{Extreme, none};
use crate::experiment::prelude::*;
use crate::experiment::topics::forwarding::store_to_load::{ForwardSetup, home};
use crate::kernel::Trip;
use crate::stats::Interval;

/// The rows of this family.
pub(crate) static ALL: &[Experiment] = &[OFFSETS];

/// Sizes that every x86-64 CPU has. Larger sizes are judged only where the CPU has them.
const ALWAYS: usize = 16;

/// How many times as long a value takes if it does not come from the store queue.
const BLOCKED: f64 = 1.5;

/// Pairs of sizes, stored and loaded, whose offsets are swept.
const SWEPT: [(usize, usize); 6] = [(8, 1), (8, 4), (16, 8), (32, 8), (64, 8), (64, 32)];

const OFFSETS: Experiment = Experiment {
    id: "X8",
    name: "forwarding-offsets",
    title: "Store-to-load forwarding by offset",
    question: "From which offsets inside a store is a load forwarded?",
    source: "Beyond the papers; the sources are those of X1",
    seen: &[],
    about: "The test stores a value and loads bytes at a given offset from the start of the store. \
            The chart shows the time of this round trip (see X1) over the offset. The first CPUs \
            that forwarded did so only from the start of a store, later CPUs from aligned parts, \
            then from any part. A store of 64 bytes may be split into two of 32, and then nothing \
            is forwarded across the middle. A load with even one byte outside the store needs \
            older data and may have to wait until the store has left for L1d.",
    plot: Some(Plot::lines(
        Axis::linear("offset of the load from the start of the store, in bytes"),
        Axis::linear("round trip"),
        Unit::CoreCycles,
    )),
    cases: |machine| {
        let mut cases = Vec::new();
        for (store, load) in SWEPT {
            let trip = Trip::new(store, load);
            for offset in offsets(machine, trip) {
                let setup = ForwardSetup {
                    trip,
                    store: home(trip, offset),
                    load: offset,
                };
                cases.push(Case::new(swept(store, load), offset as f64, setup));
            }
        }
        cases
    },
    curves: plain_curves,
    events: events::FORWARDING,
    claims: &[
        measured(
            "X8.1",
            ours("older CPUs forwarded only from aligned parts of a store"),
            "a narrower load is forwarded from every offset inside a store of up to 32 bytes: the \
             slowest offset takes at most 1.5 times as long as the fastest",
            |e| {
                let mut most: Option<Extreme<String>> = None;
                for (store, load) in [(8, 1), (16, 8), (32, 8)] {
                    if store <= ALWAYS || e.series(&swept(store, load)).is_ok() {
                        let (inside, _) = sides(e, store, load)?;
                        let spread = ratio(inside.1, inside.0)?;
                        most = Some(Extreme::most(most, swept(store, load), spread));
                    }
                }
                let most = most.ok_or_else(none)?;
                at_most(
                    &format!("slowest offset over fastest, at most, with {}", most.at),
                    most.value,
                    BLOCKED,
                )
            },
        ),
        measured(
            "X8.2",
            ours("a core may split a store of 64 bytes into two of 32"),
            "a load of 8 bytes is forwarded from every offset inside a store of 64 bytes: the \
             slowest offset takes at most 1.5 times as long as the fastest",
            |e| {
                let (inside, _) = sides(e, 64, 8)?;
                at_most(
                    "slowest offset over fastest",
                    ratio(inside.1, inside.0),
                    BLOCKED,
                )
            },
        )
        .failing("At some offset nothing is forwarded, as across the middle of two halves."),
        measured(
            "X8.3",
            ours("one older byte in the load may prevent forwarding"),
            "a load that extends beyond a store by one byte or more takes more than 1.5 times as \
             long as any load inside the store",
            |e| {
                let mut least: Option<Extreme<String>> = None;
                for (store, load) in [(8, 4), (16, 8), (32, 8)] {
                    if store <= ALWAYS || e.series(&swept(store, load)).is_ok() {
                        let (inside, outside) = sides(e, store, load)?;
                        let blocked = ratio(outside.0, inside.1)?;
                        least = Some(Extreme::least(least, swept(store, load), blocked));
                    }
                }
                let least = least.ok_or_else(none)?;
                at_least(
                    &format!(
                        "fastest outside over slowest inside, at least, with {}",
                        least.at
                    ),
                    least.value,
                    BLOCKED,
                )
            },
        ),
    ],
};

/// Where a swept load starts, from the store's start on: every place at which the two meet, or some
/// that are a sixteenth of the wider one apart in a quick run.
fn offsets(machine: &Machine, trip: Trip) -> Vec<isize> {
    let (store, load) = (trip.store as isize, trip.load as isize);
    let step = if machine.full {
        1
    } else {
        (store.max(load) / 16).max(1)
    };
    // Toward zero, and so onto a multiple of the step.
    let first = (1 - load) / step * step;
    (first..store).step_by(step as usize).collect()
}

fn swept(store: usize, load: usize) -> String {
    format!("{store} to {load} bytes")
}

/// The quickest and the slowest place.
type Ends = (Interval, Interval);

/// The ends of a swept pair's loads that lie inside the store, and of those that stick out.
fn sides(e: &Evidence<'_>, store: usize, load: usize) -> Result<(Ends, Ends), Untestable> {
    let last = (store - load) as isize;
    let ends = |inside: bool| -> Result<_, Untestable> {
        let mut ends: Option<Ends> = None;
        let all = offsets(e.machine, Trip::new(store, load)).into_iter();
        for offset in all.filter(|offset| (0..=last).contains(offset) == inside) {
            let value = e.at(&swept(store, load), offset as f64)?;
            ends = Some(ends.map_or((value, value), |(least, most)| {
                (least.least(value), most.most(value))
            }));
        }
        Ok(ends)
    };
    let inside = ends(true)?.ok_or_else(none)?;
    // A load of one byte cannot stick out.
    Ok((inside, ends(false)?.unwrap_or(inside)))
}
