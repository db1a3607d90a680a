//! How many write-combining buffers a core has, as published.
//!
//! Intel calls them fill buffers since the Core microarchitecture: the buffers of the L1d that
//! wait for lines also collect non-temporal stores. "OM" is the Intel 64 and IA-32 Architectures
//! Optimization Reference Manual.

use super::microarch::Core;
use super::published::{self, Table};

/// Names of cores, their buffers.
const PUBLISHED: &Table = &[
    // OM, section "Write Combining": 6 in the Pentium 4, 8 from CPUID family 15 model 3 on, 8 in
    // the Core microarchitecture.
    (&["NetBurst"], 6),
    (&["NetBurst (Prescott)", "Core"], 8),
    // The same section: 10 from Nehalem on. OM, L1d components of Sandy Bridge and Haswell: 10.
    (&["Nehalem", "Sandy Bridge", "Haswell"], 10),
    // No manual; H. Brais on Stack Overflow, question 49959963, and others who measured it.
    (&["Skylake"], 12),
    // Intel, Architecture Day 2021, on Golden Cove: 16 fill buffers, where there were 12.
    (&["Sunny Cove", "Willow Cove", "Cypress Cove"], 12),
    (&["Golden Cove", "Raptor Cove"], 16),
];

impl Core {
    /// Published number of write-combining buffers; `None` if not known here. AMD publishes none
    /// for its Zen cores.
    pub fn combining_buffers(&self) -> Option<u32> {
        Core::combining_buffers_of(self.name)
    }

    /// The same for the core of this name.
    pub fn combining_buffers_of(core: &str) -> Option<u32> {
        published::of(PUBLISHED, core)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_is_in_the_table_once() {
        assert!(published::one_each(PUBLISHED));
        assert_eq!(Core::combining_buffers_of("Skylake"), Some(12));
        assert_eq!(Core::combining_buffers_of("Zen 4"), None);
    }
}
