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
use crate::lab::watch::{OUT, Timeline, Until, Watch, WatchSummary, watch};
use crate::os::interrupt;

/// Follow figures over time: a noisy neighbour, a thermal limit, a change of the machine's settings.
///
/// Measures the selection once in every interval, in a short pass with the same lists in the same pages, and
/// draws a line of characters per figure; without a terminal, a plain line per round. The clock of the
/// core is a figure of its own. At the end a page has the figures over time, with their medians and the
/// rounds in which they were outside (modified z-score, as of `compare` over many records).
///
/// The record keeps at most 1000 rounds and 16 MiB. When it has more, one of two rounds goes, from the oldest
/// on, and a round with a figure outside stays in preference: the latest rounds are all there. A line is
/// written per round, so that `kill -9` loses the round in flight at most. Ctrl-C and `kill` end the watch with a
/// whole record.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  linefill watch X16 --every 10s                 until Ctrl-C; then open linefill-watch/report.html
  linefill watch D14 D35 --every 1m --for 12h    over night
  linefill watch X16 --rounds 20 --out before    twenty rounds, ten seconds apart
  linefill report linefill-watch                 the page of a watch that was killed
  linefill export linefill-watch --what rounds   its figures for other programs")]
pub(super) struct Args {
    #[command(flatten)]
    scene: Scene,
    /// From the start of a round to that of the next, such as 10s or 5m. A round that takes longer delays the
    /// next.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10s", allow_negative_numbers = true)]
    every: Duration,
    /// How long to go on: no round begins later [default: until Ctrl-C].
    #[arg(long = "for", value_name = "TIME", value_parser = duration, allow_negative_numbers = true)]
    time: Option<Duration>,
    /// How many rounds to measure [default: until Ctrl-C].
    #[arg(long, value_name = "N", value_parser = rounds, allow_negative_numbers = true, conflicts_with = "time")]
    rounds: Option<u64>,
    /// The folder for the record and the page.
    #[arg(long, value_name = "DIR", default_value = OUT)]
    out: PathBuf,
    /// The form of the output at the end. In every form but `table` the rounds are not shown.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

fn rounds(text: &str) -> Result<u64, String> {
    let number = text.parse::<u64>().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "rounds are a whole number from 1".to_owned())
}

pub(super) fn run(args: &Args) -> Result<Status> {
    if args.scene.patterns.is_empty() {
        bail!(
            "nothing to follow: name experiments, such as `linefill watch X16`; `linefill list` shows all"
        );
    }
    let experiments = select(&args.scene.patterns)?;
    let until = match (args.rounds, args.time) {
        (Some(rounds), _) => Until::Rounds(rounds),
        (None, Some(time)) => Until::Over(time),
        (None, None) => Until::Stopped,
    };
    let stop = interrupt::install().context("Ctrl-C cannot be caught")?;
    let session = Session::open(&args.scene.request()?, &root())?;
    announce(&session.header);
    let watched = watch(&Watch {
        session: &session,
        experiments: &experiments,
        every: args.every,
        until,
        out: args.out.clone(),
        aloud: args.format == Format::Table,
        stop,
    })?;
    let summary = WatchSummary {
        command: "linefill watch",
        header: &watched.record.header,
        end: watched
            .record
            .end
            .as_ref()
            .map(|end| (end.seconds, end.interrupted)),
        timeline: &Timeline::of(&watched.record),
        record: watched.path,
        page: watched.page,
    };
    print(&summary, args.format)?;
    Ok(Status::unless_stopped(watched.interrupted))
}
