//! Family and model to generation and core, and what each core's L1d costs and moves.
//!
//! Sources of the numbers: Intel SDM volume 4, table 2-1 ("CPUID Signature Values of
//! DisplayFamily_DisplayModel"), and Linux `arch/x86/include/asm/intel-family.h`; AMD's Revision
//! Guides and Processor Programming References, and Linux `arch/x86/kernel/cpu/amd.c`.

use super::identity::{Identity, Vendor};
use super::ports::{self, Ports};

/// A core design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Core {
    /// Its name, such as "Golden Cove".
    pub name: &'static str,
    /// Published L1d load-to-use latency in core cycles; `None` if not known here.
    pub load_to_use: Option<u32>,
    /// What its load and store ports move; `None` if not known here.
    pub ports: Option<Ports>,
}

/// A product generation: one core design, or two in a hybrid CPU.
#[derive(Clone, Copy)]
pub(super) struct Generation {
    pub(super) name: &'static str,
    pub(super) core: Core,
    pub(super) efficient: Option<Core>,
}

const fn core(name: &'static str, load_to_use: u32, ports: Option<Ports>) -> Core {
    Core {
        name,
        load_to_use: Some(load_to_use),
        ports,
    }
}

const fn unmeasured(name: &'static str, ports: Option<Ports>) -> Core {
    Core {
        name,
        load_to_use: None,
        ports,
    }
}

// "OM" is the Intel 64 and IA-32 Architectures Optimization Reference Manual, whose chapter on
// each microarchitecture has a table of cache parameters ("fastest latency"). Where Intel says
// nothing, the source is named.

// OM, NetBurst cache parameters: 2 cycles for models 0-2, 4 for models 3, 4 and 6.
const WILLAMETTE: Core = core("NetBurst", 2, None);
const PRESCOTT: Core = core("NetBurst (Prescott)", 4, None);
// OM, Pentium M and Core Solo/Duo: 3 cycles.
const PENTIUM_M: Core = core("Pentium M", 3, None);
// OM, Core cache parameters: 3 cycles.
const CORE_2: Core = core("Core", 3, ports::CORE_2);
// OM, Nehalem cache parameters: 4 cycles.
const NEHALEM: Core = core("Nehalem", 4, ports::CORE_2);
// OM, Sandy Bridge cache parameters: 4 cycles (5 with an index or a large displacement).
const SANDY_BRIDGE: Core = core("Sandy Bridge", 4, ports::SANDY_BRIDGE);
// OM, Haswell cache parameters: 4 cycles.
const HASWELL: Core = core("Haswell", 4, ports::HASWELL);
// OM, Skylake cache parameters: 4 cycles. Palm Cove is Skylake with a shrunk process.
const SKYLAKE: Core = core("Skylake", 4, ports::SKYLAKE);
const PALM_COVE: Core = core("Palm Cove", 4, ports::SKYLAKE);
// OM, Ice Lake client cache parameters: 5 cycles. Willow and Cypress Cove keep its L1d.
const SUNNY_COVE: Core = core("Sunny Cove", 5, ports::SUNNY_COVE);
const WILLOW_COVE: Core = core("Willow Cove", 5, ports::SUNNY_COVE);
const CYPRESS_COVE: Core = core("Cypress Cove", 5, ports::SUNNY_COVE);
// OM, Golden Cove cache parameters: 5 cycles. Raptor and Redwood Cove keep its L1d.
const GOLDEN_COVE: Core = core("Golden Cove", 5, ports::GOLDEN_COVE);
const RAPTOR_COVE: Core = core("Raptor Cove", 5, ports::GOLDEN_COVE);
const REDWOOD_COVE: Core = core("Redwood Cove", 5, ports::GOLDEN_COVE);
// Intel's scheduling model of Lunar Lake in LLVM (X86SchedLunarlakeP.td): 4 cycles. It is the
// first level of 48 KiB, which CPUID calls L1d and Intel L0, before another of 192 KiB.
const LION_COVE: Core = core("Lion Cove", 4, None);
const COUGAR_COVE: Core = unmeasured("Cougar Cove", None);
// OM, Bonnell: 3 cycles; Silvermont, Goldmont, Goldmont Plus, Tremont and Gracemont: 3 cycles.
const BONNELL: Core = core("Bonnell", 3, None);
const SILVERMONT: Core = core("Silvermont", 3, ports::SILVERMONT);
const GOLDMONT: Core = core("Goldmont", 3, ports::GOLDMONT);
const GOLDMONT_PLUS: Core = core("Goldmont Plus", 3, ports::GOLDMONT);
const TREMONT: Core = core("Tremont", 3, None);
const GRACEMONT: Core = core("Gracemont", 3, ports::GRACEMONT);
// Of these nothing was found that Intel published.
const CRESTMONT: Core = unmeasured("Crestmont", ports::GRACEMONT);
const SKYMONT: Core = unmeasured("Skymont", None);
const DARKMONT: Core = unmeasured("Darkmont", None);
const KNIGHTS: Core = unmeasured("Knights Landing", ports::KNIGHTS);

// AMD, Software Optimization Guides: families 0Fh and 10h 3 cycles; 15h 4 cycles; 14h and 16h 3
// cycles; 17h, 19h and 1Ah 4 cycles for an integer load with simple addressing, 5 otherwise (for
// Zen 5 publication 58455, section 2.6.2).
const K8: Core = core("K8", 3, ports::K8);
const K10: Core = core("K10", 3, ports::K10);
const BULLDOZER: Core = core("Bulldozer", 4, ports::BULLDOZER);
const BOBCAT: Core = core("Bobcat", 3, ports::BOBCAT);
const JAGUAR: Core = core("Jaguar", 3, ports::JAGUAR);
const ZEN_1: Core = core("Zen", 4, ports::ZEN_1);
const ZEN_2: Core = core("Zen 2", 4, ports::ZEN_2);
const ZEN_3: Core = core("Zen 3", 4, ports::ZEN_2);
const ZEN_4: Core = core("Zen 4", 4, ports::ZEN_2);
const ZEN_5: Core = core("Zen 5", 4, ports::ZEN_5);
// Chips and Cheese, "AMD's Strix Point: Zen 5 hits mobile": vector data paths of 256 bits; the guide
// gives no numbers for them.
const ZEN_5_MOBILE: Core = core("Zen 5 (256-bit)", 4, None);

/// The generation of a CPU, `None` if it is in no table here.
pub(super) fn generation(id: &Identity) -> Option<Generation> {
    match id.vendor {
        Vendor::Intel => intel(id.family, id.model, id.stepping),
        Vendor::Amd | Vendor::Hygon => amd(id.family, id.model),
        Vendor::Other => None,
    }
}

fn intel(family: u8, model: u8, stepping: u8) -> Option<Generation> {
    let (name, core) = match (family, model) {
        (0x06, 0x09 | 0x0d) => ("Pentium M", PENTIUM_M),
        (0x06, 0x0e) => ("Core Duo", PENTIUM_M),
        (0x06, 0x0f | 0x16) => ("Core 2", CORE_2),
        (0x06, 0x17 | 0x1d) => ("Core 2 (Penryn)", CORE_2),
        (0x06, 0x1a | 0x1e | 0x1f | 0x2e) => ("Nehalem", NEHALEM),
        (0x06, 0x25 | 0x2c | 0x2f) => ("Westmere", NEHALEM),
        (0x06, 0x2a | 0x2d) => ("Sandy Bridge", SANDY_BRIDGE),
        (0x06, 0x3a | 0x3e) => ("Ivy Bridge", SANDY_BRIDGE),
        (0x06, 0x3c | 0x3f | 0x45 | 0x46) => ("Haswell", HASWELL),
        (0x06, 0x3d | 0x47 | 0x4f | 0x56) => ("Broadwell", HASWELL),
        (0x06, 0x4e | 0x5e) => ("Skylake client", SKYLAKE),
        // One model number for three generations: the stepping tells (Linux, intel-family.h).
        (0x06, 0x55) => match stepping {
            0..=4 => ("Skylake server", SKYLAKE),
            5..=9 => ("Cascade Lake", SKYLAKE),
            _ => ("Cooper Lake", SKYLAKE),
        },
        (0x06, 0x8e) => match stepping {
            0..=9 => ("Kaby Lake", SKYLAKE),
            0xa => ("Coffee Lake", SKYLAKE),
            _ => ("Whiskey Lake or Comet Lake", SKYLAKE),
        },
        (0x06, 0x9e) => match stepping {
            0..=9 => ("Kaby Lake", SKYLAKE),
            _ => ("Coffee Lake", SKYLAKE),
        },
        (0x06, 0xa5 | 0xa6) => ("Comet Lake", SKYLAKE),
        (0x06, 0x66) => ("Cannon Lake", PALM_COVE),
        (0x06, 0x7d | 0x7e) => ("Ice Lake client", SUNNY_COVE),
        (0x06, 0x6a | 0x6c) => ("Ice Lake server", SUNNY_COVE),
        (0x06, 0x8c | 0x8d) => ("Tiger Lake", WILLOW_COVE),
        (0x06, 0xa7) => ("Rocket Lake", CYPRESS_COVE),
        (0x06, 0x8f) => ("Sapphire Rapids", GOLDEN_COVE),
        (0x06, 0xcf) => ("Emerald Rapids", RAPTOR_COVE),
        (0x06, 0xad | 0xae) => ("Granite Rapids", REDWOOD_COVE),
        (0x06, 0xaf) => ("Sierra Forest", CRESTMONT),
        (0x06, 0xdd) => ("Clearwater Forest", DARKMONT),
        (0x06, 0xbe) => ("Alder Lake-N", GRACEMONT),
        (0x06, 0x1c | 0x26 | 0x27 | 0x35 | 0x36) => ("Bonnell", BONNELL),
        (0x06, 0x37 | 0x4a | 0x4c | 0x4d | 0x5a | 0x5d) => ("Silvermont", SILVERMONT),
        (0x06, 0x5c | 0x5f) => ("Goldmont", GOLDMONT),
        (0x06, 0x7a) => ("Goldmont Plus", GOLDMONT_PLUS),
        (0x06, 0x86 | 0x96 | 0x9c) => ("Tremont", TREMONT),
        (0x06, 0x57 | 0x85) => ("Knights Landing", KNIGHTS),
        (0x0f, 0x00..=0x02) => ("NetBurst", WILLAMETTE),
        (0x0f, 0x03..=0x06) => ("NetBurst (Prescott)", PRESCOTT),
        _ => return hybrid(family, model),
    };
    Some(Generation {
        name,
        core,
        efficient: None,
    })
}

fn hybrid(family: u8, model: u8) -> Option<Generation> {
    let (name, core, efficient) = match (family, model) {
        (0x06, 0x8a) => ("Lakefield", SUNNY_COVE, TREMONT),
        (0x06, 0x97 | 0x9a) => ("Alder Lake", GOLDEN_COVE, GRACEMONT),
        (0x06, 0xb7 | 0xba | 0xbf) => ("Raptor Lake", RAPTOR_COVE, GRACEMONT),
        (0x06, 0xaa | 0xac) => ("Meteor Lake", REDWOOD_COVE, CRESTMONT),
        (0x06, 0xb5) => ("Arrow Lake-U", REDWOOD_COVE, CRESTMONT),
        (0x06, 0xc5 | 0xc6) => ("Arrow Lake", LION_COVE, SKYMONT),
        (0x06, 0xbd) => ("Lunar Lake", LION_COVE, SKYMONT),
        (0x06, 0xcc) => ("Panther Lake", COUGAR_COVE, DARKMONT),
        _ => return None,
    };
    Some(Generation {
        name,
        core,
        efficient: Some(efficient),
    })
}

fn amd(family: u8, model: u8) -> Option<Generation> {
    let (name, core) = match (family, model) {
        (0x0f, _) => ("K8", K8),
        (0x10 | 0x12, _) => ("K10", K10),
        (0x11, _) => ("K8 (Griffin)", K8),
        (0x14, _) => ("Bobcat", BOBCAT),
        (0x15, 0x00 | 0x01) => ("Bulldozer", BULLDOZER),
        (0x15, 0x02 | 0x10..=0x1f) => ("Piledriver", BULLDOZER),
        (0x15, 0x30..=0x3f) => ("Steamroller", BULLDOZER),
        (0x15, 0x60..=0x7f) => ("Excavator", BULLDOZER),
        (0x16, 0x00..=0x0f) => ("Jaguar", JAGUAR),
        (0x16, _) => ("Puma", JAGUAR),
        (0x17, 0x08 | 0x18) => ("Zen+", ZEN_1),
        (0x17, 0x00..=0x2f) | (0x18, _) => ("Zen", ZEN_1),
        (0x17, _) => ("Zen 2", ZEN_2),
        (0x19, 0x00..=0x0f | 0x20..=0x2f | 0x50..=0x5f) => ("Zen 3", ZEN_3),
        (0x19, 0x40..=0x4f) => ("Zen 3+", ZEN_3),
        (0x19, 0x10..=0x1f | 0x60..=0x7f) => ("Zen 4", ZEN_4),
        (0x19, 0xa0..=0xaf) => ("Zen 4c", ZEN_4),
        (0x1a, 0x20..=0x2f | 0x60..=0x6f) => ("Zen 5", ZEN_5_MOBILE),
        (0x1a, 0x00..=0x1f | 0x40..=0x4f | 0x70..=0x7f) => ("Zen 5", ZEN_5),
        _ => return None,
    };
    Some(Generation {
        name,
        core,
        efficient: None,
    })
}
