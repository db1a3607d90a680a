//! Beyond Drepper's Figure 3.18: the time of a line's transfer between cores.

use crate::experiment::claim::verdict::{told_by_hardware, untestable};
use crate::experiment::prelude::*;
use crate::experiment::shared::words::RoundTripSetup;
use crate::experiment::topics::coherence::remote::{Held, RemoteSetup, Want};
use crate::host::Nearness;
use crate::kernel::RoundTripWay;

mod matrix;
pub(crate) mod states;

pub(crate) static ALL: &[Experiment] = &[ROUND_TRIPS, QUAD_CORE, states::STATES, matrix::MATRIX];

const WAYS: [(&str, RoundTripWay); 2] =
    [("loads and stores", RoundTripWay::Store), ("lock cmpxchg", RoundTripWay::CompareExchange)];

const PLOT: Option<Plot> = Some(Plot::bars(
    Axis::linear(
        "same core (0), same L2 (1), same last level (2), same package (3), other package (4)",
    ),
    Axis::linear("round trip"),
    Unit::Nanoseconds,
));

/// Returns the place of a nearness on the axis.
fn place(near: Nearness) -> f64 {
    let index = Nearness::ALL.iter().position(|other| *other == near);
    index.unwrap_or(Nearness::ALL.len()) as f64
}

/// Returns each nearness of the measuring CPU to another CPU, the nearest first, with a pair of CPUs.
fn nearnesses(machine: &Machine) -> impl Iterator<Item = (Nearness, [usize; 2])> {
    let pair = |near: Nearness| machine.cpu_order.pair(near).ok().map(|cpus| (near, cpus));
    Nearness::ALL.into_iter().filter_map(pair)
}

const ROUND_TRIPS: Experiment = Experiment {
    id: "X12",
    name: "line-round-trip",
    title: "A line to another core and back",
    question: "How long does a line take to another core and back, and how does this depend on \
               what the cores share?",
    source: "Beyond Drepper 3.3.4 and Figure 3.18: one word, passed back and forth",
    about: "Two threads pass a word back and forth: each waits until the word has a certain value, \
            and writes the next. A round trip is two transfers of the line. With loads and stores, \
            each transfer is a read that finds the line modified in the other core, and a request \
            for ownership. With `lock cmpxchg`, the waiting thread requests ownership at once, \
            which saves the shared state in between but keeps requesting the line. The line lies \
            on a new page that the first CPU of the pair has touched first, so that its memory is \
            near that CPU; with several memory nodes, the kernel is asked whether it is so, and \
            the record names the node. Hyper-threads of one core share its L1d and move no line. \
            Cores under one last-level cache exchange the line there; others use the interconnect, \
            which takes several times as long. In a guest, the host may move either CPU to another \
            core at any time, which can change the time several-fold.",
    plot: PLOT,
    cases: |machine| {
        let mut cases = vec![own_hit(), own_miss()];
        for (near, cpus) in nearnesses(machine) {
            cases.extend(WAYS.map(|way| trip(way, near, cpus)));
        }
        cases
    },
    curves: |e| e.curves_of(|label| WAYS.iter().any(|(name, _)| *name == label)),
    claims: &[
        measured(
            "X12.1",
            ours("whether a transfer between cores takes much longer than a hit"),
            "a round trip of a line to the nearest core takes more than 10 times as long as a hit \
             in L1d",
            trip_over_hit,
        ),
        measured(
            "X12.2",
            ours("whether another core's cache is nearer than memory"),
            "a round trip of a line to the nearest core takes less time than two loads from memory",
            |e| {
                let trip = e.at(WAYS[0].0, place(e.machine.cpu_order.nearest_core()?))?;
                let memory = e.at(OWN_MISS, 0.0)?.scaled(2.0);
                at_most("round trip over two misses", ratio(trip, memory), 1.0)
            },
        ),
        measured(
            "X12.3",
            ours("whether round trips agree with what the system says CPUs share"),
            "round trips take longer between CPUs that share less",
            |e| {
                let near: Vec<Nearness> = nearnesses(e.machine).map(|(near, _)| near).collect();
                if near.len() < 2 {
                    return Err(Untestable::because(
                        "every pair of CPUs shares the same caches, so that there is nothing to \
                         compare",
                    ));
                }
                all_of(near.windows(2).map(|pair| {
                    let at = |near| e.at(WAYS[0].0, place(near));
                    let longer = ratio(at(pair[1]), at(pair[0]))?;
                    at_least(&format!("{} over {}", pair[1].name(), pair[0].name()), longer, 1.0)
                }))
            },
        ),
    ],
    ..Experiment::PLAIN
};

fn trip((name, way): (&str, RoundTripWay), near: Nearness, cpus: [usize; 2]) -> Case {
    let cpus = cpus.to_vec();
    Case::new(name, place(near), RoundTripSetup { way, cpus }).in_its_own_pages()
}

/// Returns the timed cases of D23: a hit, and a round trip to the nearest core.
pub(crate) fn hit_and_trip(machine: &Machine) -> Vec<Case> {
    let mut cases = vec![own_hit()];
    if let Some(near) = machine.cpu_order.nearest()
        && let Ok(cpus) = machine.cpu_order.pair(near)
    {
        cases.push(trip(WAYS[0], near, cpus));
    }
    cases
}

/// Judges whether a round trip to the nearest core takes more than ten times as long as a hit in L1d.
pub(crate) fn trip_over_hit(e: &Evidence<'_>) -> Judged {
    let trip = e.at(WAYS[0].0, place(e.machine.cpu_order.nearest_core()?))?;
    at_least("round trip over hit", ratio(trip, e.at(OWN_HIT, 0.0)), 10.0)
}

const OWN_HIT: &str = "a load that hits in L1d";
const OWN_MISS: &str = "a load from memory";

fn own_hit() -> Case {
    Case::new(OWN_HIT, 0.0, remote(Held::Own, Want::Read, Vec::new()))
}

fn own_miss() -> Case {
    Case::new(OWN_MISS, 0.0, remote(Held::Nowhere, Want::Read, Vec::new()))
}

pub(crate) fn remote(held: Held, want: Want, others: Vec<usize>) -> RemoteSetup {
    RemoteSetup { held, want, others }
}

/// Evidence on whether two CPUs are two cores: the time of dependent loads, and the round trip of a word.
pub(crate) const WALK: &str = "load";
pub(crate) const TRIP: &str = "round trip";

/// Dependent loads of lines that another core modified take at least this many times as long as
/// loads of lines in the core's own L1d. Two threads of one core find such lines in their common
/// L1d.
const ON_THEIR_WAY: f64 = 3.5;

/// Returns the round trip of a word, placed at `x`.
pub(crate) fn round_trip(cpus: [usize; 2], x: f64) -> Case {
    let (way, cpus) = (RoundTripWay::CompareExchange, cpus.to_vec());
    Case::new(TRIP, x, RoundTripSetup { way, cpus }).in_its_own_pages()
}

/// Returns the loads and the round trip, placed at `there`. Loads of the core's own lines are placed at
/// `here`.
pub(crate) fn walks_and_trip(cpus: [usize; 2], [there, here]: [f64; 2]) -> [Case; 3] {
    [
        Case::new(WALK, there, remote(Held::Modified, Want::Read, vec![cpus[1]])),
        Case::new(WALK, here, remote(Held::Own, Want::Read, Vec::new())),
        round_trip(cpus, there),
    ]
}

/// Checks that the two CPUs are two cores, as the system says.
///
/// # Errors
/// If there is one core, or if both kinds of evidence say that the CPUs are threads of one core. Only
/// dependent transfers are evidence: stores and locked additions overlap. Records of earlier versions may
/// have no round trip, and are taken as they are.
pub(crate) fn two_cores(e: &Evidence<'_>, [there, here]: [f64; 2]) -> Testable<()> {
    e.machine.cpu_order.two_cores()?;
    let has_trip = e.points.iter().any(|point| point.series == TRIP);
    match (e.at(TRIP, there), ratio(e.at(WALK, there), e.at(WALK, here))) {
        (Err(Untestable(reason)), Ok(walk)) if has_trip && walk.hi < ON_THEIR_WAY => {
            Err(Untestable(format!(
                "{reason}; and loads of lines that the other CPU modified take only {walk} times \
                 as long as loads of lines in the own L1d"
            )))
        }
        _ => Ok(()),
    }
}

const QUAD_CORE: Experiment = Experiment {
    id: "D46",
    name: "drepper-quad-core",
    title: "Between the last-level caches of one processor",
    question: "What does it cost to move a line from one last-level cache to another?",
    source: "Drepper, on the quad-core Core 2 behind Figure 3.31: its two L2 caches can \
             communicate only through the front-side bus",
    about: "Two threads pass a word back and forth, as in X12, and the chart shows the round trip \
            by what the two cores share. The paper has no number for it. Today's counterpart of \
            its two L2 caches are core complexes, dies or clusters with a last level each, and the \
            counterpart of its bus is the fabric between them. A line that moves across the fabric \
            takes much of the way that a line from memory takes, but need not wait for memory \
            itself. A processor whose CPUs share one last level has no such transfer; between \
            two processors a line takes another way.",
    plot: PLOT,
    cases: |machine| {
        let mut cases = vec![own_miss()];
        let pairs = nearnesses(machine).filter(|(near, _)| *near != Nearness::Core);
        cases.extend(pairs.map(|(near, cpus)| trip(WAYS[0], near, cpus)));
        cases
    },
    curves: |e| e.curves_of(|label| label == WAYS[0].0),
    claims: &[
        // Cores under different L2 caches communicate by the bus that leads out of the package;
        // there is no faster connection. A factor of 2 is our threshold.
        measured(
            "D46.1",
            drepper("3.5.3, Figure 3.31"),
            "a round trip to a core under another last level takes more than twice as long as a \
             round trip to a core under the same last level",
            |e| {
                let (near, far) = across(e)?;
                let at = |near| e.at(WAYS[0].0, place(near));
                let longer = ratio(at(far), at(near))?;
                let what = format!("{} over {}", far.name(), near.name());
                if_told_by_hardware(e, at_least(&what, longer, 2.0))
            },
        ),
        // There is no special exchange of data inside the package: a line takes the bus, as a line
        // from memory does. 0.8 is our threshold.
        measured(
            "D46.2",
            drepper("3.5.3, Figure 3.31"),
            "half a round trip to a core under another last level takes at least 0.8 times as long \
             as a load from memory: both use the same bus",
            |e| {
                let (_, far) = across(e)?;
                let longer = ratio(e.at(WAYS[0].0, place(far))?.scaled(0.5), e.at(OWN_MISS, 0.0))?;
                let what = format!("half a round trip, {}, over a miss", far.name());
                if_told_by_hardware(e, at_least(&what, longer, 0.8))
            },
        ),
    ],
    ..Experiment::PLAIN
};

/// Makes a `does not hold` untestable in a virtual machine: its host may report several last levels, and run all
/// CPUs below one.
fn if_told_by_hardware(e: &Evidence<'_>, judged: Judged) -> Judged {
    let judgement = judged?;
    match told_by_hardware(e) {
        Err(Untestable(reason)) if judgement.verdict == Verdict::DoesNotHold => {
            Ok(untestable(judgement, &reason))
        }
        _ => Ok(judgement),
    }
}

/// Returns the nearness of the nearest cores that share a cache, and of cores of the same processor under
/// different last levels.
fn across(e: &Evidence<'_>) -> Testable<(Nearness, Nearness)> {
    e.machine.cpu_order.nearest_core()?;
    // If nothing could be measured, the points' own reason is reported.
    e.series(WAYS[0].0)?;
    let there = |near: &Nearness| e.machine.cpu_order.pair(*near).is_ok();
    let within = [Nearness::Level2, Nearness::LastLevel];
    let far = Nearness::Package;
    if !there(&far) {
        return Err(Untestable::because(
            "the CPUs of this processor share one last-level cache, and the test needs two",
        ));
    }
    let near = within.into_iter().find(there).ok_or_else(|| {
        Untestable::because(
            "no two cores share a cache, so that there is no short round trip to compare with",
        )
    })?;
    Ok((near, far))
}
