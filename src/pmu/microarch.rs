//! The cores whose events are known by name.

use super::Flavour;
use crate::cpu::Identity;

/// A core with a table of events of its own.
///
/// A hybrid CPU has two, one for each kind of core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Microarch {
    /// Nehalem, Nehalem-EX.
    Nehalem,
    /// Westmere, Westmere-EX.
    Westmere,
    /// Sandy Bridge client.
    SandyBridge,
    /// Sandy Bridge-E, -EN and -EP.
    SandyBridgeServer,
    /// Ivy Bridge client.
    IvyBridge,
    /// Ivy Bridge-E, -EN, -EP and -EX.
    IvyBridgeServer,
    /// Haswell client.
    Haswell,
    /// Haswell-E, -EP and -EX.
    HaswellServer,
    /// Broadwell client.
    Broadwell,
    /// Broadwell-D, -E, -EP and -EX.
    BroadwellServer,
    /// Skylake client and what followed with its core: Kaby, Coffee, Whiskey and Comet Lake.
    Skylake,
    /// Skylake-SP, -X and -W.
    SkylakeServer,
    /// Cascade Lake and Cooper Lake.
    CascadeLake,
    /// Ice Lake client and Rocket Lake.
    IceLake,
    /// Ice Lake-SP and -D.
    IceLakeServer,
    /// Tiger Lake.
    TigerLake,
    /// The performance cores of Alder and Raptor Lake.
    AlderLake,
    /// Sapphire and Emerald Rapids.
    SapphireRapids,
    /// The performance cores of Meteor Lake.
    MeteorLake,
    /// Granite Rapids.
    GraniteRapids,
    /// The performance cores of Lunar Lake.
    LunarLake,
    /// Silvermont and Airmont.
    Silvermont,
    /// Goldmont.
    Goldmont,
    /// Goldmont Plus.
    GoldmontPlus,
    /// Tremont.
    Tremont,
    /// The efficient cores of Alder and Raptor Lake, and Alder Lake-N.
    Gracemont,
    /// The efficient cores of Meteor Lake, and Sierra Forest.
    Crestmont,
    /// The efficient cores of Lunar Lake.
    Skymont,
    /// Zen and Zen+.
    Zen1,
    /// Zen 2.
    Zen2,
    /// Zen 3.
    Zen3,
    /// Zen 4 and Zen 4c.
    Zen4,
    /// Zen 5 and Zen 5c.
    Zen5,
}

use Microarch::*;

/// What is known of a core: its name, its mark in the tables' last column, and where its events
/// come from: the directory of Linux 6.12 below `tools/perf/pmu-events/arch/x86` and the version
/// of the vendor's list in it, from `mapfile.csv` there. Intel publishes those lists as "perfmon",
/// AMD in the Processor Programming Reference of each family and model.
struct Facts(&'static str, &'static str, &'static str);

impl Microarch {
    /// All of them, by maker and age.
    pub const ALL: [Microarch; 33] = [
        Nehalem,
        Westmere,
        SandyBridge,
        SandyBridgeServer,
        IvyBridge,
        IvyBridgeServer,
        Haswell,
        HaswellServer,
        Broadwell,
        BroadwellServer,
        Skylake,
        SkylakeServer,
        CascadeLake,
        IceLake,
        IceLakeServer,
        TigerLake,
        AlderLake,
        SapphireRapids,
        MeteorLake,
        GraniteRapids,
        LunarLake,
        Silvermont,
        Goldmont,
        GoldmontPlus,
        Tremont,
        Gracemont,
        Crestmont,
        Skymont,
        Zen1,
        Zen2,
        Zen3,
        Zen4,
        Zen5,
    ];

    const fn facts(self) -> Facts {
        match self {
            Nehalem => Facts("Nehalem", "NHM", "nehalemep v4"),
            Westmere => Facts("Westmere", "WSM", "westmereep-dp v5"),
            SandyBridge => Facts("Sandy Bridge", "SNB", "sandybridge v19"),
            SandyBridgeServer => Facts("Sandy Bridge server", "JKT", "jaketown v24"),
            IvyBridge => Facts("Ivy Bridge", "IVB", "ivybridge v24"),
            IvyBridgeServer => Facts("Ivy Bridge server", "IVT", "ivytown v24"),
            Haswell => Facts("Haswell", "HSW", "haswell v35"),
            HaswellServer => Facts("Haswell server", "HSX", "haswellx v28"),
            Broadwell => Facts("Broadwell", "BDW", "broadwell v29"),
            BroadwellServer => Facts("Broadwell server", "BDX", "broadwellx v22"),
            Skylake => Facts("Skylake client", "SKL", "skylake v59"),
            SkylakeServer => Facts("Skylake server", "SKX", "skylakex v1.35"),
            CascadeLake => Facts("Cascade Lake", "CLX", "cascadelakex v1.22"),
            IceLake => Facts("Ice Lake client", "ICL", "icelake v1.22"),
            IceLakeServer => Facts("Ice Lake server", "ICX", "icelakex v1.26"),
            TigerLake => Facts("Tiger Lake", "TGL", "tigerlake v1.16"),
            AlderLake => Facts("Alder Lake (P)", "ADL", "alderlake v1.27, cpu_core"),
            SapphireRapids => Facts("Sapphire Rapids", "SPR", "sapphirerapids v1.23"),
            MeteorLake => Facts("Meteor Lake (P)", "MTL", "meteorlake v1.10, cpu_core"),
            GraniteRapids => Facts("Granite Rapids", "GNR", "graniterapids v1.02"),
            LunarLake => Facts("Lunar Lake (P)", "LNL", "lunarlake v1.01, cpu_core"),
            Silvermont => Facts("Silvermont", "SLM", "silvermont v15"),
            Goldmont => Facts("Goldmont", "GLM", "goldmont v13"),
            GoldmontPlus => Facts("Goldmont Plus", "GLP", "goldmontplus v1.01"),
            Tremont => Facts("Tremont", "TNT", "elkhartlake v1.05"),
            Gracemont => Facts("Gracemont", "GRT", "alderlake v1.27, cpu_atom"),
            Crestmont => Facts("Crestmont", "CMT", "meteorlake v1.10, cpu_atom"),
            Skymont => Facts("Skymont", "SKT", "lunarlake v1.01, cpu_atom"),
            Zen1 => Facts("Zen", "ZEN1", "amdzen1 v2"),
            Zen2 => Facts("Zen 2", "ZEN2", "amdzen2 v1"),
            Zen3 => Facts("Zen 3", "ZEN3", "amdzen3 v1"),
            Zen4 => Facts("Zen 4", "ZEN4", "amdzen4 v1"),
            Zen5 => Facts("Zen 5", "ZEN5", "amdzen5 v1"),
        }
    }

    /// Its name, such as "Haswell" or "Alder Lake (P)".
    pub const fn name(self) -> &'static str {
        self.facts().0
    }

    /// Its mark in the tables.
    pub(super) const fn mark(self) -> &'static str {
        self.facts().1
    }

    /// Where the encodings of its events come from: a directory of Linux 6.12 below
    /// `tools/perf/pmu-events/arch/x86`, and the version of the vendor's list in it.
    pub const fn source(self) -> &'static str {
        self.facts().2
    }

    /// How it numbers events.
    pub const fn flavour(self) -> Flavour {
        match self {
            Zen1 | Zen2 | Zen3 | Zen4 | Zen5 => Flavour::Amd,
            _ => Flavour::Intel,
        }
    }

    /// The core that executes this; see [`of`](Self::of).
    pub fn detect() -> Option<Microarch> {
        Microarch::of(&Identity::detect())
    }

    /// The core of a CPU. `None` for those without a table: older than Nehalem or Zen, younger
    /// than the tables, or a hybrid guest that does not say which of its cores it is.
    pub fn of(identity: &Identity) -> Option<Microarch> {
        Some(match (identity.microarch(), identity.core()?.name) {
            ("Nehalem", _) => Nehalem,
            ("Westmere", _) => Westmere,
            ("Sandy Bridge", _) if matches!(identity.model, 0x2d) => SandyBridgeServer,
            ("Sandy Bridge", _) => SandyBridge,
            ("Ivy Bridge", _) if matches!(identity.model, 0x3e) => IvyBridgeServer,
            ("Ivy Bridge", _) => IvyBridge,
            ("Haswell", _) if matches!(identity.model, 0x3f) => HaswellServer,
            ("Haswell", _) => Haswell,
            ("Broadwell", _) if matches!(identity.model, 0x4f | 0x56) => BroadwellServer,
            ("Broadwell", _) => Broadwell,
            ("Skylake server", _) => SkylakeServer,
            ("Cascade Lake" | "Cooper Lake", _) => CascadeLake,
            (_, "Skylake") => Skylake,
            ("Ice Lake client" | "Rocket Lake", _) => IceLake,
            ("Ice Lake server", _) => IceLakeServer,
            ("Tiger Lake", _) => TigerLake,
            ("Alder Lake", "Golden Cove") | ("Raptor Lake", "Raptor Cove") => AlderLake,
            ("Sapphire Rapids" | "Emerald Rapids", _) => SapphireRapids,
            ("Meteor Lake", "Redwood Cove") => MeteorLake,
            ("Granite Rapids", _) => GraniteRapids,
            ("Lunar Lake", "Lion Cove") => LunarLake,
            ("Lunar Lake", "Skymont") => Skymont,
            ("Silvermont", _) => Silvermont,
            ("Goldmont", _) => Goldmont,
            ("Goldmont Plus", _) => GoldmontPlus,
            ("Tremont", _) => Tremont,
            (_, "Gracemont") => Gracemont,
            ("Meteor Lake" | "Sierra Forest", "Crestmont") => Crestmont,
            (_, "Zen") => Zen1,
            (_, "Zen 2") => Zen2,
            (_, "Zen 3") => Zen3,
            (_, "Zen 4") => Zen4,
            (_, "Zen 5" | "Zen 5 (256-bit)") => Zen5,
            _ => return None,
        })
    }
}
