//! Repeats measurements and keeps the quickest: a neighbour makes a step slower, never faster.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Case, Point, measure, rig};
use crate::experiment::{SPARSE, merged};
use crate::lab::session::Session;

/// Bounds of the number of ladder passes. From the minimum on, a pass without a quicker rung is the last.
const PASSES: RangeInclusive<u32> = 4..=10;

/// A rung is quicker if it takes less than this share of its earlier time. Noise changes a time by less.
const QUICKER: f64 = 0.97;

/// How often a case is measured if it is disturbed every time.
const TRIES: usize = 4;

/// Measures only the ladder, in several passes with new pages each, as long as rungs become quicker. Keeps
/// the quickest time of each rung, and all passes over the sparse walks.
pub fn measure_ladder(session: &Session, stop: &AtomicBool) -> Vec<Point> {
    let mut rungs: Vec<Point> = Vec::new();
    let mut sparse: Vec<Point> = Vec::new();
    let mut rig = rig(session, stop);
    for pass in 0..*PASSES.end() {
        let mut points = Vec::new();
        measure::ladder(&mut rig, &session.header, pass, |_, point| {
            points.push(point.clone());
        });
        // A ladder that was cut off ends where no cache does.
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let mut quicker = false;
        for point in points {
            match point.series.as_str() {
                SPARSE => sparse.push(point),
                _ => quicker |= keep_quickest(&mut rungs, &point),
            }
        }
        rig.move_house();
        if pass + 1 >= *PASSES.start() && !quicker {
            break;
        }
    }
    rungs.extend(merged(sparse));
    rungs
}

/// Measures one pass of the ladder.
pub fn ladder_once(session: &Session, stop: &AtomicBool) -> Vec<Point> {
    let mut rungs: Vec<Point> = Vec::new();
    let mut rig = rig(session, stop);
    measure::ladder(&mut rig, &session.header, 0, |_, point| rungs.push(point.clone()));
    merged(rungs)
}

/// Measures the cases in `passes` passes, each in new pages. Ends early if stopped.
pub fn measure_passes(
    session: &Session,
    cases: &[Case],
    passes: u32,
    stop: &AtomicBool,
) -> Vec<(u32, Point)> {
    let mut rig = rig(session, stop);
    let mut points = Vec::new();
    for pass in 0..passes {
        let measured = cases.iter().map_while(|case| rig.measure(case));
        points.extend(measured.map(|point| (pass, point)));
        rig.move_house();
    }
    points
}

/// Measures the cases, experiment by experiment, and calls `each` with the id of each experiment as it
/// begins. Ends early if stopped, without the experiment that was cut off. A case that was disturbed in most samples is measured again, and its
/// quickest measurement counts.
pub fn measure_cases(
    session: &Session,
    cases: &[(&'static str, Vec<Case>)],
    stop: &AtomicBool,
    mut each: impl FnMut(&str),
) -> Vec<(&'static str, Vec<Point>)> {
    let mut rig = rig(session, stop);
    let mut measured = Vec::new();
    for (id, cases) in cases {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        each(id);
        let mut points = Vec::new();
        for case in cases {
            let Some(mut best) = rig.measure(case) else { break };
            for _ in 1..TRIES {
                if !crowded(&best) || stop.load(Ordering::Relaxed) {
                    break;
                }
                rig.move_house();
                if let Some(point) = rig.measure(case)
                    && time(&point) < time(&best)
                {
                    best = point;
                }
            }
            points.push(best);
        }
        // The last experiment may have been cut off, and a part of its curve would be read as the whole.
        if stop.load(Ordering::Relaxed) {
            break;
        }
        measured.push((*id, points));
    }
    measured
}

/// Keeps `point` if it is the quickest of its rung, and returns whether it is quicker by more than noise.
fn keep_quickest(rungs: &mut Vec<Point>, point: &Point) -> bool {
    let Some(rung) = rungs.iter_mut().find(|rung| rung.x == point.x) else {
        rungs.push(point.clone());
        return true;
    };
    let (new, known) = (time(point), time(rung));
    if new < known {
        *rung = point.clone();
    }
    new < QUICKER * known
}

/// Returns whether more than half of the samples were disturbed.
fn crowded(point: &Point) -> bool {
    let measured = point.measured();
    measured.is_some_and(|measured| 2 * measured.disturbed > measured.samples.len())
}

/// Returns the ticks per step; infinity for a point that could not be measured.
fn time(point: &Point) -> f64 {
    let measured = point.measured();
    measured.map_or(f64::INFINITY, |measured| measured.ticks.median)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{State, Untestable};
    use crate::recorded::planted;

    fn rung(x: f64, median: f64) -> Point {
        planted(x, median, &[]).point
    }

    #[test]
    fn of_each_rung_the_quickest_is_kept() {
        let mut rungs = Vec::new();
        assert!(keep_quickest(&mut rungs, &rung(1.0, 10.0)));
        assert!(keep_quickest(&mut rungs, &rung(2.0, 20.0)), "a rung more");
        assert!(!keep_quickest(&mut rungs, &rung(1.0, 11.0)));
        assert!(!keep_quickest(&mut rungs, &rung(1.0, 9.9)), "as good as before");
        assert!(keep_quickest(&mut rungs, &rung(2.0, 15.0)));
        assert_eq!(rungs, [rung(1.0, 9.9), rung(2.0, 15.0)]);
    }

    #[test]
    fn what_was_measured_is_quicker_than_what_could_not_be() {
        let without =
            Point { state: State::Untestable(Untestable("no memory".into())), ..rung(1.0, 1.0) };
        let mut rungs = vec![without.clone()];
        assert!(keep_quickest(&mut rungs, &rung(1.0, 10.0)));
        assert!(!keep_quickest(&mut rungs, &without));
        assert_eq!(rungs, [rung(1.0, 10.0)]);
    }
}
