//! The lines of a record. `docs/FORMAT.md` describes them for readers.

use serde::{Deserialize, Serialize};

use crate::cpu::{Cache, Ports};
#[cfg(any(feature = "std", feature = "experiments"))]
use crate::experiment::Distribution;
#[cfg(any(feature = "std", feature = "experiments"))]
use crate::host::{CpuLocation, MemoryNode};

/// A line of a record.
#[derive(Clone, Debug, PartialEq, Serialize)]
// Reading a line tagged with its kind needs an allocator.
#[cfg_attr(feature = "lab", derive(Deserialize))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Line<Header, Point, Verdict, Round = ()> {
    /// The run's description: the first line.
    Header(Header),
    /// A point of an experiment.
    Point(Point),
    /// A claim's verdict.
    Verdict(Verdict),
    /// The measurements of one round, in a record of `linefill watch`.
    Round(Round),
    /// The last line of a run that reached its end.
    End(EndLine),
}

/// The machine, the program and the settings of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Header<Text, Texts, Cpu, Counting> {
    /// Version of the record format: [`FORMAT`](super::FORMAT).
    pub format: u32,
    /// Version of linefill.
    pub linefill: Text,
    /// Revision of the source that linefill was built from, if known.
    pub revision: Option<Text>,
    /// Compiler that built linefill.
    pub rustc: Text,
    /// Seconds since 1970 at the start; 0 if the date is not known.
    pub started: u64,
    /// Seconds since 1970 at the last resumption, if the run was resumed.
    pub resumed: Option<u64>,
    /// Seconds that the sessions before the last one took in total.
    #[serde(default)]
    pub earlier: f64,
    /// The CPU.
    pub cpu: Cpu,
    /// Kernel version, if there is an operating system.
    pub os: Option<Text>,
    /// [`BARE`](super::BARE) if the run had no operating system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Text>,
    /// Name of the hypervisor, if there is one.
    pub hypervisor: Option<Text>,
    /// Bytes of memory, if known.
    pub memory: Option<u64>,
    /// CPU that the run was pinned to, if it was pinned.
    pub pinned: Option<usize>,
    /// Ticks of the time-stamp counter per second.
    pub tick_hz: f64,
    /// Ticks per second as the CPU or the hypervisor reports them, if one does.
    pub stated_tick_hz: Option<f64>,
    /// Core cycles per tick at the start, if the yardstick gave a result.
    pub core_per_tick: Option<f64>,
    /// Seed of the random layouts.
    pub seed: u64,
    /// `quick` or `full`; [`BARE`](super::BARE) in a record of the boot image without experiments.
    pub profile: Text,
    /// Pages requested on the command line, if they override those of the experiments.
    pub pages: Option<Text>,
    /// The selection requested: ids or globs.
    pub selection: Texts,
    /// Features masked for this run.
    pub masked: Text,
    /// The largest working set allowed, in bytes.
    pub largest: u64,
    /// Published load-to-use latency of L1d in core cycles, if the core is known.
    pub load_to_use: Option<u32>,
    /// The bytes per cycle that the load and store ports move, if the core is known.
    pub ports: Option<Ports>,
    /// The quantities that the machine can count, and those it cannot; empty if they were not looked up.
    #[serde(default)]
    pub counting: Counting,
    /// The CPUs that threads may use, each with the lowest-numbered CPUs that share its core, its L2,
    /// its last-level cache and its package.
    #[cfg(any(feature = "std", feature = "experiments"))]
    #[serde(rename = "seats", default)]
    pub locations: alloc::vec::Vec<CpuLocation>,
    /// The CPUs of the performance cores, if the cores of the machine are of two kinds.
    #[cfg(any(feature = "std", feature = "experiments"))]
    #[serde(default, skip_serializing_if = "alloc::vec::Vec::is_empty")]
    pub performance: alloc::vec::Vec<usize>,
    /// The memory nodes, if the system reports them.
    #[cfg(any(feature = "std", feature = "experiments"))]
    #[serde(default, skip_serializing_if = "alloc::vec::Vec::is_empty")]
    pub nodes: alloc::vec::Vec<MemoryNode>,
    /// The node requested on the command line, if all memory was to be on one node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<usize>,
    /// The most passes in which undecided claims are measured; 0 if they were not measured again.
    #[cfg(any(feature = "std", feature = "experiments"))]
    #[serde(default)]
    pub passes: u32,
    /// Seconds allowed for measuring, if limited.
    #[cfg(any(feature = "std", feature = "experiments"))]
    #[serde(default)]
    pub budget: Option<f64>,
    /// Seconds between the rounds of `linefill watch`; absent in the record of a run.
    #[cfg(any(feature = "std", feature = "experiments"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch: Option<f64>,
    /// The order in which further threads take `locations`: the name of a `Placement`. Readers assume `near`
    /// if it is absent.
    pub placement: Option<Text>,
    /// The caches that the kernel describes, if it does.
    #[cfg(any(feature = "std", feature = "experiments"))]
    #[serde(default)]
    pub kernel_caches: alloc::vec::Vec<CacheLine<Text>>,
    /// How the pinned CPU was isolated, if it was.
    #[cfg(any(feature = "std", feature = "experiments"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<IsolationLine<Text>>,
    /// Other settings of the machine: firmware, microcode, governor, pages and more.
    #[cfg(any(feature = "std", feature = "experiments"))]
    #[serde(default, skip_serializing_if = "alloc::vec::Vec::is_empty")]
    pub settings: alloc::vec::Vec<SettingLine<Text>>,
    /// Number of CPUs on which the hardware prefetchers were disabled for the run, if they were.
    #[cfg(any(feature = "std", feature = "experiments"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefetchers_off: Option<usize>,
    /// The settings of the pinned CPU's hardware prefetchers, if they were read.
    pub prefetchers: Option<PrefetchersLine<Text>>,
    /// Remarks that a reader needs before trusting the numbers, such as why the thread was not pinned.
    #[serde(default)]
    pub notes: Texts,
}

/// How a CPU was isolated for a run.
#[cfg(any(feature = "std", feature = "experiments"))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IsolationLine<Text> {
    /// Mechanism that kept the scheduler away: `isolcpus` or `cpuset partition`.
    pub by: Text,
    /// Number of device interrupts that were moved to other CPUs.
    pub moved: usize,
    /// Whether all memory of the program was locked.
    pub locked: bool,
}

/// A setting of the machine that the system reports.
#[cfg(any(feature = "std", feature = "experiments"))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingLine<Text> {
    /// Name, such as `microcode`.
    pub name: Text,
    /// Value, as the system spells it.
    pub value: Text,
}

/// The CPU as CPUID describes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuLine<Text, Features, Caches, Tlbs> {
    /// Vendor, such as `Intel` or `AMD`.
    pub vendor: Text,
    /// The brand string.
    pub brand: Text,
    /// Display family.
    pub family: u32,
    /// Display model.
    pub model: u32,
    /// Stepping.
    pub stepping: u32,
    /// The product generation with its core, for people, if family and model are known. Records without
    /// `core` name the core here, in one of the forms that
    /// [`Core::recorded_as`](crate::cpu::Core::recorded_as) accepts.
    pub microarchitecture: Option<Text>,
    /// The name of the core in the table of cores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core: Option<Text>,
    /// Features that were detected and not masked.
    pub features: Features,
    /// The caches that CPUID reports.
    pub caches: Caches,
    /// The TLBs that CPUID reports.
    #[serde(default)]
    pub tlbs: Tlbs,
}

/// Whether the machine counts a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountingLine<Text> {
    /// Name of the quantity, such as `L1d misses`.
    pub counts: Text,
    /// The vendor's name of the event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<Text>,
    /// Why the quantity is not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<Text>,
}

/// The settings of the hardware prefetchers, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrefetchersLine<Text> {
    /// Which prefetchers are on and which are off.
    Set(Text),
    /// Why the settings are not known.
    Unknown(Text),
}

/// A cache as CPUID or the kernel reports it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CacheLine<Text> {
    /// Level, from 1.
    pub level: u8,
    /// `data`, `instruction` or `unified`.
    pub holds: Text,
    /// Size in bytes.
    pub bytes: u64,
    /// Ways of associativity; 0 if fully associative or not known.
    pub ways: u32,
    /// Line size in bytes; 0 if not known.
    pub line: u32,
    /// Number of sets; 0 if not known.
    pub sets: u64,
    /// Whether one set holds every line.
    #[serde(default)]
    pub fully_associative: bool,
    /// Hardware threads that share the cache, if known; from CPUID, an upper bound.
    pub shared_by: Option<u32>,
    /// Whether the cache holds every line of the levels nearer to the core, if known.
    pub inclusive: Option<bool>,
}

impl<Text: From<&'static str>> From<&Cache> for CacheLine<Text> {
    fn from(cache: &Cache) -> Self {
        CacheLine {
            level: cache.level,
            holds: cache.kind.name().into(),
            bytes: cache.size,
            ways: cache.ways.filter(|_| !cache.fully_associative).unwrap_or(0),
            line: cache.line,
            sets: cache.sets().unwrap_or(0),
            fully_associative: cache.fully_associative,
            shared_by: cache.shared_by,
            inclusive: cache.inclusive,
        }
    }
}

/// A TLB that CPUID reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TlbLine<Text, Pages> {
    /// Level, from 1; 2 is the STLB.
    pub level: u8,
    /// `data`, `instruction`, `unified`, `load` or `store`.
    pub holds: Text,
    /// Page sizes in bytes whose translations share the TLB's entries.
    pub pages: Pages,
    /// Number of entries.
    pub entries: u32,
    /// Ways of associativity, equal to the entries if fully associative; 0 if not known.
    pub ways: u32,
}

/// A point. Exactly one of `timed`, `counted` and `untestable` is present.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RawPoint<Text, Timed> {
    /// Id of the experiment; [`MACHINE`](super::MACHINE) for the ladder.
    pub experiment: Text,
    /// Name of the series.
    pub series: Text,
    /// Position on the horizontal axis.
    pub x: f64,
    /// Pass over the selection in which the point was measured, from 0.
    #[serde(default)]
    pub pass: u32,
    /// The times, if the point was timed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed: Option<Timed>,
    /// The exact count, if the point was counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted: Option<f64>,
    /// Why the point could not be measured, if it could not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub untestable: Option<Text>,
}

/// The measurements of a timed point. Times are in ticks per operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RawTimed<Text, Stats, Flags, Counts, Samples> {
    /// Median.
    pub median: f64,
    /// Median absolute deviation.
    pub mad: f64,
    /// Smallest sample.
    pub min: f64,
    /// Lower end of the 95 % interval of the median.
    pub lo: f64,
    /// Upper end of the 95 % interval of the median.
    pub hi: f64,
    /// Number of samples behind these statistics.
    pub n: usize,
    /// Core cycles per tick during the measurement.
    pub core_per_tick: Option<f64>,
    /// Number of operations by which the two stretches of a sample differ.
    pub operations: u64,
    /// Loads, stores, bytes read and bytes written per operation.
    pub work: [u32; 4],
    /// Floating-point operations per operation; omitted if 0.
    #[serde(default, skip_serializing_if = "zero")]
    pub flops: u64,
    /// Instructions per operation, if the case measures code; omitted if 0.
    #[serde(default, skip_serializing_if = "zero")]
    pub instructions: u64,
    /// The pages that backed the memory.
    pub pages: Text,
    /// The threads, if there were several.
    #[serde(rename = "crew", skip_serializing_if = "Option::is_none")]
    pub thread_stats: Option<Stats>,
    /// [`NOISY`](super::NOISY), `disturbed N`, how sampling [ended](super::ended_flag), and `same as ID`
    /// if another experiment of this run measured the same case before.
    pub flags: Flags,
    /// The counts taken beside the time; omitted if nothing was counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<Counts>,
    /// The distribution of runs that were timed individually, if the case requires it.
    #[cfg(any(feature = "std", feature = "experiments"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<Distribution>,
    /// Interrupts of the CPU while the point was sampled, if they were counted.
    #[cfg(any(feature = "std", feature = "experiments"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupts: Option<u64>,
    /// The samples in order, each a [row](super::sample_row).
    pub samples: Samples,
}

/// A quantity counted per operation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CountLine<Text> {
    /// Name of the quantity, such as `L1d misses`.
    pub of: Text,
    /// Lower end of the 95 % interval of the median.
    pub lo: f64,
    /// Upper end of the 95 % interval of the median.
    pub hi: f64,
    /// Whether the event shared its counter with others and is extrapolated.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub multiplexed: bool,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndLine {
    /// Seconds that the run took, including all sessions of a resumed run.
    pub seconds: f64,
    /// Whether it was stopped early.
    pub interrupted: bool,
}

/// Returns whether a count is 0, and is omitted from the line.
fn zero(count: &u64) -> bool {
    *count == 0
}
