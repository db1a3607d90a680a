//! Measures what was selected, and writes the record as it goes.

mod book;
mod measure;
mod output;
mod quickest;
mod resume;
mod schedule;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

pub use output::{Aside, RECORD, REPORT, Recorder};
pub use quickest::{measure_cases, measure_ladder};
pub use resume::{Unfinished, same_machine};

use super::convert::{machine_of, points_among};
use super::judge;
use super::progress::Progress;
use super::record::{EndLine, Header, Line, PointLine, VerdictLine};
use super::report;
use super::session::{Profile, Session};
use crate::experiment::{Case, Experiment, Machine, Point, Rig, State};
use crate::os::Pages;
use crate::time::Rate;
use measure::Notebook;
use schedule::Schedule;

/// What a run is made of.
#[derive(Debug)]
pub struct Run<'a> {
    /// The scene.
    pub session: &'a Session,
    /// What to measure.
    pub experiments: &'a [&'static Experiment],
    /// The points that an earlier session has recorded.
    pub recorded: Vec<PointLine>,
    /// Ends the run before the next sample once it is set.
    pub stop: &'a AtomicBool,
}

/// What came of a run.
#[derive(Debug)]
pub struct Finished {
    /// The verdicts.
    pub verdicts: Vec<VerdictLine>,
    /// Seconds that it took, earlier sessions included.
    pub seconds: f64,
    /// Whether it was stopped early.
    pub interrupted: bool,
    /// The report.
    pub report: PathBuf,
}

/// Runs to the end, or until stopped: measures the ladder and then the cases, judges the claims,
/// and writes the report beside the record.
///
/// # Errors
/// If the record or the report cannot be written.
pub fn run(run: Run<'_>, recorder: Recorder, dir: &Path) -> Result<Finished> {
    let began = Instant::now();
    let header = &run.session.header;
    let mut notebook = Notebook::new(recorder, rig(run.session, run.stop), run.recorded);

    let profile = profile(header);
    let passes = profile.effort().passes;
    let machine = measure::machine(&mut notebook, header, passes)?;
    let earlier = Duration::try_from_secs_f64(header.earlier).unwrap_or_default();
    let left = profile.length().map(|all| all.saturating_sub(earlier));
    let schedule = Schedule::to(left.map(|left| began + left));
    measure::cases(
        &mut notebook,
        &machine,
        run.experiments,
        passes,
        schedule,
        run.stop,
    )?;

    let mut book = notebook.close();
    let verdicts = verdicts(&book.points, &machine, run.experiments);
    for verdict in &verdicts {
        book.recorder.append(&Line::Verdict(verdict.clone()))?;
    }
    let end = EndLine {
        seconds: header.earlier + began.elapsed().as_secs_f64(),
        interrupted: run.stop.load(Ordering::Relaxed),
    };
    book.recorder.append(&Line::End(end.clone()))?;

    let mut lines = vec![Line::Header(Box::new(header.clone()))];
    lines.extend(book.points.into_iter().map(|p| Line::Point(Box::new(p))));
    lines.extend(verdicts.iter().cloned().map(Line::Verdict));
    lines.push(Line::End(end.clone()));
    let path = dir.join(REPORT);
    write_report(&lines, &path)?;
    Ok(Finished {
        verdicts,
        seconds: end.seconds,
        interrupted: end.interrupted,
        report: path,
    })
}

/// The profile that a header names.
fn profile(header: &Header) -> Profile {
    Profile::named(&header.profile).unwrap_or_default()
}

/// The rig that a session's header asks for.
fn rig<'a>(session: &Session, stop: &'a AtomicBool) -> Rig<'a> {
    let header = &session.header;
    let pages = [Pages::Base, Pages::Huge]
        .into_iter()
        .find(|pages| Some(pages.to_string()) == header.pages);
    // A resumed run keeps the rate of its header, by which its first points were converted.
    let rate = Rate::from_hz(header.tick_hz);
    Rig::new(rate, session.context, profile(header).effort(), stop)
        .with_pages(pages)
        .with_counters(session.counters.clone())
}

/// Writes the report on a record's lines.
///
/// # Errors
/// If the lines give no report, or the file cannot be written.
pub fn write_report(lines: &[Line], path: &Path) -> Result<()> {
    let view = report::of_record(lines)?;
    std::fs::write(path, report::render(&view))
        .with_context(|| format!("cannot write the report `{}`", path.display()))
}

/// The verdicts on all experiments of which a point was measured.
fn verdicts(
    lines: &[PointLine],
    machine: &Machine,
    experiments: &[&'static Experiment],
) -> Vec<VerdictLine> {
    let machine = judge::doubts(machine.clone(), |id| points_among(lines, id));
    let mut verdicts = Vec::new();
    for experiment in experiments {
        let points = points_among(lines, experiment.id);
        if !points.is_empty() {
            verdicts.extend(judge::verdicts(experiment, &machine, &points));
        }
    }
    verdicts
}
