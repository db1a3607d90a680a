//! The lines of a record. `docs/FORMAT.md` describes them for people.

use serde::{Deserialize, Serialize};

use crate::cpu::{Cache, Ports};
#[cfg(any(feature = "std", feature = "experiments"))]
use crate::experiment::Distribution;
#[cfg(any(feature = "std", feature = "experiments"))]
use crate::host::{CpuLocation, MemoryNode};

/// A line of a record.
#[derive(Clone, Debug, PartialEq, Serialize)]
// Which kind it is takes an allocator to read.
#[cfg_attr(feature = "lab", derive(Deserialize))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Line<Header, Point, Verdict, Round = ()> {
    /// The first line.
    Header(Header),
    /// A point of an experiment.
    Point(Point),
    /// A claim's verdict.
    Verdict(Verdict),
    /// What was measured at one time, of a record over time.
    Round(Round),
    /// The last line of a run that came to its end.
    End(EndLine),
}

/// On what machine, with what program, and how a run was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header<Text, Texts, Cpu, Counting> {
    /// [`FORMAT`](super::FORMAT).
    pub format: u32,
    /// Version of linefill.
    pub linefill: Text,
    /// Revision it was built from, if known.
    pub revision: Option<Text>,
    /// Compiler it was built with.
    pub rustc: Text,
    /// Seconds since 1970 at the start; 0 if nobody knows the date.
    pub started: u64,
    /// Seconds since 1970 at the last resumption, if the run was resumed.
    pub resumed: Option<u64>,
    /// Seconds that the sessions before the last one took.
    #[serde(default)]
    pub earlier: f64,
    /// The CPU.
    pub cpu: Cpu,
    /// Kernel version, if there is an operating system.
    pub os: Option<Text>,
    /// What measured without one: [`BARE`](super::BARE).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Text>,
    /// Name of the hypervisor, if there is one.
    pub hypervisor: Option<Text>,
    /// Bytes of memory, if known.
    pub memory: Option<u64>,
    /// CPU the run was pinned to, if it was.
    pub pinned: Option<usize>,
    /// Ticks of the time-stamp counter per second.
    pub tick_hz: f64,
    /// The same as the CPU or the hypervisor states it, if it does.
    pub stated_tick_hz: Option<f64>,
    /// Core cycles per tick at the start, if the yardstick gave a figure.
    pub core_per_tick: Option<f64>,
    /// What decides the random layouts.
    pub seed: u64,
    /// `quick` or `full`; the boot image says [`BARE`](super::BARE).
    pub profile: Text,
    /// Pages asked for on the command line, if they override those of the experiments.
    pub pages: Option<Text>,
    /// The selection asked for: ids or globs.
    pub selection: Texts,
    /// Features masked away for this run.
    pub masked: Text,
    /// The largest working set allowed, in bytes.
    pub largest: u64,
    /// Published load-to-use latency of L1d in core cycles, if the core is known.
    pub load_to_use: Option<u32>,
    /// What the load and store ports move to and from L1d, if the core is known.
    pub ports: Option<Ports>,
    /// What the machine counts, and what not; nothing where nobody looked.
    #[serde(default)]
    pub counting: Counting,
    /// The CPUs that threads may have, each with the lowest CPU that shares its core, its L2, its
    /// last-level cache and its package.
    #[cfg(any(feature = "std", feature = "experiments"))]
    #[serde(default)]
    pub seats: alloc::vec::Vec<CpuLocation>,
    /// The memory nodes, where the system tells of them.
    #[cfg(any(feature = "std", feature = "experiments"))]
    #[serde(default, skip_serializing_if = "alloc::vec::Vec::is_empty")]
    pub nodes: alloc::vec::Vec<MemoryNode>,
    /// The node asked for on the command line, if all memory was to lie on one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<usize>,
    /// The most passes of what the first ones left open; 0 if it was not measured again.
    #[cfg(any(feature = "std", feature = "experiments"))]
    #[serde(default)]
    pub passes: u32,
    /// Seconds that measuring was to take, if it was limited.
    #[cfg(any(feature = "std", feature = "experiments"))]
    #[serde(default)]
    pub budget: Option<f64>,
    /// Seconds between the rounds of `linefill watch`, if it is no run.
    #[cfg(any(feature = "std", feature = "experiments"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch: Option<f64>,
    /// Which of them a second thread takes first; near ones where a record does not tell.
    pub placement: Option<Text>,
    /// The caches that the kernel describes, where it does.
    #[cfg(any(feature = "std", feature = "experiments"))]
    #[serde(default)]
    pub kernel_caches: alloc::vec::Vec<CacheLine<Text>>,
    /// How the pinned CPU was isolated, if it was.
    #[cfg(any(feature = "std", feature = "experiments"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<IsolationLine<Text>>,
    /// How the machine is set otherwise: firmware, microcode, governor, pages, ...
    #[cfg(any(feature = "std", feature = "experiments"))]
    #[serde(default, skip_serializing_if = "alloc::vec::Vec::is_empty")]
    pub settings: alloc::vec::Vec<SettingLine<Text>>,
    /// On how many CPUs the hardware prefetchers were switched off for the run, if they were.
    #[cfg(any(feature = "std", feature = "experiments"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefetchers_off: Option<usize>,
    /// How the hardware prefetchers of the pinned CPU are set, if anybody looked.
    pub prefetchers: Option<PrefetchersLine<Text>>,
    /// What a reader must know before trusting the numbers: why the thread was not pinned, ...
    #[serde(default)]
    pub notes: Texts,
}

/// How a CPU was isolated for a run.
#[cfg(any(feature = "std", feature = "experiments"))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IsolationLine<Text> {
    /// What kept the scheduler away: `isolcpus` or `cpuset partition`.
    pub by: Text,
    /// Interrupts of devices that were sent to other CPUs.
    pub moved: usize,
    /// Whether all memory of the program was locked.
    pub locked: bool,
}

/// A setting of the machine that the system tells of.
#[cfg(any(feature = "std", feature = "experiments"))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingLine<Text> {
    /// Its name: `microcode`.
    pub name: Text,
    /// Its value, as the system spells it.
    pub value: Text,
}

/// What the CPU says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuLine<Text, Features, Caches, Tlbs> {
    /// `Intel`, `AMD`, ...
    pub vendor: Text,
    /// The brand string.
    pub brand: Text,
    /// Display family.
    pub family: u32,
    /// Display model.
    pub model: u32,
    /// Stepping.
    pub stepping: u32,
    /// The product generation with its core, if family and model are known: for people. Records
    /// without `core` name it here in one of the forms that
    /// [`Core::recorded_as`](crate::cpu::Core::recorded_as) knows.
    pub microarchitecture: Option<Text>,
    /// The name of the core in the table of cores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core: Option<Text>,
    /// Features found and not masked.
    pub features: Features,
    /// The caches that CPUID reports.
    pub caches: Caches,
    /// The TLBs that CPUID reports.
    #[serde(default)]
    pub tlbs: Tlbs,
}

/// Whether the machine counts something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountingLine<Text> {
    /// What, in words: `L1d misses`.
    pub counts: Text,
    /// The vendor's name of the event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<Text>,
    /// Why it is not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<Text>,
}

/// How the hardware prefetchers are set, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrefetchersLine<Text> {
    /// Which are on and off.
    Set(Text),
    /// Why that cannot be told.
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
    /// Ways; 0 if fully associative or not known.
    pub ways: u32,
    /// Line in bytes; 0 if not known.
    pub line: u32,
    /// Sets; 0 if not known.
    pub sets: u64,
    /// Whether one set holds every line.
    #[serde(default)]
    pub fully_associative: bool,
    /// Hardware threads that share it, if known: by CPUID an upper bound.
    pub shared_by: Option<u32>,
    /// Whether it holds every line of the levels nearer to the core, if known.
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
    /// Sizes in bytes of the pages whose translations share its entries.
    pub pages: Pages,
    /// Entries.
    pub entries: u32,
    /// Ways, equal to the entries if fully associative; 0 if not known.
    pub ways: u32,
}

/// A point: one of `timed`, `counted` and `untestable` says what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RawPoint<Text, Timed> {
    /// Id of the experiment; [`MACHINE`](super::MACHINE) for the ladder.
    pub experiment: Text,
    /// Series.
    pub series: Text,
    /// Place on the horizontal axis.
    pub x: f64,
    /// In which pass over the selection it was measured, from 0.
    #[serde(default)]
    pub pass: u32,
    /// It was timed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed: Option<Timed>,
    /// It was counted, and is exact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted: Option<f64>,
    /// It could not be put to the test, for this reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub untestable: Option<Text>,
}

/// What was timed at a point. Times are in ticks per operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RawTimed<Text, Crew, Flags, Counts, Samples> {
    /// Median.
    pub median: f64,
    /// Median absolute deviation.
    pub mad: f64,
    /// Smallest sample.
    pub min: f64,
    /// Lower end of the 95 % interval of the median.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
    /// Samples behind these.
    pub n: usize,
    /// Core cycles per tick meanwhile.
    pub core_per_tick: Option<f64>,
    /// Operations by which the two stretches of a sample differ.
    pub operations: u64,
    /// Loads, stores, bytes read and bytes written per operation.
    pub work: [u32; 4],
    /// Floating-point operations per operation; left out where there are none.
    #[serde(default, skip_serializing_if = "zero")]
    pub flops: u64,
    /// Instructions per operation, where code is what is measured.
    #[serde(default, skip_serializing_if = "zero")]
    pub instructions: u64,
    /// The pages that the memory had.
    pub pages: Text,
    /// The threads, if there were several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crew: Option<Crew>,
    /// [`NOISY`](super::NOISY), `disturbed N`, how sampling [ended](super::ended_flag), and `same as ID`
    /// if another experiment of this run had measured the same case.
    pub flags: Flags,
    /// What was counted beside the time; left out where nothing was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<Counts>,
    /// Runs that were timed one by one, if the case asks for them.
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

/// Something that was counted per operation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CountLine<Text> {
    /// What, in words: `L1d misses`.
    pub of: Text,
    /// Lower end of the 95 % interval of the median.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
    /// Whether the event shared its counter with others and is extrapolated.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub multiplexed: bool,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndLine {
    /// Seconds that the run took, all sessions of a resumed one together.
    pub seconds: f64,
    /// Whether it was stopped early.
    pub interrupted: bool,
}

/// Whether there is nothing to say of a count.
fn zero(count: &u64) -> bool {
    *count == 0
}
