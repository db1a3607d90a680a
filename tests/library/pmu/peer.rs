//! Compares the tables of events with those of the crate `x86`, which come from older lists by Intel: all
//! common names on all common cores, as stored in `tests/fixtures/pmu/x86.csv`.

use std::collections::HashMap;

use super::microarch;
use linefill::pmu::{Encoding, events};

const KEPT: &str = include_str!("../../fixtures/pmu/x86.csv");

/// The name of a core, and the minimum number of names that both tables have.
const CORES: [(&str, usize); 14] = [
    ("Nehalem", 80),
    ("Westmere", 100),
    ("Sandy Bridge", 120),
    ("Sandy Bridge server", 110),
    ("Ivy Bridge", 130),
    ("Ivy Bridge server", 120),
    ("Haswell", 130),
    ("Haswell server", 130),
    ("Broadwell", 140),
    ("Broadwell server", 130),
    ("Skylake client", 140),
    ("Skylake server", 140),
    ("Silvermont", 40),
    ("Goldmont", 40),
];

/// Names on which the tables disagree, and the reasons. For all other common names, event, umask, threshold,
/// flags, register and counters are the same.
const DISAGREE: [(&str, &str); 4] = [
    // `x86` gives the number of the fixed counter, which is not an event that a general counter can count.
    // Our table gives the general event that counts the same, and also the fixed counter.
    ("INST_RETIRED.ANY", "the general event in place of the fixed counter's number"),
    ("CPU_CLK_UNHALTED.THREAD", "the general event in place of the fixed counter's number"),
    ("CPU_CLK_UNHALTED.CORE", "the general event in place of the fixed counter's number"),
    // Fixed counter 2 has no general event. Linux encodes it as event 0, umask 3; Intel's lists use the same
    // encoding since Sandy Bridge.
    ("CPU_CLK_UNHALTED.REF", "the number that Linux gives fixed counter 2"),
];

/// Cores for which `x86` numbers the fixed counters from 1, as Intel's lists for these cores did. The manual
/// and the later lists number them from 0.
const FROM_ONE: [&str; 4] = ["Nehalem", "Westmere", "Sandy Bridge server", "Silvermont"];

/// The counters of an event: fixed or general ones, as a mask.
#[derive(Debug)]
enum Counter {
    Fixed(u8),
    General(u8),
}

/// A line of the extract without its core.
fn parse(line: &str) -> Option<(&str, Encoding, Counter)> {
    let mut fields = line.split(',');
    let name = fields.next()?;
    let hex = |field: &str| u64::from_str_radix(field, 16).ok();
    let event = hex(fields.next()?)?;
    let umask = hex(fields.next()?)?;
    let cmask = fields.next()?.parse().ok()?;
    let mut flag = || fields.next().map(|field| field == "1");
    let (invert, edge) = (flag()?, flag()?);
    let offcore = hex(fields.next()?)?;
    let (kind, mask) = fields.next()?.split_once(' ')?;
    let mask = mask.parse().ok()?;
    let counter = match kind {
        "fixed" => Counter::Fixed(mask),
        "general" => Counter::General(mask),
        _ => return None,
    };
    let encoding = Encoding {
        event: event.try_into().ok()?,
        umask: umask.try_into().ok()?,
        cmask,
        invert,
        edge,
        offcore,
    };
    Some((name, encoding, counter))
}

/// The entries of a core in the extract, by name.
fn kept(core: &str) -> HashMap<&'static str, (Encoding, Counter)> {
    let lines = KEPT.lines().filter(|line| !line.starts_with('#'));
    let of_core = lines.filter_map(|line| {
        let (name, rest) = line.split_once(',')?;
        (name == core).then_some(rest)
    });
    of_core
        .map(|line| {
            let (name, encoding, counter) = parse(line).unwrap_or_else(|| panic!("{line}"));
            (name, (encoding, counter))
        })
        .collect()
}

#[test]
fn shared_names_have_the_same_encoding_and_counters() {
    let mut disagreed = Vec::new();
    for (name, least) in CORES {
        let core = microarch(name);
        let table = kept(name);
        let from = u8::from(FROM_ONE.contains(&name));
        let mut shared = 0;
        for ours in events(core) {
            let Some((encoding, counter)) = table.get(ours.name) else {
                // Intel has renamed some events since then.
                continue;
            };
            shared += 1;
            let where_counted = match *counter {
                Counter::Fixed(mask) => ours.fixed.is_some_and(|n| mask == 1 << (n + from)),
                Counter::General(mask) => ours.fixed.is_none() && ours.counters == u32::from(mask),
            };
            let name = ours.name;
            assert!(where_counted, "{} {name}: {ours:?}, {:?}", core.name(), counter);
            if ours.encoding != *encoding {
                let known = DISAGREE.iter().any(|(known, _)| *known == name);
                assert!(known, "{} {name}: {ours:?}, {:?}", core.name(), encoding);
                disagreed.push(name);
            }
        }
        assert!(shared >= least, "{}: {shared} shared names", core.name());
        println!("{}: {shared} shared names", core.name());
    }
    for (name, reason) in DISAGREE {
        assert!(disagreed.contains(&name), "{name} agrees; no longer {reason}");
    }
}
