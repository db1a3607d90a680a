//! How many micro-operations the decoded cache of a core holds, as published.
//!
//! Intel calls it decoded stream buffer (DSB), AMD op cache; it gives the front end instructions
//! that need no decoding. "OM" is the Intel 64 and IA-32 Architectures Optimization Reference
//! Manual, "SOG" AMD's Software Optimization Guide of the family.

use super::microarch::Core;

/// Names of cores, their entries.
const PUBLISHED: [(&[&str], u32); 9] = [
    // OM, Sandy Bridge: 32 sets of 8 ways of 6 micro-operations; the same through Skylake.
    (&["Sandy Bridge", "Haswell", "Skylake", "Palm Cove"], 1536),
    // OM, Ice Lake client: 2.25 K.
    (&["Sunny Cove", "Willow Cove", "Cypress Cove"], 2304),
    // OM, Golden Cove: 4 K.
    (&["Golden Cove", "Raptor Cove", "Redwood Cove"], 4096),
    // Intel, Lunar Lake architecture presentation (Tech Tour 2024): 5250.
    (&["Lion Cove"], 5250),
    // SOG family 17h models 00h-2Fh: 2 K instructions.
    (&["Zen"], 2048),
    // SOG family 17h models 30h and up: 4 K instructions.
    (&["Zen 2"], 4096),
    // SOG family 19h: 4 K instructions.
    (&["Zen 3"], 4096),
    // SOG of Zen 4: 6.75 K instructions.
    (&["Zen 4"], 6912),
    // SOG of Zen 5: 6 K instructions.
    (&["Zen 5"], 6144),
];

impl Core {
    /// Published capacity of the decoded cache in micro-operations (instructions on AMD); `None`
    /// if there is none or it is not known here.
    pub fn decoded_cache(&self) -> Option<u32> {
        let row = PUBLISHED
            .iter()
            .find(|(names, _)| names.contains(&self.name))?;
        Some(row.1)
    }
}
