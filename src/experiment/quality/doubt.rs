//! What makes a point doubtful, and how claims are judged on it.

use crate::experiment::{Experiment, Machine, Measured, Pass, Point, Quality, State, Untestable};
use crate::stats::Interval;

/// The least share of its speed that a thread keeps beside another thread of its core: half of the
/// instructions, somewhat less if both have misses in flight. Lost cache lines may cost more.
const BESIDE_ANOTHER: f64 = 0.4;

/// Why a point of two threads on two cores is untestable.
const ONE_CORE: &str = "the two CPUs are threads of one core, whatever the system says: what the one \
                        wrote lies in the other's L1d";

/// The share of points whose passes differ by no more than what is assumed for all.
const MOST: f64 = 0.75;

/// The least number of points from which a difference is derived.
const ENOUGH: usize = 8;

/// The doubt about the points of a run.
///
/// Two passes show what other pages and another minute change. If only one of several passes was
/// undisturbed, similar points of the run tell by how much passes differ, as a share.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Doubt([f64; Kind::ALL]);

/// Points whose passes differ alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// One thread, in a working set that fits L1d,
    L1,
    /// L2,
    L2,
    /// a level before memory,
    Llc,
    /// or none.
    Memory,
    /// Several threads.
    Threads,
}

impl Kind {
    const ALL: usize = Kind::Threads as usize + 1;

    fn of(machine: &Machine, measured: &Measured, bytes: usize) -> Self {
        let capacity = |index: usize| machine.ranges.capacities.get(index);
        let fits = |index| capacity(index).is_some_and(|of| bytes as f64 <= of.usable());
        match measured.crew {
            Some(_) => Kind::Threads,
            None if fits(0) => Kind::L1,
            None if fits(1) => Kind::L2,
            None if (bytes as f64) < machine.ranges.memory.lo => Kind::Llc,
            None => Kind::Memory,
        }
    }
}

impl Doubt {
    /// The doubt about a run on `machine`, from the points of its experiments.
    pub fn of(machine: &Machine, experiments: &[(&Experiment, Vec<Point>)]) -> Self {
        let mut ratios: [Vec<f64>; Kind::ALL] = Default::default();
        for (experiment, points) in experiments {
            for case in (experiment.cases)(machine) {
                let point = points.iter().find(|point| case.is_at(point));
                if let Some(measured) = point.and_then(Point::measured) {
                    let kind = Kind::of(machine, measured, case.setup.bytes());
                    ratios[kind as usize].extend(slowest_over_fastest(measured));
                }
            }
        }
        Doubt(ratios.map(|mut ratios| {
            ratios.sort_by(f64::total_cmp);
            let most = ((ratios.len() as f64 * MOST) as usize).min(ratios.len().saturating_sub(1));
            match ratios.get(most) {
                Some(ratio) if ratios.len() >= ENOUGH => ratio - 1.0,
                _ => 0.0,
            }
        }))
    }

    /// The point as claims are judged on it. `bytes` is the working set of its case.
    pub fn apply(&self, machine: &Machine, point: &Point, bytes: usize) -> Point {
        let mut point = point.clone();
        let Some(measured) = point.measured_mut() else {
            return point;
        };
        if measured.quality == Quality::SharedCore {
            point.state = State::Untestable(Untestable(ONE_CORE.to_owned()));
            return point;
        }
        if clean(measured).count() == 1 {
            let share = self.0[Kind::of(machine, measured, bytes) as usize];
            measured.ticks.interval = measured.ticks.interval.widened(share);
        }
        // Nobody knows what a disturbed measurement would have taken undisturbed. If an empty stretch
        // was subtracted, the value may be negative.
        let doubt = |ticks: &mut Interval| ticks.lo = ticks.lo.min(BESIDE_ANOTHER * ticks.lo);
        if measured.quality == Quality::Disturbed {
            doubt(&mut measured.ticks.interval);
        }
        let passes = measured.passes.iter_mut();
        let disturbed = passes.filter(|pass| pass.quality == Quality::Disturbed);
        disturbed.for_each(|pass| doubt(&mut pass.interval));
        point
    }
}

/// The undisturbed passes of a point that has several.
fn clean(measured: &Measured) -> impl Iterator<Item = &Pass> {
    let several = measured.passes.len() > 1;
    let passes = measured.passes.iter().filter(move |_| several);
    passes.filter(|pass| pass.quality == Quality::Clean)
}

/// The slowest of those passes over the fastest, if there are two.
fn slowest_over_fastest(measured: &Measured) -> Option<f64> {
    let middles = || clean(measured).map(|pass| pass.interval.middle());
    let (least, most) = (middles().reduce(f64::min)?, middles().reduce(f64::max)?);
    (least > 0.0 && middles().count() > 1).then(|| most / least)
}

#[cfg(test)]
mod tests {
    use Quality::{Clean, Disturbed, SharedCore};

    use super::*;
    use crate::experiment::merged;
    use crate::experiment::quality::passes::tests::pass;

    /// The point as it is judged if nothing is known of others.
    fn doubted(point: &Point) -> Point {
        let machine = crate::experiment::machine::tests::unknown();
        Doubt::default().apply(&machine, point, 0)
    }

    #[test]
    fn what_was_never_alone_may_have_taken_less() {
        let alone = merged(vec![pass(10.0, Clean), pass(20.0, Disturbed)]);
        let lows = |point: &Point| match &point.state {
            State::Measured(both) => [0, 1].map(|pass| both.passes[pass].interval.lo),
            _ => panic!("timed passes make a timed point"),
        };
        let [before, after] = [&alone[0], &doubted(&alone[0])].map(lows);
        assert_eq!(after[0], before[0]);
        assert!(after[1] < 0.5 * before[1], "{after:?}");
        let never = merged(vec![pass(10.0, Disturbed), pass(20.0, Disturbed)]);
        let in_doubt = doubted(&never[0]);
        let [State::Measured(before), State::Measured(after)] = [&never[0].state, &in_doubt.state]
        else {
            panic!("timed passes make a timed point");
        };
        let reach = after.ticks.interval;
        assert_eq!(reach.hi, before.ticks.interval.hi);
        assert!(reach.lo < 0.5 * before.ticks.interval.lo);
        assert_eq!(after.ticks.median, before.ticks.median);
        let doubtful = |pass: &Pass| pass.interval.lo < 0.5 * pass.interval.hi;
        assert!(after.passes.iter().all(doubtful));
    }

    /// Two threads on one core are not what was to be measured, unless a pass had two.
    #[test]
    fn what_was_always_on_one_core_is_untestable() {
        let state = |passes: [Quality; 2]| {
            let passes = passes.map(|quality| pass(10.0, quality)).into();
            doubted(&merged(passes)[0]).state
        };
        let State::Untestable(Untestable(reason)) = state([SharedCore, SharedCore]) else {
            panic!("on one core in both");
        };
        assert!(reason.contains("threads of one core"), "{reason}");
        for other in [Clean, Disturbed] {
            assert!(matches!(state([SharedCore, other]), State::Measured(_)));
        }
    }
}
