//! By how much passes differ, and what that says of a point that has only one.

use crate::experiment::{Experiment, Machine, Measured, Pass, Point, Quality, State};

/// By how much passes over a point differ, as a share of it, in the kinds of points there are.
///
/// Two passes show what other pages and another minute change. Where all but one pass was disturbed,
/// the one that is left shows nothing of it, but the run's other points of the kind do.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PassVariation([f64; Kind::ALL]);

/// What points have in common whose passes differ alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// One thread, whose working set fits L1d,
    L1,
    /// L2,
    L2,
    /// something behind it that is not quite memory,
    Llc,
    /// or nothing.
    Memory,
    /// Several threads.
    ThreadStats,
}

/// The share of points whose passes differ by no more than what is taken for all.
const MOST: f64 = 0.75;

/// The least number of points that tell.
const ENOUGH: usize = 8;

impl Kind {
    const ALL: usize = Kind::ThreadStats as usize + 1;

    fn of(machine: &Machine, measured: &Measured, bytes: usize) -> Self {
        let capacity = |index: usize| machine.ranges.capacities.get(index);
        let fits = |index| capacity(index).is_some_and(|of| bytes as f64 <= of.usable());
        match measured.crew {
            Some(_) => Kind::ThreadStats,
            None if fits(0) => Kind::L1,
            None if fits(1) => Kind::L2,
            None if (bytes as f64) < machine.ranges.memory.lo => Kind::Llc,
            None => Kind::Memory,
        }
    }
}

impl PassVariation {
    /// That of a run: of the points that these experiments have on the machine.
    pub fn of(machine: &Machine, points: &[(&Experiment, Vec<Point>)]) -> Self {
        let mut ratios: [Vec<f64>; Kind::ALL] = Default::default();
        for (experiment, points) in points {
            for case in (experiment.cases)(machine) {
                let same = |point: &&Point| point.series == case.series && point.x == case.x;
                let Some(State::Measured(measured)) = points.iter().find(same).map(|of| &of.state)
                else {
                    continue;
                };
                let kind = Kind::of(machine, measured, case.setup.bytes());
                ratios[kind as usize].extend(apart(measured));
            }
        }
        PassVariation(ratios.map(|mut ratios| {
            ratios.sort_by(f64::total_cmp);
            let most = ((ratios.len() as f64 * MOST) as usize).min(ratios.len().saturating_sub(1));
            match ratios.get(most) {
                Some(ratio) if ratios.len() >= ENOUGH => ratio - 1.0,
                _ => 0.0,
            }
        }))
    }

    /// The point with the doubt of a working set of so many bytes, if a single pass over it counts.
    pub fn doubt(&self, machine: &Machine, point: &Point, bytes: usize) -> Point {
        let mut point = point.clone();
        if let State::Measured(measured) = &mut point.state
            && counted(measured).count() == 1
        {
            let share = self.0[Kind::of(machine, measured, bytes) as usize];
            measured.ticks.interval = measured.ticks.interval.widened(share);
        }
        point
    }
}

/// The passes in which the point was alone, of several.
fn counted(measured: &Measured) -> impl Iterator<Item = &Pass> {
    let several = measured.passes.len() > 1;
    let passes = measured.passes.iter().filter(move |_| several);
    passes.filter(|pass| pass.quality == Quality::Clean)
}

/// The slowest of those passes over the quickest, if there are two.
fn apart(measured: &Measured) -> Option<f64> {
    let middles = || counted(measured).map(|pass| pass.interval.middle());
    let (least, most) = (middles().reduce(f64::min)?, middles().reduce(f64::max)?);
    (least > 0.0 && middles().count() > 1).then(|| most / least)
}
