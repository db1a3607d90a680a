//! `linefill report`, and the end of `run`: prints the result of a record and its gates.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use super::{Status, gates, tell};
use crate::lab::analysis::Analysis;
use crate::lab::format::{Format, print};
use crate::lab::gate::RunGate;
use crate::lab::read::{read_any, record_at, warn};
use crate::lab::record::{REPORT, Record};
use crate::lab::report::build;
use crate::lab::run::{OUT, write_report};
use crate::lab::summary::Ending;
use crate::lab::watch::{Timeline, WatchSummary, write_page};
use crate::lab::whole::{is_free_for, is_no_input};

/// Render the report of a record again, and print its results.
///
/// Only the record is needed: it may come from another machine, from a run that was killed, or from the boot
/// image's serial port. The report shows the verdicts that the run decided at its end. A run that was killed is
/// judged now. For a record of `linefill watch` it draws the metrics over time.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  linefill report                                     the last run's
  linefill report --all                               with every verdict in full
  linefill report server.jsonl --out server.html      of a record from elsewhere
  linefill report --format junit > claims.xml         for continuous integration
  linefill report --fail-if 'D14 = does not hold'     exit 1 if a claim fails")]
pub(super) struct ReportArgs {
    /// A record, or the folder of a run.
    #[arg(default_value = OUT)]
    record: PathBuf,
    /// The file of the report [default: report.html beside the record, unless that is another record's].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    shown: Shown,
}

pub(super) fn report(args: &ReportArgs) -> Result<Status> {
    let gates = args.shown.gates()?;
    let record = record_at(&args.record);
    let reading = read_any(&record)?;
    warn(record.display(), reading.cut_off);
    let out = match &args.out {
        Some(out) => out.clone(),
        None => {
            let beside = record.with_file_name(REPORT);
            is_free_for(&beside, &record, &reading.record.header)?;
            beside
        }
    };
    is_no_input("--out", &out, [&*record])?;
    if reading.record.header.watch.is_some() {
        if !gates.is_empty() {
            bail!("--fail-if: a record of `linefill watch` has no verdicts");
        }
        if args.shown.all {
            bail!("--all: a record of `linefill watch` has no verdicts");
        }
        return over_time(args, reading.record, record, out);
    }
    let analysis = Analysis::of(reading.record);
    write_report(&analysis, &out)?;
    let shown = &args.shown;
    shown.print("linefill report", analysis, &gates, record, Some(out))
}

/// Renders the page of a record of `linefill watch`, and prints its summary.
fn over_time(args: &ReportArgs, record: Record, path: PathBuf, out: PathBuf) -> Result<Status> {
    let timeline = Timeline::of(&record);
    write_page(&record, &timeline, &out)?;
    let command = "linefill report";
    let summary = WatchSummary { command, record, timeline, path, page: Some(out) };
    print(&summary, args.shown.format)?;
    Ok(Status::Done)
}

/// What is printed at the end.
#[derive(Debug, clap::Args)]
pub(super) struct Shown {
    /// Print every verdict in full instead of a summary.
    #[arg(long)]
    all: bool,
    /// Exit with status 1 if this condition is true: `CLAIM = VERDICT` (or `!=`), or
    /// `FAMILY/EXPERIMENT/SERIES > VALUE` (or `<`). All names are globs. Repeat the option for several
    /// conditions.
    ///
    /// CLAIM names claims by their id, or by that of their experiment, its name, its family, its topic or its
    /// document: `D14.1`, `D14`, `streaming`, `drepper`. A value is in the unit of the plot, as
    /// `linefill show ID` prints it with the series. The first part may also be an experiment, or `walk` for
    /// list walks, and the last ones may be left out. The condition is true if the whole interval of any point
    /// lies beyond VALUE. One that matches nothing is an error (status 2).
    #[arg(long = "fail-if", value_name = "GATE")]
    gates: Vec<String>,
    /// The form of the output.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Shown {
    /// Parses the gates of `--fail-if`.
    pub fn gates(&self) -> Result<Vec<RunGate>> {
        gates(&self.gates)
    }

    /// Prints the result of a record and of the gates. Returns `Failed` if a gate failed.
    pub fn print(
        &self,
        command: &'static str,
        analysis: Analysis,
        gates: &[RunGate],
        record: PathBuf,
        report: Option<PathBuf>,
    ) -> Result<Status> {
        let mut outcomes = Vec::new();
        let mut missed = Ok(());
        if !gates.is_empty() {
            let view = build(&analysis)?;
            for gate in gates {
                match gate.judge(&analysis.verdicts, &view.sections) {
                    Ok(outcome) => outcomes.push(outcome),
                    Err(error) => missed = missed.and(Err(error)),
                }
            }
        }
        let ending = Ending { command, analysis, record, report, gates: outcomes, all: self.all };
        print(&ending, self.format)?;
        for outcome in &ending.gates {
            tell(outcome.in_words());
        }
        missed.context("--fail-if")?;
        let mut gates = ending.gates.iter();
        let passed = gates.all(|outcome| outcome.failures.is_empty());
        Ok(Status::if_passed(passed))
    }
}
