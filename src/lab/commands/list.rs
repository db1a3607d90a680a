//! `linefill list`.

use anyhow::Result;

use super::{Status, say};
use crate::experiment::{Entry, all, family};
use crate::lab::selection::rows;

/// List every experiment, and say which are built.
///
/// An id is a letter for the source and a number: A Startin, B Sestoft, C the tensor series,
/// D Drepper's section 3, E his sections 6.1 to 6.3, F neighbours of those sections. Rows that say
/// `not built yet` are part of the mission and cannot be run so far.
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
    let mut built = 0;
    let rows = rows(&args.patterns)?;
    let names = rows.iter().map(|row| row.name().len()).max().unwrap_or(0);
    let family = |row: &Entry| family::of(row.id()).map_or("", |family| family.name);
    let families = rows.iter().map(|row| family(row).len()).max().unwrap_or(0);
    for row in &rows {
        let title = match row {
            Entry::Built(experiment) => {
                built += 1;
                experiment.title
            }
            Entry::Planned { .. } => "(not built yet)",
        };
        text += &format!(
            "{:<4} {:<names$}  {:<families$}  {title}\n",
            row.id(),
            row.name(),
            family(row)
        );
    }
    let shown = match args.patterns.is_empty() {
        true => String::new(),
        false => format!(" ({} in all)", all().len()),
    };
    text += &format!("\n{built} of {} built{shown}", rows.len());
    say(&text)?;
    Ok(Status::Done)
}
