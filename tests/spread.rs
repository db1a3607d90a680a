//! By how much the passes of a recorded run differ, and what a point with one pass makes of it.
#![cfg(feature = "lab")]

use linefill::experiment::{Case, Machine, Pass, Point, Rest, State, find};
use linefill::lab::convert::{ladder_of, machine_of, points_of};
use linefill::lab::judge::doubts;
use linefill::lab::read::read;
use linefill::stats::Interval;

/// The machine of the last record, and its walk in memory.
fn recorded() -> (Machine, Point, usize) {
    let records = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("records");
    let reading = read(&records.join("2026-11-22-zen4-guest.jsonl")).unwrap();
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
fn with(point: &Point, rests: &[Rest]) -> Point {
    let mut point = point.clone();
    let State::Measured(of) = &mut point.state else {
        panic!("not measured");
    };
    let interval = Interval::exact(100.0).widened(0.01);
    let pass = |&rest: &Rest| Pass { interval, rest };
    of.passes = rests.iter().map(pass).collect();
    of.ticks.interval = interval;
    of.rest = rests[0];
    point
}

#[test]
fn a_point_with_one_pass_is_doubted_as_the_passes_of_others_differ() {
    let (machine, far, bytes) = recorded();
    let doubt = |rests: &[Rest], bytes| {
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
        doubt(&[Rest::Alone, Rest::Disturbed], near),
        doubt(&[Rest::Alone, Rest::Disturbed], bytes),
    );
    assert!((0.0099..0.03).contains(&alone), "{alone}");
    assert!((0.03..0.5).contains(&memory), "{memory}");
    // Two passes that count show it themselves; one that was all there was to be, or none that
    // counts, is not spoken of.
    for rests in [
        &[Rest::Alone, Rest::Alone][..],
        &[Rest::Alone],
        &[Rest::Disturbed, Rest::Disturbed],
    ] {
        assert!((doubt(rests, bytes) - 0.01).abs() < 1e-9, "{rests:?}");
    }
}

#[test]
fn without_points_nothing_is_known_and_nothing_doubted() {
    let (machine, far, bytes) = recorded();
    let machine = doubts(machine, |_| Vec::new());
    let before = with(&far, &[Rest::Alone, Rest::Disturbed]);
    assert_eq!(machine.spread.doubt(&machine, &before, bytes), before);
}
