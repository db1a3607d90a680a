//! What a recorded run makes doubtful: points of one undisturbed pass, as far as passes of others differ,
//! and points whose threads were far apart.
#![cfg(feature = "lab")]

use linefill::experiment::{Case, Doubt, Machine, Pass, Point, Quality, State, Verdict, find};
use linefill::lab::analysis::Analysis;
use linefill::lab::read::read;
use linefill::lab::record::{MACHINE, Record};
use linefill::stats::Interval;

/// The last record.
fn last() -> Record {
    let records = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("records");
    read(&records.join("2026-11-22-zen4-guest.jsonl"))
        .unwrap()
        .record
}

/// Its machine, the doubt about its points, and its walk in memory.
fn recorded() -> (Machine, Doubt, Point, usize) {
    let Analysis {
        machine, answers, ..
    } = Analysis::of(last());
    let points = answers.iter().map(|of| (of.experiment, of.points.clone()));
    let doubt = Doubt::of(&machine, &points.collect::<Vec<_>>());
    let of_d19 = (find("D19").unwrap().cases)(&machine);
    let mut answers = answers.into_iter();
    let answer = answers.find(|answer| answer.experiment.id == "D19");
    let points = answer.unwrap().points.into_iter();
    let walks = points.filter(|point| point.series == "random");
    let far = walks.max_by(|a, b| a.x.total_cmp(&b.x)).unwrap();
    let same = |case: &&Case| case.is_at(&far);
    let bytes = of_d19.iter().find(same).unwrap().setup.bytes();
    (machine, doubt, far, bytes)
}

/// The point with such passes, 1 % wide.
fn with(point: &Point, rests: &[Quality]) -> Point {
    let mut point = point.clone();
    let State::Measured(of) = &mut point.state else {
        panic!("not measured");
    };
    let interval = Interval::exact(100.0).widened(0.01);
    let pass = |&quality: &Quality| Pass { interval, quality };
    of.passes = rests.iter().map(pass).collect();
    of.ticks.interval = interval;
    of.quality = rests[0];
    point
}

#[test]
fn a_point_with_one_pass_is_doubted_as_the_passes_of_others_differ() {
    let (machine, of_run, far, bytes) = recorded();
    let doubt = |rests: &[Quality], bytes| {
        let point = of_run.apply(&machine, &with(&far, rests), bytes);
        let State::Measured(measured) = &point.state else {
            panic!("{point:?}");
        };
        let interval = measured.ticks.interval;
        (interval.hi - interval.lo) / 2.0 / interval.middle()
    };
    let near = 8192;
    // Two passes in memory lie further apart than two in L1d.
    let (alone, memory) = (
        doubt(&[Quality::Clean, Quality::Disturbed], near),
        doubt(&[Quality::Clean, Quality::Disturbed], bytes),
    );
    assert!((0.0099..0.03).contains(&alone), "{alone}");
    assert!((0.03..0.5).contains(&memory), "{memory}");
    // Two undisturbed passes show it themselves, and one without another is not spoken of.
    for rests in [&[Quality::Clean, Quality::Clean][..], &[Quality::Clean]] {
        assert!((doubt(rests, bytes) - 0.01).abs() < 1e-9, "{rests:?}");
    }
    // Two disturbed passes have the doubt of disturbed ones and no other: from 0.4 * 99 to 101.
    let disturbed = doubt(&[Quality::Disturbed, Quality::Disturbed], bytes);
    assert!((disturbed - (101.0 - 39.6) / (101.0 + 39.6)).abs() < 1e-9);
}

#[test]
fn without_points_nothing_is_known_and_nothing_doubted() {
    let (machine, _, far, bytes) = recorded();
    let doubt = Doubt::of(&machine, &[]);
    let before = with(&far, &[Quality::Clean, Quality::Disturbed]);
    let after = doubt.apply(&machine, &before, bytes);
    let ticks = |point: &Point| point.measured().unwrap().ticks;
    assert_eq!(ticks(&after), ticks(&before));
}

/// What F1 and F2 alone come to, with the first two threads of each on CPUs 0 and 1, so many ticks apart.
fn apart(f1: f64, f2: f64) -> Analysis {
    let mut record = last();
    record.verdicts.clear();
    let kept = [MACHINE, "F1", "F2"];
    record
        .points
        .retain(|line| kept.contains(&line.experiment.as_str()));
    for line in &mut record.points {
        let ticks = if line.experiment == "F1" { f1 } else { f2 };
        if let Some(measured) = line.point.measured_mut()
            && let Some(crew) = measured.crew.as_mut().filter(|crew| crew.members > 1)
        {
            crew.pair = Some([0, 1]);
            crew.round_trip = Some(ticks);
        }
    }
    Analysis::of(record)
}

/// False sharing at a distance that the host had for once says little of the nearest cores.
#[test]
fn what_was_far_apart_beside_the_rest_of_the_run_is_judged_with_doubt() {
    let verdict = |f1, f2| apart(f1, f2).answer("F1").unwrap().claims[0].verdict;
    assert_eq!(verdict(200.0, 200.0), Verdict::Holds);
    assert_eq!(verdict(600.0, 600.0), Verdict::Holds, "as far as ever");
    assert_eq!(verdict(600.0, 200.0), Verdict::Inconclusive);
}
