//! The CPUs there are, the chosen one among them, and whether the kernel keeps other work, and its own
//! tick, away from it.

use std::path::Path;

use super::{Check, Observed, Subject};
use crate::os::irq;
use crate::os::root::{Root, Unreadable, read};
use crate::os::sysfs::{Sysfs, list};

/// The check of the CPU itself, by name.
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
    // No mask has the CPUs of `isolcpus`: whoever wants one asks for it by name.
    let isolated = listed(&root.sys.join("devices/system/cpu/isolated"));
    let asked_for = isolated.is_ok_and(|cpus| cpus.contains(&cpu));
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
        return subject.warn(
            format!("CPU {cpu} is the only one"),
            "give the machine a second CPU",
        );
    }
    subject.good(format!("CPU {cpu}, one of {} ({shown})", online.len()))
}

/// The check of the scheduler, by name.
pub(in crate::os) const ISOLATED: &str = "isolated CPU";

/// The check of the kernel's tick, by name.
pub(in crate::os) const TICKLESS: &str = "tickless CPU";

pub(super) fn scheduler(root: &Root, cpu: usize) -> Check {
    let subject = Subject {
        name: ISOLATED,
        why: "Without isolation the scheduler puts other programs on the measuring CPU, which \
              evict its caches and lengthen single samples.",
    };
    // A partition of cgroup v2 isolates its CPUs as well; Linux 6.8 and later list them.
    let partitions = root.sys.join("fs/cgroup/cpuset.cpus.isolated");
    match listed(&partitions) {
        Ok(cpus) if cpus.contains(&cpu) => subject.good(format!(
            "isolated in a cpuset partition: {}",
            list::format(&cpus)
        )),
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
        why: "An interrupt of a device on the measuring CPU costs the sample that it falls into some \
              microseconds and some cache lines.",
    };
    let mend = format!(
        "sudo linefill run --isolated={cpu} sends them elsewhere while it measures; or name the other \
         CPUs by irqaffinity= on the kernel's command line, and stop irqbalance: sudo systemctl stop \
         irqbalance"
    );
    let mut irqs = match irq::aimed_at(root, cpu) {
        Ok(irqs) => irqs,
        Err(error) => return subject.unknown(error, mend),
    };
    irqs.retain(|irq| irq.comes);
    match irqs.len() {
        0 => subject.good(format!("no device interrupts CPU {cpu}")),
        1 => subject.warn(
            format!("interrupt {} goes to CPU {cpu}", irq::numbers(&irqs)),
            mend,
        ),
        _ => subject.warn(
            format!("interrupts {} go to CPU {cpu}", irq::numbers(&irqs)),
            mend,
        ),
    }
}

/// What isolates a CPU from the start of the system on.
pub(in crate::os) fn boot_settings(cpu: usize) -> String {
    format!(
        "add isolcpus={cpu} nohz_full={cpu} rcu_nocbs={cpu} to the kernel's command line \
         (GRUB_CMDLINE_LINUX in /etc/default/grub, then sudo update-grub and reboot), and \
         measure with --cpu {cpu}"
    )
}

fn judge(subject: &Subject, root: &Root, cpu: usize, file: &str, parameter: &str) -> Check {
    let mend = boot_settings(cpu);
    let from_file = listed(&root.sys.join("devices/system/cpu").join(file));
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

fn listed(path: &Path) -> Result<Vec<usize>, Unreadable> {
    let text = read(path)?;
    // Some kernels print a null pointer where no CPU is named.
    if text == "(null)" {
        return Ok(Vec::new());
    }
    list::parse(&text).ok_or_else(|| Unreadable::malformed(path, &text, "a list of CPUs"))
}

/// The CPUs of `parameter=[flag,]list` on the kernel's command line.
fn from_command_line(path: &Path, parameter: &str) -> Result<Vec<usize>, Unreadable> {
    let text = read(path)?;
    let value = text
        .split_whitespace()
        .find_map(|word| word.strip_prefix(parameter)?.strip_prefix('='))
        .unwrap_or("");
    let numbers = value.trim_start_matches(|letter: char| !letter.is_ascii_digit());
    list::parse(numbers).ok_or_else(|| Unreadable::malformed(path, value, "a list of CPUs"))
}
