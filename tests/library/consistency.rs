//! One quantity, one value: compares what the experiments of a run report about the same quantity.
#![cfg(feature = "lab")]

use linefill::experiment::{
    Evidence, Experiment, LADDER, LAPS, Machine, Point, Range, Unit, Untestable, Verdict, find,
    find_claim, merged,
};
use linefill::lab::consistency::{disagreements, last_level_latency, share};
use linefill::stats::Interval;

use crate::verdicts::machines::{MIB, known};
use crate::verdicts::planted::{Planted, Value, time};

/// The time of a load on a machine whose last level ends at `end` for this walk.
fn load(machine: &Machine, x: f64, end: f64) -> Value {
    let ends = machine.ranges.capacities.iter().map(|of| of.usable());
    let ends: Vec<f64> = ends.collect();
    time(match x {
        x if x <= ends[0] => 4.0,
        x if x <= ends[1] => 14.0,
        x if x <= end => 60.0,
        _ => 400.0,
    })
}

/// The points of an experiment on that machine.
fn points(machine: &Machine, id: &str, end: f64) -> (&'static Experiment, Vec<Point>) {
    let planted = Planted::new(id, machine, |_, x| load(machine, x, end));
    (find(id).unwrap(), planted.points)
}

#[test]
fn walks_that_leave_the_last_level_elsewhere_disagree_once() {
    let [server, ..] = known();
    let run = |walk: f64, jumps: f64| {
        [points(&server, "D8", walk * MIB), points(&server, "B12", jumps * MIB)]
    };
    let alike = run(24.0, 24.0);
    assert_eq!(share(&server, &[], &alike), None);
    assert!(disagreements(&server, &[], &alike).is_empty());
    let apart = run(6.0, 24.0);
    let range = share(&server, &[], &apart).expect("a factor of four");
    assert!((4.0..9.0).contains(&(range.lo / MIB)), "{range}");
    assert!((20.0..35.0).contains(&(range.hi / MIB)), "{range}");
    let [said] = &disagreements(&server, &[], &apart)[..] else {
        panic!("one quantity disagrees");
    };
    let said = said.to_string();
    for part in ["leaves the last level", "(D8, walking)", "(B12, walking)"] {
        assert!(said.contains(part), "{said}");
    }
}

/// Further passes measure what claims read, and leave out working sets between.
#[test]
fn a_pass_over_a_few_points_shows_no_end_of_the_level() {
    let [server, ..] = known();
    let both = |walk: f64| {
        let (experiment, points) = points(&server, "D8", walk * MIB);
        let far = |point: &&Point| point.x < 0.1 * MIB || point.x > 100.0 * MIB;
        let few: Vec<Point> = points.iter().filter(far).cloned().collect();
        assert!(few.len() > 2 && few.len() < points.len());
        [(experiment, merged([points, few].concat())), self::points(&server, "B12", 24.0 * MIB)]
    };
    assert_eq!(share(&server, &[], &both(24.0)), None);
    assert!(share(&server, &[], &both(6.0)).is_some());
}

#[test]
fn a_rise_far_beyond_the_level_is_no_end_of_it() {
    let [server, ..] = known();
    let planted = Planted::new("D8", &server, |_, x| match x {
        x if x > 100.0 * MIB => time(600.0),
        x => load(&server, x, 24.0 * MIB),
    });
    let disturbed = (find("D8").unwrap(), planted.points);
    let run = [disturbed, points(&server, "B12", 24.0 * MIB)];
    assert_eq!(share(&server, &[], &run), None);
}

#[test]
fn a_rise_of_accesses_to_memory_is_no_end_of_the_level() {
    let [server, ..] = known();
    let ladder = ladder(&server, LADDER, 4.0 * MIB);
    let run = |after: f64| {
        let planted = Planted::new("D8", &server, |_, x| match x {
            x if x > 40.0 * MIB => time(after),
            x => load(&server, x, 4.0 * MIB),
        });
        [(find("D8").unwrap(), planted.points)]
    };
    assert_eq!(share(&server, &ladder, &run(600.0)), None);
    assert_eq!(share(&server, &ladder, &run(400.0)), None);
}

#[test]
fn nothing_is_judged_in_the_last_level_where_it_is_chance() {
    let [server, ..] = known();
    let (experiment, points) = points(&server, "B12", 24.0 * MIB);
    let claim = find_claim("B12.2").unwrap();
    let sure = Evidence::new(&server, &points, experiment.unit());
    assert_eq!(claim.decide(&sure).verdict, Verdict::Holds);
    let by_chance = Evidence { uncertain: Some(Range { lo: 3.0 * MIB, hi: 40.0 * MIB }), ..sure };
    let judgement = claim.decide(&by_chance);
    assert_eq!(judgement.verdict, Verdict::Untestable, "{judgement:?}");
    assert!(judgement.numbers.contains("by chance"), "{judgement:?}");
}

#[test]
fn the_size_of_the_last_level_is_not_judged_where_it_is_chance() {
    let [server, ..] = known();
    let (experiment, points) = points(&server, "D8", 24.0 * MIB);
    let claim = find_claim("D8.2").unwrap();
    let sure = Evidence::new(&server, &points, experiment.unit());
    assert_eq!(claim.decide(&sure).verdict, Verdict::Holds);
    let decided = |lo: f64, hi: f64| {
        let uncertain = Some(Range { lo: lo * MIB, hi: hi * MIB });
        claim.decide(&Evidence { uncertain, ..sure })
    };
    let judgement = decided(3.0, 40.0);
    assert_eq!(judgement.verdict, Verdict::Untestable, "{judgement:?}");
    assert!(judgement.numbers.contains("by chance"), "{judgement:?}");
    // The last level has 30 MiB.
    assert_eq!(decided(3.0, 20.0).verdict, Verdict::Holds);
}

/// Returns a ladder whose walks leave the last level at `end`, in bytes.
fn ladder(machine: &Machine, name: &str, end: f64) -> Vec<Point> {
    let (_, mut points) = points(machine, "D8", end);
    points.retain(|point| point.series == "random Inc, NPAD=15");
    for point in &mut points {
        point.series = name.to_owned();
    }
    points
}

/// The latency of the last level from walks that stay in it up to `from_memory` and `from_caches`, next to a
/// ladder whose walks do not stay in it at all.
fn latency(from_memory: f64, from_caches: f64) -> Result<Interval, Untestable> {
    let [server, ..] = known();
    let mut ladder_and_laps = ladder(&server, LADDER, 0.0);
    ladder_and_laps.extend(ladder(&server, LAPS[0].1, from_memory));
    ladder_and_laps.extend(ladder(&server, LAPS[1].1, from_caches));
    last_level_latency(&server, &ladder_and_laps, Unit::CoreCycles)
}

#[test]
fn the_latency_of_the_last_level_is_that_of_walks_that_stay_there() {
    for [from_memory, from_caches] in [[24.0, 24.0], [8.0, 24.0], [24.0, 8.0]] {
        let found = latency(from_memory * MIB, from_caches * MIB).unwrap();
        let middle = found.middle();
        assert!((55.0..65.0).contains(&middle), "{from_memory}, {from_caches}: {found}");
    }
}

#[test]
fn a_crowded_l2_is_not_the_last_level() {
    let [server, ..] = known();
    let mut crowded = (*server).clone();
    let l2 = &mut crowded.ranges.capacities[1];
    let reported = l2.reported.unwrap();
    l2.measured = Some(reported / 3.0);
    // Walks that take 20 cycles in L2 and 60 behind it.
    let laps = |series: &str| {
        let mut points = ladder(&server, series, 24.0 * MIB);
        for point in points.iter_mut().filter(|point| point.x < 1.5 * reported) {
            let measured = point.measured_mut().unwrap();
            measured.ticks.interval = measured.ticks.interval.scaled(1.0 / 3.0);
        }
        points
    };
    let mut all = ladder(&server, LADDER, 0.0);
    all.extend(LAPS.iter().flat_map(|(_, series)| laps(series)));
    let found = last_level_latency(&crowded, &all, Unit::CoreCycles).unwrap();
    assert!((55.0..65.0).contains(&found.middle()), "{found}");
}

#[test]
fn a_last_level_in_which_no_walk_stays_has_no_latency() {
    let Untestable(reason) = latency(0.0, 24.0 * MIB).unwrap_err();
    assert!(reason.contains("others use it"), "{reason}");
}

/// The value of each point, by its series and x.
type Values<'a> = &'a dyn Fn(&str, f64) -> f64;

/// The disagreements of a run whose experiments have these values.
fn said_of(machine: &Machine, run: &[(&str, Values<'_>)]) -> String {
    let of_each = run.iter().map(|(id, takes)| {
        let planted = Planted::new(id, machine, |series, x| time(takes(series, x)));
        (find(id).unwrap(), planted.points)
    });
    let of_each: Vec<_> = of_each.collect();
    let said = disagreements(machine, &[], &of_each).into_iter();
    said.map(|of| of.to_string()).collect()
}

#[test]
fn bandwidths_of_memory_are_compared() {
    let [server, ..] = known();
    let said = |other: f64| {
        let (one, other) = (|_: &str, _| 50.0, move |_: &str, _| other);
        said_of(&server, &[("D36", &one), ("E5", &other)])
    };
    // D36 is planted in bytes per cycle, at about 3 cycles per nanosecond, and E5 in GB/s.
    assert!(!said(150.0).contains("reads memory"), "{}", said(150.0));
    for other in [100.0, 200.0] {
        let said = said(other);
        assert!(said.contains("(D36)") && said.contains("(E5)"), "{said}");
    }
}

#[test]
fn upgrades_are_compared() {
    let [server, ..] = known();
    let said = |upgrade: f64| {
        // Fenced additions, and additions in sequence, to own lines; a line that another core has read.
        let d24 = |series: &str, _| match series {
            _ if !series.contains("fence") => 14.0,
            _ if series.contains("has read") => 110.0,
            _ => 55.0,
        };
        let x13 = |series: &str, x| match x {
            _ if !series.contains("fence") => 14.0,
            3.0 => 55.0 + upgrade,
            _ => 55.0,
        };
        said_of(&server, &[("D24", &d24), ("X13", &x13)])
    };
    assert!(!said(55.0).contains("upgrade"), "{}", said(55.0));
    for upgrade in [20.0, 300.0] {
        let said = said(upgrade);
        assert!(said.contains("(D24)") && said.contains("(X13)"), "{said}");
    }
}
