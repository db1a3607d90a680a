//! The record of a run: `record.jsonl`, one JSON object per line, each with a `kind`.
//!
//! A header, then a line per point, a line per verdict, then an end. Lines are appended and
//! flushed one by one, so that a run killed at any moment has lost the point in flight at most.
//! The boot image prints the same lines on its serial port.

mod check;
mod point;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use crate::record::{EndLine, FORMAT, MACHINE};
pub use check::{Checked, Wrong};
pub use point::PointLine;

use crate::experiment::{Point, Verdict, merged};
use crate::record as format;

/// A line of a record.
pub type Line = format::Line<Box<Header>, Box<PointLine>, VerdictLine>;

/// On what machine, with what program, and how a run was made.
pub type Header = format::Header<String, Vec<String>, CpuLine, Vec<CountingLine>>;

/// What the CPU says of itself.
pub type CpuLine = format::CpuLine<String, Vec<String>, Vec<CacheLine>, Vec<TlbLine>>;

/// Whether the machine counts something, as [`Counting`](crate::experiment::Counting) has it.
pub type CountingLine = format::CountingLine<String>;

/// How the hardware prefetchers are set, in words.
pub type PrefetchersLine = format::PrefetchersLine<String>;

/// A cache as CPUID or the kernel reports it.
pub type CacheLine = format::CacheLine<String>;

/// A TLB that CPUID reports.
pub type TlbLine = format::TlbLine<String, Vec<u64>>;

/// A claim's verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VerdictLine {
    /// Id of the experiment.
    pub experiment: String,
    /// The claim in words.
    pub claim: String,
    /// `holds`, `does not hold`, `inconclusive` or `untestable`.
    #[serde(serialize_with = "write_verdict", deserialize_with = "read_verdict")]
    pub verdict: Verdict,
    /// The numbers behind it, or the reason.
    pub numbers: String,
}

fn write_verdict<S: Serializer>(verdict: &Verdict, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(verdict.name())
}

fn read_verdict<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Verdict, D::Error> {
    let name = String::deserialize(deserializer)?;
    let unknown = || {
        format!(
            "`{name}`: {} is accepted",
            Verdict::ALL.map(Verdict::name).join(", ")
        )
    };
    Verdict::named(&name).ok_or_else(|| serde::de::Error::custom(unknown()))
}

/// The lines of a run, by their kinds.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The first line.
    pub header: Header,
    /// The points, in the order in which they were measured.
    pub points: Vec<PointLine>,
    /// The verdicts that were decided when the run ended.
    pub verdicts: Vec<VerdictLine>,
    /// The last line, if the run came to its end.
    pub end: Option<EndLine>,
}

impl Record {
    /// A record without any line but its first.
    pub fn new(header: Header) -> Self {
        Record {
            header,
            points: Vec::new(),
            verdicts: Vec::new(),
            end: None,
        }
    }

    /// Adds a line; a header replaces the one that is there.
    pub fn push(&mut self, line: Line) {
        match line {
            Line::Header(header) => self.header = *header,
            Line::Point(point) => self.points.push(*point),
            Line::Verdict(verdict) => self.verdicts.push(verdict),
            Line::End(end) => self.end = Some(end),
        }
    }

    /// Its lines in the order of a file.
    pub fn lines(&self) -> impl Iterator<Item = Line> {
        let points = self.points.iter().cloned().map(Box::new);
        let verdicts = self.verdicts.iter().cloned();
        [Line::Header(Box::new(self.header.clone()))]
            .into_iter()
            .chain(points.map(Line::Point))
            .chain(verdicts.map(Line::Verdict))
            .chain(self.end.clone().map(Line::End))
    }

    /// The points of an experiment, its passes merged, in the order in which they were first measured.
    pub fn points_of(&self, experiment: &str) -> Vec<Point> {
        points_of(&self.points, experiment)
    }
}

/// The points of an experiment among these, its passes merged.
pub fn points_of(lines: &[PointLine], experiment: &str) -> Vec<Point> {
    let lines = lines.iter().filter(|line| line.experiment == experiment);
    merged(lines.map(|line| line.point.clone()).collect())
}
