//! The distance at which a prefetch pays, by the work at each node, and prefetches that come late.

use crate::experiment::prelude::*;
use crate::experiment::topics::prefetch::swprefetch::{PLAIN, WORK, by_t0, setup};
use crate::model::{step_with_prefetch, steps_ahead};
use crate::pmu::Quantity;

/// An amount of work per node.
struct Dial {
    /// Multiplications per node, 3 core cycles each.
    work: u32,
    /// The series of the walks with a prefetch (`series`) and of the walk in L1d (`near`), and the
    /// curve of the model.
    series: &'static str,
    near: &'static str,
    model: &'static str,
    /// Distances that a quick run measures, in nodes.
    distances: &'static [usize],
}

const DIALS: [Dial; 3] = [
    Dial {
        work: 16,
        series: "48 cycles of work per node",
        near: "48 cycles of work, in L1d, no prefetch",
        model: "48 cycles, latency over distance",
        distances: &[4, 8, 12, 16, 32],
    },
    Dial {
        work: WORK,
        series: "159 cycles of work per node",
        near: "159 cycles of work, in L1d, no prefetch",
        model: "159 cycles, latency over distance",
        distances: &[1, 2, 3, 4, 5, 6, 8, 16, 64, 128],
    },
    Dial {
        work: 160,
        series: "480 cycles of work per node",
        near: "480 cycles of work, in L1d, no prefetch",
        model: "480 cycles, latency over distance",
        distances: &[1, 2, 3],
    },
];

const EVERY: &[usize] = &[1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 32, 48, 64, 96, 128];

impl Dial {
    fn distances(&self, machine: &Machine) -> &'static [usize] {
        if machine.full { EVERY } else { self.distances }
    }

    /// Returns the time of a step without misses: the work, the load, and finding the next node.
    fn step(&self, e: &Evidence<'_>) -> Testable<Reading> {
        e.at(self.near, NONE)
    }
}

/// Place of walks without a prefetch on the axis. They are not drawn.
const NONE: f64 = 0.0;

pub(crate) const DISTANCE: Experiment = Experiment {
    id: "E27",
    name: "drepper-6.3-prefetch",
    title: "How far ahead to prefetch",
    question: "From which distance on does a prefetch hide the latency of memory?",
    source: "Drepper 6.3: prefetching hides latency if it starts early enough; the walk is that \
             of Figure 6.7",
    about: "A random walk in memory works at each node and prefetches the node some steps ahead. \
            The axis is that distance, and each curve has another amount of work per node. With d \
            prefetches under way, one line arrives per d-th part of the latency. A step therefore \
            takes its work or the latency over the distance, whichever is longer; the model's \
            curves show this. Latency over work, rounded up, is the distance that the formula \
            asks for. If the work is so short that this is a dozen nodes, the number of fill \
            buffers of the core may limit the prefetches in flight.",
    plot: Some(Plot::cycles(Axis::log("nodes ahead"), Axis::log("time per node"))),
    cases,
    curves,
    events: events::PREFETCHES,
    claims: &[
        measured(
            "E27.1",
            ours("a prefetch is at most as early as the work before the node is long"),
            "in a random walk, a prefetch one node ahead hides at most 1.25 times as much of the \
             latency as the work per node takes",
            |e| {
                let latency = latency(e)?;
                all_of(DIALS[1..].iter().map(|dial| {
                    let work = dial.step(e)?;
                    let hidden = minus(plus(&latency, &work), e.at(dial.series, 1.0)?);
                    let what = format!("hidden over work, {}", dial.series);
                    at_most(&what, signed_ratio(hidden, work), 1.25)
                }))
            },
        ),
        // The document: with 160 cycles of work per node, five nodes are enough. In its Figure 6.7, the
        // prefetch hides 5 to 12 % of the latency beyond L2.
        measured(
            "E27.2",
            ours(
                "the document says that five nodes ahead are enough, and its figure hides a tenth \
                 of the latency",
            ),
            "in a random walk, a prefetch at a distance of latency over work, rounded up, hides \
             at least four fifths of the latency",
            |e| {
                let latency = latency(e)?;
                let mut parts = Vec::new();
                for dial in &DIALS {
                    let work = dial.step(e)?;
                    let (_, enough) = formula(*latency, *work);
                    let mut distances = dial.distances(e.machine).iter();
                    let Some(&distance) = distances.find(|d| **d >= enough as usize) else {
                        return Err(Untestable(format!(
                            "the formula asks for {enough} nodes ahead, more than any distance \
                             that was measured with {}",
                            dial.series
                        )));
                    };
                    let hidden = minus(&latency, minus(e.at(dial.series, distance as f64)?, work));
                    let what = format!("hidden over latency, {}, {distance} ahead", dial.series);
                    parts.push(at_least(&what, signed_ratio(hidden, &latency), 0.8));
                }
                all_of(parts)
            },
        ),
        measured(
            "E27.3",
            ours(
                "with too few prefetches under way to hide the latency, each line takes an equal \
                 share of it",
            ),
            "with a prefetch at most half as far ahead as latency over work, a node of a random \
             walk takes the latency over the distance, within a quarter",
            |e| {
                let latency = latency(e)?;
                let mut parts = Vec::new();
                for dial in &DIALS {
                    let (enough, _) = formula(*latency, *dial.step(e)?);
                    for &distance in dial.distances(e.machine) {
                        if 2 * distance > enough as usize {
                            break;
                        }
                        let whole = e.at(dial.series, distance as f64)?.scaled(distance as f64);
                        let what = format!("time times distance over latency, {distance} ahead");
                        parts.push(between(&what, ratio(whole, &latency), 0.75, 1.25));
                    }
                }
                all_of(parts)
            },
        ),
        measured(
            "E27.4",
            ours("is the shortest distance that pays the distance of the formula?"),
            "the shortest distance of a prefetch at which a node of a random walk takes no more \
             than 1.1 times the best time is latency over work, rounded up, within a factor of 1.5",
            |e| {
                let latency = latency(e)?;
                all_of(DIALS.iter().map(|dial| {
                    let (least, most) = formula(*latency, *dial.step(e)?);
                    let formula = Interval::new(least.into(), most.into());
                    let nodes = |of: Interval| match of.lo == of.hi {
                        true => format!("{:.0}", of.lo),
                        false => format!("{:.0} to {:.0}", of.lo, of.hi),
                    };
                    let found = nearest_good(e, dial)?;
                    let what = format!("formula over measured, {}", dial.series);
                    let judged = between(&what, ratio(formula, found), 0.667, 1.5)?;
                    let [formula, found] = [formula, found].map(nodes);
                    let numbers = format!(
                        "{}, {formula} nodes by the formula, {found} measured",
                        judged.numbers
                    );
                    Ok(Judgement { numbers, ..judged })
                }))
            },
        )
        .failing(
            "The latency is a mean, and many lines take longer: a distance somewhat beyond the \
             formula also covers them.",
        ),
    ],
    ..Experiment::PLAIN
};

/// Returns the time that a miss adds to a step that waits for it.
fn latency(e: &Evidence<'_>) -> Testable<Reading> {
    e.machine.memory_size()?;
    let latency = minus(e.at(PLAIN, NONE)?, DIALS[1].step(e)?);
    if latency.lo <= 0.0 {
        return Err(Untestable(format!(
            "a miss in memory costs {latency} core cycles, which is too little to judge",
        )));
    }
    Ok(latency)
}

/// Returns the least and the greatest distance that the model gives for the measured intervals.
fn formula(latency: Interval, work: Interval) -> (u32, u32) {
    (steps_ahead(latency.lo, work.hi), steps_ahead(latency.hi, work.lo))
}

/// Returns the least distance at which a node takes no more than 1.1 times the best time.
fn nearest_good(e: &Evidence<'_>, dial: &Dial) -> Testable<Interval> {
    const GOOD: f64 = 1.1;
    let time = |&distance: &usize| Ok((distance as f64, *e.at(dial.series, distance as f64)?));
    let times = dial.distances(e.machine).iter().map(time).collect::<Testable<Vec<_>>>()?;
    let best = times.iter().map(|point| point.1).reduce(Interval::least);
    let best = best.ok_or_else(|| Untestable("no distance was measured".to_owned()))?;
    let first_good = times.iter().position(|point| point.1.hi <= GOOD * best.lo);
    let last = times.len() - 1;
    let hi = first_good.unwrap_or(last);
    // The last distance that is certainly too short. The next may be long enough.
    let near = times[..hi].iter().rposition(|point| point.1.lo > GOOD * best.hi);
    let lo = near.map_or(times[0].0, |index| times[index].0 + 1.0);
    Ok(Interval::new(lo, times[hi].0))
}

fn cases(machine: &Machine) -> Vec<Case> {
    let far = machine.in_memory();
    let near = machine.middle_of(machine.ranges.l1);
    let mut cases = vec![Case::new(PLAIN, NONE, setup(machine, far, WORK, None))];
    for dial in &DIALS {
        let walk = |bytes, ahead| setup(machine, bytes, dial.work, ahead);
        cases.push(Case::new(dial.near, NONE, walk(near, None)));
        for &distance in dial.distances(machine) {
            cases.push(Case::new(dial.series, distance as f64, walk(far, by_t0(distance))));
        }
    }
    cases
}

/// Returns the walks with a prefetch, and the model's times for them.
fn curves(e: &Evidence<'_>) -> Vec<Curve> {
    let mut curves = Vec::new();
    for dial in &DIALS {
        let Ok(points) = e.series(dial.series) else { continue };
        if let (Ok(latency), Ok(work)) = (latency(e), dial.step(e)) {
            let modelled = |&(x, _): &(f64, Interval)| {
                let distance = x as u32;
                let lo = step_with_prefetch(latency.lo, work.lo, distance);
                (x, Interval::new(lo, step_with_prefetch(latency.hi, work.hi, distance)))
            };
            let points = points.iter().map(modelled).collect();
            curves.push(Curve { label: dial.model.to_owned(), points });
        }
        curves.push(Curve { label: dial.series.to_owned(), points });
    }
    curves
}

pub(crate) static LATE: &[Experiment] = &[COUNTED];

const IN_MEMORY: &str = "in memory";
const IN_L1: &str = "in L1d";

/// Distances of the prefetch, in nodes.
const DISTANCES: [usize; 5] = [1, 2, 5, 8, 16];

/// The document's distance, in nodes.
const FIVE: f64 = 5.0;

const COUNTED: Experiment = Experiment {
    id: "E40",
    name: "prefetch-counters",
    title: "Useful, late and idle software prefetches, counted",
    question: "How many software prefetches fetch a line, and how many of them come too late?",
    source: "Drepper 6.3.2 and 7.1: of the software prefetches of a matrix multiplication, 2.84 % \
             were useful and 2.65 % late; late prefetches are 48 % of the two together",
    about: "The walk is the random walk of Figure 6.7 with one prefetch per node, so events per \
            step are events per prefetch. The axis is the number of nodes between the walk and \
            its prefetch. A prefetch is late if its line is under way when the program \
            loads it; it then hides only a part of the miss. At short distances most prefetches \
            should be late, at long distances few. Intel counts loads that meet a late prefetch; \
            AMD has no such event. AMD counts prefetches that fetched nothing; Intel since Ice \
            Lake counts prefetches that found their line in L2.",
    plot: Some(Plot::cycles(Axis::log("nodes ahead"), Axis::log("time per step"))),
    cases: |machine| {
        let case = |series, distance, bytes| {
            Case::new(series, distance as f64, setup(machine, bytes, WORK, by_t0(distance)))
        };
        let far = DISTANCES.map(|distance| case(IN_MEMORY, distance, machine.in_memory()));
        let near = case(IN_L1, FIVE as usize, machine.middle_of(machine.ranges.l1));
        far.into_iter().chain([near]).collect()
    },
    events: events::PREFETCHES,
    claims: &[
        counted(
            "E40.1",
            ours(
                "the event must count the prefetches of a walk with a known number of them, or \
                 the other counts mean nothing",
            ),
            "a walk with one prefetch per node counts 0.98 to 1.02 software prefetches per step",
            |e| {
                let executed = e.count(IN_MEMORY, FIVE, Quantity::SoftwarePrefetches)?;
                between("prefetches per step", executed, 0.98, 1.02)
            },
        ),
        counted(
            "E40.2",
            ours(
                "the document counts useful prefetches: the event must tell a list in memory from \
                 a list in L1d",
            ),
            "of the software prefetches 5 nodes ahead of a random walk, more than half fetch a \
             line if the list lies in memory, and fewer than 5 % if it lies in L1d",
            |e| {
                let useful = |series| e.count(series, FIVE, Quantity::UsefulPrefetches);
                all_of([
                    at_least("useful in memory", useful(IN_MEMORY), 0.5),
                    at_most("useful in L1d", useful(IN_L1), 0.05),
                ])
            },
        ),
        counted(
            "E40.3",
            ours("the event must tell a distance that is too short from one that is long enough"),
            "of the software prefetches of a random walk in memory, more than half are late 1 \
             node ahead, and fewer than a tenth 16 nodes ahead",
            |e| {
                all_of([
                    at_least("late 1 ahead", late(e, 1.0), 0.5),
                    at_most("late 16 ahead", late(e, 16.0), 0.1),
                ])
            },
        ),
        counted(
            "E40.4",
            ours(
                "section 7.1 of the document found 48 % late in another program, a matrix \
                 multiplication",
            ),
            "of the software prefetches 5 nodes ahead of a random walk in memory, 30 to 66 % are \
             late",
            |e| between("late 5 ahead", late(e, FIVE), 0.3, 0.66),
        ),
    ],
    ..Experiment::PLAIN
};

/// Returns the loads per step that met a prefetch under way, with the list in memory.
fn late(e: &Evidence<'_>, ahead: f64) -> Testable<Interval> {
    e.count(IN_MEMORY, ahead, Quantity::LatePrefetches)
}
