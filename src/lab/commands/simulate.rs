//! `linefill simulate`.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Error, Result, anyhow, bail};
use glob::Pattern;

use super::{Status, say, tell};
use crate::experiment::{Context, Experiment, Machine};
use crate::lab::selection::select;
use crate::lab::session::{Request, Session, mask, root};
use crate::lab::simulate::{
    Choice, Config, affordable, case_json, case_table, cases, coherence_json, coherence_table,
    count_traffic, feed, heat_page, heat_text, maps, trace_json, trace_table, traffic_json,
    traffic_table,
};
use crate::lab::size;
use crate::lab::terminal::width;
use crate::lab::whole::{is_no_input, write_whole};
use crate::recorded::machine_of;
use crate::sim::HierarchyDesign;

/// Simulate caches: what the references of a program, or of an experiment, do in any cache.
///
/// Counts hits, misses, evictions and write-backs of each level, for one or more configurations at a time. The
/// trace is read once and not kept in memory. For a trace of valgrind's lackey the counts equal those of
/// cachegrind, unless an access is longer than a line, such as that of FXSAVE: cachegrind shortens it to a line.
/// Nothing is timed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A configuration lists caches, separated by commas: NAME=SIZE/WAYS/LINE:OPTION:...
  NAME      L1i, L1d, L2, L3, L4; L1 for instructions and data together; without L1i or L1
            instructions are passed over
  SIZE      bytes, with K, M or G; WAYS a number, or `full`; LINE in bytes, 64 if left out
  policy    lru (default), rr (first in, first out), plru, mru, random, random@SEED, or a QLRU
            such as QLRU_H11_M1_R0_U0
  writes    wb (default) or wt; wa (default) or nwa: write-back, write-through, write-allocate
  levels    ni (default), incl or excl: what the level holds of those before it
  prefetch  next, stride, stream, stream@LINES
and TLBs: dTLB=ENTRIES/WAYS/PAGE, STLB=ENTRIES/WAYS.

Examples:
  valgrind --tool=lackey --trace-mem=yes --log-fd=9 ./app 9>&1 1>&2 |
    linefill simulate --config L1i=32K/8,L1d=32K/8,L2=1M/16 --trace -
  linefill simulate --config L1d=48K/12:plru --config L1d=48K/12:rr --trace app.lk --heat
  linefill simulate --config L1d=32K/8,L2=1M/8,dTLB=64/4 --experiment D14
  linefill simulate --config L1d=32K/8 --experiment D15 --series 'NPAD=7*' --x 65536 --json
  linefill simulate --config L1d=32K/8 --experiment E18 --series 12 --x 64 --heat
  linefill simulate --mesi 8                         what coherence sends among 8 cores
  linefill simulate --mesi --experiment B8 --series 'fetch_add*'   and an experiment's threads")]
pub(super) struct Args {
    /// The caches, as described below. Repeat the option for several configurations.
    #[arg(long = "config", value_name = "CACHES", required_unless_present = "mesi")]
    configs: Vec<String>,
    /// A trace: the output of `valgrind --tool=lackey --trace-mem=yes`, or a file of --pack; `-` is the
    /// standard input.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Write the trace to a new file in the compact form, which is smaller and is read faster.
    #[arg(long, value_name = "FILE", requires = "trace",
          conflicts_with_all = ["experiment", "mesi"])]
    pack: Option<PathBuf>,
    /// Simulate the cases of this experiment, given by id or name.
    #[arg(long, value_name = "ID", conflicts_with = "trace")]
    experiment: Option<String>,
    /// The series of the experiment, a glob [default: all].
    #[arg(long, value_name = "GLOB", requires = "experiment", conflicts_with = "trace")]
    series: Option<String>,
    /// The position on the horizontal axis, such as a working set [default: all].
    #[arg(long, value_name = "X", requires = "experiment", conflicts_with = "trace",
          value_parser = place, allow_hyphen_values = true)]
    x: Option<f64>,
    /// The rounds over a case's working set that are counted. One more round warms the caches before.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "experiment",
          conflicts_with_all = ["trace", "mesi"],
          value_parser = clap::value_parser!(u64).range(1..=MOST_LAPS), allow_hyphen_values = true)]
    laps: u64,
    /// The largest working set of a case.
    #[arg(long, value_name = "SIZE", default_value = "64MiB", requires = "experiment",
          conflicts_with = "trace", value_parser = size::parse, allow_hyphen_values = true)]
    memory: u64,
    /// Print the protocol that keeps the caches of this many cores coherent, and the messages of each
    /// transition [default: 2 cores]. With an experiment, print the messages between the threads of its cases,
    /// however many they are.
    #[arg(long, value_name = "CORES", num_args = 0..=1, default_missing_value = "2",
          conflicts_with_all = ["configs", "trace", "heat", "html"],
          value_parser = clap::value_parser!(u16).range(2..=1024), allow_negative_numbers = true)]
    mesi: Option<u16>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Show the misses of each set: as a map of characters, or as numbers in JSON.
    #[arg(long)]
    heat: bool,
    /// Write a page with the table and a map of which sets missed.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// The largest number of rounds over a working set. The counts per round settle long before.
const MOST_LAPS: u64 = 1_000_000;

/// Parses a number, or a size such as `64K`.
fn place(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    number
        .or_else(|| size::parse(text).ok().map(|size| size as f64))
        .ok_or_else(|| "a place is a number or a size: 64, 65536, 64K".to_owned())
}

pub(super) fn run(args: &Args) -> Result<Status> {
    if let (Some(_), Some(id)) = (args.mesi, &args.experiment) {
        return of_threads(args, id);
    }
    if let Some(cores) = args.mesi {
        let cores = usize::from(cores);
        say(&match args.json {
            true => serde_json::to_string_pretty(&coherence_json(cores))?,
            false => coherence_table(cores, width()),
        })?;
        return Ok(Status::Done);
    }
    let mut designs = Vec::new();
    for text in &args.configs {
        let design: HierarchyDesign = text.parse().context("--config")?;
        designs.push((design.to_string(), design));
    }
    match (&args.experiment, &args.trace) {
        (Some(id), _) => of_experiment(args, id, &designs),
        (None, Some(trace)) => of_trace(args, trace, &designs),
        (None, None) => bail!("nothing to simulate: give --trace, --experiment or --mesi"),
    }
}

impl Args {
    fn chosen(&self, id: &str) -> Result<Chosen> {
        let experiments = select(&[id.to_owned()])?;
        let [experiment] = experiments[..] else {
            bail!("--experiment takes one, and `{id}` names several");
        };
        let series = self.series.as_deref().map(Pattern::new).transpose();
        let choice = Choice {
            series: series.context("--series is not a valid glob")?,
            x: self.x,
            laps: self.laps,
            largest: usize::try_from(self.memory)?,
            heat: self.maps(),
        };
        let request =
            Request { seed: 1, memory: Some(self.memory), masked: mask(), ..Request::default() };
        let session = Session::open(&request, &root())?;
        let machine = machine_of(&session.header, &[]);
        Ok(Chosen { experiment, machine, context: session.context, choice })
    }

    /// Returns whether a map of the sets was requested.
    fn maps(&self) -> bool {
        self.heat || self.html.is_some()
    }
}

fn write_page(page: &Path, text: &str) -> Result<()> {
    write_whole(page, text.as_bytes())
        .with_context(|| format!("{} cannot be written", page.display()))?;
    tell(format_args!("wrote {}", page.display()));
    Ok(())
}

fn of_trace(args: &Args, trace: &Path, designs: &[(String, HierarchyDesign)]) -> Result<Status> {
    affordable(designs, 1)?;
    if let Some(page) = &args.html {
        is_no_input("--html", page, [trace])?;
    }
    let mut configs = Vec::new();
    for (text, design) in designs {
        configs.push(Config::new(text, design, args.maps())?);
    }
    let (name, from): (_, Box<dyn Read>) = if trace == Path::new("-") {
        ("the standard input".to_owned(), Box::new(std::io::stdin().lock()))
    } else {
        let name = trace.display().to_string();
        let file = File::open(trace).with_context(|| format!("{name} cannot be opened"))?;
        (name, Box::new(file))
    };
    // An existing file is not overwritten: it may be the trace itself.
    let create = |path: &PathBuf| {
        File::create_new(path).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => {
                anyhow!("--pack {}: the file exists; give a new name", path.display())
            }
            _ => Error::new(error).context(format!("--pack {}", path.display())),
        })
    };
    let mut packed = args.pack.as_ref().map(create).transpose()?;
    let pack = packed.as_mut().map(|file| file as &mut dyn Write);
    let same = |(page, pack): (&PathBuf, &PathBuf)| is_no_input("--html", page, [&**pack]).is_err();
    let fed = match args.html.as_ref().zip(args.pack.as_ref()).is_some_and(same) {
        true => Err(anyhow!("--html and --pack name the same file")),
        false => feed(from, &name, &mut configs, pack),
    };
    if let (Err(_), Some(path)) = (&fed, &args.pack) {
        // Removes the incomplete file, which would look like a complete trace.
        let _ = std::fs::remove_file(path);
    }
    let tally = fed?;
    if let Some(page) = &args.html {
        let table = trace_table(&name, &tally, &configs, width());
        write_page(page, &heat_page(&name, &table, &configs))?;
    }
    if args.json {
        say(&serde_json::to_string_pretty(&trace_json(&name, &tally, &configs))?)?;
        return Ok(Status::Done);
    }
    let mut text = trace_table(&name, &tally, &configs, width());
    if args.heat {
        text += &heat_text(&configs);
    }
    say(&text)?;
    Ok(Status::Done)
}

fn of_experiment(args: &Args, id: &str, designs: &[(String, HierarchyDesign)]) -> Result<Status> {
    let Chosen { experiment, machine, context, choice } = args.chosen(id)?;
    let runs = cases(experiment, &machine, &context, &choice, designs)?;
    let table = || case_table(&runs, experiment.plot.map(|plot| plot.x), width());
    let maps = if args.maps() { maps(&runs) } else { Vec::new() };
    if let Some(page) = &args.html {
        write_page(page, &heat_page(experiment.id, &table(), &maps))?;
    }
    if args.json {
        let value = case_json(experiment.id, &runs);
        say(&serde_json::to_string_pretty(&value)?)?;
    } else if args.heat {
        say(&format!("{}{}", table(), heat_text(&maps)))?;
    } else {
        say(&table())?;
    }
    if runs.iter().all(|run| run.outcome.is_err()) {
        bail!("no case of {} has a trace", experiment.id);
    }
    Ok(Status::Done)
}

/// Prints the coherence traffic between the threads of an experiment's cases.
fn of_threads(args: &Args, id: &str) -> Result<Status> {
    let Chosen { experiment, machine, context, choice } = args.chosen(id)?;
    let runs = count_traffic(experiment, &machine, &context, &choice)?;
    say(&match args.json {
        true => serde_json::to_string_pretty(&traffic_json(experiment.id, &runs))?,
        false => traffic_table(&runs, width()),
    })?;
    if runs.iter().all(|run| run.outcome.is_err()) {
        bail!("no case of {} is one of several threads", experiment.id);
    }
    Ok(Status::Done)
}

/// The selected cases of an experiment, and the machine and memory they run on.
struct Chosen {
    experiment: &'static Experiment,
    machine: Machine,
    context: Context,
    choice: Choice,
}
