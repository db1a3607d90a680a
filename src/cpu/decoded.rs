//! How many micro-operations the decoded cache of a core holds, as published.
//!
//! Intel calls it decoded stream buffer (DSB), AMD op cache; it gives the front end instructions
//! that need no decoding. A core of which no published figure was found is not here, however
//! alike its neighbours may be.

use super::microarch::Core;

/// Names of cores, their entries.
const PUBLISHED: [(&[&str], u32); 9] = [
    // Real World Technologies, "Intel's Sandy Bridge Microarchitecture": 32 sets of 8 ways of 6
    // micro-operations.
    (&["Sandy Bridge"], 1536),
    // AnandTech, "AMD Zen Microarchitecture" (2016), of Broadwell and Skylake: 1536; and "AMD Zen
    // 2 Microarchitecture Analysis" (2019), of Skylake: 1.5 K.
    (&["Haswell", "Skylake"], 1536),
    // AnandTech, the same of Ice Lake: 2.25 K. Hardware Times, "Intel Golden Cove Core
    // Architecture Deep Dive" (2021), of Willow Cove: 2.25 K.
    (&["Sunny Cove", "Willow Cove"], 2304),
    // Hardware Times, the same, from Intel's Architecture Day 2021: 4 K. Wikipedia, "Lion Cove",
    // of its predecessor: 4096 entries.
    (&["Golden Cove", "Redwood Cove"], 4096),
    // Wikipedia, "Lion Cove", from Intel's presentation of Lunar Lake (2024): 5250 entries.
    (&["Lion Cove"], 5250),
    // AnandTech, on Zen 2 as above: from 2 K to 4 K entries.
    (&["Zen"], 2048),
    // The same. Of Zen 3 WikiChip: 8 instructions of 8 ways of 64 sets.
    (&["Zen 2", "Zen 3"], 4096),
    // WikiChip, "Zen 4": 6.75 K, 9 instructions of 12 ways of 64 sets.
    (&["Zen 4"], 6912),
    // Chips and Cheese, "Disabling Zen 5's Op Cache" (2025): 6 K entries.
    (&["Zen 5", "Zen 5 (256-bit)"], 6144),
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
