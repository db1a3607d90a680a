//! Facts that no single file gives: CPUID, limits, probes of the counters, and two readings of the load
//! (`/proc/stat`, proc_stat(5)). The load shows what else runs, and how much of a guest's time the
//! host takes.

use std::thread;
use std::time::{Duration, Instant};

use super::{Check, State, Subject};
use crate::cpu::{Features, Identity, PrefetchSwitches};
use crate::os::perf::{self, Refusal};
use crate::os::root::{Root, Unreadable, read};
use crate::os::{affinity, limits, pause};
use crate::time::SmtContention;

/// Time between the two readings: twenty ticks of the kernel's usual accounting clock (100 Hz).
const WINDOW: Duration = Duration::from_millis(200);

/// Throughput checks before the counted ones, to learn the throughput of a thread that is alone on the core.
const CHECKS: usize = 1000;

/// Facts about a machine that its files do not give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// The switches of the core's prefetchers; `None` if they are not known.
    pub switches: Option<PrefetchSwitches>,
    /// The hypervisor's name; `None` on a bare machine.
    pub hypervisor: Option<String>,
    /// Whether CPUID promises a TSC that runs at one rate in every power state.
    pub invariant_tsc: bool,
    /// The CPUs that this process may use; empty if unknown.
    pub allowed: Vec<usize>,
    /// Whether a thread could be pinned to the CPU.
    pub pinned: bool,
    /// Bytes that this process may lock; `None` if unlimited, also by privilege (`CAP_IPC_LOCK`).
    pub locked_memory: Option<u64>,
    /// Whether hardware events can be counted.
    pub pmu: Result<(), Refusal>,
    /// Whether software events can be counted.
    pub software_events: Result<(), Refusal>,
    /// Two readings of `/proc/stat`, 200 ms apart.
    pub stat: Result<(String, String), Unreadable>,
    /// Percentage of throughput checks that found the core shared; `None` if no thread could be
    /// started and pinned to check.
    pub shared_percent: Option<u32>,
}

impl Observed {
    /// Observes this machine and the core of `cpu`. `root` is where `/proc/stat` is read.
    pub fn now(root: &Root, cpu: usize) -> Self {
        let identity = Identity::detect();
        Self {
            switches: identity.core().and_then(|core| core.prefetchers.value()),
            hypervisor: identity.hypervisor_name().map(str::to_owned),
            invariant_tsc: Features::detect().invariant_tsc(),
            allowed: affinity::allowed(),
            pinned: affinity::pin(cpu).is_ok(),
            locked_memory: limits::locked_memory().filter(|_| !limits::may_lock_any_memory()),
            pmu: perf::probe(),
            software_events: perf::probe_software(),
            stat: two_readings(root),
            shared_percent: shared_percent(cpu),
        }
    }
}

/// Returns the percentage of checks that found this thread not alone on the core of `cpu`. Takes another
/// [`WINDOW`].
fn shared_percent(cpu: usize) -> Option<u32> {
    let checking = thread::Builder::new().spawn(move || {
        affinity::pin(cpu).ok()?;
        let mut share = SmtContention::after(CHECKS);
        let began = Instant::now();
        let (mut checks, mut shared) = (0_u32, 0_u32);
        while began.elapsed() < WINDOW {
            shared += u32::from(!share.alone());
            checks += 1;
        }
        Some(100 * shared / checks.max(1))
    });
    // Fails if a limit or a sandbox permits no second thread.
    checking.ok()?.join().ok()?
}

fn two_readings(root: &Root) -> Result<(String, String), Unreadable> {
    let path = root.proc.join("stat");
    let before = read(&path)?;
    pause(WINDOW);
    Ok((before, read(&path)?))
}

/// Ticks of one CPU, or of all CPUs: since boot, or between two readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticks {
    /// Spent on programs, the kernel and interrupts.
    pub(super) busy: u64,
    /// Spent idle, whether or not waiting for disks.
    pub(super) idle: u64,
    /// Taken by the hypervisor while there was work to do.
    pub(super) steal: u64,
}

impl Ticks {
    /// Parses the line `name` (`cpu` for all, `cpu3` for one) of the file's text.
    pub(super) fn parse(stat: &str, name: &str) -> Option<Self> {
        let line = stat.lines().find(|line| line.split_whitespace().next() == Some(name))?;
        let mut fields = line.split_whitespace().skip(1).map(|field| field.parse::<u64>());
        let mut next = || fields.next()?.ok();
        let (user, nice, system) = (next()?, next()?, next()?);
        let (idle, iowait) = (next()?, next()?);
        let (irq, softirq, steal) = (next()?, next()?, next()?);
        // Guest time follows; `user` and `nice` include it.
        Some(Self { busy: user + nice + system + irq + softirq, idle: idle + iowait, steal })
    }

    pub(super) fn total(&self) -> u64 {
        self.busy + self.idle + self.steal
    }

    /// Returns `ticks` as a fraction of the total, or `None` if the total is 0.
    pub(super) fn share(&self, ticks: u64) -> Option<f64> {
        (self.total() > 0).then(|| ticks as f64 / self.total() as f64)
    }

    /// Returns the ticks counted since `before`. Counters, such as the idle one, may step back by a tick.
    fn since(&self, before: &Self) -> Self {
        Self {
            busy: self.busy.saturating_sub(before.busy),
            idle: self.idle.saturating_sub(before.idle),
            steal: self.steal.saturating_sub(before.steal),
        }
    }
}

/// Returns the ticks of the line `name` between the two readings, or why they are unknown.
pub(super) fn between(observed: &Observed, name: &str) -> Result<Ticks, String> {
    let (before, after) = observed.stat.as_ref().map_err(ToString::to_string)?;
    let line = |text| Ticks::parse(text, name).ok_or_else(|| format!("/proc/stat: no {name} line"));
    let ticks = line(after)?.since(&line(before)?);
    if ticks.total() == 0 {
        return Err(format!("/proc/stat: {name} counted no tick in 200 ms"));
    }
    Ok(ticks)
}

/// Formats a fraction as a percentage.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Shares of CPU time: up to the first a load is good, up to the second a warning. One tick in the
/// window of 200 ms is 5 %.
const CHOSEN: (f64, f64) = (0.05, 0.15);
const MACHINE: (f64, f64) = (0.05, 0.25);

const MEND: &str = "stop other programs (look with: top), or measure when they have ended";

pub(super) fn load(cpu: usize, observed: &Observed) -> Check {
    let subject = Subject {
        name: "load of the CPU",
        why: "Another program on the measuring CPU takes its time and its caches: samples grow \
              and scatter.",
    };
    match busy(observed, &format!("cpu{cpu}")) {
        Ok(share) => {
            graded(&subject, share, CHOSEN, format!("CPU {cpu} is {} busy", percent(share)))
        }
        Err(reason) => subject.unknown(reason, MEND),
    }
}

pub(super) fn machine_load(root: &Root, observed: &Observed) -> Check {
    let subject = Subject {
        name: "load of the machine",
        why: "Programs on other CPUs share the last-level cache, the memory bandwidth and the \
              power budget: large working sets get slower and clocks change.",
    };
    let average = match read(&root.proc.join("loadavg")) {
        Ok(text) => text.split_whitespace().next().unwrap_or("unknown").to_owned(),
        Err(_) => "unknown".to_owned(),
    };
    match busy(observed, "cpu") {
        Ok(share) => {
            let found = format!("{} of all CPU time busy, load average {average}", percent(share));
            graded(&subject, share, MACHINE, found)
        }
        Err(reason) => subject.unknown(reason, MEND),
    }
}

/// Returns the share of time that the line `name` was busy while this process slept.
fn busy(observed: &Observed, name: &str) -> Result<f64, String> {
    let ticks = between(observed, name)?;
    Ok(ticks.share(ticks.busy).unwrap_or(0.0))
}

fn graded(subject: &Subject, share: f64, (good, warn): (f64, f64), found: String) -> Check {
    if share <= good {
        subject.good(found)
    } else {
        subject.check(if share <= warn { State::Warn } else { State::Bad }, found, MEND)
    }
}

/// Share of time stolen since boot above which single samples are disturbed.
const SOME: f64 = 0.001;
/// Share of time stolen in the window of 200 ms above which medians are disturbed too. It is less than
/// one tick, so that any stolen tick exceeds it.
const MUCH: f64 = 0.01;

pub(super) fn hypervisor(observed: &Observed) -> Check {
    let subject = Subject {
        name: "hypervisor",
        why: "A guest's page walks are two-dimensional, other guests share its last-level cache \
              and its memory, CPUID may not tell the truth, and there is often no PMU.",
    };
    match &observed.hypervisor {
        None => subject.good("none"),
        Some(name) => subject.warn(
            name,
            "measure on the bare machine; in a guest ask for dedicated cores and 1 GiB or 2 MiB \
             pages on the host",
        ),
    }
}

pub(super) fn steal(cpu: usize, observed: &Observed) -> Check {
    let subject = Subject {
        name: "steal time",
        why: "While the host runs another guest on this CPU, the TSC keeps counting: the \
              interrupted sample is milliseconds too long, and the caches are cold afterwards.",
    };
    let name = format!("cpu{cpu}");
    let mend =
        "move to a host that is not oversold, or measure when steal is 0 (look with: vmstat 1)";
    let window = match between(observed, &name) {
        Ok(ticks) => ticks,
        Err(reason) => return subject.unknown(reason, mend),
    };
    let after = observed.stat.as_ref().ok().and_then(|(_, after)| Ticks::parse(after, &name));
    let boot = after.and_then(|ticks| ticks.share(ticks.steal)).unwrap_or(0.0);
    let now = window.share(window.steal).unwrap_or(0.0);
    let found = format!("{} of CPU {cpu} now, {} since boot", percent(now), percent(boot));
    if now > MUCH {
        subject.bad(found, mend)
    } else if boot > SOME {
        subject.warn(found, mend)
    } else {
        subject.good(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "cpu  18862 0 4912 111622 428 0 90 10 0 0\n\
                        cpu0 7686 5 1838 58427 37 2 16 4 0 0\ncpu10 1 1 1 1 1 1 1 1 0 0\nintr \
                        282030 0\n";

    #[test]
    fn a_privileged_process_may_lock_all_memory() {
        let limit = if limits::may_lock_any_memory() { None } else { limits::locked_memory() };
        assert_eq!(Observed::now(&Root::live(), 0).locked_memory, limit);
    }

    #[test]
    fn a_line_is_found_by_its_whole_name() {
        let one = Ticks::parse(TEXT, "cpu0").unwrap();
        assert_eq!(one, Ticks { busy: 7686 + 5 + 1838 + 2 + 16, idle: 58427 + 37, steal: 4 });
        assert_eq!(Ticks::parse(TEXT, "cpu").unwrap().steal, 10);
        assert_eq!(Ticks::parse(TEXT, "cpu1"), None);
        assert_eq!(Ticks::parse("cpu0 1 2 x 4 5 6 7 8\n", "cpu0"), None);
        assert_eq!(Ticks::parse("cpu0 1 2 3\n", "cpu0"), None);
    }

    #[test]
    fn shares_are_of_all_time() {
        let ticks = Ticks { busy: 1, idle: 18, steal: 1 };
        assert_eq!(ticks.share(ticks.busy), Some(0.05));
        assert_eq!(Ticks { busy: 0, idle: 0, steal: 0 }.share(0), None);
    }
}
