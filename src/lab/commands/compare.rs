//! `linefill compare`.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use super::{Status, say, tell};
use crate::lab::compare::{
    Difference, Gate, differences, failures, json, load, render, table, verdicts,
};
use crate::lab::read::warn;
use crate::lab::table::width;
use crate::lab::whole::write_whole;

/// Compare two records or more: machines, settings, before and after a change.
///
/// Writes a page with the curves of all records in one plot each, differences with their
/// intervals, the machine sheets and the verdicts side by side, and prints how far the other
/// records lie from the first. Records of the boot image, from its serial port, do too.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A gate is FAMILY/EXPERIMENT/SERIES > RATIO, or < RATIO. Its parts are globs, of which the last may be
left out; the first may be an experiment, too, and `walk` stands for all list walks. A ratio is the
other record's value over the first's, in the unit of the plot: more is slower for times, and
faster for bandwidths. A point fails if the whole interval of its ratio lies beyond. The exit status
is then 1.

Examples:
  linefill compare old.jsonl new.jsonl            and open compare.html
  linefill compare before after --fail-if 'walk/* > 1.05'
  linefill compare main branch --fail-if 'bandwidth/D35/read* < 0.95' --fail-if 'D15 > 1.1'
  linefill compare fleet/*.jsonl --out fleet.html")]
pub(super) struct Args {
    /// Records, or folders of runs; the others are held against the first.
    #[arg(required = true, num_args = 2.., value_name = "RECORD")]
    records: Vec<PathBuf>,
    /// Exit with status 1 if a ratio lies beyond this; again for several.
    #[arg(long = "fail-if", value_name = "GATE")]
    gates: Vec<String>,
    /// Where the page goes [default: compare.html; none with --json].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print JSON: every point of every series.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<Status> {
    let mut gates = Vec::new();
    for text in &args.gates {
        gates.push(text.parse::<Gate>().context("--fail-if")?);
    }
    let sides = load(&args.records)?;
    for side in &sides {
        warn(&side.name, side.cut_off);
    }
    let (first, others) = sides.split_first().context("nothing to compare")?;
    let found: Vec<Vec<Difference>> = others.iter().map(|side| differences(first, side)).collect();
    for (side, found) in others.iter().zip(&found) {
        if found.iter().all(|of| of.places.is_empty()) {
            bail!("{} and {} have no point in common", first.name, side.name);
        }
    }
    let names = others.iter().map(|side| side.name.as_str());
    let records: Vec<(&str, &[Difference])> =
        names.clone().zip(found.iter().map(Vec::as_slice)).collect();
    let mut judged = Vec::new();
    for gate in gates {
        let outcome = gate.judge(&records).context("--fail-if")?;
        judged.push((gate, outcome));
    }

    let out = match (&args.out, args.json) {
        (Some(out), _) => Some(out.clone()),
        (None, true) => None,
        (None, false) => Some(PathBuf::from("compare.html")),
    };
    if let Some(out) = &out {
        write_whole(out, render(&sides, &found).as_bytes())
            .with_context(|| format!("cannot write the page `{}`", out.display()))?;
    }
    if args.json {
        let text = serde_json::to_string_pretty(&json(&sides, &found, &judged))?;
        say(&text)?;
    } else {
        let width = width();
        for (name, found) in &records {
            say(&table(&first.name, name, found, width))?;
        }
        match verdicts(&sides, width) {
            none if none.is_empty() => say("The verdicts that both have are the same.")?,
            table => say(&table)?,
        }
        if let Some(out) = &out {
            say(&format!("page: {}", out.display()))?;
        }
    }
    let mut status = Status::Done;
    for (gate, outcome) in &judged {
        if outcome.failures.is_empty() {
            tell(format_args!(
                "gate `{}` passed: {} points",
                gate.text, outcome.points
            ));
        } else {
            tell(failures(gate, &outcome.failures).trim_end());
            status = Status::Failed;
        }
    }
    Ok(status)
}
