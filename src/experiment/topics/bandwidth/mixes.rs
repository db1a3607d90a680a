//! Mixes of reads and writes by one core, among them the triad of STREAM.

use crate::experiment::prelude::*;
use crate::experiment::topics::bandwidth::Place::{self, L1, L2, Llc, Memory};
use crate::experiment::topics::bandwidth::{
    PAPER, READ, WRITE, by_16_bytes, level, ports, sizes, unknown_ports, whole_blocks,
};
use crate::kernel::Motion;

const HALVES: &str = "read two streams";
const QUARTERS: &str = "read four streams";
const THREE: &str = "3 reads per write";
const TWO: &str = "2 reads per write";
const ONE: &str = "1 read per write";
const TRIAD: &str = "triad";
const BYPASSING_TRIAD: &str = "non-temporal triad";
const BYPASSING: &str = "non-temporal write";

/// Streams that a kernel reads and writes at the same time.
struct Mix {
    name: &'static str,
    motion: Motion,
    /// Bytes read per byte of a stream.
    reads: usize,
    /// Bytes written per byte of a stream.
    writes: usize,
    /// Whether a write that misses L1d first reads its line (RFO).
    owns: bool,
    /// The places that a quick run measures.
    quick: &'static [Place],
}

const fn mix(
    name: &'static str,
    motion: Motion,
    [reads, writes]: [usize; 2],
    quick: &'static [Place],
) -> Mix {
    Mix {
        name,
        motion,
        reads,
        writes,
        owns: writes > 0 && !matches!(motion, Motion::WriteNonTemporal | Motion::TriadNonTemporal),
        quick,
    }
}

const EVERYWHERE: &[Place] = &[L1, L2, Llc, Memory];

/// The mixes. Points that another experiment measures as well cost no extra time.
const MIXES: [Mix; 10] = [
    mix(READ, Motion::Read, [1, 0], EVERYWHERE),
    mix(HALVES, Motion::ReadHalves, [2, 0], &[Memory]),
    mix(QUARTERS, Motion::ReadQuarters, [4, 0], &[Memory]),
    mix(THREE, Motion::AddThree, [3, 1], &[Memory]),
    mix(TWO, Motion::Add, [2, 1], &[Memory]),
    mix(ONE, Motion::Copy, [1, 1], EVERYWHERE),
    mix(WRITE, Motion::Write, [0, 1], EVERYWHERE),
    mix(TRIAD, Motion::Triad, [2, 1], &[L1, L2, Memory]),
    mix(BYPASSING_TRIAD, Motion::TriadNonTemporal, [2, 1], &[L2, Memory]),
    mix(BYPASSING, Motion::WriteNonTemporal, [0, 1], &[Memory]),
];

impl Mix {
    fn named(name: &str) -> Option<&'static Mix> {
        MIXES.iter().find(|mix| mix.name == name)
    }

    /// Bytes that cross the path to memory per byte that the program counts.
    fn moved(&self) -> f64 {
        let counted = self.reads + self.writes;
        let owned = if self.owns { self.writes } else { 0 };
        (counted + owned) as f64 / counted as f64
    }

    /// Returns the case of a working set, rounded down to whole blocks of all streams.
    fn case(&self, bytes: usize) -> Option<Case> {
        let setup = by_16_bytes(whole_blocks(bytes, self.motion)?, self.motion);
        Some(Case::new(self.name, bytes as f64, setup))
    }
}

/// Returns the bandwidth of a mix in a place, including the lines that writes read first.
fn with_owned(e: &Evidence<'_>, name: &str, place: Place) -> Testable<Reading> {
    let moved = Mix::named(name).map_or(1.0, Mix::moved);
    Ok(level(e, name, place)?.scaled(moved))
}

/// Returns the greatest bandwidth of reads in memory by one, two and four streams. Most cores read several
/// streams faster than one, so that the reads beside a mix of several streams should be several as well.
fn fastest_reads(e: &Evidence<'_>) -> Testable<Interval> {
    let [one, two, four] = [READ, HALVES, QUARTERS].map(|name| level(e, name, Memory));
    Ok(one?.most(*two?).most(*four?))
}

/// Returns the fewest cycles that the ports need per byte of a stream of the triad.
fn least_cycles(machine: &Machine) -> Testable<f64> {
    let known = ports(machine)?;
    let at_most = |bytes: Option<u32>| bytes.filter(|&bytes| bytes > 0).map(f64::from);
    let (loads, stores) = (at_most(known.read(PAPER)), at_most(known.write(PAPER)));
    let (loads, stores) = loads.zip(stores).ok_or_else(unknown_ports)?;
    Ok((2.0 / loads).max(1.0 / stores))
}

pub(super) const MIXES_OF_ONE_CORE: Experiment = Experiment {
    id: "X21",
    name: "read-write-mixes",
    title: "Mixes of reads and writes, and the triad of STREAM",
    question: "How much bandwidth is left when one core reads and writes at the same time, and how \
               much of it is the lines that writes read first?",
    source: "Beyond the papers: the ratios of reads to writes that memory benchmarks measure, and \
             the Triad of McCalpin's STREAM (a = b + s * c)",
    about: "One core adds up arrays and stores the sum to another array by 16-byte accesses: one, \
            two or three reads per write. The triad adds one array and twice another. It does so \
            in integers, of which no value is slow, and with the same accesses as STREAM in \
            floating-point numbers. The vertical axis counts bytes as STREAM does: each byte that \
            the program reads or writes counts once. Ordinary stores move more than that. A store \
            that misses L1d first reads its line to own it (RFO), so that the triad moves four \
            streams and counts three. A core may read several streams faster than one, because its \
            prefetchers follow each stream by itself. Beside the mixes there are therefore reads \
            of one, two and four streams, a line of each at a time. Curves with the suffix \
            `with RFO` count these lines, too, where L1d does not hold them. They come closer to \
            each other than the bytes that STREAM counts, if the path between core and memory is \
            the limit. Non-temporal stores do not read their lines: where only traffic counts, a \
            triad gains a third by them. In a cache, they write to memory all the same, which \
            costs time where memory takes stores more slowly than the cache.",
    seen: &[seen(
        "Zen 4",
        "Lines that are written back overlap with lines that are read: with RFO counted, mixes \
         move a quarter to a half more than reads alone. In L2, the non-temporal triad is as fast \
         as the ordinary one: one core stores no faster than memory takes it.",
    )],
    plot: Some(Plot::lines(Axis::WORKING_SET, Axis::log("bandwidth"), Unit::GigabytesPerSecond)),
    cases: |machine| {
        let at = |bytes: usize, place: &Place| match place {
            Memory => bytes == machine.in_memory(),
            _ => place.range(machine).holds(bytes as f64),
        };
        let wanted = |mix: &Mix, bytes| machine.full || mix.quick.iter().any(|of| at(bytes, of));
        let of_size = |bytes| {
            let mixes = MIXES.iter().filter(move |mix| wanted(mix, bytes));
            mixes.filter_map(move |mix| mix.case(bytes))
        };
        sizes(machine).into_iter().flat_map(of_size).collect()
    },
    curves: |e| {
        let curves = e.curves();
        let owning = curves.iter().filter_map(|curve| {
            let mix = Mix::named(&curve.label).filter(|mix| mix.owns)?;
            let points = curve.points.iter();
            let beyond_l1 = points.filter(|(bytes, _)| *bytes >= e.machine.ranges.l2.lo);
            let points: Vec<_> =
                beyond_l1.map(|(bytes, of)| (*bytes, of.scaled(mix.moved()))).collect();
            let label = format!("{}, with RFO", curve.label);
            (!points.is_empty()).then_some(Curve { label, points })
        });
        let owning: Vec<Curve> = owning.collect();
        [curves, owning].concat()
    },
    claims: &[
        measured(
            "X21.1",
            ours(
                "an ordinary triad moves four streams, of which STREAM counts three; McCalpin's \
                 notes on STREAM give 4/3 as what non-temporal stores gain",
            ),
            "in memory, the triad is 1.2 to 1.5 times as fast with non-temporal stores as with \
             ordinary stores",
            |e| {
                let faster = ratio(level(e, BYPASSING_TRIAD, Memory), level(e, TRIAD, Memory))?;
                between("non-temporal over ordinary triad", faster, 1.2, 1.5)
            },
        )
        .holding("Traffic is what limits a triad in memory: a line that is not read is a gain.")
        .failing(
            "Something other than traffic limits one of the two triads: the outstanding lines of \
             one core, or the buffers that collect non-temporal stores.",
        ),
        measured(
            "X21.2",
            ours("a mix should cost what its parts cost, and not more for changing between them"),
            "in memory, mixes of 3, 2 and 1 reads per write are at least as fast as writes alone, \
             and at most as fast as the fastest reads of one, two or four streams (5 % allowed), \
             as STREAM counts bytes",
            |e| {
                let (read, write) = (fastest_reads(e)?, level(e, WRITE, Memory)?);
                all_of([THREE, TWO, ONE].into_iter().flat_map(|name| {
                    let mix = level(e, name, Memory);
                    let [over_writes, over_reads] = [ratio(mix.clone(), &write), ratio(mix, read)];
                    [
                        at_least(&format!("{name} over writes"), over_writes, 0.95),
                        at_most(&format!("{name} over the fastest reads"), over_reads, 1.05),
                    ]
                }))
            },
        )
        .failing(
            "Mixes use memory better than reads alone, or lose time where the direction changes.",
        ),
        measured(
            "X21.3",
            ours(
                "if the path to memory carries so many lines in whatever direction, lines are what \
                 a program should count",
            ),
            "in memory, with the lines that writes read first, each mix of 3, 2 and 1 reads per \
             write moves as many bytes as the fastest reads of one, two or four streams, within \
             25 %",
            |e| {
                let read = fastest_reads(e)?;
                all_of([THREE, TWO, ONE].map(|name| {
                    let moved = ratio(with_owned(e, name, Memory), read)?;
                    let name = format!("{name} with RFO over the fastest reads");
                    between(&name, moved, 0.75, 1.25)
                }))
            },
        )
        .failing(
            "Reads and writes do not share one limit: they overlap on separate paths, or changing \
             direction costs time.",
        ),
        measured(
            "X21.4",
            ours("in L1d, loads and stores have ports of their own, and both should be busy"),
            "in L1d, the triad by 16-byte accesses reaches at least 0.8 of the limit of the load \
             and store ports",
            |e| {
                let least = least_cycles(e.machine)?;
                let unit = Unit::BytesPerCycle;
                let read = Evidence { unit, ..*e }.level(TRIAD, L1.range(e.machine))?;
                // The unit counts the larger of bytes read and written: two streams.
                let share = read.scaled(least / 2.0);
                at_least("triad over the limit of the ports", share, 0.8)
            },
        )
        .failing(
            "Sixteen bytes of the triad take five instructions: the width of the core may be the \
             limit, not its ports.",
        ),
        measured(
            "X21.5",
            ours(
                "compilers and libraries choose non-temporal stores by size; in a cache, they \
                 should give away what the cache gains",
            ),
            "in L2, the triad is less than 0.9 times as fast with non-temporal stores as with \
             ordinary stores",
            |e| {
                let slower = ratio(level(e, BYPASSING_TRIAD, L2), level(e, TRIAD, L2))?;
                at_most("non-temporal over ordinary triad, L2", slower, 0.9)
            },
        ),
        measured(
            "X21.6",
            ours(
                "a prefetcher follows a stream up to the end of its page; several streams keep \
                 more lines under way",
            ),
            "in memory, one core reads four streams, a line of each in turn, at least 1.15 times \
             as fast as one stream",
            |e| {
                let faster = ratio(level(e, QUARTERS, Memory), level(e, READ, Memory))?;
                at_least("four streams over one", faster, 1.15)
            },
        )
        .holding(
            "One stream does not use all of the memory bandwidth that a core has: a loop over a \
             large array is faster if it reads several parts of the array in turn.",
        )
        .failing("One stream keeps as many lines under way as the core can."),
    ],
    ..Experiment::PLAIN
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_writes_read_first_count_once_more() {
        let moved = MIXES.each_ref().map(Mix::moved);
        let third = 4.0 / 3.0;
        assert_eq!(moved, [1.0, 1.0, 1.0, 1.25, third, 1.5, 2.0, third, 1.0, 1.0]);
    }
}
