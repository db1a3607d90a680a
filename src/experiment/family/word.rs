//! Drepper 3.5.2, critical word load: Figure 3.30.

use super::explain;
use crate::experiment::evidence::ratio;
use crate::experiment::setup::{FieldsSetup, WalkSetup};
use crate::experiment::{
    Axis, Case, Claim, Curve, Evidence, Experiment, Plot, Range, Reference, Shape, Unit,
    Untestable, all_of, at_least, between, plain_curves, side_by_side,
};
use crate::kernel::Direction;
use crate::pattern::{Layout, Order};
use crate::stats::Interval;

/// The figures of this family.
pub(super) static ALL: &[Experiment] = &[FIG_3_30, STRUCT_RULES];

const PAIRS: [(&str, &str, &str); 2] = [
    (
        "sequential",
        "sequential, first word",
        "sequential, last word",
    ),
    ("random", "random, first word", "random, last word"),
];

const FIG_3_30: Experiment = Experiment {
    id: "D42",
    name: "drepper-fig-3.30",
    title: "The pointer in the first word of the line, or in the last",
    question: "Does a walk wait longer for the last word of a line than for the first?",
    source: "Drepper 3.5.2, Figure 3.30",
    today: "The paper found 0.7 % with a memory bus that sent eight bytes at a time. A line now \
            crosses the fabric in one or two pieces of 32 or 64 bytes and the memory controller \
            sends the wanted word first, so the position of the word should not show.",
    plot: Some(Plot {
        shape: Shape::Lines,
        x: Axis::WORKING_SET,
        y: Axis::linear("slowdown of the last word"),
        unit: Unit::Percent,
        reference: &[Reference {
            file: "drepper-fig-3.30.csv",
            machine: "Core 2 (2007); the paper plots the slowdown downwards",
            x: "working_set_bytes",
            columns: &[("Sequential", "sequential"), ("Random", "random")],
        }],
    }),
    cases: |machine| {
        let seed = machine.seed;
        let first = Layout::npad(7);
        let last = first.pointer_in_word(7);
        let orders = [Order::Sequential, Order::Random { seed }];
        // The two that are compared are measured one after the other.
        let sizes = machine.few_working_sets(2);
        let mut cases = Vec::new();
        for ((_, with_first, with_last), order) in PAIRS.into_iter().zip(orders) {
            for &bytes in &sizes {
                for (series, layout) in [(with_first, first), (with_last, last)] {
                    let setup = WalkSetup::follow(layout, bytes, order);
                    cases.push(Case::new(series, bytes as f64, setup).in_turn());
                }
            }
        }
        cases
    },
    curves: |e| {
        PAIRS
            .iter()
            .filter_map(|(label, first, last)| slowdown(e, label, first, last))
            .collect()
    },
    events: explain::WALK,
    claims: &[Claim {
        text: "in memory the position of the word matters little: less than 2 % between first and \
               last",
        judge: |e| {
            let memory = e.machine.ranges.memory;
            let mut parts = Vec::new();
            for (label, first, last) in PAIRS {
                let slower = paired(e, last, first, memory)?;
                parts.push(between(
                    &format!("last over first word, {label}"),
                    slower,
                    0.98,
                    1.02,
                ));
            }
            Ok(all_of(parts))
        },
    }],
};

const DIRECTIONS: [(&str, Direction); 2] = [
    ("in the order of the definition", Direction::Ascending),
    ("in the opposite order", Direction::Descending),
];

const STRUCT_RULES: Experiment = Experiment {
    id: "E13",
    name: "drepper-struct-rules",
    title: "Fields read in the order of their definition, or backwards",
    question: "Does it pay to read the fields of a structure in the order in which they lie?",
    source: "Drepper 6.2.1, the two rules on structures: the critical word first, and access in \
             the order of definition",
    today: "Both rules follow from lines that arrive piece by piece. They arrive whole now, so \
            what is left is the walk itself: all eight loads of a line wait for the same miss, and \
            the one that the next step needs must not come last among them, where the CPU is busy \
            with the others.",
    plot: Plot::over_working_set(&[]),
    cases: |machine| {
        let seed = machine.seed;
        let mut cases = Vec::new();
        for bytes in machine.few_working_sets(2) {
            for (series, direction) in DIRECTIONS {
                let setup = FieldsSetup {
                    working_set: bytes,
                    order: Order::Random { seed },
                    direction,
                };
                cases.push(Case::new(series, bytes as f64, setup).in_turn());
            }
        }
        cases
    },
    curves: plain_curves,
    events: explain::WALK,
    claims: &[Claim {
        text: "in memory reading the fields backwards costs more than 2 %",
        judge: |e| {
            let memory = e.machine.ranges.memory;
            let slower = paired(e, DIRECTIONS[1].0, DIRECTIONS[0].0, memory)?;
            Ok(at_least("backwards over forwards", slower, 1.02))
        },
    }],
};

/// So many points are too few for the ends of their median to be those of a 95 % interval: that takes
/// six, of which the least and the greatest are its ends.
const FEW: usize = 6;

/// The ratio of two series that were measured in turn on the same memory in the same order: the
/// median over the range of the points' [ratios](paired_points), or all that these come to if they
/// are few.
pub(super) fn paired(
    e: &Evidence<'_>,
    of: &str,
    to: &str,
    range: Range,
) -> Result<Interval, Untestable> {
    let inside: Vec<Interval> = paired_points(e, of, to)?
        .into_iter()
        .filter(|(x, _)| range.holds(*x))
        .map(|(_, ratio)| ratio)
        .collect();
    let together = match inside.len() {
        0..FEW => inside.into_iter().reduce(Interval::hull),
        _ => Interval::median_of(&inside),
    };
    together.ok_or_else(|| {
        Untestable(format!(
            "`{of}` and `{to}` have no point in common in the {range}"
        ))
    })
}

/// The ratios of two series that were measured in turn, point by point from left to right.
///
/// What differs between layouts, physical pages and minutes is the same in both, so each pass
/// gives a ratio of its own, and a point's ratio is all that its passes come to. Half a percent of
/// doubt remains, which is what it takes to keep a ratio that lies on its threshold from deciding
/// by its third digit.
pub(super) fn paired_points(
    e: &Evidence<'_>,
    of: &str,
    to: &str,
) -> Result<Vec<(f64, Interval)>, Untestable> {
    // The series' own reasons, if they have no points.
    e.series(of)?;
    e.series(to)?;
    let bases = e.pass_by_pass(to);
    let mut ratios = Vec::new();
    for (x, passes) in e.pass_by_pass(of) {
        let Some((_, base)) = bases.iter().find(|point| point.0 == x) else {
            continue;
        };
        let each: Vec<Interval> = side_by_side([&passes, base])
            .into_iter()
            .map(|[of, to]| ratio(of, to))
            .collect::<Result<_, _>>()?;
        let together = each.into_iter().reduce(Interval::hull);
        ratios.extend(together.map(|ratio| (x, ratio.widened(0.005))));
    }
    Ok(ratios)
}

/// What one series takes of another's at `x`, pass by pass.
///
/// # Errors
/// If one of them was not measured there; with the point's own reason if it was untestable.
pub(super) fn paired_at(
    e: &Evidence<'_>,
    of: &str,
    to: &str,
    x: f64,
) -> Result<Interval, Untestable> {
    let points = paired_points(e, of, to)?;
    if let Some((_, ratio)) = points.into_iter().find(|point| point.0 == x) {
        return Ok(ratio);
    }
    e.at(of, x).and_then(|_| e.at(to, x))?;
    Err(Untestable(format!(
        "`{of}` and `{to}` have no pass in common at {x}"
    )))
}

/// By how many percent `slow` exceeds `base`, point by point.
pub(super) fn slowdown(e: &Evidence<'_>, label: &str, base: &str, slow: &str) -> Option<Curve> {
    let bases = e.series(base).ok()?;
    let points = e
        .series(slow)
        .ok()?
        .into_iter()
        .filter_map(|(x, value)| {
            let (_, base) = bases.iter().find(|point| point.0 == x)?;
            let over = value.ratio(*base)?;
            let percent = |factor: f64| (factor - 1.0) * 100.0;
            Some((x, Interval::new(percent(over.lo), percent(over.hi))))
        })
        .collect();
    Some(Curve {
        label: label.to_owned(),
        points,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Machine, Measured, Point, Ranges, Rest, Seating, State, merged};
    use crate::kernel::Work;
    use crate::measure::Ended;
    use crate::stats::Summary;
    use crate::time::Rate;

    fn timed(series: &str, median: f64) -> Point {
        let mut values = [0.999, 1.0, 1.001].map(|share| share * median);
        Point {
            series: series.into(),
            x: 4096.0,
            state: State::Measured(Box::new(Measured {
                ticks: Summary::of(&mut values).unwrap(),
                core_per_tick: Some(1.0),
                operations: 100,
                work: Work::default(),
                samples: Vec::new(),
                disturbed: 0,
                rest: Rest::Alone,
                ended: Ended::Precise,
                pages: "4 KiB".into(),
                passes: Vec::new(),
                counts: Vec::new(),
                crew: None,
            })),
        }
    }

    #[test]
    fn drift_that_both_series_share_cancels() {
        let machine = Machine {
            caches: Vec::new(),
            load_to_use: None,
            seating: Seating::default(),
            ports: None,
            counting: crate::experiment::Counting::default(),
            rate: Rate::from_hz(2e9),
            seed: 1,
            ladder: Vec::new(),
            calibration: crate::experiment::Calibration::default(),
            spread: crate::experiment::Spread::default(),
            ways: crate::experiment::Ways::default(),
            ranges: Ranges::from_ladder(&[], [None; 3]),
            largest: 1 << 30,
            full: false,
        };
        // Everything takes twice as long in the second pass.
        let passes = [("a", 10.0), ("b", 11.0), ("a", 20.0), ("b", 22.0)];
        let points = merged(passes.map(|(series, time)| timed(series, time)).to_vec());
        let evidence = Evidence {
            machine: &machine,
            points: &points,
            unit: Unit::CoreCycles,
        };
        let range = Range {
            lo: 0.0,
            hi: f64::INFINITY,
        };
        let slower = paired(&evidence, "b", "a", range).unwrap();
        assert!(slower.lo > 1.09 && slower.hi < 1.11, "{slower}");
    }
}
