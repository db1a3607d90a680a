//! Commands about the machine: `linefill machine`, `linefill doctor`, `linefill counters`.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use anyhow::{Context as _, Result, bail};
use glob::Pattern;

use super::run::announce;
use super::{Status, cpu_number, say, tell};
use crate::counters::chosen;
use crate::cpu::Identity;
use crate::experiment::{Effort, Rig};
use crate::lab::analysis::Analysis;
use crate::lab::checkup::Checkup;
use crate::lab::counters::{Counted, count, json, table};
use crate::lab::format::{Format, print};
use crate::lab::inferred::{Inferred, probes};
use crate::lab::read::{read_any, record_at, warn};
use crate::lab::run::{measure_cases, measure_ladder};
use crate::lab::selection::select;
use crate::lab::session::{Request, Session, default_cpu, hold, mask, place, root, unwatched};
use crate::lab::sheet::{self, MachineSheet};
use crate::lab::size;
use crate::lab::terminal::width;
use crate::os::health::examine;
use crate::os::{Pinned, interrupt};
use crate::recorded::machine_of;

/// Measure the machine's caches, and show them beside what CPUID and the kernel say.
///
/// Walks lists of growing size in random order, one cache line per element: the time per step rises where a
/// cache ends. Then it walks lists whose lines fall into one set, and times loads that cross the end of a line,
/// loads from many pages, and stores. This takes about fifteen seconds, and up to three times as long on a busy
/// machine.
///
/// From these curves alone it infers the line size, the size and ways of each cache, the replacement policy,
/// the entries of the TLBs and the sizes of the buffers. Where the curves leave doubt, it gives the share of
/// resampled curves that lead to the same answer. A virtual machine often gets only a part of the last-level
/// cache that CPUID reports. The experiments use what is measured.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  linefill machine                    on the CPU that `linefill run` would choose
  linefill machine --cpu 3            on CPU 3
  linefill machine --memory 512MiB    with walks of at most 512 MiB
  linefill machine --record linefill-out      of a run that measured it")]
pub(super) struct MachineArgs {
    /// The CPU to measure on [default: an isolated one, else the last one allowed].
    #[arg(long, value_name = "N", value_parser = cpu_number, allow_negative_numbers = true)]
    cpu: Option<usize>,
    /// The largest working set [default: 1GiB, or four times the last level if that is more, rounded up to a power
    /// of two, up to 4GiB; at most a quarter of the available memory].
    #[arg(long, value_name = "SIZE", value_parser = size::parse, allow_hyphen_values = true)]
    memory: Option<u64>,
    /// Measure nothing, and show the sheet of this record or folder of a run.
    #[arg(long, value_name = "RECORD", conflicts_with_all = ["cpu", "memory"])]
    record: Option<PathBuf>,
    /// The form of the output.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn machine(args: &MachineArgs) -> Result<Status> {
    if let Some(record) = &args.record {
        return of_record(record, args.format);
    }
    let stop = interrupt::install()?;
    let request =
        Request { cpu: args.cpu, memory: args.memory, masked: mask(), ..Request::default() };
    let session = Session::open(&request, &root())?;
    let header = &session.header;
    announce(header);
    let ladder = measure_ladder(&session, stop);
    let machine = machine_of(header, &ladder);
    let points = measure_cases(&session, &probes(&machine), stop, |id| {
        tell(format_args!("measuring a part of {id}"));
    });
    let of = |id: &str| {
        let found = points.iter().find(|(of, _)| *of == id);
        found.map_or(&[][..], |(_, points)| points)
    };
    let inferred = Inferred::of(&machine, &ladder, of);
    let sheet = MachineSheet(sheet::sheet(header, &machine, &ladder, &inferred, None));
    print(&sheet, args.format)?;
    if stop.load(Ordering::Relaxed) {
        tell(match ladder.is_empty() {
            true => "stopped before the ladder was measured: no size is inferred",
            false => "stopped: not all was measured, and only what was is inferred",
        });
        return Ok(Status::Interrupted);
    }
    Ok(Status::Done)
}

/// Prints the machine sheet of a record.
fn of_record(path: &Path, format: Format) -> Result<Status> {
    let record = record_at(path);
    let reading = read_any(&record)?;
    warn(record.display(), reading.cut_off);
    print(&MachineSheet(Analysis::of(reading.record).sheet()), format)?;
    Ok(Status::Done)
}

/// Say what distorts a measurement on this machine, and how to fix it.
///
/// Checks isolation, interrupts, clock frequency, hyper-threads, hypervisor, huge pages, limits, counters,
/// prefetchers and other load for the CPU that would measure. It changes nothing: you decide which fixes to
/// apply. `linefill run --isolated` measures only on a CPU that is isolated, tickless and quiet. The exit
/// status is 1 if something is BAD, and with --strict also if there is a warning.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  linefill doctor            for the CPU that `linefill run` would choose
  linefill doctor --cpu 3    for CPU 3
  linefill doctor --strict && linefill run     measure only on a machine without a warning")]
pub(super) struct DoctorArgs {
    /// The CPU to check [default: the one that `run` would measure on].
    #[arg(long, value_name = "N", value_parser = cpu_number, allow_negative_numbers = true)]
    cpu: Option<usize>,
    /// Exit with status 1 for warnings, too.
    #[arg(long)]
    strict: bool,
    /// The form of the output.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn doctor(args: &DoctorArgs) -> Result<Status> {
    let root = root();
    let cpu = args.cpu.or_else(|| default_cpu(&root)).unwrap_or(0);
    // Pins this thread first: on a hybrid CPU the checks depend on the kind of core that runs them.
    let (_pinned, mut notes) = hold(args.cpu, &root)?;
    notes.extend(unwatched());
    let checkup = Checkup { cpu, checks: examine(&root, cpu), notes, strict: args.strict };
    print(&checkup, args.format)?;
    Ok(Status::if_passed(!checkup.fails()))
}

/// Count what an operation of an experiment does: misses, page walks, instructions, ...
///
/// Counts events around N operations and around 2N operations of each case, and prints the difference per
/// operation. This removes what the counters and the loop around the operations cost. Cache sizes come from
/// CPUID, not from measured walks.
///
/// An event is one of the vendor's names, such as MEM_LOAD_RETIRED.L1_MISS or ls_mab_alloc.loads; a raw number
/// in perf's form rXXXX; one of perf's names, such as cycles or L1-dcache-load-misses; or one of the kernel's:
/// task-clock, page-faults, context-switches, cpu-migrations, minor-faults, major-faults. Events that the
/// kernel refuses are named with the reason, and the others are counted.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  linefill counters D14                                        the usual events
  linefill counters -e cycles,MEM_LOAD_RETIRED.L1_MISS D14     these, and no others
  linefill counters -e page-faults --series '*write*' -- X3    of some series
  linefill counters -e r0148 --json C2 'D1?'                   for programs
  linefill counters --list                                     the names that mean something here

A star marks an event that shared its counter with others and was scaled.")]
pub(super) struct CountersArgs {
    /// Ids or names of experiments, globs of these, families or topics. Put globs in quotes.
    #[arg(value_name = "ID, GLOB OR FAMILY", required_unless_present = "list")]
    patterns: Vec<String>,
    /// The events to count, separated by commas [default: the usual ones].
    #[arg(short, long, value_name = "EVENTS")]
    events: Option<String>,
    /// The series to count, by name or glob [default: all].
    #[arg(long, value_name = "NAME OR GLOB")]
    series: Option<String>,
    /// The CPU to count on [default: an isolated one, else the last one allowed].
    #[arg(long, value_name = "N", value_parser = cpu_number, allow_negative_numbers = true)]
    cpu: Option<usize>,
    /// The largest working set of a case.
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = size::parse,
          allow_hyphen_values = true)]
    memory: u64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Print the event names that this CPU knows, and count nothing.
    #[arg(long, conflicts_with_all = ["patterns", "events", "series", "memory", "json"])]
    list: bool,
}

pub(super) fn counters(args: &CountersArgs) -> Result<Status> {
    if args.list {
        let (pinned, _) = hold(args.cpu, &root())?;
        let cpu = pinned.as_ref().map(Pinned::cpu);
        let names = place(&root(), cpu, Identity::detect()).names();
        say(&names.join("\n"))?;
        return Ok(Status::Done);
    }
    let experiments = select(&args.patterns)?;
    let series = args.series.as_deref().map(Pattern::new).transpose();
    let series = series.context("--series is not a valid glob")?;
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
        let asked = args.patterns.join(" ");
        let cases = experiments.iter().flat_map(|of| (of.cases)(&machine));
        match &args.series {
            Some(of) if !cases.into_iter().any(|case| chosen(&case.series)) => {
                bail!("no case of {asked} is of a series `{of}`; the report names them")
            }
            _ => {
                bail!("nothing to count: the cases of {asked} are computed, and have no operations")
            }
        }
    }
    if args.json {
        let value = json(&session.header, &counted, &refused, &runs);
        say(&serde_json::to_string_pretty(&value)?)?;
    } else {
        say(&table(&counted, &refused, &runs, width()))?;
    }
    Ok(Status::unless_stopped(stop.load(Ordering::Relaxed)))
}
