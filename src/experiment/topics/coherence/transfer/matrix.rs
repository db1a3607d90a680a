//! X14: the round trip between every two CPUs.

use crate::experiment::prelude::*;
use crate::experiment::shared::roundtrip::RoundTripSetup;
use crate::experiment::topics::coherence::transfer::nearest;
use crate::kernel::RoundTripWay;
use crate::os::sysfs::Nearness;
use crate::stats::Interval;

/// Number of CPUs whose pairs a quick run measures.
const FEW: usize = 8;

/// Number of CPUs in a full run: 2,016 pairs.
const MANY: usize = 64;

pub(super) const MATRIX: Experiment = Experiment {
    id: "X14",
    name: "core-to-core",
    title: "The round trip between every two CPUs",
    question: "Between which CPUs does a line move quickly?",
    source: "Beyond Drepper 3.3.4: the round trip of X12 for every pair of CPUs",
    seen: &[],
    about: "Two threads pass one line back and forth, for every pair of CPUs. The blocks of the \
            map are the caches that cores share: pairs within a block should be near, pairs across \
            blocks far. Each pair uses a line on a page of its own, which the first CPU of the \
            pair has touched first. The kernel's description of shared caches can be wrong, above \
            all in a guest whose host hides it. A pair that is much faster than its block may be \
            two hyper-threads of one core.",
    plot: Some(Plot {
        shape: Shape::Heat { depth: "CPU" },
        x: Axis::linear("CPU"),
        y: Axis::linear("round trip"),
        unit: Unit::Nanoseconds,
        reference: &[],
    }),
    events: &[],
    cases: |machine| {
        let cpus = matrix_cpus(machine);
        let mut cases = Vec::new();
        for (index, &first) in cpus.iter().enumerate() {
            for &second in &cpus[index + 1..] {
                let setup = RoundTripSetup {
                    way: RoundTripWay::CompareExchange,
                    cpus: vec![first, second],
                };
                let case = Case::new(first.to_string(), second as f64, setup);
                cases.push(case.in_its_own_pages());
            }
        }
        cases
    },
    curves: plain_curves,
    claims: &[
        measured(
            "X14.1",
            ours("how much the distances between cores of this system differ"),
            "the longest round trip between two cores takes at most 3 times as long as the \
             shortest",
            |e| {
                let [shortest, longest] = extremes(e, |near| near != Nearness::Core)?;
                at_most("longest over shortest", ratio(longest, shortest), 3.0)
            },
        ),
        measured(
            "X14.2",
            ours("whether the system describes shared caches correctly"),
            "round trips between the nearest CPUs, by the system's account, are alike: the longest \
             takes at most 1.5 times as long as the shortest",
            |e| {
                let near = nearest(e)?;
                let [shortest, longest] = extremes(e, |other| other == near)?;
                let what = format!("longest over shortest of pairs with the {}", near.name());
                at_most(&what, ratio(longest, shortest), 1.5)
            },
        ),
    ],
};

fn matrix_cpus(machine: &Machine) -> Vec<usize> {
    let most = if machine.full { MANY } else { FEW };
    let seats = machine.cpu_order.seats();
    let mut cpus: Vec<usize> = seats.iter().take(most).map(|seat| seat.cpu).collect();
    cpus.sort_unstable();
    cpus
}

/// The shortest and the longest round trip of the pairs whose nearness satisfies `near`, of which
/// there must be two.
fn extremes(
    e: &Evidence<'_>,
    near: impl Fn(Nearness) -> bool,
) -> Result<[Interval; 2], Untestable> {
    let seats = e.machine.cpu_order.seats();
    let seat = |cpu: f64| seats.iter().find(|seat| seat.cpu as f64 == cpu);
    let mut trips = Vec::new();
    for curve in e.curves() {
        let first = curve.label.parse().ok().and_then(seat);
        for (second, _) in &curve.points {
            let (Some(first), Some(second)) = (first, seat(*second)) else {
                continue;
            };
            if near(first.to(second)) {
                trips.push(e.at(&curve.label, second.cpu as f64)?);
            }
        }
    }
    trips.sort_by(|a, b| a.middle().total_cmp(&b.middle()));
    let refused = e.points.iter().find_map(|point| match &point.state {
        State::Untestable(reason) => Some(reason.clone()),
        _ => None,
    });
    match (&trips[..], refused) {
        (&[shortest, .., longest], _) => Ok([shortest, longest]),
        (_, Some(reason)) => Err(reason),
        _ => Err(Untestable(format!(
            "the test needs two pairs of CPUs, and there is {} here",
            trips.len()
        ))),
    }
}
