//! `linefill show`.

use std::path::PathBuf;

use anyhow::{Result, bail};

use super::Status;
use crate::cpu::Identity;
use crate::experiment::{Experiment, find_claim};
use crate::lab::analysis::Analysis;
use crate::lab::answer::machine_name;
use crate::lab::format::{Format, print};
use crate::lab::read::{read, record_at, warn};
use crate::lab::report::build;
use crate::lab::run::{OUT, RECORD};
use crate::lab::selection::select;
use crate::lab::show::{Row, Shown};
use crate::recorded::core_of;

/// Show all about an experiment: its claims in full, the numbers, a plot, its text and its source.
///
/// The numbers are those of a record: of the last run, if nothing else is said. Without one, or where
/// the record does not have the experiment, the claims and the text are shown alone.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  linefill show D14                     of the last run
  linefill show D14.2                   the same, by the id of a claim
  linefill show D19 --record records/2026-11-22-zen4-guest.jsonl.zst
  linefill show 'E1*'                   some
  linefill show --all                   all that the record has")]
pub(super) struct Args {
    /// Ids of experiments or claims, names, globs of either, or families.
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

pub(super) fn run(args: &Args) -> Result<Status> {
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
    if args.record.is_none() && !record.exists() {
        let name = record.display();
        if args.all {
            bail!("there is no {name}; `linefill run` makes one, and --record names another");
        }
        let ids: Vec<&str> = experiments.iter().map(|of| of.id).collect();
        let rows = experiments.iter().map(|&experiment| Row {
            experiment,
            section: None,
        });
        let shown = Shown {
            rows: rows.collect(),
            record: format!(
                "No numbers: there is no {name}. `linefill run {}` measures them; --record names \
                 another record.",
                ids.join(" ")
            ),
            machine: None,
            core: Identity::detect().core().map(|core| core.name.to_owned()),
        };
        print(&shown, args.format)?;
        return Ok(Status::Done);
    }
    let reading = read(&record)?;
    warn(record.display(), reading.cut_off);
    let analysis = Analysis::of(reading.record);
    let view = build(&analysis)?;
    let mut sections = view.sections;
    let mut row = |experiment: &'static Experiment| {
        let at = sections
            .iter()
            .position(|section| section.id == experiment.id);
        Row {
            experiment,
            section: at.map(|at| sections.swap_remove(at)),
        }
    };
    let mut rows: Vec<Row> = experiments.into_iter().map(&mut row).collect();
    if args.all {
        rows.retain(|row| row.section.is_some());
    }
    let missing = rows.iter().filter(|row| row.section.is_none());
    let missing: Vec<&str> = missing.map(|row| row.experiment.id).collect();
    let name = record.display();
    let shown = Shown {
        record: match missing.is_empty() {
            true => format!("From {name}"),
            false => format!(
                "{} not in {name}: `linefill run {}` measures {}. From it",
                match missing.len() {
                    1 => format!("{} is", missing[0]),
                    count => format!("{count} of these are"),
                },
                missing.join(" "),
                if missing.len() == 1 { "it" } else { "them" },
            ),
        },
        rows,
        machine: Some(machine_name(&analysis.record.header).to_string()),
        core: core_of(&analysis.record.header.cpu).map(|core| core.name.to_owned()),
    };
    print(&shown, args.format)?;
    Ok(Status::Done)
}
