//! `linefill report`.

use std::path::PathBuf;

use anyhow::Result;

use super::{Status, say};
use crate::lab::analysis::Analysis;
use crate::lab::read::{read, record_at, warn};
use crate::lab::run::{REPORT, write_report};
use crate::lab::table::{disagreements, predictions, tally, verdicts, width};

/// Render the report of a record anew, and print its verdicts.
///
/// Needs the record alone: it may come from another machine, from a run that was killed, or from
/// the boot image's serial port. Verdicts are those that were decided when the run ended, or are decided now if it was killed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  linefill report linefill-out                        the last run's
  linefill report server.jsonl --out server.html      one that was brought from elsewhere")]
pub(super) struct Args {
    /// A record, or the folder of a run.
    record: PathBuf,
    /// Where the report goes [default: report.html beside the record].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> Result<Status> {
    let record = record_at(&args.record);
    let reading = read(&record)?;
    warn(record.display(), reading.cut_off);
    let analysis = Analysis::of(reading.record);
    let out = args
        .out
        .clone()
        .unwrap_or_else(|| record.with_file_name(REPORT));
    write_report(&analysis, &out)?;
    let lines = &analysis.verdicts;
    let text = match lines.is_empty() {
        true => "The record has no points of experiments that this version knows.".to_owned(),
        false => format!("{}\n\n{}", verdicts(lines, width()), tally(lines)),
    };
    let (apart, predicted) = (disagreements(&analysis), predictions(&analysis));
    say(&format!(
        "{text}\n{apart}{predicted}report: {}",
        out.display()
    ))?;
    Ok(Status::Done)
}
