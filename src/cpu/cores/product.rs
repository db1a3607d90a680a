//! The products that a core is built into, and how CPUID identifies them.

use super::fact::{Fact, Source, Translations, known, unknown};
use crate::cpu::identity::{CoreType, Identity, Vendor};

/// A product generation with this core: "Sapphire Rapids" has Golden Cove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cpu) struct Product {
    /// Its name.
    pub name: &'static str,
    /// What CPUID says of it.
    signatures: &'static [Signature],
    /// In a hybrid product, which of its two cores this core is.
    pub core_type: Option<CoreType>,
    /// Entries of the TLBs, where they differ from those of the core's other products.
    pub translations: Option<Translations>,
    /// The list of the events that its PMU counts.
    pub events: Fact<&'static EventTable>,
}

/// The CPUs of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Signature {
    family: u8,
    models: [u8; 2],
    steppings: [u8; 2],
}

/// A list of events in `src/pmu/events`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct EventTable {
    /// The name of the CPUs that count them, such as "Haswell server" or "Alder Lake (P)".
    pub name: &'static str,
    /// The mark of these CPUs in the last column of the lists.
    pub mark: &'static str,
    /// Who made them.
    pub vendor: Vendor,
    /// Where the events come from.
    pub source: Source,
}

impl EventTable {
    /// The events of `list`: a directory of Linux 6.12 below `tools/perf/pmu-events/arch/x86`, and
    /// the version of the vendor's list in it, from `mapfile.csv` there. Intel publishes these lists
    /// as "perfmon", AMD in the Processor Programming Reference of each family and model.
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

/// A product that consists of one kind of core, and whose events are not listed.
pub(super) const fn product(name: &'static str, signatures: &'static [Signature]) -> Product {
    Product {
        name,
        signatures,
        core_type: None,
        translations: None,
        events: unknown("src/pmu/events has no list of its events"),
    }
}

impl Product {
    /// The product has two kinds of cores, and this is the performance core.
    pub(super) const fn performance(self) -> Self {
        Product {
            core_type: Some(CoreType::Performance),
            ..self
        }
    }

    /// The product has two kinds of cores, and this is the efficient core.
    pub(super) const fn efficient(self) -> Self {
        Product {
            core_type: Some(CoreType::Efficient),
            ..self
        }
    }

    /// The TLBs differ from those of the core's other products.
    pub(super) const fn translations(self, translations: Translations) -> Self {
        Product {
            translations: Some(translations),
            ..self
        }
    }

    /// The list of the events that the product counts.
    pub(super) const fn events(self, table: &'static EventTable) -> Self {
        Product {
            events: known(table, table.source),
            ..self
        }
    }

    /// Whether `identity` is that of this product, whichever of its cores it is.
    pub(super) fn is(&self, identity: &Identity) -> bool {
        let mut signatures = self.signatures.iter();
        signatures.any(|signature| signature.is(identity))
    }
}

/// All steppings of a model.
pub(super) const fn model(family: u8, model: u8) -> Signature {
    models(family, model, model)
}

/// All steppings of a range of models.
pub(super) const fn models(family: u8, first: u8, last: u8) -> Signature {
    Signature {
        family,
        models: [first, last],
        steppings: [0, u8::MAX],
    }
}

/// All models of a family.
pub(super) const fn family(family: u8) -> Signature {
    models(family, 0, u8::MAX)
}

impl Signature {
    /// Of these models only a range of steppings.
    pub(super) const fn steppings(self, first: u8, last: u8) -> Self {
        Signature {
            steppings: [first, last],
            ..self
        }
    }

    /// Of these models only the steppings from `first` on.
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
