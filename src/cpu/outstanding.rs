//! How many misses of L1d a core keeps outstanding, as published.
//!
//! Intel calls what holds them fill buffers, AMD miss address buffers. "OM" is the Intel 64 and
//! IA-32 Architectures Optimization Reference Manual; "SOG" is AMD's Software Optimization Guide
//! of the family, whose section "Load-Store Unit" says how many "outstanding in-flight cache misses"
//! the unit tracks.

use super::microarch::Core;
use super::published::{self, Table};

/// Names of cores, the misses that each keeps outstanding.
const PUBLISHED: &Table = &[
    // OM, L1d components of Nehalem, Sandy Bridge and Haswell: 10 line fill buffers.
    (&["Nehalem", "Sandy Bridge", "Haswell"], 10),
    // No manual; H. Brais on Stack Overflow, question 49959963, and others who measured it.
    (&["Skylake"], 12),
    // Intel, Architecture Day 2021, on Golden Cove: 16 fill buffers, where there were 12.
    (&["Sunny Cove", "Willow Cove", "Cypress Cove"], 12),
    (&["Golden Cove", "Raptor Cove"], 16),
    // SOG 52128 (family 16h), section 2.12: eight.
    (&["Jaguar"], 8),
    // SOG 57647 (family 19h, models 10h to 1Fh and others), section 2.12: 24.
    (&["Zen 4"], 24),
];

impl Core {
    /// Published number of misses of L1d that the core keeps outstanding; `None` if not known
    /// here.
    pub fn outstanding_misses(&self) -> Option<u32> {
        Core::outstanding_misses_of(self.name)
    }

    /// The same for the core of this name.
    pub fn outstanding_misses_of(core: &str) -> Option<u32> {
        published::of(PUBLISHED, core)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::Identity;

    #[test]
    fn a_core_is_in_the_table_once() {
        assert!(published::one_each(PUBLISHED));
    }

    #[test]
    fn an_unknown_core_has_no_number() {
        let core = Core {
            name: "nobody's",
            load_to_use: None,
            ports: None,
        };
        assert_eq!(core.outstanding_misses(), None);
        // Whatever this machine is, asking does not fail.
        let _ = Identity::detect()
            .core()
            .and_then(|core| core.outstanding_misses());
    }
}
