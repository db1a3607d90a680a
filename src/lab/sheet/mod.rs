//! The machine sheet: measured values beside the values that CPUID and the kernel report, as `linefill
//! machine` prints it.

mod found;

use serde::Serialize;
use serde_json::{Value, json};

use crate::cpu::CacheKind;
use crate::experiment::{Capacity, Evidence, LADDER, Left, Machine, Point, Range, Unit};
use crate::lab::consistency::last_level_latency;
use crate::lab::format::{Check, Outcome, Output, Sheet};
use crate::lab::inferred::Inferred;
use crate::lab::quiet::Quiet;
use crate::lab::record::{CacheLine, Header, PrefetchersLine, TlbLine};
use crate::lab::size::{rounded, share, show, show_range};
use crate::lab::terminal::Screen;
use crate::order::unique;
use crate::stats::Interval;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The name of the quantity.
    pub name: String,
    pub measured: Option<String>,
    /// The value that CPUID reports.
    pub cpuid: Option<String>,
    /// The value that the kernel reports, under `/sys` and `/proc`.
    pub kernel: Option<String>,
    /// How these values disagree, and why they may.
    #[serde(rename = "note")]
    pub differs: Option<String>,
}

impl Row {
    /// Creates a row with a measured value only.
    fn of(name: impl Into<String>, measured: impl Into<String>) -> Self {
        Row { name: name.into(), measured: Some(measured.into()), ..Row::default() }
    }
}

/// Factor by which a measured size may differ from the stated size: the precision of a step of the ladder.
const SAME_SIZE: f64 = 1.6;

/// Largest relative difference between the measured and the stated rate of the counter.
const SAME_RATE: f64 = 0.01;

/// Largest relative difference between a measured and a published latency.
const SAME_LATENCY: f64 = 0.1;

/// Returns the sheet of a machine. `ladder` are the points from which [`Machine::ladder`] was made, and
/// `inferred` are the parameters that the points show. `uncertain` are the working sets that stay in the last level
/// only by chance.
pub fn sheet(
    header: &Header,
    machine: &Machine,
    ladder: &[Point],
    inferred: &Inferred,
    uncertain: Option<Range>,
) -> Vec<Row> {
    let mut rows = vec![counter(header), core(header, inferred)];
    rows.extend(caches(header, machine, uncertain));
    let ranges = &machine.ranges;
    let steps = [
        ("random step in L1d", ranges.l1),
        ("random step in L2", ranges.l2),
        ("random step in the last level", ranges.llc),
        ("random step in memory", ranges.memory),
    ];
    let mut capacities = ranges.capacities.iter();
    let has_last_level = capacities.any(|capacity| capacity.level == 3 && capacity.usable() > 0.0);
    for (index, (name, range)) in steps.into_iter().enumerate() {
        if range == ranges.llc && !has_last_level {
            continue;
        }
        let published = machine.load_to_use.filter(|_| index == 0);
        rows.push(step(name, machine, ladder, range, published));
    }
    rows.extend(calibrated(header, machine));
    rows.extend(header.cpu.tlbs.iter().filter_map(tlb));
    rows.extend(header.prefetchers.as_ref().map(prefetchers));
    rows.push(Row {
        name: "memory".into(),
        kernel: header.memory.map(|bytes| show(bytes as f64)),
        ..Row::default()
    });
    rows.extend(found::rows(header, inferred));
    found::add(&mut rows, header, inferred);
    rows
}

/// Returns a row with the isolation of the measuring CPU and its remaining disturbances. `None` if the CPU
/// was not isolated.
pub(crate) fn isolation(header: &Header, quiet: Option<Quiet>) -> Option<Row> {
    let isolation = header.isolation.as_ref()?;
    let memory = if isolation.locked { "locked" } else { "not locked" };
    Some(Row {
        name: "isolated CPU".into(),
        measured: quiet.map(|quiet| quiet.to_string()),
        kernel: Some(format!(
            "{}, {} device interrupts moved away, memory {memory}",
            isolation.by, isolation.moved
        )),
        ..Row::default()
    })
}

/// Returns the quantities that predictions use besides the levels: steps that the prefetchers foresee, and a
/// floating-point addition.
fn calibrated(header: &Header, machine: &Machine) -> Vec<Row> {
    // Without a core clock the values are not core cycles.
    if header.core_per_tick.is_none() {
        return Vec::new();
    }
    let known = &machine.calibration;
    let cycles = |cycles: f64| format!("{cycles:.1} core cycles");
    let mut rows = Vec::new();
    for (left, name) in [
        (Left::NextLine, "step to the next line of memory"),
        (Left::FourLines, "step to every fourth line of memory"),
        (Left::Page, "step to the next page of memory"),
    ] {
        let measured = known.left(left);
        rows.extend(measured.map(|measured| Row::of(name, cycles(measured))));
    }
    rows.extend(known.float_addition().map(|measured| {
        let published = known.core().and_then(|core| core.float_add.value());
        let differs = published.filter(|published| differ(measured, *published));
        Row {
            cpuid: published.map(as_published),
            differs: differs.map(|_| "not the latency published".into()),
            ..Row::of("floating-point addition", cycles(measured))
        }
    }));
    rows
}

/// Returns whether a measured latency differs from the published latency, both in core cycles.
fn differ(measured: f64, published: u32) -> bool {
    (measured / f64::from(published) - 1.0).abs() > SAME_LATENCY
}

fn as_published(cycles: u32) -> String {
    format!("{cycles} core cycles, published for this core")
}

fn gigahertz(hz: f64) -> String {
    format!("{:.3} GHz", hz / 1e9)
}

fn counter(header: &Header) -> Row {
    let stated = header.stated_tick_hz;
    let differs = stated.filter(|hz| (header.tick_hz / hz - 1.0).abs() > SAME_RATE);
    Row {
        cpuid: stated.map(gigahertz),
        differs: differs.map(|_| "the stated rate is nominal: the measured one counts".into()),
        ..Row::of("time-stamp counter", gigahertz(header.tick_hz))
    }
}

fn core(header: &Header, inferred: &Inferred) -> Row {
    let ratio = inferred.clock.as_ref().map(|found| found.value);
    let ratio = ratio.or(header.core_per_tick);
    Row {
        name: "core clock".into(),
        measured: ratio.map(|ratio| {
            let clock = gigahertz(header.tick_hz * ratio);
            format!("{clock}, {ratio:.3} cycles per tick")
        }),
        ..Row::default()
    }
}

/// Returns the usual name of a level that holds data.
pub fn level_name(level: u8) -> String {
    match level {
        1 => "L1d".to_owned(),
        level => format!("L{level}"),
    }
}

/// Returns a row per cache that CPUID or the kernel reports or that was measured.
fn caches(header: &Header, machine: &Machine, uncertain: Option<Range>) -> Vec<Row> {
    let reported = header.cpu.caches.iter().chain(&header.kernel_caches);
    let places_reported = reported.map(|cache| (cache.level, cache.holds == INSTRUCTIONS));
    let capacities = machine.ranges.capacities.iter();
    let found = capacities.filter(|capacity| capacity.measured.is_some());
    let found = found.map(|capacity| (level_of(capacity, machine), false));
    unique(places_reported.chain(found))
        .into_iter()
        .map(|(level, instructions)| cache(header, machine, level, instructions, uncertain))
        .collect()
}

/// Returns the level of the cache that has a capacity: the last capacity is that of the highest level.
pub(crate) fn level_of(capacity: &Capacity, machine: &Machine) -> u8 {
    let data = machine.caches.iter();
    let data = data.filter(|cache| cache.kind != CacheKind::Instruction);
    match (capacity.level, data.map(|cache| cache.level).max()) {
        (3, Some(highest @ 4..)) => highest,
        (level, _) => level,
    }
}

/// The kind of an instruction cache in a record.
const INSTRUCTIONS: &str = "instruction";

fn cache(
    header: &Header,
    machine: &Machine,
    level: u8,
    instructions: bool,
    uncertain: Option<Range>,
) -> Row {
    let find = |caches: &[CacheLine]| {
        caches
            .iter()
            .find(|cache| cache.level == level && (cache.holds == INSTRUCTIONS) == instructions)
            .cloned()
    };
    let (cpuid, kernel) = (find(&header.cpu.caches), find(&header.kernel_caches));
    let mut capacities = machine.ranges.capacities.iter();
    let capacity = capacities.find(|of| level_of(of, machine) == level && !instructions);
    let step = capacity.and_then(|capacity| capacity.measured);
    let steps = uncertain.filter(|_| capacity.is_some_and(|of| of.level == 3));
    let shared = steps.zip(capacity).map(|(steps, of)| share(steps, of.reported));
    let size = match shared {
        Some([least, most]) => Some(show_range(least, most)),
        None => step.map(|bytes| format!("about {}", show(rounded(bytes)))),
    };
    let measured = shared.or(step.map(|bytes| [bytes; 2]));
    Row {
        name: if instructions { format!("L{level}i") } else { level_name(level) },
        measured: size,
        cpuid: cpuid.as_ref().map(described),
        kernel: kernel.as_ref().map(described),
        differs: size_differs(measured, cpuid.as_ref(), kernel.as_ref(), header, machine),
    }
}

/// Says whether the measured size, at least and at most, differs from the stated size.
fn size_differs(
    measured: Option<[f64; 2]>,
    cpuid: Option<&CacheLine>,
    kernel: Option<&CacheLine>,
    header: &Header,
    machine: &Machine,
) -> Option<String> {
    if let (Some(cpuid), Some(kernel)) = (cpuid, kernel)
        && cpuid.bytes != kernel.bytes
    {
        return Some("CPUID and the kernel disagree".into());
    }
    let ([least, most], stated) = (measured?, cpuid.or(kernel)?.bytes as f64);
    let top = machine.ladder.last()?.working_set;
    if top < 2.0 * stated {
        // The step lies beyond the largest walk, and its beginning looks like a smaller step.
        return None;
    }
    if most * SAME_SIZE < stated {
        let why = match header.hypervisor {
            Some(_) => "this guest may get only a part of it",
            None => "other programs may be using it",
        };
        return Some(format!("smaller than stated: {why}"));
    }
    (least > stated * SAME_SIZE).then(|| "larger than stated".into())
}

fn described(cache: &CacheLine) -> String {
    let ways = match cache.ways {
        _ if cache.fully_associative => Some("fully associative".to_owned()),
        0 => None,
        ways => Some(format!("{ways} ways")),
    };
    let sets = (cache.sets > 0).then(|| format!("{} sets", cache.sets));
    let line = (cache.line > 0).then(|| format!("lines of {} B", cache.line));
    let shared = cache.shared_by.filter(|threads| *threads > 1);
    let shared = shared.map(|threads| format!("shared by {threads}"));
    let size = Some(show(cache.bytes as f64));
    let parts = [size, ways, sets, line, shared].into_iter().flatten();
    parts.collect::<Vec<_>>().join(", ")
}

/// Returns the cost of a random step in a range, beside the published latency in core cycles.
fn step(
    name: &str,
    machine: &Machine,
    ladder: &[Point],
    range: Range,
    published: Option<u32>,
) -> Row {
    let level = |unit| {
        let level = match range == machine.ranges.llc {
            true => last_level_latency(machine, ladder, unit),
            false => Evidence::new(machine, ladder, unit).level(LADDER, range).map(Interval::from),
        };
        level.ok().map(Interval::middle)
    };
    let cycles = level(Unit::CoreCycles);
    let measured = level(Unit::Nanoseconds).map(|nanos| match cycles {
        Some(cycles) => format!("{cycles:.1} core cycles, {nanos:.2} ns"),
        None => format!("{nanos:.2} ns"),
    });
    let differs = cycles.zip(published).is_some_and(|(cycles, known)| differ(cycles, known));
    Row {
        name: name.into(),
        measured,
        cpuid: published.map(as_published),
        differs: differs.then(|| "not the published latency".into()),
        ..Row::default()
    }
}

/// Returns a row for a TLB, if loads use it.
fn tlb(tlb: &TlbLine) -> Option<Row> {
    if !["data", "unified", "load"].contains(&tlb.holds.as_str()) {
        return None;
    }
    let pages: Vec<String> = tlb.pages.iter().map(|bytes| show(*bytes as f64)).collect();
    let ways = match tlb.ways {
        0 => String::new(),
        ways if ways == tlb.entries => ", fully associative".to_owned(),
        ways => format!(", {ways} ways"),
    };
    let name = match (tlb.level, tlb.holds.as_str()) {
        (1, "data") => "dTLB".to_owned(),
        (2, "unified") => "STLB".to_owned(),
        (level, holds) => format!("L{level} TLB, {holds}"),
    };
    Some(Row {
        name: format!("{name}, pages of {}", pages.join(", ")),
        cpuid: Some(format!("{} entries{ways}", tlb.entries)),
        ..Row::default()
    })
}

/// Returns the state of the hardware prefetchers, from their register.
fn prefetchers(line: &PrefetchersLine) -> Row {
    let (kernel, differs) = match line {
        PrefetchersLine::Set(setting) => (Some(setting.clone()), None),
        PrefetchersLine::Unknown(reason) => (None, Some(reason.clone())),
    };
    Row { name: "hardware prefetchers".into(), kernel, differs, ..Row::default() }
}

/// The sheet of a machine, as a command prints it.
#[derive(Debug)]
pub(crate) struct MachineSheet(pub Vec<Row>);

impl MachineSheet {
    fn sheet(&self) -> Sheet {
        let headings = ["", "measured", "CPUID", "kernel", "note"];
        let mut sheet = Sheet::new("The machine", &headings);
        for row in &self.0 {
            let cell = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
            sheet.rows.push(vec![
                row.name.clone(),
                cell(&row.measured),
                cell(&row.cpuid),
                cell(&row.kernel),
                row.differs.clone().unwrap_or_default(),
            ]);
        }
        sheet
    }
}

impl Output for MachineSheet {
    fn name(&self) -> String {
        "linefill machine".to_owned()
    }

    fn screen(&self, width: u16) -> Screen {
        Screen::of(&self.sheet().text(width))
    }

    fn json(&self) -> Value {
        json!({ "rows": self.0 })
    }

    fn sheets(&self) -> Vec<Sheet> {
        vec![self.sheet()]
    }

    /// Returns a check per row. A row whose sources disagree is a warning; one that only says why nothing is known
    /// is skipped.
    fn checks(&self) -> Vec<Check> {
        let check = |row: &Row| {
            let (outcome, text) = match (&row.differs, &row.measured) {
                (Some(why), Some(measured)) => (Outcome::Warned, format!("{measured}: {why}")),
                (Some(why), None) if row.cpuid.is_none() && row.kernel.is_none() => {
                    (Outcome::Skipped, why.clone())
                }
                (Some(why), None) => (Outcome::Warned, why.clone()),
                (None, Some(measured)) => (Outcome::Passed, measured.clone()),
                (None, None) => (Outcome::Skipped, "not measured".to_owned()),
            };
            Check { group: "machine".to_owned(), name: row.name.clone(), outcome, text }
        };
        self.0.iter().map(check).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An unprivileged user cannot read the register, which is no disagreement.
    #[test]
    fn an_unknown_state_of_the_prefetchers_is_skipped() {
        let outcome = |line| MachineSheet(vec![prefetchers(&line)]).checks()[0].outcome;
        let refused = PrefetchersLine::Unknown("the msr module is not loaded".to_owned());
        assert_eq!(outcome(refused), Outcome::Skipped);
        let differs = Row {
            kernel: Some("32 KiB".to_owned()),
            differs: Some("CPUID and the kernel disagree".to_owned()),
            ..Row::default()
        };
        let outcome = MachineSheet(vec![differs]).checks()[0].outcome;
        assert_eq!(outcome, Outcome::Warned);
    }
}
