//! `linefill export`.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::Status;
use crate::lab::compare::names_of;
use crate::lab::export::{Form, What, available, export};
use crate::lab::read::Reading;
use crate::lab::read::{read, read_any, record_at, warn};
use crate::lab::record::Record;
use crate::lab::terminal::finished;
use crate::lab::whole::write_whole_by;

/// Write records as one table, for DuckDB, pandas, R or a spreadsheet.
///
/// A row is a measured point, a point of a drawn curve, a verdict, a figure of a round, or a record with its
/// machine and settings; the first columns say of which record. docs/FORMAT.md documents the columns. Records are
/// read one at a time.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  linefill export > points.csv                                the last run's points
  linefill export fleet/*.jsonl --what machines --out machines.csv
  linefill export fleet/*.jsonl --format parquet --out points.parquet
  duckdb -c \"SELECT record, value FROM 'points.parquet' WHERE experiment = 'D14'\"")]
pub(super) struct Args {
    /// Records, or folders of runs.
    #[arg(default_value = crate::lab::run::OUT, value_name = "RECORD")]
    records: Vec<PathBuf>,
    /// What a row is.
    #[arg(long, value_enum, default_value_t)]
    what: What,
    /// The form of the table.
    #[arg(long, value_enum, default_value_t)]
    format: Form,
    /// The file for the table [default: the standard output].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Reads a record over time.
fn rounds_of(path: &Path) -> Result<Reading> {
    let reading = read_any(path)?;
    if reading.record.header.watch.is_none() {
        bail!(
            "--what rounds: {} is the record of a run, which has no rounds; `linefill watch` makes records of rounds",
            path.display()
        );
    }
    Ok(reading)
}

pub(super) fn run(args: &Args) -> Result<Status> {
    available(args.format)?;
    let names = names_of(&args.records);
    let records = args.records.iter().zip(names).map(|(path, name)| {
        let path = record_at(path);
        let reading = match args.what {
            What::Machines => read_any(&path)?,
            What::Rounds => rounds_of(&path)?,
            What::Points | What::Curves | What::Verdicts => read(&path)?,
        };
        warn(&name, reading.cut_off);
        Ok::<(String, Record), anyhow::Error>((name, reading.record))
    });
    match &args.out {
        Some(out) => {
            write_whole_by(out, |file| export(records, args.what, args.format, file))
                .with_context(|| format!("cannot write the table `{}`", out.display()))?;
        }
        None if args.format == Form::Parquet => {
            bail!("--format parquet is no text: --out names a file for it")
        }
        None => {
            let written = export(records, args.what, args.format, &mut io::stdout());
            match written.map_err(anyhow::Error::downcast::<io::Error>) {
                Err(Ok(error)) => finished(Err(error))?,
                Err(Err(error)) => return Err(error),
                Ok(()) => {}
            }
        }
    }
    Ok(Status::Done)
}
