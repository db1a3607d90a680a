//! `linefill doctor`.

use anyhow::Result;
use comfy_table::Row;

use super::{Status, cpu_number, say};
use crate::lab::session::{default_cpu, hold, root, unwatched};
use crate::lab::table::{table, width};
use crate::os::health::{Check, State, examine};

/// Say what would spoil a measurement on this machine, and how to mend it.
///
/// Looks at isolation, clock frequency, hyper-threads, hypervisor, huge pages, limits, counters,
/// prefetchers and other load, as seen from the CPU that would measure. It changes nothing: what
/// mends a finding is for you to run.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  linefill doctor            for the CPU that `linefill run` would choose
  linefill doctor --cpu 3    for CPU 3")]
pub(super) struct Args {
    /// The CPU that is to measure.
    #[arg(long, value_name = "N", value_parser = cpu_number, allow_negative_numbers = true)]
    cpu: Option<usize>,
}

pub(super) fn run(args: &Args) -> Result<Status> {
    let root = root();
    let cpu = args.cpu.or_else(|| default_cpu(&root)).unwrap_or(0);
    // The checks look at the CPU that is to measure: in a hybrid one they differ.
    let (_pinned, mut notes) = hold(args.cpu, &root)?;
    notes.extend(unwatched());
    let checks = examine(&root, cpu);

    let width = width();
    let mut found = table(&["", "what", "found"], width);
    let mut advice = table(&["what", "why it matters, and how to mend it"], width);
    for check in &checks {
        found.add_row(Row::from([word(check.state), check.name, &check.found]));
        if check.state != State::Good {
            advice.add_row(Row::from([check.name.to_owned(), help(check)]));
        }
    }
    let count = |state| checks.iter().filter(|check| check.state == state).count();
    let mut text = format!("Measuring on CPU {cpu}:\n\n{}\n\n", found.trim_fmt());
    if !advice.is_empty() {
        text += &format!("{}\n\n", advice.trim_fmt());
    }
    for note in notes {
        text += &format!("warning: {note}\n");
    }
    text += &format!(
        "{} good, {} to be aware of, {} bad, {} not known",
        count(State::Good),
        count(State::Warn),
        count(State::Bad),
        count(State::Unknown)
    );
    say(&text)?;
    Ok(Status::Done)
}

fn word(state: State) -> &'static str {
    match state {
        State::Good => "good",
        State::Unknown => "not known",
        State::Warn => "warning",
        State::Bad => "BAD",
    }
}

fn help(check: &Check) -> String {
    match check.mend.as_str() {
        "" => check.why.to_owned(),
        mend => format!("{} Mend it: {mend}.", check.why),
    }
}
