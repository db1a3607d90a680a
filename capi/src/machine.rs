//! The report of CPUID, in the structures of the header.

use std::ffi::c_char;

use linefill::cpu::{CacheKind, Caches, Identity};

/// A cache, with the layout of the header; 0 where CPUID reports nothing.
#[allow(non_camel_case_types, reason = "the name in the header")]
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct lf_cache {
    bytes: u64,
    level: u32,
    kind: u32,
    line: u32,
    ways: u32,
    shared_by: u32,
}

/// The machine's description, with the layout of the header.
#[allow(non_camel_case_types, reason = "the name in the header")]
#[repr(C)]
pub struct lf_machine {
    vendor: [c_char; 16],
    brand: [c_char; 64],
    core: [c_char; 64],
    hypervisor: [c_char; 32],
    family: u32,
    model: u32,
    stepping: u32,
    caches: u32,
    cache: [lf_cache; 8],
}

impl lf_machine {
    /// Asks the CPU that runs this.
    pub fn detect() -> Self {
        let identity = Identity::detect();
        let found = Caches::detect();
        let mut cache = [lf_cache::default(); 8];
        for (into, from) in cache.iter_mut().zip(found.iter()) {
            *into = lf_cache {
                bytes: from.size,
                level: from.level.into(),
                kind: match from.kind {
                    CacheKind::Data => 1,
                    CacheKind::Instruction => 2,
                    _ => 3,
                },
                line: from.line,
                ways: from.ways.unwrap_or(0),
                shared_by: from.shared_by.unwrap_or(0),
            };
        }
        lf_machine {
            vendor: text(identity.vendor.name()),
            brand: text(&identity.brand),
            core: text(identity.core().map_or("", |core| core.name)),
            hypervisor: text(identity.hypervisor_name().unwrap_or("")),
            family: identity.family.into(),
            model: identity.model.into(),
            stepping: identity.stepping.into(),
            caches: found.len().min(cache.len()) as u32,
            cache,
        }
    }
}

/// The text with a terminating 0, truncated to fit.
fn text<const N: usize>(from: &str) -> [c_char; N] {
    let mut into = [0; N];
    for (to, byte) in into[..N - 1].iter_mut().zip(from.bytes()) {
        *to = byte as c_char;
    }
    into
}
