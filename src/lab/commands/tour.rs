//! `linefill tour`.

use std::sync::atomic::Ordering;

use anyhow::{Context as _, Result};

use super::{Status, cpu_number, tell};
use crate::lab::format::{Format, print};
use crate::lab::session::{Request, Session, mask, root};
use crate::lab::table::width;
use crate::lab::tour::tour;
use crate::os::interrupt;

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
    let stop = interrupt::install().context("Ctrl-C cannot be caught")?;
    let request = Request {
        cpu: args.cpu,
        seed: 1,
        masked: mask(),
        ..Request::default()
    };
    let session = Session::open(&request, &root())?;
    for note in &session.header.notes {
        tell(format_args!("warning: {note}"));
    }
    let aloud = (args.format == Format::Table).then(width);
    let tour = tour(&session, stop, aloud)?;
    print(&tour, args.format)?;
    match stop.load(Ordering::Relaxed) {
        true => Ok(Status::Interrupted),
        false => Ok(Status::Done),
    }
}
