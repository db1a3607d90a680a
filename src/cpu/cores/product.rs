//! The products that contain a core, and how CPUID identifies them.

use super::fact::{Fact, Source, Translations, known, unknown};
use crate::cpu::identity::{CoreType, Identity, Vendor};

/// A product generation that contains a core: "Sapphire Rapids" contains Golden Cove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cpu) struct Product {
    /// Name of the product.
    pub name: &'static str,
    /// The CPUID signatures of the product.
    signatures: &'static [Signature],
    /// In a hybrid product, the kind of this core.
    pub core_type: Option<CoreType>,
    /// In a product with several designs of this kind, the core's [`Identity::native_model`].
    pub native_model: Option<u32>,
    /// TLB entries, if they differ from those of the core's other products.
    pub translations: Option<Translations>,
    /// The table of the events that the product's PMU counts.
    pub events: Fact<&'static EventTable>,
}

/// The CPUs of a product: a family, with ranges of models and steppings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Signature {
    family: u8,
    models: [u8; 2],
    steppings: [u8; 2],
}

/// A core's event table in `src/pmu/events`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct EventTable {
    /// Name of the CPUs that count these events, such as "Haswell server" or "Alder Lake (P)".
    pub name: &'static str,
    /// Mark of these CPUs in the last column of the tables.
    pub mark: &'static str,
    /// Vendor of these CPUs.
    pub vendor: Vendor,
    /// Source of the events.
    pub source: Source,
}

impl EventTable {
    /// Returns the table of the events of `list`: a directory of Linux 6.12 below
    /// `tools/perf/pmu-events/arch/x86`, and the version of the vendor's list in it, from `mapfile.csv`
    /// there. Intel publishes these lists as "perfmon", AMD in the Processor Programming Reference of
    /// each family and model.
    pub(super) const fn new(
        vendor: Vendor,
        name: &'static str,
        mark: &'static str,
        list: &'static str,
    ) -> Self {
        EventTable {
            name,
            mark,
            vendor,
            source: Source::new("Linux 6.12, tools/perf/pmu-events/arch/x86", list),
        }
    }
}

/// Returns a product with one kind of core and without an event table.
pub(super) const fn product(name: &'static str, signatures: &'static [Signature]) -> Product {
    Product {
        name,
        signatures,
        core_type: None,
        native_model: None,
        translations: None,
        events: unknown("src/pmu/events has no list of its events"),
    }
}

impl Product {
    /// Marks this core as the performance core of a hybrid product.
    pub(super) const fn performance(self) -> Self {
        Product { core_type: Some(CoreType::Performance), ..self }
    }

    /// Marks this core as the efficient core of a hybrid product.
    pub(super) const fn efficient(self) -> Self {
        Product { core_type: Some(CoreType::Efficient), ..self }
    }

    /// Sets the native model, by which this core differs from the product's other cores of its kind.
    pub(super) const fn native_model(self, native_model: u32) -> Self {
        Product { native_model: Some(native_model), ..self }
    }

    /// Sets TLB entries that differ from those of the core's other products.
    pub(super) const fn translations(self, translations: Translations) -> Self {
        Product { translations: Some(translations), ..self }
    }

    /// Sets the table of the events that the product counts.
    pub(super) const fn events(self, table: &'static EventTable) -> Self {
        Product { events: known(table, table.source), ..self }
    }

    /// Returns whether a CPU is this product, whichever of the product's kinds of core executed CPUID.
    pub(super) fn is(&self, identity: &Identity) -> bool {
        let mut signatures = self.signatures.iter();
        signatures.any(|signature| signature.is(identity))
    }

    /// Returns whether this is the row of a kind of core and a native model of the product.
    pub(super) fn is_kind(&self, core_type: Option<CoreType>, native_model: Option<u32>) -> bool {
        (self.core_type.is_none() || self.core_type == core_type)
            && (self.native_model.is_none() || self.native_model == native_model)
    }
}

/// Matches all steppings of a model.
pub(super) const fn model(family: u8, model: u8) -> Signature {
    models(family, model, model)
}

/// Matches all steppings of a range of models.
pub(super) const fn models(family: u8, first: u8, last: u8) -> Signature {
    Signature { family, models: [first, last], steppings: [0, u8::MAX] }
}

/// Matches all models of a family.
pub(super) const fn family(family: u8) -> Signature {
    models(family, 0, u8::MAX)
}

impl Signature {
    /// Restricts the signature to a range of steppings.
    pub(super) const fn steppings(self, first: u8, last: u8) -> Self {
        Signature { steppings: [first, last], ..self }
    }

    /// Restricts the signature to the steppings from `first` on.
    pub(super) const fn since_stepping(self, first: u8) -> Self {
        self.steppings(first, u8::MAX)
    }

    fn is(&self, identity: &Identity) -> bool {
        let within = |[first, last]: [u8; 2], value| first <= value && value <= last;
        self.family == identity.family
            && within(self.models, identity.model)
            && within(self.steppings, identity.stepping)
    }
}
