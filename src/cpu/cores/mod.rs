//! The table of cores: one row per core design, with the published facts that linefill uses.
//!
//! # Adding a core
//! 1. Add a row to the vendor's file (`intel_core.rs`, `intel_cove.rs`, `intel_atom.rs` or `amd.rs`): a
//!    constant, and its name in the list at the end of the file. Give each published fact with its source.
//!    All other facts come from the vendor's base, or from a core that the source says is the same.
//!
//!    ```text
//!    const ZEN_6_EVENTS: EventTable = list("Zen 6", "ZEN6", "amdzen6 v1");
//!
//!    const ZEN_6: Core = Core {
//!        name: "Zen 6",
//!        vectors: Vectors::Avx512,
//!        products: &[product("Zen 6", &[models(0x1a, 0x50, 0x5f)]).events(&ZEN_6_EVENTS)],
//!        load_to_use: known(4, load_store(SOG_ZEN_6)),
//!        ..AMD
//!    };
//!    ```
//! 2. Add the core's events to the vendor's CSV file in `src/pmu/events` (`intel_core.csv`, `intel_atom.csv` or
//!    `amd.csv`), under the mark that the row gives them ("ZEN6").
//! 3. Add a CPUID dump of the core to `tests/fixtures/cpuid`, and the expected results to
//!    `tests/library/cpuid.rs`.
//!
//! A number without a public source stays unknown, however similar the core's neighbours are.
//!
//! # Sources of the signatures
//! Intel SDM volume 4, table 2-1 ("CPUID Signature Values of DisplayFamily_DisplayModel"), and Linux
//! `arch/x86/include/asm/intel-family.h`; AMD's Revision Guides and Processor Programming References,
//! and Linux `arch/x86/kernel/cpu/amd.c`.

mod amd;
mod fact;
mod intel;
mod intel_atom;
mod intel_core;
mod intel_cove;
mod product;

pub use fact::{Fact, Ports, PrefetchSwitches, Source, Translations};
pub use product::EventTable;

use super::identity::{Identity, Vectors, Vendor};
use fact::unknown;
use product::Product;

/// A core design, and its published facts.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Core {
    /// Name of the core, such as "Golden Cove".
    pub name: &'static str,
    /// Designer of the core.
    pub vendor: Vendor,
    /// The widest vectors that any CPU with this core lists. A virtual CPU's invented model number may
    /// contradict this: QEMU's "Icelake-Server" has an Atom's, its "max" that of a K8, and a cloud's
    /// server CPU with AMX that of Rocket Lake. Sources: the vendors' optimization guides; Intel SDM
    /// volume 1, section 5.
    vectors: Vectors,
    /// The products that contain the core.
    products: &'static [Product],
    /// Load-to-use latency in core cycles: a dependent integer load by `[register]` that hits L1d.
    pub load_to_use: Fact<u32>,
    /// Latency of an `f64` addition in core cycles.
    pub float_add: Fact<u32>,
    /// The bytes per cycle that the load and store ports move.
    pub ports: Fact<Ports>,
    /// The most operations that the core has begun and not yet retired: entries of the reorder buffer
    /// (Intel) or retire queue (AMD).
    ///
    /// An entry is an operation as the core's decoder emits it. An arithmetic instruction with a memory
    /// operand takes one entry, and so does a comparison or decrement together with the jump after it.
    pub reorder_buffer: Fact<u32>,
    /// The most stores that the core holds before they reach L1d: entries of the store buffer (Intel) or
    /// store queue (AMD). While both threads of a core are active, each has half.
    pub store_buffer: Fact<u32>,
    /// The most outstanding L1d misses: fill buffers (Intel) or miss address buffers (AMD).
    pub outstanding_misses: Fact<u32>,
    /// Write-combining buffers. Since the Core microarchitecture, Intel's fill buffers, which hold
    /// outstanding L1d misses, also collect non-temporal stores.
    pub combining_buffers: Fact<u32>,
    /// Capacity of the decoded cache in micro-operations (instructions on AMD): decoded stream buffer
    /// (Intel) or op cache (AMD). It supplies the front end with instructions that need no decoding.
    pub decoded_cache: Fact<u32>,
    /// Entries of the TLBs.
    translations: Translations,
    /// The register that disables the hardware prefetchers.
    pub prefetchers: Fact<PrefetchSwitches>,
}

/// The reason given for a fact that was searched for and not found.
const NOT_FOUND: &str = "no published figure was found";

impl Core {
    /// A core about which nothing is known.
    const UNKNOWN: Core = Core {
        name: "",
        vendor: Vendor::Other,
        vectors: Vectors::Amx,
        products: &[],
        load_to_use: unknown(NOT_FOUND),
        float_add: unknown(NOT_FOUND),
        ports: unknown(NOT_FOUND),
        reorder_buffer: unknown(NOT_FOUND),
        store_buffer: unknown(NOT_FOUND),
        outstanding_misses: unknown(NOT_FOUND),
        combining_buffers: unknown(NOT_FOUND),
        decoded_cache: unknown(NOT_FOUND),
        translations: Translations {
            small: unknown(NOT_FOUND),
            large: unknown(NOT_FOUND),
            second: unknown(NOT_FOUND),
        },
        prefetchers: unknown(NOT_FOUND),
    };

    /// Returns all cores, by vendor and age; Intel's Atoms follow its other cores.
    pub fn all() -> impl Iterator<Item = &'static Core> {
        [intel_core::CORES, intel_cove::CORES, intel_atom::CORES, amd::CORES].into_iter().flatten()
    }

    /// Returns the core with this name.
    pub fn named(name: &str) -> Option<&'static Core> {
        Core::all().find(|core| core.name == name)
    }

    /// Returns the core that a linefill record calls `text`, if the record does not give the core's own
    /// name.
    ///
    /// Records of version 0.1 contain only the core's name if its product has the same name. Otherwise
    /// they contain the product's name with the core's in brackets, as in "Sapphire Rapids (Golden
    /// Cove)". The boot image wrote only the product's name. `None` if no core, or more than one, has
    /// that name.
    pub fn recorded_as(text: &str) -> Option<&'static Core> {
        if let Some(core) = Core::named(text) {
            return Some(core);
        }
        let with_both = |core: &&Core| {
            let mut products = core.products.iter();
            products.any(|product| is_both(text, product.name, core.name))
        };
        if let Some(core) = Core::all().find(with_both) {
            return Some(core);
        }
        let mut cores = Core::all().filter(|core| core.products.iter().any(|p| p.name == text));
        let only = cores.next();
        only.filter(|_| cores.next().is_none())
    }
}

impl Core {
    /// Returns the TLB entries that the core has in a product.
    pub(super) fn translations_in(&self, product: &Product) -> Translations {
        product.translations.unwrap_or(self.translations)
    }

    /// Returns the published number of L1 dTLB entries for 4 KiB pages. `None` if none is published, or
    /// if the core's products differ in it.
    #[cfg(hosted)]
    pub(crate) fn dtlb_entries(&self) -> Option<u32> {
        let entries = self.translations.small.value();
        let mut products = self.products.iter();
        let same = products.all(|product| self.translations_in(product).small.value() == entries);
        entries.filter(|_| same)
    }

    /// Returns the event tables of all cores, each once, in the order of the rows.
    pub(crate) fn event_tables() -> impl Iterator<Item = &'static EventTable> {
        let tables = || {
            let products = Core::all().flat_map(|core| core.products);
            products.filter_map(|product| product.events.value())
        };
        tables().enumerate().filter_map(move |(place, table)| {
            let first = tables().position(|other| other == table);
            (first == Some(place)).then_some(table)
        })
    }
}

/// Returns whether `text` is "`product` (`core`)".
fn is_both(text: &str, product: &str, core: &str) -> bool {
    let rest = text.strip_prefix(product);
    let rest = rest.and_then(|rest| rest.strip_prefix(" ("));
    let rest = rest.and_then(|rest| rest.strip_prefix(core));
    rest == Some(")")
}

/// Returns the rows that match a CPU: one, or in a hybrid CPU one for each design of core.
fn rows(identity: &Identity) -> impl Iterator<Item = (&'static Core, &'static Product)> {
    let vendor = match identity.vendor {
        // Hygon's are Zen cores under licence.
        Vendor::Hygon => Vendor::Amd,
        vendor => vendor,
    };
    let vectors = identity.vectors;
    let cores = Core::all().filter(move |core| core.vendor == vendor && vectors <= core.vectors);
    let products = cores.flat_map(|core| core.products.iter().map(move |product| (core, product)));
    products.filter(|(_, product)| product.is(identity))
}

/// Returns the name of a CPU's generation; `None` if no row matches.
pub(super) fn generation(identity: &Identity) -> Option<&'static str> {
    let (_, product) = rows(identity).next()?;
    Some(product.name)
}

/// Returns the core of a CPU and the product that contains it. `None` if no row matches, or if the CPU
/// may be any core of a hybrid CPU.
pub(super) fn row(identity: &Identity) -> Option<(&'static Core, &'static Product)> {
    use super::identity::CoreType::Performance;
    let core_type = match identity.core_type {
        // A guest's leaf 1Ah may be empty, and then its CPU may be any core.
        None if identity.hypervisor.is_some() => None,
        known => Some(known.unwrap_or(Performance)),
    };
    rows(identity).find(|(_, product)| product.is_kind(core_type, identity.native_model))
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec::Vec;

    use super::*;
    use crate::cpu::CoreType;

    /// Returns each fact of a row by name, with its source or the reason why it is not known.
    fn facts(core: &Core) -> Vec<(&'static str, Result<Source, &'static str>)> {
        // Without `..`, so that no field can be forgotten.
        let Core {
            name: _,
            vendor: _,
            vectors: _,
            products,
            load_to_use,
            float_add,
            ports,
            reorder_buffer,
            store_buffer,
            outstanding_misses,
            combining_buffers,
            decoded_cache,
            translations,
            prefetchers,
        } = core;
        let mut facts = std::vec![
            ("load to use", load_to_use.source()),
            ("floating-point addition", float_add.source()),
            ("ports", ports.source()),
            ("reorder buffer", reorder_buffer.source()),
            ("store buffer", store_buffer.source()),
            ("outstanding misses", outstanding_misses.source()),
            ("combining buffers", combining_buffers.source()),
            ("decoded cache", decoded_cache.source()),
            ("prefetchers", prefetchers.source()),
        ];
        let own = products.iter().filter_map(|product| product.translations);
        for Translations { small, large, second } in own.chain([*translations]) {
            facts.push(("L1 dTLB, 4 KiB", small.source()));
            facts.push(("L1 dTLB, 2 MiB", large.source()));
            facts.push(("second-level TLB", second.source()));
        }
        facts.extend(products.iter().map(|p| ("events", p.events.source())));
        facts
    }

    #[test]
    fn every_fact_has_a_source_and_every_gap_a_reason() {
        for core in Core::all() {
            for (fact, source) in facts(core) {
                let said = match source {
                    Ok(Source { document, section }) => document.len() > 8 && !section.is_empty(),
                    Err(reason) => reason.len() > 8,
                };
                assert!(said, "{}: {fact}", core.name);
            }
        }
    }

    #[test]
    fn every_row_has_a_name_of_its_own_a_vendor_and_a_product() {
        let mut names: Vec<&str> = Core::all().map(|core| core.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        for core in Core::all() {
            assert!(!core.name.is_empty() && !core.products.is_empty());
            assert!([Vendor::Intel, Vendor::Amd].contains(&core.vendor));
            assert_eq!(Core::named(core.name), Some(core));
        }
    }

    /// Returns every CPU that a signature may match; the kind of core is not set.
    fn identities() -> impl Iterator<Item = Identity> {
        let families = [0x06].into_iter().chain(0x0f..=0x1a);
        let models = families.flat_map(|family| (0..=0xff).map(move |model| (family, model)));
        let steppings = models.flat_map(|(f, m)| (0..=0xf).map(move |stepping| (f, m, stepping)));
        steppings.flat_map(|(family, model, stepping)| {
            [Vendor::Intel, Vendor::Amd].map(|vendor| Identity {
                vendor,
                family,
                model,
                stepping,
                brand: crate::cpu::Text::new(b""),
                hypervisor: None,
                vectors: Vectors::Sse,
                core_type: None,
                native_model: None,
                prefetch_control: false,
            })
        })
    }

    /// Ensures that the order of the rows does not matter.
    #[test]
    fn a_cpu_is_in_one_row_or_is_hybrid() {
        let mut found = 0;
        for identity in identities() {
            let rows: Vec<_> = rows(&identity).collect();
            let Some((_, first)) = rows.first() else { continue };
            assert!(rows.iter().all(|(_, product)| product.name == first.name));
            let natives = |core_type| {
                let of_kind = rows.iter().filter(|(_, of)| of.core_type == Some(core_type));
                let mut natives: Vec<_> = of_kind.map(|(_, of)| of.native_model).collect();
                natives.sort_unstable();
                natives
            };
            if first.core_type.is_none() {
                assert_eq!(rows.len(), 1, "{}: half a hybrid", first.name);
            } else {
                for core_type in [CoreType::Performance, CoreType::Efficient] {
                    let natives = natives(core_type);
                    let differ = natives.windows(2).all(|pair| pair[0] < pair[1]);
                    let told = natives.len() == 1 || (differ && !natives.contains(&None));
                    assert!(!natives.is_empty() && told, "{}", first.name);
                }
            }
            found += 1;
        }
        assert!(found > 1000, "{found}");
    }

    #[test]
    fn models_that_linux_names_are_known() {
        for (vendor, family, model, core) in [
            (Vendor::Amd, 0x19, 0x30, "Zen 3"),
            (Vendor::Amd, 0x19, 0x90, "Zen 4"),
            (Vendor::Hygon, 0x18, 0x00, "Zen"),
            (Vendor::Intel, 0x06, 0xd7, "Raptor Cove"),
        ] {
            let mut identities = identities().map(|identity| Identity { vendor, ..identity });
            let is = |identity: &Identity| (identity.family, identity.model) == (family, model);
            let found = row(&identities.find(is).unwrap()).map(|(core, _)| core.name);
            assert_eq!(found, Some(core), "{family:x}h {model:x}h");
        }
    }

    #[test]
    fn a_record_of_any_version_names_each_core() {
        for core in Core::all() {
            assert_eq!(Core::recorded_as(core.name), Some(core));
            for product in core.products {
                let both = std::format!("{} ({})", product.name, core.name);
                assert_eq!(Core::recorded_as(&both), Some(core), "{both}");
            }
        }
        // The product alone identifies the core if the product has only one core.
        assert_eq!(Core::recorded_as("Cooper Lake"), Core::named("Skylake"));
        for none in ["", "Alder Lake", "Zen 4 (Golden Cove)", "Zen 4 (Zen 4))"] {
            assert_eq!(Core::recorded_as(none), None, "{none}");
        }
    }

    #[test]
    fn a_wider_access_never_moves_less() {
        for core in Core::all() {
            if let Some(Ports { loads, stores }) = core.ports.value() {
                assert!(loads.is_sorted() && stores.is_sorted());
                assert!(loads.iter().zip(stores).all(|(load, store)| *load >= store));
            }
        }
    }

    #[test]
    fn no_bit_of_a_register_switches_two_prefetchers() {
        for core in Core::all() {
            let Some(switches) = core.prefetchers.value() else { continue };
            for (place, (bit, _)) in switches.bits.iter().enumerate() {
                let mut others = switches.bits[..place].iter();
                assert!(*bit < 64 && !others.any(|(other, _)| other == bit));
            }
        }
    }
}
