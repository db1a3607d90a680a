//! `linefill gallery`.

use std::path::PathBuf;

use anyhow::{Context as _, Result};

use super::Status;
use crate::lab::compare::{label, load};
use crate::lab::format::{Format, print};
use crate::lab::gallery::gallery;
use crate::lab::read::warn;

/// Render records as a static site: a table of machines by sections of the papers, a page per
/// machine, and a page for any two (of eight records at most; `compare` summarises more).
///
/// The pages load nothing and link each other by relative paths, so that any web server or a folder
/// will do. Without --out the tables are printed, and nothing is written.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  linefill gallery records/*.jsonl* --out site          and open site/index.html
  linefill gallery a b --label 'Zen 4' --label 'Zen 5' --format md      its tables in Markdown")]
pub(super) struct Args {
    /// Records, or folders of runs.
    #[arg(required = true, value_name = "RECORD")]
    records: Vec<PathBuf>,
    /// A name for a record; repeat the option, in the order of the records [default: the machine,
    /// or the file's name where machines are alike].
    #[arg(long = "label", value_name = "NAME")]
    labels: Vec<String>,
    /// The folder for the pages.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The form of the output.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn run(args: &Args) -> Result<Status> {
    let sides = label(load(&args.records)?, &args.labels).context("--label")?;
    for side in &sides {
        warn(&side.name, side.cut_off);
    }
    let mut gallery = gallery(sides)?;
    if let Some(out) = &args.out {
        gallery.write(out)?;
    }
    print(&gallery, args.format)?;
    Ok(Status::Done)
}
