//! Commands that show or convert records: `linefill show`, `linefill export`, `linefill gallery`.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::Status;
use crate::cpu::Identity;
use crate::experiment::{Experiment, find_claim};
use crate::lab::analysis::Analysis;
use crate::lab::answer::machine_name;
use crate::lab::compare::{label, load, names_of};
use crate::lab::export::{self, Form, What};
use crate::lab::format::{Format, print};
use crate::lab::gallery;
use crate::lab::read::{Reading, read, read_any, record_at, warn};
use crate::lab::record::{RECORD, Record};
use crate::lab::report::build;
use crate::lab::run::OUT;
use crate::lab::selection::select;
use crate::lab::show::{Row, Shown};
use crate::lab::terminal::finished;
use crate::lab::whole::{is_no_input, write_whole_by};
use crate::recorded::core_of;

/// Show everything about an experiment: its claims, the numbers, a plot, its text and its source.
///
/// The numbers come from a record, by default that of the last run. Without a record, or if the record does not
/// have the experiment, the claims and the text are shown alone.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  linefill show D14                     of the last run
  linefill show D14.2                   the same, by the id of a claim
  linefill show D19 --record records/2026-11-25-zen4-guest.jsonl.zst
  linefill show 'E1*'                   some
  linefill show --all                   all that the record has")]
pub(super) struct ShowArgs {
    /// Ids of experiments or claims, names, globs of these, families or topics. Put globs in quotes.
    #[arg(value_name = "ID, GLOB OR FAMILY", required_unless_present = "all")]
    patterns: Vec<String>,
    /// Show every experiment that the record has.
    #[arg(long, conflicts_with = "patterns")]
    all: bool,
    /// A record, or the folder of a run [default: linefill-out].
    #[arg(long, value_name = "RECORD")]
    record: Option<PathBuf>,
    /// The form of the output.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn show(args: &ShowArgs) -> Result<Status> {
    let ids = |text: &String| match find_claim(&text.to_ascii_uppercase()) {
        Some(claim) => claim.id.split('.').next().unwrap_or(claim.id).to_owned(),
        None => text.clone(),
    };
    let patterns: Vec<String> = args.patterns.iter().map(ids).collect();
    let experiments = select(&patterns)?;
    let folder = args.record.clone().unwrap_or_else(|| OUT.into());
    let record = match folder.exists() || args.record.is_some() {
        true => record_at(&folder),
        false => folder.join(RECORD),
    };
    let name = record.display();
    let analysis = if args.record.is_some() || record.exists() {
        let reading = read(&record)?;
        warn(&name, reading.cut_off);
        Some(Analysis::of(reading.record))
    } else if args.all {
        bail!("there is no {name}; `linefill run` makes one, and --record names another");
    } else {
        None
    };
    let (mut sections, machine, core) = match &analysis {
        Some(analysis) => {
            let machine = machine_name(&analysis.record).to_string();
            (build(analysis)?.sections, Some(machine), core_of(&analysis.record.header.cpu))
        }
        None => (Vec::new(), None, Identity::detect().core()),
    };
    let mut row = |experiment: &'static Experiment| {
        let at = sections.iter().position(|section| section.id == experiment.id);
        Row { experiment, section: at.map(|at| sections.swap_remove(at)) }
    };
    let mut rows: Vec<Row> = experiments.into_iter().map(&mut row).collect();
    if args.all {
        rows.retain(|row| row.section.is_some());
    }
    let missing = rows.iter().filter(|row| row.section.is_none());
    let missing: Vec<&str> = missing.map(|row| row.experiment.id).collect();
    let run = format!("`linefill run {}` measures", missing.join(" "));
    let record = match (&analysis, &missing[..]) {
        (None, _) => {
            format!("No numbers: there is no {name}. {run} them; --record names another record.")
        }
        (_, []) => format!("From {name}"),
        (_, [one]) => format!("{one} is not in {name}: {run} it. From it"),
        (_, _) => format!("{} of these are not in {name}: {run} them. From it", missing.len()),
    };
    let core = core.map(|core| core.name.to_owned());
    let shown = Shown { record, rows, machine, core };
    print(&shown, args.format)?;
    Ok(Status::Done)
}

/// Write records as one table, for DuckDB, pandas, R or a spreadsheet.
///
/// A row is a measured point, a point of a drawn curve, a verdict, a metric of a round, or a record with its
/// machine and settings. The first columns name the record. docs/FORMAT.md documents the columns. Records are
/// read one at a time.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  linefill export > points.csv                                the last run's points
  linefill export fleet/*.jsonl* --what machines --out machines.csv
  linefill export fleet/*.jsonl* --format parquet --out points.parquet
  duckdb -c \"SELECT record, value FROM 'points.parquet' WHERE experiment = 'D14'\"")]
pub(super) struct ExportArgs {
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

/// Reads a record of `linefill watch`.
fn rounds_of(path: &Path) -> Result<Reading> {
    let reading = read_any(path)?;
    if reading.record.header.watch.is_none() {
        bail!(
            "--what rounds: {} is the record of a run, which has no rounds; `linefill watch` makes \
             records of rounds",
            path.display()
        );
    }
    Ok(reading)
}

pub(super) fn export(args: &ExportArgs) -> Result<Status> {
    export::available(args.format)?;
    let paths: Vec<PathBuf> = args.records.iter().map(|path| record_at(path)).collect();
    if let Some(out) = &args.out {
        is_no_input("--out", out, paths.iter().map(PathBuf::as_path))?;
    }
    let names = names_of(&args.records);
    let records = paths.iter().zip(names).map(|(path, name)| {
        let reading = match args.what {
            What::Machines => read_any(path)?,
            What::Rounds => rounds_of(path)?,
            What::Points | What::Curves | What::Verdicts => read(path)?,
        };
        warn(&name, reading.cut_off);
        Ok::<(String, Record), anyhow::Error>((name, reading.record))
    });
    match &args.out {
        Some(out) => {
            write_whole_by(out, |file| export::export(records, args.what, args.format, file))
                .map_err(|error| match error.is::<io::Error>() {
                    true => error.context(format!("cannot write the table `{}`", out.display())),
                    // A record that cannot be read, which the error names.
                    false => error,
                })?;
        }
        None if args.format == Form::Parquet => {
            bail!("--format parquet writes no text: give a file by --out")
        }
        None => {
            let written = export::export(records, args.what, args.format, &mut io::stdout());
            match written.map_err(anyhow::Error::downcast::<io::Error>) {
                Err(Ok(error)) => finished(Err(error))?,
                Err(Err(error)) => return Err(error),
                Ok(()) => {}
            }
        }
    }
    Ok(Status::Done)
}

/// Render records as a static site: a table of machines by sections of the papers, a page per machine, and a
/// page for each pair of machines (up to eight records; `compare` summarises more).
///
/// The pages load nothing and link to each other by relative paths, so that any web server or folder can hold
/// them. Without --out the tables are printed, and no file is written.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  linefill gallery records/*.jsonl* --out site          and open site/index.html
  linefill gallery a b --label 'Zen 4' --label 'Zen 5' --format md      its tables in Markdown")]
pub(super) struct GalleryArgs {
    /// Records, or folders of runs.
    #[arg(required = true, value_name = "RECORD")]
    records: Vec<PathBuf>,
    /// A name for a record. Repeat the option, in the order of the records [default: the machine, or the file's
    /// name if machines are alike].
    #[arg(long = "label", value_name = "NAME")]
    labels: Vec<String>,
    /// The folder for the pages.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The form of the output.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn gallery(args: &GalleryArgs) -> Result<Status> {
    let sides = label(load(&args.records)?, &args.labels).context("--label")?;
    for side in &sides {
        warn(&side.name, side.cut_off);
    }
    let mut gallery = gallery::gallery(sides)?;
    if let Some(out) = &args.out {
        gallery.write(out)?;
    }
    print(&gallery, args.format)?;
    Ok(Status::Done)
}
