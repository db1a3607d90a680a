//! How a host is set, and what is usual in a fleet.

use std::collections::{BTreeMap, HashMap};

use super::Fleet;
use crate::cpu::CacheKind;
use crate::lab::record::{PrefetchersLine, Record};
use crate::lab::size::show;
use crate::recorded::{cache_of, core_of};

/// The settings of a host by their names.
pub(crate) type Settings = BTreeMap<String, String>;

/// What a record tells of its host and of how it was measured.
pub(super) fn settings_of(record: &Record) -> Settings {
    let header = &record.header;
    let cpu = &header.cpu;
    let core = core_of(cpu).map(|core| core.name.to_owned());
    let caches = header.cpu.caches.iter().filter_map(cache_of);
    let caches = caches.filter(|of| of.kind != CacheKind::Instruction);
    let caches: Vec<String> = caches
        .map(|of| format!("L{} {}", of.level, show(of.size as f64)))
        .collect();
    let version = match &header.revision {
        Some(revision) => format!("{} ({revision})", header.linefill),
        None => header.linefill.clone(),
    };
    let known = |text: &str| (!text.trim().is_empty()).then(|| text.trim().to_owned());
    let counted = |count: usize| (count > 0).then(|| count.to_string());
    let own = [
        ("CPU", known(&cpu.brand)),
        ("core", core),
        (
            "stepping",
            Some(format!(
                "{:X}h-{:X}h-{}",
                cpu.family, cpu.model, cpu.stepping
            )),
        ),
        ("CPUs", counted(header.seats.len())),
        ("caches", known(&caches.join(", "))),
        (
            "memory",
            // To a GiB: how much firmware keeps differs.
            header
                .memory
                .map(|bytes| format!("{} GiB", (bytes + (1 << 29)) >> 30)),
        ),
        ("kernel", header.os.clone()),
        ("host", header.host.clone()),
        ("hypervisor", header.hypervisor.clone()),
        (
            "prefetchers",
            match &header.prefetchers {
                Some(PrefetchersLine::Set(text)) => Some(text.clone()),
                _ => None,
            },
        ),
        (
            "isolated by",
            header.isolation.as_ref().map(|of| of.by.clone()),
        ),
        ("profile", known(&header.profile)),
        ("pages", header.pages.clone()),
        ("memory nodes", counted(header.nodes.len())),
        ("memory on", header.node.map(|node| format!("node {node}"))),
        ("threads", header.placement.clone()),
        ("masked away", known(&header.masked)),
        ("linefill", known(&version)),
        ("compiler", known(&header.rustc)),
    ];
    let own = own
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value));
    let told = header
        .settings
        .iter()
        .map(|of| (of.name.clone(), Some(of.value.clone())));
    // `steal: 4 % of the time`: what spoils a measurement there.
    let notes = header.notes.iter().filter_map(|note| {
        let (name, found) = note.split_once(": ")?;
        Some((format!("warning, {name}"), Some(found.to_owned())))
    });
    let all = own.chain(told).chain(notes);
    all.filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

/// A value that most hosts have.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Usual {
    /// The setting.
    pub name: String,
    /// Its value; none if most hosts do not tell of it.
    pub value: Option<String>,
    /// How many hosts have it.
    pub hosts: usize,
}

/// What is set otherwise on a host.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Otherwise {
    /// The setting.
    pub name: String,
    /// Its value on the host, if it tells of it.
    pub value: Option<String>,
    /// That of most hosts, likewise.
    pub usual: Option<String>,
    /// How many hosts have the same as this one.
    pub shared_by: usize,
}

impl Otherwise {
    /// In words: `microcode 0xb1, mostly 0xb2`.
    pub fn in_words(&self) -> String {
        let word = |value: &Option<String>| value.clone().unwrap_or_else(|| "not told".to_owned());
        format!(
            "{} {}, mostly {}",
            self.name,
            word(&self.value),
            word(&self.usual)
        )
    }
}

/// The values of each setting, with the number of hosts that have it.
#[derive(Debug, Default)]
pub(crate) struct Census<'f> {
    counts: BTreeMap<&'f str, HashMap<Option<&'f str>, usize>>,
    hosts: usize,
}

impl<'f> Census<'f> {
    /// Counts the values of a fleet.
    pub fn of(fleet: &'f Fleet) -> Self {
        let mut counts: BTreeMap<&str, HashMap<Option<&str>, usize>> = BTreeMap::new();
        for host in &fleet.hosts {
            for (name, value) in &host.settings {
                let of = counts.entry(name).or_default();
                *of.entry(Some(value.as_str())).or_default() += 1;
            }
        }
        for of in counts.values_mut() {
            let told: usize = of.values().sum();
            of.insert(None, fleet.hosts.len() - told);
        }
        Census {
            counts,
            hosts: fleet.hosts.len(),
        }
    }

    /// The values that more than half of the hosts have.
    pub fn usual(&self) -> impl Iterator<Item = Usual> {
        self.counts.iter().filter_map(|(name, values)| {
            let (value, &hosts) = values.iter().max_by_key(|(_, count)| **count)?;
            (2 * hosts > self.hosts).then(|| Usual {
                name: (*name).to_owned(),
                value: value.map(str::to_owned),
                hosts,
            })
        })
    }

    /// What is set otherwise on a host than on most, the rarest first. Settings of which no value is the
    /// most hosts' say nothing.
    pub fn otherwise(&self, usual: &[Usual], settings: &Settings) -> Vec<Otherwise> {
        let differs = |of: &Usual| {
            let value = settings.get(&of.name);
            if value == of.value.as_ref() {
                return None;
            }
            let counts = self.counts.get(of.name.as_str())?;
            Some(Otherwise {
                name: of.name.clone(),
                value: value.cloned(),
                usual: of.value.clone(),
                shared_by: *counts.get(&value.map(String::as_str))?,
            })
        };
        let mut found: Vec<Otherwise> = usual.iter().filter_map(differs).collect();
        found.sort_by(|a, b| a.shared_by.cmp(&b.shared_by).then(a.name.cmp(&b.name)));
        found
    }
}
