//! The uncertainty of a point, and how it affects claims.

use super::Judging;
use crate::prelude::*;
use alloc::collections::BTreeMap;

use crate::experiment::{
    Case, Confidence, Experiment, Machine, Measured, Pass, Point, Priors, Quality, State,
    Untestable, side_by_side,
};
use crate::stats::{Interval, Prior, quantile};

/// The largest slowdown by another thread of the same core, if the run does not show it. Such work gets
/// half of the core's instructions, or somewhat less if both threads have misses in flight.
const BESIDE_ANOTHER: f64 = 2.5;

/// The share of disturbed points that are slowed down by at most the amount that the run shows.
const MOST: f64 = 0.975;

/// The smallest number of points from which that amount is taken: the largest of this many slowdowns is
/// hardly ever below it.
const TELLING: usize = 100;

/// The reason why a point with a negative time is untestable.
const NEGATIVE: &str = "the time of an operation came out negative: the stretches that were \
                        subtracted began in different states";

/// The uncertainty of the points of a run.
///
/// A few passes show little of how far they may lie from the value of the point. Similar points of the
/// run show how passes differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Doubt {
    priors: BTreeMap<Alike, Priors>,
    slowed: Slowed,
    /// The kind of judgement.
    judged: Judging,
}

/// The largest slowdown of disturbed work over undisturbed work, from the points of the run that have
/// samples of both.
#[derive(Clone, Debug, PartialEq)]
struct Slowed {
    /// By the residence of the data, where there are enough points.
    of_kind: BTreeMap<Residence, f64>,
    /// For all other residences.
    others: f64,
}

/// The key of similar points: of one series of an experiment, with their data in the same level.
type Alike = (&'static str, String, Residence);

impl Slowed {
    fn of(shown: BTreeMap<Residence, Vec<f64>>) -> Self {
        let most = |mut shown: Vec<f64>| {
            shown.sort_by(f64::total_cmp);
            let enough = shown.len() >= TELLING;
            quantile(&shown, MOST).filter(|_| enough).map(|most| most.max(1.0))
        };
        Slowed {
            others: most(shown.values().flatten().copied().collect()).unwrap_or(BESIDE_ANOTHER),
            of_kind: shown.into_iter().filter_map(|(kind, of)| Some((kind, most(of)?))).collect(),
        }
    }

    fn most(&self, kind: Residence) -> f64 {
        self.of_kind.get(&kind).copied().unwrap_or(self.others)
    }
}

/// The level that holds the data of a point. Passes over points with the same residence differ
/// similarly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Residence {
    /// One thread, whose working set fits L1d.
    L1,
    /// One thread, whose working set fits L2.
    L2,
    /// One thread, whose working set lies between L2 and the range of memory.
    Llc,
    /// One thread, whose working set lies in the range of memory.
    Memory,
    /// Several threads.
    Threads,
}

impl Residence {
    /// Returns the residence of a point whose case has a working set of `bytes` bytes.
    pub fn of(machine: &Machine, measured: &Measured, bytes: usize) -> Self {
        let capacity = |index: usize| machine.ranges.capacities.get(index);
        let fits = |index| capacity(index).is_some_and(|of| bytes as f64 <= of.usable());
        match measured.thread_stats {
            Some(_) => Residence::Threads,
            None if fits(0) => Residence::L1,
            None if fits(1) => Residence::L2,
            None if (bytes as f64) < machine.ranges.memory.lo => Residence::Llc,
            None => Residence::Memory,
        }
    }
}

/// The logarithms of the passes over points: one list per point.
type OfPoints = Vec<Vec<f64>>;

/// The logarithms of passes, by groups of similar points.
#[derive(Debug, Default)]
struct Logs(BTreeMap<Alike, OfPoints>);

impl Logs {
    /// Adds the passes over a point, as returned by [`logs`].
    fn add(&mut self, alike: &Alike, passes: impl Iterator<Item = Interval>) {
        let of_alike = self.0.entry(alike.clone()).or_default();
        of_alike.push(logs(passes));
    }

    /// Returns the priors of similar points, estimated per residence. Residences with too few points are
    /// estimated together with all others.
    fn priors(self) -> BTreeMap<Alike, Prior> {
        let mut kinds: BTreeMap<Residence, Vec<(Alike, OfPoints)>> = BTreeMap::new();
        for (alike, points) in self.0 {
            kinds.entry(alike.2).or_default().push((alike, points));
        }
        let priors = |groups: &[(Alike, OfPoints)]| {
            let points: Vec<OfPoints> = groups.iter().map(|(_, of)| of.clone()).collect();
            Prior::of_groups(&points)
        };
        let mut found = BTreeMap::new();
        let mut few = Vec::new();
        for groups in kinds.values() {
            match priors(groups) {
                Some(priors) => found.extend(alikes(groups).zip(priors)),
                None => few.extend_from_slice(groups),
            }
        }
        if !few.is_empty() {
            few.extend(
                kinds.into_values().flatten().filter(|(alike, _)| found.contains_key(alike)),
            );
            let priors = priors(&few).unwrap_or_else(|| vec![Prior::KEPT; few.len()]);
            for (alike, prior) in alikes(&few).zip(priors) {
                found.entry(alike).or_insert(prior);
            }
        }
        found
    }
}

fn alikes(groups: &[(Alike, OfPoints)]) -> impl Iterator<Item = Alike> {
    groups.iter().map(|(alike, _)| alike.clone())
}

impl Doubt {
    /// Estimates the uncertainty of a run on `machine` from the points of its experiments.
    pub fn of(machine: &Machine, experiments: &[(&'static Experiment, Vec<Point>)]) -> Self {
        let [mut ticks, mut cycles, mut ratios] = [(); 3].map(|()| Logs::default());
        let mut slowed: BTreeMap<Residence, Vec<f64>> = BTreeMap::new();
        for (experiment, points) in experiments {
            let mut before: Option<(Case, &Measured)> = None;
            for case in (experiment.cases)(machine) {
                let point = points.iter().find(|point| case.is_at(point));
                let Some(measured) = point.and_then(Point::measured) else {
                    before = None;
                    continue;
                };
                let kind = Residence::of(machine, measured, case.setup.bytes());
                let alike = (experiment.id, case.series.clone(), kind);
                let shown = measured.passes.iter().filter_map(|pass| pass.slowed);
                slowed.entry(kind).or_default().extend(shown);
                ticks.add(&alike, clean(measured).map(|pass| pass.interval));
                cycles.add(&alike, clean(measured).filter_map(|pass| in_cycles(&pass)));
                if let Some((other, base)) = &before
                    && other.in_turn
                    && case.in_turn
                    && other.x == case.x
                {
                    let pairs = side_by_side([&measured.passes, &base.passes]);
                    ratios.add(&alike, pairs.iter().filter_map(|[of, to]| of.ratio(*to)));
                }
                before = Some((case, measured));
            }
        }
        let (ticks, cycles, ratios) = (ticks.priors(), cycles.priors(), ratios.priors());
        let priors = ticks.into_iter().map(|(alike, ticks)| {
            // Without a common cause, the variances of two points between passes add up.
            let both = Prior { variance: 2.0 * ticks.variance, ..ticks };
            let of_alike = Priors {
                ticks,
                cycles: cycles.get(&alike).copied().unwrap_or(Prior::KEPT),
                ratios: ratios.get(&alike).copied().unwrap_or(both),
            };
            (alike, of_alike)
        });
        Doubt { priors: priors.collect(), slowed: Slowed::of(slowed), judged: Judging::Only }
    }

    /// Sets the kind of judgement, for a run that judges [several times](super).
    pub fn judged(self, judged: Judging) -> Self {
        Doubt { judged, ..self }
    }

    /// Returns the point of an experiment as claims are judged on it. `bytes` is the working set of its
    /// case.
    pub fn apply(
        &self,
        experiment: &'static Experiment,
        machine: &Machine,
        point: &Point,
        bytes: usize,
    ) -> Point {
        let series = &point.series;
        let mut point = point.clone();
        let Some(measured) = point.measured_mut() else { return point };
        if let Some(reason) = measured.quality.refusal() {
            point.state = State::Untestable(Untestable(reason.to_owned()));
            return point;
        }
        let kind = Residence::of(machine, measured, bytes);
        if !measured.is_exact() {
            if measured.passes.is_empty() {
                // One pass differs from others as much as passes of its kind do.
                measured.passes.push(measured.pass());
            }
            let alike = (experiment.id, series.clone(), kind);
            let priors = self.priors.get(&alike).unwrap_or(&Priors::KEPT);
            settle(measured, priors, self.judged);
        }
        // The difference between two mappings that are compared may be negative.
        if measured.thread_stats.is_none() && measured.ticks.interval.hi < 0.0 {
            point.state = State::Untestable(Untestable(NEGATIVE.to_owned()));
            return point;
        }
        // If an empty stretch was subtracted, the value may be negative.
        let most = self.slowed.most(kind);
        let doubt = |interval: &mut Interval| {
            interval.lo = interval.lo.min(interval.lo / most);
        };
        if measured.quality == Quality::Disturbed {
            doubt(&mut measured.ticks.interval);
            if let Some(Confidence { cycles: Some(cycles), .. }) = &mut measured.confidence {
                doubt(cycles);
            }
        }
        let passes = measured.passes.iter_mut();
        let disturbed = passes.filter(|pass| pass.quality == Quality::Disturbed);
        disturbed.for_each(|pass| doubt(&mut pass.interval));
        point
    }
}

/// Makes a point untestable if it took no positive time. For points that are shown without a claim that
/// is judged on them.
pub fn possible(point: Point) -> Point {
    if point.measured().is_none_or(Measured::took_time) {
        return point;
    }
    let state = State::Untestable(Untestable(NEGATIVE.to_owned()));
    Point { state, ..point }
}

/// Replaces the interval of the passes by the interval of the value. Passes that are not positive keep
/// their interval.
fn settle(measured: &mut Measured, priors: &Priors, judged: Judging) {
    let of_quality = |pass: &&Pass| pass.quality == measured.quality;
    let passes: Vec<Pass> = measured.passes.iter().filter(of_quality).copied().collect();
    let intervals: Vec<Interval> = passes.iter().map(|pass| pass.interval).collect();
    let error = judged.error(measured.passes.len());
    let ticks = priors.ticks.estimate(&intervals, error);
    let cycles: Option<Vec<Interval>> = passes.iter().map(in_cycles).collect();
    let cycles = cycles.and_then(|of| priors.cycles.estimate(&of, error));
    measured.confidence = Some(Confidence {
        cycles: cycles.map(|of| of.interval),
        states: ticks.and_then(|of| of.states),
        priors: *priors,
        error,
        width: 1.0,
    });
    if let Some(ticks) = ticks {
        measured.ticks.interval = ticks.interval;
    }
}
/// Returns the logarithms of the middles, or none if an interval is not wholly positive.
fn logs(intervals: impl Iterator<Item = Interval>) -> Vec<f64> {
    let log = |of: Interval| (of.lo > 0.0).then(|| of.middle().ln());
    intervals.map(log).collect::<Option<_>>().unwrap_or_default()
}

fn in_cycles(pass: &Pass) -> Option<Interval> {
    Some(pass.interval.scaled(pass.core_per_tick?))
}

/// Returns the undisturbed passes of a point.
fn clean(measured: &Measured) -> impl Iterator<Item = Pass> {
    let passes = measured.passes.iter().copied();
    passes.filter(|pass| pass.quality == Quality::Clean)
}

#[cfg(test)]
mod tests {
    use Quality::{Clean, Disturbed};

    use super::*;
    use crate::experiment::merged;
    use crate::experiment::quality::passes::tests::pass;
    use crate::host::Misplaced;

    /// Returns the point as judged if no other points are known.
    fn doubted(point: &Point) -> Point {
        let machine = crate::experiment::machine::tests::unknown();
        Doubt::of(&machine, &[]).apply(crate::experiment::find("E18").unwrap(), &machine, point, 0)
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
        assert!(reach.hi > before.ticks.median);
        assert!(reach.lo < 0.5 * before.ticks.interval.lo);
        assert_eq!(after.ticks.median, before.ticks.median);
        let doubtful = |pass: &Pass| pass.interval.lo < 0.5 * pass.interval.hi;
        assert!(after.passes.iter().all(doubtful));
    }

    /// Two threads that are always on one core instead of two, or on two instead of one, are not the intended
    /// measurement.
    #[test]
    fn what_always_ran_on_other_cores_than_reported_is_untestable() {
        let state = |passes: [Quality; 2]| {
            let passes = passes.map(|quality| pass(10.0, quality)).into();
            doubted(&merged(passes)[0]).state
        };
        for misplaced in Misplaced::ALL {
            let always = Quality::Misplaced(misplaced);
            let State::Untestable(Untestable(reason)) = state([always, always]) else {
                panic!("{always:?} in both");
            };
            assert_eq!(reason, misplaced.reason());
            for other in [Clean, Disturbed] {
                assert!(matches!(state([always, other]), State::Measured(_)));
            }
        }
    }
}
