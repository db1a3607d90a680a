//! What makes a point doubtful, and how claims are judged on it.

use crate::experiment::{
    Case, Confidence, Experiment, Machine, Measured, Pass, Point, Quality, State, Untestable,
    side_by_side,
};
use crate::stats::{Interval, Prior};

/// The least share of its speed that a thread keeps beside another thread of its core: half of the
/// instructions, somewhat less if both have misses in flight. Lost cache lines may cost more.
const BESIDE_ANOTHER: f64 = 0.4;

/// Why a point of two threads on two cores is untestable.
const ONE_CORE: &str = "the two CPUs are threads of one core, whatever the system says: what the one \
                        wrote lies in the other's L1d";

/// What is doubted about the points of a run.
///
/// A few passes show little of how far they may lie from the value of the point; similar points of the
/// run tell how passes differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Doubt {
    priors: [Priors; Residence::ALL],
    /// Whether what was open was measured in further passes.
    looks: bool,
}

/// How passes over points of a kind differ.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Priors {
    /// In ticks,
    ticks: Prior,
    /// in core cycles, each by the clock of its pass,
    cycles: Prior,
    /// and as a ratio to what was measured in turn.
    ratios: Prior,
}

/// Where the data of a point lie: passes over points of the same kind differ alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Residence {
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

impl Residence {
    const ALL: usize = Residence::Threads as usize + 1;

    /// The kind of a point whose case has a working set of so many bytes.
    pub fn of(machine: &Machine, measured: &Measured, bytes: usize) -> Self {
        let capacity = |index: usize| machine.ranges.capacities.get(index);
        let fits = |index| capacity(index).is_some_and(|of| bytes as f64 <= of.usable());
        match measured.crew {
            Some(_) => Residence::Threads,
            None if fits(0) => Residence::L1,
            None if fits(1) => Residence::L2,
            None if (bytes as f64) < machine.ranges.memory.lo => Residence::Llc,
            None => Residence::Memory,
        }
    }
}

/// The logarithms of the passes over points, by kind.
type Logs = [Vec<Vec<f64>>; Residence::ALL];

impl Doubt {
    /// The doubt about a run on `machine`, from the points of its experiments.
    pub fn of(machine: &Machine, experiments: &[(&Experiment, Vec<Point>)]) -> Self {
        let (mut ticks, mut cycles, mut ratios) =
            (Logs::default(), Logs::default(), Logs::default());
        for (experiment, points) in experiments {
            let mut before: Option<(Case, &Measured)> = None;
            for case in (experiment.cases)(machine) {
                let point = points.iter().find(|point| case.is_at(point));
                let Some(measured) = point.and_then(Point::measured) else {
                    before = None;
                    continue;
                };
                let kind = Residence::of(machine, measured, case.setup.bytes()) as usize;
                let clean: Vec<Pass> = clean(measured).collect();
                ticks[kind].push(logs(clean.iter().map(|pass| pass.interval)));
                cycles[kind].push(logs(clean.iter().filter_map(in_cycles)));
                if let Some((other, base)) = &before
                    && other.in_turn
                    && case.in_turn
                    && other.x == case.x
                {
                    let pairs = side_by_side([&measured.passes, &base.passes]);
                    ratios[kind].push(logs(pairs.iter().filter_map(|[of, to]| of.ratio(*to))));
                }
                before = Some((case, measured));
            }
        }
        let [ticks, cycles, ratios] = [ticks, cycles, ratios].map(priors);
        let priors = core::array::from_fn(|kind| {
            let ticks = ticks[kind].unwrap_or(Prior::KEPT);
            // Two points that have nothing in common differ between passes as both together.
            let both = Prior {
                variance: 2.0 * ticks.variance,
                ..ticks
            };
            Priors {
                ticks,
                cycles: cycles[kind].unwrap_or(Prior::KEPT),
                ratios: ratios[kind].unwrap_or(both),
            }
        });
        Doubt {
            priors,
            looks: false,
        }
    }

    /// The same where claims that are open are looked at [several times](super::looks).
    pub fn in_looks(self, looks: bool) -> Self {
        Doubt { looks, ..self }
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
        if !measured.passes.is_empty() {
            self.settle(machine, measured, bytes);
        }
        // Nobody knows what a disturbed measurement would have taken undisturbed. If an empty stretch
        // was subtracted, the value may be negative.
        let doubt = |interval: &mut Interval| {
            interval.lo = interval.lo.min(BESIDE_ANOTHER * interval.lo);
        };
        if measured.quality == Quality::Disturbed {
            doubt(&mut measured.ticks.interval);
            if let Some(Confidence {
                cycles: Some(cycles),
                ..
            }) = &mut measured.confidence
            {
                doubt(cycles);
            }
        }
        let passes = measured.passes.iter_mut();
        let disturbed = passes.filter(|pass| pass.quality == Quality::Disturbed);
        disturbed.for_each(|pass| doubt(&mut pass.interval));
        point
    }

    /// Puts the interval of the value in the place of what the passes showed. Passes that are not
    /// positive have no other interval.
    fn settle(&self, machine: &Machine, measured: &mut Measured, bytes: usize) {
        let priors = &self.priors[Residence::of(machine, measured, bytes) as usize];
        let of_quality = |pass: &&Pass| pass.quality == measured.quality;
        let passes: Vec<Pass> = measured.passes.iter().filter(of_quality).copied().collect();
        let intervals: Vec<Interval> = passes.iter().map(|pass| pass.interval).collect();
        let error = match self.looks {
            true => super::looks::error(measured.passes.len()),
            false => super::looks::ERROR,
        };
        let ticks = priors.ticks.estimate(&intervals, error);
        let cycles: Option<Vec<Interval>> = passes.iter().map(in_cycles).collect();
        let cycles = cycles.and_then(|of| priors.cycles.estimate(&of, error));
        measured.confidence = Some(Confidence {
            cycles: cycles.map(|of| of.interval),
            states: ticks.and_then(|of| of.states),
            ratios: priors.ratios,
            error,
            narrowed: 1.0,
        });
        if let Some(ticks) = ticks {
            measured.ticks.interval = ticks.interval;
        }
    }
}

/// The prior of each kind; of all kinds together where one has too few points.
fn priors(logs: Logs) -> [Option<Prior>; Residence::ALL] {
    let of_all = Prior::of(logs.iter().flatten().map(Vec::as_slice));
    logs.map(|of_kind| Prior::of(of_kind.iter().map(Vec::as_slice)).or(of_all))
}

/// The logarithms of the middles; of none if one is not positive throughout.
fn logs(intervals: impl Iterator<Item = Interval>) -> Vec<f64> {
    let log = |of: Interval| (of.lo > 0.0).then(|| of.middle().ln());
    intervals
        .map(log)
        .collect::<Option<_>>()
        .unwrap_or_default()
}

fn in_cycles(pass: &Pass) -> Option<Interval> {
    Some(pass.interval.scaled(pass.core_per_tick?))
}

/// The undisturbed passes of a point.
fn clean(measured: &Measured) -> impl Iterator<Item = Pass> {
    let passes = measured.passes.iter().copied();
    passes.filter(|pass| pass.quality == Quality::Clean)
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
        Doubt::of(&machine, &[]).apply(&machine, point, 0)
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
