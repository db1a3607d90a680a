//! Events by name: the kernel's own, perf's general ones, and those that the vendors print.

use crate::cpu::{CoreType, Identity};
use crate::os::preempt::current_cpu;
use crate::os::root::Root;
use crate::pmu::{Microarch, event};

use super::source::named_source;
use super::{Event, Refusal, Software, Source, source_of};

/// PERF_COUNT_HW_*: perf's names for what every PMU is asked for.
const GENERAL: [(&str, u64); 10] = [
    ("cycles", 0),
    ("cpu-cycles", 0),
    ("instructions", 1),
    ("cache-references", 2),
    ("cache-misses", 3),
    ("branches", 4),
    ("branch-instructions", 4),
    ("branch-misses", 5),
    ("bus-cycles", 6),
    ("ref-cycles", 9),
];

/// PERF_COUNT_HW_CACHE_*.
const CACHES: [(&str, u64); 6] = [
    ("L1-dcache-", 0),
    ("L1-icache-", 1),
    ("LLC-", 2),
    ("dTLB-", 3),
    ("iTLB-", 4),
    ("node-", 6),
];

/// PERF_COUNT_HW_CACHE_OP_* in the second byte, PERF_COUNT_HW_CACHE_RESULT_* in the third.
const ACCESSES: [(&str, u64); 6] = [
    ("loads", 0),
    ("load-misses", 1 << 16),
    ("stores", 1 << 8),
    ("store-misses", 1 << 16 | 1 << 8),
    ("prefetches", 2 << 8),
    ("prefetch-misses", 1 << 16 | 2 << 8),
];

/// All of perf's general names.
pub fn general_names() -> impl Iterator<Item = String> {
    let caches = CACHES.into_iter().flat_map(|(cache, _)| {
        let accesses = ACCESSES.into_iter();
        accesses.map(move |(access, _)| format!("{cache}{access}"))
    });
    let general = GENERAL.into_iter().map(|(name, _)| name.to_owned());
    general.chain(caches)
}

impl Event {
    /// The event that `name` means on the CPU that executes this; see
    /// [`named_on`](Self::named_on).
    ///
    /// # Errors
    /// Why there is none.
    pub fn named(name: &str) -> Result<Event, Refusal> {
        let cpu = current_cpu().unwrap_or(0);
        Event::named_on(name, &Root::live(), cpu, &Identity::detect())
    }

    /// The event that `name` means on `cpu`, one of the CPUs that `identity` describes.
    ///
    /// A name is one of [`Software`], such as `page-faults`; one of perf's general ones, such as
    /// `cycles` or `L1-dcache-load-misses`; or the vendor's, such as
    /// `MEM_LOAD_RETIRED.L1_MISS`. In a hybrid CPU it means the event of the kind of core that
    /// `cpu` is, or that of another as in `cpu_atom/NAME/`.
    ///
    /// # Errors
    /// [`Refusal::Unknown`] if this core has no such event, [`Refusal::NoTable`] if its events
    /// are not known here, and [`Refusal::NoPmu`] if the kernel lists no PMU.
    pub fn named_on(
        name: &str,
        root: &Root,
        cpu: usize,
        identity: &Identity,
    ) -> Result<Event, Refusal> {
        if let Some(software) = Software::ALL.into_iter().find(|one| one.name() == name) {
            return Ok(Event::software(software));
        }
        let (source, name) = match asked_source(name) {
            Some((pmu, name)) => (named_source(root, pmu), name),
            None => (source_of(root, cpu), name),
        };
        let source = source.map_err(|_| Refusal::NoPmu);
        if let Some(general) = general(name) {
            // Without a listed PMU the kernel itself says why it does not count.
            return Ok(source.map_or(general, |source| general.on(&source)));
        }
        let core = core_of(identity, source.as_ref().ok());
        let code = event(name, core.ok_or(Refusal::NoTable)?).map_err(Refusal::Unknown)?;
        Ok(Event::hardware(&source?, code.encoding))
    }
}

/// `cpu_atom/NAME/`, as perf takes it.
fn asked_source(name: &str) -> Option<(&'static str, &str)> {
    let (pmu, rest) = name.split_once('/')?;
    let pmu = ["cpu", "cpu_core", "cpu_atom"]
        .into_iter()
        .find(|known| *known == pmu)?;
    Some((pmu, rest.strip_suffix('/').unwrap_or(rest)))
}

fn general(name: &str) -> Option<Event> {
    let same = |known: &str| known.eq_ignore_ascii_case(name);
    if let Some((_, config)) = GENERAL.iter().find(|(known, _)| same(known)) {
        return Some(Event::generic(*config));
    }
    CACHES.iter().find_map(|(cache, number)| {
        let access = name.strip_prefix(cache)?;
        let (_, config) = ACCESSES.iter().find(|(known, _)| *known == access)?;
        Some(Event::cache(number | config))
    })
}

/// The core whose events a PMU counts. Which one of a hybrid CPU the kernel knows also where CPUID
/// does not tell, or tells of the core that happens to run this.
pub fn core_of(identity: &Identity, source: Option<&Source>) -> Option<Microarch> {
    let core_type = match source.map(|source| source.name) {
        Some("cpu_core") => Some(CoreType::Performance),
        Some("cpu_atom") => Some(CoreType::Efficient),
        _ => identity.core_type,
    };
    Microarch::of(&Identity {
        core_type,
        ..*identity
    })
}
