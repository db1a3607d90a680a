//! `linefill machine`.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::{Status, cpu_number, tell};
use crate::lab::analysis::Analysis;
use crate::lab::commands::run::opening;
use crate::lab::format::{Format, print};
use crate::lab::inferred::{Inferred, probes};
use crate::lab::read::{read_any, record_at, warn};
use crate::lab::run::{measure_cases, measure_ladder};
use crate::lab::session::{Request, Session, mask, root};
use crate::lab::sheet::{self, MachineSheet};
use crate::lab::size;
use crate::os::interrupt;
use crate::recorded::machine_of;

/// Measure the machine's caches, and show them beside what CPUID and the kernel say.
///
/// Walks lists of growing size in random order, one cache line per element: the time per step rises
/// where a cache ends. Then it walks lists that fall into one set, and times loads across the end of
/// a line, loads from many pages, and stores. This takes about fifteen seconds, and up to three times
/// as long while others use the same core.
///
/// From these curves alone it infers the line size, the size and ways of each cache, the replacement
/// policy, the entries of the TLBs and the sizes of the buffers. Where the curves leave doubt, it says
/// in what share of the resampled curves the same answer came out. A virtual machine often gets only a
/// part of the last-level cache that CPUID states; experiments use what is measured.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  linefill machine                    on the CPU that `linefill run` would choose
  linefill machine --cpu 3            on CPU 3
  linefill machine --memory 512MiB    with walks of at most 512 MiB
  linefill machine --record linefill-out      of a run that measured it")]
pub(super) struct Args {
    /// The CPU to measure on.
    #[arg(long, value_name = "N", value_parser = cpu_number, allow_negative_numbers = true)]
    cpu: Option<usize>,
    /// The largest working set [default: a quarter of the available memory, 1GiB at most].
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    memory: Option<u64>,
    /// Measure nothing: a record, or the folder of a run, says what was measured.
    #[arg(long, value_name = "RECORD", conflicts_with_all = ["cpu", "memory"])]
    record: Option<PathBuf>,
    /// The form of the output.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn run(args: &Args) -> Result<Status> {
    if let Some(record) = &args.record {
        return of_record(record, args.format);
    }
    let stop = interrupt::install()?;
    let request = Request {
        cpu: args.cpu,
        memory: args.memory,
        masked: mask(),
        ..Request::default()
    };
    let session = Session::open(&request, &root())?;
    let header = &session.header;
    tell(opening(header));
    for note in &header.notes {
        tell(format_args!("warning: {note}"));
    }
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
    let sheet = MachineSheet(sheet::sheet(header, &machine, &ladder, &inferred));
    print(&sheet, args.format)?;
    if stop.load(core::sync::atomic::Ordering::Relaxed) {
        tell("stopped: not all was measured");
        return Ok(Status::Interrupted);
    }
    Ok(Status::Done)
}

/// The sheet of a record's machine.
fn of_record(path: &Path, format: Format) -> Result<Status> {
    let record = record_at(path);
    let reading = read_any(&record)?;
    warn(record.display(), reading.cut_off);
    print(&MachineSheet(Analysis::of(reading.record).sheet()), format)?;
    Ok(Status::Done)
}
