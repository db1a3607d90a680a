//! Measures a few figures over time, in rounds. Draws them in the terminal after every round. `linefill
//! report` draws them as charts.

mod log;
mod page;
mod screen;
mod timeline;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use log::{Log, MOST_POINTS};
pub(crate) use screen::WatchSummary;
pub(crate) use timeline::Timeline;

use super::date;
use super::record::{EndLine, Header, MACHINE, PointLine, REPORT, Record, RoundLine};
use super::run::{MovedRecord, Recorder, Rounds, ladder_once};
use super::session::Session;
use super::terminal::tell;
use super::whole::{mark, write_whole};
use crate::experiment::Experiment;
use crate::os::clock::pause;
use crate::recorded::machine_of;
use screen::Live;

pub const OUT: &str = "linefill-watch";

/// The longest sleep before the next check whether to stop.
const NAP: Duration = Duration::from_millis(50);

pub(crate) struct Watch<'a> {
    pub session: &'a Session,
    pub experiments: &'a [&'static Experiment],
    /// Time from the start of a round to the start of the next.
    pub every: Duration,
    /// The number of rounds; `None` if they do not end the watch.
    pub rounds: Option<u64>,
    /// The time after which no round begins; `None` if time does not end the watch.
    pub time: Option<Duration>,
    pub out: PathBuf,
    /// Whether to print every round.
    pub aloud: bool,
    /// Ends the watch before the next sample when it is set.
    pub stop: &'a AtomicBool,
}

/// Measures rounds until the watch ends, and writes the page.
///
/// # Errors
/// If the selection has no point on this machine or too many points, or the record cannot be written.
pub(crate) fn watch(watch: &Watch<'_>) -> Result<WatchSummary> {
    let began = Instant::now();
    Recorder::check(&watch.out)?;
    let header = Header {
        watch: Some(watch.every.as_secs_f64()),
        passes: 0,
        budget: None,
        ..watch.session.header.clone()
    };
    let ladder = ladder_once(watch.session, watch.stop);
    let machine = machine_of(&header, &ladder);
    let mut rounds = Rounds::of(watch.session, &machine, watch.experiments, watch.stop);
    let points = rounds.points();
    // After a stopped ladder there are no cases; the record then says that the watch was stopped.
    if points == 0 && !watch.stop.load(Ordering::Relaxed) {
        bail!("the selection has no case on this machine: nothing to follow");
    }
    if points > MOST_POINTS {
        bail!(
            "the selection has {points} points, and a round at most {MOST_POINTS}: name fewer \
             experiments"
        );
    }
    let mut record = Record::new(header);
    record.points = ladder.into_iter().map(|point| PointLine::new(MACHINE, 0, point)).collect();
    let (mut log, aside) = Log::create(&watch.out, record)?;
    if let Some(MovedRecord { record, .. }) = aside {
        tell(format_args!("the earlier record is now {}", record.display()));
    }
    let followed = follow(watch, &mut rounds, &mut log);
    let interrupted = watch.stop.load(Ordering::Relaxed);
    let end = EndLine { seconds: began.elapsed().as_secs_f64(), interrupted };
    followed.and_then(|()| log.end(end))?;
    let path = log.path().to_owned();
    let page = if log.record.rounds.is_empty() { None } else { Some(path.with_file_name(REPORT)) };
    if let Some(page) = &page {
        write_page(&log.record, &log.timeline, page)?;
    }
    let Log { record, timeline, .. } = log;
    Ok(WatchSummary { command: "linefill watch", record, timeline, path, page })
}

/// Measures and records the rounds.
fn follow(watch: &Watch<'_>, rounds: &mut Rounds<'_>, log: &mut Log) -> Result<()> {
    let mut live = watch.aloud.then(Live::new);
    let first = Instant::now();
    let mut due = first;
    let mut late = false;
    for number in 0.. {
        let over = watch.rounds.is_some_and(|most| number >= most)
            || watch.time.is_some_and(|time| due.duration_since(first) >= time);
        if over || !sleep_until(due, watch.stop) {
            return Ok(());
        }
        let (began, started) = (Instant::now(), date::now());
        let Some(points) = rounds.measure(due + watch.every) else { return Ok(()) };
        let took = began.elapsed();
        log.add(RoundLine {
            number,
            started,
            at: began.duration_since(first).as_secs_f64(),
            took: took.as_secs_f64(),
            points,
        })?;
        // A lost reader must not end the measurement: only an error at the end is reported.
        live = live.and_then(|mut live| {
            live.round(&log.timeline, took.as_secs_f64()).is_ok().then_some(live)
        });
        // A round that takes too long delays the next round. No later round makes up for it.
        due = (due + watch.every).max(Instant::now());
        if took > watch.every && !late {
            late = true;
            tell(format_args!(
                "warning: a round takes {:.1} s, longer than --every {} s; the next begins at once",
                took.as_secs_f64(),
                watch.every.as_secs()
            ));
        }
    }
    Ok(())
}

/// Sleeps until `due`. Returns `false` if it was stopped.
fn sleep_until(due: Instant, stop: &AtomicBool) -> bool {
    loop {
        if stop.load(Ordering::Relaxed) {
            return false;
        }
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        pause(left.min(NAP));
    }
}

/// Writes the page of a watch's record.
pub(crate) fn write_page(
    record: &Record,
    timeline: &Timeline,
    path: &std::path::Path,
) -> Result<()> {
    let page = page::render(record, timeline) + "\n" + &mark(&record.header);
    write_whole(path, page.as_bytes())
        .with_context(|| format!("cannot write the report `{}`", path.display()))
}

/// Creates a test record of D14: rounds ten seconds apart, each slower by the factor `slower` of its number.
#[cfg(test)]
pub(crate) fn planted(rounds: u64, slower: impl Fn(u64) -> f64) -> Record {
    let run = include_bytes!("../../../tests/fixtures/record/planted.jsonl");
    let run = super::read::parse(run).unwrap().record;
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
