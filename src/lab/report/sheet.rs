//! The rows of the machine sheet and the facts of the run, in words.

use super::scale::{bytes, number};
use super::view::SheetRow;
use crate::experiment::{Evidence, LADDER, Machine, Point, Range, Unit};
use crate::lab::record::{CacheLine, EndLine, Header, TlbLine};
use crate::stats::Interval;

/// The name under which people know a level that holds data.
pub(super) fn level_name(level: u8) -> String {
    match level {
        1 => "L1d".to_owned(),
        level => format!("L{level}"),
    }
}

/// The brand, or the vendor and the numbers of a CPU without one.
pub(super) fn machine_name(header: &Header) -> String {
    let cpu = &header.cpu;
    match cpu.brand.trim() {
        "" => format!(
            "{} family {:X}h model {:X}h",
            cpu.vendor, cpu.family, cpu.model
        ),
        brand => brand.to_owned(),
    }
}

/// What was measured of the machine beside what CPUID and the kernel say of it.
pub(super) fn rows(header: &Header, machine: &Machine, ladder: &[Point]) -> Vec<SheetRow> {
    let mut rows = vec![clock(header)];
    rows.extend(caches(header, machine));
    rows.extend(header.cpu.tlbs.iter().map(tlb_row));
    let ranges = &machine.ranges;
    let published = |latency: u32| format!("{latency} core cycles published");
    let levels = [
        ("L1d", ranges.l1, machine.load_to_use.map(published)),
        ("L2", ranges.l2, None),
        ("last level", ranges.llc, None),
        ("memory", ranges.memory, None),
    ];
    for (name, range, cpuid) in levels {
        rows.push(SheetRow {
            name: format!("random step in {name}"),
            measured: step(machine, ladder, range),
            cpuid,
            sysfs: None,
        });
    }
    rows
}

fn clock(header: &Header) -> SheetRow {
    let gigahertz = |hz: f64| format!("{:.2} GHz", hz / 1e9);
    let core = |ratio: f64| {
        format!(
            "core at {}, counter at {}",
            gigahertz(header.tick_hz * ratio),
            gigahertz(header.tick_hz)
        )
    };
    SheetRow {
        name: "clock".to_owned(),
        measured: Some(
            header
                .core_per_tick
                .map_or_else(|| format!("counter at {}", gigahertz(header.tick_hz)), core),
        ),
        ..SheetRow::default()
    }
}

/// A row a cache that CPUID or the kernel reports.
fn caches(header: &Header, machine: &Machine) -> Vec<SheetRow> {
    let same = |a: &CacheLine, b: &CacheLine| a.level == b.level && a.holds == b.holds;
    let find = |lines: &[CacheLine], cache: &CacheLine| {
        lines.iter().find(|line| same(line, cache)).map(described)
    };
    let (cpuid, kernel) = (&header.cpu.caches, &header.kernel_caches);
    let kernel_alone = kernel
        .iter()
        .filter(|cache| !cpuid.iter().any(|line| same(line, cache)));
    cpuid
        .iter()
        .chain(kernel_alone)
        .map(|cache| SheetRow {
            name: match (cache.level, cache.holds.as_str()) {
                (1, "instruction") => "L1i".to_owned(),
                (level, _) => level_name(level),
            },
            measured: measured_size(cache, machine),
            cpuid: find(cpuid, cache),
            sysfs: find(kernel, cache),
        })
        .collect()
}

fn measured_size(cache: &CacheLine, machine: &Machine) -> Option<String> {
    if cache.holds == "instruction" {
        return None;
    }
    let mut capacities = machine.ranges.capacities.iter();
    let capacity = capacities.find(|capacity| capacity.level == cache.level)?;
    Some(format!("about {}", bytes(round(capacity.measured?))))
}

fn described(cache: &CacheLine) -> String {
    let ways = match cache.ways {
        _ if cache.fully_associative => Some("fully associative".to_owned()),
        0 => None,
        ways => Some(format!("{ways} ways")),
    };
    let sets = (cache.sets > 0).then(|| format!("{} sets", cache.sets));
    let line = (cache.line > 0).then(|| format!("lines of {} B", cache.line));
    let size = Some(bytes(cache.bytes as f64));
    let parts = [size, ways, sets, line].into_iter().flatten();
    parts.collect::<Vec<_>>().join(", ")
}

fn tlb_row(tlb: &TlbLine) -> SheetRow {
    let name = match (tlb.level, tlb.holds.as_str()) {
        (1, "data") => "dTLB".to_owned(),
        (1, "instruction") => "iTLB".to_owned(),
        (1, holds) => format!("TLB, {holds}"),
        (2, "unified") => "STLB".to_owned(),
        (level, holds) => format!("L{level} TLB, {holds}"),
    };
    let pages: Vec<String> = tlb.pages.iter().map(|&size| bytes(size as f64)).collect();
    let ways = match tlb.ways {
        0 => String::new(),
        ways if ways == tlb.entries => ", fully associative".to_owned(),
        ways => format!(", {ways} ways"),
    };
    SheetRow {
        name: format!("{name}, pages of {}", pages.join(", ")),
        cpuid: Some(format!("{} entries{ways}", tlb.entries)),
        ..SheetRow::default()
    }
}

/// To two binary digits: a knee of the ladder shows no more.
fn round(size: f64) -> f64 {
    let unit = 2f64.powf(size.log2().floor()) / 4.0;
    (size / unit).round() * unit
}

/// The cost of a random step in a range, in core cycles and nanoseconds.
fn step(machine: &Machine, ladder: &[Point], range: Range) -> Option<String> {
    let level = |unit: Unit| {
        let evidence = Evidence {
            machine,
            points: ladder,
            unit,
        };
        let middle = evidence.level(LADDER, range).map(Interval::middle);
        middle.ok().map(number)
    };
    let nanos = level(Unit::Nanoseconds)?;
    Some(match level(Unit::CoreCycles) {
        Some(cycles) => format!("{cycles} core cycles, {nanos} ns"),
        None => format!("{nanos} ns"),
    })
}

/// What is known of the run.
pub(super) fn facts(header: &Header, end: Option<&EndLine>) -> Vec<(String, String)> {
    let cpu = &header.cpu;
    let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let facts = [
        (
            "CPU",
            Some(format!(
                "{} family {:X}h, model {:X}h, stepping {}",
                cpu.vendor, cpu.family, cpu.model, cpu.stepping
            )),
        ),
        ("microarchitecture", cpu.microarchitecture.clone()),
        ("features", known(&cpu.features.join(", "))),
        ("masked away", known(&header.masked)),
        ("memory", header.memory.map(|size| bytes(size as f64))),
        ("hypervisor", header.hypervisor.clone()),
        ("system", header.os.clone()),
        ("pinned to", header.pinned.map(|cpu| format!("CPU {cpu}"))),
        ("profile", known(&header.profile)),
        ("pages", header.pages.clone()),
        ("selection", known(&header.selection.join(", "))),
        ("largest working set", Some(bytes(header.largest as f64))),
        ("seed", Some(header.seed.to_string())),
        ("duration", end.map(|end| format!("{:.0} s", end.seconds))),
        ("linefill", Some(version(header))),
        ("compiler", known(&header.rustc)),
    ];
    facts
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect()
}

fn version(header: &Header) -> String {
    match &header.revision {
        Some(revision) => format!("{} ({revision})", header.linefill),
        None => header.linefill.clone(),
    }
}

/// Seconds since 1970 as a date, by Hinnant's `civil_from_days`.
pub(super) fn date(seconds: u64) -> String {
    let (days, second) = (seconds / 86400 + 719_468, seconds % 86400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // Months from March on.
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    let year = era * 400 + year_of_era + carry;
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_civil() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(date(1_763_643_960), "2025-11-20 13:06 UTC");
    }

    #[test]
    fn a_measured_size_is_rounded_to_what_a_knee_can_show() {
        assert_eq!(round(33_100.0), 32_768.0);
        assert_eq!(round(12_900_000.0), 12.0 * 1_048_576.0);
    }
}
