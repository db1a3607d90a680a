//! Inferred parameters, as new rows of the sheet and in its present rows, and the memory nodes if there are
//! several.

use super::{Row, SAME_SIZE, level_name};
use crate::cpu::{Core, Fact};
use crate::experiment::topics::hierarchy::replacement;
use crate::host::MemoryNode;
use crate::infer::{Found, Sets};
use crate::lab::inferred::{Inferred, UNSURE};
use crate::lab::record::{CacheLine, Header};
use crate::lab::size::show;
use crate::os::sysfs::list;
use crate::recorded::core_of;
use crate::stats::Interval;

/// Adds the inferred parameters to the sheet.
pub(super) fn add(rows: &mut Vec<Row>, header: &Header, inferred: &Inferred) {
    let level = |rows: &[Row], level| rows.iter().position(|row| row.name == level_name(level));
    let at = level(rows, 1).unwrap_or(rows.len());
    rows.splice(at..at, line(header, inferred));
    let l1 = level(rows, 1);
    if let (Some(index), Some(found)) = (l1, &inferred.l1) {
        let sets = found.value;
        let row = &mut rows[index];
        let size = show(sets.size());
        row.measured = Some(sure(found, &format!("{size}, {}", of_sets(sets))));
        row.differs = stated(&header.cpu.caches, 1).and_then(|cache| {
            let same = cache.bytes as f64 == sets.size() && [0, sets.ways].contains(&cache.ways);
            (!same).then(|| "not the size or the ways that CPUID reports".to_owned())
        });
    }
    if let (Some(index), Some(policy)) = (l1, &inferred.policy) {
        let named = replacement::named(&policy.value);
        rows.insert(index + 1, Row::of("L1d replacement policy", decided(policy, &named)));
    }
    if let (Some(row), Some(found)) = (named(rows, &level_name(2)), &inferred.l2) {
        // At a low confidence only the range is reported.
        let range = inferred.l2_range.filter(|_| found.confidence <= UNSURE);
        row.measured = Some(match range {
            Some([least, most]) if least < most => format!("{} to {}", show(least), show(most)),
            _ => sure(found, &show(found.value)),
        });
        row.differs = stated(&header.cpu.caches, 2).and_then(|cache| {
            let reported = cache.bytes as f64;
            let differs = match range {
                Some([least, most]) => !(least..=most).contains(&reported),
                None => reported != found.value && found.confidence > UNSURE,
            };
            differs.then(|| "not the size that CPUID reports".to_owned())
        });
    }
    if let (Some(row), Some(found)) = (named(rows, &level_name(2)), &inferred.l2_sets) {
        ways_of_l2(row, header, found);
    }
    let l2 = level(rows, 2);
    if let (Some(index), Some(policy)) = (l2, &inferred.l2_policy) {
        let policy = match policy {
            Ok(policy) => decided(policy, policy.value),
            Err(reason) => format!("not told: {reason}"),
        };
        rows.insert(index + 1, Row::of("L2 replacement policy", policy));
    }
    if let Some(size) = last_level(rows).and_then(|row| row.measured.as_mut()) {
        *size += "; ways not seen: a program cannot choose its sets";
    }
    for (index, name) in [(0, "dTLB, pages of 4 KiB"), (1, "STLB, pages of 4 KiB")] {
        if let Some(found) = inferred.entries[index] {
            tlb(rows, header, index as u8 + 1, name, found);
        }
    }
    let core = core_of(&header.cpu);
    let published = |fact: fn(&Core) -> Fact<u32>| core.and_then(|core| fact(core).value());
    rows.extend(inferred.stores.as_ref().map(|found| {
        let [least, most] = found.value;
        let known = published(|core| core.store_buffer);
        // Half of an odd number is rounded down.
        let near = |size: f64| (f64::from(least)..=most.into()).contains(&size.floor());
        let measured = sure(found, &format!("{least} to {most} stores"));
        beside("store buffer", measured, known, near, true)
    }));
    rows.extend(inferred.buffers.iter().map(|(name, found)| {
        let [least, most] = found.value;
        let measured = sure(found, &format!("{least} to {most}"));
        match *name {
            "reorder buffer" => {
                // The same limits as in the claim of X22: some operations of the chains are in the buffer too.
                let near = |size| 0.85 * size <= f64::from(most) && f64::from(least) <= 1.15 * size;
                let known = published(|core| core.reorder_buffer);
                beside(name, format!("{measured} operations"), known, near, true)
            }
            name => Row::of(name, measured),
        }
    }));
    rows.extend(inferred.branches.map(|(most, fewest)| {
        let measured = match fewest {
            Some(fewest) => format!("{most} to {} jumps", fewest - 1.0),
            None => format!("{most} jumps or more"),
        };
        Row::of("branch targets at full speed", measured)
    }));
    rows.extend(inferred.combining.as_ref().map(|found| {
        let known = published(|core| core.combining_buffers);
        let near = |size| size == f64::from(found.value);
        let measured = sure(found, &found.value.to_string());
        beside("write-combining buffers", measured, known, near, false)
    }));
    let runs = inferred.accuracy.iter();
    rows.extend(runs.map(|(series, words)| Row::of(format!("single runs, {series}"), words)));
    rows.extend(inferred.parallel.map(|Interval { lo, hi }| {
        let known = published(|core| core.outstanding_misses);
        // The same limits as in the claim of X10.
        let near = |size| hi >= 0.8 * size && lo <= 1.2 * size;
        let found = if lo < hi { format!("{lo} to {hi}") } else { hi.to_string() };
        beside("misses at once", found, known, near, false)
    }));
}

/// Returns a row for a number of buffers or entries, beside the published number. `near` returns whether a
/// number is as measured; `halves` is whether the threads of a core share the buffer in halves.
fn beside(
    name: &str,
    measured: String,
    known: Option<u32>,
    near: impl Fn(f64) -> bool,
    halves: bool,
) -> Row {
    let differs = known.map(f64::from).filter(|known| !near(*known));
    let differs = differs.map(|known| match halves && near(known / 2.0) {
        true => "half of the published number: the core's other thread has the other half",
        false => "not the number published",
    });
    Row {
        cpuid: Some(match known {
            Some(known) => format!("{known}, published for this core"),
            None => "none published for this core".to_owned(),
        }),
        differs: differs.map(str::to_owned),
        ..Row::of(name, measured)
    }
}

/// Returns the row of the last level, if it is not L2.
fn last_level(rows: &mut [Row]) -> Option<&mut Row> {
    let names: Vec<String> = (3..=4).map(level_name).collect();
    rows.iter_mut().rev().find(|row| names.contains(&row.name))
}

fn of_sets(sets: Sets) -> String {
    format!("{} ways, sets repeat after {}", sets.ways, show(sets.period))
}

/// Adds the ways of L2 to the row of L2.
fn ways_of_l2(row: &mut Row, header: &Header, found: &Found<Sets>) {
    let sets = found.value;
    let more = sure(found, &of_sets(sets));
    row.measured = Some(match row.measured.take() {
        Some(size) => format!("{size}; {more}"),
        None => more,
    });
    let stated = stated(&header.cpu.caches, 2);
    let differs = stated.is_some_and(|cache| ![0, sets.ways].contains(&cache.ways));
    if differs && row.differs.is_none() {
        row.differs = Some("not the ways that CPUID reports".into());
    }
}

fn named<'a>(rows: &'a mut [Row], name: &str) -> Option<&'a mut Row> {
    rows.iter_mut().find(|row| row.name == name)
}

/// Returns the data or unified cache of a level.
fn stated(caches: &[CacheLine], level: u8) -> Option<&CacheLine> {
    caches.iter().find(|cache| cache.level == level && cache.holds != super::INSTRUCTIONS)
}

/// Formats a replacement policy as [`sure`] does, or as a candidate at a low confidence: then most curves
/// within the noise give another policy.
fn decided<T>(found: &Found<T>, policy: &str) -> String {
    match found.confidence <= UNSURE {
        true => format!("not decided: best explained by {policy}"),
        false => sure(found, policy),
    }
}

/// Formats a value with its confidence, unless the confidence is 100 %.
fn sure<T>(found: &Found<T>, text: &str) -> String {
    match (found.confidence * 100.0).round() {
        100.0.. => text.to_owned(),
        percent => format!("{text} ({percent:.0} % sure)"),
    }
}

fn line(header: &Header, inferred: &Inferred) -> Option<Row> {
    let of =
        |caches: &[CacheLine]| stated(caches, 1).map(|cache| cache.line).filter(|line| *line > 0);
    let (cpuid, kernel) = (of(&header.cpu.caches), of(&header.kernel_caches));
    let found = inferred.line.as_ref();
    let differs = found.filter(|found| cpuid.or(kernel).is_some_and(|told| told != found.value));
    let bytes = |line: u32| format!("{line} B");
    found.map(|found| Row {
        cpuid: cpuid.map(bytes),
        kernel: kernel.map(bytes),
        differs: differs.map(|_| "not the line that is reported".into()),
        ..Row::of("line", sure(found, &bytes(found.value)))
    })
}

/// Adds the entries of a TLB to the row of the TLB that CPUID reports, or in a new row.
fn tlb(rows: &mut Vec<Row>, header: &Header, level: u8, name: &str, found: Interval) {
    let measured = match found.hi - found.lo < 1.0 {
        true => format!("{:.0} entries", found.lo),
        false => format!("{:.0} to {:.0} entries", found.lo, found.hi),
    };
    let mut reported = header.cpu.tlbs.iter().filter(|tlb| {
        tlb.level == level && tlb.holds != super::INSTRUCTIONS && tlb.pages.contains(&4096)
    });
    let entries = reported.next().map(|tlb| f64::from(tlb.entries));
    // A set may overflow before the whole TLB does, and the kernel's own pages take entries.
    let differs =
        entries.filter(|entries| found.hi * SAME_SIZE < *entries || found.lo > entries * SAME_SIZE);
    let differs = differs.map(|_| "not the entries that CPUID reports".to_owned());
    // AMD's second-level TLB for data is separate and has another name.
    let known: [&str; 2] = match level {
        1 => ["dTLB", "L1 TLB, load"],
        _ => ["STLB", "L2 TLB, data"],
    };
    let about = |row: &&mut Row| {
        let is = |prefix: &&str| row.name.starts_with(prefix);
        row.name.contains("4 KiB") && known.iter().any(is)
    };
    match rows.iter_mut().find(about) {
        Some(row) => {
            row.measured = Some(measured);
            row.differs = differs;
        }
        None => rows.push(Row { differs, ..Row::of(name, measured) }),
    }
}

/// Returns a row per node: the time of a random step in its memory from each node, and the kernel's facts.
pub(super) fn rows(header: &Header, inferred: &Inferred) -> Vec<Row> {
    if header.nodes.len() < 2 {
        return Vec::new();
    }
    let row = |node: &MemoryNode| {
        let reaches = inferred.nodes.iter().filter(|reach| reach.to == node.id);
        let steps = reaches.map(|of| format!("{:.0} ns from node {}", of.nanos.middle(), of.from));
        let steps = steps.reduce(|all, step| all + ", " + &step);
        Row {
            name: format!("memory node {}", node.id),
            measured: steps.map(|steps| format!("random step in its memory: {steps}")),
            kernel: Some(described(node)),
            ..Row::default()
        }
    };
    header.nodes.iter().map(row).collect()
}

fn described(node: &MemoryNode) -> String {
    let mut parts = vec![match &node.cpus[..] {
        [] => "no CPUs".to_owned(),
        cpus => format!("CPUs {}", list::format(cpus)),
    }];
    parts.extend(node.memory.map(|bytes| match bytes {
        0 => "no memory".to_owned(),
        bytes => show(bytes as f64),
    }));
    let distances: Vec<String> = node.distances.iter().map(u64::to_string).collect();
    if !distances.is_empty() {
        parts.push(format!("distances {}", distances.join(" ")));
    }
    parts.join(", ")
}
