//! `linefill counters`.

use std::sync::atomic::Ordering;

use anyhow::{Context as _, Result, bail};
use glob::Pattern;

use super::{Status, cpu_number, say};
use crate::counters::chosen;
use crate::cpu::Identity;
use crate::experiment::{Effort, Rig};
use crate::lab::counters::{Counted, count, json, table};
use crate::lab::selection::select;
use crate::lab::session::{Request, Session, hold, mask, place, root};
use crate::lab::size;
use crate::lab::table::width;
use crate::os::{Pinned, interrupt};
use crate::recorded::machine_of;

/// Count what an operation of an experiment does: misses, page walks, instructions, ...
///
/// Counts events around N operations and around 2N of each case, and prints the difference per
/// operation, so that the counters' own cost and the harness's leave. Ranges come from CPUID, not
/// from a measured ladder.
///
/// An event is the vendor's, such as MEM_LOAD_RETIRED.L1_MISS or ls_mab_alloc.loads; a raw number,
/// rXXXX, as perf takes it; perf's own, such as cycles or L1-dcache-load-misses; or the kernel's:
/// task-clock, page-faults, context-switches, cpu-migrations, minor-faults, major-faults. What the
/// kernel refuses is named with its reason, and the others are counted.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  linefill counters D14                                        the usual events
  linefill counters -e cycles,MEM_LOAD_RETIRED.L1_MISS D14     these, and no others
  linefill counters -e page-faults --series 'write*' -- X3     of some series
  linefill counters -e r0148 --json C2 'D1?'                   for programs
  linefill counters --list                                     the names that mean something here

A star marks an event that shared its counter with others and was scaled.")]
pub(super) struct Args {
    /// Ids, names, globs of either, or families; quote globs so that the shell leaves them alone.
    #[arg(value_name = "ID, GLOB OR FAMILY", required_unless_present = "list")]
    patterns: Vec<String>,
    /// The events, separated by commas. They replace the usual ones.
    #[arg(short, long, value_name = "EVENTS")]
    events: Option<String>,
    /// The series to count, by name or glob [default: all].
    #[arg(long, value_name = "NAME OR GLOB")]
    series: Option<String>,
    /// The CPU to count on [default: an isolated one, else the last one allowed].
    #[arg(long, value_name = "N", value_parser = cpu_number, allow_negative_numbers = true)]
    cpu: Option<usize>,
    /// The largest working set of a case.
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = size::parse)]
    memory: u64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Print the names that mean something on this CPU, and count nothing.
    #[arg(long, conflicts_with_all = ["patterns", "events", "series", "json"])]
    list: bool,
}

pub(super) fn run(args: &Args) -> Result<Status> {
    if args.list {
        let (pinned, _) = hold(args.cpu, &root())?;
        let cpu = pinned.as_ref().map(Pinned::cpu);
        let names = place(&root(), cpu, Identity::detect()).names();
        say(&names.join("\n"))?;
        return Ok(Status::Done);
    }
    let experiments = select(&args.patterns)?;
    let series = args.series.as_deref().map(Pattern::new).transpose();
    let series = series.context("--series is no glob")?;
    let stop = interrupt::install().context("Ctrl-C cannot be caught")?;
    let request = Request {
        cpu: args.cpu,
        seed: 1,
        memory: Some(args.memory),
        masked: mask(),
        ..Request::default()
    };
    let session = Session::open(&request, &root())?;
    let place = place(&root(), session.header.pinned, Identity::detect());
    let events = chosen(args.events.as_deref(), &place)
        .context("--events (`linefill counters --list` shows what is accepted)")?;
    let (counted, refused) = Counted::open(events);
    if counted.is_empty() {
        bail!("nothing to count: {}", refused.in_words());
    }

    let machine = machine_of(&session.header, &[]);
    let mut rig = Rig::new(session.rate, session.context, Effort::QUICK, stop);
    let chosen = |name: &str| series.as_ref().is_none_or(|series| series.matches(name));
    let runs = count(&experiments, &machine, chosen, &counted, &mut rig, stop);
    if runs.is_empty() && !stop.load(Ordering::Relaxed) {
        bail!(
            "no case of {} is of a series `{}`; `linefill list` and the report name them",
            args.patterns.join(" "),
            args.series.as_deref().unwrap_or("*")
        );
    }
    if args.json {
        let value = json(&session.header, &counted, &refused, &runs);
        say(&serde_json::to_string_pretty(&value)?)?;
    } else {
        say(&table(&counted, &refused, &runs, width()))?;
    }
    match stop.load(Ordering::Relaxed) {
        true => Ok(Status::Interrupted),
        false => Ok(Status::Done),
    }
}
