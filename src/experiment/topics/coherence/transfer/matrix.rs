//! X14: the round trip between every two CPUs.

use crate::experiment::prelude::*;
use crate::experiment::shared::words::RoundTripSetup;
use crate::host::{CpuLocation, Nearness};
use crate::infer::{Found, Groups, clusters};
use crate::kernel::RoundTripWay;
use crate::order;

/// Number of CPUs whose pairs a quick run measures.
const QUICK_CPUS: usize = 8;

/// Number of CPUs whose pairs a full run measures: 2,016 pairs.
const FULL_CPUS: usize = 64;

pub(super) const MATRIX: Experiment = Experiment {
    id: "X14",
    name: "core-to-core",
    title: "The round trip between every two CPUs",
    question: "Between which CPUs does a line move quickly?",
    source: "Beyond Drepper 3.3.4: the round trip of X12 for every pair of CPUs",
    about: "Two threads pass one line back and forth, for every pair of CPUs. The blocks of the \
            map are the caches that cores share: pairs within a block should be near, pairs across \
            blocks far. Of many CPUs, some of each package and of several last levels stand for \
            all. Each pair uses a line on a page of its own, which the first CPU of the pair has \
            touched first: the home of the line is the memory node of that CPU. With several \
            nodes, the kernel is asked whether it is so, and the record names the node. Groups of \
            CPUs are inferred from the times alone: the two nearest groups are joined, again and \
            again, and a level of groups counts where the next two lie a quarter farther apart \
            than the two before. The kernel's description of shared caches can be wrong, above all \
            in a guest whose host hides it. A pair that is much faster than its block may be two \
            hyper-threads of one core.",
    plot: Some(Plot {
        shape: Shape::Heat { depth: "CPU", mirrored: true },
        x: Axis::linear("CPU"),
        y: Axis::linear("round trip"),
        unit: Unit::Nanoseconds,
        reference: &[],
    }),
    cases: |machine| {
        let cpus = matrix_cpus(machine);
        let mut cases = Vec::new();
        for (index, &first) in cpus.iter().enumerate() {
            for &second in &cpus[index + 1..] {
                let (way, cpus) = (RoundTripWay::CompareExchange, vec![first, second]);
                let setup = RoundTripSetup { way, cpus };
                let case = Case::new(first.to_string(), second as f64, setup);
                cases.push(case.in_its_own_pages());
            }
        }
        cases
    },
    claims: &[
        measured(
            "X14.1",
            ours("how much the distances between cores of this system differ"),
            "the longest round trip between two cores takes at most 3 times as long as the \
             shortest",
            |e| {
                let [shortest, longest] = extremes(e, |near| near != Nearness::Core)?;
                let judged = at_most("longest over shortest", ratio(longest, shortest), 3.0);
                let (paired, all) = (paired(e, &trips(e)?).len(), e.machine.cpu_order.cpus());
                noted(judged, format!("pairs of {paired} of {all} CPUs"))
            },
        ),
        measured(
            "X14.2",
            ours("whether the system describes shared caches correctly"),
            "round trips between the nearest CPUs, by the system's account, are alike: the longest \
             takes at most 1.5 times as long as the shortest",
            |e| {
                let near = e.machine.cpu_order.nearest_core()?;
                let [shortest, longest] = extremes(e, |other| other == near)?;
                let what = format!("longest over shortest of pairs with the {}", near.name());
                at_most(&what, ratio(longest, shortest), 1.5)
            },
        ),
        measured(
            "X14.3",
            ours(
                "threads that work together should sit near each other: a group that the system \
                 does not report is one that no scheduler and no program uses",
            ),
            "groups of CPUs that are near each other by their round trips are groups that the \
             system reports: cores, level-2 caches, last levels, memory nodes or packages",
            |e| {
                let (found, locations) = groups(e)?;
                if found.value.is_empty() && found.confidence >= SURE {
                    return Err(Untestable("the round trips show no groups".to_owned()));
                }
                let nodes = shared(&locations, |location| e.machine.node_of(location.cpu));
                let hidden = |level: &&Groups| {
                    **level != nodes && !REPORTED.iter().any(|of| **level == shared(&locations, of))
                };
                let hidden: Vec<&Groups> = found.value.iter().filter(hidden).collect();
                let numbers = match hidden.first() {
                    Some(level) => format!("not reported: {}", in_words(level)),
                    None => "every level of groups is reported".to_owned(),
                };
                Ok(judged(&found, hidden.is_empty(), &numbers))
            },
        )
        .failing(
            "Place threads by the map, not by the system's account, or ask the host for the \
             topology.",
        ),
        measured(
            "X14.4",
            ours("whether a shared last level brings CPUs near each other, as chiplets suggest"),
            "CPUs that share a last level, by the system's account, form groups by their round \
             trips",
            |e| {
                let (found, locations) = groups(e)?;
                let last_levels = shared(&locations, |location| location.last_level);
                if last_levels.len() < 2 || last_levels.len() == locations.len() {
                    return Err(Untestable(format!(
                        "by the system's account, the {} CPUs have {} last level{}",
                        locations.len(),
                        last_levels.len(),
                        if last_levels.len() == 1 { "" } else { "s" }
                    )));
                }
                let shown = found.value.contains(&last_levels);
                Ok(judged(&found, shown, &format!("reported: {}", in_words(&last_levels))))
            },
        ),
    ],
    ..Experiment::PLAIN
};

/// The CPUs of a last level.
struct Level {
    first: CpuLocation,
    /// The numbers of the CPUs, nearest first.
    cpus: Vec<usize>,
    /// How many last levels of the same package are nearer.
    turn: usize,
}

/// Returns the CPUs whose pairs are measured, among them the measuring CPU. Where there are too many, they
/// come from every package in turn, and from so many last levels that each gives two: the nearest CPUs
/// alone would hide the longest round trips.
fn matrix_cpus(machine: &Machine) -> Vec<usize> {
    let most = if machine.full { FULL_CPUS } else { QUICK_CPUS };
    let mut levels: Vec<Level> = Vec::new();
    for &first in machine.cpu_order.locations() {
        let same = |level: &&mut Level| level.first.last_level == first.last_level;
        if let Some(level) = levels.iter_mut().find(same) {
            level.cpus.push(first.cpu);
            continue;
        }
        let of_package = |level: &&Level| level.first.package == first.package;
        let turn = levels.iter().filter(of_package).count();
        let cpus = vec![first.cpu];
        levels.push(Level { first, cpus, turn });
    }
    order::by_key(&mut levels, |level| level.turn);
    let mut cpus = Vec::new();
    for some in levels.chunks(most / 2) {
        let rounds = some.iter().map(|level| level.cpus.len()).max();
        for round in 0..rounds.unwrap_or(0) {
            cpus.extend(some.iter().filter_map(|level| level.cpus.get(round)));
        }
    }
    cpus.truncate(most);
    cpus.sort_unstable();
    cpus
}

/// The parts of the machine that the system reports as shared by CPUs, besides memory nodes.
const REPORTED: [fn(&CpuLocation) -> usize; 4] = [
    |location| location.core,
    |location| location.l2,
    |location| location.last_level,
    |location| location.package,
];

/// The least confidence in groups that decides a claim.
const SURE: f64 = 0.9;

/// Returns the CPUs, grouped by the part of the machine that `of` names.
fn shared<P: Ord>(locations: &[CpuLocation], of: impl Fn(&CpuLocation) -> P) -> Groups {
    let group = |part: P| {
        let inside = locations.iter().filter(|location| of(location) == part);
        order::distinct(inside.map(|location| location.cpu))
    };
    let parts = order::distinct(locations.iter().map(&of));
    order::distinct(parts.into_iter().map(group))
}

/// Returns the groups that the round trips show, level by level, and their CPUs.
///
/// # Errors
/// If there are fewer than three CPUs, or a pair was not measured.
fn groups(e: &Evidence<'_>) -> Testable<(Found<Vec<Groups>>, Vec<CpuLocation>)> {
    let trips = trips(e)?;
    let locations = paired(e, &trips);
    let count = locations.len();
    if count < 3 {
        let reason = "the test needs the round trips of three CPUs, and has those of";
        return Err(too_few(e, &format!("{reason} {count}")));
    }
    let trips = trips.into_iter().map(|(one, other, time)| (one.cpu, other.cpu, time));
    let found = clusters(&trips.collect::<Vec<_>>());
    let found = found.ok_or_else(|| too_few(e, "not every pair of CPUs was measured"))?;
    Ok((found, locations))
}

/// Returns a judgement about groups, which is inconclusive unless they are certain.
fn judged(found: &Found<Vec<Groups>>, holds: bool, numbers: &str) -> Judgement {
    let verdict = match holds {
        _ if found.confidence < SURE => Verdict::Inconclusive,
        true => Verdict::Holds,
        false => Verdict::DoesNotHold,
    };
    let levels: Vec<String> = found.value.iter().map(in_words).collect();
    let levels = match &levels[..] {
        [] => "no groups".to_owned(),
        levels => levels.join(", "),
    };
    let percent = 100.0 * found.confidence;
    let numbers = format!(
        "round trips show {levels}; {numbers}; {percent:.0} % of random times within the measured \
         intervals show the same"
    );
    Judgement::in_words(verdict, numbers)
}

/// Describes groups, such as `4 groups of 8 CPUs`.
fn in_words(groups: &Groups) -> String {
    let sizes = || groups.iter().map(Vec::len);
    let (least, most) = (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0));
    let number = groups.len();
    match least == most {
        true => format!("{number} groups of {most} CPUs"),
        false => format!("{number} groups of {least} to {most} CPUs"),
    }
}

/// Returns the CPUs of these round trips.
fn paired(e: &Evidence<'_>, trips: &[Trip]) -> Vec<CpuLocation> {
    let mut locations = e.machine.cpu_order.locations().to_vec();
    locations.retain(|location| {
        trips.iter().any(|(one, other, _)| location == one || location == other)
    });
    locations
}

type Trip = (CpuLocation, CpuLocation, Interval);

/// Returns the measured round trips, each with its two CPUs.
fn trips(e: &Evidence<'_>) -> Testable<Vec<Trip>> {
    let locations = e.machine.cpu_order.locations();
    let location = |cpu: f64| locations.iter().find(|location| location.cpu as f64 == cpu).copied();
    let mut trips = Vec::new();
    for curve in e.curves() {
        let first = curve.label.parse().ok().and_then(location);
        for (second, _) in &curve.points {
            if let (Some(first), Some(second)) = (first, location(*second)) {
                trips.push((first, second, *e.at(&curve.label, second.cpu as f64)?));
            }
        }
    }
    Ok(trips)
}

/// Returns the reason of the first untestable pair, or `reason` if there is none.
fn too_few(e: &Evidence<'_>, reason: &str) -> Untestable {
    let refused = e.points.iter().find_map(|point| match &point.state {
        State::Untestable(reason) => Some(reason.clone()),
        _ => None,
    });
    refused.unwrap_or_else(|| Untestable(reason.to_owned()))
}

/// Returns the shortest and the longest round trip of the pairs whose nearness satisfies `near`, if there
/// are two.
fn extremes(e: &Evidence<'_>, near: impl Fn(Nearness) -> bool) -> Testable<[Interval; 2]> {
    let trips = trips(e)?.into_iter();
    let wanted = trips.filter(|(first, second, _)| near(first.to(second)));
    let mut trips: Vec<Interval> = wanted.map(|(_, _, time)| time).collect();
    order::by(&mut trips, |a, b| a.middle().total_cmp(&b.middle()));
    match &trips[..] {
        &[shortest, .., longest] => Ok([shortest, longest]),
        few => {
            let count = few.len();
            Err(too_few(e, &format!("the test needs two pairs of CPUs, and there is {count} here")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::machine::tests::unknown;

    /// Returns the CPUs that are paired on `cpus` CPUs, of which these numbers share a last level and a package.
    fn paired(cpus: usize, [last_level, package]: [usize; 2], full: bool) -> Vec<usize> {
        let location = |cpu: usize| CpuLocation {
            cpu,
            core: cpu,
            l2: cpu,
            last_level: cpu / last_level * last_level,
            package: cpu / package * package,
        };
        matrix_cpus(&Machine {
            cpu_order: CpuOrder::around(Some(1), (0..cpus).map(location).collect()),
            full,
            ..unknown()
        })
    }

    #[test]
    fn few_cpus_stand_for_every_package_and_for_several_last_levels() {
        assert_eq!(paired(4, [4, 4], false), [0, 1, 2, 3]);
        assert_eq!(paired(32, [32, 32], false), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(paired(128, [64, 64], false), [0, 1, 2, 3, 64, 65, 66, 67]);
        assert_eq!(paired(128, [8, 64], false), [0, 1, 8, 9, 64, 65, 72, 73]);
        assert_eq!(paired(128, [8, 64], true).len(), 64);
        // The system says nothing about shared caches.
        assert_eq!(paired(32, [1, 32], false).len(), 8);
    }
}
