//! `linefill time`.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::ArgGroup;

use super::{PageSize, Status, cpu_number, duration, node_number, session_on, tell};
use crate::counters::chosen;
use crate::cpu::Identity;
use crate::lab::counters::Counted;
use crate::lab::format::{Format, print};
use crate::lab::session::{place, root};
use crate::lab::size;
use crate::lab::time::{Bounds, Lines, Subject, Syntax, time};
use crate::mem::LINE;

/// Time a few lines of assembly, or a function of a file, without a project around them.
///
/// Assembles the code, runs it in a process of its own on one CPU, and prints the time of a repetition in core
/// cycles and in nanoseconds, with 95 % intervals: warm, with its memory flushed from the caches before, and
/// with its code flushed, too. TLBs and branch predictors stay warm. Events are counted if there is a PMU. This
/// takes about three seconds.
///
/// The code of --asm is copied into a loop, and twice as often into a second loop. The difference of the two is
/// the time of the copies alone. Before the first copy, rsi holds the size of the memory in bytes, and all
/// other general registers except rsp and r15 hold its address. The code of --init runs once and may change the
/// registers. After that the code keeps its registers, vector registers included, so that a walk continues
/// where it was. The code must not change r15, the counter of the loop, and must pop what it pushes. The loop's
/// `dec` changes the flags between rounds. Labels are numbers (1: ... jnz 1b).
///
/// A function (--symbol) is called once per repetition by the System V convention, with the address of the
/// memory in rdi and its size in rsi. Its time includes the call, whose own time is shown beside it. With
/// --counts the function gets a number of repetitions in rdx and loops by itself; N against 2N repetitions then
/// remove the time of the call. The file is assembly (.S is preprocessed, .s is not), C, or an object file. No
/// library is linked.
///
/// The memory is a list in random order: the first 8 bytes of each line of 64 bytes are the address of another
/// line, so that `mov rax, [rax]` walks through all lines. The code may write to the memory, which is never
/// writable and executable at once.
#[derive(Debug, clap::Args)]
#[command(group = ArgGroup::new("code").required(true).args(["file", "asm"]))]
#[command(after_help = "\
Examples:
  linefill time --asm 'mov rax, [rax]'                           a load from L1d
  linefill time --asm 'mov rax, [rax]' --memory 256MiB --pages 2m   a load from memory
  linefill time --asm 'imul rbx, rcx' --init 'mov ecx, 3'        latency
  linefill time --asm 'vaddpd ymm0, ymm1, ymm2' --unroll 32      throughput
  linefill time kernel.S --symbol sum --memory 32KiB             a function
  linefill time kernel.c --symbol sum --counts --format json     one that loops itself, in C

The compiler is the one that CC names, else cc, gcc or clang. For --asm and .s files `as` suffices.
If the code faults, the error names the signal and the address, and the exit status is 2.")]
pub(super) struct Args {
    /// A file with the function: .S, .s, .c, or an object file.
    #[arg(requires = "symbol")]
    file: Option<PathBuf>,
    /// The name of the function in the file.
    #[arg(long, value_name = "NAME", requires = "file", conflicts_with = "asm")]
    symbol: Option<String>,
    /// The function takes the number of repetitions as its third argument, and loops itself.
    #[arg(long, requires = "file", conflicts_with = "asm")]
    counts: bool,
    /// The code to repeat. Instructions are separated by semicolons or line ends.
    #[arg(long, value_name = "CODE", allow_hyphen_values = true)]
    asm: Option<String>,
    /// Code that runs once before the first repetition.
    #[arg(
        long,
        value_name = "CODE",
        requires = "asm",
        conflicts_with = "file",
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true
    )]
    init: String,
    /// The syntax of --asm and --init.
    #[arg(long, value_enum, default_value_t, conflicts_with = "file")]
    syntax: Syntax,
    /// Copies of --asm in the shorter loop.
    #[arg(long, value_name = "N", default_value_t = 16, conflicts_with = "file",
          value_parser = clap::value_parser!(u32).range(1..=10_000), allow_hyphen_values = true)]
    unroll: u32,
    /// The size of the memory, rounded up to lines of 64 bytes.
    #[arg(long, value_name = "SIZE", default_value = "4KiB", value_parser = size::parse,
          allow_hyphen_values = true)]
    memory: u64,
    /// The page size of the memory.
    #[arg(long, value_enum, default_value = "4k")]
    pages: PageSize,
    /// The NUMA node on which the memory lies [default: any].
    #[arg(long, value_name = "N", value_parser = node_number, allow_negative_numbers = true)]
    node: Option<usize>,
    /// The events to count, separated by commas [default: the usual ones].
    #[arg(short, long, value_name = "EVENTS")]
    events: Option<String>,
    /// The longest time that the code may run in all.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration,
          allow_hyphen_values = true)]
    timeout: Duration,
    /// The CPU to measure on [default: an isolated one, else the last one allowed].
    #[arg(long, value_name = "N", value_parser = cpu_number, allow_negative_numbers = true)]
    cpu: Option<usize>,
    /// The form of the output.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn run(args: &Args) -> Result<Status> {
    let subject = subject(args)?;
    let memory = usize::try_from(args.memory).ok();
    let memory = memory.and_then(|bytes| bytes.max(1).checked_next_multiple_of(LINE));
    let memory = memory.with_context(|| format!("--memory: there are no {} bytes", args.memory))?;
    let (session, stop) = session_on(args.cpu, args.node)?;
    let place = place(&root(), session.header.pinned, Identity::detect());
    let mut events = chosen(args.events.as_deref(), &place)
        .context("--events (`linefill counters --list` shows what is accepted)")?;
    if args.events.is_none() {
        // A repetition causes no context switches or page faults, so software events are left out.
        events.retain(|named| !named.event.as_ref().is_ok_and(|event| event.is_software()));
    }
    let (counted, refused) = Counted::open(events);
    let bounds = Bounds { memory, pages: args.pages.into(), timeout: args.timeout };
    let timing = time(&subject, bounds, (&counted, &refused), &session, stop)?;
    match timing {
        Some(timing) => print(&timing, args.format)?,
        None => tell("stopped: the code did not return soon, and nothing was timed"),
    }
    Ok(Status::unless_stopped(stop.load(Ordering::Relaxed)))
}

fn subject(args: &Args) -> Result<Subject> {
    let empty = |asm: &String| asm.split([';', '\n']).all(|line| line.trim().is_empty());
    match (&args.asm, &args.file, &args.symbol) {
        (Some(asm), ..) if empty(asm) => bail!("--asm: there is no instruction to time"),
        (Some(asm), ..) => Subject::of_lines(&Lines {
            asm: asm.clone(),
            init: args.init.clone(),
            syntax: args.syntax,
            unroll: args.unroll,
        }),
        (None, Some(file), Some(symbol)) => Subject::of_function(file, symbol, args.counts),
        _ => bail!("what is to be timed? Give --asm CODE, or a file and its function by --symbol"),
    }
}
