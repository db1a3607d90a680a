//! Checks of the CPUs: which exist, whether the chosen CPU is kept free of other work and of the kernel's
//! tick, what else runs on its core, and whether its clocks are steady.

use std::path::Path;

use super::observed::{between, percent};
use super::{Check, Observed, Subject};
use crate::os::irq;
use crate::os::root::{Root, Unreadable, read};
use crate::os::sysfs::{Sysfs, list};

/// Name of the check of the CPU itself.
pub(in crate::os) const CHOSEN: &str = "CPUs";

pub(super) fn chosen(root: &Root, cpu: usize, observed: &Observed) -> Check {
    let subject = Subject {
        name: CHOSEN,
        why: "A measurement is pinned to one CPU. Without a second CPU, the rest of the system \
              runs there too, and effects between two threads cannot be measured.",
    };
    let online = match Sysfs::at(&root.sys).online() {
        Ok(online) => online,
        Err(error) => return subject.unknown(error, "mount sysfs: sudo mount -t sysfs sysfs /sys"),
    };
    let shown = list::format(&online);
    if !online.contains(&cpu) {
        return subject.bad(
            format!("CPU {cpu} is not online; online are {shown}"),
            format!("choose another: --cpu {}", online[0]),
        );
    }
    let allowed = &observed.allowed;
    // The CPUs of `isolcpus` are in no mask: a process reaches them only by naming them, and only if its
    // cpuset has them.
    let isolated = list::read(&root.sys.join("devices/system/cpu/isolated"));
    let asked_for = observed.pinned && isolated.is_ok_and(|cpus| cpus.contains(&cpu));
    if !allowed.is_empty() && !allowed.contains(&cpu) && !asked_for {
        return subject.bad(
            format!(
                "CPU {cpu} is not allowed to this process; allowed are {}",
                list::format(allowed)
            ),
            format!("choose another: --cpu {}", allowed[0]),
        );
    }
    if online.len() == 1 {
        return subject.warn(format!("CPU {cpu} is the only one"), "give the machine a second CPU");
    }
    if *allowed == [cpu] {
        return subject.warn(
            format!("CPU {cpu} is the only one that this process may use; online are {shown}"),
            format!("allow it a second CPU: taskset -c {shown} linefill"),
        );
    }
    subject.good(format!("CPU {cpu}, one of {} ({shown})", online.len()))
}

/// Name of the check of the scheduler's isolation.
pub(in crate::os) const ISOLATED: &str = "isolated CPU";

/// Name of the check of the kernel's tick.
pub(in crate::os) const TICKLESS: &str = "tickless CPU";

pub(super) fn scheduler(root: &Root, cpu: usize) -> Check {
    let subject = Subject {
        name: ISOLATED,
        why: "Without isolation the scheduler puts other programs on the measuring CPU, which \
              evict its caches and lengthen single samples.",
    };
    // A partition of cgroup v2 isolates its CPUs as well; Linux 6.8 and later list them.
    let partitions = root.sys.join("fs/cgroup/cpuset.cpus.isolated");
    match list::read(&partitions) {
        Ok(cpus) if cpus.contains(&cpu) => {
            subject.good(format!("isolated in a cpuset partition: {}", list::format(&cpus)))
        }
        _ => judge(&subject, root, cpu, "isolated", "isolcpus"),
    }
}

pub(super) fn tick(root: &Root, cpu: usize) -> Check {
    let subject = Subject {
        name: TICKLESS,
        why: "The kernel's timer interrupts each busy CPU 100 to 1000 times per second; each \
              interrupt costs microseconds and evicts some cache lines.",
    };
    judge(&subject, root, cpu, "nohz_full", "nohz_full")
}

pub(super) fn interrupts(root: &Root, cpu: usize) -> Check {
    let subject = Subject {
        name: "device interrupts",
        why: "An interrupt of a device on the measuring CPU costs the sample that it falls into \
              some microseconds and some cache lines.",
    };
    let mend = format!(
        "sudo linefill run --isolated={cpu} sends them elsewhere while it measures; or name the \
         other CPUs by irqaffinity= on the kernel's command line, and stop irqbalance: sudo \
         systemctl stop irqbalance"
    );
    let mut irqs = match irq::aimed_at(root, cpu) {
        Ok(irqs) => irqs,
        Err(error) => return subject.unknown(error, mend),
    };
    irqs.retain(|irq| irq.comes);
    match irqs.len() {
        0 => subject.good(format!("no device interrupts CPU {cpu}")),
        1 => subject.warn(format!("interrupt {} goes to CPU {cpu}", irq::numbers(&irqs)), mend),
        _ => subject.warn(format!("interrupts {} go to CPU {cpu}", irq::numbers(&irqs)), mend),
    }
}

/// Returns the advice for isolating a CPU from boot on.
pub(in crate::os) fn boot_settings(cpu: usize) -> String {
    format!(
        "add isolcpus={cpu} nohz_full={cpu} rcu_nocbs={cpu} to the kernel's command line \
         (GRUB_CMDLINE_LINUX in /etc/default/grub, then sudo update-grub and reboot), and \
         measure with --cpu {cpu}"
    )
}

fn judge(subject: &Subject, root: &Root, cpu: usize, file: &str, parameter: &str) -> Check {
    let mend = boot_settings(cpu);
    let from_file = list::read(&root.sys.join("devices/system/cpu").join(file));
    let cpus = from_file.or_else(|_| from_command_line(&root.proc.join("cmdline"), parameter));
    match cpus {
        Ok(cpus) if cpus.contains(&cpu) => {
            subject.good(format!("{parameter}={}", list::format(&cpus)))
        }
        Ok(cpus) if cpus.is_empty() => subject.warn(format!("{parameter} names no CPU"), mend),
        Ok(cpus) => subject.warn(
            format!("{parameter}={}, not CPU {cpu}", list::format(&cpus)),
            format!("measure there: --cpu {}", cpus[0]),
        ),
        Err(error) => subject.unknown(error, mend),
    }
}

/// Returns the CPUs of `parameter=[flag,]list` on the kernel's command line.
fn from_command_line(path: &Path, parameter: &str) -> Result<Vec<usize>, Unreadable> {
    let text = read(path)?;
    let value = text
        .split_whitespace()
        .find_map(|word| word.strip_prefix(parameter)?.strip_prefix('='))
        .unwrap_or("");
    let numbers = value.trim_start_matches(|letter: char| !letter.is_ascii_digit());
    list::parse(numbers).ok_or_else(|| Unreadable::malformed(path, value, "a list of CPUs"))
}

/// Percentages of checks that find the core shared: up to the first the result is good, up to the
/// second a warning, because samples taken meanwhile are left out.
const CROWDED: (u32, u32) = (5, 50);

/// Judges a sibling that the hypervisor hides, by how often the core was found shared.
fn hidden(subject: &Subject, shared_percent: Option<u32>) -> Check {
    let mend = "ask for whole cores (a dedicated host or a metal instance)";
    let Some(shared_percent) = shared_percent else {
        return subject.unknown(
            "the hypervisor shows no sibling; a neighbour may run on it all the same",
            mend,
        );
    };
    let found = format!(
        "the hypervisor shows no sibling, but by its throughput the core is shared for \
         {shared_percent} % of the time"
    );
    match shared_percent {
        few if few <= CROWDED.0 => subject.good(found),
        some if some <= CROWDED.1 => subject.warn(found, mend),
        _ => subject.bad(found, mend),
    }
}

/// Busy share that counts as idle: one tick in the window of 200 ms.
const IDLE: f64 = 0.05;

pub(super) fn sibling(root: &Root, cpu: usize, observed: &Observed) -> Check {
    let subject = Subject {
        name: "SMT sibling",
        why: "A busy hyper-thread halves the caches, fill buffers and execution slots that the \
              measuring one sees.",
    };
    let siblings = match Sysfs::at(&root.sys).topology(cpu) {
        Ok(topology) => topology.siblings(cpu),
        Err(error) => return subject.unknown(error, "look on the host which CPUs share a core"),
    };
    if siblings.is_empty() {
        return match &observed.hypervisor {
            None => subject.good(format!("CPU {cpu} has its core to itself")),
            Some(_) => hidden(&subject, observed.shared_percent),
        };
    }
    let mend = format!(
        "switch SMT off: echo off | sudo tee /sys/devices/system/cpu/smt/control; or keep CPU {} \
         free",
        list::format(&siblings)
    );
    let mut busiest: f64 = 0.0;
    for sibling in &siblings {
        match between(observed, &format!("cpu{sibling}")) {
            Ok(ticks) => busiest = busiest.max(ticks.share(ticks.busy).unwrap_or(0.0)),
            Err(reason) => return subject.unknown(reason, mend),
        }
    }
    let found =
        format!("CPU {} shares the core, {} busy", list::format(&siblings), percent(busiest));
    if busiest <= IDLE { subject.good(found) } else { subject.bad(found, mend) }
}

pub(super) fn tsc(root: &Root, observed: &Observed) -> Check {
    let subject = Subject {
        name: "time-stamp counter",
        why: "Every time is a difference of two TSC readings: the TSC must run at one rate in all \
              power states, and agree between CPUs.",
    };
    if !observed.invariant_tsc {
        return subject.bad(
            "CPUID promises no invariant TSC",
            "pass it on in the hypervisor (QEMU: -cpu host,+invtsc); a CPU without it cannot be \
             measured by ticks",
        );
    }
    let dir = root.sys.join("devices/system/clocksource/clocksource0");
    let current = match read(&dir.join("current_clocksource")) {
        Ok(current) => current,
        Err(error) => {
            return subject.unknown(
                format!("invariant; clock source not told ({error})"),
                "look in the kernel log: sudo dmesg | grep -i tsc",
            );
        }
    };
    if current == "tsc" {
        return subject.good("invariant, and the kernel's own clock source");
    }
    let found = format!("invariant, but the kernel's clock source is {current}");
    let available = read(&dir.join("available_clocksource")).unwrap_or_default();
    if available.split_whitespace().any(|source| source == "tsc") {
        let file = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        subject.warn(found, format!("echo tsc | sudo tee {file}"))
    } else {
        subject.bad(
            found + ", and tsc is not among the available ones: the kernel has found it unstable",
            "look why in the kernel log: sudo dmesg | grep -i tsc",
        )
    }
}

pub(super) fn governor(root: &Root, cpu: usize) -> Check {
    let subject = Subject {
        name: "frequency governor",
        why: "A governor that saves power starts a sample at a low clock and raises it during the \
              sample: the same kernel then takes a different number of nanoseconds each time.",
    };
    let path = root.sys.join(format!("devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"));
    match read(&path) {
        Ok(governor) if governor == "performance" => subject.good(governor),
        Ok(governor) => subject.warn(governor, "sudo cpupower frequency-set -g performance"),
        Err(error) => subject.unknown(
            format!("not told ({error})"),
            "set the firmware or the host to maximum performance; compare core cycles, not \
             nanoseconds",
        ),
    }
}

pub(super) fn turbo(root: &Root) -> Check {
    let subject = Subject {
        name: "turbo",
        why: "Turbo clocks depend on temperature and on how many cores are busy: nanoseconds \
              drift between runs, while core cycles stay.",
    };
    // The file, its value when turbo is off, and how to switch turbo off.
    let files = [
        (
            "intel_pstate/no_turbo",
            "1",
            "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo",
        ),
        ("cpufreq/boost", "0", "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost"),
    ];
    for (file, off, mend) in files {
        let Ok(value) = read(&root.sys.join("devices/system/cpu").join(file)) else { continue };
        return match value.as_str() {
            value if value == off => subject.good("off"),
            "0" | "1" => subject.warn("on", mend),
            other => subject.unknown(format!("{file} says {other:?}"), mend),
        };
    }
    subject.unknown(
        "not told (neither intel_pstate/no_turbo nor cpufreq/boost)",
        "switch it off in the firmware or on the host; compare core cycles, not nanoseconds",
    )
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn a_sibling_that_is_not_shown_is_judged_by_what_it_takes() {
        let subject = Subject { name: "SMT sibling", why: "" };
        for (shared_percent, state) in [
            (None, State::Unknown),
            (Some(5), State::Good),
            (Some(6), State::Warn),
            (Some(51), State::Bad),
        ] {
            let check = hidden(&subject, shared_percent);
            assert_eq!(check.state, state, "{shared_percent:?}");
            let share = shared_percent
                .map_or(String::new(), |shared_percent| format!("shared for {shared_percent} %"));
            assert!(check.found.contains(&share), "{}", check.found);
        }
    }
}
