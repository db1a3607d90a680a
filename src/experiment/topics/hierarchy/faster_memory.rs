//! Drepper 3.5.4, faster memory: Figure 3.32.

use crate::experiment::prelude::*;
use crate::experiment::shared::count::CountSetup;
use crate::experiment::shared::walk::WalkSetup;
use crate::kernel::Step;
use crate::model::saved;
use crate::pattern::{Layout, Order};

pub(crate) static ALL: &[Experiment] = &[FIG_3_32];

const HERE: &str = "Addnext0, NPAD=7";
const GAIN: &str = "the figure's gain, %";
const CEILING: &str = "saved if memory took all the time, %";
const NEXT: &str = "an FSB of 1,333 MHz over one of 800, %";

/// Megahertz of the two machines' memory modules.
const MODULES: [f64; 2] = [667.0, 800.0];

/// The figure's points: log2 of the working set, cycles per element with slow and fast memory
/// (`reference/drepper-fig-3.32.csv`).
const FIGURE: [(u32, f64, f64); 18] = [
    (12, 6.880, 6.530),
    (13, 5.500, 5.500),
    (14, 4.810, 4.810),
    (15, 4.900, 5.070),
    (16, 12.650, 12.700),
    (17, 12.670, 12.680),
    (18, 12.640, 12.650),
    (19, 12.630, 12.630),
    (20, 12.640, 12.620),
    (21, 13.010, 13.010),
    (22, 51.510, 46.340),
    (23, 150.151, 125.681),
    (24, 167.491, 136.961),
    (25, 168.431, 137.981),
    (26, 168.371, 138.011),
    (27, 168.651, 138.591),
    (28, 168.541, 138.611),
    (29, 168.711, 138.581),
];

const FIG_3_32: Experiment = Experiment {
    id: "D45",
    name: "drepper-fig-3.32",
    title: "Faster memory for a sequential walk that writes",
    question: "How much time does memory that is 20 % faster save, and from which working set on?",
    source: "Drepper 3.5.4, Figure 3.32: two Core 2 machines with DDR2 modules of 667 and 800 MHz",
    about: "The test walks a list of 64-byte elements in sequence and writes to each element. From \
            its times in L2 and in memory, it computes how much memory that is 20 % faster could \
            save. Prefetchers hide part of the memory time, and faster memory cannot save the \
            hidden part. The paper compared two machines instead. Its largest gain is 18.2 % of \
            the time, but modules of 800 MHz can save at most 16.6 % over modules of 667 MHz, so \
            something else differed between the two machines. To compare two memory settings of \
            one machine, run the test with each setting and pass both records to `linefill \
            compare`.",
    plot: Plot::over_working_set(&[Reference {
        file: "drepper-fig-3.32.csv",
        machine: "two Core 2, DDR2-667 and DDR2-800 (2007)",
        x: "working_set_bytes",
        columns: &[("Core2/667", "DDR2-667"), ("Core2/800", "DDR2-800")],
    }]),
    cases: |machine| {
        let gain = |index: u64| {
            let (_, slow, fast) = FIGURE[index as usize];
            Ok((1.0 - fast / slow) * 100.0)
        };
        let ceiling = |_| Ok(saved(1.0, MODULES[1] / MODULES[0]) * 100.0);
        let next = |_| Ok((1333.0 / 800.0 - 1.0) * 100.0);
        let mut cases: Vec<Case> = (0..)
            .zip(&FIGURE)
            .map(|(index, (log2, ..))| CountSetup::computed(GAIN, index, gain).at(1 << log2))
            .collect();
        cases.push(CountSetup::computed(CEILING, 0, ceiling).at(MODULES[1]));
        cases.push(CountSetup::computed(NEXT, 0, next).at(1333.0));
        for bytes in machine.working_sets_or_one_a_range() {
            let setup = WalkSetup::follow(Layout::npad(7), bytes, Order::Sequential);
            cases.push(Case::new(HERE, bytes as f64, setup.with(Step::Addnext0)));
        }
        cases
    },
    curves: |e| e.curves_of(|label| label == HERE),
    claims: &[
        // The maximum increase measured is 18.2 %.
        computed(
            "D45.1",
            drepper("3.5.4, Figure 3.32"),
            "the largest gain in the data of Figure 3.32 is 18.2 %, at 16 MiB",
            |e| {
                let gains = e.series(GAIN)?;
                let most = gains.iter().map(|(_, gain)| gain.middle());
                let most = most.fold(f64::NEG_INFINITY, f64::max);
                all_of([
                    between("largest gain", Interval::exact(most), 18.1, 18.4),
                    between("gain at 16 MiB", e.at(GAIN, TOP), 18.1, 18.4),
                ])
            },
        )
        .then(18.2, "two Core 2, DDR2-667 and DDR2-800"),
        // The speed of the bus does not matter as long as the working set fits into the caches of
        // 4 MB.
        computed(
            "D45.2",
            drepper("3.5.4, Figure 3.32"),
            "up to 2 MiB, inside caches of 4 MiB, the median gain in the data of Figure 3.32 is \
             within 1 % of zero",
            |e| {
                let inside = e.series(GAIN)?;
                let inside = inside.iter().filter(|(x, _)| IN_CACHE.holds(*x)).count();
                if inside < 10 {
                    return Err(Untestable(format!(
                        "only {inside} of the figure's 10 points up to 2 MiB are present"
                    )));
                }
                between("percent gained in the caches", e.level(GAIN, IN_CACHE), -1.0, 1.0)
            },
        ),
        computed(
            "D45.3",
            ours(
                "the document calls its gain close to the theoretical maximum, but modules of 800 \
                 MHz save at most 16.6 % over modules of 667 MHz",
            ),
            "the gain at 16 MiB in the data of Figure 3.32 is no larger than the faster memory \
             modules can explain",
            |e| {
                let most = e.at(CEILING, MODULES[1])?.middle();
                at_most("percent gained at 16 MiB", e.at(GAIN, TOP), most)
            },
        ),
        // FSB speeds of 1,333 MHz would mean another increase of 60 %.
        computed(
            "D45.4",
            drepper("3.5.4"),
            "a bus of 1,333 MHz is 60 % faster than a bus of 800 MHz, rounded down to tens",
            |e| between("percent faster", e.at(NEXT, 1333.0), 60.0, 70.0),
        )
        .then(60.0, ""),
        measured(
            "D45.5",
            ours(
                "the document compares two machines; on one machine, the share of the time that \
                 memory causes tells what faster memory could save",
            ),
            "memory that is 20 % faster would save more than 5 % of the time of a sequential walk \
             that writes, if memory causes all of the extra time over L2",
            |e| {
                let e = &e.in_time();
                let far = e.at(HERE, e.machine.memory_size()?)?;
                let cached = ratio(e.level(HERE, e.machine.ranges.l2)?, far)?;
                // The time beyond the time in L2, which no other guest shares, is due to memory.
                let save = |cached: f64| saved(1.0 - cached, 1.2) * 100.0;
                at_least("percent saved", Interval::new(save(cached.hi), save(cached.lo)), 5.0)
            },
        )
        .failing("The prefetchers hide most of the memory time."),
    ],
    ..Experiment::PLAIN
};

/// The working set at which the text sees the largest gain.
const TOP: f64 = (1 << 24) as f64;

/// From 4 KiB, where the paper's measurements begin to be exact, to half of its L2.
const IN_CACHE: Range = Range { lo: 4096.0, hi: (2 << 20) as f64 };
