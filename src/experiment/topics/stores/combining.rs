//! Drepper 6.1, `setbytes`: write combining, and the buffers that it needs.

use crate::experiment::prelude::*;
use crate::experiment::shared::count::CountSetup;
use crate::experiment::shared::lines::FillSetup;
use crate::experiment::shared::pollution::Passage;
use crate::experiment::topics::stores::streaming::beyond_caches;
use crate::experiment::topics::stores::streaming::matrix::MatrixSetup;
use crate::experiment::topics::stores::{Laps, lap_cases, slower_lap};
use crate::kernel::{FillWay, Sweep, Temporal};

pub(crate) static ALL: &[Experiment] = &[SET_BYTES];

const WHOLE: &str = "non-temporal, a line at a time";
pub(crate) const INTERLEAVED: &str = "non-temporal, one store to each of n lines in turn";
const CACHED: &str = "through the cache";

/// Parts of a line: their series, how they are stored, and their share of the line.
const PARTS: [(&str, Part, f64); 4] = [
    ("non-temporal, a quarter of each line", Part::Quarters(1), 0.25),
    (HALF_BY_TWO, Part::Quarters(2), 0.5),
    ("non-temporal, three quarters of each line", Part::Quarters(3), 0.75),
    (HALF_BY_ONE, Part::OneOf32, 0.5),
];
const HALF_BY_TWO: &str = "non-temporal, half of each line";
const HALF_BY_ONE: &str = "non-temporal, half of each line, by one store of 32 bytes";

/// How a part of a line is stored.
#[derive(Clone, Copy)]
enum Part {
    /// By 16-byte stores.
    Quarters(u32),
    /// By one 32-byte store.
    OneOf32,
}

/// Measured numbers of lines that are open at a time: every number where CPUs differ, some beyond.
const OPEN: [u32; 30] = [
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 28, 32,
    40, 48, 56, 64,
];

/// Stores that are slower by this factor evict partly written lines.
const CLIFF: f64 = 1.5;

/// Bytes of the lines to fill. Non-temporal stores bypass the caches, so few lines suffice.
const BYTES: usize = 4 << 20;

const PUBLISHED: &str = "write-combining buffers, as published";

const LAPS: Laps = [
    ("lap after nothing", Passage::Nothing),
    ("lap after cached stores", Passage::Store),
    ("lap after non-temporal stores", Passage::NonTemporalStore),
];

const SET_BYTES: Experiment = Experiment {
    id: "E2",
    name: "drepper-setbytes",
    title: "Filling lines as a whole or in parts",
    question: "How slow are non-temporal stores that leave lines partly written?",
    source: "Drepper 6.1, the function setbytes",
    seen: &[seen(
        "Zen 4",
        "A line of which three quarters are written costs as much as a line of which one quarter \
         is written, and several times as much as a full line.",
    )],
    about: "Non-temporal stores collect in write-combining buffers, one buffer per line. The test \
            writes n lines in turn, a quarter of a line at a time. While the CPU has a buffer for \
            each open line, each buffer leaves as one full line. With one line more than it has \
            buffers, the CPU must evict buffers that are a quarter full, and memory receives \
            partial writes. Bandwidth should therefore drop sharply beyond the number of buffers. \
            A full line needs neither a read for ownership nor a byte mask. With `rep stosb`, \
            microcode chooses the protocol, and may avoid the reads for large blocks.",
    plot: Some(Plot::lines(
        Axis::log("lines open at a time"),
        Axis::log("bandwidth"),
        Unit::GigabytesPerSecond,
    )),
    cases,
    curves: |e| {
        let lap = |label: &str| LAPS.iter().any(|(series, _)| *series == label);
        e.curves_of(|label| label != PUBLISHED && !lap(label))
    },
    events: events::STORES,
    claims: &[
        // Four movntdq that write a line avoid reading it before; memset should use them for
        // large blocks.
        measured(
            "E2.1",
            drepper("6.1"),
            "beyond the last-level cache, non-temporal stores of full lines are faster than stores \
             through the cache",
            |e| {
                beyond_caches(e.machine)?;
                let faster = ratio(e.at(WHOLE, 1.0), e.at(CACHED, 1.0))?;
                at_least("non-temporal over cached bandwidth", faster, 1.0)
            },
        ),
        // The buffer holds a partly written line for only so long; all stores to a line should be
        // issued one after the other. A factor of 1.5 is our threshold.
        measured(
            "E2.2",
            drepper("6.1"),
            "non-temporal stores that keep 64 lines open at a time take more than 1.5 times as \
             long as stores that fill one line after the other",
            |e| {
                let slower = ratio(e.at(INTERLEAVED, 1.0), e.at(INTERLEAVED, 64.0))?;
                at_least("whole lines over 64 open lines", slower, CLIFF)
            },
        ),
        measured(
            "E2.3",
            ours("whether a loop can fill a few arrays at once without losing write-combining"),
            "at least four lines can be open at a time before one more slows non-temporal stores \
             down most, by a factor of 1.5 or more: the CPU has that many write-combining buffers",
            |e| at_least("buffers found", buffers(e), 4.0),
        ),
        measured(
            "E2.4",
            ours("whether the drop appears at the number of buffers that the vendor publishes"),
            "non-temporal stores slow down most, by a factor of 1.5 or more, exactly when more \
             lines are open than write-combining buffers are published for this core",
            |e| {
                let published = e.at(PUBLISHED, 1.0)?.middle();
                between("buffers found", buffers(e), published, published)
            },
        ),
        // If write-combining succeeds in filling a whole line, no read is needed at all; a line
        // written in part needs more.
        measured(
            "E2.5",
            drepper("6.1"),
            "non-temporal stores take longer for a part of a line than for a full line, whether \
             the part is a quarter, a half or three quarters",
            |e| {
                let whole = e.at(INTERLEAVED, 1.0)?;
                all_of(PARTS[..3].iter().map(|(series, _, share)| {
                    let slower = ratio(&whole, e.at(series, 1.0))?.scaled(*share);
                    at_least(&format!("time of {series} over a full line"), slower, 1.0)
                }))
            },
        ),
        // The write-combining logic sees the stores to a line and issues one write.
        measured(
            "E2.6",
            drepper("6.1"),
            "two non-temporal stores of 16 bytes to one half of a line are as fast as one store of \
             32 bytes, within 10 %: adjacent stores combine",
            |e| {
                let faster = ratio(e.at(HALF_BY_TWO, 1.0), e.at(HALF_BY_ONE, 1.0))?;
                between("bandwidth of two stores over one", faster, 0.9, 1.1)
            },
        )
        .failing(
            "Two stores do not cost the same as one: they do not combine, or each takes a place in \
             the store buffer.",
        ),
        // The sequence avoids polluting the cache with data that are not needed soon. The threshold
        // is ours.
        measured(
            "E2.7",
            drepper("6.1"),
            "after non-temporal stores to four times as many bytes as a hot set in L2 has, a lap \
             of the set takes less than 1.3 times as long as undisturbed",
            |e| at_most("lap after non-temporal stores", slower_lap(e, LAPS, 2), 1.3),
        ),
        measured(
            "E2.8",
            ours(
                "the control of the claim before: cached stores to as many bytes must evict the \
                 hot set",
            ),
            "after cached stores to four times as many bytes as a hot set in L2 has, a lap of the \
             set takes at least 1.3 times as long as undisturbed",
            |e| at_least("lap after cached stores", slower_lap(e, LAPS, 1), 1.3),
        ),
    ],
};

fn cases(machine: &Machine) -> Vec<Case> {
    let far = machine.in_memory();
    let bytes = BYTES.min(far);
    let fill = |bytes, way| FillSetup { bytes, way };
    let mut cases = vec![
        Case::new(CACHED, 1, fill(far, FillWay::Cached)),
        Case::new(WHOLE, 1, fill(far, FillWay::NonTemporal)),
        Case::new("rep stosb", 1, fill(far, FillWay::RepStosb)),
    ];
    cases.extend(
        OPEN.map(|lines| {
            Case::new(INTERLEAVED, lines, fill(bytes, FillWay::Interleaved { lines }))
        }),
    );
    for (series, part, _) in PARTS {
        cases.push(match part {
            Part::Quarters(quarters) => {
                Case::new(series, 1, fill(bytes, FillWay::Part { quarters }))
            }
            // Each row is a line. By column, the first halves of all lines are stored, then the
            // second.
            Part::OneOf32 => {
                let setup = MatrixSetup {
                    rows: bytes / LINE,
                    row_bytes: LINE,
                    sweep: Sweep::Column,
                    width: 32,
                    temporal: Temporal::NonTemporal,
                };
                Case::new(series, 1, setup)
            }
        });
    }
    let published = CountSetup::published(
        PUBLISHED,
        |core| core.combining_buffers,
        "the number of buffers of this core is not published",
    );
    cases.push(published.at(1));
    cases.extend(lap_cases(machine, LAPS));
    cases
}

/// Returns the number of open lines before the steepest fall of the bandwidth from one number to the
/// next: the CPU has a buffer for each. The interval contains every fall that may be the steepest.
///
/// The first number that is slower than one line says less: on a Redwood Cove each further line costs
/// some bandwidth, and half of it is lost at 8 lines although 16 buffers are there.
fn buffers(e: &Evidence<'_>) -> Testable<Interval> {
    let points = e.series(INTERLEAVED)?;
    let falls = points.windows(2).map(|pair| {
        let [(before, faster), (behind, slower)] = [pair[0], pair[1]];
        Ok((Interval::new(before, behind - 1.0), ratio(faster, slower)?))
    });
    let falls = falls.collect::<Testable<Vec<_>>>()?;
    let steepest = falls.iter().map(|(_, fall)| fall.lo).fold(0.0, f64::max);
    let possible = falls.iter().filter(|(_, fall)| fall.hi >= steepest);
    let found = possible.map(|(lines, _)| *lines).reduce(Interval::hull);
    found.filter(|_| steepest >= CLIFF).ok_or_else(|| {
        Untestable::because(
            "at no number of open lines did one more make the stores 1.5 times slower beyond doubt",
        )
    })
}
