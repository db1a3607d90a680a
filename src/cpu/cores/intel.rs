//! Documents, registers and event tables that the rows of Intel's cores share.

use super::product::EventTable;
use super::{Core, Source, Vendor};

/// Intel's Optimization Reference Manual. Its chapter on each microarchitecture describes the
/// out-of-order engine and has tables of cache ("fastest latency") and TLB parameters.
pub(super) const fn om(section: &'static str) -> Source {
    Source::new("Intel 64 and IA-32 Architectures Optimization Reference Manual", section)
}

pub(super) const fn sdm4(section: &'static str) -> Source {
    Source::new("Intel SDM volume 4", section)
}

pub(super) const INTEL_2014: Source = Source::new(
    "Intel, \"Disclosure of Hardware Prefetcher Control on Some Intel Processors\" (2014)",
    "Nehalem to Broadwell",
);
pub(super) const DOCUMENT_357930: Source = Source::new(
    "Intel, \"Hardware Prefetch Controls for Intel Atom Cores\" (document 357930)",
    "MSR 1A4h",
);
pub(super) const PERFSPECT: Source =
    Source::new("Intel PerfSpect, prefetcher settings", "Granite Rapids");
pub(super) const ARCHITECTURE_DAY: Source =
    Source::new("Intel, Architecture Day 2021", "Golden Cove");
pub(super) const GOLDEN_COVE_POPPED: Source = Source::new(
    "Intel, Architecture Day 2021, in Chips and Cheese, \"Popping the hood on Golden Cove\"",
    "load and store unit",
);
pub(super) const STACK_OVERFLOW: Source = Source::new(
    "Stack Overflow, question 49959963",
    "H. Brais, and others who measured it; no manual says it",
);
pub(super) const REAL_WORLD: Source = Source::new(
    "Real World Technologies, \"Intel's Sandy Bridge Microarchitecture\"",
    "32 sets of 8 ways of 6 micro-operations",
);
pub(super) const ANANDTECH_ZEN: Source = Source::new(
    "AnandTech, \"AMD Zen Microarchitecture\" (2016)",
    "of Broadwell and Skylake: 1536",
);
pub(super) const ANANDTECH_ZEN_2: Source = Source::new(
    "AnandTech, \"AMD Zen 2 Microarchitecture Analysis\" (2019)",
    "of Ice Lake: 2.25 K",
);
pub(super) const HARDWARE_TIMES: Source = Source::new(
    "Hardware Times, \"Intel Golden Cove Core Architecture Deep Dive\" (2021)",
    "Willow Cove: 2.25 K; Golden Cove: 4 K",
);
/// The table that compares Lion Cove with Redwood Cove.
pub(super) const WIKIPEDIA: Source = Source::new(
    "Wikipedia, \"Lion Cove\", from Intel's presentation of Lunar Lake (2024)",
    "Op Cache: 4096 and 5250 entries; Deep instruction window: 512 and 576",
);
pub(super) const J_CHEN: Source = Source::new(
    "J. Chen, \"Intel Redwood Cove\" (jia.je, 2025), measured on Granite Rapids",
    "L1 DTLB: 96 pages",
);
pub(super) const ANANDTECH_LUNAR_LAKE: Source = Source::new(
    "AnandTech, \"Intel Unveils Lunar Lake Architecture\" (2024)",
    "Lion Cove: DTLB from 96 to 128 pages; Skymont: 416 entries, from 256",
);
pub(super) const CHIPS_AND_CHEESE_REDWOOD_COVE: Source = Source::new(
    "Chips and Cheese, \"Intel's Redwood Cove: Baby Steps are Still Steps\" (2024)",
    "Raptor Cove is nearly the same as Golden Cove; no major structure of Redwood Cove has another \
     size",
);
pub(super) const CHIPS_AND_CHEESE_SKYMONT: Source = Source::new(
    "Chips and Cheese, \"Skymont: Intel's E-Cores Reach for the Sky\" (2024), measured",
    "L1d: 4 cycles, Crestmont's 3; a third 128-bit load; two stores per cycle; L1 DTLB: 48 as \
     Crestmont; L2 TLB: 4096, Crestmont's 3072",
);
pub(super) const CHIPS_AND_CHEESE_LION_COVE: Source = Source::new(
    "Chips and Cheese, \"Lion Cove: Intel's P-Core Roars\" (2024), measured",
    "the TLBs but that of loads from 4 KiB pages are Redwood Cove's; the article on Skymont: L2 \
     TLB, 2048",
);
pub(super) const J_CHEN_GRACEMONT: Source = Source::new(
    "J. Chen, \"Intel Gracemont\" (jia.je), from Intel's manual and measured",
    "ReOrder Buffer: 256 entries",
);
pub(super) const WIKICHIP_TREMONT: Source = Source::new(
    "WikiChip Fuse, \"Intel Unveils the Tremont Microarchitecture\" (2019)",
    "Back End: 208 entries",
);
/// Returns a section of Intel's own scheduling model.
pub(super) const fn llvm_lunar_lake(section: &'static str) -> Source {
    Source::new("LLVM, X86SchedLunarlakeP.td", section)
}

/// `MSR_MISC_FEATURE_CONTROL`, later `MSR_PREFETCH_CONTROL`.
pub(super) const FEATURE_CONTROL: u32 = 0x1A4;
/// `IA32_MISC_ENABLE`.
pub(super) const MISC_ENABLE: u32 = 0x1A0;

// Bits of `FEATURE_CONTROL`; the row of a core lists the bits that it has.
pub(super) const STREAMER: (u32, &str) = (0, "L2 streamer");
pub(super) const ADJACENT: (u32, &str) = (1, "L2 adjacent line");
pub(super) const NEXT_LINE: (u32, &str) = (2, "L1 data next line");
pub(super) const BY_INSTRUCTION: (u32, &str) = (3, "L1 data by instruction address");
pub(super) const MULTIPATH: (u32, &str) = (5, "L2 adaptive multipath");

/// The base of every row.
pub(super) const INTEL: Core = Core { vendor: Vendor::Intel, ..Core::UNKNOWN };

/// Returns an event table of an Intel core.
pub(super) const fn list(name: &'static str, mark: &'static str, list: &'static str) -> EventTable {
    EventTable::new(Vendor::Intel, name, mark, list)
}
