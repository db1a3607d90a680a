//! `linefill list` and `linefill tour`: a list of the experiments, and a demonstration of ten of them.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use anyhow::Result;

use super::{Status, cpu_number, session_on};
use crate::lab::format::{Format, print};
use crate::lab::listing::{Durations, Listing};
use crate::lab::read::{read, record_at, warn};
use crate::lab::selection::select;
use crate::lab::session::root;
use crate::lab::terminal::width;
use crate::lab::tour;

/// List the experiments: what each claims, from which section, and how long it takes.
///
/// An id is a letter for the source and a number: A Startin, B Sestoft, C the tensor series, D Drepper's
/// section 3, E Drepper's sections 6.1 to 6.3, F related sections of Drepper, X experiments of our own. Times
/// are those of a quick run of the experiment alone, estimated from its number of cases on this machine. Every
/// run that measures first looks for the sizes of the caches, which takes about ten seconds more.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  linefill list              all of them
  linefill list 'D1*'        ids D1 and D10 to D19
  linefill list '*tlb*'      what has to do with the TLB, by name
  linefill list streaming    a family, by the second column
  linefill list stores       a topic: several families; the last line names all topics
  linefill list --format json | jq -r '.experiments[].claims[].claim'")]
pub(super) struct ListArgs {
    /// Ids or names of experiments, globs of these, families or topics. Put globs in quotes.
    #[arg(value_name = "ID, GLOB OR FAMILY")]
    patterns: Vec<String>,
    /// Take times from a record, or the folder of a run, instead of estimates.
    #[arg(long, value_name = "RECORD")]
    record: Option<PathBuf>,
    /// The form of the output.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn list(args: &ListArgs) -> Result<Status> {
    let rows = select(&args.patterns)?;
    let durations = match &args.record {
        None => Durations::estimated(&root())?,
        Some(path) => {
            let record = record_at(path);
            let reading = read(&record)?;
            warn(record.display(), reading.cut_off);
            Durations::recorded(reading.record)
        }
    };
    print(&Listing { rows, durations }, args.format)?;
    Ok(Status::Done)
}

/// Measure ten experiments in about twenty seconds, and explain each.
///
/// Shows for each the question, what is measured, the number then and now, and what to do about it. Writes no
/// record.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  linefill tour              a first look at this machine
  linefill tour --cpu 3      on CPU 3")]
pub(super) struct TourArgs {
    /// The CPU to measure on [default: an isolated one, else the last one allowed].
    #[arg(long, value_name = "N", value_parser = cpu_number, allow_negative_numbers = true)]
    cpu: Option<usize>,
    /// The form of the output.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn tour(args: &TourArgs) -> Result<Status> {
    let (session, stop) = session_on(args.cpu, None)?;
    let aloud = (args.format == Format::Table).then(width);
    let tour = tour::tour(&session, stop, aloud)?;
    print(&tour, args.format)?;
    Ok(Status::unless_stopped(stop.load(Ordering::Relaxed)))
}
