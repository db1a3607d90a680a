//! `linefill doctor`.

use anyhow::Result;

use super::{Status, cpu_number};
use crate::lab::checkup::Checkup;
use crate::lab::format::{Format, print};
use crate::lab::session::{default_cpu, hold, root, unwatched};
use crate::os::health::examine;

/// Say what distorts a measurement on this machine, and how to fix it.
///
/// Looks at isolation, interrupts, clock frequency, hyper-threads, hypervisor, huge pages, limits,
/// counters, prefetchers and other load, as seen from the CPU that would measure. It changes nothing:
/// each fix is for you to run. `linefill run --isolated` insists on a CPU that is isolated, tickless and
/// quiet. The exit status is 1 if something is BAD, and with --strict also if there is a warning.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  linefill doctor            for the CPU that `linefill run` would choose
  linefill doctor --cpu 3    for CPU 3
  linefill doctor --strict && linefill run     measure only on a machine without a warning")]
pub(super) struct Args {
    /// The CPU that is to measure.
    #[arg(long, value_name = "N", value_parser = cpu_number, allow_negative_numbers = true)]
    cpu: Option<usize>,
    /// Fail also if there is a warning.
    #[arg(long)]
    strict: bool,
    /// The form of the output.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn run(args: &Args) -> Result<Status> {
    let root = root();
    let cpu = args.cpu.or_else(|| default_cpu(&root)).unwrap_or(0);
    // The checks look at the CPU that is to measure: in a hybrid one they differ.
    let (_pinned, mut notes) = hold(args.cpu, &root)?;
    notes.extend(unwatched());
    let checkup = Checkup {
        cpu,
        checks: examine(&root, cpu),
        notes,
        strict: args.strict,
    };
    print(&checkup, args.format)?;
    match checkup.fails() {
        true => Ok(Status::Failed),
        false => Ok(Status::Done),
    }
}
