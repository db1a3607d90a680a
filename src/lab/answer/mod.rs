//! What a person takes away from a record: the machine, its memory ladder, how much of each document
//! still holds, and what changed most. The report and the terminal print it.

mod findings;
mod ladder;
mod machine;
mod outline;
mod paper;

pub use findings::{Finding, findings};
pub(in crate::lab) use ladder::digits;
pub use ladder::{Ladder, Latency, Level, ladder};
pub use machine::{MachineName, machine_name};
pub use paper::{Chapter, Counts, Paper, Part, papers};

use crate::lab::analysis::Analysis;

/// The answer to what a run was made for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// The machine by its real name.
    pub machine: MachineName,
    /// The levels of its memory.
    pub ladder: Ladder,
    /// The documents with their claims, section by section; the claims that are ours come last.
    pub papers: Vec<Paper>,
    /// What changed most, the greatest change first.
    pub findings: Vec<Finding>,
}

/// How many findings a summary has at most.
const MOST_FINDINGS: usize = 9;

impl Summary {
    /// The answer of an analysis.
    pub fn of(analysis: &Analysis) -> Self {
        Summary {
            machine: machine_name(&analysis.record.header),
            ladder: ladder(analysis),
            papers: papers(&analysis.verdicts),
            findings: findings(&analysis.verdicts, MOST_FINDINGS),
        }
    }

    /// The document that the run says most about: the one with the most claims that were decided here.
    /// `None` if none was.
    pub fn foremost(&self) -> Option<&Paper> {
        let decided = self.papers.iter().filter(|paper| paper.document.is_some());
        // The first of several: documents stand in the order of their weight.
        let most = decided
            .clone()
            .map(|paper| paper.counts().decided())
            .max()?;
        let mut decided = decided.filter(|paper| paper.counts().decided() == most);
        decided.next().filter(|_| most > 0)
    }

    /// The head line: `171 of 225 claims still hold`. Of a run that decided nothing of a document, what
    /// became of the claims that are ours.
    pub fn headline(&self) -> String {
        let ours = || {
            let ours = self.papers.iter().find(|paper| paper.document.is_none())?;
            Some(ours.counts()).filter(|counts| counts.decided() > 0)
        };
        let says = |counts: Counts, of: &str| {
            let (holds, decided) = (counts.holds(), counts.decided());
            let verb = if holds == 1 { "holds" } else { "hold" };
            format!("{holds} of {decided} {of} {verb}")
        };
        match self.foremost().map(Paper::counts) {
            Some(counts) => says(counts, "claims still"),
            None => match ours() {
                Some(counts) => says(counts, "claims of our own"),
                None => "No claim is decided yet".to_owned(),
            },
        }
    }
}
