//! `linefill compare`.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use super::{Status, gates, tell};
use crate::lab::compare::{
    Comparison, Difference, FunctionGate, Gate, NEW, Source, compared, differences, judged, label,
    load, render,
};
use crate::lab::fleet::{SIDE_BY_SIDE, Summary, fleet, judge};
use crate::lab::format::{Format, print};
use crate::lab::read::{record_at, warn};
use crate::lab::whole::{is_no_input, write_whole};

/// Compare two records or more: machines, settings, before and after a change.
///
/// Writes a page with one plot per experiment that has the curves of all records, the differences with their
/// intervals, and the machine sheets and verdicts side by side. Prints how much slower or faster each other
/// record is than the first, with the largest difference first. Records of the boot image, from its serial
/// port, can be compared, too.
///
/// If a record has a verdict on a claim in other words than this version's, the claim is judged anew on the
/// record's points, so that all verdicts of a claim are on one text.
///
/// More than eight records are treated as a fleet. The output is then each metric's distribution over the
/// hosts, the outliers, and the settings (BIOS, kernel, microcode, pages, governor, ...) in which an outlier
/// differs from most hosts. METHODOLOGY.md has the rule for outliers. Gates compare each host with the median.
/// With --out nothing is summarised: page, output and gates compare all records with the first.
///
/// Timings of your own functions are compared name by name. They come from Criterion's output folder (with two
/// folders, the last runs; with one folder, its last run and the baseline) and from lines of kind `function`
/// (docs/FORMAT.md). Medians are compared. The interval of a ratio is widened by 1 % of each value for
/// differences between runs. No page is written for functions.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A gate is FAMILY/EXPERIMENT/SERIES > RATIO, or < RATIO. Each part is a glob, and the last ones may \
be left out. The first part may also be an experiment, or `walk`, which stands for the families \
levels, sequential, pages, random and capacity, and for the ladder. RATIO is the other record's \
value over the first's, in the unit of the plot: above 1 is slower for times and faster for \
bandwidths. A gate fails if the whole interval of a point's ratio lies beyond it; the exit status \
is then 1. For functions a gate is NAME > RATIO, and NAME is a glob.

Examples:
  linefill compare old.jsonl new.jsonl            and open compare.html
  linefill compare before after --fail-if 'walk/* > 1.05'
  linefill compare a b --label 'Zen 4' --label 'Zen 5'
  linefill compare main branch --fail-if 'bandwidth/D35/read* < 0.95' --fail-if 'D15 > 1.1'
  linefill compare fleet/*.jsonl* --format json   distributions and outliers of a fleet
  linefill compare target/criterion --fail-if 'parse/* > 1.05'      the last run over the one before
  linefill compare target/criterion --baseline main                 over `--save-baseline main`
  linefill compare old/criterion new/criterion                      of two checkouts")]
pub(super) struct Args {
    /// Records, folders of runs, Criterion's folders, or files with lines of functions. All are compared with
    /// the first.
    #[arg(required = true, value_name = "RECORD")]
    records: Vec<PathBuf>,
    /// The baseline of Criterion that a single folder is compared with, as named by --save-baseline [default:
    /// base, the run before].
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,
    /// Exit with status 1 if a ratio is beyond this limit, as described below. Repeat the option for several
    /// limits.
    #[arg(long = "fail-if", value_name = "GATE")]
    gates: Vec<String>,
    /// A name for a record. Repeat the option, in the order of the records [default: the machine, or the file's
    /// name if machines are alike].
    #[arg(long = "label", value_name = "NAME")]
    labels: Vec<String>,
    /// The file of the page [default: compare.html for the format table, none for others].
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
    let format = if args.json { Format::Json } else { args.format };
    if let Some(out) = &args.out {
        let paths: Vec<PathBuf> = args.records.iter().map(|path| record_at(path)).collect();
        is_no_input("--out", out, paths.iter().map(PathBuf::as_path))?;
    }
    if let Some(sources) = sources(args)? {
        return functions(args, &sources, format);
    }
    let gates = gates(&args.gates)?;
    if args.records.len() > SIDE_BY_SIDE && args.out.is_none() {
        return many(args, gates, format);
    }
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
    let mut outcomes = outcomes.iter();
    let passed = outcomes.all(|(_, outcome)| outcome.failures.is_empty());
    Ok(Status::if_passed(passed))
}

/// Summarises many records as a fleet.
fn many(args: &Args, gates: Vec<Gate>, format: Format) -> Result<Status> {
    let (labels, records) = (args.labels.len(), args.records.len());
    if labels > records {
        bail!("--label: {labels} labels for {records} records");
    }
    let fleet = fleet(&args.records, &args.labels)?;
    let outcomes = judge(&fleet, gates).context("--fail-if")?;
    let verdicts = outcomes.iter().map(|(gate, outcome)| judged(gate, outcome));
    let verdicts: Vec<String> = verdicts.collect();
    let passed = outcomes.iter().all(|(_, of)| of.failures.is_empty());
    print(&Summary::of(&fleet, outcomes), format)?;
    for verdict in verdicts {
        tell(verdict.trim_end());
    }
    Ok(Status::if_passed(passed))
}

/// Returns the timings of functions to compare, or `None` if the arguments are records of runs.
fn sources(args: &Args) -> Result<Option<Vec<Source>>> {
    let named = |path: &PathBuf| path.display().to_string();
    if let [folder] = &args.records[..] {
        let baseline = args.baseline.as_deref().unwrap_or("base");
        let kept = |baseline: &str| match folder.is_dir() {
            true => Source::at(folder, baseline),
            false => Ok(None),
        };
        let (Some(before), Some(now)) = (kept(baseline)?, kept(NEW)?) else {
            bail!(
                "{}: two records or more are compared, or a folder of Criterion's that has \
                 `{baseline}` and `{NEW}` of a benchmark",
                named(folder)
            );
        };
        let name = |of: &str, source| Source { name: of.to_owned(), ..source };
        return Ok(Some(vec![name(baseline, before), name(NEW, now)]));
    }
    if let Some(name) = &args.baseline {
        bail!("--baseline {name}: goes with a single folder of Criterion's");
    }
    let mut sources = Vec::new();
    for path in &args.records {
        sources.push(Source::at(path, NEW)?);
    }
    match sources.iter().position(Option::is_none) {
        None => Ok(Some(sources.into_iter().flatten().collect())),
        Some(_) if sources.iter().all(Option::is_none) => Ok(None),
        Some(place) => bail!(
            "{} has no timings of functions, and others have: compare like with like",
            named(&args.records[place])
        ),
    }
}

/// Compares the timings of functions.
fn functions(args: &Args, sources: &[Source], format: Format) -> Result<Status> {
    let gates: Vec<FunctionGate> = gates(&args.gates)?;
    if let Some(out) = &args.out {
        bail!("--out {}: functions have no page", out.display());
    }
    let mut sources = sources.to_vec();
    if args.labels.len() > sources.len() {
        bail!("--label: {} labels for {}", args.labels.len(), sources.len());
    }
    for (source, label) in sources.iter_mut().zip(&args.labels) {
        source.name.clone_from(label);
    }
    let [first, other] = &sources[..] else {
        bail!("functions are compared two by two, and these are {}", sources.len());
    };
    let mut found = compared(first, other);
    if found.pairs.is_empty() {
        bail!("{} and {} have no function in common", first.name, other.name);
    }
    found.judge(&gates).context("--fail-if")?;
    print(&found, format)?;
    found.verdicts().for_each(tell);
    Ok(Status::if_passed(found.passed()))
}
