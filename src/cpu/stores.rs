//! How many stores a core holds until they have gone to L1d, as published.
//!
//! Intel calls what holds them the store buffer, AMD the store queue. Both deal it out in halves
//! while both threads of a core are at work. "OM" is the Intel 64 and IA-32 Architectures
//! Optimization Reference Manual; "SOG" is AMD's Software Optimization Guide of the family, section
//! "Load-Store Unit".

use super::microarch::Core;
use super::published::{self, Table};

/// Names of cores, the stores that each holds.
const PUBLISHED: &Table = &[
    // OM, on the out-of-order engines of these: 20, 32, 36, 42, 56, 72.
    (&["Core"], 20),
    (&["Nehalem"], 32),
    (&["Sandy Bridge"], 36),
    (&["Haswell"], 42),
    (&["Skylake", "Palm Cove"], 56),
    (&["Sunny Cove", "Willow Cove", "Cypress Cove"], 72),
    // Intel, Architecture Day 2021, as in Chips and Cheese, "Popping the hood on Golden Cove".
    (&["Golden Cove", "Raptor Cove"], 114),
    // SOG 55723 (family 17h, models 00h to 0Fh).
    (&["Zen"], 44),
    // SOG 56305 (family 17h, models 30h and later).
    (&["Zen 2"], 48),
    // SOG 56665 (family 19h) and 57647 (its models 10h to 1Fh and others).
    (&["Zen 3", "Zen 4"], 64),
    // SOG 58455 (family 1Ah).
    (&["Zen 5", "Zen 5 (256-bit)"], 104),
];

impl Core {
    /// Published number of stores that the core holds; `None` if not known here.
    pub fn pending_stores(&self) -> Option<u32> {
        Core::pending_stores_of(self.name)
    }

    /// The same for the core of this name.
    pub fn pending_stores_of(core: &str) -> Option<u32> {
        published::of(PUBLISHED, core)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_is_in_the_table_once() {
        assert!(published::one_each(PUBLISHED));
        assert_eq!(Core::pending_stores_of("Zen 4"), Some(64));
        assert_eq!(Core::pending_stores_of("nobody's"), None);
    }
}
