//! The CPU as a record keeps it.

use crate::cpu::{Cache, CacheKind, Caches, Core, Feature, Features, Identity, Tlb, Tlbs};
use crate::lab::record::{CacheLine, CpuLine, TlbLine};
use crate::os::sysfs;

/// What the executing CPU says of itself, with those of its features that are not masked.
///
/// In a hybrid CPU it describes the core that executes: pin the thread first.
pub fn cpu_line(identity: &Identity, features: Features) -> CpuLine {
    CpuLine {
        vendor: identity.vendor.name().to_owned(),
        brand: identity.brand.to_string(),
        family: identity.family.into(),
        model: identity.model.into(),
        stepping: identity.stepping.into(),
        microarchitecture: identity.core().map(|core| match identity.microarch() {
            generation if generation == core.name => generation.to_owned(),
            generation => format!("{generation} ({})", core.name),
        }),
        core: identity.core().map(|core| core.name.to_owned()),
        features: features
            .iter()
            .map(Feature::name)
            .map(str::to_owned)
            .collect(),
        caches: Caches::detect().iter().map(cache_line).collect(),
        tlbs: Tlbs::detect().iter().map(tlb_line).collect(),
    }
}

/// The core that a line names, if it is in the table.
pub fn core_of(line: &CpuLine) -> Option<&'static Core> {
    let own = line.core.as_deref().and_then(Core::named);
    own.or_else(|| Core::recorded_as(line.microarchitecture.as_deref()?))
}

fn cache_line(cache: &Cache) -> CacheLine {
    CacheLine {
        level: cache.level,
        holds: cache.kind.name().to_owned(),
        bytes: cache.size,
        ways: cache.ways.filter(|_| !cache.fully_associative).unwrap_or(0),
        line: cache.line,
        sets: cache.sets().unwrap_or(0),
        fully_associative: cache.fully_associative,
        shared_by: cache.shared_by,
        inclusive: cache.inclusive,
    }
}

/// A cache as the kernel describes it.
pub fn kernel_cache_line(cache: &sysfs::Cache) -> CacheLine {
    let small = |number: Option<u64>| number.and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
    CacheLine {
        level: cache.level as u8,
        holds: cache.kind.name().to_owned(),
        bytes: cache.size,
        ways: small(cache.ways),
        line: small(cache.line),
        sets: cache.sets.unwrap_or(0),
        fully_associative: false,
        shared_by: u32::try_from(cache.shared_by.len()).ok(),
        inclusive: None,
    }
}

/// The cache that a line keeps. `None` if the line holds what no CPU reports: no bytes, no line
/// size, or a kind that is not known.
pub fn cache_of(line: &CacheLine) -> Option<Cache> {
    let kind = [CacheKind::Data, CacheKind::Instruction, CacheKind::Unified]
        .into_iter()
        .find(|kind| kind.name() == line.holds)?;
    if line.bytes == 0 || line.line == 0 {
        return None;
    }
    let ways = match line.ways {
        0 if line.fully_associative => u32::try_from(line.bytes / u64::from(line.line)).ok(),
        0 => None,
        ways => Some(ways),
    };
    Some(Cache {
        level: line.level,
        kind,
        size: line.bytes,
        line: line.line,
        ways,
        fully_associative: line.fully_associative,
        shared_by: line.shared_by,
        inclusive: line.inclusive,
    })
}

fn tlb_line(tlb: &Tlb) -> TlbLine {
    TlbLine {
        level: tlb.level,
        holds: tlb.kind.name().to_owned(),
        pages: tlb.pages.iter().map(|page| page.bytes()).collect(),
        entries: tlb.entries,
        ways: tlb.ways.unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::{Vectors, Vendor};

    /// Among them those whose names have brackets of their own.
    #[test]
    fn a_recorded_core_is_found_again() {
        let here = Identity::detect();
        for (vendor, family, model, core) in [
            (Vendor::Amd, 0x1a, 0x24, "Zen 5 (256-bit)"),
            (Vendor::Amd, 0x11, 0x03, "K8"),
            (Vendor::Intel, 0x0f, 0x04, "NetBurst (Prescott)"),
            (Vendor::Intel, 0x06, 0x17, "Core"),
            (Vendor::Intel, 0x06, 0x8f, "Golden Cove"),
        ] {
            let identity = Identity {
                vendor,
                family,
                model,
                vectors: Vectors::Sse,
                ..here
            };
            let line = cpu_line(&identity, Features::detect());
            assert_eq!(core_of(&line).map(|core| core.name), Some(core));
            // A record of an earlier version has no field for it.
            let earlier = CpuLine { core: None, ..line };
            assert_eq!(core_of(&earlier).map(|core| core.name), Some(core));
        }
    }

    #[test]
    fn caches_come_back_as_they_were() {
        let cache = Cache {
            level: 1,
            kind: CacheKind::Data,
            size: 48 << 10,
            line: 64,
            ways: Some(12),
            fully_associative: false,
            shared_by: Some(2),
            inclusive: Some(false),
        };
        let fully = Cache {
            ways: Some(768),
            fully_associative: true,
            ..cache
        };
        let untold = Cache {
            ways: None,
            ..cache
        };
        for cache in [cache, fully, untold] {
            assert_eq!(cache_of(&cache_line(&cache)), Some(cache));
        }
    }

    #[test]
    fn a_line_that_no_cpu_reports_is_no_cache() {
        let good = CacheLine {
            level: 1,
            holds: "data".into(),
            bytes: 1024,
            ways: 2,
            line: 64,
            sets: 8,
            fully_associative: false,
            shared_by: None,
            inclusive: None,
        };
        assert!(cache_of(&good).is_some());
        let empty = CacheLine {
            bytes: 0,
            ..good.clone()
        };
        let strange = CacheLine {
            holds: "dreams".into(),
            ..good
        };
        assert_eq!((cache_of(&empty), cache_of(&strange)), (None, None));
    }
}
