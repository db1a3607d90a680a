//! Doubt about the results of a recorded run: the value estimated from few passes, given how passes of
//! similar points differ, and points whose threads were far apart.
#![cfg(feature = "lab")]

use linefill::experiment::{Case, Doubt, Machine, Pass, Point, Quality, State, find};
use linefill::lab::analysis::Analysis;
use linefill::lab::record::MACHINE;
use linefill::stats::{Interval, Summary};

use super::records::last;

/// The record's machine, the doubt about its points, and its walk in memory.
fn recorded() -> (Machine, Doubt, Point, usize) {
    let analysis = last().analysis();
    let machine = analysis.machine.clone();
    let points = analysis.answers.iter().map(|of| (of.experiment, of.points.clone()));
    let doubt = Doubt::of(&machine, &points.collect::<Vec<_>>());
    let of_d19 = (find("D19").unwrap().cases)(&machine);
    let points = analysis.answer("D19").unwrap().points.iter();
    let walks = points.filter(|point| point.series == "random");
    let far = walks.max_by(|a, b| a.x.total_cmp(&b.x)).unwrap().clone();
    let same = |case: &&Case| case.is_at(&far);
    let bytes = of_d19.iter().find(same).unwrap().setup.bytes();
    (machine, doubt, far, bytes)
}

/// The point with passes of these qualities, 1 % wide.
fn with(point: &Point, rests: &[Quality]) -> Point {
    let mut point = point.clone();
    let State::Measured(of) = &mut point.state else {
        panic!("not measured");
    };
    let interval = Interval::exact(100.0).widened(0.01);
    let pass = |(&quality, number): (&Quality, u32)| Pass {
        number,
        interval,
        quality,
        core_per_tick: of.core_per_tick,
        slowed: None,
        spread: None,
    };
    of.passes = rests.iter().zip(0..).map(pass).collect();
    of.ticks.interval = interval;
    of.quality = rests[0];
    point
}

/// The relative half width of the interval that claims are judged on.
fn doubt_of(run: &Doubt, machine: &Machine, point: &Point, bytes: usize) -> f64 {
    let judged = run.apply(find("D19").unwrap(), machine, point, bytes);
    judged.measured().unwrap().ticks.interval.doubt()
}

#[test]
fn passes_are_doubted_as_those_of_similar_points_differ() {
    let (machine, of_run, far, bytes) = recorded();
    let doubt = |rests: &[Quality], bytes| doubt_of(&of_run, &machine, &with(&far, rests), bytes);
    let near = 8192;
    // One undisturbed pass is less certain in memory than in L1d, and two are more certain than one.
    let one = [Quality::Clean, Quality::Disturbed];
    let (cached, memory) = (doubt(&one, near), doubt(&one, bytes));
    assert!(0.01 < cached && cached < memory, "{cached} {memory}");
    let mut before = memory;
    for passes in [2, 3, 5, 10] {
        let now = doubt(&[Quality::Clean; 10][..passes], bytes);
        assert!(now < before, "{passes} passes: {now}, and {before} before");
        before = now;
    }
    // A point of one pass is as uncertain as one of which one pass counts.
    let mut alone = with(&far, &[Quality::Clean]);
    alone.measured_mut().unwrap().passes.clear();
    let judged = doubt_of(&of_run, &machine, &alone, bytes);
    assert!((judged / memory - 1.0).abs() < 0.1, "{judged} {memory}");
    // A number that is known exactly stays exact.
    let ticks = &mut alone.measured_mut().unwrap().ticks;
    *ticks = Summary::exact(ticks.median);
    assert_eq!(doubt_of(&of_run, &machine, &alone, bytes), 0.0);
    // Without the disturbance, a disturbed pass may have taken half as long.
    let disturbed = doubt(&[Quality::Disturbed, Quality::Disturbed], bytes);
    assert!(disturbed > 0.3, "{disturbed}");
}

/// Claims are judged on the estimated value, but figures show the observed passes.
#[test]
fn the_points_of_an_answer_keep_the_spread_of_their_passes() {
    let Analysis { answers, .. } = last().analysis();
    let mut compared = 0;
    for point in answers.iter().flat_map(|answer| &answer.points) {
        let Some(measured) = point.measured() else {
            continue;
        };
        let quality = measured.quality;
        let passes = measured.passes.iter().filter(|pass| pass.quality == quality);
        let spread = passes.map(|pass| pass.interval).reduce(Interval::hull);
        compared += usize::from(spread.is_some());
        assert!(spread.is_none_or(|spread| spread == measured.ticks.interval));
    }
    assert!(compared > 1000, "{compared} points");
}

/// If 2N operations take less time than N, both passes may agree on a negative value.
#[test]
fn a_negative_time_is_no_time() {
    let (machine, run, far, bytes) = recorded();
    let of_passes = |middle: f64, width: f64| {
        let mut point = with(&far, &[Quality::Clean; 2]);
        let State::Measured(of) = &mut point.state else {
            panic!("not measured");
        };
        let interval = Interval::new(middle - width, middle + width);
        of.passes.iter_mut().for_each(|pass| pass.interval = interval);
        of.ticks.interval = interval;
        run.apply(find("D19").unwrap(), &machine, &point, bytes)
    };
    let State::Untestable(reason) = of_passes(-10.0, 2.0).state else {
        panic!("it counts");
    };
    assert!(reason.to_string().contains("came out negative"), "{reason}");
    // The result is near zero, because an empty run was subtracted.
    assert!(of_passes(-1.0, 2.0).measured().is_some());
}

#[test]
fn without_points_passes_differ_as_those_of_the_kept_records() {
    let (machine, _, far, bytes) = recorded();
    let nothing = Doubt::of(&machine, &[]);
    let one = with(&far, &[Quality::Clean, Quality::Disturbed]);
    let doubt = doubt_of(&nothing, &machine, &one, bytes);
    assert!((0.05..0.15).contains(&doubt), "{doubt}");
}

/// An analysis of only F1 and F2. The first two threads of each are on CPUs 0 and 1, with this round trip in
/// ticks.
fn apart(f1: f64, f2: f64) -> Analysis {
    let mut record = last().record().clone();
    record.verdicts.clear();
    let kept = [MACHINE, "F1", "F2"];
    record.points.retain(|line| kept.contains(&line.experiment.as_str()));
    for line in &mut record.points {
        let ticks = if line.experiment == "F1" { f1 } else { f2 };
        if let Some(measured) = line.point.measured_mut()
            && let Some(stats) = measured.thread_stats.as_mut().filter(|stats| stats.workers > 1)
        {
            stats.pair = Some([0, 1]);
            stats.round_trip = Some(ticks);
        }
    }
    Analysis::of(record)
}

/// If the cores were far apart only in this experiment, its result says little about the nearest cores.
#[test]
fn what_was_far_apart_beside_the_rest_of_the_run_is_judged_with_doubt() {
    let disturbed = |f1, f2| {
        let analysis = apart(f1, f2);
        let points = analysis.answer("F1").unwrap().points.iter();
        let threads = points.filter_map(Point::measured).filter(|of| {
            let stats = of.thread_stats.as_ref();
            stats.is_some_and(|stats| {
                stats.workers == stats.cpus && stats.misplaced.is_none() && stats.workers > 1
            })
        });
        let qualities: Vec<Quality> = threads.map(|of| of.quality).collect();
        assert!(!qualities.is_empty());
        qualities.iter().all(|of| *of == Quality::Disturbed)
    };
    assert!(!disturbed(200.0, 200.0));
    assert!(!disturbed(600.0, 600.0), "as far as ever");
    assert!(disturbed(600.0, 200.0));
}
