//! Interrupts of a CPU: how many it took (`/proc/interrupts`), and which devices direct theirs to it
//! (`/proc/irq`).

use std::fs;
use std::path::PathBuf;

use super::root::{Root, Unreadable, read};
use super::sysfs::list;
use crate::order;

/// The number of interrupts of each kind that a CPU took since boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interrupts(Vec<Line>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    /// The interrupt's number, or its kind, such as `LOC`.
    name: String,
    /// The sender, in the kernel's words.
    sender: String,
    count: u64,
}

impl Interrupts {
    /// Reads the counts of `cpu` from `/proc/interrupts`.
    ///
    /// # Errors
    /// If the file cannot be read, or has no column for this CPU.
    pub fn of(root: &Root, cpu: usize) -> Result<Self, Unreadable> {
        let path = root.proc.join("interrupts");
        let text = read(&path)?;
        Interrupts::parse(&text, cpu)
            .ok_or_else(|| Unreadable::new(path, format_args!("it has no column of CPU {cpu}")))
    }

    fn parse(text: &str, cpu: usize) -> Option<Self> {
        let mut lines = text.lines();
        let columns: Vec<&str> = lines.next()?.split_whitespace().collect();
        // CPUs that are offline have no column.
        let name = format!("CPU{cpu}");
        let column = columns.iter().position(|column| *column == name)?;
        let line = |line: &str| {
            let (name, rest) = line.split_once(':')?;
            let name = name.trim();
            // Errors of the whole machine are not interrupts of a CPU.
            if ["ERR", "MIS"].contains(&name) {
                return None;
            }
            let mut words = rest.split_whitespace();
            let count = words.nth(column)?.parse().ok()?;
            let senders = words.skip(columns.len() - column - 1);
            Some(Line {
                name: name.to_owned(),
                sender: senders.collect::<Vec<_>>().join(" "),
                count,
            })
        };
        Some(Interrupts(lines.filter_map(line).collect()))
    }

    /// Returns the number of interrupts of all kinds.
    pub fn total(&self) -> u64 {
        self.0.iter().map(|line| line.count).sum()
    }

    /// Describes the interrupts since `before`, most frequent first: `250 LOC (Local timer interrupts)`.
    pub(super) fn since(&self, before: &Self) -> Vec<String> {
        let more = |line: &Line| {
            let same = before.0.iter().find(|other| other.name == line.name);
            line.count.saturating_sub(same.map_or(0, |other| other.count))
        };
        let mut grown: Vec<(u64, &Line)> = self.0.iter().map(|line| (more(line), line)).collect();
        grown.retain(|(more, _)| *more > 0);
        order::by_key(&mut grown, |(more, _)| std::cmp::Reverse(*more));
        let words = |(more, line): (u64, &Line)| format!("{more} {} ({})", line.name, line.sender);
        grown.into_iter().map(words).collect()
    }
}

/// A device's interrupt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Irq {
    /// The interrupt's number.
    pub(super) number: u32,
    /// The file that lists the CPUs it may go to.
    pub(super) file: PathBuf,
    /// The text of that file.
    pub(super) affinity: String,
    /// Whether the interrupt currently goes to the CPU that was asked about.
    pub(super) comes: bool,
}

/// Returns the device interrupts that may go to `cpu`, in order of their numbers.
pub(super) fn aimed_at(root: &Root, cpu: usize) -> Result<Vec<Irq>, Unreadable> {
    let path = root.proc.join("irq");
    let mut found = Vec::new();
    let entries = fs::read_dir(&path).map_err(|error| Unreadable::new(&path, error))?;
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(number) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
        let file = entry.path().join("smp_affinity_list");
        // Interrupts bound to one CPU have no such file.
        let Ok(affinity) = read(&file) else { continue };
        let goes_to = |text: &str| list::parse(text).is_some_and(|cpus| cpus.contains(&cpu));
        let effective = read(&entry.path().join("effective_affinity_list"));
        let comes = goes_to(effective.as_deref().unwrap_or(&affinity));
        if comes || goes_to(&affinity) {
            found.push(Irq { number, file, affinity, comes });
        }
    }
    order::by_key(&mut found, |irq| irq.number);
    Ok(found)
}

/// Formats the numbers of interrupts as a list.
pub(super) fn numbers<'i>(irqs: impl IntoIterator<Item = &'i Irq>) -> String {
    let mut numbers: Vec<usize> = irqs.into_iter().map(|irq| irq.number as usize).collect();
    numbers.sort_unstable();
    list::format(&numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "           CPU0       CPU2\n \
                        24:          1          7  IO-APIC   5-edge      ACPI:Ged\n\
                        LOC:     149969     186158   Local timer interrupts\n\
                        ERR:          3\nMIS:          0\n";

    #[test]
    fn a_cpu_has_the_column_of_its_own_number() {
        let of = |cpu| Interrupts::parse(TEXT, cpu);
        assert_eq!(of(0).unwrap().total(), 1 + 149_969);
        assert_eq!(of(2).unwrap().total(), 7 + 186_158);
        assert_eq!(of(1), None);
        assert_eq!(Interrupts::parse("", 0), None);
        let alone = Interrupts::parse("  CPU0\nLOC: 5 Local timer interrupts\nERR: 9\n", 0);
        assert_eq!(alone.unwrap().total(), 5);
    }

    #[test]
    fn what_came_is_told_by_kind_the_most_frequent_first() {
        let before = Interrupts::parse(TEXT, 2).unwrap();
        assert!(before.since(&before).is_empty());
        let later = TEXT.replace("186158", "186408").replace("  7 ", "  9 ");
        let after = Interrupts::parse(&later, 2).unwrap();
        assert_eq!(
            after.since(&before),
            ["250 LOC (Local timer interrupts)", "2 24 (IO-APIC 5-edge ACPI:Ged)"]
        );
    }
}
