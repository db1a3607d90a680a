//! Compares the values that several experiments of a run found for the same quantity.

use super::record::MACHINE;
use crate::experiment::topics::code::jump::UNCHECKED;
use crate::experiment::topics::coherence::migration;
use crate::experiment::topics::coherence::transfer::states;
use crate::experiment::topics::hierarchy::random::{RANDOM, SEQUENTIAL};
use crate::experiment::{
    Capacity, Evidence, Experiment, LADDER, LAPS, Machine, Point, ROUND_TRIP, Range, Testable,
    Unit, Untestable, find, steps,
};
use crate::kernel::Mode;
use crate::stats::Interval;

/// Two values agree if the gap between their intervals is at most this fraction of the lower one. Experiments
/// time different loops, so small differences are expected.
const ALIKE: f64 = 0.1;

/// Factor of two rungs of a ladder, which has two rungs per octave. A step is located to within one rung on
/// either side.
const ROOM: f64 = 2.0;

/// Curves over working sets that end in memory: the name in a sentence, the experiment, the series. Random
/// walks come first, then streams.
const CURVES: [(&str, &str, &str); 8] = [
    ("the ladder", MACHINE, LADDER),
    ("laps from memory", MACHINE, LAPS[0].1),
    ("laps from the caches", MACHINE, LAPS[1].1),
    ("D8, walking", "D8", RANDOM),
    ("B12, walking", "B12", UNCHECKED),
    ("D36, reading", "D36", "read, 16 B"),
    ("D36, writing", "D36", "write, 16 B"),
    ("D18, in order", "D18", SEQUENTIAL),
];

/// Factor over the size of L2 beyond which L2 holds little of a working set.
pub const BEYOND_L2: f64 = 1.7;

/// Largest ratio between the times of two walks in the same cache.
const SAME_CACHE: f64 = 1.5;

/// Largest ratio of an access that hits a cache, at least in part, to a random access to memory.
const IN_CACHE: f64 = 0.85;

/// Largest ratio between laps from memory and laps from the caches that have reached the same state.
const SAME_STATE: f64 = 1.15;

/// Values of one quantity that contradict each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Disagreement {
    /// The quantity, as the subject of a sentence.
    pub quantity: &'static str,
    /// Where each value was measured, and the value with its unit.
    pub values: Vec<(&'static str, String)>,
    /// Why the values may differ.
    pub cause: &'static str,
}

impl core::fmt::Display for Disagreement {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let values = self.values.iter();
        let values = values.map(|(of, value)| format!("{value} ({of})"));
        let values = values.collect::<Vec<_>>().join(", ");
        write!(f, "{} has several values: {values}. {}", self.quantity, self.cause)
    }
}

/// The points of every experiment of a run.
pub type Measured<'a> = &'a [(&'static Experiment, Vec<Point>)];

/// The points of a run, looked up by experiment.
struct Points<'a> {
    machine: &'a Machine,
    ladder: &'a [Point],
    experiments: Measured<'a>,
}

impl<'a> Points<'a> {
    fn of(&self, experiment: &str) -> &'a [Point] {
        let found = self.experiments.iter().find(|(of, _)| of.id == experiment);
        match experiment {
            MACHINE => self.ladder,
            _ => found.map_or(&[], |(_, points)| points),
        }
    }

    fn evidence(&self, experiment: &str, unit: Unit) -> Evidence<'a> {
        Evidence::new(self.machine, self.of(experiment), unit)
    }

    /// Returns the level of a series over a range of working sets, in nanoseconds.
    fn level(&self, experiment: &str, series: &str, range: Range) -> Option<Interval> {
        let evidence = self.evidence(experiment, Unit::Nanoseconds);
        evidence.level(series, range).map(Interval::from).ok()
    }

    /// Returns the least and the greatest working set, in bytes, at which a pass over a curve leaves the last
    /// level. Of eight passes or more, drops the lowest and the highest eighth, because a single disturbed
    /// point looks like a step.
    fn last_steps(&self, experiment: &str, series: &str) -> Option<(f64, f64)> {
        let [_, l2, llc] = self.machine.ranges.capacities.get(..3)? else { return None };
        let behind_l2 = 2.0 * l2.whole();
        // A rise far beyond the reported size of the level is not the edge of a cache.
        let beyond = llc.reported.map_or(f64::INFINITY, |size| ROOM * size);
        // Nor is a rise of accesses that take as long as memory already: their translations leave the TLBs.
        let memory = self.level(MACHINE, LADDER, self.machine.ranges.memory);
        let memory = memory.map_or(f64::INFINITY, Interval::middle);
        let from_cache = |pass: &[(f64, Interval)], step: f64| {
            let mut before = pass.iter().rev();
            let before = before.find(|(x, _)| *x < step);
            before.is_some_and(|(_, time)| time.middle() < IN_CACHE * memory)
        };
        let leaves = |pass: &Vec<(f64, Interval)>| {
            let mut steps = steps(pass, f64::INFINITY).into_iter();
            let inside = |step: f64| behind_l2 < step && step <= beyond;
            steps.rfind(|&step| inside(step) && from_cache(pass, step))
        };
        let passes = self.passes(experiment, series);
        let mut found: Vec<f64> = passes.iter().filter_map(leaves).collect();
        found.sort_by(f64::total_cmp);
        let left_out = found.len() / 8;
        let kept = &found[left_out..found.len() - left_out];
        Some((*kept.first()?, *kept.last()?))
    }

    /// Splits a series into one curve per pass. Leaves out passes that measured some of the points: a step between
    /// points far apart says little about where it is.
    fn passes(&self, experiment: &str, series: &str) -> Vec<Vec<(f64, Interval)>> {
        let evidence = self.evidence(experiment, Unit::Nanoseconds);
        let mut curves: Vec<Vec<(f64, Interval)>> = Vec::new();
        let points = evidence.pass_by_pass(series);
        let all = points.len();
        for (x, passes) in points {
            for (index, pass) in passes.iter().enumerate() {
                if curves.len() <= index {
                    curves.push(Vec::new());
                }
                curves[index].push((x, pass.interval));
            }
        }
        curves.retain(|curve| curve.len() == all);
        curves
    }
}

/// Returns the time per step of a random walk in the last level. The time comes from working sets that stay
/// in the level: laps that start in memory and laps that start in the caches take equally long there. Without
/// such laps, the ladder's own walk is used. Its starting state is unknown on a shared level.
///
/// # Errors
/// If no working set beyond L2 stays in the last level, or the points are missing.
pub fn last_level_latency(
    machine: &Machine,
    ladder: &[Point],
    unit: Unit,
) -> Result<Interval, Untestable> {
    let evidence = Evidence::new(machine, ladder, unit);
    let [Ok(from_memory), Ok(from_caches)] = LAPS.map(|(_, series)| evidence.series(series)) else {
        return evidence.level(LADDER, machine.ranges.llc).map(Interval::from);
    };
    let l2 = machine.ranges.capacities.get(1).map_or(0.0, Capacity::whole);
    let both = from_memory.into_iter().filter_map(|(x, slow)| {
        let (_, quick) = *from_caches.iter().find(|(of, _)| *of == x)?;
        Some((x, [slow, quick]))
    });
    let both = both.skip_while(|(x, _)| *x < BEYOND_L2 * l2);
    let mut least = f64::INFINITY;
    let stays = |[slow, quick]: &[Interval; 2]| {
        least = least.min(quick.middle());
        let apart = (slow.middle() / quick.middle()).max(quick.middle() / slow.middle());
        apart <= SAME_STATE && quick.middle() <= SAME_CACHE * least
    };
    let inside = both.map(|(_, both)| both).take_while(stays);
    let inside: Vec<Interval> = inside.flatten().collect();
    Interval::median_of(&inside).ok_or_else(|| {
        Untestable("no working set behind L2 stays in the last level: others use it".into())
    })
}

/// Returns the disagreements between the experiments of a run.
pub fn disagreements(machine: &Machine, ladder: &[Point], of: Measured<'_>) -> Vec<Disagreement> {
    let points = Points { machine, ladder, experiments: of };
    let mut found: Vec<Disagreement> = latencies(&points);
    found.extend(last_level(&points));
    found.extend(bandwidth(&points));
    found.extend(round_trips(&points));
    found.extend(upgrades(&points));
    found
}

/// Returns the range of working sets, in bytes, in which curves leave the last level, if the range is wider
/// than the resolution of a step. Whether a working set in this range stays in the level depends on how often
/// its lines are accessed and on the other users of the level.
pub fn share(machine: &Machine, ladder: &[Point], of: Measured<'_>) -> Option<Range> {
    range(&Points { machine, ladder, experiments: of })
}

fn range(points: &Points<'_>) -> Option<Range> {
    let of_each = CURVES.into_iter();
    let steps = of_each.filter_map(|(_, id, series)| points.last_steps(id, series));
    let (lo, hi) = steps.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
    (hi > ROOM * lo).then_some(Range { lo, hi })
}

fn last_level(points: &Points<'_>) -> Option<Disagreement> {
    range(points)?;
    let mib = |bytes: f64| format!("{:.1}", bytes / 1048576.0);
    let values = CURVES.into_iter().filter_map(|(name, id, series)| {
        let (least, most) = points.last_steps(id, series)?;
        let value = match most > 1.2 * least {
            true => format!("{} to {} MiB", mib(least), mib(most)),
            false => format!("{} MiB", mib(least)),
        };
        Some((name, value))
    });
    Some(Disagreement {
        quantity: "The working set that leaves the last level",
        values: values.collect(),
        cause: "A walk that returns slowly to its lines loses them to other users of the level, \
                and stays slow. A walk that returns quickly keeps them. Claims about the last \
                level are judged only outside these sizes.",
    })
}

fn latencies(points: &Points<'_>) -> Vec<Disagreement> {
    let ranges = &points.machine.ranges;
    let levels = [
        ("The latency of L1d", "L1d", ranges.l1),
        ("The latency of L2", "L2", ranges.l2),
        ("The latency of memory", "memory", ranges.memory),
    ];
    let disagree = |(quantity, level, range)| {
        let everywhere = [
            ("the ladder", points.level(MACHINE, LADDER, range)),
            ("D7", points.level("D7", level, range)),
            ("X2", points.level("X2", Mode::Base.text(), range)),
        ];
        apart(quantity, everywhere, "ns", LATENCIES_DIFFER)
    };
    let mut found: Vec<Disagreement> = levels.into_iter().filter_map(disagree).collect();
    found.extend(last_level_latencies(points));
    found
}

/// Compares the latency of the last level at working sets that stay there on every walk.
fn last_level_latencies(points: &Points<'_>) -> Option<Disagreement> {
    let sure = Evidence { uncertain: range(points), ..points.evidence("D7", Unit::Nanoseconds) };
    let machine = points.machine;
    let laps = last_level_latency(machine, points.ladder, Unit::Nanoseconds);
    let of_level = sure.level("last level", machine.ranges.llc).map(Interval::from);
    let values = [("laps that agree", laps.ok()), ("D7", of_level.ok())];
    apart("The latency of the last level", values, "ns", LATENCIES_DIFFER)
}

/// Compares the bandwidths at which one core reads memory.
fn bandwidth(points: &Points<'_>) -> Option<Disagreement> {
    let evidence = |id| points.evidence(id, Unit::GigabytesPerSecond);
    let over_sizes = |id, series| evidence(id).in_memory(series);
    let of_one_core = |id, series| evidence(id).at(series, 1.0);
    let values = [
        ("D36", over_sizes("D36", "read, 16 B")),
        ("E5", over_sizes("E5", "movdqa")),
        ("D25", of_one_core("D25", "read memory")),
        ("X17", of_one_core("X17", "read, memory")),
    ];
    apart(
        "The bandwidth at which one core reads memory",
        values.map(|(of, value)| (of, value.ok().map(Interval::from))),
        "GB/s",
        "The loops differ in the width and the number of their loads, and neighbours use the \
         memory at different times.",
    )
}

/// Compares the costs of an upgrade, in locked additions.
fn upgrades(points: &Points<'_>) -> Option<Disagreement> {
    type Cost = fn(&Evidence<'_>) -> Testable<Interval>;
    let values: [(&str, Cost); 2] =
        [("D24", migration::cost_of_upgrade), ("X13", states::cost_of_upgrade)];
    let values = values.map(|(id, cost)| {
        let experiment = find(id);
        let value = experiment.and_then(|of| cost(&points.evidence(id, of.unit())).ok());
        (id, value)
    });
    apart(
        "The upgrade of a line that another core has read",
        values,
        "locked additions",
        "A host may move a guest's CPUs between near and distant cores.",
    )
}

const LATENCIES_DIFFER: &str = "The values come from different working sets of one level, at \
                                different times. A walk is slower near the end of the level, and \
                                beside busy neighbours.";

fn round_trips(points: &Points<'_>) -> Option<Disagreement> {
    let trip = |id, series: &str| {
        let evidence = points.evidence(id, Unit::Nanoseconds);
        Some(evidence.series(series).ok()?.first()?.1)
    };
    apart(
        "The round trip of a line to the nearest core by lock cmpxchg",
        [("the machine", trip(MACHINE, ROUND_TRIP)), ("X12", trip("X12", "lock cmpxchg"))],
        "ns",
        "A host may move a guest's CPUs between near and distant cores, and the home of the line \
         may be nearer to one of them.",
    )
}

/// Returns a disagreement if two of the known values differ by more than their intervals and `ALIKE` allow.
fn apart(
    quantity: &'static str,
    values: impl IntoIterator<Item = (&'static str, Option<Interval>)>,
    unit: &str,
    cause: &'static str,
) -> Option<Disagreement> {
    let known = values.into_iter().filter_map(|(of, value)| Some((of, value?)));
    let values: Vec<(&str, Interval)> = known.collect();
    let highest = values.iter().map(|(_, value)| value.lo).reduce(f64::max)?;
    let lowest = values.iter().map(|(_, value)| value.hi).reduce(f64::min)?;
    let disagree = lowest > 0.0 && highest > (1.0 + ALIKE) * lowest;
    disagree.then(|| Disagreement {
        quantity,
        values: values.into_iter().map(|(of, value)| (of, format!("{value} {unit}"))).collect(),
        cause,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_apart_by_more_than_its_doubt_disagrees() {
        let said = |of: &[(f64, f64)]| {
            let intervals = of.iter().map(|(lo, hi)| Some(Interval::new(*lo, *hi)));
            let values = ["the ladder", "D7", "X2"].into_iter().zip(intervals);
            apart("It", values, "ns", "Why.").map(|of| of.to_string())
        };
        assert_eq!(said(&[]), None);
        assert_eq!(said(&[(10.0, 11.0)]), None);
        assert_eq!(said(&[(10.0, 11.0), (10.5, 12.0)]), None);
        assert_eq!(said(&[(10.0, 11.0), (12.0, 13.0)]), None, "alike but for the loop");
        assert_eq!(
            said(&[(10.0, 10.0), (10.2, 10.4), (13.0, 13.0)]).unwrap(),
            "It has several values: 10 ns (the ladder), 10.3 [10.2, 10.4] ns (D7), 13 ns (X2). Why."
        );
    }
}
