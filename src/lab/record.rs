//! The record of a run: `record.jsonl`, one JSON object per line, each with a `kind`.
//!
//! A record has a header, a line per point, a line per verdict and an end; a record of `linefill watch` has
//! a line per round. Lines are appended and flushed one by one, so that a run that is killed loses at most
//! the point being measured. The boot image prints the same lines on its serial port.

mod check;

pub use check::{Checked, Wrong};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::experiment::{Claim, Experiment, Judgement, Kind, Point, Verdict, merged_by_number};
use crate::record as format;
pub use crate::record::{EndLine, FORMAT, MACHINE};
pub use crate::recorded::{
    CacheLine, CountingLine, CpuLine, Header, IsolationLine, PointLine, PrefetchersLine,
    SettingLine, TlbLine,
};

/// File name of the record.
pub const RECORD: &str = "record.jsonl";

/// File name of the compressed record.
pub const PACKED: &str = "record.jsonl.gz";

/// File name of the report.
pub const REPORT: &str = "report.html";

/// A line of a record.
pub type Line = format::Line<Box<Header>, Box<PointLine>, VerdictLine, Box<RoundLine>>;

/// A claim's verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VerdictLine {
    /// Id of the experiment.
    pub experiment: String,
    /// The claim's id; empty in records from before claims had ids.
    #[serde(default)]
    pub id: String,
    /// The claim in words.
    pub claim: String,
    /// The claim's origin: document and section, or `ours`.
    #[serde(default)]
    pub origin: String,
    /// How the claim was decided (measured, counted, ...); `None` in records that do not say.
    #[serde(default, serialize_with = "write_kind", deserialize_with = "read_kind")]
    pub found: Option<Kind>,
    /// `holds`, `does not hold`, `inconclusive` or `untestable`.
    #[serde(serialize_with = "write_verdict", deserialize_with = "read_verdict")]
    pub verdict: Verdict,
    /// The number of passes after which the claim was decided, if it was measured in passes and decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes: Option<u32>,
    /// The numbers behind the verdict, or the reason for it.
    pub numbers: String,
    /// The interval of the first number, if a document's value can be compared with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<[f64; 2]>,
    /// The document's value of the same number, and the machine that it was measured on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub then: Option<ThenLine>,
}

/// A document's value for the number of a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThenLine {
    /// Least value.
    pub lo: f64,
    /// Greatest value.
    pub hi: f64,
    /// The machine; empty if the document does not say.
    pub machine: String,
}

impl VerdictLine {
    /// Creates the line for the judgement on `claim` of `experiment`.
    pub fn new(experiment: &Experiment, claim: &Claim, judgement: Judgement) -> Self {
        VerdictLine {
            experiment: experiment.id.to_owned(),
            id: claim.id.to_owned(),
            claim: claim.text.to_owned(),
            origin: claim.origin.to_string(),
            found: Some(claim.kind),
            verdict: judgement.verdict,
            passes: None,
            numbers: judgement.numbers,
            now: judgement.value.map(|value| [value.lo, value.hi]),
            then: claim.then.map(|then| ThenLine {
                lo: then.lo,
                hi: then.hi,
                machine: then.machine.to_owned(),
            }),
        }
    }

    /// Creates a verdict on an experiment without any other detail.
    pub fn bare(experiment: &str, verdict: Verdict) -> Self {
        VerdictLine {
            experiment: experiment.to_owned(),
            id: String::new(),
            claim: String::new(),
            origin: String::new(),
            found: None,
            verdict,
            passes: None,
            numbers: String::new(),
            now: None,
            then: None,
        }
    }

    /// Returns the verdict with the fields that a record of an earlier version lacks taken from `decided`,
    /// this version's verdict on the same claim. The number is taken only if the two verdicts are equal.
    pub fn completed_by(&self, decided: Self) -> Self {
        if !self.id.is_empty() {
            return self.clone();
        }
        let now = decided.now.filter(|_| decided.verdict == self.verdict);
        VerdictLine { verdict: self.verdict, numbers: self.numbers.clone(), now, ..decided }
    }

    /// Returns the claim's id, or its experiment's id if the record has none.
    pub fn name(&self) -> &str {
        if self.id.is_empty() { &self.experiment } else { &self.id }
    }

    /// Returns whether the verdict is about this machine. If the record does not say, it is assumed to be.
    pub fn is_of_this_machine(&self) -> bool {
        self.found.is_none_or(Kind::is_of_this_machine)
    }

    /// Returns whether both verdicts are on the same claim, by its id, or by its words if an id is missing.
    pub fn is_on(&self, other: &Self) -> bool {
        match self.id.is_empty() || other.id.is_empty() {
            true => self.experiment == other.experiment && self.claim == other.claim,
            false => self.id == other.id,
        }
    }

    /// Returns whether both verdicts are on the same claim in the same words. In other words it is another claim,
    /// perhaps the opposite of the first.
    pub fn agrees_on_the_claim_with(&self, other: &Self) -> bool {
        self.is_on(other) && self.claim == other.claim
    }
}

fn write_kind<S: Serializer>(kind: &Option<Kind>, serializer: S) -> Result<S::Ok, S::Error> {
    kind.map(Kind::name).serialize(serializer)
}

fn read_kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Kind>, D::Error> {
    let Some(name) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    let unknown =
        || format!("`{name}`: one of {} is accepted", Kind::ALL.map(Kind::name).join(", "));
    Kind::named(&name).map(Some).ok_or_else(|| serde::de::Error::custom(unknown()))
}

fn write_verdict<S: Serializer>(verdict: &Verdict, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(verdict.name())
}

fn read_verdict<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Verdict, D::Error> {
    let name = String::deserialize(deserializer)?;
    let unknown =
        || format!("`{name}`: {} is accepted", Verdict::ALL.map(Verdict::name).join(", "));
    Verdict::named(&name).ok_or_else(|| serde::de::Error::custom(unknown()))
}

/// The lines of a run, by kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub header: Header,
    /// The points, in the order in which they were measured.
    pub points: Vec<PointLine>,
    /// The rounds of `linefill watch`, the earliest first.
    pub rounds: Vec<RoundLine>,
    /// The verdicts at the end of the run.
    pub verdicts: Vec<VerdictLine>,
    /// The end line, if the run finished.
    pub end: Option<EndLine>,
}

impl Record {
    /// Creates a record that has only a header.
    pub fn new(header: Header) -> Self {
        Record { header, points: Vec::new(), rounds: Vec::new(), verdicts: Vec::new(), end: None }
    }

    /// Adds a line. A header replaces the present one.
    pub fn push(&mut self, line: Line) {
        match line {
            Line::Header(header) => self.header = *header,
            Line::Point(point) => self.points.push(*point),
            Line::Round(round) => self.rounds.push(*round),
            Line::Verdict(verdict) => self.verdicts.push(verdict),
            Line::End(end) => self.end = Some(end),
        }
    }

    /// Returns the lines in the order of a file.
    pub fn lines(&self) -> impl Iterator<Item = Line> {
        let points = self.points.iter().cloned().map(Box::new);
        let rounds = self.rounds.iter().cloned().map(Box::new);
        let verdicts = self.verdicts.iter().cloned();
        [Line::Header(Box::new(self.header.clone()))]
            .into_iter()
            .chain(points.map(Line::Point))
            .chain(rounds.map(Line::Round))
            .chain(verdicts.map(Line::Verdict))
            .chain(self.end.clone().map(Line::End))
    }
}

/// Returns the version of linefill that wrote a record, with its revision if known.
pub(crate) fn version(header: &Header) -> String {
    match &header.revision {
        Some(revision) => format!("{} ({revision})", header.linefill),
        None => header.linefill.clone(),
    }
}

/// Returns the points of an experiment among `lines`, passes merged, in the order of their first measurement.
pub fn points_of(lines: &[PointLine], experiment: &str) -> Vec<Point> {
    let lines = lines.iter().filter(|line| line.experiment == experiment);
    merged_by_number(lines.map(|line| (Some(line.pass), line.point.clone())))
}

/// One round of `linefill watch`. It is a single line, so that a round is either complete or absent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundLine {
    /// The round's number, from 0. Numbers are missing where the record was thinned.
    pub number: u64,
    /// Start of the round, in seconds since 1970.
    pub started: u64,
    /// Seconds from the start of the first round to the start of this one, by a monotonic clock.
    pub at: f64,
    /// Duration of the round in seconds.
    pub took: f64,
    /// The points, without their samples.
    pub points: Vec<PointLine>,
}
