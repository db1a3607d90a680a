//! `linefill report`.

use std::path::PathBuf;

use anyhow::Result;

use super::Status;
use super::ending::Shown;
use crate::lab::analysis::Analysis;
use crate::lab::read::{read, record_at, warn};
use crate::lab::run::{OUT, REPORT, write_report};

/// Render the report of a record again, and print what it comes to.
///
/// Needs the record alone: it may come from another machine, from a run that was killed, or from
/// the boot image's serial port. It shows the verdicts that the run itself
/// decided at its end; a run that was killed is judged now.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  linefill report                                     the last run's
  linefill report --all                               with every verdict in full
  linefill report server.jsonl --out server.html      of a record from elsewhere
  linefill report --format junit > claims.xml         for continuous integration
  linefill report --fail-if 'D14 = does not hold'     exit 1 if a claim fails")]
pub(super) struct Args {
    /// A record, or the folder of a run.
    #[arg(default_value = OUT)]
    record: PathBuf,
    /// Where the report goes [default: report.html beside the record].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    shown: Shown,
}

pub(super) fn run(args: &Args) -> Result<Status> {
    let gates = args.shown.gates()?;
    let record = record_at(&args.record);
    let reading = read(&record)?;
    warn(record.display(), reading.cut_off);
    let analysis = Analysis::of(reading.record);
    let beside = || record.with_file_name(REPORT);
    let out = args.out.clone().unwrap_or_else(beside);
    write_report(&analysis, &out)?;
    let shown = &args.shown;
    shown.print("linefill report", analysis, &gates, record, Some(out))
}
