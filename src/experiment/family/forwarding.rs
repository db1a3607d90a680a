//! Beyond the papers: a value that is stored and loaded again before it reaches L1d.

use crate::experiment::evidence::ratio;
use crate::experiment::setup::ForwardSetup;
use crate::experiment::{
    Axis, Case, Claim, Evidence, Experiment, Judged, Judgement, Machine, Plot, Reference, Shape,
    Unit, Untestable, all_of, at_least, at_most, plain_curves,
};
use crate::kernel::{Passing, Trip};
use crate::mem::{LINE, PAGE};
use crate::stats::Interval;

/// The rows of this family.
pub(super) static ALL: &[Experiment] = &[STORE_FORWARDING];

/// Byte offset of the line in which most values are passed.
const HOME: usize = PAGE / 2;

/// Sizes that a general register passes, and that a vector register does.
const GENERAL: [usize; 4] = [1, 2, 4, 8];
const VECTOR: [usize; 4] = [8, 16, 32, 64];

/// Sizes whose halves are stored and loaded at once.
const DOUBLED: [usize; 4] = [8, 16, 32, 64];

/// Sizes that every x86-64 CPU has. The others are judged where there are any.
const ALWAYS: usize = 16;

/// How much longer a value takes that does not come from the store queue.
const BLOCKED: f64 = 1.5;

const GIST: &str = "store-forwarding.csv";

macro_rules! published {
    ($($name:literal $machine:literal)*) => {
        &[$(Reference {
            file: GIST,
            machine: $machine,
            x: "offset",
            columns: &[
                (concat!($name, " same operand"), "8 to 8 bytes, one operand"),
                (concat!($name, " 16 to 16"), "16 to 16 bytes"),
                (concat!($name, " two of 8 to 16"), "two of 8 to 16 bytes"),
                (concat!($name, " 16 to 8 general"), "16 to 8 bytes, into a general register"),
            ],
        }),*]
    };
}

const STORE_FORWARDING: Experiment = Experiment {
    id: "X1",
    name: "store-forwarding",
    title: "Store-to-load forwarding by size and offset",
    question: "How long is a value on its way from a store to a load that follows at once, and \
               when does the load have to wait until the store has reached L1d?",
    source: "Beyond the papers: Intel's Optimization Reference Manual, \"Store Forwarding\", and \
             AMD's Software Optimization Guides, load-store unit, which say when it works; the \
             published cycles are Travis Downs's of 2019. A round trip is a store and a load \
             (and, into a general register, a move back) of which each waits for the one before",
    today: "A load gets its value from the store queue if one store wrote all its bytes. If not, \
            it waits until the store has left for L1d, two to four times as long. Where the load \
            starts inside the store does not matter any more. Two newer things do: Zen since 2 \
            and Intel since Ice Lake pass 4 and 8 bytes at the same address on to the next \
            instruction before either access is made, in a cycle or less; and where 64-byte \
            accesses are made of halves, a 64-byte load that spans two 32-byte stores is no \
            failure. A store that goes over the end of a page forwards to nobody on AMD.",
    plot: Some(Plot {
        shape: Shape::Lines,
        x: Axis::linear("bytes from the start of the store to that of the load"),
        y: Axis::linear("round trip"),
        unit: Unit::CoreCycles,
        reference: published![
            "SNB" "Sandy Bridge, Xeon E5-1620 (Downs 2019)"
            "HSW" "Haswell, i7-4770 (Downs 2019)"
            "SKL" "Skylake, i7-6700HQ (Downs 2019)"
            "ICL" "Ice Lake, i5-1035 (Downs 2019)"
            "Zen 2" "Zen 2, EPYC 7262 (Downs 2019)"
        ],
    }),
    cases: |machine| {
        let mut cases = Vec::new();
        for trip in trips() {
            for load in offsets(machine, trip) {
                let store = HOME + room_below(trip, load);
                cases.push(case(series(trip), trip, store, load));
            }
        }
        for size in DOUBLED {
            let trip = Trip::new(size / 2, size).by(Passing::Two);
            cases.push(case(series(trip), trip, HOME, 0));
        }
        let renamed = Trip::new(8, 8).by(Passing::Renamed);
        cases.push(case(series(renamed), renamed, HOME, 0));
        let general = Trip::new(16, 8).by(Passing::General);
        for load in [0, 8] {
            cases.push(case(series(general), general, HOME, load));
        }
        for size in DOUBLED {
            let trip = Trip::new(size, size);
            let half = size / 2;
            cases.push(case(across_lines(size), trip, HOME + LINE - half, 0));
            cases.push(case(across_pages(size), trip, PAGE - half, 0));
        }
        cases
    },
    curves: plain_curves,
    claims: &[
        Claim {
            text: "a load whose bytes one store wrote is forwarded: one that also needs older \
                   bytes takes more than 1.5 times as long",
            judge: |e| {
                each_size(e, &[4, 8, 16, 32, 64], |e, size| {
                    let half = (size / 2) as f64;
                    let blocked = ratio(e.at(&plain(size, size), half)?, contained(e, size)?)?;
                    let what = format!("{size} bytes, half of them older, over all stored");
                    Ok(at_least(&what, blocked, BLOCKED))
                })
            },
        },
        Claim {
            text: "a load of up to 32 bytes that spans two stores takes more than 1.5 times as \
                   long as one whose bytes one store wrote",
            judge: |e| {
                each_size(e, &[8, 16, 32], |e, size| {
                    let two = Trip::new(size / 2, size).by(Passing::Two);
                    let spanning = ratio(e.at(&series(two), 0.0)?, contained(e, size)?)?;
                    let what = format!("{size} bytes of two stores over one");
                    Ok(at_least(&what, spanning, BLOCKED))
                })
            },
        },
        Claim {
            text: "the end of what was stored is forwarded like its start, to 50 %",
            judge: |e| {
                let mut parts = vec![end_over_start(e, 8, 1)?];
                for (store, load) in [(16, 8), (32, 16), (64, 32)] {
                    if store <= ALWAYS || e.series(&plain(store, load)).is_ok() {
                        parts.push(end_over_start(e, store, load)?);
                    }
                }
                Ok(all_of(parts))
            },
        },
        Claim {
            text: "a value of 8 bytes takes no less time through memory than a load from L1d",
            judge: |e| {
                let trip = contained(e, 8)?;
                let published = e.machine.load_to_use.ok_or_else(|| {
                    Untestable(format!(
                        "no published load-to-use latency for this CPU; measured {trip} core cycles"
                    ))
                })?;
                Ok(at_least(
                    "core cycles a round trip",
                    trip,
                    f64::from(published) - 0.5,
                ))
            },
        },
        Claim {
            text: "across two pages a value of up to 32 bytes takes longer than across two lines, \
                   by more than 10 %",
            judge: |e| {
                each_size(e, &[8, 16, 32], |e, size| {
                    let lines = e.at(&across_lines(size), 0.0)?;
                    let pages = ratio(e.at(&across_pages(size), 0.0)?, lines)?;
                    let what = format!("{size} bytes across two pages over across two lines");
                    Ok(at_least(&what, pages, 1.1))
                })
            },
        },
    ],
};

fn case(series: String, trip: Trip, store: usize, load: isize) -> Case {
    let setup = ForwardSetup { trip, store, load };
    Case::new(series, load as f64, setup)
}

/// Every pair of sizes that one store and one load pass.
fn trips() -> impl Iterator<Item = Trip> {
    let pairs = |sizes: [usize; 4]| {
        let pair = move |store| sizes.into_iter().map(move |load| Trip::new(store, load));
        sizes.into_iter().flat_map(pair)
    };
    let words = Trip::new(8, 8);
    pairs(GENERAL).chain(pairs(VECTOR).filter(move |trip| *trip != words))
}

/// Where the load starts, from the store's start on. A full run tries every place at which the two
/// meet, in eighths of the wider one. A quick one tries the start and the end of the store, and
/// beyond both; where the load is wider, the start alone, which is one failure like the others.
fn offsets(machine: &Machine, trip: Trip) -> Vec<isize> {
    let (store, load) = (trip.store as isize, trip.load as isize);
    if machine.full {
        let step = (store.max(load) / 8).max(1);
        // Toward zero, and so onto a multiple of the step.
        let first = (1 - load) / step * step;
        return (first..store).step_by(step as usize).collect();
    }
    if load > store {
        return vec![0];
    }
    let mut offsets = vec![0, store - load];
    if load > 2 {
        offsets.extend([-load / 2, store - load / 2]);
    }
    offsets.sort_unstable();
    offsets.dedup();
    offsets
}

/// Bytes from the start of the line to the store, which lies at a multiple of its size and leaves
/// a load that begins before it in the same line.
fn room_below(trip: Trip, load: isize) -> usize {
    if load < 0 { LINE - trip.store } else { 0 }
}

fn series(trip: Trip) -> String {
    let Trip { store, load, .. } = trip;
    match trip.passing {
        Passing::One => plain(store, load),
        Passing::Two => format!("two of {store} to {load} bytes"),
        Passing::Renamed => format!("{store} to {load} bytes, one operand"),
        Passing::General => format!("{store} to {load} bytes, into a general register"),
    }
}

fn plain(store: usize, load: usize) -> String {
    format!("{store} to {load} bytes")
}

fn across_lines(size: usize) -> String {
    format!("{size} bytes across two lines")
}

fn across_pages(size: usize) -> String {
    format!("{size} bytes across two pages")
}

/// A value of `size` bytes that is loaded as it was stored.
fn contained(e: &Evidence<'_>, size: usize) -> Result<Interval, Untestable> {
    e.at(&plain(size, size), 0.0)
}

/// Judges `part` for each of `sizes`. Those that the CPU lacks are left out.
fn each_size(
    e: &Evidence<'_>,
    sizes: &[usize],
    part: fn(&Evidence<'_>, usize) -> Judged,
) -> Judged {
    let mut parts = Vec::new();
    for &size in sizes {
        if size <= ALWAYS || e.series(&plain(size, size)).is_ok() {
            parts.push(part(e, size)?);
        }
    }
    Ok(all_of(parts))
}

/// A load from the last bytes of the store over one from the first.
fn end_over_start(e: &Evidence<'_>, store: usize, load: usize) -> Result<Judgement, Untestable> {
    let series = plain(store, load);
    let end = ratio(e.at(&series, (store - load) as f64)?, e.at(&series, 0.0)?)?;
    let what = format!("the last {load} of {store} bytes over the first");
    Ok(at_most(&what, end, BLOCKED))
}
