//! Memory-level parallelism: Startin's A3, A4 and A7.

use crate::counters::Quantity;
use crate::experiment::prelude::*;
use crate::experiment::topics::parallelism::lanes::{PUBLISHED, published};
use crate::experiment::topics::parallelism::shuffle::{
    BUFFERED, DRAWN, LOOKED_UP, MACHINE, STAGES_OF_POST, buffered, chains, in_memory, in_passes,
    shuffle,
};
use crate::model::in_flight;
use crate::pattern::Indices;
use crate::stats::Interval;

/// The rows of this family.
pub(crate) static ALL: &[Experiment] = &[MLP, DEFINITIONS, EXPLANATION];

const CHAINS: &str = "exchanges in n chains";

/// Chains by which the latency of a miss is measured: enough to keep memory awake, and few enough
/// to be sure that none waits for another.
const LATENCY_CHAINS: u32 = 4;

/// Misses of an exchange: the element that its index names. The elements and indices beside it are
/// read in the order of their addresses, and prefetched.
const MISSES: f64 = 1.0;

/// What the counters say of misses in flight, where there are any.
pub(crate) const EVENTS: &[Quantity] = &[
    Quantity::L1dPending,
    Quantity::L1dPendingCycles,
    Quantity::FillBufferFull,
    Quantity::Cycles,
];

const MLP: Experiment = Experiment {
    id: "A3",
    name: "startin-mlp",
    title: "Misses in flight, by stage length",
    question: "How many misses does a shuffle keep outstanding, and how many more does it in \
               stages?",
    source: "Startin, \"Observing memory level parallelism with JMH\": L1D_PEND_MISS.PENDING over \
             PENDING_CYCLES",
    seen: &[],
    about: "The CPU finds as many misses as its window of instructions reaches: the fewer \
            instructions an exchange takes, the more exchanges and misses the window takes in. \
            Where no pending misses are counted the numbers are estimates by Little's law: the \
            time of a miss, from exchanges in four chains that wait for each other, over the time \
            of an exchange. METHODOLOGY derives it.",
    plot: Some(
        Plot::lines(
            Axis::log("stage length"),
            Axis::linear("misses in flight"),
            Unit::Count,
        )
        .beside(&[Reference {
            file: "startin-shuffle.csv",
            machine: MACHINE,
            x: "stage",
            columns: &[
                ("mlp_precomputed", LOOKED_UP),
                ("mlp_random", DRAWN),
                ("mlp_buffered", BUFFERED),
            ],
        }]),
    ),
    cases: |machine| {
        let mut cases = vec![chained(machine, LATENCY_CHAINS)];
        for stage in STAGES_OF_POST {
            let x = stage as f64;
            let simple = |indices| shuffle(machine, indices, stage);
            cases.push(Case::new(LOOKED_UP, x, simple(Indices::Precomputed)));
            cases.push(Case::new(DRAWN, x, simple(Indices::Generated)));
            cases.push(Case::new(BUFFERED, x, buffered(machine, stage)));
        }
        cases
    },
    curves: |e| {
        let mut curves = Vec::new();
        for series in [LOOKED_UP, DRAWN, BUFFERED] {
            let of =
                |name: &str, at: fn(&Evidence<'_>, &str, f64) -> Result<Interval, Untestable>| {
                    let found = |stage| Some((stage as f64, at(e, series, stage as f64).ok()?));
                    Curve {
                        label: format!("{series}, {name}"),
                        points: STAGES_OF_POST.into_iter().filter_map(found).collect(),
                    }
                };
            curves.push(of("estimated", estimated));
            curves.push(of("counted", pending));
        }
        curves.retain(|curve| !curve.points.is_empty());
        curves
    },
    events: EVENTS,
    claims: &[
        // Both throughput and the quotient of the counters rise with the stage length; 5.42 in
        // stages of 64, 2.50 without stages.
        counted(
            "A3.1",
            startin("table of throughput and pending misses"),
            "by the CPU's counters, stages of 64 keep more than 1.4 times as many misses of L1d \
             pending as the simple shuffle",
            |e| {
                in_memory(e)?;
                let more = ratio(pending(e, BUFFERED, 64.0), pending(e, DRAWN, 64.0))?;
                at_least("stages of 64 over simple", more, 1.4)
            },
        )
        .then(2.17, ""),
        // Flat as a function of stage length: 4.76, 4.78, 4.58 and 5.10 with indices looked up,
        // 2.50 and 2.51 with indices drawn.
        counted(
            "A3.2",
            startin("table of throughput and pending misses"),
            "by the CPU's counters, the simple shuffle keeps as many misses of L1d pending in \
             every column of four, to 10 % either way",
            |e| {
                in_memory(e)?;
                let mut parts = Vec::new();
                for series in [LOOKED_UP, DRAWN] {
                    let first = pending(e, series, 8.0)?;
                    for stage in &STAGES_OF_POST[1..] {
                        let change = ratio(pending(e, series, *stage as f64), first)?;
                        let what = format!("{series}: column {stage} over 8");
                        parts.push(between(&what, change, 0.9, 1.1));
                    }
                }
                all_of(parts)
            },
        )
        .then(1.0, ""),
        // The quotient of the counters rises with the stage length: 3.53, 4.59, 5.14 and 5.42.
        measured(
            "A3.3",
            startin("table of throughput and pending misses"),
            "by Little's law, each longer stage from 8 to 64 keeps more misses in flight than the \
             one before",
            |e| {
                in_memory(e)?;
                let mut parts = Vec::new();
                for pair in STAGES_OF_POST.windows(2) {
                    let [short, long] = [pair[0], pair[1]].map(|stage| stage as f64);
                    // The same latency in both: what is left is the quotient of times.
                    let more = in_passes(e, (BUFFERED, short), (BUFFERED, long))?;
                    parts.push(at_least(
                        &format!("stages of {long} over {short}"),
                        more,
                        1.0,
                    ));
                }
                let last = estimated(e, BUFFERED, 64.0)?;
                noted(
                    all_of(parts),
                    format!("stages of 64 keep {last} by estimate"),
                )
            },
        )
        .then(1.3, ""),
        // The quotient of the counters: 5.42 in stages of 64, 2.50 without stages.
        measured(
            "A3.4",
            startin("table of throughput and pending misses"),
            "by Little's law, stages of 64 keep more than 1.4 times as many misses in flight as \
             the simple shuffle",
            |e| {
                in_memory(e)?;
                let more = in_passes(e, (DRAWN, 64.0), (BUFFERED, 64.0))?;
                let simple = estimated(e, DRAWN, 64.0)?;
                let judged = at_least("stages of 64 over simple", more, 1.4);
                noted(
                    judged,
                    format!("the simple shuffle keeps {simple} by estimate"),
                )
            },
        )
        .then(2.17, ""),
        // The quotient of the counters: 2.51 with indices drawn, 3.53 in stages of 8, 4.76 with
        // indices looked up.
        measured(
            "A3.5",
            startin("table of throughput and pending misses"),
            "by Little's law, the simple shuffle with indices drawn keeps fewer misses in flight \
             than stages of 8, and fewer than with indices looked up",
            |e| {
                in_memory(e)?;
                let part = |what: &str, than| at_least(what, in_passes(e, (DRAWN, 8.0), than), 1.0);
                all_of([
                    part("stages of 8 over simple", (BUFFERED, 8.0)),
                    part("looked up over drawn", (LOOKED_UP, 8.0)),
                ])
            },
        )
        .then(1.41, "")
        .failing(
            "If stages of 8 keep fewer, they end before the CPU is through with drawing the next.",
        ),
    ],
};

fn chained(machine: &Machine, count: u32) -> Case {
    Case::new(CHAINS, count, chains(machine, count))
}

/// The time of a miss: exchanges in four chains wait for it side by side.
fn latency(e: &Evidence<'_>) -> Result<Interval, Untestable> {
    let chains = f64::from(LATENCY_CHAINS);
    Ok(e.at(CHAINS, chains)?.scaled(chains))
}

/// Misses in flight by Little's law: an estimate.
fn estimated(e: &Evidence<'_>, series: &str, x: f64) -> Result<Interval, Untestable> {
    let (latency, time) = (latency(e)?, e.at(series, x)?);
    // Both are times, and so above 0.
    ratio(latency, time)?;
    Ok(Interval::new(
        in_flight(MISSES, latency.lo, time.hi),
        in_flight(MISSES, latency.hi, time.lo),
    ))
}

/// Misses pending by the CPU's counters, over the cycles with one.
fn pending(e: &Evidence<'_>, series: &str, x: f64) -> Result<Interval, Untestable> {
    ratio(
        e.count(series, x, Quantity::L1dPending),
        e.count(series, x, Quantity::L1dPendingCycles),
    )
}

const DEFINITIONS: Experiment = Experiment {
    id: "A4",
    name: "startin-counter-definitions",
    title: "What the two counters of pending misses mean",
    question: "Does the quotient of the counters behave as a number of misses in flight?",
    source: "Startin, \"Observing memory level parallelism with JMH\"; Intel SDM volume 3: PENDING \
             adds up the misses outstanding cycle by cycle, PENDING_CYCLES counts the cycles with \
             one or more",
    seen: &[],
    about: "Intel counts pending misses by these two events, AMD since Zen 3 by allocated miss \
            address buffers, those of stores and prefetches too. Wherever a CPU has no such event, \
            or a guest no counters, the estimate by Little's law is held against the same bounds: \
            a chain keeps one miss in flight, and nothing keeps more than there are buffers for.",
    plot: None,
    cases: |machine| {
        vec![
            chained(machine, 1),
            chained(machine, LATENCY_CHAINS),
            Case::new(DRAWN, 64, shuffle(machine, Indices::Generated, 64)),
            Case::new(BUFFERED, 64, buffered(machine, 64)),
            published(),
        ]
    },
    curves: plain_curves,
    events: EVENTS,
    claims: &[
        counted(
            "A4.1",
            ours(
                "a quotient of the two counters that is less than 1, or more than the core has \
                 buffers, is no number of misses in flight",
            ),
            "by the CPU's counters, the misses of L1d pending in a cycle with any are between 1 \
             and the published number of outstanding misses",
            |e| {
                in_memory(e)?;
                within_buffers(e, pending)
            },
        ),
        // The second counter records the cycles with an outstanding miss, and is less than the
        // total number of cycles if some work is done without one.
        counted(
            "A4.2",
            startin("definitions of the two counters"),
            "by the CPU's counters, cycles with a miss of L1d pending are at most 1.02 times all \
             cycles of a shuffle",
            |e| {
                in_memory(e)?;
                let mut parts = Vec::new();
                for series in [DRAWN, BUFFERED] {
                    let pending = e.count(series, 64.0, Quantity::L1dPendingCycles)?;
                    let share = ratio(pending, e.count(series, 64.0, Quantity::Cycles))?;
                    parts.push(at_most(&format!("share of cycles, {series}"), share, 1.02));
                }
                all_of(parts)
            },
        ),
        counted(
            "A4.3",
            ours(
                "of exchanges that each wait for the one before, no two misses can be in flight: \
                 the quotient of the counters must show one",
            ),
            "by the CPU's counters, exchanges in a single chain keep fewer than 1.5 misses of L1d \
             pending",
            |e| {
                in_memory(e)?;
                at_most("misses pending", pending(e, CHAINS, 1.0), 1.5)
            },
        ),
        measured(
            "A4.4",
            ours(
                "the estimate by Little's law has to keep the bounds that a number of misses in \
                 flight has",
            ),
            "by Little's law, the misses of L1d in flight are between 1 and the published number \
             of outstanding misses",
            |e| {
                in_memory(e)?;
                within_buffers(e, estimated)
            },
        ),
    ],
};

/// Judges that the misses in flight of the shuffles lie between 1 and the published number.
fn within_buffers(
    e: &Evidence<'_>,
    number: fn(&Evidence<'_>, &str, f64) -> Result<Interval, Untestable>,
) -> Judged {
    let most = e.at(PUBLISHED, 1.0)?.middle();
    let mut parts = Vec::new();
    for series in [DRAWN, BUFFERED] {
        parts.push(between(series, number(e, series, 64.0), 1.0, most));
    }
    all_of(parts)
}

const EXPLANATION: Experiment = Experiment {
    id: "A7",
    name: "startin-explanation",
    title: "Exchanges in one chain, and in several",
    question: "Do chains of exchanges that do not wait for each other share their misses?",
    source: "Startin, \"Observing memory level parallelism with JMH\": four independent chains, so \
             that a miss in one does not stall the others",
    seen: &[],
    about: "Chains that do not wait for each other have their misses in flight together, as long \
            as there are fewer chains than outstanding misses. A lone chain can take even longer \
            than each of several: memory that has one request at a time to serve may go to a lower \
            clock in between.",
    plot: Some(Plot::lines(
        Axis::log("chains"),
        Axis::log("time of an exchange"),
        Unit::Nanoseconds,
    )),
    cases: |machine| [1, 2, 4, 8].map(|count| chained(machine, count)).into(),
    curves: plain_curves,
    events: EVENTS,
    claims: &[
        // The misses of four independent chains of execution happen at the same time, so that a
        // miss in a chain does not stall the others.
        measured(
            "A7.1",
            startin("explanation by four chains"),
            "in memory, an exchange in one chain takes more than twice as long as in four chains",
            |e| {
                in_memory(e)?;
                at_least(
                    "one chain over four",
                    in_passes(e, (CHAINS, 1.0), (CHAINS, 4.0)),
                    2.0,
                )
            },
        ),
        measured(
            "A7.2",
            ours("four chains are the post's number: do eight share their misses, too?"),
            "in memory, an exchange in four chains takes more than 1.3 times as long as in eight \
             chains",
            |e| {
                in_memory(e)?;
                at_least(
                    "four chains over eight",
                    in_passes(e, (CHAINS, 4.0), (CHAINS, 8.0)),
                    1.3,
                )
            },
        ),
    ],
};
