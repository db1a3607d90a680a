//! Drepper 6.3.2, software prefetching: the hints, and Figure 6.7.

use super::explain;
use super::word::paired;
use crate::cpu::{Hint, prefetch};
use crate::experiment::evidence::{ratio, share_of_miss};
use crate::experiment::setup::{
    CountSetup, HintSetup, Passage, Past, Place, PollutionSetup, PrefetchSetup,
};
use crate::experiment::{
    Axis, Case, Claim, Evidence, Experiment, Judged, Machine, Plot, Reference, Shape, Unit, all_of,
    at_least, at_most, between, plain_curves,
};
use crate::kernel::{Ahead, Pace};
use crate::pattern::{Layout, Order};

/// The rows of this family.
pub(super) static ALL: &[Experiment] = &[HINTS, FIG_6_7];

const FLUSHED: &str = "flushed";
const LOADED: &str = "flushed, then loaded";
const AFTER: [(&str, Hint); 5] = [
    ("after prefetcht0", Hint::T0),
    ("after prefetcht1", Hint::T1),
    ("after prefetcht2", Hint::T2),
    ("after prefetchnta", Hint::Nta),
    ("after prefetchw", Hint::Write),
];
/// Where the two pasts stand on the axis.
const SWEPT: f64 = 0.0;
const WALKED: f64 = 1.0;

const NULL: &str = "prefetches of bad addresses that did not fault";

/// What passes between two laps of the hot set, a lap at a time.
const LAPS: [(&str, Passage); 3] = [
    ("lap after nothing", Passage::Nothing),
    ("lap after prefetcht0 and loads", Passage::T0),
    ("lap after prefetchnta and loads", Passage::Nta),
];

const HINTS: Experiment = Experiment {
    id: "E36",
    name: "drepper-prefetch-hints",
    title: "What each prefetch hint does",
    question: "Does a prefetched line hit later, may the address be bad, and does NTA spare L2?",
    source: "Drepper 6.3.2, on _mm_prefetch and its hints",
    today: "Which level a hint fills is up to the CPU. T0 fills L1d everywhere. T1 and T2 mean L2 \
            on Intel, and L2 or further out on AMD. NTA fills L1d; Intel's CPUs spare L2 and most \
            of the last level, others let the line pass through L2 like any. A CPU may also drop a \
            hint, and the line is then as far away as if nothing had been asked for. Zen 4 was \
            seen to drop prefetcht1 and prefetcht2 after most random walks, when its own \
            prefetches into L2 were useless, and seldom after a sequential sweep: the state flips \
            by itself now and then. What a hint is worth depends on what the program did before.",
    plot: Some(Plot {
        shape: Shape::Bars,
        x: Axis::linear("after a sequential sweep (0), after a random walk (1)"),
        y: Axis::linear("time of the first load"),
        unit: Unit::CoreCycles,
        reference: &[],
    }),
    cases: hint_cases,
    curves: |e| {
        let mut curves = plain_curves(e);
        curves.retain(|curve| curve.points.iter().all(|(x, _)| *x <= WALKED));
        curves
    },
    events: explain::PREFETCHES,
    claims: &[
        Claim {
            text: "a prefetch of a bad address does not fault",
            judge: |e| {
                let survived = e.at(NULL, BAD.len() as f64)?;
                let all = (BAD.len() * Hint::ALL.len()) as f64;
                Ok(between("prefetches survived", survived, all, all))
            },
        },
        Claim {
            text: "after a sweep a line hits after prefetcht0, t1, t2 and nta: its load takes less \
                   than half of a miss",
            judge: |e| {
                let mut parts = Vec::new();
                for (series, _) in &AFTER[..4] {
                    parts.push(hits(e, series, SWEPT)?);
                }
                Ok(all_of(parts))
            },
        },
        Claim {
            text: "after a random walk a line hits after the same hints as well",
            judge: |e| {
                let mut parts = Vec::new();
                for (series, _) in &AFTER[..4] {
                    parts.push(hits(e, series, WALKED)?);
                }
                Ok(all_of(parts))
            },
        },
        Claim {
            text: "a stream fetched by prefetchnta leaves a hot set in L2 alone: a lap of it takes \
                   less than 1.3 times as long as undisturbed",
            judge: |e| {
                let lap = |index: usize| e.last(LAPS[index].0).map(|(_, lap)| lap);
                let slower = ratio(lap(2)?, lap(0)?)?;
                Ok(at_most("lap after NTA over undisturbed", slower, 1.3))
            },
        },
        Claim {
            text: "a stream fetched by prefetcht0 evicts a hot set in L2: a lap of it takes 1.3 times \
                   and more as long as undisturbed",
            judge: |e| {
                let lap = |index: usize| e.last(LAPS[index].0).map(|(_, lap)| lap);
                let slower = ratio(lap(1)?, lap(0)?)?;
                Ok(at_least("lap after T0 over undisturbed", slower, 1.3))
            },
        },
    ],
};

/// Addresses that no program may load: null, the last page below the hole, a kernel's, and one
/// that is not canonical.
const BAD: [usize; 4] = [
    0,
    0x7FFF_FFFF_F000,
    0xFFFF_8000_0000_0000,
    0x8000_0000_0000_0000,
];

fn hint_cases(machine: &Machine) -> Vec<Case> {
    let seed = machine.seed;
    let mut places = vec![(FLUSHED, Place::Flushed), (LOADED, Place::Loaded)];
    places.extend(AFTER.map(|(series, hint)| (series, Place::Prefetched(hint))));
    let mut cases = Vec::new();
    for (x, past) in [(SWEPT, Past::Sweep), (WALKED, Past::Walk)] {
        for &(series, place) in &places {
            let setup = HintSetup {
                place,
                past,
                past_bytes: machine.in_memory(),
                seed,
            };
            cases.push(Case::new(series, x, setup));
        }
    }
    cases.push(Case::new(
        NULL,
        BAD.len() as f64,
        CountSetup {
            name: NULL,
            bytes: 0,
            count: |_, _| {
                let mut survived = 0;
                for address in BAD {
                    for hint in Hint::ALL {
                        prefetch(hint, address as *const u8);
                        survived += 1;
                    }
                }
                Ok(f64::from(survived))
            },
            argument: 0,
        },
    ));
    cases.extend(LAPS.map(|(series, passage)| {
        let setup = PollutionSetup::in_l2(machine, passage);
        Case::new(series, setup.hot as f64, setup).in_large_pages()
    }));
    cases
}

/// Judges that the load behind `series` takes less than half of a flushed one.
fn hits(e: &Evidence<'_>, series: &str, past: f64) -> Judged {
    let share = share_of_miss(e.at(series, past)?, e.at(FLUSHED, past)?)?;
    Ok(at_most(&format!("share of a miss {series}"), share, 0.5))
}

/// The paper's distance.
const FIVE: usize = 5;

/// The distances of the sweep, in memory alone.
const DISTANCES: [usize; 6] = [1, 2, 5, 8, 16, 64];

/// Multiplications a node: 53 dependent ones take 159 core cycles, the paper's 160.
const WORK: u32 = 53;

const PLAIN: &str = "no prefetch";
const OVERLAPPED: &str = "no prefetch, work overlaps the miss";
const OVERLAPPED_AHEAD: &str = "5 ahead, work overlaps the miss";

const FIG_6_7: Experiment = Experiment {
    id: "E37",
    name: "drepper-fig-6.7",
    title: "A random walk with work at each node, and a prefetch ahead of it",
    question: "How much of a miss does a software prefetch hide behind 160 cycles of work?",
    source: "Drepper 6.3.2, Figure 6.7: 128-byte elements, about 160 cycles of work a node, the \
             node 5 ahead is prefetched; ours finds it by a jump pointer in the node",
    today: "The paper gained 8 %, bound by what its memory system could have in flight. Ten and \
            more misses in flight a core turn it into a factor: at a distance of latency over work \
            the miss is gone. On the other hand a core that runs out of order fetches the next \
            node while it works, if the work does not decide which node that is; the curves say \
            which is which. Work that decides it is the paper's case, and the one judged.",
    plot: Plot::over_working_set(&[Reference {
        file: "drepper-fig-6.7.csv",
        machine: "512 KiB L2 (2007)",
        x: "working_set_bytes",
        columns: &[("One Thread", "no prefetch"), ("With Prefetch", "5 ahead")],
    }]),
    cases: fig_6_7_cases,
    curves: plain_curves,
    events: explain::PREFETCHES,
    claims: &[
        Claim {
            text: "in L1d and L2 the prefetch changes less than 3 %",
            judge: |e| {
                let mut parts = Vec::new();
                for (name, range) in [("L1d", e.machine.ranges.l1), ("L2", e.machine.ranges.l2)] {
                    let change = paired(e, &ahead(FIVE), PLAIN, range)?;
                    parts.push(between(
                        &format!("prefetch over none, {name}"),
                        change,
                        0.97,
                        1.03,
                    ));
                }
                Ok(all_of(parts))
            },
        },
        Claim {
            text: "in memory it saves more than 5 %",
            judge: |e| {
                let memory = e.machine.ranges.memory;
                let change = paired(e, &ahead(FIVE), PLAIN, memory)?;
                Ok(at_most("prefetch over none", change, 0.95))
            },
        },
        Claim {
            text: "in memory there is a best distance: 1 and 64 ahead are both more than 5 % slower \
                   than the best between them",
            judge: |e| {
                let x = e.machine.place_in_memory(e.machine.in_memory())?;
                let time = |distance: usize| e.at(&ahead(distance), x);
                let [nearest, between @ .., farthest] = DISTANCES;
                let mut best = time(FIVE)?;
                for distance in between {
                    best = best.least(time(distance)?);
                }
                let slower = |end: usize| {
                    let what = format!("{end} ahead over the best between");
                    Ok(at_least(&what, ratio(time(end)?, best)?, 1.05))
                };
                Ok(all_of([slower(nearest)?, slower(farthest)?]))
            },
        },
    ],
};

fn ahead(distance: usize) -> String {
    format!("{distance} ahead")
}

fn fig_6_7_cases(machine: &Machine) -> Vec<Case> {
    let seed = machine.seed;
    let case = |series: String, bytes: usize, elements: Option<usize>, pace| {
        let ahead = elements.map(|elements| Ahead {
            hint: Hint::T0,
            elements,
        });
        let setup = PrefetchSetup {
            layout: Layout::npad(15),
            working_set: bytes,
            order: Order::Random { seed },
            ahead,
            work: WORK,
            pace,
        };
        Case::new(series, bytes as f64, setup).in_turn()
    };
    let sizes = machine.few_working_sets(2).into_iter().rev();
    let mut cases = Vec::new();
    // Those that are compared are measured one after the other. No claim is about the overlapped
    // walks, so half of the sizes do, the largest among them.
    for (index, bytes) in sizes.enumerate() {
        cases.push(case(PLAIN.to_owned(), bytes, None, Pace::Serial));
        cases.push(case(ahead(FIVE), bytes, Some(FIVE), Pace::Serial));
        if machine.full || index % 2 == 0 {
            let pace = Pace::Overlapped;
            cases.push(case(OVERLAPPED.to_owned(), bytes, None, pace));
            cases.push(case(OVERLAPPED_AHEAD.to_owned(), bytes, Some(FIVE), pace));
        }
    }
    for distance in DISTANCES.into_iter().filter(|distance| *distance != FIVE) {
        let bytes = machine.in_memory();
        cases.push(case(ahead(distance), bytes, Some(distance), Pace::Serial));
    }
    cases
}
