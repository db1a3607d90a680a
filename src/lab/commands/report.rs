//! `linefill report`.

use std::path::PathBuf;

use anyhow::Result;

use super::{Status, say, tell};
use crate::lab::judge;
use crate::lab::read::read;
use crate::lab::report::of_record;
use crate::lab::run::{RECORD, REPORT, write_report};
use crate::lab::table::{predictions, tally, verdicts, width};

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
    let record = match args.record.is_dir() {
        true => args.record.join(RECORD),
        false => args.record.clone(),
    };
    let reading = read(&record)?;
    if let Some(line) = reading.cut_off {
        tell(format_args!(
            "warning: {}, line {line}, was cut off and is left out: the run was killed as it wrote it",
            record.display()
        ));
    }
    let out = args
        .out
        .clone()
        .unwrap_or_else(|| record.with_file_name(REPORT));
    write_report(&reading.lines, &out)?;
    let lines = judge::of_record(&reading.lines);
    let text = match lines.is_empty() {
        true => "The record has no points of experiments that this version knows.".to_owned(),
        false => format!("{}\n\n{}", verdicts(&lines, width()), tally(&lines)),
    };
    let predicted = predictions(&of_record(&reading.lines)?);
    say(&format!("{text}\n{predicted}report: {}", out.display()))?;
    Ok(Status::Done)
}
