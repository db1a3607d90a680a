//! A record over time that is made up, for tests.

use crate::lab::read::parse;
use crate::lab::record::{Record, RoundLine};

/// A run of D14 on a machine made up for it.
const RUN: &[u8] = include_bytes!("../../../tests/fixtures/record/planted.jsonl");

/// Rounds ten seconds apart of that run's D14, whose times round by round are longer by `slower`.
pub(crate) fn planted(rounds: u64, slower: impl Fn(u64) -> f64) -> Record {
    let run = parse(RUN).unwrap().record;
    let mut record = Record::new(run.header);
    record.header.watch = Some(10.0);
    let (mut lines, ladder): (Vec<_>, Vec<_>) = run
        .points
        .into_iter()
        .filter(|line| line.pass == 0 && ["D14", "machine"].contains(&line.experiment.as_str()))
        .partition(|line| line.experiment == "D14");
    record.points = ladder;
    for line in &mut lines {
        line.point.measured_mut().unwrap().samples.clear();
    }
    for number in 0..rounds {
        // Noise of half a percent, the same in every test.
        let noise = 1.0 + 0.001 * (number * 7 % 10) as f64 - 0.005;
        let factor = slower(number) * noise;
        let mut points = lines.clone();
        for line in &mut points {
            let ticks = &mut line.point.measured_mut().unwrap().ticks;
            ticks.median *= factor;
            ticks.min *= factor;
            ticks.interval = ticks.interval.scaled(factor);
        }
        record.rounds.push(RoundLine {
            number,
            started: record.header.started + 10 * number,
            at: 10.0 * number as f64,
            took: 1.0,
            points,
        });
    }
    record
}
