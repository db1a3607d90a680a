//! Whether the kernel keeps other work, and its own tick, away from the chosen CPU.

use std::path::Path;

use super::{Check, Subject};
use crate::os::root::{Root, Unreadable, read};
use crate::os::sysfs::list;

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
