//! How many instructions a core has begun and not yet retired at most, as published.
//!
//! Intel calls what holds them the reorder buffer, AMD the retire queue. An entry is an operation as
//! the core's own decoder hands it on: an arithmetic instruction with an operand in memory is one,
//! and so are a comparison or a decrement and the jump behind it. "OM" is the Intel 64 and IA-32
//! Architectures Optimization Reference Manual; "SOG" is AMD's Software Optimization Guide of the
//! family, section "Retire Control Unit".

use super::microarch::Core;
use super::published::{self, Table};

/// Names of cores, the operations that each holds.
const PUBLISHED: &Table = &[
    // OM, on the out-of-order engines of these: 96, 128, 168, 192, 224, 352, 512.
    (&["Core"], 96),
    (&["Nehalem"], 128),
    (&["Sandy Bridge"], 168),
    (&["Haswell"], 192),
    (&["Skylake", "Palm Cove"], 224),
    (&["Sunny Cove", "Willow Cove", "Cypress Cove"], 352),
    (&["Golden Cove", "Raptor Cove"], 512),
    // SOG 55723 (family 17h, models 00h to 0Fh).
    (&["Zen"], 192),
    // SOG 56305 (family 17h, models 30h and later).
    (&["Zen 2"], 224),
    // SOG 56665 (family 19h).
    (&["Zen 3"], 256),
    // SOG 57647 (family 19h, models 10h to 1Fh and others).
    (&["Zen 4"], 320),
    // SOG 58455 (family 1Ah).
    (&["Zen 5", "Zen 5 (256-bit)"], 448),
];

impl Core {
    /// Published number of operations that the core of this name has under way at most; `None` if
    /// not known here.
    pub fn window_of(core: &str) -> Option<u32> {
        published::of(PUBLISHED, core)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_is_in_the_table_once() {
        assert!(published::one_each(PUBLISHED));
        assert_eq!(Core::window_of("Zen 4"), Some(320));
        assert_eq!(Core::window_of("nobody's"), None);
    }
}
