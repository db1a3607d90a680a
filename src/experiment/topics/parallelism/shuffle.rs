//! Startin's shuffles: A1, A2 and A8.

use crate::experiment::prelude::*;
use crate::experiment::topics::parallelism::ShuffleSetup;
use crate::kernel::Op;
use crate::pattern::{Deck, Indices};
use crate::pmu::Quantity;

pub(crate) static ALL: &[Experiment] = &[SHUFFLE, BUFFERED_SHUFFLE, STAGES];

pub(crate) const LOOKED_UP: &str = "shuffle, index looked up";
pub(crate) const DRAWN: &str = "shuffle, index drawn";
pub(crate) const BUFFERED: &str = "shuffleBuffered, index drawn";
const LOOKED_UP_CALLED: &str = "shuffle, index looked up in a call";
const DRAWN_CALLED: &str = "shuffle, index drawn in a call";

/// The post's stage lengths.
pub(crate) const STAGES_OF_POST: [usize; 4] = [8, 16, 32, 64];

/// Longer stages, from the post "Stages".
const LATER_STAGES: [usize; 2] = [128, 256];

/// Number of integers in the documents' array.
const OF_POST: usize = 100_000_000;

const MACHINE: &str = "not stated (2018); a JVM's compiler";

/// The post's numbers by stage length.
pub(crate) const fn by_stage(columns: &'static [(&'static str, &'static str)]) -> Reference {
    Reference { file: "startin-shuffle.csv", machine: MACHINE, x: "stage", columns }
}

/// Returns the number of integers in the array: those of the in-memory working set, in a full run
/// at least the documents' 100,000,000. The array and the table of its indices fit the memory that
/// may be used.
pub(crate) fn integers(machine: &Machine) -> usize {
    let far = machine.in_memory() / size_of::<u32>();
    let wanted = if machine.full { far.max(OF_POST) } else { far };
    let room = machine.largest - Deck::span(2, Indices::Generated);
    wanted.min(room / 2 / size_of::<u32>() / 16 * 16)
}

/// Returns the set-up of a shuffle of the array.
pub(crate) fn shuffle(machine: &Machine, indices: Indices, stage: usize) -> ShuffleSetup {
    ShuffleSetup {
        count: integers(machine),
        indices,
        stage,
        buffered: false,
        whole: false,
        op: Op::Assembled,
        seed: machine.seed,
    }
}

/// Like [`shuffle`], with indices drawn a stage at a time.
pub(crate) fn buffered(machine: &Machine, stage: usize) -> ShuffleSetup {
    ShuffleSetup { buffered: true, ..shuffle(machine, Indices::Generated, stage) }
}

/// Checks that the array lies in memory. It lies in a cache if no more memory may be allocated.
pub(crate) fn in_memory(e: &Evidence<'_>) -> Testable<()> {
    e.machine.place_in_memory(integers(e.machine) * size_of::<u32>()).map(|_| ())
}

/// Returns the time of one point divided by that of another, pass by pass: points that are measured
/// within seconds meet the same conditions.
pub(crate) fn in_passes(e: &Evidence<'_>, of: (&str, f64), to: (&str, f64)) -> Testable<Interval> {
    // If a point was not measured, its own reason is reported.
    e.at(of.0, of.1)?;
    e.at(to.0, to.1)?;
    let together = e.ratio_of_passes(of, to)?;
    let nothing = || Untestable(format!("`{}` and `{}` have no pass in common", of.0, to.0));
    Ok(together.ok_or_else(nothing)?.widened(0.005))
}

/// Returns the same quotient for an array that must lie in memory.
pub(crate) fn over(e: &Evidence<'_>, of: (&str, f64), to: (&str, f64)) -> Testable<Interval> {
    in_memory(e)?;
    in_passes(e, of, to)
}

const SHUFFLE: Experiment = Experiment {
    id: "A1",
    name: "startin-shuffle",
    title: "A shuffle with indices drawn or looked up",
    question: "Is a shuffle that misses at every exchange slower if it also draws its random \
               indices?",
    source: "Startin, \"Observing memory level parallelism with JMH\": `shuffle`, PRECOMPUTED and \
             THREAD_LOCAL_RANDOM",
    about: "A shuffle exchanges each element of a large array with one at a random index. One \
            variant draws the index, the other reads it from a table. Both miss once per exchange. \
            Drawing takes some forty instructions, which fill the window in which the CPU looks \
            for further misses. Reading the table takes one load, so the window fits two or three \
            times as many exchanges. The stage length on the axis has no effect here; the curves \
            should be flat. A quick run uses an array of the in-memory working set instead of 400 \
            MB, and times its upper part.",
    plot: Some(
        Plot::nanoseconds(
            Axis::log("stage length, which has no effect"),
            Axis::log("time per exchange"),
        )
        .beside(&[by_stage(&[
            ("shuffle_precomputed_ns", LOOKED_UP),
            ("shuffle_random_ns", DRAWN),
        ])]),
    ),
    cases: |machine| {
        let mut cases = Vec::new();
        for stage in STAGES_OF_POST {
            for (series, indices) in
                [(LOOKED_UP, Indices::Precomputed), (DRAWN, Indices::Generated)]
            {
                cases.push(Case::new(series, stage as f64, shuffle(machine, indices, stage)));
            }
        }
        let ways = [
            (LOOKED_UP_CALLED, Indices::Precomputed, Op::Called),
            (DRAWN_CALLED, Indices::Generated, Op::Called),
            ("shuffle, index looked up in a closure", Indices::Precomputed, Op::Closure),
            ("shuffle, index drawn in a closure", Indices::Generated, Op::Closure),
        ];
        let stage = STAGES_OF_POST[3];
        for (series, indices, op) in ways {
            let setup = ShuffleSetup { op, ..shuffle(machine, indices, stage) };
            // The code of a closure depends on the compiler: only a full run measures closures.
            if op == Op::Called || machine.full {
                cases.push(Case::new(series, stage as f64, setup));
            }
        }
        cases
    },
    events: EVENTS,
    claims: &[
        // The post calls the implementation without stages flat as a function of stage length:
        // .370 to .345 operations per second with indices looked up.
        measured(
            "A1.1",
            startin("table of throughput and pending misses"),
            "the simple shuffle, which ignores the stage length, takes less than 1.15 times as \
             long in the slowest of four columns as in the fastest, with drawn and with looked-up \
             indices",
            |e| {
                in_memory(e)?;
                let part = |series| at_most(series, spread(e, series), 1.15);
                all_of([part(LOOKED_UP), part(DRAWN)])
            },
        )
        .then(1.07, ""),
        // The table has 0.347, 0.352, 0.345 and 0.370 operations per second with indices looked up,
        // and 0.217, 0.233, 0.231 and 0.214 with indices drawn.
        measured(
            "A1.2",
            startin("table of throughput and pending misses"),
            "an exchange in memory takes more than 1.2 times as long with an index that is drawn \
             as with one that is looked up",
            |e| {
                let mut all = Vec::new();
                for stage in STAGES_OF_POST.map(|stage| stage as f64) {
                    all.push(over(e, (DRAWN, stage), (LOOKED_UP, stage))?);
                }
                let slower = Interval::median_of(&all).expect("four columns");
                at_least("drawn over looked up", slower, 1.2)
            },
        )
        .then(1.55, "")
        .takeaway(
            Shown::Times,
            Touches::Few,
            "Index drawn over looked up, exchange in memory",
            "An exchange in memory takes {now} as long with an index that is drawn as with one \
             that is looked up",
        )
        .advice(
            "Move long arithmetic out of loops that miss: compute addresses beforehand.",
            "The arithmetic hides behind the misses here: leave it in the loop.",
        )
        .holding(
            "The instructions that draw an index fill the window of the CPU, which then finds the \
             next misses later.",
        )
        .failing("This core keeps its miss buffers busy with either kind of index."),
        measured(
            "A1.3",
            ours(
                "the post obtains an index from a closure, which the JVM's compiler may or may \
                 not inline: a call through a pointer is the most that this can cost",
            ),
            "an exchange in memory takes more than 1.2 times as long with an index drawn as with \
             one looked up, if both use a call through a pointer",
            |e| {
                let stage = STAGES_OF_POST[3] as f64;
                let slower = over(e, (DRAWN_CALLED, stage), (LOOKED_UP_CALLED, stage));
                at_least("drawn over looked up in a call", slower, 1.2)
            },
        ),
    ],
    ..Experiment::PLAIN
};

/// Events that explain these times.
const EVENTS: &[Quantity] =
    &[Quantity::Cycles, Quantity::Instructions, Quantity::L1dPending, Quantity::L1dPendingCycles];

/// Returns the slowest column of a series over its fastest, pass by pass.
fn spread(e: &Evidence<'_>, series: &str) -> Testable<Interval> {
    for stage in STAGES_OF_POST {
        e.at(series, stage as f64)?;
    }
    let columns = STAGES_OF_POST.map(|stage| (series, stage as f64));
    let passes = columns.map(|(series, stage)| e.passes_at(series, stage));
    let mut all = Vec::new();
    for of_pass in side_by_side(passes.each_ref().map(Vec::as_slice)) {
        let most = of_pass.into_iter().fold(of_pass[0], Interval::most);
        let least = of_pass.into_iter().fold(of_pass[0], Interval::least);
        all.push(ratio(most, least)?);
    }
    e.ratio_of(&columns, &all)
        .ok_or_else(|| Untestable(format!("no pass of `{series}` has all four columns")))
}

const BUFFERED_SHUFFLE: Experiment = Experiment {
    id: "A2",
    name: "startin-shuffle-buffered",
    title: "Indices drawn a stage at a time",
    question: "Does it help to draw the indices of a stage before the exchanges that use them?",
    source: "Startin, \"Observing memory level parallelism with JMH\": `shuffleBuffered`; lengths \
             above 64 from \"Stages\"",
    about: "The staged shuffle fills a buffer with random indices, then does the exchanges that \
            use them. The axis is the number of indices per stage. In the second loop an exchange \
            takes some twelve instructions, so the CPU sees many exchanges and overlaps their \
            misses. With longer stages the overlap is interrupted less often. A stage of 8 ends \
            before the CPU has drawn the indices of the next, and may lose what it gains.",
    plot: Some(
        Plot::nanoseconds(Axis::log("stage length"), Axis::log("time per exchange")).beside(&[
            by_stage(&[
                ("shuffle_random_ns", DRAWN),
                ("buffered_random_ns", BUFFERED),
                ("buffered_random_stages_ns", "shuffleBuffered, in \"Stages\""),
            ]),
        ]),
    ),
    cases: |machine| {
        let mut cases = Vec::new();
        for stage in STAGES_OF_POST {
            let x = stage as f64;
            cases.push(Case::new(DRAWN, x, shuffle(machine, Indices::Generated, stage)));
            cases.push(Case::new(BUFFERED, x, buffered(machine, stage)));
        }
        if machine.full {
            let later = |stage| Case::new(BUFFERED, stage as f64, buffered(machine, stage));
            cases.extend(LATER_STAGES.map(later));
        }
        cases
    },
    events: EVENTS,
    claims: &[
        // The throughput of the staged implementation clearly rises with the stage length:
        // .248, .307, .326 and .345 operations per second.
        measured(
            "A2.1",
            startin("table of throughput and pending misses"),
            "an exchange in stages of 64 takes at least 10 % less time than an exchange in stages \
             of 8",
            |e| {
                let time = over(e, (BUFFERED, 64.0), (BUFFERED, 8.0));
                at_most("time in stages of 64 over 8", time, LESS)
            },
        )
        .then(0.248 / 0.345, ""),
        // Short stages could improve throughput if misses are likely: .345 operations per second
        // in stages of 64, .214 without stages.
        measured(
            "A2.2",
            startin("table of throughput and pending misses"),
            "an exchange of the simple shuffle takes more than 1.2 times as long as an exchange \
             in stages of 64",
            |e| at_least("simple over stages of 64", over(e, (DRAWN, 64.0), (BUFFERED, 64.0)), 1.2),
        )
        .then(1.61, "")
        .takeaway(
            Shown::Times,
            Touches::Some,
            "The simple shuffle over one in stages of 64",
            "The simple shuffle takes {now} as long as one in stages of 64",
        )
        .advice(
            "Compute a batch of addresses first, and then access them: misses overlap.",
            "This core overlaps the misses by itself: keep the simple loop.",
        ),
        // The throughput rises at each length: .248, .307, .326 and .345 operations per second. The
        // allowance is ours.
        measured(
            "A2.3",
            startin("table of throughput and pending misses"),
            "an exchange in stages of 16, 32 and 64 takes no longer than an exchange in stages of \
             half the length (3 % allowed)",
            |e| {
                let at = |stage: usize| (BUFFERED, stage as f64);
                all_of(STAGES_OF_POST.windows(2).map(|pair| {
                    let [shorter, longer] = [pair[0], pair[1]];
                    let what = format!("time in stages of {longer} over {shorter}");
                    at_most(&what, over(e, at(longer), at(shorter)), 1.03)
                }))
            },
        )
        .then(0.248 / 0.307, ""),
    ],
    ..Experiment::PLAIN
};

/// Sizes of the post's small arrays, in integers.
const SMALL: [usize; 2] = [65_536, 131_072];

/// Indices per stage for a small array.
const SMALL_STAGE: usize = 64;

const STAGES: Experiment = Experiment {
    id: "A8",
    name: "startin-stages",
    title: "Small arrays, with and without stages",
    question: "Do stages help a shuffle whose array is cached?",
    source: "Startin, \"Stages\" (2018): arrays of 65,536 and 131,072 integers; Startin's numbers \
             are for the simple shuffle",
    seen: &[seen(
        "Zen 4",
        "The time of the simple shuffle varies by pass, from that of the shuffle in stages to more \
         than twice as much, while the stages take the same time in every pass. A possible cause, \
         which was not counted: its stores wait for indices that are being drawn, while later \
         loads run ahead of the stores.",
    )],
    about: "The arrays of the bars fit a cache, and an operation is a whole pass, as in the post \
            \"Stages\". There are no long misses to overlap: an exchange takes little longer than \
            its instructions. The buffer of a stage adds a load and a store to some forty other \
            instructions.",
    plot: Some(
        Plot::bars(
            Axis::log("integers in the array"),
            Axis::log("time per pass"),
            Unit::Nanoseconds,
        )
        .beside(&[Reference {
            file: "startin-small.csv",
            machine: MACHINE,
            x: "integers",
            columns: &[("shuffle_precomputed_ns", LOOKED_UP), ("shuffle_random_ns", DRAWN)],
        }]),
    ),
    cases: |machine| {
        let mut cases = Vec::new();
        for count in SMALL {
            let x = count as f64;
            let simple = |indices| ShuffleSetup {
                count,
                whole: true,
                ..shuffle(machine, indices, SMALL_STAGE)
            };
            let staged = ShuffleSetup { count, whole: true, ..buffered(machine, SMALL_STAGE) };
            cases.push(Case::new(LOOKED_UP, x, simple(Indices::Precomputed)));
            // The two compared shuffles are measured one after the other.
            cases.push(Case::new(DRAWN, x, simple(Indices::Generated)).in_turn());
            cases.push(Case::new(BUFFERED, x, staged).in_turn());
        }
        cases
    },
    events: EVENTS,
    claims: &[measured(
        "A8.1",
        ours(
            "the post finds a gain from stages if misses are likely: without misses, stages have \
             nothing to gain",
        ),
        "in a cache, stages of 64 change the time per pass of the shuffle by less than 10 %",
        |e| {
            let mut parts = Vec::new();
            for count in SMALL {
                let x = count as f64;
                if x * 4.0 > e.machine.ranges.llc.hi.max(e.machine.ranges.l2.hi) {
                    return Err(Untestable(format!(
                        "an array of {count} integers fills more than half of every cache here"
                    )));
                }
                let change = in_passes(e, (BUFFERED, x), (DRAWN, x))?;
                let what = format!("stages over simple, {count} integers");
                parts.push(between(&what, change, 0.9, 1.1));
            }
            all_of(parts)
        },
    )
    .failing("Where nothing misses, only the code of the two loops makes a difference.")],
    ..Experiment::PLAIN
};
