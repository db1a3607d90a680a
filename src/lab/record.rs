//! The record of a run: `record.jsonl`, one JSON object a line, each with a `kind`.
//!
//! A header, then a line per point, a line per verdict, then an end. Lines are appended and
//! flushed one by one, so that a run killed at any moment has lost the point in flight at most.
//! The boot image prints the same lines on its serial port.

mod check;

use serde::{Deserialize, Serialize};

pub use check::{Checked, Wrong};

/// The version of the format; readers refuse others.
pub const FORMAT: u32 = 1;

/// A line of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Line {
    /// The first line.
    Header(Box<Header>),
    /// A point of an experiment.
    Point(Box<PointLine>),
    /// A claim's verdict.
    Verdict(VerdictLine),
    /// The last line of a run that came to its end.
    End(EndLine),
}

impl Line {
    /// The point, if it is one.
    pub fn point(&self) -> Option<&PointLine> {
        match self {
            Line::Point(point) => Some(point),
            _ => None,
        }
    }
}

/// On what machine, with what program, and how a run was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// [`FORMAT`].
    pub format: u32,
    /// Version of linefill.
    pub linefill: String,
    /// Revision it was built from, if known.
    pub revision: Option<String>,
    /// Compiler it was built with.
    pub rustc: String,
    /// Seconds since 1970 at the start.
    pub started: u64,
    /// Seconds since 1970 at the last resumption, if the run was resumed.
    #[serde(default)]
    pub resumed: Option<u64>,
    /// Seconds that the sessions before the last one took.
    #[serde(default)]
    pub earlier: f64,
    /// The CPU.
    pub cpu: CpuLine,
    /// Kernel version, if there is an operating system.
    pub os: Option<String>,
    /// Name of the hypervisor, if there is one.
    pub hypervisor: Option<String>,
    /// Bytes of memory, if known.
    pub memory: Option<u64>,
    /// CPU the run was pinned to, if it was.
    pub pinned: Option<usize>,
    /// Ticks of the time-stamp counter a second.
    pub tick_hz: f64,
    /// The same as the CPU or the hypervisor states it, if it does.
    #[serde(default)]
    pub stated_tick_hz: Option<f64>,
    /// Core cycles per tick at the start, if the yardstick gave a figure.
    pub core_per_tick: Option<f64>,
    /// What decides the random layouts.
    pub seed: u64,
    /// `quick` or `full`; the boot image says `bare`.
    pub profile: String,
    /// Pages asked for on the command line, if they override those of the experiments.
    pub pages: Option<String>,
    /// The selection asked for: ids or globs.
    pub selection: Vec<String>,
    /// Features masked away for this run.
    pub masked: String,
    /// The largest working set allowed, in bytes.
    pub largest: u64,
    /// Published load-to-use latency of L1d in core cycles, if the core is known.
    #[serde(default)]
    pub load_to_use: Option<u32>,
    /// What the load and store ports move to and from L1d, if the core is known.
    #[serde(default)]
    pub ports: Option<PortsLine>,
    /// What the machine counts, and what not; nothing where nobody looked.
    #[serde(default)]
    pub counting: Vec<CountingLine>,
    /// The CPUs that threads may have, each with the lowest CPU that shares its core, its L2, its
    /// last-level cache and its package.
    #[serde(default)]
    pub seats: Vec<[usize; 5]>,
    /// Which of them a second thread takes first; near ones where a record does not tell.
    #[serde(default)]
    pub placement: Option<String>,
    /// The caches that the kernel describes, where it does.
    #[serde(default)]
    pub kernel_caches: Vec<CacheLine>,
    /// How the hardware prefetchers of the pinned CPU are set, if anybody looked.
    #[serde(default)]
    pub prefetchers: Option<PrefetchersLine>,
    /// What a reader must know before trusting the numbers: why the thread was not pinned, ...
    #[serde(default)]
    pub notes: Vec<String>,
}

/// What the CPU says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuLine {
    /// `GenuineIntel`, `AuthenticAMD`, ...
    pub vendor: String,
    /// The brand string.
    pub brand: String,
    /// Display family.
    pub family: u32,
    /// Display model.
    pub model: u32,
    /// Stepping.
    pub stepping: u32,
    /// The product generation with its core, if family and model are known: for people. Records
    /// without `core` name it here in one of the forms that
    /// [`Core::recorded_as`](crate::cpu::Core::recorded_as) knows.
    pub microarchitecture: Option<String>,
    /// The name of the core in the table of cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<String>,
    /// Features found and not masked.
    pub features: Vec<String>,
    /// The caches that CPUID reports.
    pub caches: Vec<CacheLine>,
    /// The TLBs that CPUID reports.
    #[serde(default)]
    pub tlbs: Vec<TlbLine>,
}

/// Whether the machine counts something, as [`Counting`](crate::experiment::Counting) has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountingLine {
    /// What, in words: `L1d misses`.
    pub counts: String,
    /// The vendor's name of the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Why it is not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// What the load and store ports move to and from L1d, in bytes per core cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortsLine {
    /// By loads of 16, 32 and 64 bytes.
    pub loads: [u32; 3],
    /// By stores of 16, 32 and 64 bytes.
    pub stores: [u32; 3],
}

/// How the hardware prefetchers are set, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrefetchersLine {
    /// Which are on and off.
    Set(String),
    /// Why that cannot be told.
    Unknown(String),
}

/// A cache as CPUID or the kernel reports it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CacheLine {
    /// Level, from 1.
    pub level: u8,
    /// `data`, `instruction` or `unified`.
    pub holds: String,
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
    #[serde(default)]
    pub shared_by: Option<u32>,
    /// Whether it holds every line of the levels nearer to the core, if known.
    #[serde(default)]
    pub inclusive: Option<bool>,
}

/// A TLB that CPUID reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TlbLine {
    /// Level, from 1; 2 is the STLB.
    pub level: u8,
    /// `data`, `instruction`, `unified`, `load` or `store`.
    pub holds: String,
    /// Sizes in bytes of the pages whose translations share its entries.
    pub pages: Vec<u64>,
    /// Entries.
    pub entries: u32,
    /// Ways, equal to the entries if fully associative; 0 if not known.
    pub ways: u32,
}

/// The experiment under which the rungs of the ladder are recorded.
pub const MACHINE: &str = "machine";

/// A point of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawPoint")]
pub struct PointLine {
    /// Id of the experiment; [`MACHINE`] for the ladder.
    pub experiment: String,
    /// Series.
    pub series: String,
    /// Place on the horizontal axis.
    pub x: f64,
    /// In which pass over the selection it was measured, from 0.
    #[serde(default)]
    pub pass: u32,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// A point as it is read: an error in one of its fields names the field, which an error in a flattened
/// enum does not.
#[derive(Deserialize)]
struct RawPoint {
    experiment: String,
    series: String,
    x: f64,
    #[serde(default)]
    pass: u32,
    timed: Option<Box<Timed>>,
    counted: Option<f64>,
    untestable: Option<String>,
}

impl TryFrom<RawPoint> for PointLine {
    type Error = &'static str;

    fn try_from(raw: RawPoint) -> Result<Self, Self::Error> {
        let outcome = match (raw.timed, raw.counted, raw.untestable) {
            (Some(timed), None, None) => Outcome::Timed(timed),
            (None, Some(value), None) => Outcome::Counted(value),
            (None, None, Some(reason)) => Outcome::Untestable(reason),
            _ => return Err("a point has one of `timed`, `counted` and `untestable`"),
        };
        Ok(PointLine {
            experiment: raw.experiment,
            series: raw.series,
            x: raw.x,
            pass: raw.pass,
            outcome,
        })
    }
}

/// What came of a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was timed.
    Timed(Box<Timed>),
    /// It was counted, and is exact.
    Counted(f64),
    /// It could not be put to the test, for this reason.
    Untestable(String),
}

/// A timed point. Times are in ticks per operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timed {
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
    /// Loads, stores, bytes read and bytes written of an operation.
    pub work: [u32; 4],
    /// Floating-point operations of an operation; left out where there are none.
    #[serde(default, skip_serializing_if = "none")]
    pub flops: u64,
    /// Instructions of an operation, where code is what is measured.
    #[serde(default, skip_serializing_if = "none")]
    pub instructions: u64,
    /// Pages it had.
    pub pages: String,
    /// The threads, if there were several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crew: Option<ThreadStatsLine>,
    /// `noisy`, `disturbed N`, how sampling ended if not by precision (`budget`, `full`,
    /// `stopped`), and `same as ID` if another experiment of this run had measured the same case.
    pub flags: Vec<String>,
    /// What was counted beside the time; left out where nothing was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<CountLine>,
    /// The samples in order: ticks of the shorter stretch, of the longer, of the yardstick, and 1
    /// if the sample was disturbed.
    pub samples: Vec<[u64; 4]>,
}

/// Something that was counted of an operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CountLine {
    /// What, in words: `L1d misses`.
    pub of: String,
    /// Lower end of the 95 % interval of the median, an operation.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
    /// Whether the event shared its counter with others and is extrapolated.
    #[serde(default, skip_serializing_if = "no")]
    pub multiplexed: bool,
}

/// Whether there is nothing to say.
fn no(said: &bool) -> bool {
    !*said
}

/// Threads that ran at once. Times are in ticks per operation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThreadStatsLine {
    /// How many there were.
    pub members: u32,
    /// On how many CPUs.
    pub cpus: u32,
    /// Median of the quickest one's times.
    pub fastest: f64,
    /// Median of the slowest one's.
    pub slowest: f64,
    /// The CPUs of the first two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pair: Option<[usize; 2]>,
    /// Whether the first two had one core together, though the system says that they had two; left
    /// out where they had not.
    #[serde(default, skip_serializing_if = "no")]
    pub one_core: bool,
    /// Median of the ticks that a line took from the first to the second and back, by
    /// `lock cmpxchg`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip: Option<f64>,
    /// How far a helper thread was ahead, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead: Option<RunAheadLine>,
}

/// How far a helper thread was ahead of the walk that it helped, in nodes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunAheadLine {
    /// The least.
    pub least: u32,
    /// A tenth of the times it was no further ahead.
    pub lower: u32,
    /// The median.
    pub median: u32,
    /// Nine tenths of the times it was no further ahead.
    pub upper: u32,
    /// The most.
    pub most: u32,
}

/// Whether a point's operation has nothing of a kind to speak of.
fn none(count: &u64) -> bool {
    *count == 0
}

/// A claim's verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VerdictLine {
    /// Id of the experiment.
    pub experiment: String,
    /// The claim in words.
    pub claim: String,
    /// `holds`, `does not hold`, `inconclusive` or `untestable`.
    pub verdict: String,
    /// The numbers behind it, or the reason.
    pub numbers: String,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndLine {
    /// Seconds that the run took, all sessions of a resumed one together.
    pub seconds: f64,
    /// Whether it was stopped early.
    pub interrupted: bool,
}
