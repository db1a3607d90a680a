//! `linefill machine`.

use anyhow::Result;
use comfy_table::Row;

use super::{Status, cpu_number, say};
use crate::lab::convert::machine_of;
use crate::lab::run::measure_ladder;
use crate::lab::session::{Request, Session, mask, root};
use crate::lab::sheet::sheet;
use crate::lab::table::{table, width};
use crate::lab::{commands::run::opening, size};
use crate::os::interrupt;

/// Measure the machine's caches, and show them beside what CPUID and the kernel say.
///
/// Walks lists of growing size in random order, one cache line an element, for about five
/// seconds. The cost of a step rises where a cache ends. Virtual machines often get a slice of
/// the last-level cache that CPUID states whole; experiments go by what is measured.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  linefill machine                    on the CPU that `linefill run` would choose
  linefill machine --cpu 3            on CPU 3
  linefill machine --memory 512MiB    with walks of at most 512 MiB")]
pub(super) struct Args {
    /// The CPU to measure on.
    #[arg(long, value_name = "N", value_parser = cpu_number, allow_negative_numbers = true)]
    cpu: Option<usize>,
    /// The largest working set [default: a quarter of the available memory, 1GiB at most].
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    memory: Option<u64>,
}

pub(super) fn run(args: &Args) -> Result<Status> {
    let stop = interrupt::install()?;
    let request = Request {
        cpu: args.cpu,
        memory: args.memory,
        masked: mask(),
        ..Request::default()
    };
    let session = Session::open(&request, &root())?;
    let header = &session.header;
    eprintln!("{}", opening(header));
    let ladder = measure_ladder(&session, stop);
    let machine = machine_of(header, &ladder);

    let mut table = table(&["", "measured", "CPUID", "kernel", "note"], width());
    for row in sheet(header, &machine, &ladder) {
        let cell = |text: Option<String>| text.unwrap_or_else(|| "-".into());
        table.add_row(Row::from([
            row.name,
            cell(row.measured),
            cell(row.cpuid),
            cell(row.kernel),
            row.differs.unwrap_or_default(),
        ]));
    }
    say(&table.trim_fmt())?;
    if stop.load(core::sync::atomic::Ordering::Relaxed) {
        eprintln!("stopped: the larger working sets were not measured");
        return Ok(Status::Interrupted);
    }
    Ok(Status::Done)
}
