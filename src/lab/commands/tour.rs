//! `linefill tour`.

use std::sync::atomic::Ordering;

use anyhow::Result;

use super::{Status, cpu_number, session_on};
use crate::lab::format::{Format, print};
use crate::lab::table::width;
use crate::lab::tour::tour;

/// Measure ten experiments in about twenty seconds, and explain each.
///
/// Says for each what it asks, what is seen, then and now, and what to do about it. Writes no record.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  linefill tour              a first look at this machine
  linefill tour --cpu 3      on CPU 3")]
pub(super) struct Args {
    /// The CPU to measure on [default: an isolated one, else the last one allowed].
    #[arg(long, value_name = "N", value_parser = cpu_number, allow_negative_numbers = true)]
    cpu: Option<usize>,
    /// The form of the output.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn run(args: &Args) -> Result<Status> {
    let (session, stop) = session_on(args.cpu, None)?;
    let aloud = (args.format == Format::Table).then(width);
    let tour = tour(&session, stop, aloud)?;
    print(&tour, args.format)?;
    match stop.load(Ordering::Relaxed) {
        true => Ok(Status::Interrupted),
        false => Ok(Status::Done),
    }
}
