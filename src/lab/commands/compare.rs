//! `linefill compare`.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use super::{Status, tell};
use crate::lab::compare::{Comparison, Difference, Gate, differences, judged, label, load, render};
use crate::lab::format::{Format, print};
use crate::lab::read::warn;
use crate::lab::whole::write_whole;

/// Compare two records or more: machines, settings, before and after a change.
///
/// Writes a page with the curves of all records in one plot each, differences with their
/// intervals, the machine sheets and the verdicts side by side. Prints how much slower or faster each
/// other record is than the first, the largest effect first. Records of the boot image, from its
/// serial port, will do.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A gate is FAMILY/EXPERIMENT/SERIES > RATIO, or < RATIO. Each part is a glob, and the last ones may be \
left out. The first part may also be an experiment, or `walk` for all list walks. RATIO is the other \
record's value over the first's, in the unit of the plot: above 1 is slower for times and faster for \
bandwidths. A gate fails if the whole interval of a point's ratio lies beyond it; the exit status is \
then 1.

Examples:
  linefill compare old.jsonl new.jsonl            and open compare.html
  linefill compare before after --fail-if 'walk/* > 1.05'
  linefill compare a b --label 'Zen 4' --label 'Zen 5'
  linefill compare main branch --fail-if 'bandwidth/D35/read* < 0.95' --fail-if 'D15 > 1.1'
  linefill compare fleet/*.jsonl --out fleet.html")]
pub(super) struct Args {
    /// Records, or folders of runs; the others are held against the first.
    #[arg(required = true, num_args = 2.., value_name = "RECORD")]
    records: Vec<PathBuf>,
    /// Exit with status 1 if a ratio lies beyond this. Repeat it for several.
    #[arg(long = "fail-if", value_name = "GATE")]
    gates: Vec<String>,
    /// A name for a record; repeat the option, in the order of the records [default: the machine,
    /// or the file's name where machines are alike].
    #[arg(long = "label", value_name = "NAME")]
    labels: Vec<String>,
    /// Where the page goes [default: compare.html, and none unless the format is table].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The form of the output.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Print JSON: every point of every series. The same as --format json.
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<Status> {
    let mut gates = Vec::new();
    for text in &args.gates {
        gates.push(text.parse::<Gate>().context("--fail-if")?);
    }
    let format = if args.json { Format::Json } else { args.format };
    let sides = label(load(&args.records)?, &args.labels).context("--label")?;
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
    let records: Vec<(&str, &[Difference])> = names.zip(found.iter().map(Vec::as_slice)).collect();
    let mut outcomes = Vec::new();
    for gate in gates {
        let outcome = gate.judge(&records).context("--fail-if")?;
        outcomes.push((gate, outcome));
    }

    let default = || (format == Format::Table).then(|| PathBuf::from("compare.html"));
    let out = args.out.clone().or_else(default);
    if let Some(out) = &out {
        write_whole(out, render(&sides, &found).as_bytes())
            .with_context(|| format!("cannot write the page `{}`", out.display()))?;
    }
    let comparison = Comparison {
        sides: &sides,
        found: &found,
        gates: &outcomes,
        page: out.map(|out| out.display().to_string()),
    };
    print(&comparison, format)?;
    for (gate, outcome) in &outcomes {
        tell(judged(gate, outcome).trim_end());
    }
    match outcomes
        .iter()
        .all(|(_, outcome)| outcome.failures.is_empty())
    {
        true => Ok(Status::Done),
        false => Ok(Status::Failed),
    }
}
