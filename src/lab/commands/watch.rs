//! `linefill watch`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use super::run::announce;
use super::scene::Scene;
use super::{Status, duration};
use crate::lab::format::{Format, print};
use crate::lab::selection::select;
use crate::lab::session::{Session, root};
use crate::lab::watch::{OUT, Watch, watch};
use crate::os::interrupt;

/// Follow metrics over time: a noisy neighbour, a thermal limit, a change of the machine's settings.
///
/// Measures the selected experiments once per interval, in a short pass that uses the same lists in the same
/// pages, and draws a line of characters per metric. Without a terminal it prints a line per round. The clock
/// of the core is one of the metrics. At the end it writes a page that shows the metrics over time with their
/// medians, and the rounds in which a metric was an outlier, by the rule of `compare` of many records.
///
/// The record keeps at most 1000 rounds and 16 MiB; when it is full, every second round is dropped, oldest first.
/// Each round is written when it ends, so that `kill -9` loses at most the current round. After Ctrl-C and `kill`
/// the record is complete.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  linefill watch X16 --every 10s                 until Ctrl-C; then open linefill-watch/report.html
  linefill watch D14 D35 --every 1m --for 12h    over night
  linefill watch X16 --rounds 20 --out before    twenty rounds, ten seconds apart
  linefill report linefill-watch                 the page of a watch that was killed
  linefill export linefill-watch --what rounds   its metrics for other programs")]
pub(super) struct Args {
    /// Ids or names of experiments, globs of these, families or topics, at least one. Put globs in quotes.
    #[arg(value_name = "ID, GLOB OR FAMILY")]
    patterns: Vec<String>,
    #[command(flatten)]
    scene: Scene,
    /// The time from the start of one round to the start of the next, such as 10s or 5m. A round that takes
    /// longer delays the next one.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10s",
          allow_hyphen_values = true)]
    every: Duration,
    /// The time after which no round begins [default: until Ctrl-C].
    #[arg(long = "for", value_name = "TIME", value_parser = duration, allow_hyphen_values = true)]
    time: Option<Duration>,
    /// The number of rounds [default: until Ctrl-C].
    #[arg(long, value_name = "N", value_parser = rounds, allow_hyphen_values = true,
          conflicts_with = "time")]
    rounds: Option<u64>,
    /// The folder for the record and the page.
    #[arg(long, value_name = "DIR", default_value = OUT)]
    out: PathBuf,
    /// The form of the output at the end. Rounds are shown for `table` alone.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

fn rounds(text: &str) -> Result<u64, String> {
    let number = text.parse::<u64>().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "rounds are a whole number from 1".to_owned())
}

pub(super) fn run(args: &Args) -> Result<Status> {
    if args.patterns.is_empty() {
        bail!(
            "nothing to follow: name experiments, such as `linefill watch X16`; `linefill list` \
             shows all"
        );
    }
    let experiments = select(&args.patterns)?;
    let stop = interrupt::install().context("Ctrl-C cannot be caught")?;
    let session = Session::open(&args.scene.request(&args.patterns)?, &root())?;
    announce(&session.header);
    let summary = watch(&Watch {
        session: &session,
        experiments: &experiments,
        every: args.every,
        rounds: args.rounds,
        time: args.time,
        out: args.out.clone(),
        aloud: args.format == Format::Table,
        stop,
    })?;
    print(&summary, args.format)?;
    Ok(Status::unless_stopped(summary.record.end.is_some_and(|end| end.interrupted)))
}
