//! What a recorded run makes doubtful: by how much its passes differ, for a point with one, and how near
//! its CPUs were to each other, for a point whose threads were far apart.
#![cfg(feature = "lab")]

use linefill::experiment::{Case, Machine, Pass, Point, Quality, State, Verdict, find};
use linefill::lab::convert::{ladder_of, machine_of, points_of};
use linefill::lab::judge::{doubts, judge};
use linefill::lab::read::{Reading, read};
use linefill::stats::Interval;

/// The last record.
fn last() -> Reading {
    let records = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("records");
    read(&records.join("2026-11-22-zen4-guest.jsonl")).unwrap()
}

/// Its machine, and its walk in memory.
fn recorded() -> (Machine, Point, usize) {
    let reading = last();
    let lines = &reading.lines;
    let machine = machine_of(reading.header(), &ladder_of(lines));
    let machine = doubts(machine, |id| points_of(lines, id));
    let of_d19 = (find("D19").unwrap().cases)(&machine);
    let points = points_of(lines, "D19").into_iter();
    let walks = points.filter(|point| point.series == "random");
    let far = walks.max_by(|a, b| a.x.total_cmp(&b.x)).unwrap();
    let same = |case: &&Case| far.series == case.series && far.x == case.x;
    let bytes = of_d19.iter().find(same).unwrap().setup.bytes();
    (machine, far, bytes)
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
    let (machine, far, bytes) = recorded();
    let doubt = |rests: &[Quality], bytes| {
        let point = machine.spread.doubt(&machine, &with(&far, rests), bytes);
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
    // Two passes that count show it themselves; one that was all there was to be, or none that
    // counts, is not spoken of.
    for rests in [
        &[Quality::Clean, Quality::Clean][..],
        &[Quality::Clean],
        &[Quality::Disturbed, Quality::Disturbed],
    ] {
        assert!((doubt(rests, bytes) - 0.01).abs() < 1e-9, "{rests:?}");
    }
}

#[test]
fn without_points_nothing_is_known_and_nothing_doubted() {
    let (machine, far, bytes) = recorded();
    let machine = doubts(machine, |_| Vec::new());
    let before = with(&far, &[Quality::Clean, Quality::Disturbed]);
    assert_eq!(machine.spread.doubt(&machine, &before, bytes), before);
}

/// The points with their first two threads on CPUs 0 and 1, so many ticks apart.
fn apart(mut points: Vec<Point>, ticks: f64) -> Vec<Point> {
    for point in &mut points {
        if let State::Measured(measured) = &mut point.state
            && let Some(crew) = measured.crew.as_mut().filter(|crew| crew.members > 1)
        {
            crew.pair = Some([0, 1]);
            crew.round_trip = Some(ticks);
        }
    }
    points
}

/// False sharing at a distance that the host had for once says little of the nearest cores.
#[test]
fn what_was_far_apart_beside_the_rest_of_the_run_is_judged_with_doubt() {
    let reading = last();
    let lines = &reading.lines;
    let of = |id: &str, ticks: f64| apart(points_of(lines, id), ticks);
    let verdict = |f1: f64, f2: f64| {
        let machine = machine_of(reading.header(), &ladder_of(lines));
        let machine = doubts(machine, |id| match id {
            "F1" => of("F1", f1),
            "F2" => of("F2", f2),
            _ => Vec::new(),
        });
        judge(find("F1").unwrap(), &machine, &of("F1", f1))[0].verdict
    };
    assert_eq!(verdict(200.0, 200.0), Verdict::Holds);
    assert_eq!(verdict(600.0, 600.0), Verdict::Holds, "as far as ever");
    assert_eq!(verdict(600.0, 200.0), Verdict::Inconclusive);
}
