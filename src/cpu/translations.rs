//! How many translations the TLBs of a core hold for loads, as published.
//!
//! "OM" is the Intel 64 and IA-32 Architectures Optimization Reference Manual, in whose chapter on
//! each microarchitecture a table has the TLB parameters; "SOG" is AMD's Software Optimization
//! Guide of the family, section "Translation-Lookaside Buffer".

use super::identity::Identity;

/// Entries of a core's TLBs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Translations {
    /// Of the L1 dTLB, for loads from 4 KiB pages.
    pub small: u32,
    /// Of the L1 dTLB, for loads from 2 MiB pages; `None` if not known here.
    pub large: Option<u32>,
    /// Of the second level, for 4 KiB pages.
    pub second: u32,
}

const fn entries(small: u32, large: u32, second: u32) -> Translations {
    Translations {
        small,
        large: Some(large),
        second,
    }
}

/// An Atom, of which the manual does not say how many large pages the first level holds.
const fn atom(small: u32, second: u32) -> Translations {
    Translations {
        small,
        large: None,
        second,
    }
}

/// Names of generations whose TLBs differ from those of their core, and what these hold.
const BY_GENERATION: [(&[&str], Translations); 2] = [
    // OM, Broadwell: 1.5 K entries where Haswell has 1 K.
    (&["Broadwell"], entries(64, 32, 1536)),
    // SOG family 15h: 64 entries from model 10h on.
    (
        &["Piledriver", "Steamroller", "Excavator"],
        entries(64, 64, 1024),
    ),
];

/// Names of cores, and what their TLBs hold.
const BY_CORE: [(&[&str], Translations); 17] = [
    // OM, Nehalem and Sandy Bridge: the second level holds 4 KiB pages alone.
    (&["Nehalem", "Sandy Bridge"], entries(64, 32, 512)),
    (&["Haswell"], entries(64, 32, 1024)),
    (&["Skylake", "Palm Cove"], entries(64, 32, 1536)),
    // OM, Ice Lake client.
    (
        &["Sunny Cove", "Willow Cove", "Cypress Cove"],
        entries(64, 32, 2048),
    ),
    // OM, Golden Cove: 96 entries for loads.
    (&["Golden Cove", "Raptor Cove"], entries(96, 32, 2048)),
    (&["Silvermont"], atom(48, 128)),
    (&["Goldmont"], atom(32, 512)),
    (&["Tremont"], atom(32, 1024)),
    (&["Gracemont"], atom(48, 2048)),
    // SOG families 0Fh and 10h.
    (&["K8"], entries(32, 8, 512)),
    (&["K10"], entries(48, 48, 512)),
    // SOG family 15h, models 00h-0Fh.
    (&["Bulldozer"], entries(32, 32, 1024)),
    // SOG families 14h and 16h.
    (&["Bobcat", "Jaguar"], entries(40, 8, 512)),
    // SOG family 17h, models 00h-2Fh, then 30h and up, and family 19h: one first level for all
    // sizes of pages.
    (&["Zen"], entries(64, 64, 1536)),
    (&["Zen 2", "Zen 3"], entries(64, 64, 2048)),
    // SOG of Zen 4 (57647) and of Zen 5 (58455).
    (&["Zen 4"], entries(72, 72, 3072)),
    (&["Zen 5", "Zen 5 (256-bit)"], entries(96, 96, 4096)),
];

impl Identity {
    /// Published entries of this core's TLBs; `None` if not known here.
    pub fn translations(&self) -> Option<Translations> {
        let of = |table: &[(&[&str], Translations)], name: &str| {
            let row = table.iter().find(|(names, _)| names.contains(&name));
            row.map(|row| row.1)
        };
        let core = self.core()?;
        of(&BY_GENERATION, self.microarch()).or_else(|| of(&BY_CORE, core.name))
    }
}
