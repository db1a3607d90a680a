//! Machines and points as the lines of a record, whoever measured them: the lab on Linux, or the boot
//! image.

mod machine;
mod point;

pub use machine::{
    cache_of, core_of, counting_lines, counting_of, cpu_line, machine_of, reported_sizes,
};
pub use point::PointLine;
#[cfg(feature = "lab")]
pub(crate) use point::{Raw, Timed};

use crate::prelude::*;
use crate::record as format;

/// On what machine, with what program, and how a run was made.
pub type Header = format::Header<String, Vec<String>, CpuLine, Vec<CountingLine>>;

/// What the CPU says of itself.
pub type CpuLine = format::CpuLine<String, Vec<String>, Vec<CacheLine>, Vec<TlbLine>>;

/// Whether the machine counts something, as [`Counting`](crate::experiment::Counting) has it.
pub type CountingLine = format::CountingLine<String>;

/// How a CPU was isolated for a run.
pub type IsolationLine = format::IsolationLine<String>;

/// A setting of the machine that the system tells of.
pub type SettingLine = format::SettingLine<String>;

/// How the hardware prefetchers are set, in words.
pub type PrefetchersLine = format::PrefetchersLine<String>;

/// A cache as CPUID or the kernel reports it.
pub type CacheLine = format::CacheLine<String>;

/// A TLB that CPUID reports.
pub type TlbLine = format::TlbLine<String, Vec<u64>>;
