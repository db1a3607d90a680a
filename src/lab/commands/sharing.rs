//! `linefill sharing`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use super::layout::{line_size, open};
use super::{Status, cpu_number, duration, say, session_on};
use crate::experiment::Untestable;
use crate::experiment::shared::words::WordWay;
use crate::lab::layout::{Places, Span};
use crate::lab::session::debug_tree;
use crate::lab::sharing::{
    self, FalselyShared, Field, How, Measured, Scheme, Touch, events, json, measure, print,
    touches, traced, watch, worst,
};
use crate::lab::terminal::width;
use crate::os::interrupt;
use crate::recorded::machine_of;
use crate::time::Rate;

/// Find false sharing: fields that threads touch on one line, what it costs here, and how to avoid it.
///
/// The fields are those of a structure in a binary's debug information, or plain offsets. With the threads that
/// write and read each field it names the lines that several threads need, and predicts the cost from a model
/// of the MESI protocol and the measured round trip of a line between two cores. Then it measures three layouts:
/// the fields where they are, each on lines of its own (64 bytes), and each on a pair of lines (128 bytes). A
/// round is one access of a thread to each of its fields. This takes about five seconds.
///
/// With a program (`-- COMMAND`) it runs the program and finds the lines that its threads share falsely: which
/// threads touch which fields of which variable, how often, and the command that measures the cost here. The
/// program's output goes to the standard error. If the PMU can sample addresses (Intel's `mem-loads`, AMD's
/// `ibs_op`), the accesses are sampled, and loads that find their line modified by another core are counted.
/// Otherwise valgrind traces all accesses, which takes some hundred times as long, and simulated caches (MESI)
/// show how often the line moves if the threads take turns. With a PMU, a running process can be watched, too
/// (`--pid`). Threads that live for less than a few milliseconds and other processes that the program starts
/// are not watched.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
If neither --writes nor --reads is given, each field is written by a thread of its own: the first \
by thread 0. A field on several lines is touched once on each of them.

Examples:
  linefill sharing app --type Stats --field hits --field misses
  linefill sharing app --type Pool --field 'stats[0].hits' --field 'stats[1].hits' --field limit \\
      --writes '0:stats[0].hits,1:stats[1].hits' --reads 0:limit,1:limit
  linefill sharing --offset 0 --offset 8                       two words side by side
  linefill sharing --offset 0:4 --offset 60:4 --start 0 --writes 0:0 --reads 1:60 --json
  linefill sharing -- ./app --threads 4                        what a program shares falsely
  linefill sharing --pid 4711 --for 10s                        what a running one does, by \
                                                                 the PMU")]
pub(super) struct Args {
    /// A program, shared library or object file with debug information.
    #[arg(requires = "types", conflicts_with = "offsets")]
    binary: Option<PathBuf>,
    /// The type in the binary: its name, or the end of its path (`Inner` for `outer::Inner`).
    #[arg(long = "type", value_name = "NAME", requires = "binary", conflicts_with = "offsets")]
    types: Option<String>,
    /// A field of the type: `name`, `name[2]` or `outer.inner`. Repeat the option for several fields.
    #[arg(long = "field", value_name = "FIELD", requires = "types", conflicts_with = "offsets")]
    fields: Vec<String>,
    /// A field without a type: its first byte, and its size if this is not 8 bytes. Repeat the option for
    /// several fields.
    #[arg(long = "offset", value_name = "BYTE[:SIZE]", value_parser = offset,
          allow_hyphen_values = true)]
    offsets: Vec<(u64, u64)>,
    /// Which thread writes which field: THREAD:FIELD, separated by commas. The name of an offset is its first
    /// byte. The option may be repeated.
    #[arg(long, value_name = "LIST")]
    writes: Vec<String>,
    /// Which thread reads which field, in the same form.
    #[arg(long, value_name = "LIST")]
    reads: Vec<String>,
    /// The byte within a line where the structure begins [default: of the places that its alignment allows, the
    /// one where most threads share lines].
    #[arg(long, value_name = "BYTE", allow_hyphen_values = true)]
    start: Option<u64>,
    /// The alignment of the structure [default: the type's; 8 for offsets].
    #[arg(long, value_name = "BYTES", value_parser = alignment, allow_hyphen_values = true)]
    align: Option<u64>,
    /// The size of a cache line in bytes.
    #[arg(long, value_name = "BYTES", default_value = "64", value_parser = line_size,
          allow_hyphen_values = true)]
    line: u64,
    /// How fields are written.
    #[arg(long, value_enum, default_value = "atomic",
          conflicts_with_all = ["predict", "pid", "command"])]
    way: Way,
    /// Predict the cost without measuring it.
    #[arg(long)]
    predict: bool,
    /// The CPU of the first thread measured [default: an isolated one, else the last one allowed].
    #[arg(long, value_name = "N", value_parser = cpu_number, allow_negative_numbers = true,
          conflicts_with = "predict")]
    cpu: Option<usize>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// The file with the debug information [default: the binary, or the file that belongs to it by
    /// build id or debug link].
    #[arg(long, value_name = "FILE", requires = "binary",
          conflicts_with_all = ["offsets", "pid", "command"])]
    debug_file: Option<PathBuf>,
    /// The id of a running process to watch, which needs a PMU.
    #[arg(long, value_name = "PID", group = "watched",
          value_parser = clap::value_parser!(u32).range(1..), conflicts_with_all =
          ["binary", "types", "fields", "offsets", "writes", "reads", "start", "align", "predict",
           "cpu"], allow_hyphen_values = true)]
    pid: Option<u32>,
    /// How long to watch the process.
    #[arg(long = "for", value_name = "TIME", default_value = "5s", requires = "pid",
          conflicts_with = "command", value_parser = duration, allow_hyphen_values = true)]
    time: Duration,
    /// How the accesses of a command are observed [default: by the PMU if it can, else by valgrind].
    #[arg(long, value_enum, requires = "watched")]
    by: Option<By>,
    /// The least number of accesses by two threads for which a line is reported, with a command or a process
    /// [default: 100, or 3 samples of the PMU].
    #[arg(long, value_name = "N", requires = "watched",
          value_parser = clap::value_parser!(u64).range(1..), allow_hyphen_values = true)]
    least: Option<u64>,
    /// A program to run and watch, with its arguments.
    #[arg(last = true, value_name = "COMMAND", group = "watched", conflicts_with_all =
          ["binary", "types", "fields", "offsets", "writes", "reads", "start", "align", "predict",
           "cpu"])]
    command: Vec<OsString>,
}

/// What sees the accesses of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum By {
    /// The CPU samples some accesses.
    Pmu,
    /// valgrind traces every access.
    Valgrind,
}

/// How fields are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Way {
    /// By locked additions.
    Atomic,
    /// By a load, an addition and a store.
    Plain,
}

/// The last byte of the largest structure.
const MOST: u64 = 1 << 24;

/// Reads `8`, or `8:4`.
fn offset(text: &str) -> Result<(u64, u64), String> {
    let (first, size) = text.split_once(':').unwrap_or((text, "8"));
    let number = |text: &str| text.parse::<u64>().ok();
    match (number(first), number(size)) {
        (Some(first), Some(size)) if size > 0 && first < MOST && size <= MOST - first => {
            Ok((first, size))
        }
        _ => Err(format!("an offset is BYTE or BYTE:SIZE within the first {MOST} bytes: 8, 8:4")),
    }
}

/// Reads an alignment.
fn alignment(text: &str) -> Result<u64, String> {
    let align: Option<u64> = text.parse().ok();
    align
        .filter(|align| align.is_power_of_two() && *align <= 4096)
        .ok_or_else(|| "an alignment is a power of two from 1 to 4096: 8, 64".to_owned())
}

pub(super) fn run(args: &Args) -> Result<Status> {
    if args.pid.is_some() || !args.command.is_empty() {
        return of_program(args);
    }
    if args.offsets.is_empty() && args.binary.is_none() {
        bail!(
            "nothing to measure: give a binary, or fields without one (--offset); or a process \
             (--pid) or a command (-- COMMAND) to watch"
        );
    }
    let scheme = scheme(args)?;
    let start = start(args, &scheme)?;
    let (measured, rate) = measured(args, &scheme, start)?;
    let text = match args.json {
        true => serde_json::to_string_pretty(&json(&scheme, start, &measured))?,
        false => print::text(&scheme, start, &measured, rate, width()),
    };
    say(&text)?;
    let stopped = interrupt::install()?.load(Ordering::Relaxed);
    Ok(Status::unless_stopped(stopped))
}

/// The longest line of a watched program.
const LONGEST_LINE: u64 = 128;

/// Finds what a program shares falsely.
fn of_program(args: &Args) -> Result<Status> {
    if args.line > LONGEST_LINE {
        bail!("--line {}: programs are watched by lines of up to {LONGEST_LINE} bytes", args.line);
    }
    let stop = interrupt::install().context("Ctrl-C cannot be caught")?;
    let traced = match (args.pid, args.by) {
        (Some(id), Some(By::Valgrind)) => bail!(
            "--by valgrind: it traces a program from its beginning, and cannot join process {id}; \
             the PMU can"
        ),
        (Some(id), _) => match events() {
            Ok(events) => watch(id, args.time, &events, args.line, stop)?,
            Err(reason) => bail!(
                "--pid {id}: a running process is watched by the PMU, which does not sample \
                 accesses here: {reason}. `linefill sharing -- COMMAND` traces a program from its \
                 beginning"
            ),
        },
        (None, Some(By::Valgrind)) => traced(&args.command, args.line, stop)?,
        (None, by) => match (events(), by) {
            (Ok(events), _) => sharing::run(&args.command, &events, args.line, stop)?,
            (Err(reason), Some(_)) => {
                bail!("--by pmu: the PMU does not sample accesses here: {reason}")
            }
            (Err(reason), None) => {
                let mut traced = traced(&args.command, args.line, stop)?;
                traced.how = How::Valgrind { not_by_pmu: Some(reason) };
                traced
            }
        },
    };
    let places = Places { named: None, tree: &debug_tree() };
    let usual = match traced.how {
        How::Valgrind { .. } => 100,
        How::Pmu(_) => 3,
    };
    let least = args.least.unwrap_or(usual);
    let found = FalselyShared::of(&traced, args.line, least, &places);
    say(&if args.json { serde_json::to_string_pretty(&found.json())? } else { found.text() })?;
    Ok(Status::unless_stopped(stop.load(Ordering::Relaxed)))
}

/// Who touches what.
fn scheme(args: &Args) -> Result<Scheme> {
    let mut scheme = match &args.binary {
        Some(binary) => of_type(args, binary)?,
        None => of_offsets(args)?,
    };
    scheme.align = args.align.unwrap_or(scheme.align);
    for (lists, write) in [(&args.writes, true), (&args.reads, false)] {
        let option = if write { "--writes" } else { "--reads" };
        for list in lists {
            let found = touches(list, &scheme.fields, write).context(option)?;
            scheme.touches.extend(found);
        }
    }
    if args.writes.is_empty() && args.reads.is_empty() {
        let each =
            (0..scheme.fields.len()).map(|field| Touch { thread: field, field, write: true });
        scheme.touches = each.collect();
    }
    if scheme.threads().len() < 2 {
        bail!(
            "one thread alone shares nothing: name a second field, or a second thread in --writes \
             or --reads"
        );
    }
    Ok(scheme)
}

fn of_type(args: &Args, binary: &std::path::Path) -> Result<Scheme> {
    let Some(name) = &args.types else {
        bail!("{}: which type? Name it by --type", binary.display());
    };
    if args.fields.is_empty() {
        bail!("which fields of `{name}`? Name them by --field; `linefill layout` shows them");
    }
    let aggregate = open(binary, args.debug_file.as_deref())?.only(name)?;
    let mut fields = Vec::new();
    for words in &args.fields {
        let span: Span = aggregate.field(words).context("--field")?;
        if span.bytes() == 0 {
            bail!("--field: `{words}` takes no bytes, so that threads cannot share it");
        }
        if span.offset() + span.bytes() > MOST {
            bail!("--field: `{words}` lies beyond the first {MOST} bytes; name a part before that");
        }
        fields.push(Field { name: words.clone(), offset: span.offset(), size: span.bytes() });
    }
    unique(&fields, "--field")?;
    Ok(Scheme {
        name: Some(aggregate.path.clone()),
        size: Some(aggregate.size),
        align: aggregate.align.max(1),
        line: args.line,
        fields,
        touches: Vec::new(),
    })
}

fn of_offsets(args: &Args) -> Result<Scheme> {
    let fields: Vec<Field> = args
        .offsets
        .iter()
        .map(|&(offset, size)| Field { name: offset.to_string(), offset, size })
        .collect();
    unique(&fields, "--offset")?;
    Ok(Scheme { name: None, size: None, align: 8, line: args.line, fields, touches: Vec::new() })
}

/// Refuses a field that was given twice.
fn unique(fields: &[Field], option: &str) -> Result<()> {
    for (index, field) in fields.iter().enumerate() {
        if fields[..index].iter().any(|other| other.name == field.name) {
            bail!(
                "{option}: `{}` was given twice; several threads may touch it by --writes and \
                 --reads",
                field.name
            );
        }
    }
    Ok(())
}

/// Where in a line the structure begins.
fn start(args: &Args, scheme: &Scheme) -> Result<u64> {
    let starts = scheme.starts();
    match args.start {
        None => Ok(worst(scheme)),
        Some(start) if starts.contains(&start) => Ok(start),
        Some(start) => bail!(
            "--start {start}: with an alignment of {} the structure begins at a multiple of {} \
             below {}",
            scheme.align,
            scheme.align.min(scheme.line),
            scheme.line
        ),
    }
}

/// What was measured, or why nothing was; and the clock's rate.
type Found = (Result<Measured, Untestable>, Option<Rate>);

fn measured(args: &Args, scheme: &Scheme, start: u64) -> Result<Found> {
    if args.predict {
        let asked = Untestable("only a prediction was asked for".to_owned());
        return Ok((Err(asked), None));
    }
    let (session, stop) = session_on(args.cpu, None)?;
    let machine = machine_of(&session.header, &[]);
    let way = match args.way {
        Way::Atomic => WordWay::Atomic,
        Way::Plain => WordWay::Plain,
    };
    let found = measure(scheme, start, way, &session, &machine, stop);
    Ok((found, Some(session.rate)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_and_alignments_are_read() {
        assert_eq!(offset("8"), Ok((8, 8)));
        assert_eq!(offset("60:4"), Ok((60, 4)));
        for text in ["", "-8", "x", "8:", "8:0", "16777216", "0:16777217", "8:4:2"] {
            assert!(offset(text).unwrap_err().contains("8, 8:4"), "{text}");
        }
        assert_eq!(alignment("64"), Ok(64));
        for text in ["0", "3", "8192", "-8", "x"] {
            assert!(alignment(text).unwrap_err().contains("8, 64"), "{text}");
        }
    }
}
