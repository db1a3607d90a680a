//! The tables of events against those that the crate `x86` has from older lists of Intel's: every
//! name that both have, on every core that both have, as kept in `tests/fixtures/pmu/x86.csv`.

use std::collections::HashMap;

use super::microarch;
use linefill::pmu::{Encoding, events};

const KEPT: &str = include_str!("../../fixtures/pmu/x86.csv");

/// The name of a core, and how many names both tables have at least.
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

/// Where the tables disagree, and why. Of all other shared names event, umask, threshold, flags,
/// register and counters are the same.
const DISAGREE: [(&str, &str); 4] = [
    // `x86` numbers the fixed counter, which is no event that a general counter could count; we
    // name the general event that counts the same, and the fixed counter beside it.
    (
        "INST_RETIRED.ANY",
        "the general event in place of the fixed counter's number",
    ),
    (
        "CPU_CLK_UNHALTED.THREAD",
        "the general event in place of the fixed counter's number",
    ),
    (
        "CPU_CLK_UNHALTED.CORE",
        "the general event in place of the fixed counter's number",
    ),
    // Fixed counter 2 has no general event. Linux knows it as event 0, umask 3, which Intel's
    // lists have taken over since Sandy Bridge.
    (
        "CPU_CLK_UNHALTED.REF",
        "the number that Linux gives fixed counter 2",
    ),
];

/// Where `x86` numbers the fixed counters from 1, as Intel's lists of these did; the manual and
/// the later lists number them from 0.
const FROM_ONE: [&str; 4] = ["Nehalem", "Westmere", "Sandy Bridge server", "Silvermont"];

/// The counters of an event: the fixed ones, or the general ones, as a mask.
#[derive(Debug)]
enum Counter {
    Fixed(u8),
    General(u8),
}

/// A line of the extract, less its core.
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

/// What the extract has of a core, by name.
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
                // Intel has named some events since.
                continue;
            };
            shared += 1;
            let where_counted = match *counter {
                Counter::Fixed(mask) => ours.fixed.is_some_and(|n| mask == 1 << (n + from)),
                Counter::General(mask) => ours.fixed.is_none() && ours.counters == u32::from(mask),
            };
            let name = ours.name;
            assert!(
                where_counted,
                "{} {name}: {ours:?}, {:?}",
                core.name(),
                counter
            );
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
        assert!(
            disagreed.contains(&name),
            "{name} agrees; no longer {reason}"
        );
    }
}
