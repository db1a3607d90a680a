//! The CPUs there are, the chosen one among them, and whether the kernel keeps other work, and its own
//! tick, away from it.

use std::path::Path;

use super::{Check, Observed, Subject};
use crate::os::root::{Root, Unreadable, read};
use crate::os::sysfs::{Sysfs, list};

pub(super) fn chosen(root: &Root, cpu: usize, observed: &Observed) -> Check {
    let subject = Subject {
        name: "CPUs",
        why: "A measurement is pinned to one CPU. With no second one the rest of the system runs \
              on it too, and what two threads do to each other cannot be measured.",
    };
    let online = match Sysfs::at(&root.sys).online() {
        Ok(online) => online,
        Err(error) => return subject.unknown(error, "mount sysfs: sudo mount -t sysfs sysfs /sys"),
    };
    let listed = list::format(&online);
    if !online.contains(&cpu) {
        return subject.bad(
            format!("CPU {cpu} is not online; online are {listed}"),
            format!("choose another: --cpu {}", online[0]),
        );
    }
    let allowed = &observed.allowed;
    if !allowed.is_empty() && !allowed.contains(&cpu) {
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
    subject.good(format!("CPU {cpu}, one of {} ({listed})", online.len()))
}

pub(super) fn scheduler(root: &Root, cpu: usize) -> Check {
    let subject = Subject {
        name: "isolated CPU",
        why: "Without isolation the scheduler puts other programs on the measuring CPU, which \
              evict its caches and lengthen single samples.",
    };
    judge(&subject, root, cpu, "isolated", "isolcpus")
}

pub(super) fn tick(root: &Root, cpu: usize) -> Check {
    let subject = Subject {
        name: "tickless CPU",
        why: "The kernel's timer interrupts each busy CPU 100 to 1000 times per second; each \
              interrupt costs microseconds and some cache lines.",
    };
    judge(&subject, root, cpu, "nohz_full", "nohz_full")
}

fn judge(subject: &Subject, root: &Root, cpu: usize, file: &str, parameter: &str) -> Check {
    let mend = format!(
        "add isolcpus={cpu} nohz_full={cpu} rcu_nocbs={cpu} to the kernel's command line \
         (GRUB_CMDLINE_LINUX in /etc/default/grub, then sudo update-grub and reboot), and \
         measure with --cpu {cpu}"
    );
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
