//! `linefill list`.

use anyhow::Result;

use super::{Status, say};
use crate::experiment::{Experiment, all, topics};
use crate::lab::selection::select;

/// List every experiment.
///
/// An id is a letter for the source and a number: A Startin, B Sestoft, C the tensor series,
/// D Drepper's section 3, E his sections 6.1 to 6.3, F neighbours of those sections, X what none of
/// them asks.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  linefill list              all of them
  linefill list 'D1*'        ids D1 and D10 to D19
  linefill list '*tlb*'      what has to do with the TLB, by name
  linefill list streaming    a family: what shares a subject and a file, as the third column says")]
pub(super) struct Args {
    /// Ids, names, globs of either, or families; quote globs so that the shell leaves them alone.
    #[arg(value_name = "ID, GLOB OR FAMILY")]
    patterns: Vec<String>,
}

pub(super) fn run(args: &Args) -> Result<Status> {
    let mut text = String::new();
    let rows = select(&args.patterns)?;
    let names = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
    let family = |row: &Experiment| topics::of(row.id).map_or("", |family| family.name);
    let families = rows.iter().map(|row| family(row).len()).max().unwrap_or(0);
    for row in &rows {
        text += &format!(
            "{:<4} {:<names$}  {:<families$}  {}\n",
            row.id,
            row.name,
            family(row),
            row.title
        );
    }
    text += &format!("\n{} of {} experiments\n", rows.len(), all().len());
    say(&text)?;
    Ok(Status::Done)
}
