//! Memory-level parallelism: Startin's A3, A4 and A7.

use crate::experiment::prelude::*;
use crate::experiment::topics::parallelism::ChainsSetup;
use crate::experiment::topics::parallelism::lanes::{PUBLISHED, published};
use crate::experiment::topics::parallelism::shuffle::{
    BUFFERED, DRAWN, LOOKED_UP, STAGES_OF_POST, buffered, by_stage, in_memory, integers, over,
    shuffle,
};
use crate::model::in_flight;
use crate::pattern::Indices;
use crate::pmu::Quantity;

pub(crate) static ALL: &[Experiment] = &[MLP, DEFINITIONS, EXPLANATION];

const CHAINS: &str = "exchanges in n chains";

/// Number of chains with which the latency of a miss is measured: enough to keep memory at its full
/// clock, and too few to wait for each other.
const LATENCY_CHAINS: u32 = 4;

/// Misses per exchange: only the element at the random index misses. The other element and the
/// indices are read in address order and prefetched.
const MISSES: f64 = 1.0;

/// Why the times are judged as misses in flight. The post's own ratios are those of its counters: 2.17,
/// where its throughput gives 1.61.
const ESTIMATE: &str = "the post counts misses in flight; without counters, Little's law gives \
                        their ratio from the throughput";

/// Events that count misses in flight, where the CPU has counters.
pub(crate) const EVENTS: &[Quantity] =
    &[Quantity::L1dPending, Quantity::L1dPendingCycles, Quantity::FillBufferFull, Quantity::Cycles];

const MLP: Experiment = Experiment {
    id: "A3",
    name: "startin-mlp",
    title: "Misses in flight, by stage length",
    question: "How many misses does a shuffle keep in flight, and how many more in stages?",
    source: "Startin, \"Observing memory level parallelism with JMH\": L1D_PEND_MISS.PENDING over \
             PENDING_CYCLES",
    about: "The chart shows the misses in flight of three shuffles over the stage length. A CPU \
            finds the misses inside its window of instructions: the fewer instructions an \
            exchange takes, the more exchanges and misses fit into the window. If the CPU has no \
            event for pending misses, Little's law gives an estimate: the time of a miss over the \
            time of an exchange. The time of a miss comes from four chains of dependent \
            exchanges. METHODOLOGY explains the formula. The law averages over the whole time, the \
            events over the cycles with a miss, so that the two numbers differ.",
    plot: Some(
        Plot::lines(Axis::log("stage length"), Axis::linear("misses in flight"), Unit::Count)
            .beside(&[by_stage(&[
                ("mlp_precomputed", LOOKED_UP),
                ("mlp_random", DRAWN),
                ("mlp_buffered", BUFFERED),
            ])]),
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
            let of = |name: &str, at: fn(&Evidence<'_>, &str, f64) -> Testable<Interval>| {
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
        // Throughput and the quotient of the counters both rise with the stage length: 5.42 in
        // stages of 64, 2.50 without stages.
        counted(
            "A3.1",
            startin("table of throughput and pending misses"),
            "by the CPU's counters, a shuffle in stages of 64 keeps more than 1.4 times as many \
             misses of L1d pending as the simple shuffle",
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
            "by the CPU's counters, the simple shuffle keeps the same number of misses of L1d \
             pending in all four columns, within 10 %",
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
        measured(
            "A3.3",
            ours(ESTIMATE),
            "by Little's law, stages of 64 keep at least 10 % more misses in flight than stages of \
             8",
            |e| {
                // Both estimates have the same latency, so their ratio is that of the times.
                let more = over(e, (BUFFERED, 8.0), (BUFFERED, 64.0))?;
                let last = estimated(e, BUFFERED, 64.0)?;
                noted(
                    at_least("stages of 64 over 8", more, LONGER),
                    format!("stages of 64 keep an estimated {last} in flight"),
                )
            },
        ),
        // The number of A2.2, with its threshold.
        measured(
            "A3.4",
            ours(ESTIMATE),
            "by Little's law, a shuffle in stages of 64 keeps more than 1.2 times as many misses \
             in flight as the simple shuffle",
            |e| {
                let more = over(e, (DRAWN, 64.0), (BUFFERED, 64.0))?;
                let simple = estimated(e, DRAWN, 64.0)?;
                let judged = at_least("stages of 64 over simple", more, 1.2);
                noted(judged, format!("the simple shuffle keeps an estimated {simple} in flight"))
            },
        ),
        measured(
            "A3.5",
            ours(ESTIMATE),
            "by Little's law, stages of 8 keep at least 10 % more misses in flight than the simple \
             shuffle with drawn indices, and the simple shuffle keeps at least 10 % more with \
             indices that are looked up",
            |e| {
                let part = |what: &str, than| at_least(what, over(e, (DRAWN, 8.0), than), LONGER);
                all_of([
                    part("stages of 8 over simple", (BUFFERED, 8.0)),
                    part("looked up over drawn", (LOOKED_UP, 8.0)),
                ])
            },
        )
        .failing(
            "If stages of 8 gain nothing, a stage ends before the CPU has drawn the indices of the \
             next.",
        ),
    ],
    ..Experiment::PLAIN
};

fn chained(machine: &Machine, chains: u32) -> Case {
    let setup = ChainsSetup { count: integers(machine), chains, seed: machine.seed };
    Case::new(CHAINS, chains, setup)
}

/// Returns the time of a miss. Exchanges in four chains wait for four misses at the same time.
fn latency(e: &Evidence<'_>) -> Testable<Reading> {
    let chains = f64::from(LATENCY_CHAINS);
    Ok(e.at(CHAINS, chains)?.scaled(chains))
}

/// Returns the misses in flight, estimated by Little's law.
fn estimated(e: &Evidence<'_>, series: &str, x: f64) -> Testable<Interval> {
    let (latency, time) = (latency(e)?, e.at(series, x)?);
    // Fails unless both times are above 0.
    ratio(&latency, &time)?;
    Ok(Interval::new(
        in_flight(MISSES, latency.lo, time.hi),
        in_flight(MISSES, latency.hi, time.lo),
    ))
}

/// Returns the pending misses per cycle with at least one, by the CPU's counters.
fn pending(e: &Evidence<'_>, series: &str, x: f64) -> Testable<Interval> {
    ratio(e.count(series, x, Quantity::L1dPending), e.count(series, x, Quantity::L1dPendingCycles))
}

const DEFINITIONS: Experiment = Experiment {
    id: "A4",
    name: "startin-counter-definitions",
    title: "The meaning of the two counters of pending misses",
    question: "Does the quotient of the two counters behave like a number of misses in flight?",
    source: "Startin, \"Observing memory level parallelism with JMH\"; Intel SDM volume 3: PENDING \
             adds up the misses outstanding cycle by cycle, PENDING_CYCLES counts the cycles with \
             one or more",
    about: "Intel counts pending misses by these two events. AMD since Zen 3 counts allocated \
            miss address buffers, which also serve stores and prefetches. The same bounds apply \
            to the counters and to the estimate by Little's law, which needs no counters: a \
            single chain keeps one miss in flight, and no code keeps more misses in flight than \
            the core has buffers.",
    cases: |machine| {
        vec![
            chained(machine, 1),
            chained(machine, LATENCY_CHAINS),
            Case::new(DRAWN, 64, shuffle(machine, Indices::Generated, 64)),
            Case::new(BUFFERED, 64, buffered(machine, 64)),
            published(),
        ]
    },
    events: EVENTS,
    claims: &[
        counted(
            "A4.1",
            ours(
                "a quotient below 1, or above the number of the core's buffers, is no number of \
                 misses in flight",
            ),
            "by the CPU's counters, the pending misses of L1d per cycle with a miss are between 1 \
             and the published number of outstanding misses",
            |e| within_buffers(e, pending),
        ),
        // The second counter counts the cycles with an outstanding miss. It is less than the total
        // number of cycles if some work is done without a miss.
        counted(
            "A4.2",
            startin("definitions of the two counters"),
            "by the CPU's counters, the cycles with a pending miss of L1d are at most 1.02 times \
             all cycles of a shuffle",
            |e| {
                in_memory(e)?;
                all_of([DRAWN, BUFFERED].map(|series| {
                    let pending = e.count(series, 64.0, Quantity::L1dPendingCycles)?;
                    let share = ratio(pending, e.count(series, 64.0, Quantity::Cycles))?;
                    at_most(&format!("share of cycles, {series}"), share, 1.02)
                }))
            },
        ),
        counted(
            "A4.3",
            ours(
                "if each exchange waits for the one before, only one miss is in flight, and the \
                 quotient of the counters must show this",
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
                "the estimate by Little's law must respect the bounds of a number of misses in \
                 flight",
            ),
            "by Little's law, the misses of L1d in flight are between 1 and the published number \
             of outstanding misses",
            |e| within_buffers(e, estimated),
        ),
    ],
    ..Experiment::PLAIN
};

/// Judges that the misses in flight of the shuffles lie between 1 and the published number.
fn within_buffers(
    e: &Evidence<'_>,
    number: fn(&Evidence<'_>, &str, f64) -> Testable<Interval>,
) -> Judged {
    in_memory(e)?;
    let most = e.at(PUBLISHED, 1.0)?.middle();
    all_of([DRAWN, BUFFERED].map(|series| between(series, number(e, series, 64.0), 1.0, most)))
}

const EXPLANATION: Experiment = Experiment {
    id: "A7",
    name: "startin-explanation",
    title: "Exchanges in one chain and in several chains",
    question: "Do independent chains of exchanges overlap their misses?",
    source: "Startin, \"Observing memory level parallelism with JMH\": four independent chains, so \
             that a miss in one does not stall the others",
    about: "The exchanges of a shuffle form chains: in a chain each exchange waits for the one \
            before, and the chains are independent. The axis is the number of chains. The misses \
            of independent chains are in flight together, so the time per exchange falls with the \
            number of chains until the core has no more buffers for misses. A single chain can \
            take longer per miss than each of several chains, because memory with one request at \
            a time may lower its clock.",
    plot: Some(Plot::nanoseconds(Axis::log("chains"), Axis::log("time per exchange"))),
    cases: |machine| [1, 2, 4, 8].map(|count| chained(machine, count)).into(),
    events: EVENTS,
    claims: &[
        // The misses of four independent chains of execution happen at the same time: a miss in one
        // chain does not stall the others.
        measured(
            "A7.1",
            startin("explanation by four chains"),
            "in memory, an exchange in one chain takes more than twice as long as in four chains",
            |e| at_least("one chain over four", over(e, (CHAINS, 1.0), (CHAINS, 4.0)), 2.0),
        ),
        measured(
            "A7.2",
            ours("the post has four chains: do eight overlap their misses as well?"),
            "in memory, an exchange in four chains takes more than 1.3 times as long as in eight \
             chains",
            |e| at_least("four chains over eight", over(e, (CHAINS, 4.0), (CHAINS, 8.0)), 1.3),
        ),
    ],
    ..Experiment::PLAIN
};
