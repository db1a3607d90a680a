//! Measures the selected experiments, once or in rounds, and writes the record during the run.

mod measure;
mod output;
mod quickest;
mod resume;
mod schedule;

pub use output::{Claim, MovedRecord, Recorder};
pub use quickest::{ladder_once, measure_cases, measure_ladder, measure_passes};
pub use resume::{Unfinished, same_machine};

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use super::analysis::Analysis;
use super::progress::Progress;
use super::record::{EndLine, Header, Line, PointLine, REPORT, Record};
use super::report;
use super::session::{Profile, Session};
use super::whole::{mark, write_whole};
use crate::experiment::{Case, Experiment, Machine, Point, Rig};
use crate::os::Pages;
use crate::recorded::machine_of;
use crate::time::Rate;
use measure::{Planned, RunState, cut_short, planned};
use schedule::Schedule;

/// The default folder of a run.
pub const OUT: &str = "linefill-out";

/// The inputs of a run.
#[derive(Debug)]
pub struct Run<'a> {
    /// The session in which the run measures.
    pub session: &'a Session,
    /// The experiments to measure.
    pub experiments: &'a [&'static Experiment],
    /// The points that an earlier session recorded.
    pub recorded: Vec<PointLine>,
    /// Ends the run before the next sample when it is set.
    pub stop: &'a AtomicBool,
}

/// The result of a run.
#[derive(Debug)]
pub struct Finished {
    /// The record and everything that follows from it.
    pub analysis: Analysis,
    /// Whether the run was stopped early.
    pub interrupted: bool,
    /// Path of the record. It differs from the initial path if the folder was removed during the run, or if
    /// the record was compressed.
    pub record: PathBuf,
    pub report: PathBuf,
    /// Why the record or the report is incomplete. A record that cannot be written ends the run. The
    /// verdicts are on the points that were measured.
    pub unwritten: Option<anyhow::Error>,
}

/// Measures until finished or stopped: first the ladder, then the cases. Then judges the claims and writes
/// the report beside the record. A record that cannot be written any more ends the run too.
pub fn run(mut run: Run<'_>, recorder: Recorder) -> Finished {
    let began = Instant::now();
    let header = &run.session.header;
    let recorded = std::mem::take(&mut run.recorded);
    let mut state = RunState::new(recorder, rig(run.session, run.stop), recorded);
    let measured = measure_all(&mut state, &run, began);

    let store = state.close();
    let mut recorder = store.recorder;
    let end = EndLine {
        seconds: header.earlier + began.elapsed().as_secs_f64(),
        interrupted: run.stop.load(Ordering::Relaxed) || measured.is_err(),
    };
    let analysis = Analysis::of(Record {
        points: store.points,
        end: Some(end.clone()),
        ..Record::new(header.clone())
    });

    // If a point is missing, no end is written, so that the run can be resumed.
    let closed = measured.and_then(|()| {
        let verdicts = analysis.verdicts.iter().cloned();
        let lines = verdicts.map(Line::Verdict).chain([Line::End(end.clone())]);
        for line in lines {
            recorder.append(&line)?;
        }
        recorder.sync()
    });
    // Rendering takes a while, and the folder may be removed meanwhile.
    let reported = page(&analysis).and_then(|page| {
        recorder.stay()?;
        write_page(&page, &recorder.path().with_file_name(REPORT))
    });
    let mut record = recorder.path().to_owned();
    let report = record.with_file_name(REPORT);
    // The record of a run of twenty minutes is ten times as large as the record of a quick run.
    if profile(header) == Profile::Full && !end.interrupted && closed.is_ok() {
        record = recorder.packed();
    }
    Finished {
        analysis,
        interrupted: end.interrupted,
        record,
        report,
        unwritten: closed.and(reported).err(),
    }
}

/// Measures the ladder and the cases.
fn measure_all(state: &mut RunState<'_>, run: &Run<'_>, began: Instant) -> Result<()> {
    let header = &run.session.header;
    let profile = profile(header);
    let passes = profile.effort().passes;
    // Arithmetic, the simulator and CPUID do not need the ladder.
    let machine = match run.experiments.iter().any(|of| of.is_of_this_machine()) {
        true => measure::machine(state, header, passes)?,
        false => machine_of(header, &[]),
    };
    let earlier = Duration::try_from_secs_f64(header.earlier).unwrap_or_default();
    let budget = header.budget.map(Duration::try_from_secs_f64);
    let budget = budget.and_then(Result::ok).unwrap_or(profile.length());
    let until = began + budget.saturating_sub(earlier);
    let first_until = began + budget.max(profile.length());
    let schedule = Schedule::with_looks(until, budget, first_until);
    measure::cases(state, &machine, run.experiments, passes, schedule, run.stop)
}

/// Returns the profile that a header names.
fn profile(header: &Header) -> Profile {
    Profile::named(&header.profile).unwrap_or_default()
}

/// Creates the rig that a session's header describes.
fn rig<'a>(session: &Session, stop: &'a AtomicBool) -> Rig<'a> {
    let header = &session.header;
    let pages = [Pages::Base, Pages::Huge, Pages::Giant]
        .into_iter()
        .find(|pages| Some(pages.to_string()) == header.pages);
    // A resumed run keeps the rate of its header, by which its first points were converted.
    let rate = Rate::from_hz(header.tick_hz);
    Rig::new(rate, session.context, profile(header).effort(), stop)
        .with_pages(pages)
        .with_node(header.node)
        .with_counters(session.counters.clone())
        .with_interrupts(session.interrupts)
}

/// Writes the report of a record.
///
/// # Errors
/// If the report cannot be built from the record, or the file cannot be written.
pub fn write_report(analysis: &Analysis, path: &Path) -> Result<()> {
    write_page(&page(analysis)?, path)
}

fn page(analysis: &Analysis) -> Result<String> {
    let page = report::render(&report::build(analysis)?);
    Ok(page + "\n" + &mark(&analysis.record.header))
}

fn write_page(page: &str, path: &Path) -> Result<()> {
    write_whole(path, page.as_bytes())
        .with_context(|| format!("cannot write the report `{}`", path.display()))
}

/// A selection of experiments that is measured in rounds.
///
/// All rounds use the same lists in the same pages, so that they differ only in time.
pub(crate) struct Rounds<'a> {
    rig: Rig<'a>,
    plan: Vec<Planned>,
    schedule: Schedule,
    stop: &'a AtomicBool,
}

impl<'a> Rounds<'a> {
    /// Plans the cases of `experiments` on this machine.
    pub fn of(
        session: &Session,
        machine: &Machine,
        experiments: &[&'static Experiment],
        stop: &'a AtomicBool,
    ) -> Self {
        let plan = planned(experiments, machine, 0);
        let mut schedule = Schedule::to(None);
        for (experiment, cases) in &plan {
            schedule.plan(experiment.id, cases);
        }
        Rounds { rig: rig(session, stop), plan, schedule, stop }
    }

    /// Returns the number of points of a round.
    pub fn points(&self) -> usize {
        self.plan.iter().map(|(_, cases)| cases.len()).sum()
    }

    /// Measures every case once. Shortens sampling if the round would otherwise not end by `until`. `None`
    /// if it was stopped before its end.
    pub fn measure(&mut self, until: Instant) -> Option<Vec<PointLine>> {
        let experiments: Vec<&Experiment> = self.plan.iter().map(|(of, _)| *of).collect();
        self.schedule.until(until);
        let mut points = Vec::new();
        for (index, (experiment, cases)) in self.plan.iter().enumerate() {
            let sampling = self.schedule.sampling(&experiments[index..], 0, &[]);
            self.rig.sample_for(sampling);
            let began = Instant::now();
            for case in cases {
                if self.stop.load(Ordering::Relaxed) {
                    return None;
                }
                let mut point = self.rig.measure(case).filter(|point| !cut_short(point))?;
                if let Some(measured) = point.measured_mut() {
                    measured.samples = Vec::new();
                }
                points.push(PointLine::new(experiment.id, 0, point));
            }
            self.schedule.took(experiment.id, began.elapsed(), sampling);
        }
        Some(points)
    }
}
