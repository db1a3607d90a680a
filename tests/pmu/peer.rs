//! The tables of events against those that the crate `x86` has from older lists of Intel's: every
//! name that both have, on every core that both have.

use crate::microarch;
use linefill::pmu::{Encoding, events};
use x86::perfcnt::intel::events::COUNTER_MAP;
use x86::perfcnt::intel::{Counter, EventDescription, MSRIndex, Tuple};

/// The name of a core, the key of its table in `x86`, and how many names both tables have at least.
const CORES: [(&str, &str, usize); 14] = [
    ("Nehalem", "GenuineIntel-6-1E", 80),
    ("Westmere", "GenuineIntel-6-2C", 100),
    ("Sandy Bridge", "GenuineIntel-6-2A", 120),
    ("Sandy Bridge server", "GenuineIntel-6-2D", 110),
    ("Ivy Bridge", "GenuineIntel-6-3A", 130),
    ("Ivy Bridge server", "GenuineIntel-6-3E", 120),
    ("Haswell", "GenuineIntel-6-3C", 130),
    ("Haswell server", "GenuineIntel-6-3F", 130),
    ("Broadwell", "GenuineIntel-6-3D", 140),
    ("Broadwell server", "GenuineIntel-6-4F", 130),
    ("Skylake client", "GenuineIntel-6-5E", 140),
    ("Skylake server", "GenuineIntel-6-55", 140),
    ("Silvermont", "GenuineIntel-6-37", 40),
    ("Goldmont", "GenuineIntel-6-5C", 40),
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

fn first(tuple: &Tuple) -> u8 {
    match *tuple {
        Tuple::One(value) | Tuple::Two(value, _) => value,
    }
}

fn encoding(event: &EventDescription<'_>) -> Encoding {
    Encoding {
        event: first(&event.event_code).into(),
        umask: first(&event.umask),
        cmask: event.counter_mask,
        invert: event.invert,
        edge: event.edge_detect,
        offcore: match event.msr_index {
            MSRIndex::None => 0,
            _ => event.msr_value,
        },
    }
}

#[test]
fn shared_names_have_the_same_encoding_and_counters() {
    let mut disagreed = Vec::new();
    for (name, key, least) in CORES {
        let core = microarch(name);
        let table = COUNTER_MAP.get(key).expect("a table of x86");
        let from = u8::from(FROM_ONE.contains(&name));
        let mut shared = 0;
        for ours in events(core) {
            let Some(theirs) = table.get(ours.name) else {
                // Intel has named some events since.
                continue;
            };
            shared += 1;
            let where_counted = match theirs.counter {
                Counter::Fixed(mask) => ours.fixed.is_some_and(|n| mask == 1 << (n + from)),
                Counter::Programmable(mask) => {
                    ours.fixed.is_none() && ours.counters == u32::from(mask)
                }
            };
            let name = ours.name;
            assert!(
                where_counted,
                "{} {name}: {ours:?}, {:?}",
                core.name(),
                theirs.counter
            );
            if ours.encoding != encoding(theirs) {
                let known = DISAGREE.iter().any(|(known, _)| *known == name);
                assert!(
                    known,
                    "{} {name}: {ours:?}, {:?}",
                    core.name(),
                    encoding(theirs)
                );
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
