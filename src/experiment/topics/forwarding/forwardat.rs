//! Beyond the papers: from which places inside a store a load is forwarded.

use crate::experiment::claim::extreme::{Extreme, none};
use crate::experiment::prelude::*;
use crate::experiment::topics::forwarding::store_to_load::{ForwardSetup, home};
use crate::kernel::Trip;
use crate::stats::Interval;

/// The rows of this family.
pub(crate) static ALL: &[Experiment] = &[OFFSETS];

/// Sizes that every x86-64 CPU has. The others are judged where there are any.
const ALWAYS: usize = 16;

/// How much longer a value takes that does not come from the store queue.
const BLOCKED: f64 = 1.5;

/// Pairs whose offsets are swept, and how they are called.
const SWEPT: [(usize, usize); 6] = [(8, 1), (8, 4), (16, 8), (32, 8), (64, 8), (64, 32)];

const OFFSETS: Experiment = Experiment {
    id: "X8",
    name: "forwarding-offsets",
    title: "Store-to-load forwarding by offset",
    question: "From which places inside a store is a load forwarded?",
    source: "Beyond the papers: as X1, the load at one place after the other",
    seen: &[],
    about: "Old CPUs forwarded from the start of a store alone, later ones from aligned parts of \
            it, then from anywhere inside. A store of 64 bytes may be two of 32, from across \
            whose middle nothing is forwarded. A load that sticks out by a byte waits.",
    plot: Some(Plot::lines(
        Axis::linear("bytes from the start of the store to that of the load"),
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
            ours("older CPUs forwarded from aligned parts of a store alone"),
            "from stores of up to 32 bytes a narrower load is forwarded from every place, at the \
             same cost to 50 %",
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
                    &format!("slowest place over quickest, at most, with {}", most.at),
                    most.value,
                    BLOCKED,
                )
            },
        ),
        measured(
            "X8.2",
            ours("a store of 64 bytes may be two of 32"),
            "from a store of 64 bytes a load of 8 bytes is forwarded from every place, at the \
             same cost to 50 %",
            |e| {
                let (inside, _) = sides(e, 64, 8)?;
                at_most(
                    "slowest place over quickest",
                    ratio(inside.1, inside.0),
                    BLOCKED,
                )
            },
        )
        .failing(
            "From somewhere in the store nothing is forwarded, as across the middle of two \
             halves.",
        ),
        measured(
            "X8.3",
            ours("what it costs if one byte of the load is older than the store"),
            "a load that sticks out of a store by a byte or more takes more than 1.5 times as \
             long as any that does not",
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
                        "quickest outside over slowest inside, at least, with {}",
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
