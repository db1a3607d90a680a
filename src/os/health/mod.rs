//! Checks what on this machine would spoil a measurement, and how to fix it. Changes nothing.

mod cpus;
mod memory;
mod observed;

pub(super) use cpus::{CHOSEN, ISOLATED, TICKLESS, boot_settings};
pub use observed::Observed;

use super::perf;
use super::root::{Root, read};

/// How suitable a fact about the machine is for measuring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// As it should be.
    Good,
    /// The machine does not report it.
    Unknown,
    /// Some measurements suffer, or cannot be made.
    Warn,
    /// Timings taken now cannot be trusted.
    Bad,
}

impl State {
    /// Returns the state in a word or two.
    pub const fn name(self) -> &'static str {
        match self {
            State::Good => "good",
            State::Unknown => "not known",
            State::Warn => "warning",
            State::Bad => "bad",
        }
    }
}

/// A fact about the machine, and its assessment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// The name of the check.
    pub name: &'static str,
    /// The assessment.
    pub state: State,
    /// What was found.
    pub found: String,
    /// What suffers in a measurement if the fact is not good.
    pub why: &'static str,
    /// The command or setting that fixes it; empty if the fact is good.
    pub mend: String,
}

/// The subject of a check, before its result is known.
struct Subject {
    name: &'static str,
    why: &'static str,
}

impl Subject {
    fn check(&self, state: State, found: impl ToString, mend: impl Into<String>) -> Check {
        let found = found.to_string();
        Check { name: self.name, state, found, why: self.why, mend: mend.into() }
    }

    fn good(&self, found: impl ToString) -> Check {
        self.check(State::Good, found, "")
    }

    fn unknown(&self, found: impl ToString, mend: impl Into<String>) -> Check {
        self.check(State::Unknown, found, mend)
    }

    fn warn(&self, found: impl ToString, mend: impl Into<String>) -> Check {
        self.check(State::Warn, found, mend)
    }

    fn bad(&self, found: impl ToString, mend: impl Into<String>) -> Check {
        self.check(State::Bad, found, mend)
    }
}

/// Runs every check of the machine in `root`, for measuring on `cpu`. This thread sleeps for two fifths
/// of a second meanwhile, to see what else runs and whether the core is shared.
///
/// CPUID, limits and the probe of the PMU describe the machine that this process runs on: for a
/// recorded machine use [`judge`].
pub fn examine(root: &Root, cpu: usize) -> Vec<Check> {
    judge(root, cpu, &Observed::now(root, cpu))
}

/// Runs the checks of an isolated CPU. The first two must be good; the others must not be bad.
pub(super) fn of_isolation(root: &Root, cpu: usize, observed: &Observed) -> [Check; 6] {
    [
        cpus::scheduler(root, cpu),
        cpus::tick(root, cpu),
        cpus::chosen(root, cpu, observed),
        observed::load(cpu, observed),
        cpus::sibling(root, cpu, observed),
        observed::steal(cpu, observed),
    ]
}

/// Runs every check, on the files of `root` and on what was `observed` besides them.
pub fn judge(root: &Root, cpu: usize, observed: &Observed) -> Vec<Check> {
    vec![
        cpus::chosen(root, cpu, observed),
        cpus::scheduler(root, cpu),
        cpus::tick(root, cpu),
        cpus::interrupts(root, cpu),
        observed::load(cpu, observed),
        observed::machine_load(root, observed),
        cpus::sibling(root, cpu, observed),
        observed::hypervisor(observed),
        observed::steal(cpu, observed),
        cpus::governor(root, cpu),
        cpus::turbo(root),
        cpus::tsc(root, observed),
        memory::available(root),
        memory::transparent(root),
        memory::pool(root),
        memory::locked(root, observed),
        memory::nodes(root),
        hardware_counters(observed),
        software_counters(observed),
        paranoid(root),
        memory::prefetchers(root, cpu, observed),
    ]
}

fn hardware_counters(observed: &Observed) -> Check {
    let subject = Subject {
        name: "hardware counters",
        why: "Without a PMU, cache misses and page walks are only inferred from times; the times \
              themselves stay as good.",
    };
    match &observed.pmu {
        Ok(()) => subject.good("cycles of user mode can be counted"),
        Err(refusal) => subject.warn(refusal, refusal.mend()),
    }
}

fn software_counters(observed: &Observed) -> Check {
    let subject = Subject {
        name: "software counters",
        why: "perf would not see page faults and migrations during a sample; context switches are \
              still marked.",
    };
    match &observed.software_events {
        Ok(()) => subject.good("the task clock counts"),
        Err(refusal) => subject.warn(refusal, refusal.mend()),
    }
}

fn paranoid(root: &Root) -> Check {
    let subject = Subject {
        name: "perf_event_paranoid",
        why: "Above 2, an ordinary user can count nothing; at 2, only events in user mode.",
    };
    let mend = "sudo sysctl kernel.perf_event_paranoid=1";
    match perf::paranoid(&root.proc) {
        Some(value @ ..=1) => subject.good(value),
        Some(2) => subject.good("2 (user mode only, which is what is measured)"),
        Some(value) => subject.warn(value, mend),
        None => {
            let path = root.proc.join("sys/kernel/perf_event_paranoid");
            match read(&path) {
                Ok(text) => subject.unknown(format!("{}: {text:?}", path.display()), mend),
                Err(_) if root.proc.join("sys/kernel").is_dir() && !path.exists() => subject
                    .unknown(
                        "this kernel has no such setting: it is built without perf",
                        "a kernel with CONFIG_PERF_EVENTS has it",
                    ),
                Err(error) => subject.unknown(error, "sudo mount -t proc proc /proc"),
            }
        }
    }
}
